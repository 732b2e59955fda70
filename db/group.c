/* Instance groups of a cluster, and the breaker each has. */
#include "db/cluster.h"
#include "db/intern.h"

#define GROUP_SELECT                                                                                               \
    "SELECT id, cluster_id, name, instance_type, provider, state, failure, desired, min_count, previous_desired, " \
    "state_since, image_id, release, breaker_opened_at, breaker_closed_at, short_at, short_until, short_times, "   \
    "provision_failed_at, provision_failures, protected_at, source_partition, source_feature, created_at FROM "    \
    "instance_group "

static const char SQL_INSERT[] =
    "INSERT INTO instance_group "
    "(cluster_id, name, instance_type, provider, state, failure, desired, min_count, previous_desired, state_since, "
    "image_id, release, source_partition, source_feature, breaker_opened_at, created_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char SQL_GET[] = GROUP_SELECT "WHERE cluster_id = ? AND name = ?";
static const char SQL_GET_ROW[] = GROUP_SELECT "WHERE id = ?";
static const char SQL_LIST[] = GROUP_SELECT "WHERE cluster_id = ? ORDER BY name";
static const char SQL_LIST_ALL[] = GROUP_SELECT "ORDER BY id";
static const char SQL_UPDATE[] =
    "UPDATE instance_group SET instance_type = ?, state = ?, failure = ?, desired = ?, min_count = ?, "
    "previous_desired = ?, state_since = ?, image_id = ?, release = ?, source_partition = ?, source_feature = ? "
    "WHERE id = ?";
static const char SQL_DELETE[] = "DELETE FROM instance_group WHERE id = ?";
static const char SQL_MACHINE_CAPACITY[] =
    "UPDATE instance_group SET short_at = ?, short_until = ?, short_times = ?, "
    "provision_failed_at = ?, provision_failures = ?, protected_at = ? WHERE id = ?";
static const char SQL_BREAKER[] = "UPDATE instance_group SET breaker_opened_at = ? WHERE id = ?";
static const char SQL_CLOSE[] = "UPDATE instance_group SET breaker_opened_at = 0, breaker_closed_at = ? WHERE id = ?";

static void group_read(struct db_query *q, void *row)
{
    struct instance_group *group = row;
    group->id = db_get_i64(q);
    group->cluster_id = db_get_i64(q);
    DB_GET_TEXT(q, group->name);
    DB_GET_TEXT(q, group->instance_type);
    DB_GET_TEXT(q, group->provider);
    DB_GET_ENUM(q, group_state, &group->state);
    DB_GET_TEXT(q, group->failure);
    group->desired = db_get_i64(q);
    group->min_count = db_get_i64(q);
    group->previous_desired = db_get_i64(q);
    group->state_since = db_get_i64(q);
    DB_GET_TEXT(q, group->image_id);
    DB_GET_TEXT(q, group->release);
    group->breaker_opened_at = db_get_i64(q);
    group->breaker_closed_at = db_get_i64(q);
    group->machine_capacity.short_at = db_get_i64(q);
    group->machine_capacity.short_until = db_get_i64(q);
    group->machine_capacity.short_times = db_get_i64(q);
    group->machine_capacity.failed_at = db_get_i64(q);
    group->machine_capacity.failures = db_get_i64(q);
    group->machine_capacity.protected_at = db_get_i64(q);
    DB_GET_TEXT(q, group->source.partition);
    DB_GET_TEXT(q, group->source.feature);
    group->created_at = db_get_i64(q);
}

/* What an update may change, in the order of both statements. */
static void bind_changing(struct db_query *q, const struct instance_group *group)
{
    db_bind_text(q, group_state_text(group->state));
    db_bind_text(q, group->failure);
    db_bind_i64(q, group->desired);
    db_bind_i64(q, group->min_count);
    db_bind_i64(q, group->previous_desired);
    db_bind_i64(q, group->state_since);
    db_bind_text(q, group->image_id);
    db_bind_text(q, group->release);
    db_bind_text(q, group->source.partition);
    db_bind_text(q, group->source.feature);
}

int db_group_insert(struct db_tx *tx, struct instance_group *group)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_i64(&q, group->cluster_id);
    db_bind_text(&q, group->name);
    db_bind_text(&q, group->instance_type);
    db_bind_text(&q, group->provider);
    bind_changing(&q, group);
    db_bind_i64(&q, group->breaker_opened_at);
    db_bind_i64(&q, group->created_at);
    return db_query_insert(&q, &group->id);
}

int db_group_get(struct db_tx *tx, int64_t cluster_id, const char *name, struct instance_group *ret_group)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_GET);
    db_bind_i64(&q, cluster_id);
    db_bind_text(&q, name);
    return db_query_take(&q, group_read, ret_group);
}

int db_group_get_row(struct db_tx *tx, int64_t id, struct instance_group *ret_group)
{
    return db_take_i64(tx, SQL_GET_ROW, id, group_read, ret_group);
}

int db_group_list(struct db_tx *tx, int64_t cluster_id, db_row_fn fn, void *arg)
{
    struct instance_group group;
    auto_query struct db_query q;
    db_query_open(&q, tx, cluster_id > 0 ? SQL_LIST : SQL_LIST_ALL);
    if (cluster_id > 0)
        db_bind_i64(&q, cluster_id);
    return db_query_walk(&q, group_read, &group, fn, arg);
}

int db_group_update(struct db_tx *tx, const struct instance_group *group)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_UPDATE);
    db_bind_text(&q, group->instance_type);
    bind_changing(&q, group);
    db_bind_i64(&q, group->id);
    return db_query_hit(&q);
}

int db_group_delete(struct db_tx *tx, int64_t id)
{
    auto_query struct db_query q;
    db_counts_mark(tx, id); /* its nodes go with it */
    db_query_open(&q, tx, SQL_DELETE);
    db_bind_i64(&q, id);
    return db_query_hit(&q);
}

int db_group_set_breaker(struct db_tx *tx, int64_t id, int64_t opened_at)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_BREAKER);
    db_bind_i64(&q, opened_at);
    db_bind_i64(&q, id);
    return db_query_hit(&q);
}

int db_group_close_breaker(struct db_tx *tx, int64_t id, int64_t at)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_CLOSE);
    db_bind_i64(&q, at);
    db_bind_i64(&q, id);
    return db_query_hit(&q);
}

int db_group_set_machine_capacity(struct db_tx *tx, int64_t id, const struct machine_capacity *machine_capacity)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_MACHINE_CAPACITY);
    db_bind_i64(&q, machine_capacity->short_at);
    db_bind_i64(&q, machine_capacity->short_until);
    db_bind_i64(&q, machine_capacity->short_times);
    db_bind_i64(&q, machine_capacity->failed_at);
    db_bind_i64(&q, machine_capacity->failures);
    db_bind_i64(&q, machine_capacity->protected_at);
    db_bind_i64(&q, id);
    return db_query_hit(&q);
}
