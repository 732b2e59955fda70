/*
 * What is kept as one document: the specifications of a cluster and of its groups (model/group_spec.h), and what an addition of
 * nodes under a client's token made.
 */
#include "db/cluster.h"
#include "db/intern.h"

static const char SQL_CLUSTER_GET[] = "SELECT spec FROM cluster_spec WHERE cluster_id = ?";
static const char SQL_CLUSTER_PUT[] = "INSERT INTO cluster_spec (cluster_id, spec) VALUES (?, ?) "
                                      "ON CONFLICT (cluster_id) DO UPDATE SET spec = excluded.spec";
static const char SQL_GROUP_GET[] = "SELECT spec FROM group_spec WHERE group_id = ?";
static const char SQL_GROUP_PUT[] = "INSERT INTO group_spec (group_id, spec) VALUES (?, ?) "
                                    "ON CONFLICT (group_id) DO UPDATE SET spec = excluded.spec";
static const char SQL_ADDITION_INSERT[] =
    "INSERT INTO addition (cluster_id, token, digest, document, created_at) VALUES (?, ?, ?, ?, ?)";
static const char SQL_ADDITION_GET[] =
    "SELECT digest, created_at, document FROM addition WHERE cluster_id = ? AND token = ?";
static const char SQL_ADDITION_PRUNE[] = "DELETE FROM addition WHERE created_at < ?";

/* *ret_text NULL: there is none. */
static int spec_get(struct db_tx *tx, const char *sql, int64_t id, char **ret_text)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    db_bind_i64(&q, id);
    int status = db_query_one(&q);
    if (status == 0)
        *ret_text = own_strdup(db_get_word(&q));
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static int spec_put(struct db_tx *tx, const char *sql, int64_t id, const char *text)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    db_bind_i64(&q, id);
    db_bind_text(&q, text);
    return db_query_run(&q, NULL);
}

int db_cluster_spec_get(struct db_tx *tx, int64_t cluster_id, struct cluster_spec *ret_spec)
{
    autofree char *text = NULL;
    int status = spec_get(tx, SQL_CLUSTER_GET, cluster_id, &text);
    *ret_spec = (struct cluster_spec){0};
    if (status == 0 && text != NULL)
        status = cluster_spec_read(text, ret_spec) == 0 ? 0 : STATUS_UNREADABLE;
    return status;
}

int db_cluster_spec_put(struct db_tx *tx, int64_t cluster_id, const struct cluster_spec *spec)
{
    autofree char *text = cluster_spec_write(spec);
    return spec_put(tx, SQL_CLUSTER_PUT, cluster_id, text);
}

int db_group_spec_get(struct db_tx *tx, int64_t group_id, struct group_spec *ret_spec)
{
    autofree char *text = NULL;
    int status = spec_get(tx, SQL_GROUP_GET, group_id, &text);
    *ret_spec = (struct group_spec){0};
    if (status == 0 && text != NULL)
        status = group_spec_read(text, ret_spec) == 0 ? 0 : STATUS_UNREADABLE;
    return status;
}

int db_group_spec_put(struct db_tx *tx, int64_t group_id, const struct group_spec *spec)
{
    autofree char *text = group_spec_write(spec);
    return spec_put(tx, SQL_GROUP_PUT, group_id, text);
}

int db_addition_insert(struct db_tx *tx, const struct db_addition *addition, const char *document)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_ADDITION_INSERT);
    db_bind_i64(&q, addition->cluster_id);
    db_bind_text(&q, addition->token);
    db_bind_blob(&q, addition->digest, sizeof(addition->digest));
    db_bind_text(&q, document);
    db_bind_i64(&q, addition->created_at);
    return db_query_run(&q, NULL);
}

int db_addition_get(struct db_tx *tx, struct db_addition *addition, char **ret_document)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_ADDITION_GET);
    db_bind_i64(&q, addition->cluster_id);
    db_bind_text(&q, addition->token);
    int status = db_query_one(&q);
    if (status < 0)
        return status;
    db_get_blob(&q, addition->digest, sizeof(addition->digest));
    addition->created_at = db_get_i64(&q);
    *ret_document = own_strdup(db_get_word(&q));
    return db_query_status(&q);
}

int db_addition_prune(struct db_tx *tx, int64_t created_before)
{
    return db_run_i64(tx, SQL_ADDITION_PRUNE, created_before, NULL);
}
