/* Machines that a site owns, with the use that is the newest of each. */
#include "db/machine.h"

#include "db/intern.h"

#define USE_COLUMNS                                                                                                \
    "u.id, u.machine_id, u.instance_id, u.launch_key, u.node_id, u.cluster, u.node, u.taken_at, u.given_back_at, " \
    "u.broken, u.reason, u.fault "
#define MACHINE_SELECT                                                                                                 \
    "SELECT m.id, m.name, m.provider, m.type, m.state, m.reason, m.created_at, m.changed_at, m.address, m.bmc, "       \
    "m.rack, m.switch, m.chassis, m.serial, m.boot_id, m.checked, m.trouble, m.well_since, m.agent_hash, " USE_COLUMNS \
    "FROM machine m LEFT JOIN machine_use u ON u.id = m.use_id "
#define USE_SELECT "SELECT " USE_COLUMNS "FROM machine_use u "

static const char SQL_INSERT[] =
    "INSERT INTO machine (name, provider, type, state, reason, created_at, changed_at, address, bmc, rack, switch, "
    "chassis, serial, boot_id, checked, trouble) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char SQL_GET[] = MACHINE_SELECT "WHERE m.name = ?";
static const char SQL_GET_ROW[] = MACHINE_SELECT "WHERE m.id = ?";
static const char SQL_UPDATE[] =
    "UPDATE machine SET provider = ?, type = ?, state = ?, reason = ?, changed_at = ?, address = ?, bmc = ?, rack = ?, "
    "switch = ?, chassis = ?, serial = ?, boot_id = ?, checked = ?, trouble = ?, well_since = ?, use_id = ?, "
    "agent_hash = ? "
    "WHERE id = ?";
static const char SQL_LIST[] = MACHINE_SELECT
    "WHERE m.name > ?1 AND (?2 = '' OR m.provider = ?2) AND (?3 = '' OR m.state = ?3) ORDER BY m.name LIMIT ?4";
static const char SQL_COUNT[] = "SELECT count(*) FROM machine";
static const char SQL_USE_INSERT[] =
    "INSERT INTO machine_use (machine_id, instance_id, launch_key, node_id, cluster, node, taken_at, given_back_at, "
    "broken, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char SQL_USE_UPDATE[] =
    "UPDATE machine_use SET given_back_at = ?, broken = ?, reason = ?, fault = ? WHERE id = ?";
static const char SQL_USE_BY_KEY[] = USE_SELECT "WHERE u.launch_key = ?";
static const char SQL_USE_BY_INSTANCE[] = USE_SELECT "WHERE u.instance_id = ?";
static const char SQL_USE_LIST[] = USE_SELECT "WHERE u.machine_id = ? ORDER BY u.id DESC LIMIT ?";
static const char SQL_USE_BEFORE[] =
    USE_SELECT "WHERE u.node_id = ? AND u.given_back_at > 0 ORDER BY u.id DESC LIMIT 1";
static const char SQL_USE_FAULTS[] =
    "SELECT count(*) FROM machine_use WHERE machine_id = ? AND fault = 1 AND given_back_at > ?";
/* One row for each launch that waits, with how many its group waits for. */
static const char SQL_DEMANDS[] =
    "SELECT n.id, g.id, i.launched_at, count(*) OVER (PARTITION BY g.id) "
    "FROM operation o JOIN node n ON n.id = o.node_id JOIN instance_group g ON g.id = n.group_id "
    "JOIN instance i ON i.id = n.instance_row "
    "WHERE o.state IN ('pending', 'running') AND i.state = 'launching' AND i.provider_ref = '' "
    "AND g.provider = ?1 AND (?2 = '' OR g.instance_type = ?2) "
    "AND NOT EXISTS (SELECT 1 FROM machine_use u WHERE u.instance_id = i.instance_id)";

static void use_read(struct db_query *q, void *row)
{
    struct machine_use *use = row;
    use->id = db_get_i64(q);
    use->machine_id = db_get_i64(q);
    DB_GET_TEXT(q, use->instance_id);
    DB_GET_TEXT(q, use->launch_key);
    use->node_id = db_get_i64(q);
    DB_GET_TEXT(q, use->cluster);
    DB_GET_TEXT(q, use->node);
    use->taken_at = db_get_i64(q);
    use->given_back_at = db_get_i64(q);
    use->broken = db_get_i64(q) != 0;
    DB_GET_TEXT(q, use->reason);
    use->fault = db_get_i64(q) != 0;
}

static void machine_read(struct db_query *q, void *row)
{
    struct machine *machine = row;
    *machine = (struct machine){.id = db_get_i64(q)};
    DB_GET_TEXT(q, machine->name);
    DB_GET_TEXT(q, machine->provider);
    DB_GET_TEXT(q, machine->type);
    DB_GET_ENUM(q, machine_state, &machine->state);
    DB_GET_TEXT(q, machine->reason);
    machine->created_at = db_get_i64(q);
    machine->changed_at = db_get_i64(q);
    DB_GET_TEXT(q, machine->address);
    DB_GET_TEXT(q, machine->bmc);
    DB_GET_TEXT(q, machine->rack);
    DB_GET_TEXT(q, machine->net_switch);
    DB_GET_TEXT(q, machine->chassis);
    DB_GET_TEXT(q, machine->serial);
    DB_GET_TEXT(q, machine->boot_id);
    machine->checked = db_get_i64(q) != 0;
    DB_GET_TEXT(q, machine->trouble);
    machine->well_since = db_get_i64(q);
    machine->has_agent = !db_next_is_null(q);
    if (machine->has_agent)
        db_get_blob(q, machine->agent_hash, sizeof(machine->agent_hash));
    else
        (void)db_get_word(q);
    use_read(q, &machine->use);
}

static void bind_place(struct db_query *q, const struct machine *machine)
{
    db_bind_text(q, machine->address);
    db_bind_text(q, machine->bmc);
    db_bind_text(q, machine->rack);
    db_bind_text(q, machine->net_switch);
    db_bind_text(q, machine->chassis);
    db_bind_text(q, machine->serial);
    db_bind_text(q, machine->boot_id);
    db_bind_i64(q, machine->checked);
    db_bind_text(q, machine->trouble);
}

int db_machine_insert(struct db_tx *tx, struct machine *machine)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_text(&q, machine->name);
    db_bind_text(&q, machine->provider);
    db_bind_text(&q, machine->type);
    db_bind_text(&q, machine_state_text(machine->state));
    db_bind_text(&q, machine->reason);
    db_bind_i64(&q, machine->created_at);
    db_bind_i64(&q, machine->changed_at);
    bind_place(&q, machine);
    return db_query_insert(&q, &machine->id);
}

int db_machine_get(struct db_tx *tx, const char *name, struct machine *ret_machine)
{
    return db_take_text(tx, SQL_GET, name, machine_read, ret_machine);
}

int db_machine_get_row(struct db_tx *tx, int64_t id, struct machine *ret_machine)
{
    return db_take_i64(tx, SQL_GET_ROW, id, machine_read, ret_machine);
}

int db_machine_update(struct db_tx *tx, const struct machine *machine)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_UPDATE);
    db_bind_text(&q, machine->provider);
    db_bind_text(&q, machine->type);
    db_bind_text(&q, machine_state_text(machine->state));
    db_bind_text(&q, machine->reason);
    db_bind_i64(&q, machine->changed_at);
    bind_place(&q, machine);
    db_bind_i64(&q, machine->well_since);
    db_bind_row(&q, machine->use.id);
    db_bind_blob(&q, machine->has_agent ? machine->agent_hash : NULL,
                 machine->has_agent ? sizeof(machine->agent_hash) : 0);
    db_bind_i64(&q, machine->id);
    return db_query_hit(&q);
}

int db_machine_list(struct db_tx *tx, const struct db_machine_filter *filter, db_row_fn fn, void *arg)
{
    struct machine machine;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST);
    db_bind_text(&q, filter->after_name == NULL ? "" : filter->after_name);
    db_bind_text(&q, filter->provider == NULL ? "" : filter->provider);
    db_bind_text(&q, filter->state < 0 ? "" : machine_state_text((enum machine_state)filter->state));
    db_bind_limit(&q, filter->limit);
    return db_query_walk(&q, machine_read, &machine, fn, arg);
}

int db_machine_count(struct db_tx *tx, int64_t *ret_count)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_COUNT);
    int status = db_query_one(&q);
    if (status == 0)
        *ret_count = db_get_i64(&q);
    return status == 0 ? db_query_status(&q) : status;
}

/* --- what each was ----------------------------------------------------------------------------------- */

int db_machine_use_insert(struct db_tx *tx, struct machine_use *use)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_USE_INSERT);
    db_bind_i64(&q, use->machine_id);
    db_bind_text(&q, use->instance_id);
    db_bind_text(&q, use->launch_key);
    db_bind_i64(&q, use->node_id);
    db_bind_text(&q, use->cluster);
    db_bind_text(&q, use->node);
    db_bind_i64(&q, use->taken_at);
    db_bind_i64(&q, use->given_back_at);
    db_bind_i64(&q, use->broken);
    db_bind_text(&q, use->reason);
    return db_query_insert(&q, &use->id);
}

int db_machine_use_update(struct db_tx *tx, const struct machine_use *use)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_USE_UPDATE);
    db_bind_i64(&q, use->given_back_at);
    db_bind_i64(&q, use->broken);
    db_bind_text(&q, use->reason);
    db_bind_i64(&q, use->fault);
    db_bind_i64(&q, use->id);
    return db_query_hit(&q);
}

int db_machine_use_by_key(struct db_tx *tx, const char *launch_key, struct machine_use *ret_use)
{
    return db_take_text(tx, SQL_USE_BY_KEY, launch_key, use_read, ret_use);
}

int db_machine_use_by_instance(struct db_tx *tx, const char *instance_id, struct machine_use *ret_use)
{
    return db_take_text(tx, SQL_USE_BY_INSTANCE, instance_id, use_read, ret_use);
}

int db_machine_use_list(struct db_tx *tx, int64_t machine_id, int limit, db_row_fn fn, void *arg)
{
    struct machine_use use;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_USE_LIST);
    db_bind_i64(&q, machine_id);
    db_bind_limit(&q, limit);
    return db_query_walk(&q, use_read, &use, fn, arg);
}

int db_machine_use_before(struct db_tx *tx, int64_t node_id, struct machine_use *ret_use)
{
    return db_take_i64(tx, SQL_USE_BEFORE, node_id, use_read, ret_use);
}

int db_machine_use_faults(struct db_tx *tx, int64_t machine_id, int64_t since, int64_t *ret_count)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_USE_FAULTS);
    db_bind_i64(&q, machine_id);
    db_bind_i64(&q, since);
    int status = db_query_one(&q);
    if (status == 0)
        *ret_count = db_get_i64(&q);
    return status == 0 ? db_query_status(&q) : status;
}

static void demand_read(struct db_query *q, void *row)
{
    struct machine_demand *demand = row;
    demand->node_id = db_get_i64(q);
    demand->group_id = db_get_i64(q);
    demand->since = db_get_i64(q);
    demand->missing = db_get_i64(q);
}

int db_machine_demands(struct db_tx *tx, const char *provider, const char *type, db_row_fn fn, void *arg)
{
    struct machine_demand demand;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_DEMANDS);
    db_bind_text(&q, provider);
    db_bind_text(&q, type);
    return db_query_walk(&q, demand_read, &demand, fn, arg);
}
