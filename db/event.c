/*
 * The timeline. It only grows at its end and is dropped at its beginning, so both are cheap; a place in it is its id.
 */
#include "db/event.h"

#include "base/text.h"
#include "db/intern.h"

#include <string.h>

/* Rows dropped in one call, so that no other write waits long for it; whoever calls regularly catches up. */
#define PRUNE_ROWS_MAX 20000

#define EVENT_SELECT                                                                                              \
    "SELECT id, at, level, kind, cluster_id, node_id, operation_id, cluster, instance_group, node, instance_id, " \
    "operation, message, failure, instance_count, target_count, min_count, script_state, "                        \
    "subject, state, actor, was FROM event "
/* ?1 cluster, ?2 node ("" for any), ?3 operation (0 for any), ?4 the cursor, ?5 limit, ?6 kind ("" for any), ?7 the lowest level (its place
 * in EVENT_LEVEL_LIST), ?8 the earliest time. */
#define EVENT_SUCH \
    "AND (?6 = '' OR kind = ?6) AND (?7 = 0 OR level = 'error' OR (?7 = 1 AND level = 'warn')) AND at >= ?8 "
#define EVENT_CLUSTER "AND (?1 = '' OR cluster = ?1) "
#define EVENT_NODE "AND (?2 = '' OR node = ?2) "
#define EVENT_AFTER EVENT_SUCH "AND id > ?4 ORDER BY id LIMIT ?5"
#define EVENT_BEFORE EVENT_SUCH "AND id < ?4 ORDER BY id DESC LIMIT ?5"
#define EVENT_OF_ALL EVENT_SELECT "WHERE ?1 = '' AND ?2 = '' AND ?3 = 0 "
#define EVENT_OF_CLUSTER EVENT_SELECT "WHERE cluster = ?1 AND ?2 = '' AND ?3 = 0 "
#define EVENT_OF_NODE EVENT_SELECT "WHERE node = ?2 AND ?3 = 0 " EVENT_CLUSTER
#define EVENT_OF_OPERATION EVENT_SELECT "WHERE operation_id = ?3 " EVENT_CLUSTER EVENT_NODE

static const char SQL_NEWEST_AT[] = "SELECT at FROM event WHERE id = (SELECT max(id) FROM event)";
static const char SQL_INSERT[] =
    "INSERT INTO event (at, level, kind, cluster_id, node_id, operation_id, cluster, instance_group, node, "
    "instance_id, operation, message, failure, instance_count, target_count, min_count, script_state, "
    "subject, state, actor, was) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char SQL_PRUNE[] =
    "DELETE FROM event WHERE id <= (SELECT max(id) FROM event) - ?1 AND id < (SELECT min(id) FROM event) + ?2";

enum { EVENTS_ALL, EVENTS_CLUSTER, EVENTS_NODE, EVENTS_OPERATION, EVENTS_SCOPES };
static const char SQL_ALL_AFTER[] = EVENT_OF_ALL EVENT_AFTER;
static const char SQL_ALL_BEFORE[] = EVENT_OF_ALL EVENT_BEFORE;
static const char SQL_CLUSTER_AFTER[] = EVENT_OF_CLUSTER EVENT_AFTER;
static const char SQL_CLUSTER_BEFORE[] = EVENT_OF_CLUSTER EVENT_BEFORE;
static const char SQL_NODE_AFTER[] = EVENT_OF_NODE EVENT_AFTER;
static const char SQL_NODE_BEFORE[] = EVENT_OF_NODE EVENT_BEFORE;
static const char SQL_OPERATION_AFTER[] = EVENT_OF_OPERATION EVENT_AFTER;
static const char SQL_OPERATION_BEFORE[] = EVENT_OF_OPERATION EVENT_BEFORE;
static const char *const list_sql[EVENTS_SCOPES][2] = {
    [EVENTS_ALL] = {SQL_ALL_AFTER, SQL_ALL_BEFORE},
    [EVENTS_CLUSTER] = {SQL_CLUSTER_AFTER, SQL_CLUSTER_BEFORE},
    [EVENTS_NODE] = {SQL_NODE_AFTER, SQL_NODE_BEFORE},
    [EVENTS_OPERATION] = {SQL_OPERATION_AFTER, SQL_OPERATION_BEFORE},
};

static const char SQL_GET[] = EVENT_SELECT "WHERE id = ?";
/* ?1 cluster, ?2 its row (a name may have been another cluster's), ?3 group, ?4 instance, ?5 and ?6 the window, ?7 scope,
 * ?8 the cursor, ?9 limit. */
#define EVENT_SEARCH                                                               \
    EVENT_SELECT                                                                   \
    "WHERE cluster = ?1 AND cluster_id = ?2 AND (?3 = '' OR instance_group = ?3) " \
    "AND (?4 = '' OR instance_id = ?4) AND at > ?5 AND at < ?6 "                   \
    "AND (?7 < 0 OR ?7 = CASE WHEN node IS NOT NULL THEN 2 WHEN instance_group IS NOT NULL THEN 1 ELSE 0 END) "
static const char SQL_SEARCH[] = EVENT_SEARCH "AND id > ?8 ORDER BY id LIMIT ?9";
static const char SQL_SEARCH_DOWN[] = EVENT_SEARCH "AND id < ?8 ORDER BY id DESC LIMIT ?9";

static void event_read(struct db_query *q, void *row)
{
    struct event *event = row;
    event->id = db_get_i64(q);
    event->at = db_get_i64(q);
    DB_GET_ENUM(q, event_level, &event->level);
    DB_GET_ENUM(q, event_kind, &event->kind);
    event->cluster_id = db_get_i64(q);
    event->node_id = db_get_i64(q);
    event->operation_id = db_get_i64(q);
    DB_GET_TEXT(q, event->cluster);
    DB_GET_TEXT(q, event->group);
    DB_GET_TEXT(q, event->node);
    DB_GET_TEXT(q, event->instance_id);
    DB_GET_TEXT(q, event->operation);
    DB_GET_TEXT(q, event->message);
    DB_GET_TEXT(q, event->failure);
    event->instance_count = db_get_i64(q);
    event->target_count = db_get_i64(q);
    event->min_count = db_get_i64(q);
    DB_GET_TEXT(q, event->script_state);
    DB_GET_TEXT(q, event->about.subject);
    DB_GET_TEXT(q, event->about.state);
    DB_GET_TEXT(q, event->about.actor);
    DB_GET_TEXT(q, event->about.was);
}

static void at_read(struct db_query *q, void *row)
{
    *(int64_t *)row = db_get_i64(q);
}

int db_event_newest_at(struct db_tx *tx, int64_t *ret_at)
{
    auto_query struct db_query q;
    *ret_at = 0;
    db_query_open(&q, tx, SQL_NEWEST_AT);
    int status = db_query_take(&q, at_read, ret_at);
    return status == STATUS_NOT_FOUND ? 0 : status;
}

int db_event_insert(struct db_tx *tx, struct event *event)
{
    if (event->at == 0)
        event->at = clock_wall_ms(db_tx_clock(tx));
    /* It has words of schedulers, providers and people in it, and goes to terminals, chats and mail: no word of theirs looks like a line of ours. */
    text_copy_clean(event->message, sizeof(event->message), event->message, strlen(event->message));
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_i64(&q, event->at);
    db_bind_text(&q, event_level_text(event->level));
    db_bind_text(&q, event_kind_text(event->kind));
    db_bind_row(&q, event->cluster_id);
    db_bind_row(&q, event->node_id);
    db_bind_row(&q, event->operation_id);
    db_bind_name(&q, event->cluster);
    db_bind_name(&q, event->group);
    db_bind_name(&q, event->node);
    db_bind_name(&q, event->instance_id);
    db_bind_name(&q, event->operation);
    db_bind_text(&q, event->message);
    db_bind_text(&q, event->failure);
    db_bind_i64(&q, event->instance_count);
    db_bind_i64(&q, event->target_count);
    db_bind_i64(&q, event->min_count);
    db_bind_text(&q, event->script_state);
    db_bind_text(&q, event->about.subject);
    db_bind_text(&q, event->about.state);
    db_bind_text(&q, event->about.actor);
    db_bind_text(&q, event->about.was);
    return db_query_insert(&q, &event->id);
}

static int list_scope(const struct db_event_filter *filter)
{
    if (filter->operation_id > 0)
        return EVENTS_OPERATION;
    if (filter->node != NULL)
        return EVENTS_NODE;
    return filter->cluster != NULL ? EVENTS_CLUSTER : EVENTS_ALL;
}

int db_event_list(struct db_tx *tx, const struct db_event_filter *filter, db_row_fn fn, void *arg)
{
    struct event event;
    bool down = filter->newest_first && filter->after_id == 0;
    auto_query struct db_query q;
    db_query_open(&q, tx, list_sql[list_scope(filter)][down]);
    db_bind_text(&q, filter->cluster != NULL ? filter->cluster : "");
    db_bind_text(&q, filter->node != NULL ? filter->node : "");
    db_bind_i64(&q, filter->operation_id);
    db_bind_i64(&q, !down ? filter->after_id : filter->before_id > 0 ? filter->before_id : INT64_MAX);
    db_bind_limit(&q, filter->limit);
    db_bind_text(&q, filter->kind != NULL ? filter->kind : "");
    db_bind_i64(&q, (int64_t)filter->min_level);
    db_bind_i64(&q, filter->since);
    return db_query_walk(&q, event_read, &event, fn, arg);
}

enum event_scope event_scope(const struct event *event)
{
    if (event->node[0] != '\0')
        return EVENT_SCOPE_NODE;
    return event->group[0] != '\0' ? EVENT_SCOPE_GROUP : EVENT_SCOPE_CLUSTER;
}

int db_event_search(struct db_tx *tx, const struct db_event_search *search, db_row_fn fn, void *arg)
{
    _Static_assert(EVENT_SCOPE_NODE == 2 && EVENT_SCOPE_GROUP == 1, "as the statement counts");
    struct event event;
    int64_t start = search->descending ? INT64_MAX : 0;
    auto_query struct db_query q;
    db_query_open(&q, tx, search->descending ? SQL_SEARCH_DOWN : SQL_SEARCH);
    db_bind_text(&q, search->cluster->name);
    db_bind_i64(&q, search->cluster->id);
    db_bind_text(&q, search->group);
    db_bind_text(&q, search->instance_id);
    db_bind_i64(&q, search->after_at > 0 ? search->after_at : -1);
    db_bind_i64(&q, search->before_at > 0 ? search->before_at : INT64_MAX);
    db_bind_i64(&q, search->scope);
    db_bind_i64(&q, search->cursor_id > 0 ? search->cursor_id : start);
    db_bind_limit(&q, search->limit);
    return db_query_walk(&q, event_read, &event, fn, arg);
}

int db_event_get(struct db_tx *tx, int64_t id, struct event *ret_event)
{
    return db_take_i64(tx, SQL_GET, id, event_read, ret_event);
}

int db_event_prune(struct db_tx *tx, int64_t keep)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_PRUNE);
    /* The newest row stays whatever is asked: it is what keeps ids from being given twice. */
    db_bind_i64(&q, keep > 1 ? keep : 1);
    db_bind_i64(&q, PRUNE_ROWS_MAX);
    return db_query_run(&q, NULL);
}
