/* Nodes that are in quarantine in their scheduler. A handful of rows at a time, and mostly none. */
#include "db/quarantine.h"

#include "db/intern.h"

#define QUARANTINE_COLUMNS "node_id, name, wanted, state, had, why"
static const char SQL_ASK[] =
    "INSERT INTO quarantine (scheduler, " QUARANTINE_COLUMNS ") VALUES (?, ?, ?, 1, 'asked', 0, '') "
    "ON CONFLICT (node_id) DO UPDATE SET wanted = 1";
static const char SQL_LEAVE[] = "UPDATE quarantine SET wanted = 0 WHERE node_id = ?";
static const char SQL_GET[] = "SELECT " QUARANTINE_COLUMNS " FROM quarantine WHERE node_id = ?";
static const char SQL_LIST[] = "SELECT " QUARANTINE_COLUMNS " FROM quarantine WHERE scheduler = ? ORDER BY node_id";
static const char SQL_UPDATE[] = "UPDATE quarantine SET state = ?, had = ?, why = ? WHERE node_id = ?";
static const char SQL_DROP[] = "DELETE FROM quarantine WHERE node_id = ? AND wanted = 0";
static const char SQL_AGAIN[] = "UPDATE quarantine SET state = 'asked', had = 0, why = '' WHERE node_id = ?";

static int run_of_node(struct db_tx *tx, const char *sql, int64_t node_id)
{
    return db_run_i64(tx, sql, node_id, NULL);
}

int db_quarantine_ask(struct db_tx *tx, const char *scheduler, int64_t node_id, const char *name)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_ASK);
    db_bind_text(&q, scheduler);
    db_bind_i64(&q, node_id);
    db_bind_text(&q, name);
    return db_query_run(&q, NULL);
}

int db_quarantine_leave(struct db_tx *tx, int64_t node_id)
{
    return run_of_node(tx, SQL_LEAVE, node_id);
}

static void quarantine_read(struct db_query *q, void *row)
{
    struct quarantine *quarantine = row;
    quarantine->node_id = db_get_i64(q);
    DB_GET_TEXT(q, quarantine->name);
    quarantine->wanted = db_get_i64(q) != 0;
    DB_GET_ENUM(q, quarantine_state, &quarantine->state);
    quarantine->had = db_get_i64(q);
    DB_GET_TEXT(q, quarantine->why);
}

int db_quarantine_get(struct db_tx *tx, int64_t node_id, struct quarantine *ret_quarantine)
{
    return db_take_i64(tx, SQL_GET, node_id, quarantine_read, ret_quarantine);
}

int db_quarantine_list(struct db_tx *tx, const char *scheduler, db_row_fn fn, void *arg)
{
    struct quarantine quarantine;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST);
    db_bind_text(&q, scheduler);
    return db_query_walk(&q, quarantine_read, &quarantine, fn, arg);
}

int db_quarantine_update(struct db_tx *tx, const struct quarantine *quarantine)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_UPDATE);
    db_bind_text(&q, quarantine_state_text(quarantine->state));
    db_bind_i64(&q, quarantine->had);
    db_bind_text(&q, quarantine->why);
    db_bind_i64(&q, quarantine->node_id);
    return db_query_run(&q, NULL);
}

int db_quarantine_gone(struct db_tx *tx, int64_t node_id)
{
    int status = run_of_node(tx, SQL_DROP, node_id);
    return status != 0 ? status : run_of_node(tx, SQL_AGAIN, node_id);
}
