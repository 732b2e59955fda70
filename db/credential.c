/* What a node's agent proves itself with: one for each node, the hash only. */
#include "db/intern.h"
#include "db/node.h"

static const char SQL_SET[] =
    "INSERT INTO credential (node_id, instance_id, hash, created_at) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (node_id) DO UPDATE SET instance_id = excluded.instance_id, hash = excluded.hash, "
    "created_at = excluded.created_at";
static const char SQL_DROP[] = "DELETE FROM credential WHERE node_id = ?";
static const char SQL_GET[] = "SELECT node_id, instance_id, hash, created_at FROM credential WHERE node_id = ?";
static const char SQL_LIST[] = "SELECT node_id, instance_id, hash, created_at FROM credential ORDER BY node_id";

static void credential_read(struct db_query *q, void *row)
{
    struct credential *credential = row;
    credential->node_id = db_get_i64(q);
    DB_GET_TEXT(q, credential->instance_id);
    db_get_blob(q, credential->hash, sizeof(credential->hash));
    credential->created_at = db_get_i64(q);
}

int db_credential_set(struct db_tx *tx, const struct credential *credential)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_SET);
    db_bind_i64(&q, credential->node_id);
    db_bind_text(&q, credential->instance_id);
    db_bind_blob(&q, credential->hash, sizeof(credential->hash));
    db_bind_i64(&q, credential->created_at);
    return db_query_run(&q, NULL);
}

int db_credential_drop(struct db_tx *tx, int64_t node_id)
{
    return db_run_i64(tx, SQL_DROP, node_id, NULL);
}

int db_credential_get(struct db_tx *tx, int64_t node_id, struct credential *ret_credential)
{
    return db_take_i64(tx, SQL_GET, node_id, credential_read, ret_credential);
}

int db_credential_list(struct db_tx *tx, db_row_fn fn, void *arg)
{
    struct credential credential;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST);
    return db_query_walk(&q, credential_read, &credential, fn, arg);
}
