/*
 * Scheduler configurations and compute quotas. What a thing is called stands in one row, what it says in a row a version; what
 * is read is always the two together with the cluster.
 */
#include "db/governance.h"

#include "db/intern.h"

#define SELECT                                                                                                      \
    "SELECT g.id, g.cluster_id, g.kind, g.uid, g.name, c.name, c.uid, g.created_at, g.created_by, g.version, "      \
    "v.version, v.status, v.reason, v.details, v.applied_at, v.description, v.config, v.team, v.weight, v.active, " \
    "v.made_at, v.made_by "                                                                                         \
    "FROM governance g JOIN cluster c ON c.id = g.cluster_id JOIN governance_version v ON v.governance_id = g.id "
#define AT_VERSION "v.version = CASE ?1 WHEN 0 THEN g.version ELSE ?1 END "

static const char SQL_INSERT[] =
    "INSERT INTO governance (kind, uid, cluster_id, name, team, version, created_at, created_by) "
    "VALUES (?, ?, ?, ?, ?, 1, ?, ?)";
static const char SQL_INSERT_VERSION[] =
    "INSERT INTO governance_version (governance_id, version, status, reason, details, applied_at, "
    "description, config, team, weight, active, "
    "made_at, made_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char SQL_GET[] = SELECT "WHERE " AT_VERSION "AND g.kind = ?2 AND g.uid = ?3";
static const char SQL_BY_NAME[] = SELECT "WHERE " AT_VERSION "AND g.kind = ?2 AND g.name = ?3";
static const char SQL_OF_CLUSTER[] =
    SELECT "WHERE " AT_VERSION "AND g.kind = ?2 AND g.cluster_id = ?3 ORDER BY g.name LIMIT 1";
static const char SQL_OF_TEAM[] =
    SELECT "WHERE v.version = g.version AND g.kind = 'compute-quota' AND g.cluster_id = ? AND g.team = ?";
static const char SQL_COUNT[] = "SELECT count(*) FROM governance WHERE kind = ? AND cluster_id = ?";
static const char SQL_UPDATE[] = "UPDATE governance SET version = ?, team = ? WHERE id = ?";
static const char SQL_PRUNE[] = "DELETE FROM governance_version WHERE governance_id = ? AND version <= ?";
/* Of clusters that a scheduler could govern, and that are not on their way out: the oldest first, whose claims go first. */
static const char SQL_WANTED[] =
    SELECT "WHERE v.version = g.version AND c.orchestrator <> 'none' AND c.scheduler = ? AND c.state <> 'deleting' "
           "ORDER BY g.kind DESC, g.id";
static const char SQL_SETTLE[] = "UPDATE governance_version SET status = ?, reason = ?, details = ?, applied_at = ? "
                                 "WHERE governance_id = ? AND version = ?";
static const char SQL_HELD[] =
    "SELECT object, name, mark, former, value, previous FROM governance_held WHERE scheduler = ?";
static const char SQL_HOLD[] =
    "INSERT OR REPLACE INTO governance_held (scheduler, object, name, mark, former, value, previous) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)";
static const char SQL_LET_GO[] = "DELETE FROM governance_held WHERE scheduler = ? AND object = ? AND name = ?";
static const char SQL_DELETE[] = "DELETE FROM governance WHERE id = ?";

/* ?1 kind, ?2 part of the name, ?3 cluster, ?4 status, ?5 and ?6 the window, ?7 and ?8 the cursor, ?9 limit. There are few:
 * a sort is fine. A row whose place in the order changes between two pages may be missed or seen again; none else. */
#define SEARCH                                                                                            \
    SELECT "WHERE v.version = g.version AND g.kind = ?1 AND instr(g.name, ?2) > 0 AND ?3 IN ('', c.uid) " \
           "AND ?4 IN ('', v.status) AND g.created_at > ?5 AND g.created_at < ?6 AND (?8 = 0 OR "
#define UP(column) SEARCH "(" column ", g.id) > (?7, ?8)) ORDER BY " column ", g.id LIMIT ?9"
#define DOWN(column) SEARCH "(" column ", g.id) < (?7, ?8)) ORDER BY " column " DESC, g.id DESC LIMIT ?9"
static const char *const search_sql[GOVERNANCE_ORDER_COUNT][2] = {
    [GOVERNANCE_BY_TIME] = {UP("g.created_at"), DOWN("g.created_at")},
    [GOVERNANCE_BY_NAME] = {UP("g.name"), DOWN("g.name")},
    [GOVERNANCE_BY_STATUS] = {UP("v.status"), DOWN("v.status")},
    [GOVERNANCE_BY_CLUSTER] = {UP("c.uid"), DOWN("c.uid")},
};

static void governance_read(struct db_query *q, void *row)
{
    struct governance *governance = row;
    governance->id = db_get_i64(q);
    governance->cluster_id = db_get_i64(q);
    DB_GET_ENUM(q, governance_kind, &governance->kind);
    DB_GET_TEXT(q, governance->uid);
    DB_GET_TEXT(q, governance->name);
    DB_GET_TEXT(q, governance->cluster);
    DB_GET_TEXT(q, governance->cluster_uid);
    governance->created_at = db_get_i64(q);
    DB_GET_TEXT(q, governance->created_by);
    governance->newest = db_get_i64(q);
    governance->version = db_get_i64(q);
    DB_GET_ENUM(q, governance_status, &governance->status);
    DB_GET_TEXT(q, governance->reason);
    DB_GET_TEXT(q, governance->details);
    governance->applied_at = db_get_i64(q);
    DB_GET_TEXT(q, governance->description);
    DB_GET_TEXT(q, governance->config);
    DB_GET_TEXT(q, governance->team);
    governance->weight = db_get_i64(q);
    governance->active = db_get_i64(q) != 0;
    governance->made_at = db_get_i64(q);
    DB_GET_TEXT(q, governance->made_by);
}

static int insert_version(struct db_tx *tx, const struct governance *governance)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT_VERSION);
    db_bind_i64(&q, governance->id);
    db_bind_i64(&q, governance->version);
    db_bind_text(&q, governance_status_text(governance->status));
    db_bind_text(&q, governance->reason);
    db_bind_text(&q, governance->details[0] == '\0' ? "{}" : governance->details);
    db_bind_i64(&q, governance->applied_at);
    db_bind_text(&q, governance->description);
    db_bind_text(&q, governance->config);
    db_bind_text(&q, governance->team);
    db_bind_i64(&q, governance->weight);
    db_bind_i64(&q, governance->active);
    db_bind_i64(&q, governance->made_at);
    db_bind_text(&q, governance->made_by);
    return db_query_run(&q, NULL);
}

int db_governance_insert(struct db_tx *tx, struct governance *governance)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_text(&q, governance_kind_text(governance->kind));
    db_bind_text(&q, governance->uid);
    db_bind_i64(&q, governance->cluster_id);
    db_bind_text(&q, governance->name);
    db_bind_text(&q, governance->team);
    db_bind_i64(&q, governance->created_at);
    db_bind_text(&q, governance->created_by);
    int status = db_query_insert(&q, &governance->id);
    if (status < 0)
        return status;
    governance->version = governance->newest = 1;
    return insert_version(tx, governance);
}

static int find(struct db_tx *tx, const char *sql, enum governance_kind kind, int64_t version, const char *text,
                struct governance *ret_governance)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    db_bind_i64(&q, version);
    db_bind_text(&q, governance_kind_text(kind));
    db_bind_text(&q, text);
    return db_query_take(&q, governance_read, ret_governance);
}

int db_governance_get(struct db_tx *tx, enum governance_kind kind, const char *uid, int64_t version,
                      struct governance *ret_governance)
{
    return find(tx, SQL_GET, kind, version, uid, ret_governance);
}

int db_governance_by_name(struct db_tx *tx, enum governance_kind kind, const char *name, int64_t version,
                          struct governance *ret_governance)
{
    return find(tx, SQL_BY_NAME, kind, version, name, ret_governance);
}

int db_governance_of_cluster(struct db_tx *tx, enum governance_kind kind, int64_t cluster_id, int64_t version,
                             struct governance *ret_governance)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_OF_CLUSTER);
    db_bind_i64(&q, version);
    db_bind_text(&q, governance_kind_text(kind));
    db_bind_i64(&q, cluster_id);
    return db_query_take(&q, governance_read, ret_governance);
}

int db_governance_of_team(struct db_tx *tx, int64_t cluster_id, const char *team, struct governance *ret_governance)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_OF_TEAM);
    db_bind_i64(&q, cluster_id);
    db_bind_text(&q, team);
    return db_query_take(&q, governance_read, ret_governance);
}

int db_governance_count(struct db_tx *tx, enum governance_kind kind, int64_t cluster_id, int64_t *ret_count)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_COUNT);
    db_bind_text(&q, governance_kind_text(kind));
    db_bind_i64(&q, cluster_id);
    int status = db_query_one(&q);
    if (status == 0)
        *ret_count = db_get_i64(&q);
    return status;
}

static int prune(struct db_tx *tx, const struct governance *governance)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_PRUNE);
    db_bind_i64(&q, governance->id);
    db_bind_i64(&q, governance->version - GOVERNANCE_VERSIONS_MAX);
    return db_query_run(&q, NULL);
}

int db_governance_add_version(struct db_tx *tx, struct governance *governance)
{
    auto_query struct db_query q;
    governance->version = governance->newest + 1;
    db_query_open(&q, tx, SQL_UPDATE);
    db_bind_i64(&q, governance->version);
    db_bind_text(&q, governance->team);
    db_bind_i64(&q, governance->id);
    int status = db_query_hit(&q);
    if (status == 0)
        status = insert_version(tx, governance);
    if (status < 0)
        return status;
    governance->newest = governance->version;
    return prune(tx, governance);
}

int db_governance_delete(struct db_tx *tx, int64_t id)
{
    return db_hit_i64(tx, SQL_DELETE, id);
}

int db_governance_search(struct db_tx *tx, const struct db_governance_search *search, db_row_fn fn, void *arg)
{
    autofree struct governance *governance = own_calloc(1, sizeof(*governance));
    auto_query struct db_query q;
    db_query_open(&q, tx, search_sql[search->order][search->descending]);
    db_bind_text(&q, governance_kind_text(search->kind));
    db_bind_text(&q, search->name_contains);
    db_bind_text(&q, search->cluster_uid);
    db_bind_text(&q, search->status);
    db_bind_i64(&q, search->created_after > 0 ? search->created_after : -1);
    db_bind_i64(&q, search->created_before > 0 ? search->created_before : INT64_MAX);
    if (search->order == GOVERNANCE_BY_TIME)
        db_bind_i64(&q, search->cursor_at);
    else
        db_bind_text(&q, search->cursor_text);
    db_bind_i64(&q, search->cursor_id);
    db_bind_limit(&q, search->limit);
    return db_query_walk(&q, governance_read, governance, fn, arg);
}

/* --- in force ---------------------------------------------------------------------------------------- */

int db_governance_wanted(struct db_tx *tx, const char *scheduler, db_row_fn fn, void *arg)
{
    autofree struct governance *governance = own_calloc(1, sizeof(*governance));
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_WANTED);
    db_bind_text(&q, scheduler);
    return db_query_walk(&q, governance_read, governance, fn, arg);
}

int db_governance_settle(struct db_tx *tx, const struct governance *governance)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_SETTLE);
    db_bind_text(&q, governance_status_text(governance->status));
    db_bind_text(&q, governance->reason);
    db_bind_text(&q, governance->details[0] == '\0' ? "{}" : governance->details);
    db_bind_i64(&q, governance->applied_at);
    db_bind_i64(&q, governance->id);
    db_bind_i64(&q, governance->version);
    return db_query_hit(&q);
}

static void held_read(struct db_query *q, void *row)
{
    struct governance_held *held = row;
    DB_GET_ENUM(q, governance_object, &held->object);
    DB_GET_TEXT(q, held->name);
    DB_GET_TEXT(q, held->mark);
    held->former = db_get_i64(q);
    held->value = db_get_i64(q);
    held->previous = db_get_i64(q);
}

int db_governance_held(struct db_tx *tx, const char *scheduler, db_row_fn fn, void *arg)
{
    struct governance_held held;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_HELD);
    db_bind_text(&q, scheduler);
    return db_query_walk(&q, held_read, &held, fn, arg);
}

int db_governance_hold(struct db_tx *tx, const char *scheduler, const struct governance_held *held)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_HOLD);
    db_bind_text(&q, scheduler);
    db_bind_text(&q, governance_object_text(held->object));
    db_bind_text(&q, held->name);
    db_bind_text(&q, held->mark);
    db_bind_i64(&q, held->former);
    db_bind_i64(&q, held->value);
    db_bind_i64(&q, held->previous);
    return db_query_run(&q, NULL);
}

int db_governance_let_go(struct db_tx *tx, const char *scheduler, const struct governance_held *held)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LET_GO);
    db_bind_text(&q, scheduler);
    db_bind_text(&q, governance_object_text(held->object));
    db_bind_text(&q, held->name);
    return db_query_run(&q, NULL);
}
