/* Incidents with their nodes. The nodes' names are copies: who reads about last month's incident wants them all. */
#include "db/incident.h"

#include "db/intern.h"

#define INCIDENT_SELECT                                                                                          \
    "SELECT i.id, i.cluster_id, c.name, i.level, i.domain, i.cause, i.started_at, i.settled_since, i.ended_at, " \
    "i.ended_by, i.part_of, (SELECT count(*) FROM incident_node n WHERE n.incident_id = i.id), "                 \
    "(SELECT count(*) FROM incident_node n WHERE n.incident_id = i.id AND n.back_at = 0) "                       \
    "FROM incident i JOIN cluster c ON c.id = i.cluster_id "

static const char SQL_INSERT[] = "INSERT INTO incident (cluster_id, level, domain, cause, started_at, settled_since, "
                                 "ended_at, ended_by, part_of) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char SQL_UPDATE[] =
    "UPDATE incident SET level = ?, domain = ?, cause = ?, settled_since = ?, ended_at = ?, "
    "ended_by = ?, part_of = ? WHERE id = ? AND ended_at = 0";
static const char SQL_GET[] = INCIDENT_SELECT "WHERE i.id = ?";
static const char SQL_LIST[] = INCIDENT_SELECT "WHERE i.id < ? ORDER BY i.id DESC LIMIT ?";
static const char SQL_LIST_CLUSTER[] = INCIDENT_SELECT "WHERE i.id < ? AND i.cluster_id = ? ORDER BY i.id DESC LIMIT ?";
static const char SQL_LIST_OPEN[] = INCIDENT_SELECT "WHERE i.ended_at = 0 AND i.id < ? ORDER BY i.id DESC LIMIT ?";
static const char SQL_LIST_ENDED[] = INCIDENT_SELECT "WHERE i.ended_at > ?3 AND i.id < ?1 ORDER BY i.id DESC LIMIT ?2";
static const char SQL_LIST_CLUSTER_OPEN[] =
    INCIDENT_SELECT "WHERE i.ended_at = 0 AND i.id < ? AND i.cluster_id = ? ORDER BY i.id DESC LIMIT ?";
static const char SQL_PRUNE[] = "DELETE FROM incident WHERE ended_at > 0 AND ended_at < ?";
static const char SQL_NODE_PUT[] =
    "INSERT INTO incident_node (incident_id, node_id, name, cause, since, back_at) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (incident_id, name, node_id) DO UPDATE SET cause = excluded.cause, back_at = excluded.back_at";
static const char SQL_NODE_LIST[] = "SELECT incident_id, node_id, name, cause, since, back_at FROM incident_node "
                                    "WHERE incident_id = ? ORDER BY name, node_id";
static const char SQL_OF_NODE[] = "SELECT incident_id, node_id, name, cause, since, back_at FROM incident_node "
                                  "WHERE node_id = ? AND since > ? ORDER BY since DESC";
static const char SQL_RETURNS[] =
    "SELECT n.node_id FROM incident_node n WHERE n.incident_id = ? AND EXISTS (SELECT 1 FROM operation o "
    "WHERE o.node_id = n.node_id AND o.kind = 'release' AND o.cause = 'absence' AND o.created_at >= ? "
    "AND o.created_at <= ?) LIMIT ?";

static void incident_read(struct db_query *q, void *row)
{
    struct shared_incident *incident = row;
    incident->id = db_get_i64(q);
    incident->cluster_id = db_get_i64(q);
    DB_GET_TEXT(q, incident->cluster);
    DB_GET_ENUM(q, topology_level, &incident->level);
    DB_GET_TEXT(q, incident->domain);
    DB_GET_ENUM(q, incident_cause, &incident->cause);
    incident->started_at = db_get_i64(q);
    incident->settled_since = db_get_i64(q);
    incident->ended_at = db_get_i64(q);
    DB_GET_TEXT(q, incident->ended_by);
    incident->part_of = db_get_i64(q);
    incident->nodes = db_get_i64(q);
    incident->affected = db_get_i64(q);
}

int db_incident_insert(struct db_tx *tx, struct shared_incident *incident)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_i64(&q, incident->cluster_id);
    db_bind_text(&q, topology_level_text(incident->level));
    db_bind_text(&q, incident->domain);
    db_bind_text(&q, incident_cause_text(incident->cause));
    db_bind_i64(&q, incident->started_at);
    db_bind_i64(&q, incident->settled_since);
    db_bind_i64(&q, incident->ended_at);
    db_bind_text(&q, incident->ended_by);
    db_bind_row(&q, incident->part_of);
    return db_query_insert(&q, &incident->id);
}

int db_incident_update(struct db_tx *tx, const struct shared_incident *incident)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_UPDATE);
    db_bind_text(&q, topology_level_text(incident->level));
    db_bind_text(&q, incident->domain);
    db_bind_text(&q, incident_cause_text(incident->cause));
    db_bind_i64(&q, incident->settled_since);
    db_bind_i64(&q, incident->ended_at);
    db_bind_text(&q, incident->ended_by);
    db_bind_row(&q, incident->part_of);
    db_bind_i64(&q, incident->id);
    return db_query_hit(&q);
}

int db_incident_get(struct db_tx *tx, int64_t id, struct shared_incident *ret_incident)
{
    return db_take_i64(tx, SQL_GET, id, incident_read, ret_incident);
}

int db_incident_list(struct db_tx *tx, const struct db_incident_filter *filter, db_row_fn fn, void *arg)
{
    struct shared_incident incident;
    bool of_cluster = filter->cluster_id != 0;
    auto_query struct db_query q;
    db_query_open(&q, tx,
                  filter->ended_after > 0 ? SQL_LIST_ENDED
                  : filter->open_only     ? (of_cluster ? SQL_LIST_CLUSTER_OPEN : SQL_LIST_OPEN)
                  : of_cluster            ? SQL_LIST_CLUSTER
                                          : SQL_LIST);
    db_bind_i64(&q, filter->before_id > 0 ? filter->before_id : INT64_MAX);
    if (of_cluster)
        db_bind_i64(&q, filter->cluster_id);
    db_bind_limit(&q, filter->limit);
    if (filter->ended_after > 0)
        db_bind_i64(&q, filter->ended_after);
    return db_query_walk(&q, incident_read, &incident, fn, arg);
}

int db_incident_prune(struct db_tx *tx, int64_t ended_before)
{
    return db_run_i64(tx, SQL_PRUNE, ended_before, NULL);
}

int db_incident_node_put(struct db_tx *tx, const struct incident_node *node)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_NODE_PUT);
    db_bind_i64(&q, node->incident_id);
    db_bind_i64(&q, node->node_id);
    db_bind_text(&q, node->name);
    db_bind_text(&q, incident_cause_text(node->cause));
    db_bind_i64(&q, node->since);
    db_bind_i64(&q, node->back_at);
    return db_query_run(&q, NULL);
}

static void node_read(struct db_query *q, void *row)
{
    struct incident_node *node = row;
    node->incident_id = db_get_i64(q);
    node->node_id = db_get_i64(q);
    DB_GET_TEXT(q, node->name);
    DB_GET_ENUM(q, incident_cause, &node->cause);
    node->since = db_get_i64(q);
    node->back_at = db_get_i64(q);
}

int db_incident_node_list(struct db_tx *tx, int64_t incident_id, db_row_fn fn, void *arg)
{
    struct incident_node node;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_NODE_LIST);
    db_bind_i64(&q, incident_id);
    return db_query_walk(&q, node_read, &node, fn, arg);
}

int db_incident_of_node(struct db_tx *tx, int64_t node_id, int64_t since, db_row_fn fn, void *arg)
{
    struct incident_node node;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_OF_NODE);
    db_bind_i64(&q, node_id);
    db_bind_i64(&q, since);
    return db_query_walk(&q, node_read, &node, fn, arg);
}

int db_incident_returns(struct db_tx *tx, int64_t incident_id, int64_t from, int64_t until, int64_t most,
                        int64_t *ret_nodes)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_RETURNS);
    db_bind_i64(&q, incident_id);
    db_bind_i64(&q, from);
    db_bind_i64(&q, until);
    db_bind_i64(&q, most);
    int status;
    *ret_nodes = 0;
    while ((status = db_query_next(&q)) == 1)
        ++*ret_nodes;
    return status;
}
