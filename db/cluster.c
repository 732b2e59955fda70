/*
 * Clusters. A name is free again once its cluster is gone; a change counts the revision up, and may ask for the one
 * it was made from.
 */
#include "db/cluster.h"

#include "db/intern.h"

#define CLUSTER_SELECT                                                                                              \
    "SELECT id, uid, name, state, recovery, orchestrator, scheduler, provisioning, failure, paused_at, paused_by, " \
    "pause_reason, created_at, updated_at, revision FROM cluster "

static const char SQL_INSERT[] =
    "INSERT INTO cluster (uid, name, state, recovery, orchestrator, scheduler, provisioning, failure, created_at, "
    "updated_at, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)";
static const char SQL_GET[] = CLUSTER_SELECT "WHERE name = ?";
static const char SQL_BY_UID[] = CLUSTER_SELECT "WHERE uid = ?";
static const char SQL_GET_ROW[] = CLUSTER_SELECT "WHERE id = ?";
static const char SQL_LIST[] = CLUSTER_SELECT "WHERE name > ? ORDER BY name LIMIT ?";
/* ?1 part of the name, ?2 and ?3 the window, ?4 and ?5 the cursor, ?6 limit. There are few clusters: a sort is fine. */
#define SEARCH CLUSTER_SELECT "WHERE instr(name, ?1) > 0 AND created_at > ?2 AND created_at < ?3 "
static const char SQL_SEARCH_NAME[] = SEARCH "AND ?5 = ?5 AND name > ?4 ORDER BY name LIMIT ?6";
static const char SQL_SEARCH_NAME_DOWN[] = SEARCH "AND ?5 = ?5 AND name < ?4 ORDER BY name DESC LIMIT ?6";
static const char SQL_SEARCH_TIME[] = SEARCH "AND (created_at, id) > (?4, ?5) ORDER BY created_at, id LIMIT ?6";
static const char SQL_SEARCH_TIME_DOWN[] =
    SEARCH "AND (created_at, id) < (?4, ?5) ORDER BY created_at DESC, id DESC LIMIT ?6";
static const char *const search_sql[2][2] = {{SQL_SEARCH_TIME, SQL_SEARCH_TIME_DOWN},
                                             {SQL_SEARCH_NAME, SQL_SEARCH_NAME_DOWN}};
static const char SQL_REVISION[] = "SELECT revision FROM cluster WHERE id = ?";
static const char SQL_UPDATE[] =
    "UPDATE cluster SET state = ?, recovery = ?, provisioning = ?, failure = ?, updated_at = ?, "
    "revision = revision + 1 WHERE id = ?";
static const char SQL_SET_PAUSE[] =
    "UPDATE cluster SET paused_at = ?, paused_by = ?, pause_reason = ?, revision = revision + 1 WHERE id = ?";
static const char SQL_DELETE[] = "DELETE FROM cluster WHERE id = ?";
static const char SQL_GROUPS[] = "SELECT id FROM instance_group WHERE cluster_id = ?";
/* Group by group, because within one the index already has the order that counting wants. It holds only what is not in
 * order; the rest is what is left of all. */
static const char SQL_COUNT_ALL[] = "SELECT count(*) FROM node WHERE group_id = ?";
static const char SQL_COUNT_OTHERS[] =
    "SELECT state, health, count(*) FROM node WHERE group_id = ? AND (state <> 'ready' OR health <> 'healthy') "
    "GROUP BY state, health";

static void cluster_read(struct db_query *q, void *row)
{
    struct cluster *cluster = row;
    cluster->id = db_get_i64(q);
    DB_GET_TEXT(q, cluster->uid);
    DB_GET_TEXT(q, cluster->name);
    DB_GET_ENUM(q, cluster_state, &cluster->state);
    DB_GET_ENUM(q, node_recovery, &cluster->recovery);
    DB_GET_ENUM(q, orchestrator, &cluster->orchestrator);
    DB_GET_TEXT(q, cluster->scheduler);
    DB_GET_ENUM(q, provisioning, &cluster->provisioning);
    DB_GET_TEXT(q, cluster->failure);
    cluster->paused_at = db_get_i64(q);
    DB_GET_TEXT(q, cluster->paused_by);
    DB_GET_TEXT(q, cluster->pause_reason);
    cluster->created_at = db_get_i64(q);
    cluster->updated_at = db_get_i64(q);
    cluster->revision = db_get_i64(q);
    cluster->operation[0] = '\0';
}

int db_cluster_insert(struct db_tx *tx, struct cluster *cluster)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_text(&q, cluster->uid);
    db_bind_text(&q, cluster->name);
    db_bind_text(&q, cluster_state_text(cluster->state));
    db_bind_text(&q, node_recovery_text(cluster->recovery));
    db_bind_text(&q, orchestrator_text(cluster->orchestrator));
    db_bind_text(&q, cluster->scheduler);
    db_bind_text(&q, provisioning_text(cluster->provisioning));
    db_bind_text(&q, cluster->failure);
    db_bind_i64(&q, cluster->created_at);
    db_bind_i64(&q, cluster->updated_at);
    int status = db_query_insert(&q, &cluster->id);
    if (status == 0)
        cluster->revision = 1;
    return status;
}

int db_cluster_get(struct db_tx *tx, const char *name, struct cluster *ret_cluster)
{
    return db_take_text(tx, SQL_GET, name, cluster_read, ret_cluster);
}

int db_cluster_by_uid(struct db_tx *tx, const char *uid, struct cluster *ret_cluster)
{
    return db_take_text(tx, SQL_BY_UID, uid, cluster_read, ret_cluster);
}

int db_cluster_search(struct db_tx *tx, const struct db_cluster_search *search, db_row_fn fn, void *arg)
{
    const char *name_start = search->descending ? "\x7f" : ""; /* behind and before every name */
    int64_t time_start = search->descending ? INT64_MAX : -1;
    struct cluster cluster;
    auto_query struct db_query q;
    db_query_open(&q, tx, search_sql[search->by_name][search->descending]);
    db_bind_text(&q, search->name_contains);
    db_bind_i64(&q, search->created_after > 0 ? search->created_after : -1);
    db_bind_i64(&q, search->created_before > 0 ? search->created_before : INT64_MAX);
    if (search->by_name)
        db_bind_text(&q, search->has_cursor ? search->cursor_name : name_start);
    else
        db_bind_i64(&q, search->has_cursor ? search->cursor_at : time_start);
    db_bind_i64(&q, search->cursor_id);
    db_bind_limit(&q, search->limit);
    return db_query_walk(&q, cluster_read, &cluster, fn, arg);
}

int db_cluster_get_row(struct db_tx *tx, int64_t id, struct cluster *ret_cluster)
{
    return db_take_i64(tx, SQL_GET_ROW, id, cluster_read, ret_cluster);
}

int db_cluster_list(struct db_tx *tx, const char *after_name, int limit, db_row_fn fn, void *arg)
{
    struct cluster cluster;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST);
    db_bind_text(&q, after_name != NULL ? after_name : "");
    db_bind_limit(&q, limit);
    return db_query_walk(&q, cluster_read, &cluster, fn, arg);
}

static int revision_now(struct db_tx *tx, int64_t id, int64_t *ret_revision)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_REVISION);
    db_bind_i64(&q, id);
    int status = db_query_one(&q);
    if (status == 0)
        *ret_revision = db_get_i64(&q);
    return status;
}

int db_cluster_update(struct db_tx *tx, struct cluster *cluster, int64_t if_revision)
{
    int64_t revision = 0;
    int status = revision_now(tx, cluster->id, &revision);
    if (status < 0)
        return status;
    if (if_revision > 0 && if_revision != revision)
        return STATUS_CONFLICT;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_UPDATE);
    db_bind_text(&q, cluster_state_text(cluster->state));
    db_bind_text(&q, node_recovery_text(cluster->recovery));
    db_bind_text(&q, provisioning_text(cluster->provisioning));
    db_bind_text(&q, cluster->failure);
    db_bind_i64(&q, cluster->updated_at);
    db_bind_i64(&q, cluster->id);
    status = db_query_hit(&q);
    if (status == 0)
        cluster->revision = revision + 1;
    return status;
}

int db_cluster_set_pause(struct db_tx *tx, struct cluster *cluster)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_SET_PAUSE);
    db_bind_i64(&q, cluster->paused_at);
    db_bind_text(&q, cluster->paused_by);
    db_bind_text(&q, cluster->pause_reason);
    db_bind_i64(&q, cluster->id);
    int status = db_query_hit(&q);
    if (status == 0)
        cluster->revision++;
    return status;
}

int db_cluster_delete(struct db_tx *tx, int64_t id)
{
    int status = db_verdict_drop_cluster(tx, id);
    if (status < 0)
        return status;
    auto_query struct db_query q;
    db_counts_mark_all(tx); /* its nodes go with it */
    db_query_open(&q, tx, SQL_DELETE);
    db_bind_i64(&q, id);
    return db_query_hit(&q);
}

static int count_all(struct db_tx *tx, int64_t group_id, int64_t *ret_nodes)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_COUNT_ALL);
    db_bind_i64(&q, group_id);
    int status = db_query_one(&q);
    if (status == 0)
        *ret_nodes = db_get_i64(&q);
    return status;
}

static void count_more(struct cluster_counts *counts, enum node_state state, enum health health, int64_t nodes)
{
    if (state == NODE_STATE_DELETED)
        return;
    counts->nodes += nodes;
    counts->by_state[state] += nodes;
    counts->by_health[health] += nodes;
}

static int count_nodes(struct db_tx *tx, int64_t group_id, struct cluster_counts *counts)
{
    int64_t in_order = 0;
    int status = count_all(tx, group_id, &in_order);
    if (status < 0)
        return status;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_COUNT_OTHERS);
    db_bind_i64(&q, group_id);
    while ((status = db_query_next(&q)) == 1) {
        enum node_state state = NODE_STATE_PENDING;
        enum health health = HEALTH_UNKNOWN;
        DB_GET_ENUM(&q, node_state, &state);
        DB_GET_ENUM(&q, health, &health);
        int64_t nodes = db_get_i64(&q);
        in_order -= nodes;
        count_more(counts, state, health, nodes);
    }
    count_more(counts, NODE_STATE_READY, HEALTH_HEALTHY, in_order);
    return status;
}

static int count_group(struct db_tx *tx, int64_t group_id, struct cluster_counts *ret_counts)
{
    struct cluster_counts counts = {0};
    if (db_counts_get(tx, group_id, ret_counts))
        return 0;
    int status = count_nodes(tx, group_id, &counts);
    if (status < 0)
        return status;
    db_counts_put(tx, group_id, &counts);
    *ret_counts = counts;
    return 0;
}

static void add_counts(struct cluster_counts *sum, const struct cluster_counts *one)
{
    sum->nodes += one->nodes;
    for (size_t i = 0; i < ARRAY_LEN(sum->by_state); i++)
        sum->by_state[i] += one->by_state[i];
    for (size_t i = 0; i < ARRAY_LEN(sum->by_health); i++)
        sum->by_health[i] += one->by_health[i];
}

static int count_cluster(struct db_tx *tx, int64_t cluster_id, struct cluster_counts *sum)
{
    auto_query struct db_query q;
    struct cluster_counts group;
    int status = 0, more;
    db_query_open(&q, tx, SQL_GROUPS);
    db_bind_i64(&q, cluster_id);
    while ((more = db_query_next(&q)) == 1 && status == 0) {
        status = count_group(tx, db_get_i64(&q), &group);
        if (status == 0)
            add_counts(sum, &group);
    }
    return more < 0 ? more : status;
}

int db_cluster_count(struct db_tx *tx, int64_t cluster_id, int64_t group_id, struct cluster_counts *ret_counts)
{
    struct cluster_counts counts = {0};
    int status = group_id > 0 ? count_group(tx, group_id, &counts) : count_cluster(tx, cluster_id, &counts);
    if (status == 0)
        *ret_counts = counts;
    return status;
}

/* What was stored before schedulers had names, and by a hpd that had none. */
int db_cluster_adopt_scheduler(struct db_tx *tx, const char *scheduler)
{
    static const char *const sql[] = {
        "UPDATE cluster SET scheduler = ? WHERE scheduler = '' AND orchestrator <> 'none'",
        "UPDATE quarantine SET scheduler = ? WHERE scheduler = ''",
        "UPDATE governance_held SET scheduler = ? WHERE scheduler = ''",
    };
    int status = 0;
    for (size_t i = 0; i < ARRAY_LEN(sql) && status == 0; i++) {
        auto_query struct db_query q;
        db_query_open(&q, tx, sql[i]);
        db_bind_text(&q, scheduler);
        status = db_query_run(&q, NULL);
    }
    return status;
}
