/* Access keys of the AWS API, by the id that a client signs with. */
#include "db/access_key.h"

#include "db/intern.h"

#define KEY_SELECT "SELECT id, access_key, name, role, sealed, created_at, used_at FROM access_key "

static const char SQL_INSERT[] =
    "INSERT INTO access_key (access_key, name, role, sealed, created_at, used_at) VALUES (?, ?, ?, ?, ?, ?)";
static const char SQL_GET[] = KEY_SELECT "WHERE access_key = ?";
static const char SQL_LIST[] = KEY_SELECT "ORDER BY id";
static const char SQL_USED[] = "UPDATE access_key SET used_at = ? WHERE id = ?";
static const char SQL_DELETE[] = "DELETE FROM access_key WHERE access_key = ?";

static void key_read(struct db_query *q, void *row)
{
    struct access_key *key = row;
    key->id = db_get_i64(q);
    DB_GET_TEXT(q, key->access_key);
    DB_GET_TEXT(q, key->name);
    DB_GET_ENUM(q, role, &key->role);
    db_get_blob(q, key->sealed, sizeof(key->sealed));
    key->created_at = db_get_i64(q);
    key->used_at = db_get_i64(q);
}

int db_access_key_insert(struct db_tx *tx, struct access_key *key)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_text(&q, key->access_key);
    db_bind_text(&q, key->name);
    db_bind_text(&q, role_text(key->role));
    db_bind_blob(&q, key->sealed, sizeof(key->sealed));
    db_bind_i64(&q, key->created_at);
    db_bind_i64(&q, key->used_at);
    return db_query_insert(&q, &key->id);
}

int db_access_key_get(struct db_tx *tx, const char *access_key, struct access_key *ret_key)
{
    return db_take_text(tx, SQL_GET, access_key, key_read, ret_key);
}

int db_access_key_list(struct db_tx *tx, db_row_fn fn, void *arg)
{
    struct access_key key;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST);
    return db_query_walk(&q, key_read, &key, fn, arg);
}

int db_access_key_used(struct db_tx *tx, int64_t id, int64_t at)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_USED);
    db_bind_i64(&q, at);
    db_bind_i64(&q, id);
    return db_query_hit(&q);
}

int db_access_key_delete(struct db_tx *tx, const char *access_key)
{
    return db_hit_text(tx, SQL_DELETE, access_key);
}
