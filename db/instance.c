/*
 * Instances: the machines that filled a slot, one after the other. The key under which one was launched is
 * unique, so that a launch that is repeated after a crash finds the row it made.
 */
#include "db/intern.h"
#include "db/node.h"

#define INSTANCE_FROM "SELECT " DB_INSTANCE_SELECT " FROM instance i "

static const char SQL_INSERT[] =
    "INSERT INTO instance (node_id, instance_id, state, boot_id, boot_at, launched_at, terminated_at, launch_key, "
    "image_id, release, self_registered, provider_ref) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char SQL_GET[] = INSTANCE_FROM "WHERE i.instance_id = ?";
static const char SQL_GET_ROW[] = INSTANCE_FROM "WHERE i.id = ?";
static const char SQL_BY_KEY[] = INSTANCE_FROM "WHERE i.launch_key = ?";
static const char SQL_BY_REF[] = INSTANCE_FROM
    "JOIN node n ON n.id = i.node_id AND n.instance_row = i.id JOIN instance_group g ON g.id = n.group_id "
    "WHERE i.provider_ref = ? AND i.provider_ref <> '' AND i.state <> 'terminated' AND g.provider = ? LIMIT 1";
static const char SQL_LIST[] = INSTANCE_FROM "WHERE i.node_id = ? ORDER BY i.id DESC LIMIT ?";
static const char SQL_UPDATE[] =
    "UPDATE instance SET instance_id = ?, state = ?, boot_id = ?, boot_at = ?, launched_at = ?, terminated_at = ?, "
    "image_id = ?, release = ?, provider_ref = ? WHERE id = ?";
static const char SQL_KNOWN[] = "SELECT 1 FROM instance WHERE instance_id = ?1 AND state <> 'terminated' "
                                "AND (?2 = '' OR provider_ref = '' OR provider_ref = ?2)";
static const char SQL_KNOWN_REF[] =
    "SELECT 1 FROM instance WHERE provider_ref = ? AND provider_ref <> '' AND state <> 'terminated' LIMIT 1";
static const char SQL_LET_GO[] =
    "SELECT 1 FROM instance i JOIN node n ON n.id = i.node_id WHERE i.instance_id = ?1 AND i.provider_ref = ?2 AND "
    "i.state = 'terminated' "
    "AND n.instance_row IS NOT i.id AND NOT EXISTS (SELECT 1 FROM credential c WHERE c.node_id = i.node_id "
    "AND c.instance_id = i.instance_id) AND NOT EXISTS (SELECT 1 FROM machine_use u "
    "WHERE u.instance_id = i.instance_id AND u.given_back_at = 0)";
static const char SQL_COUNT[] = "SELECT count(*) FROM instance_group g JOIN node n ON n.group_id = g.id "
                                "WHERE g.provider = ? AND n.instance_row > 0";
static const char SQL_SET_ADDRESS[] = "UPDATE instance SET address = ? WHERE id = ?";

void db_instance_read(struct db_query *q, void *row)
{
    struct instance *instance = row;
    instance->id = db_get_i64(q);
    instance->node_id = db_get_i64(q);
    DB_GET_TEXT(q, instance->instance_id);
    DB_GET_ENUM(q, instance_state, &instance->state);
    DB_GET_TEXT(q, instance->boot_id);
    instance->boot_at = db_get_i64(q);
    instance->launched_at = db_get_i64(q);
    instance->terminated_at = db_get_i64(q);
    DB_GET_TEXT(q, instance->launch_key);
    DB_GET_TEXT(q, instance->image_id);
    DB_GET_TEXT(q, instance->release);
    DB_GET_TEXT(q, instance->address);
    instance->self_registered = db_get_i64(q) != 0;
    DB_GET_TEXT(q, instance->provider_ref);
}

int db_instance_insert(struct db_tx *tx, struct instance *instance)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_i64(&q, instance->node_id);
    db_bind_name(&q, instance->instance_id);
    db_bind_text(&q, instance_state_text(instance->state));
    db_bind_text(&q, instance->boot_id);
    db_bind_i64(&q, instance->boot_at);
    db_bind_i64(&q, instance->launched_at);
    db_bind_i64(&q, instance->terminated_at);
    db_bind_name(&q, instance->launch_key);
    db_bind_text(&q, instance->image_id);
    db_bind_text(&q, instance->release);
    db_bind_i64(&q, instance->self_registered);
    db_bind_text(&q, instance->provider_ref);
    return db_query_insert(&q, &instance->id);
}

int db_instance_get(struct db_tx *tx, const char *instance_id, struct instance *ret_instance)
{
    return db_take_text(tx, SQL_GET, instance_id, db_instance_read, ret_instance);
}

int db_instance_get_row(struct db_tx *tx, int64_t id, struct instance *ret_instance)
{
    return db_take_i64(tx, SQL_GET_ROW, id, db_instance_read, ret_instance);
}

int db_instance_by_key(struct db_tx *tx, const char *launch_key, struct instance *ret_instance)
{
    return db_take_text(tx, SQL_BY_KEY, launch_key, db_instance_read, ret_instance);
}

int db_instance_by_ref(struct db_tx *tx, const char *provider, const char *ref, struct instance *ret_instance)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_BY_REF);
    db_bind_text(&q, ref);
    db_bind_text(&q, provider);
    int status = db_query_one(&q);
    if (status == 0)
        db_instance_read(&q, ret_instance);
    return status;
}

int db_instance_list(struct db_tx *tx, int64_t node_id, int limit, db_row_fn fn, void *arg)
{
    struct instance instance;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST);
    db_bind_i64(&q, node_id);
    db_bind_limit(&q, limit);
    return db_query_walk(&q, db_instance_read, &instance, fn, arg);
}

int db_instance_update(struct db_tx *tx, const struct instance *instance)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_UPDATE);
    db_bind_name(&q, instance->instance_id);
    db_bind_text(&q, instance_state_text(instance->state));
    db_bind_text(&q, instance->boot_id);
    db_bind_i64(&q, instance->boot_at);
    db_bind_i64(&q, instance->launched_at);
    db_bind_i64(&q, instance->terminated_at);
    db_bind_text(&q, instance->image_id);
    db_bind_text(&q, instance->release);
    db_bind_text(&q, instance->provider_ref);
    db_bind_i64(&q, instance->id);
    return db_query_hit(&q);
}

int db_instance_set_address(struct db_tx *tx, int64_t id, const char *address)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_SET_ADDRESS);
    db_bind_text(&q, address);
    db_bind_i64(&q, id);
    return db_query_hit(&q);
}

int db_instance_count(struct db_tx *tx, const char *provider, int64_t *ret_count)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_COUNT);
    db_bind_text(&q, provider);
    int status = db_query_one(&q);
    if (status == 0)
        *ret_count = db_get_i64(&q);
    return status == 0 ? db_query_status(&q) : status;
}

/* ref: NULL where the query has one parameter. */
static int is_there(struct db_tx *tx, const char *sql, const char *text, const char *ref, bool *ret_there)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    db_bind_text(&q, text);
    if (ref != NULL)
        db_bind_text(&q, ref);
    int status = db_query_one(&q);
    *ret_there = status == 0;
    return status == STATUS_NOT_FOUND ? 0 : status;
}

int db_instance_is_known(struct db_tx *tx, const char *instance_id, const char *ref, bool *ret_known)
{
    bool known = false;
    int status = is_there(tx, SQL_KNOWN, instance_id, ref, &known);
    if (status == 0 && !known && ref[0] != '\0')
        status = is_there(tx, SQL_KNOWN_REF, ref, NULL, &known);
    *ret_known = known;
    return status;
}

int db_instance_was_let_go(struct db_tx *tx, const char *instance_id, const char *ref, bool *ret_let_go)
{
    return is_there(tx, SQL_LET_GO, instance_id, ref, ret_let_go);
}
