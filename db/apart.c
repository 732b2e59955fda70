/* Nodes that are set apart in their scheduler. A handful of rows at a time, and mostly none. */
#include "db/apart.h"

#include "db/intern.h"

#define APART_COLUMNS "node_id, name, wanted, state, had, why"
static const char SQL_ASK[] = "INSERT INTO apart (" APART_COLUMNS ") VALUES (?, ?, 1, 'asked', 0, '') "
                              "ON CONFLICT (node_id) DO UPDATE SET wanted = 1";
static const char SQL_LEAVE[] = "UPDATE apart SET wanted = 0 WHERE node_id = ?";
static const char SQL_GET[] = "SELECT " APART_COLUMNS " FROM apart WHERE node_id = ?";
static const char SQL_LIST[] = "SELECT " APART_COLUMNS " FROM apart ORDER BY node_id";
static const char SQL_UPDATE[] = "UPDATE apart SET state = ?, had = ?, why = ? WHERE node_id = ?";
static const char SQL_DROP[] = "DELETE FROM apart WHERE node_id = ? AND wanted = 0";
static const char SQL_AGAIN[] = "UPDATE apart SET state = 'asked', had = 0, why = '' WHERE node_id = ?";

static int run_of_node(struct db_tx *tx, const char *sql, int64_t node_id)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    db_bind_i64(&q, node_id);
    return db_query_run(&q, NULL);
}

int db_apart_ask(struct db_tx *tx, int64_t node_id, const char *name)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_ASK);
    db_bind_i64(&q, node_id);
    db_bind_text(&q, name);
    return db_query_run(&q, NULL);
}

int db_apart_leave(struct db_tx *tx, int64_t node_id)
{
    return run_of_node(tx, SQL_LEAVE, node_id);
}

static void apart_read(struct db_query *q, void *row)
{
    struct apart *apart = row;
    apart->node_id = db_get_i64(q);
    DB_GET_TEXT(q, apart->name);
    apart->wanted = db_get_i64(q) != 0;
    DB_GET_ENUM(q, apart_state, &apart->state);
    apart->had = db_get_i64(q);
    DB_GET_TEXT(q, apart->why);
}

int db_apart_get(struct db_tx *tx, int64_t node_id, struct apart *ret_apart)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_GET);
    db_bind_i64(&q, node_id);
    return db_query_take(&q, apart_read, ret_apart);
}

int db_apart_list(struct db_tx *tx, db_row_fn fn, void *arg)
{
    struct apart apart;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST);
    return db_query_walk(&q, apart_read, &apart, fn, arg);
}

int db_apart_update(struct db_tx *tx, const struct apart *apart)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_UPDATE);
    db_bind_text(&q, apart_state_text(apart->state));
    db_bind_i64(&q, apart->had);
    db_bind_text(&q, apart->why);
    db_bind_i64(&q, apart->node_id);
    return db_query_run(&q, NULL);
}

int db_apart_gone(struct db_tx *tx, int64_t node_id)
{
    int status = run_of_node(tx, SQL_DROP, node_id);
    return status != 0 ? status : run_of_node(tx, SQL_AGAIN, node_id);
}
