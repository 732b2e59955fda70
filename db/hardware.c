/* Hardware and check states, both keyed by the instance that has them. */
#include "db/hardware.h"

#include "db/intern.h"

static const char SQL_PUT[] =
    "INSERT INTO hardware (instance_row, kind, location, identity, serial, detail, first_at, last_at, present) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 1) ON CONFLICT (instance_row, kind, location, identity) DO UPDATE SET "
    "serial = excluded.serial, detail = excluded.detail, last_at = excluded.last_at, present = 1";
static const char SQL_GONE[] = "UPDATE hardware SET present = 0 WHERE instance_row = ? AND last_at < ? AND present = 1";
static const char SQL_FORGET[] =
    "DELETE FROM hardware WHERE instance_row = ?1 AND (kind, location, identity) IN (SELECT kind, location, identity "
    "FROM hardware WHERE instance_row = ?1 ORDER BY last_at DESC, present DESC LIMIT -1 OFFSET ?2)";
static const char SQL_LIST[] =
    "SELECT kind, location, identity, serial, detail, first_at, last_at, present FROM hardware WHERE instance_row = ? "
    "ORDER BY kind, present DESC, location, last_at DESC";
/* What was blamed is the piece that the operation's device named there; a chassis is blamed when nothing in it could be.
 * The order of the joins is said (CROSS JOIN): from the machine outwards, a few rows. Left to itself SQLite begins with the
 * operations of a state, which are as many as the fleet has had. */
#define PAST(column)                                                                                                \
    "SELECT o.id, o.node_id, o.kind, o.state, o.actor, o.cause, mine.location, o.code, o.old_instance, "            \
    "o.new_instance, "                                                                                              \
    "o.created_at, o.started_at, o.finished_at, o.error, n.name FROM hardware mine CROSS JOIN hardware theirs ON "  \
    "theirs." column " = mine." column " AND theirs." column                                                        \
    " <> '' AND theirs.kind = mine.kind AND theirs.instance_row <> "                                                \
    "mine.instance_row CROSS JOIN instance i ON i.id = theirs.instance_row CROSS JOIN node n ON n.id = i.node_id "  \
    "CROSS JOIN operation o ON o.node_id = i.node_id AND o.old_instance = i.instance_id AND o.kind IN ('reset', "   \
    "'reboot', 'replace') "                                                                                         \
    "AND (o.state IN ('succeeded', 'failed') OR (o.kind = 'replace' AND o.state = 'running')) AND o.created_at >= " \
    "?2 WHERE mine.instance_row = ?1 AND mine.present = 1 AND (o.device IN (theirs.location, theirs.identity) OR "  \
    "(theirs.kind = 'chassis' AND o.kind = 'replace' AND NOT EXISTS (SELECT 1 FROM hardware p WHERE "               \
    "p.instance_row = theirs.instance_row AND p.location = o.device AND p.identity <> '')))"
static const char SQL_PAST[] = PAST("identity") " UNION " PAST("serial") " ORDER BY 1 DESC LIMIT ?3";
static const char SQL_CHECK_PUT[] =
    "INSERT INTO check_state (instance_row, name, boot_id, result, why, at) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (instance_row, name) DO UPDATE SET at = CASE WHEN result = excluded.result AND boot_id = "
    "excluded.boot_id THEN at ELSE excluded.at END, boot_id = excluded.boot_id, result = excluded.result, "
    "why = excluded.why";
static const char SQL_CHECK_DROP[] = "DELETE FROM check_state WHERE instance_row = ? AND name = ?";
#define CHECK_SELECT "SELECT name, boot_id, result, why, at FROM check_state WHERE instance_row = ? "
static const char SQL_CHECK_LIST[] = CHECK_SELECT "ORDER BY name";
static const char SQL_CHECK_GET[] = CHECK_SELECT "AND name = ?";

int db_hardware_put(struct db_tx *tx, int64_t instance_row, const struct hardware *hardware, int64_t at)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_PUT);
    db_bind_i64(&q, instance_row);
    db_bind_text(&q, hardware_kind_text(hardware->kind));
    db_bind_text(&q, hardware->location);
    db_bind_text(&q, hardware->identity);
    db_bind_text(&q, hardware->serial);
    db_bind_text(&q, hardware->detail);
    db_bind_i64(&q, at);
    return db_query_run(&q, NULL);
}

int db_hardware_gone(struct db_tx *tx, int64_t instance_row, int64_t before)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_GONE);
    db_bind_i64(&q, instance_row);
    db_bind_i64(&q, before);
    return db_query_run(&q, NULL);
}

int db_hardware_forget(struct db_tx *tx, int64_t instance_row)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_FORGET);
    db_bind_i64(&q, instance_row);
    db_bind_i64(&q, HARDWARE_STORED_MAX);
    return db_query_run(&q, NULL);
}

static void hardware_read(struct db_query *q, void *row)
{
    struct hardware *hardware = row;
    DB_GET_ENUM(q, hardware_kind, &hardware->kind);
    DB_GET_TEXT(q, hardware->location);
    DB_GET_TEXT(q, hardware->identity);
    DB_GET_TEXT(q, hardware->serial);
    DB_GET_TEXT(q, hardware->detail);
    hardware->first_at = db_get_i64(q);
    hardware->last_at = db_get_i64(q);
    hardware->present = db_get_i64(q) != 0;
}

int db_hardware_list(struct db_tx *tx, int64_t instance_row, db_row_fn fn, void *arg)
{
    struct hardware hardware;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST);
    db_bind_i64(&q, instance_row);
    return db_query_walk(&q, hardware_read, &hardware, fn, arg);
}

static void repair_read(struct db_query *q, void *row)
{
    struct db_hardware_repair *repair = row;
    struct operation *operation = &repair->operation;
    operation->id = db_get_i64(q);
    operation->node_id = db_get_i64(q);
    DB_GET_ENUM(q, operation_kind, &operation->kind);
    DB_GET_ENUM(q, operation_state, &operation->state);
    DB_GET_TEXT(q, operation->actor);
    DB_GET_ENUM(q, operation_cause, &operation->cause);
    DB_GET_TEXT(q, operation->device);
    DB_GET_TEXT(q, operation->code);
    DB_GET_TEXT(q, operation->old_instance);
    DB_GET_TEXT(q, operation->new_instance);
    operation->created_at = db_get_i64(q);
    operation->started_at = db_get_i64(q);
    operation->finished_at = db_get_i64(q);
    DB_GET_TEXT(q, operation->error);
    DB_GET_TEXT(q, repair->node);
}

int db_hardware_repairs(struct db_tx *tx, int64_t instance_row, int64_t since_at, int limit, db_row_fn fn, void *arg)
{
    struct db_hardware_repair repair = {.operation = {.id = 0}};
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_PAST);
    db_bind_i64(&q, instance_row);
    db_bind_i64(&q, since_at);
    db_bind_limit(&q, limit);
    return db_query_walk(&q, repair_read, &repair, fn, arg);
}

/* --- checks -------------------------------------------------------------------------------------- */

int db_check_put(struct db_tx *tx, int64_t instance_row, const struct check_state *state)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_CHECK_PUT);
    db_bind_i64(&q, instance_row);
    db_bind_text(&q, state->name);
    db_bind_text(&q, state->boot_id);
    db_bind_text(&q, state->has_run ? check_result_text(state->result) : "");
    db_bind_text(&q, state->why);
    db_bind_i64(&q, state->at);
    return db_query_run(&q, NULL);
}

int db_check_drop(struct db_tx *tx, int64_t instance_row, const char *name)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_CHECK_DROP);
    db_bind_i64(&q, instance_row);
    db_bind_text(&q, name);
    return db_query_run(&q, NULL);
}

static void check_read(struct db_query *q, void *row)
{
    struct check_state *state = row;
    DB_GET_TEXT(q, state->name);
    DB_GET_TEXT(q, state->boot_id);
    const char *result = db_get_word(q);
    state->has_run = result[0] != '\0';
    state->result = CHECK_RESULT_UNKNOWN;
    if (state->has_run && check_result_parse(result, &state->result) < 0)
        db_query_fail(q, STATUS_IO);
    DB_GET_TEXT(q, state->why);
    state->at = db_get_i64(q);
}

int db_check_list(struct db_tx *tx, int64_t instance_row, db_row_fn fn, void *arg)
{
    struct check_state state;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_CHECK_LIST);
    db_bind_i64(&q, instance_row);
    return db_query_walk(&q, check_read, &state, fn, arg);
}

int db_check_get(struct db_tx *tx, int64_t instance_row, const char *name, struct check_state *ret_state)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_CHECK_GET);
    db_bind_i64(&q, instance_row);
    db_bind_text(&q, name);
    return db_query_take(&q, check_read, ret_state);
}

static const char SQL_HOST_KEYS[] =
    "SELECT n.name, i.address, h.kind, h.location, h.identity, h.serial, h.detail, h.first_at, h.last_at, h.present "
    "FROM node n JOIN instance i ON i.id = n.instance_row JOIN hardware h ON h.instance_row = i.id AND "
    "h.kind = 'host-key' AND h.present = 1 WHERE n.cluster_id = ?1 AND (?2 = '' OR n.name = ?2) AND n.name > ?3 "
    "ORDER BY n.name LIMIT ?4";

static void host_key_read(struct db_query *q, void *row)
{
    struct host_key *key = row;
    DB_GET_TEXT(q, key->node);
    DB_GET_TEXT(q, key->address);
    hardware_read(q, &key->key);
}

int db_host_key_list(struct db_tx *tx, int64_t cluster_id, const char *node, const char *after_name, int limit,
                     db_row_fn fn, void *arg)
{
    struct host_key key;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_HOST_KEYS);
    db_bind_i64(&q, cluster_id);
    db_bind_text(&q, node);
    db_bind_text(&q, after_name);
    db_bind_i64(&q, limit > 0 ? limit : -1);
    return db_query_walk(&q, host_key_read, &key, fn, arg);
}
