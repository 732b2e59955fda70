/*
 * Documents that are kept as they were given: the specification of a cluster and of its groups, and what an addition of nodes
 * under a client's token made. The store does not look into them.
 */
#include "db/cluster.h"
#include "db/intern.h"

static const char SQL_CLUSTER_GET[] = "SELECT document FROM cluster_document WHERE cluster_id = ?";
static const char SQL_CLUSTER_PUT[] = "INSERT INTO cluster_document (cluster_id, document) VALUES (?, ?) "
                                      "ON CONFLICT (cluster_id) DO UPDATE SET document = excluded.document";
static const char SQL_GROUP_GET[] = "SELECT document FROM group_document WHERE group_id = ?";
static const char SQL_GROUP_PUT[] = "INSERT INTO group_document (group_id, document) VALUES (?, ?) "
                                    "ON CONFLICT (group_id) DO UPDATE SET document = excluded.document";
static const char SQL_ADDITION_INSERT[] =
    "INSERT INTO addition (cluster_id, token, digest, document, created_at) VALUES (?, ?, ?, ?, ?)";
static const char SQL_ADDITION_GET[] =
    "SELECT digest, created_at, document FROM addition WHERE cluster_id = ? AND token = ?";
static const char SQL_ADDITION_PRUNE[] = "DELETE FROM addition WHERE created_at < ?";

static int document_get(struct db_tx *tx, const char *sql, int64_t id, char **ret_document)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    db_bind_i64(&q, id);
    int status = db_query_one(&q);
    if (status == 0)
        *ret_document = own_strdup(db_get_word(&q));
    return status;
}

static int document_put(struct db_tx *tx, const char *sql, int64_t id, const char *document)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    db_bind_i64(&q, id);
    db_bind_text(&q, document);
    return db_query_run(&q, NULL);
}

int db_cluster_document_get(struct db_tx *tx, int64_t cluster_id, char **ret_document)
{
    return document_get(tx, SQL_CLUSTER_GET, cluster_id, ret_document);
}

int db_cluster_document_put(struct db_tx *tx, int64_t cluster_id, const char *document)
{
    return document_put(tx, SQL_CLUSTER_PUT, cluster_id, document);
}

int db_group_document_get(struct db_tx *tx, int64_t group_id, char **ret_document)
{
    return document_get(tx, SQL_GROUP_GET, group_id, ret_document);
}

int db_group_document_put(struct db_tx *tx, int64_t group_id, const char *document)
{
    return document_put(tx, SQL_GROUP_PUT, group_id, document);
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
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_ADDITION_PRUNE);
    db_bind_i64(&q, created_before);
    return db_query_run(&q, NULL);
}
