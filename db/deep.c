/* Runs of deep health checks. Names and counts are read beside the row: there are few runs and few tests in each. */
#include "db/deep.h"

#include "base/text.h"
#include "db/intern.h"

#include <stdio.h>

#define COUNT_OF(state) "(SELECT count(*) FROM deep_test t WHERE t.run_id = r.id AND t.state = '" state "')"
#define RUN_SELECT                                                                                                \
    "SELECT r.id, r.operation_id, r.cluster_id, r.node_id, o.uid, c.name, g.name, n.name, g.instance_type, "      \
    "r.instance_id, "                                                                                             \
    "o.actor, r.profile, r.checks, r.needs_spare, r.state, r.detail, r.total, " COUNT_OF("passed") ", " COUNT_OF( \
        "failed") ", " COUNT_OF("skipped") ", r.created_at, r.started_at, r.finished_at FROM deep_run r "         \
                                           "JOIN operation o ON o.id = r.operation_id JOIN cluster c ON c.id = "  \
                                           "r.cluster_id "                                                        \
                                           "JOIN node n ON n.id = r.node_id JOIN instance_group g ON g.id = "     \
                                           "n.group_id "
/* ?1 scope, ?2 the cursor, ?3 limit. */
#define RUN_NEWEST "AND r.id < ?2 ORDER BY r.id DESC LIMIT ?3"

static const char SQL_INSERT[] = "INSERT INTO deep_run (operation_id, cluster_id, node_id, instance_id, profile, "
                                 "checks, needs_spare, state, detail, total, "
                                 "created_at, started_at, finished_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char SQL_DROP_OLD[] = "DELETE FROM deep_run WHERE id IN (SELECT id FROM deep_run WHERE node_id = ?1 "
                                   "ORDER BY id DESC LIMIT -1 OFFSET ?2)";
static const char SQL_GET[] = RUN_SELECT "WHERE o.uid = ?";
static const char SQL_OF_OPERATION[] = RUN_SELECT "WHERE r.operation_id = ?";
static const char SQL_UPDATE[] = "UPDATE deep_run SET instance_id = ?, state = ?, detail = ?, total = ?, "
                                 "started_at = ?, finished_at = ? WHERE id = ?";
static const char SQL_CLOSE[] = "UPDATE deep_run SET state = ?, detail = ?, finished_at = ? "
                                "WHERE operation_id = ? AND finished_at = 0";
static const char SQL_CLOSE_TESTS[] =
    "UPDATE deep_test SET state = ?, detail = ? WHERE state = 'running' AND run_id IN "
    "(SELECT id FROM deep_run WHERE operation_id = ? AND finished_at = 0)";
static const char SQL_RESULT[] = "SELECT state, instance_id FROM deep_run WHERE node_id = ? AND "
                                 "state IN ('passed', 'failed') ORDER BY id DESC LIMIT 1";
static const char SQL_LIST_ALL[] = RUN_SELECT "WHERE ?1 = 0 " RUN_NEWEST;
static const char SQL_LIST_CLUSTER[] = RUN_SELECT "WHERE r.cluster_id = ?1 " RUN_NEWEST;
static const char SQL_LIST_UNFINISHED[] = RUN_SELECT "WHERE r.cluster_id = ?1 AND r.finished_at = 0 " RUN_NEWEST;
static const char SQL_LIST_NODE[] = RUN_SELECT "WHERE r.node_id = ?1 " RUN_NEWEST;

static const char SQL_TEST_PUT[] =
    "INSERT INTO deep_test (run_id, ordinal, name, kind, state, detail, started_at, duration_ms, measures, log) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run_id, ordinal) DO UPDATE SET name = excluded.name, "
    "kind = excluded.kind, state = excluded.state, detail = excluded.detail, started_at = excluded.started_at, "
    "duration_ms = excluded.duration_ms, measures = excluded.measures, log = excluded.log "
    "WHERE state = 'running' AND excluded.state <> 'running'";
static const char SQL_TEST_LIST[] = "SELECT ordinal, name, kind, state, detail, started_at, duration_ms, measures, log "
                                    "FROM deep_test WHERE run_id = ? ORDER BY ordinal";

int db_deep_result(struct db_tx *tx, int64_t node_id, const char *instance_id, enum deep_state *ret_state)
{
    enum deep_state state = DEEP_STATE_WAITING;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_RESULT);
    db_bind_i64(&q, node_id);
    int status = db_query_one(&q);
    if (status < 0)
        return status;
    DB_GET_ENUM(&q, deep_state, &state);
    bool is_its = text_equal(db_get_word(&q), instance_id);
    status = db_query_status(&q);
    if (status == 0 && is_its)
        *ret_state = state;
    return status != 0 ? status : is_its ? 0 : STATUS_NOT_FOUND;
}

/* --- runs ---------------------------------------------------------------------------------------- */

static int drop_old(struct db_tx *tx, int64_t node_id)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_DROP_OLD);
    db_bind_i64(&q, node_id);
    db_bind_i64(&q, DEEP_RUNS_KEPT);
    return db_query_run(&q, NULL);
}

int db_deep_run_insert(struct db_tx *tx, struct deep_run *run)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_i64(&q, run->operation_id);
    db_bind_i64(&q, run->cluster_id);
    db_bind_i64(&q, run->node_id);
    db_bind_text(&q, run->instance_id);
    db_bind_text(&q, deep_profile_text(run->profile));
    db_bind_i64(&q, run->checks);
    db_bind_i64(&q, run->needs_spare);
    db_bind_text(&q, deep_state_text(run->state));
    db_bind_text(&q, run->detail);
    db_bind_i64(&q, run->total);
    db_bind_i64(&q, run->created_at);
    db_bind_i64(&q, run->started_at);
    db_bind_i64(&q, run->finished_at);
    int status = db_query_insert(&q, &run->id);
    return status != 0 ? status : drop_old(tx, run->node_id);
}

static void run_read(struct db_query *q, void *row)
{
    struct deep_run *run = row;
    run->id = db_get_i64(q);
    run->operation_id = db_get_i64(q);
    run->cluster_id = db_get_i64(q);
    run->node_id = db_get_i64(q);
    DB_GET_TEXT(q, run->uid);
    DB_GET_TEXT(q, run->cluster);
    DB_GET_TEXT(q, run->group);
    DB_GET_TEXT(q, run->node);
    DB_GET_TEXT(q, run->instance_type);
    DB_GET_TEXT(q, run->instance_id);
    DB_GET_TEXT(q, run->actor);
    DB_GET_ENUM(q, deep_profile, &run->profile);
    run->checks = db_get_i64(q);
    run->needs_spare = db_get_i64(q) != 0;
    DB_GET_ENUM(q, deep_state, &run->state);
    DB_GET_TEXT(q, run->detail);
    run->total = db_get_i64(q);
    run->passed = db_get_i64(q);
    run->failed = db_get_i64(q);
    run->skipped = db_get_i64(q);
    run->created_at = db_get_i64(q);
    run->started_at = db_get_i64(q);
    run->finished_at = db_get_i64(q);
}

int db_deep_run_get(struct db_tx *tx, const char *uid, struct deep_run *ret_run)
{
    return db_take_text(tx, SQL_GET, uid, run_read, ret_run);
}

int db_deep_run_of_operation(struct db_tx *tx, int64_t operation_id, struct deep_run *ret_run)
{
    return db_take_i64(tx, SQL_OF_OPERATION, operation_id, run_read, ret_run);
}

int db_deep_run_update(struct db_tx *tx, const struct deep_run *run)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_UPDATE);
    db_bind_text(&q, run->instance_id);
    db_bind_text(&q, deep_state_text(run->state));
    db_bind_text(&q, run->detail);
    db_bind_i64(&q, run->total);
    db_bind_i64(&q, run->started_at);
    db_bind_i64(&q, run->finished_at);
    db_bind_i64(&q, run->id);
    return db_query_hit(&q);
}

/* A test that ran then has no result, and does not run any more. */
static int close_tests(struct db_tx *tx, int64_t operation_id, const char *why)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_CLOSE_TESTS);
    db_bind_text(&q, deep_state_text(DEEP_STATE_CANCELLED));
    db_bind_text(&q, why);
    db_bind_i64(&q, operation_id);
    return db_query_run(&q, NULL);
}

int db_deep_run_close(struct db_tx *tx, int64_t operation_id, enum deep_state state, const char *why, int64_t at)
{
    auto_query struct db_query q;
    int status = close_tests(tx, operation_id, why);
    if (status != 0)
        return status;
    db_query_open(&q, tx, SQL_CLOSE);
    db_bind_text(&q, deep_state_text(state));
    db_bind_text(&q, why);
    db_bind_i64(&q, at);
    db_bind_i64(&q, operation_id);
    return db_query_run(&q, NULL);
}

int db_deep_run_list(struct db_tx *tx, const struct db_deep_filter *filter, db_row_fn fn, void *arg)
{
    struct deep_run run;
    auto_query struct db_query q;
    db_query_open(&q, tx,
                  filter->node_id > 0      ? SQL_LIST_NODE
                  : filter->unfinished     ? SQL_LIST_UNFINISHED
                  : filter->cluster_id > 0 ? SQL_LIST_CLUSTER
                                           : SQL_LIST_ALL);
    db_bind_i64(&q, filter->node_id > 0 ? filter->node_id : filter->cluster_id);
    db_bind_i64(&q, filter->before_id > 0 ? filter->before_id : INT64_MAX);
    db_bind_limit(&q, filter->limit);
    return db_query_walk(&q, run_read, &run, fn, arg);
}

/* --- tests --------------------------------------------------------------------------------------- */

static void measures_write(const struct deep_test *test, struct text *out)
{
    for (int64_t i = 0; i < test->measure_count; i++)
        text_printf(out, "%s\t%s\t%s\t%s\n", test->measures[i].name, test->measures[i].value, test->measures[i].limit,
                    deep_mark_text(test->measures[i].mark));
}

/* Up to the end that is meant, within the line; false when that has none. */
static bool part_read(const char **from, const char *end, char *dst, size_t size)
{
    size_t len = strcspn(*from, end);
    if ((*from)[len] == '\0' || text_copy_bytes(dst, size, *from, len) != 0)
        return false;
    *from += len + ((*from)[len] == '\t');
    return true;
}

/* A line of an earlier version has no mark at its end. */
static bool measure_read(const char **from, struct deep_measure *measure)
{
    char mark[16] = "";
    measure->mark = DEEP_MARK_NONE;
    if (!part_read(from, "\t", measure->name, sizeof(measure->name)) ||
        !part_read(from, "\t", measure->value, sizeof(measure->value)) ||
        !part_read(from, "\t\n", measure->limit, sizeof(measure->limit)) ||
        (**from != '\n' && !part_read(from, "\n", mark, sizeof(mark))))
        return false;
    (void)deep_mark_parse(mark, &measure->mark);
    (*from)++;
    return true;
}

static void measures_read(const char *from, struct deep_test *test)
{
    test->measure_count = 0;
    while (test->measure_count < DEEP_MEASURES_MAX && measure_read(&from, &test->measures[test->measure_count]))
        test->measure_count++;
}

int db_deep_test_put(struct db_tx *tx, int64_t run_id, const struct deep_test *test, const char *log, bool *ret_changed)
{
    int64_t changes = 0;
    AUTO(text) struct text measures = {0};
    measures_write(test, &measures);
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_TEST_PUT);
    db_bind_i64(&q, run_id);
    db_bind_i64(&q, test->ordinal);
    db_bind_text(&q, test->name);
    db_bind_text(&q, deep_check_text(test->check));
    db_bind_text(&q, deep_state_text(test->state));
    db_bind_text(&q, test->detail);
    db_bind_i64(&q, test->started_at);
    db_bind_i64(&q, test->duration_ms);
    db_bind_text(&q, text_get(&measures));
    db_bind_text(&q, log);
    int status = db_query_run(&q, &changes);
    if (status == 0)
        *ret_changed = changes > 0;
    return status;
}

static void test_read(struct db_query *q, void *row)
{
    struct db_deep_test_row *r = row;
    struct deep_test *test = &r->test;
    test->ordinal = db_get_i64(q);
    DB_GET_TEXT(q, test->name);
    DB_GET_ENUM(q, deep_check, &test->check);
    DB_GET_ENUM(q, deep_state, &test->state);
    DB_GET_TEXT(q, test->detail);
    test->started_at = db_get_i64(q);
    test->duration_ms = db_get_i64(q);
    measures_read(db_get_word(q), test);
    r->log = db_get_word(q);
}

int db_deep_test_list(struct db_tx *tx, int64_t run_id, db_row_fn fn, void *arg)
{
    struct db_deep_test_row row;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_TEST_LIST);
    db_bind_i64(&q, run_id);
    return db_query_walk(&q, test_read, &row, fn, arg);
}
