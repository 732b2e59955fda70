/* The versions of the policy document. Triggers keep them as they were written. */
#include "db/policy.h"

#include "db/intern.h"

#define POLICY_COLUMNS "sha256, comment, author, restores, created_at FROM policy "

static const char SQL_INSERT[] =
    "INSERT INTO policy (version, text, sha256, comment, author, restores, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)";
static const char SQL_NEWEST[] = "SELECT max(version) FROM policy";
static const char SQL_GET[] = "SELECT version, text, " POLICY_COLUMNS "WHERE version = ?";
static const char SQL_LIST[] =
    "SELECT version, '', " POLICY_COLUMNS "WHERE ?1 = 0 OR version < ?1 ORDER BY version DESC LIMIT ?2";

static void policy_read(struct db_query *q, void *row)
{
    struct policy_version *version = row;
    version->version = db_get_i64(q);
    DB_GET_TEXT(q, version->text);
    DB_GET_TEXT(q, version->sha256);
    DB_GET_TEXT(q, version->comment);
    DB_GET_TEXT(q, version->author);
    version->restores = db_get_i64(q);
    version->created_at = db_get_i64(q);
}

static int newest(struct db_tx *tx, int64_t *ret_version)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_NEWEST);
    int status = db_query_one(&q);
    if (status == 0)
        *ret_version = db_get_i64(&q);
    return status;
}

int db_policy_insert(struct db_tx *tx, const struct policy_version *version)
{
    int64_t last = 0;
    int status = newest(tx, &last);
    if (status != 0 || last >= version->version)
        return status != 0 ? status : STATUS_CONFLICT;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_i64(&q, version->version);
    db_bind_text(&q, version->text);
    db_bind_text(&q, version->sha256);
    db_bind_text(&q, version->comment);
    db_bind_text(&q, version->author);
    db_bind_i64(&q, version->restores);
    db_bind_i64(&q, version->created_at);
    return db_query_run(&q, NULL);
}

int db_policy_get(struct db_tx *tx, int64_t version, struct policy_version *ret_version)
{
    int status = version > 0 ? 0 : newest(tx, &version);
    if (status != 0)
        return status;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_GET);
    db_bind_i64(&q, version);
    return db_query_take(&q, policy_read, ret_version);
}

int db_policy_list(struct db_tx *tx, int64_t before, int limit, db_row_fn fn, void *arg)
{
    autofree struct policy_version *version = own_calloc(1, sizeof(*version));
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST);
    db_bind_i64(&q, before);
    db_bind_limit(&q, limit);
    return db_query_walk(&q, policy_read, version, fn, arg);
}
