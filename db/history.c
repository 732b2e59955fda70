/*
 * Retention. The evidence of one node is bounded by count and by age, so that neither a GPU that complains for years nor
 * an agent gone wild can fill the disk or make a look at the node slow.
 *
 * Rows are appended in the order of time, so the oldest are those with the least ids: a call looks at a few of them
 * and no index by time is needed.
 */
#include "db/history.h"

#include "db/intern.h"

/* ?1 node, ?2 how many to keep or the age, ?3 rows. */
#define OPEN_OF_NODE "SELECT v.id FROM verdict v WHERE v.node_id = ?1 AND v.state = 'open' "
#define PAST_OF_NODE(word) "SELECT id FROM verdict WHERE node_id = ?1 AND state <> 'open' AND state = " word " "
#define BEYOND_NEWEST "ORDER BY id DESC LIMIT ?3 OFFSET ?2"
#define OLDEST "ORDER BY id LIMIT ?3"

static const char SQL_RETIRE_MANY[] = "UPDATE verdict SET state = 'resolved' WHERE id IN (" OPEN_OF_NODE
                                      "ORDER BY (v.severity = 'critical') DESC, v.id DESC LIMIT ?3 OFFSET ?2)";
static const char SQL_RETIRE_OLD[] = "UPDATE verdict SET state = 'resolved' WHERE id IN (" OPEN_OF_NODE
                                     "AND v.severity <> 'critical' AND v.received_at < ?2 LIMIT ?3)";
static const char SQL_RESOLVED_MANY[] =
    "DELETE FROM verdict WHERE id IN (" PAST_OF_NODE("'resolved'") BEYOND_NEWEST ")";
static const char SQL_RESOLVED_OLD[] =
    "DELETE FROM verdict WHERE +received_at < ?2 AND id IN (" PAST_OF_NODE("'resolved'") OLDEST ")";
static const char SQL_STALE_MANY[] = "DELETE FROM verdict WHERE id IN (" PAST_OF_NODE("'stale'") BEYOND_NEWEST ")";
static const char SQL_STALE_OLD[] =
    "DELETE FROM verdict WHERE +received_at < ?2 AND id IN (" PAST_OF_NODE("'stale'") OLDEST ")";
static const char SQL_DECISIONS_MANY[] =
    "DELETE FROM decision WHERE id IN (SELECT id FROM decision WHERE node_id = ?1 " BEYOND_NEWEST ")";
static const char SQL_DECISIONS_OLD[] =
    "DELETE FROM decision WHERE at < ?2 AND id IN (SELECT id FROM decision WHERE node_id = ?1 " OLDEST ") "
    "AND id < (SELECT max(id) FROM decision WHERE node_id = ?1)";
/* The newest is the only one that may be open, and a no stands as long as it does. */
static const char SQL_APPROVALS_MANY[] =
    "DELETE FROM approval WHERE id IN (SELECT id FROM approval WHERE node_id = ?1 " BEYOND_NEWEST ")";
static const char SQL_APPROVALS_OLD[] =
    "DELETE FROM approval WHERE expires_at < ?2 AND id IN (SELECT id FROM approval WHERE node_id = ?1 " OLDEST ") "
    "AND id < (SELECT max(id) FROM approval WHERE node_id = ?1)";

/* By the node's own operations: all that failed are as many as the fleet has had. */
static const char SQL_LAUNCHES_MANY[] =
    "DELETE FROM operation WHERE id IN (SELECT id FROM operation WHERE node_id = ?1 AND kind = 'launch' "
    "AND +state = 'failed' " BEYOND_NEWEST ")";

/* Of machines that are gone. Their own rows stay: a machine that was given up is known when it comes back. */
#define OF_GONE(table)                                                                                            \
    "FROM instance i CROSS JOIN " table " t ON t.instance_row = i.id WHERE i.node_id = ?1 AND "                   \
    "i.terminated_at > 0 AND i.terminated_at < ?2 AND i.id IS NOT (SELECT instance_row FROM node WHERE id = ?1) " \
    "LIMIT ?3"
static const char SQL_HARDWARE_OLD[] =
    "DELETE FROM hardware WHERE (instance_row, kind, location, identity) IN "
    "(SELECT t.instance_row, t.kind, t.location, t.identity " OF_GONE("hardware") ")";
static const char SQL_CHECKS_OLD[] =
    "DELETE FROM check_state WHERE (instance_row, name) IN (SELECT t.instance_row, t.name " OF_GONE("check_state") ")";

static const char SQL_SETTINGS_OLD[] =
    "DELETE FROM agent_settings_report WHERE instance_row IN (SELECT t.instance_row " OF_GONE(
        "agent_settings_report") ")";

static int forget(struct db_tx *tx, const char *sql, int64_t node_id, int64_t bound, int rows_max, int64_t *rows)
{
    int64_t changes = 0;
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    db_bind_i64(&q, node_id);
    db_bind_i64(&q, bound);
    db_bind_i64(&q, rows_max);
    int status = db_query_run(&q, &changes);
    if (status == 0)
        *rows += changes;
    return status;
}

int db_history_prune(struct db_tx *tx, int64_t node_id, const struct db_history *history, int64_t *ret_rows)
{
    /* What is retired first is still new among the past and is dropped in its turn. */
    const int64_t decisions = history->decisions_keep > 1 ? history->decisions_keep : 1;
    const struct {
        const char *sql;
        int64_t bound;
    } parts[] = {
        {SQL_RESOLVED_MANY, history->verdicts_keep},
        {SQL_RESOLVED_OLD, history->since_at},
        {SQL_STALE_MANY, history->verdicts_keep},
        {SQL_STALE_OLD, history->since_at},
        {SQL_RETIRE_MANY, history->verdicts_keep},
        {SQL_RETIRE_OLD, history->since_at},
        {SQL_DECISIONS_MANY, decisions},
        {SQL_DECISIONS_OLD, history->since_at},
        {SQL_APPROVALS_MANY, decisions},
        {SQL_APPROVALS_OLD, history->since_at},
        {SQL_LAUNCHES_MANY, history->launches_keep},
        {SQL_HARDWARE_OLD, history->hardware_since_at},
        {SQL_CHECKS_OLD, history->hardware_since_at},
        {SQL_SETTINGS_OLD, history->hardware_since_at},
    };
    int64_t rows = 0;
    int status = db_verdict_read_sequence(tx);
    for (size_t i = 0; i < ARRAY_LEN(parts) && status == 0; i++)
        status = forget(tx, parts[i].sql, node_id, parts[i].bound, history->rows_max, &rows);
    if (status == 0 && rows > 0)
        status = db_verdict_keep_sequence(tx);
    if (status == 0)
        *ret_rows = rows;
    return status;
}
