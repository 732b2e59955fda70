/* Tags: a table for each kind of owner, so that the owner's row takes its own along when it goes. */
#include "db/tag.h"

#include "db/intern.h"

static const char *const SQL_PUT[TAG_OWNER_COUNT] = {
    "INSERT INTO cluster_tag (cluster_id, key, value) VALUES (?, ?, ?) "
    "ON CONFLICT (cluster_id, key) DO UPDATE SET value = excluded.value",
    "INSERT INTO governance_tag (governance_id, key, value) VALUES (?, ?, ?) "
    "ON CONFLICT (governance_id, key) DO UPDATE SET value = excluded.value"};
static const char *const SQL_DELETE[TAG_OWNER_COUNT] = {
    "DELETE FROM cluster_tag WHERE cluster_id = ? AND key = ?",
    "DELETE FROM governance_tag WHERE governance_id = ? AND key = ?"};
static const char *const SQL_COUNT[TAG_OWNER_COUNT] = {"SELECT count(*) FROM cluster_tag WHERE cluster_id = ?",
                                                       "SELECT count(*) FROM governance_tag WHERE governance_id = ?"};
static const char *const SQL_LIST[TAG_OWNER_COUNT] = {
    "SELECT key, value FROM cluster_tag WHERE cluster_id = ? ORDER BY key",
    "SELECT key, value FROM governance_tag WHERE governance_id = ? ORDER BY key"};

int db_tag_put(struct db_tx *tx, enum tag_owner owner, int64_t owner_id, const char *key, const char *value)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_PUT[owner]);
    db_bind_i64(&q, owner_id);
    db_bind_text(&q, key);
    db_bind_text(&q, value);
    return db_query_run(&q, NULL);
}

int db_tag_delete(struct db_tx *tx, enum tag_owner owner, int64_t owner_id, const char *key)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_DELETE[owner]);
    db_bind_i64(&q, owner_id);
    db_bind_text(&q, key);
    return db_query_hit(&q);
}

int db_tag_count(struct db_tx *tx, enum tag_owner owner, int64_t owner_id, int64_t *ret_count)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_COUNT[owner]);
    db_bind_i64(&q, owner_id);
    int status = db_query_one(&q);
    if (status == 0)
        *ret_count = db_get_i64(&q);
    return status;
}

static void tag_read(struct db_query *q, void *row)
{
    struct tag *tag = row;
    DB_GET_TEXT(q, tag->key);
    DB_GET_TEXT(q, tag->value);
}

int db_tag_list(struct db_tx *tx, enum tag_owner owner, int64_t owner_id, db_row_fn fn, void *arg)
{
    struct tag tag;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST[owner]);
    db_bind_i64(&q, owner_id);
    return db_query_walk(&q, tag_read, &tag, fn, arg);
}
