/*
 * Nodes: the slots of a cluster. The list that a page of the API shows comes with the instance that fills each slot
 * and the names people know, from one statement; which statement depends on what is asked for, so that each
 * walks an index in the order of its cursor.
 */
#include "db/node.h"

#include "db/intern.h"

#define NODE_COLUMNS                                                                                       \
    "n.id, n.cluster_id, n.group_id, n.name, n.state, n.health, n.reason, n.instance_row, n.state_since, " \
    "n.health_since, n.retry_at, n.opted_out, n.zone, n.chassis, n.ultraserver, n.leaf_switch, n.rack, "   \
    "n.power_domain, n.created_at, "                                                                       \
    "n.cordoned, n.served, n.launch_tries, n.near_miss, n.attention, n.person_hold, n.person_hold_row, "   \
    "n.person_hold_at"
#define NODE_ROWS                                                                                    \
    "SELECT " NODE_COLUMNS ", " DB_INSTANCE_SELECT ", g.name, c.name, g.instance_type, g.provider, " \
    "g.image_id, g.release, c.recovery, c.paused_at, o.kind, d.id "                                  \
    "FROM node n JOIN instance_group g ON g.id = n.group_id JOIN cluster c ON c.id = n.cluster_id "  \
    "LEFT JOIN instance i ON i.id = n.instance_row "                                                 \
    "LEFT JOIN operation o ON o.node_id = n.id AND o.state IN ('pending', 'running') "               \
    "LEFT JOIN deep_run d ON d.operation_id = o.id AND d.finished_at = 0 "
/* ?1 scope, ?2 the cursor, ?3 state, ?4 health ("" for any), ?5 limit. */
#define NODE_STATE_REST "AND (?3 = '' OR n.state = ?3) "
#define NODE_HEALTH_REST "AND (?4 = '' OR n.health = ?4) "
#define NODE_BY_NAME "AND n.name > ?2 ORDER BY n.name LIMIT ?5"

static const char SQL_INSERT[] =
    "INSERT INTO node (cluster_id, group_id, name, state, health, reason, instance_row, state_since, health_since, "
    "retry_at, opted_out, zone, created_at, cordoned, served, launch_tries, near_miss, "
    "attention, person_hold, person_hold_row, person_hold_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
    "?, ?, ?, ?, ?)";
static const char SQL_GET[] = "SELECT " NODE_COLUMNS " FROM node n WHERE n.cluster_id = ? AND n.name = ?";
static const char SQL_GET_ROW[] = "SELECT " NODE_COLUMNS " FROM node n WHERE n.id = ?";
static const char SQL_GET_FILLED[] = "SELECT " NODE_COLUMNS ", " DB_INSTANCE_SELECT
                                     " FROM node n LEFT JOIN instance i ON i.id = n.instance_row WHERE n.id = ?";
static const char SQL_UPDATE[] =
    "UPDATE node SET state = ?, health = ?, reason = ?, instance_row = ?, state_since = ?, health_since = ?, "
    "retry_at = ?, opted_out = ?, cordoned = ?, served = ?, launch_tries = ?, near_miss = ?, attention = ?, "
    "person_hold = ?, person_hold_row = ?, person_hold_at = ? WHERE id = ?";
static const char *const SQL_SET_TOPOLOGY[TOPOLOGY_LEVEL_ZONE] = {
    [TOPOLOGY_LEVEL_CHASSIS] = "UPDATE node SET chassis = ? WHERE id = ?",
    [TOPOLOGY_LEVEL_ULTRASERVER] = "UPDATE node SET ultraserver = ? WHERE id = ?",
    [TOPOLOGY_LEVEL_SWITCH] = "UPDATE node SET leaf_switch = ? WHERE id = ?",
    [TOPOLOGY_LEVEL_RACK] = "UPDATE node SET rack = ? WHERE id = ?",
    [TOPOLOGY_LEVEL_POWER_DOMAIN] = "UPDATE node SET power_domain = ? WHERE id = ?"};
static const char SQL_DELETE[] = "DELETE FROM node WHERE id = ?";
static const char SQL_LIST_ALL[] =
    NODE_ROWS "WHERE ?1 = 0 AND ?2 = '' " NODE_STATE_REST NODE_HEALTH_REST "ORDER BY n.cluster_id, n.id LIMIT ?5";
static const char SQL_LIST_GROUP_IN_ORDER[] =
    NODE_ROWS "WHERE n.group_id = ?1 AND ?2 = '' " NODE_STATE_REST NODE_HEALTH_REST "ORDER BY n.id LIMIT ?5";
static const char SQL_LIST_CLUSTER[] =
    NODE_ROWS "WHERE n.cluster_id = ?1 " NODE_STATE_REST NODE_HEALTH_REST NODE_BY_NAME;
/* The indexes hold what is not in order. What is makes up most of a fleet, and is found by a walk in the order of names. */
static const char SQL_LIST_STATE[] =
    NODE_ROWS "WHERE n.cluster_id = ?1 AND n.state = ?3 AND n.state <> 'ready' " NODE_HEALTH_REST NODE_BY_NAME;
static const char SQL_LIST_NOTED[] = NODE_ROWS
    "WHERE n.cluster_id = ?1 AND n.state = 'ready' AND n.reason <> '' " NODE_STATE_REST NODE_HEALTH_REST NODE_BY_NAME;
static const char SQL_LIST_HEALTH[] =
    NODE_ROWS "WHERE n.cluster_id = ?1 AND n.health = ?4 AND n.health <> 'healthy' " NODE_STATE_REST NODE_BY_NAME;
static const char SQL_LIST_GROUP[] = NODE_ROWS "WHERE n.group_id = ?1 " NODE_STATE_REST NODE_HEALTH_REST NODE_BY_NAME;

static const char SQL_LIST_ONE[] = NODE_ROWS "WHERE n.id = ?";
static const char SQL_LIST_NEW[] = NODE_ROWS "WHERE n.id > ? ORDER BY n.id LIMIT ?";

static const char SQL_COUNT_UNPROVEN[] =
    "SELECT count(*) FROM node WHERE group_id = ? AND state = 'verifying' AND served = 0";
static const char SQL_COUNT_IMAGE[] = "SELECT count(*) FROM node n JOIN instance i ON i.id = n.instance_row "
                                      "WHERE n.group_id = ? AND i.image_id = ? AND i.release = ? "
                                      "AND n.state IN ('ready', 'held')";

static const char SQL_MAIN_IMAGE[] =
    "SELECT i.image_id, i.release FROM node n JOIN instance i ON i.id = n.instance_row "
    "WHERE n.group_id = ?1 AND n.state NOT IN ('deleting', 'deleted') AND (i.image_id, i.release) <> (?2, ?3) "
    "GROUP BY i.image_id, i.release ORDER BY count(*) DESC, max(i.id) DESC LIMIT 1";

/* ?1 cluster, ?2 part of the group's name, ?3 and ?4 the window, ?5 filled only, ?6 the cursor, ?7 limit. */
#define NODE_SEARCH                                                                                            \
    NODE_ROWS "WHERE n.cluster_id = ?1 AND instr(g.name, ?2) > 0 AND n.created_at > ?3 AND n.created_at < ?4 " \
              "AND (?5 = 0 OR i.instance_id IS NOT NULL) AND n.state <> 'deleted' "
static const char SQL_SEARCH_ORDER[] = NODE_SEARCH "AND n.id > ?6 ORDER BY n.id LIMIT ?7";
static const char SQL_SEARCH_ORDER_DOWN[] = NODE_SEARCH "AND n.id < ?6 ORDER BY n.id DESC LIMIT ?7";
static const char SQL_SEARCH_NAME[] = NODE_SEARCH "AND n.name > ?6 ORDER BY n.name LIMIT ?7";
static const char SQL_SEARCH_NAME_DOWN[] = NODE_SEARCH "AND n.name < ?6 ORDER BY n.name DESC LIMIT ?7";
static const char *const search_sql[2][2] = {{SQL_SEARCH_ORDER, SQL_SEARCH_ORDER_DOWN},
                                             {SQL_SEARCH_NAME, SQL_SEARCH_NAME_DOWN}};

static void node_read(struct db_query *q, void *row)
{
    struct node *node = row;
    node->id = db_get_i64(q);
    node->cluster_id = db_get_i64(q);
    node->group_id = db_get_i64(q);
    DB_GET_TEXT(q, node->name);
    DB_GET_ENUM(q, node_state, &node->state);
    DB_GET_ENUM(q, health, &node->health);
    DB_GET_TEXT(q, node->reason);
    node->instance_row = db_get_i64(q);
    node->state_since = db_get_i64(q);
    node->health_since = db_get_i64(q);
    node->retry_at = db_get_i64(q);
    node->opted_out = db_get_i64(q) != 0;
    DB_GET_TEXT(q, node->zone);
    for (int level = 0; level < TOPOLOGY_LEVEL_ZONE; level++)
        DB_GET_TEXT(q, node->topology[level]);
    node->created_at = db_get_i64(q);
    node->cordoned = db_get_i64(q) != 0;
    node->served = db_get_i64(q) != 0;
    node->launch_tries = db_get_i64(q);
    DB_GET_TEXT(q, node->near_miss);
    DB_GET_ENUM(q, attention, &node->attention);
    node->person_hold = db_get_i64(q);
    node->person_hold_row = db_get_i64(q);
    node->person_hold_at = db_get_i64(q);
}

static void filled_by_read(struct db_query *q, struct instance *instance)
{
    if (db_next_is_null(q)) {
        memset(instance, 0, sizeof(*instance));
        q->column += DB_INSTANCE_COLUMNS;
    } else {
        db_instance_read(q, instance);
    }
}

static void node_row_read(struct db_query *q, void *arg)
{
    struct db_node_row *row = arg;
    node_read(q, &row->node);
    filled_by_read(q, &row->instance);
    DB_GET_TEXT(q, row->group);
    DB_GET_TEXT(q, row->cluster);
    DB_GET_TEXT(q, row->instance_type);
    DB_GET_TEXT(q, row->provider);
    DB_GET_TEXT(q, row->image_id);
    DB_GET_TEXT(q, row->release);
    DB_GET_ENUM(q, node_recovery, &row->recovery);
    row->is_paused = db_get_i64(q) != 0;
    row->is_busy = !db_next_is_null(q);
    if (row->is_busy)
        DB_GET_ENUM(q, operation_kind, &row->busy_with);
    else
        q->column++;
    row->is_tested = !db_next_is_null(q);
    q->column++;
}

static void bind_facts(struct db_query *q, const struct node *node)
{
    db_bind_i64(q, node->cordoned);
    db_bind_i64(q, node->served);
    db_bind_i64(q, node->launch_tries);
    db_bind_text(q, node->near_miss);
    db_bind_text(q, attention_text(node->attention));
    db_bind_i64(q, node->person_hold);
    db_bind_i64(q, node->person_hold_row);
    db_bind_i64(q, node->person_hold_at);
}

int db_node_insert(struct db_tx *tx, struct node *node)
{
    auto_query struct db_query q;
    db_counts_mark(tx, node->group_id);
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_i64(&q, node->cluster_id);
    db_bind_i64(&q, node->group_id);
    db_bind_text(&q, node->name);
    db_bind_text(&q, node_state_text(node->state));
    db_bind_text(&q, health_text(node->health));
    db_bind_text(&q, node->reason);
    db_bind_row(&q, node->instance_row);
    db_bind_i64(&q, node->state_since);
    db_bind_i64(&q, node->health_since);
    db_bind_i64(&q, node->retry_at);
    db_bind_i64(&q, node->opted_out);
    db_bind_text(&q, node->zone);
    db_bind_i64(&q, node->created_at);
    bind_facts(&q, node);
    return db_query_insert(&q, &node->id);
}

int db_node_get(struct db_tx *tx, int64_t cluster_id, const char *name, struct node *ret_node)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_GET);
    db_bind_i64(&q, cluster_id);
    db_bind_text(&q, name);
    return db_query_take(&q, node_read, ret_node);
}

int db_node_get_row(struct db_tx *tx, int64_t id, struct node *ret_node)
{
    return db_take_i64(tx, SQL_GET_ROW, id, node_read, ret_node);
}

int db_node_get_filled(struct db_tx *tx, int64_t id, struct node *ret_node, struct instance *ret_instance)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_GET_FILLED);
    db_bind_i64(&q, id);
    int status = db_query_one(&q);
    if (status < 0)
        return status;
    node_read(&q, ret_node);
    filled_by_read(&q, ret_instance);
    return db_query_status(&q);
}

static const char *list_sql(const struct db_node_filter *filter)
{
    if (filter->cluster_id == 0)
        return filter->group_id > 0 ? SQL_LIST_GROUP_IN_ORDER : SQL_LIST_ALL;
    if (filter->group_id > 0)
        return SQL_LIST_GROUP;
    if (filter->with_reason)
        return SQL_LIST_NOTED;
    if (filter->state >= 0 && filter->state != NODE_STATE_READY)
        return SQL_LIST_STATE;
    return filter->health >= 0 && filter->health != HEALTH_HEALTHY ? SQL_LIST_HEALTH : SQL_LIST_CLUSTER;
}

int db_node_list(struct db_tx *tx, const struct db_node_filter *filter, db_row_fn fn, void *arg)
{
    struct db_node_row row;
    bool by_name = filter->cluster_id > 0;
    auto_query struct db_query q;
    db_query_open(&q, tx, list_sql(filter));
    db_bind_i64(&q, filter->group_id > 0 ? filter->group_id : filter->cluster_id);
    db_bind_text(&q, by_name && filter->after_name != NULL ? filter->after_name : "");
    db_bind_text(&q, filter->state >= 0 ? node_state_text((enum node_state)filter->state) : "");
    db_bind_text(&q, filter->health >= 0 ? health_text((enum health)filter->health) : "");
    db_bind_limit(&q, filter->limit);
    return db_query_walk(&q, node_row_read, &row, fn, arg);
}

int db_node_list_one(struct db_tx *tx, int64_t id, db_row_fn fn, void *arg)
{
    struct db_node_row row;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST_ONE);
    db_bind_i64(&q, id);
    int status = db_query_take(&q, node_row_read, &row);
    return status != 0 ? status : fn(&row, arg);
}

int db_node_list_new(struct db_tx *tx, int64_t after_id, int limit, db_row_fn fn, void *arg)
{
    struct db_node_row row;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST_NEW);
    db_bind_i64(&q, after_id);
    db_bind_limit(&q, limit);
    return db_query_walk(&q, node_row_read, &row, fn, arg);
}

int db_node_search(struct db_tx *tx, const struct db_node_search *search, db_row_fn fn, void *arg)
{
    struct db_node_row row;
    auto_query struct db_query q;
    db_query_open(&q, tx, search_sql[search->by_name][search->descending]);
    db_bind_i64(&q, search->cluster_id);
    db_bind_text(&q, search->group_contains);
    db_bind_i64(&q, search->created_after > 0 ? search->created_after : -1);
    db_bind_i64(&q, search->created_before > 0 ? search->created_before : INT64_MAX);
    db_bind_i64(&q, search->filled_only);
    if (search->by_name)
        db_bind_text(&q, search->has_cursor ? search->cursor_name : search->descending ? "\x7f" : "");
    else
        db_bind_i64(&q, search->has_cursor ? search->cursor_id : search->descending ? INT64_MAX : 0);
    db_bind_limit(&q, search->limit);
    return db_query_walk(&q, node_row_read, &row, fn, arg);
}

int db_node_count_image(struct db_tx *tx, int64_t group_id, const char *image_id, const char *release,
                        int64_t *ret_count)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_COUNT_IMAGE);
    db_bind_i64(&q, group_id);
    db_bind_text(&q, image_id);
    db_bind_text(&q, release);
    int status = db_query_one(&q);
    if (status == 0)
        *ret_count = db_get_i64(&q);
    return status;
}

int db_node_count_unproven(struct db_tx *tx, int64_t group_id, int64_t *ret_count)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_COUNT_UNPROVEN);
    db_bind_i64(&q, group_id);
    int status = db_query_one(&q);
    if (status == 0)
        *ret_count = db_get_i64(&q);
    return status;
}

int db_node_main_image(struct db_tx *tx, int64_t group_id, const char *image_id, const char *release,
                       char ret_image_id[IMAGE_ID_MAX_BYTES], char ret_release[RELEASE_VERSION_MAX_BYTES])
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_MAIN_IMAGE);
    db_bind_i64(&q, group_id);
    db_bind_text(&q, image_id);
    db_bind_text(&q, release);
    int status = db_query_one(&q);
    if (status < 0)
        return status;
    db_get_text(&q, ret_image_id, IMAGE_ID_MAX_BYTES);
    db_get_text(&q, ret_release, RELEASE_VERSION_MAX_BYTES);
    return db_query_status(&q);
}

int db_node_update(struct db_tx *tx, const struct node *node)
{
    auto_query struct db_query q;
    db_counts_mark(tx, node->group_id);
    db_query_open(&q, tx, SQL_UPDATE);
    db_bind_text(&q, node_state_text(node->state));
    db_bind_text(&q, health_text(node->health));
    db_bind_text(&q, node->reason);
    db_bind_row(&q, node->instance_row);
    db_bind_i64(&q, node->state_since);
    db_bind_i64(&q, node->health_since);
    db_bind_i64(&q, node->retry_at);
    db_bind_i64(&q, node->opted_out);
    bind_facts(&q, node);
    db_bind_i64(&q, node->id);
    return db_query_hit(&q);
}

int db_node_set_topology(struct db_tx *tx, int64_t id, enum topology_level level, const char *domain)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_SET_TOPOLOGY[level]);
    db_bind_text(&q, domain);
    db_bind_i64(&q, id);
    return db_query_hit(&q);
}

int db_node_delete(struct db_tx *tx, int64_t id)
{
    int status = db_verdict_drop_node(tx, id);
    if (status < 0)
        return status;
    auto_query struct db_query q;
    db_counts_mark_all(tx); /* of which group it is, is not said */
    db_query_open(&q, tx, SQL_DELETE);
    db_bind_i64(&q, id);
    return db_query_hit(&q);
}
