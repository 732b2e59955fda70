/*
 * Operations: the durable workflows on a node, and the changes of a whole cluster. The store is what keeps two of them from
 * running on one node, and one request from being done twice: unique indexes, not the care of the callers.
 */
#include "db/operation.h"

#include "db/intern.h"
#include "db/reboot.h"

#define OPERATION_SELECT                                                                                             \
    "SELECT id, uid, cluster_id, node_id, decision_id, kind, state, urgency, key, reason, actor, device, code, "     \
    "old_instance, new_instance, old_boot, cancel_asked, cancelled_by, created_at, started_at, finished_at, error, " \
    "cluster, "                                                                                                      \
    "nodes_wanted, nodes_in_service, nodes_failed, nodes_left, job_signal, job_wait_ms, cleared_by_reset_at, "       \
    "cause, retests FROM operation "
#define OPERATION_IS_ACTIVE "state IN ('pending', 'running') "
/* ?1 scope, ?2 state ("" for any), ?3 the cursor, ?4 limit, ?5 kind ("" for any). */
#define OPERATION_KIND "AND (?5 = '' OR kind = ?5) "
#define OPERATION_STATE "AND (?2 = '' OR state = ?2) " OPERATION_KIND
#define OPERATION_BEFORE "AND id < ?3 ORDER BY id DESC LIMIT ?4"

static const char SQL_INSERT[] =
    "INSERT INTO operation (uid, cluster_id, node_id, decision_id, kind, state, urgency, key, reason, actor, device, "
    "code, old_instance, new_instance, old_boot, cancel_asked, cancelled_by, created_at, started_at, finished_at, "
    "error, cluster, "
    "job_signal, job_wait_ms, cause, retests) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
    "?, ?, ?, ?, ?)";
static const char SQL_GET[] = OPERATION_SELECT "WHERE uid = ?";
static const char SQL_GET_ROW[] = OPERATION_SELECT "WHERE id = ?";
static const char SQL_BY_KEY[] = OPERATION_SELECT "WHERE key = ?";
static const char SQL_ACTIVE[] = OPERATION_SELECT "WHERE node_id = ? AND " OPERATION_IS_ACTIVE;
static const char SQL_CHANGE[] =
    OPERATION_SELECT "WHERE cluster_id = ? AND kind = ? AND node_id IS NULL AND " OPERATION_IS_ACTIVE;
static const char SQL_UPDATE[] =
    "UPDATE operation SET state = ?, urgency = ?, reason = ?, new_instance = ?, old_instance = ?, old_boot = ?, "
    "cancel_asked = ?, cancelled_by = ?, started_at = ?, finished_at = ?, error = ?, nodes_wanted = ?, "
    "nodes_in_service = ?, "
    "nodes_failed = ?, nodes_left = ?, cleared_by_reset_at = ?, job_wait_ms = ? WHERE id = ?";
static const char SQL_REPAIRS[] = OPERATION_SELECT
    "WHERE node_id = ? AND kind IN ('reset', 'reboot', 'replace') AND created_at >= ? ORDER BY id DESC";

/* From the repairs outwards (CROSS JOIN), as these are few. */
#define REPAIRED                                                                                                    \
    "SELECT h.node_id FROM operation o CROSS JOIN instance i ON i.node_id = o.node_id AND i.instance_id = "         \
    "o.old_instance CROSS JOIN hardware theirs ON theirs.instance_row = i.id AND theirs.identity <> '' CROSS JOIN " \
    "hardware mine ON mine.identity = theirs.identity AND mine.identity <> '' AND mine.instance_row <> i.id AND "   \
    "mine.present = 1 CROSS JOIN instance h ON h.id = mine.instance_row "
static const char SQL_REPAIRED[] =
    "SELECT o.node_id FROM operation o WHERE o.cluster_id = ?1 AND o.node_id IS NOT NULL AND o.kind IN ('reset', "
    "'reboot', 'replace') AND o.created_at >= ?2 UNION " REPAIRED
    "WHERE o.cluster_id = ?1 AND o.kind IN ('reset', 'reboot', 'replace') AND o.created_at >= ?2";

static const char SQL_NEWEST_REPAIRS[] =
    "SELECT node.group_id, MAX(operation.created_at) FROM operation JOIN node ON node.id = operation.node_id "
    "WHERE operation.kind IN ('reset', 'reboot', 'replace') GROUP BY node.group_id";

static const char SQL_LIST_ALL[] = OPERATION_SELECT "WHERE ?1 = 0 AND ?2 = '' " OPERATION_KIND OPERATION_BEFORE;
static const char SQL_LIST_STATE[] = OPERATION_SELECT "WHERE ?1 = 0 AND state = ?2 " OPERATION_KIND OPERATION_BEFORE;
/* There are few of whole clusters beside those of nodes. */
static const char SQL_LIST_CHANGES[] = OPERATION_SELECT "WHERE node_id IS NULL AND kind = ?5 AND "
                                                        "(?1 = 0 OR cluster_id = ?1) " OPERATION_STATE OPERATION_BEFORE;
static const char SQL_LIST_CLUSTER[] = OPERATION_SELECT "WHERE cluster_id = ?1 " OPERATION_STATE OPERATION_BEFORE;
static const char SQL_LIST_NODE[] = OPERATION_SELECT "WHERE node_id = ?1 " OPERATION_STATE OPERATION_BEFORE;
/* The active ones are few beside all there ever were: found by their own index, then put in order. */
static const char SQL_ACTIVE_ALL[] =
    OPERATION_SELECT "WHERE " OPERATION_IS_ACTIVE "AND (?1 = 0 OR cluster_id = ?1) " OPERATION_STATE
                     "AND +id < ?3 ORDER BY +id DESC LIMIT ?4";
static const char SQL_ACTIVE_NODE[] = OPERATION_SELECT "WHERE node_id = ?1 AND " OPERATION_IS_ACTIVE OPERATION_STATE
                                                       "AND +id < ?3 ORDER BY +id DESC LIMIT ?4";

static const char SQL_PRUNE[] = "DELETE FROM operation WHERE id IN (SELECT id FROM operation WHERE node_id IS NULL "
                                "AND finished_at > 0 AND finished_at < ?1 LIMIT ?2)";

static const char SQL_STEP_INSERT[] =
    "INSERT INTO operation_step (operation_id, ordinal, kind, state, attempts, started_at, finished_at, deadline_at, "
    "retry_at, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char SQL_STEPS[] = "SELECT ordinal, kind, state, attempts, started_at, finished_at, deadline_at, "
                                "retry_at, detail FROM operation_step WHERE operation_id = ? ORDER BY ordinal";
static const char SQL_STEP_UPDATE[] =
    "UPDATE operation_step SET state = ?, attempts = ?, started_at = ?, finished_at = ?, deadline_at = ?, "
    "retry_at = ?, detail = ? WHERE operation_id = ? AND ordinal = ?";

/* --- steps --------------------------------------------------------------------------------------- */

static void step_read(struct db_query *q, struct operation_step *step)
{
    step->ordinal = (int)db_get_i64(q);
    DB_GET_ENUM(q, step_kind, &step->kind);
    DB_GET_ENUM(q, step_state, &step->state);
    step->attempts = (int)db_get_i64(q);
    step->started_at = db_get_i64(q);
    step->finished_at = db_get_i64(q);
    step->deadline_at = db_get_i64(q);
    step->retry_at = db_get_i64(q);
    DB_GET_TEXT(q, step->detail);
}

static int steps_read(struct db_tx *tx, struct operation *operation)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_STEPS);
    db_bind_i64(&q, operation->id);
    operation->step_count = 0;
    memset(operation->steps, 0, sizeof(operation->steps));
    int status;
    while ((status = db_query_next(&q)) == 1) {
        if (operation->step_count == OPERATION_STEPS_MAX)
            return STATUS_IO;
        step_read(&q, &operation->steps[operation->step_count++]);
    }
    return status;
}

static int step_insert(struct db_tx *tx, int64_t operation_id, const struct operation_step *step)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_STEP_INSERT);
    db_bind_i64(&q, operation_id);
    db_bind_i64(&q, step->ordinal);
    db_bind_text(&q, step_kind_text(step->kind));
    db_bind_text(&q, step_state_text(step->state));
    db_bind_i64(&q, step->attempts);
    db_bind_i64(&q, step->started_at);
    db_bind_i64(&q, step->finished_at);
    db_bind_i64(&q, step->deadline_at);
    db_bind_i64(&q, step->retry_at);
    db_bind_text(&q, step->detail);
    return db_query_run(&q, NULL);
}

int db_operation_step_update(struct db_tx *tx, int64_t operation_id, const struct operation_step *step)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_STEP_UPDATE);
    db_bind_text(&q, step_state_text(step->state));
    db_bind_i64(&q, step->attempts);
    db_bind_i64(&q, step->started_at);
    db_bind_i64(&q, step->finished_at);
    db_bind_i64(&q, step->deadline_at);
    db_bind_i64(&q, step->retry_at);
    db_bind_text(&q, step->detail);
    db_bind_i64(&q, operation_id);
    db_bind_i64(&q, step->ordinal);
    return db_query_hit(&q);
}

/* --- one operation ------------------------------------------------------------------------------- */

static void operation_read(struct db_query *q, void *row)
{
    struct operation *operation = row;
    operation->id = db_get_i64(q);
    DB_GET_TEXT(q, operation->uid);
    operation->cluster_id = db_get_i64(q);
    operation->node_id = db_get_i64(q);
    operation->decision_id = db_get_i64(q);
    DB_GET_ENUM(q, operation_kind, &operation->kind);
    DB_GET_ENUM(q, operation_state, &operation->state);
    DB_GET_ENUM(q, urgency, &operation->urgency);
    DB_GET_TEXT(q, operation->key);
    DB_GET_TEXT(q, operation->reason);
    DB_GET_TEXT(q, operation->actor);
    DB_GET_TEXT(q, operation->device);
    DB_GET_TEXT(q, operation->code);
    DB_GET_TEXT(q, operation->old_instance);
    DB_GET_TEXT(q, operation->new_instance);
    DB_GET_TEXT(q, operation->old_boot);
    operation->cancel_asked = db_get_i64(q) != 0;
    DB_GET_TEXT(q, operation->cancelled_by);
    operation->created_at = db_get_i64(q);
    operation->started_at = db_get_i64(q);
    operation->finished_at = db_get_i64(q);
    DB_GET_TEXT(q, operation->error);
    DB_GET_TEXT(q, operation->cluster);
    operation->progress.wanted = db_get_i64(q);
    operation->progress.in_service = db_get_i64(q);
    operation->progress.failed = db_get_i64(q);
    operation->progress.left = db_get_i64(q);
    DB_GET_ENUM(q, job_signal, &operation->job_signal);
    operation->job_wait_ms = db_get_i64(q);
    operation->cleared_by_reset_at = db_get_i64(q);
    DB_GET_ENUM(q, operation_cause, &operation->cause);
    operation->retests = db_get_i64(q);
    operation->try_count = 0;
    if (db_query_status(q) == 0) {
        int status = steps_read(q->tx, operation);
        if (status >= 0 && operation->kind == OPERATION_KIND_REBOOT)
            status = db_reboot_tries_read(q->tx, operation->id, operation->tries, &operation->try_count);
        if (status < 0)
            db_query_fail(q, status);
    }
}

static int row_insert(struct db_tx *tx, const struct operation *operation, int64_t *ret_id)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_text(&q, operation->uid);
    db_bind_row(&q, operation->cluster_id);
    db_bind_row(&q, operation->node_id);
    db_bind_row(&q, operation->decision_id);
    db_bind_text(&q, operation_kind_text(operation->kind));
    db_bind_text(&q, operation_state_text(operation->state));
    db_bind_text(&q, urgency_text(operation->urgency));
    db_bind_name(&q, operation->key);
    db_bind_text(&q, operation->reason);
    db_bind_text(&q, operation->actor);
    db_bind_text(&q, operation->device);
    db_bind_text(&q, operation->code);
    db_bind_text(&q, operation->old_instance);
    db_bind_text(&q, operation->new_instance);
    db_bind_text(&q, operation->old_boot);
    db_bind_i64(&q, operation->cancel_asked);
    db_bind_text(&q, operation->cancelled_by);
    db_bind_i64(&q, operation->created_at);
    db_bind_i64(&q, operation->started_at);
    db_bind_i64(&q, operation->finished_at);
    db_bind_text(&q, operation->error);
    db_bind_name(&q, operation->cluster);
    db_bind_text(&q, job_signal_text(operation->job_signal));
    db_bind_i64(&q, operation->job_wait_ms);
    db_bind_text(&q, operation_cause_text(operation->cause));
    db_bind_i64(&q, operation->retests);
    return db_query_insert(&q, ret_id);
}

/* Which of the unique indexes said no: asked in the order of what a caller can do about it. */
static int why_not(struct db_tx *tx, struct operation *operation)
{
    struct operation other;
    if (operation->key[0] != '\0' && db_operation_by_key(tx, operation->key, &other) == 0) {
        *operation = other;
        return STATUS_EXISTS;
    }
    bool active = operation->node_id > 0 ? db_operation_active(tx, operation->node_id, &other) == 0
                                         : db_operation_change(tx, operation->cluster_id, operation->kind, &other) == 0;
    return active ? STATUS_CONFLICT : STATUS_EXISTS;
}

int db_operation_insert(struct db_tx *tx, struct operation *operation)
{
    int64_t id = 0;
    int status = row_insert(tx, operation, &id);
    if (status == STATUS_EXISTS)
        return why_not(tx, operation);
    for (int i = 0; i < operation->step_count && status == 0; i++)
        status = step_insert(tx, id, &operation->steps[i]);
    if (status == 0)
        operation->id = id;
    return status;
}

int db_operation_get(struct db_tx *tx, const char *uid, struct operation *ret_operation)
{
    return db_take_text(tx, SQL_GET, uid, operation_read, ret_operation);
}

int db_operation_get_row(struct db_tx *tx, int64_t id, struct operation *ret_operation)
{
    return db_take_i64(tx, SQL_GET_ROW, id, operation_read, ret_operation);
}

int db_operation_by_key(struct db_tx *tx, const char *key, struct operation *ret_operation)
{
    return db_take_text(tx, SQL_BY_KEY, key, operation_read, ret_operation);
}

int db_operation_active(struct db_tx *tx, int64_t node_id, struct operation *ret_operation)
{
    return db_take_i64(tx, SQL_ACTIVE, node_id, operation_read, ret_operation);
}

int db_operation_change(struct db_tx *tx, int64_t cluster_id, enum operation_kind kind, struct operation *ret_operation)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_CHANGE);
    db_bind_i64(&q, cluster_id);
    db_bind_text(&q, operation_kind_text(kind));
    return db_query_take(&q, operation_read, ret_operation);
}

int db_operation_update(struct db_tx *tx, const struct operation *operation)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_UPDATE);
    db_bind_text(&q, operation_state_text(operation->state));
    db_bind_text(&q, urgency_text(operation->urgency));
    db_bind_text(&q, operation->reason);
    db_bind_text(&q, operation->new_instance);
    db_bind_text(&q, operation->old_instance);
    db_bind_text(&q, operation->old_boot);
    db_bind_i64(&q, operation->cancel_asked);
    db_bind_text(&q, operation->cancelled_by);
    db_bind_i64(&q, operation->started_at);
    db_bind_i64(&q, operation->finished_at);
    db_bind_text(&q, operation->error);
    db_bind_i64(&q, operation->progress.wanted);
    db_bind_i64(&q, operation->progress.in_service);
    db_bind_i64(&q, operation->progress.failed);
    db_bind_i64(&q, operation->progress.left);
    db_bind_i64(&q, operation->cleared_by_reset_at);
    db_bind_i64(&q, operation->job_wait_ms);
    db_bind_i64(&q, operation->id);
    int status = db_query_hit(&q);
    /* Only a move back to an active state can meet the other active one. */
    return status == STATUS_EXISTS ? STATUS_CONFLICT : status;
}

/* --- lists --------------------------------------------------------------------------------------- */

static const char *list_sql(const struct db_operation_filter *filter)
{
    if (filter->kind != NULL && operation_is_of_cluster(*filter->kind) && filter->node_id == 0)
        return SQL_LIST_CHANGES;
    if (filter->active_only)
        return filter->node_id > 0 ? SQL_ACTIVE_NODE : SQL_ACTIVE_ALL;
    if (filter->node_id > 0)
        return SQL_LIST_NODE;
    if (filter->cluster_id > 0)
        return SQL_LIST_CLUSTER;
    return filter->state >= 0 ? SQL_LIST_STATE : SQL_LIST_ALL;
}

int db_operation_list(struct db_tx *tx, const struct db_operation_filter *filter, db_row_fn fn, void *arg)
{
    struct operation operation;
    auto_query struct db_query q;
    db_query_open(&q, tx, list_sql(filter));
    db_bind_i64(&q, filter->node_id > 0 ? filter->node_id : filter->cluster_id);
    db_bind_text(&q, filter->state >= 0 ? operation_state_text((enum operation_state)filter->state) : "");
    db_bind_i64(&q, filter->before_id > 0 ? filter->before_id : INT64_MAX);
    db_bind_limit(&q, filter->limit);
    db_bind_text(&q, filter->kind != NULL ? operation_kind_text(*filter->kind) : "");
    return db_query_walk(&q, operation_read, &operation, fn, arg);
}

int db_operation_repairs(struct db_tx *tx, int64_t node_id, int64_t since_at, db_row_fn fn, void *arg)
{
    struct operation operation;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_REPAIRS);
    db_bind_i64(&q, node_id);
    db_bind_i64(&q, since_at);
    return db_query_walk(&q, operation_read, &operation, fn, arg);
}

static void id_read(struct db_query *q, void *row)
{
    *(int64_t *)row = db_get_i64(q);
}

int db_operation_repaired(struct db_tx *tx, int64_t cluster_id, int64_t since_at, db_row_fn fn, void *arg)
{
    int64_t node_id;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_REPAIRED);
    db_bind_i64(&q, cluster_id);
    db_bind_i64(&q, since_at);
    return db_query_walk(&q, id_read, &node_id, fn, arg);
}

static void newest_read(struct db_query *q, void *row)
{
    struct db_group_repair *newest = row;
    newest->group_id = db_get_i64(q);
    newest->created_at = db_get_i64(q);
}

int db_operation_newest_repairs(struct db_tx *tx, db_row_fn fn, void *arg)
{
    struct db_group_repair newest;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_NEWEST_REPAIRS);
    return db_query_walk(&q, newest_read, &newest, fn, arg);
}

int db_operation_prune(struct db_tx *tx, int64_t before_at, int rows_max)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_PRUNE);
    db_bind_i64(&q, before_at);
    db_bind_i64(&q, rows_max);
    return db_query_run(&q, NULL);
}
