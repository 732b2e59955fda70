/* API and enrolment tokens, by the hash of their secret. */
#include "db/token.h"

#include "db/intern.h"

#define TOKEN_SELECT                                                                                             \
    "SELECT id, uid, kind, name, role, cluster_id, node_id, instance_id, hash, created_at, expires_at, used_at " \
    "FROM token "

static const char SQL_INSERT[] =
    "INSERT INTO token (uid, kind, name, role, cluster_id, node_id, instance_id, hash, created_at, expires_at, "
    "used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
/* A name belongs to a live token only; the expired one that still holds it makes way. */
static const char SQL_FREE_NAME[] =
    "DELETE FROM token WHERE kind = 'api' AND name = ? AND expires_at > 0 AND expires_at <= ?";
static const char SQL_FIND[] = TOKEN_SELECT "WHERE hash = ?";
static const char SQL_LIST[] = TOKEN_SELECT "ORDER BY id";
static const char SQL_USED[] = "UPDATE token SET used_at = ? WHERE id = ?";
static const char SQL_DELETE[] = "DELETE FROM token WHERE uid = ?";
static const char SQL_PRUNE[] = "DELETE FROM token WHERE expires_at > 0 AND expires_at < ?";

static void token_read(struct db_query *q, void *row)
{
    struct token *token = row;
    token->id = db_get_i64(q);
    DB_GET_TEXT(q, token->uid);
    DB_GET_ENUM(q, token_kind, &token->kind);
    DB_GET_TEXT(q, token->name);
    DB_GET_ENUM(q, role, &token->role);
    token->cluster_id = db_get_i64(q);
    token->node_id = db_get_i64(q);
    DB_GET_TEXT(q, token->instance_id);
    db_get_blob(q, token->hash, sizeof(token->hash));
    token->created_at = db_get_i64(q);
    token->expires_at = db_get_i64(q);
    token->used_at = db_get_i64(q);
}

static int free_name(struct db_tx *tx, const char *name)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_FREE_NAME);
    db_bind_text(&q, name);
    db_bind_i64(&q, clock_wall_ms(db_tx_clock(tx)));
    return db_query_run(&q, NULL);
}

int db_token_insert(struct db_tx *tx, struct token *token)
{
    int status = token->kind == TOKEN_KIND_API ? free_name(tx, token->name) : 0;
    if (status < 0)
        return status;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_text(&q, token->uid);
    db_bind_text(&q, token_kind_text(token->kind));
    db_bind_text(&q, token->name);
    db_bind_text(&q, role_text(token->role));
    db_bind_row(&q, token->cluster_id);
    db_bind_row(&q, token->node_id);
    db_bind_text(&q, token->instance_id);
    db_bind_blob(&q, token->hash, sizeof(token->hash));
    db_bind_i64(&q, token->created_at);
    db_bind_i64(&q, token->expires_at);
    db_bind_i64(&q, token->used_at);
    return db_query_insert(&q, &token->id);
}

int db_token_find(struct db_tx *tx, const uint8_t hash[ID_SHA256_BYTES], struct token *ret_token)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_FIND);
    db_bind_blob(&q, hash, ID_SHA256_BYTES);
    return db_query_take(&q, token_read, ret_token);
}

int db_token_list(struct db_tx *tx, db_row_fn fn, void *arg)
{
    struct token token;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST);
    return db_query_walk(&q, token_read, &token, fn, arg);
}

int db_token_used(struct db_tx *tx, int64_t id, int64_t at)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_USED);
    db_bind_i64(&q, at);
    db_bind_i64(&q, id);
    return db_query_hit(&q);
}

int db_token_delete(struct db_tx *tx, const char *uid)
{
    return db_hit_text(tx, SQL_DELETE, uid);
}

int db_token_prune(struct db_tx *tx, int64_t expired_before)
{
    return db_run_i64(tx, SQL_PRUNE, expired_before, NULL);
}
