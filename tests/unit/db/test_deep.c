/* Runs of deep health checks and their tests: what comes back, what a repeat changes, and what goes with what. */
#include "db/deep.h"
#include "db_world.h"

/* A run with an operation of its own. */
static struct deep_run a_run(struct world *w, const struct node *node, const char *uid)
{
    struct operation operation = an_operation(node, uid, uid);
    operation.kind = OPERATION_KIND_CHECK;
    operation.state = OPERATION_STATE_SUCCEEDED; /* so that there may be many */
    MUST(db_operation_insert(w->tx, &operation));
    struct deep_run run = {.operation_id = operation.id,
                           .cluster_id = node->cluster_id,
                           .node_id = node->id,
                           .profile = DEEP_PROFILE_DEEP,
                           .checks = 3,
                           .state = DEEP_STATE_WAITING,
                           .created_at = WORLD_NOW};
    MUST(db_deep_run_insert(w->tx, &run));
    return run;
}

static struct deep_test a_test(int64_t ordinal, enum deep_state state)
{
    struct deep_test test = {
        .ordinal = ordinal,
        .name = "HARDWARE_CHECK",
        .check = DEEP_CHECK_STRESS,
        .state = state,
        .detail = "why",
        .started_at = 5,
        .duration_ms = 6,
        .measures = {{"cpu bogo ops/s", "1.5", "", DEEP_MARK_NONE}, {"bandwidth", "80", ">= 30", DEEP_MARK_OK}},
        .measure_count = 2};
    return test;
}

static int take_test(const void *row, void *arg)
{
    const struct db_deep_test_row *r = row;
    struct text *out = arg;
    text_printf(out, "%d %s %s %s", (int)r->test.ordinal, r->test.name, deep_state_text(r->test.state), r->log);
    for (int64_t i = 0; i < r->test.measure_count; i++)
        text_printf(out, " [%s=%s%s%s]", r->test.measures[i].name, r->test.measures[i].value, r->test.measures[i].limit,
                    r->test.measures[i].mark == DEEP_MARK_OK ? " ok" : "");
    text_add(out, "\n");
    return 0;
}

static void assert_tests(struct world *w, int64_t run_id, const char *wanted)
{
    AUTO(text) struct text out = {0};
    MUST(db_deep_test_list(w->tx, run_id, take_test, &out));
    assert_string_equal(text_get(&out), wanted);
}

static void test_a_run_comes_back(void **state)
{
    struct world *w = *state;
    struct deep_run run = a_run(w, &w->nodes[0], "one"), out;
    MUST(db_deep_run_get(w->tx, "one", &out));
    assert_int_equal(out.id, run.id);
    assert_string_equal(out.uid, "one");
    assert_string_equal(out.node, w->nodes[0].name);
    assert_string_equal(out.cluster, w->cluster.name);
    assert_string_equal(out.group, w->group.name);
    assert_int_equal(out.profile, DEEP_PROFILE_DEEP);
    assert_int_equal(out.checks, 3);
    assert_int_equal(db_deep_run_insert(w->tx, &run), STATUS_EXISTS); /* one for each operation */
    SET(run.instance_id, "i-1");
    SET(run.detail, "because");
    run.state = DEEP_STATE_FAILED;
    run.total = 4;
    run.started_at = 7;
    run.finished_at = 8;
    MUST(db_deep_run_update(w->tx, &run));
    MUST(db_deep_run_close(w->tx, run.operation_id, DEEP_STATE_CANCELLED, "too late", 9)); /* it has an end */
    MUST(db_deep_run_of_operation(w->tx, run.operation_id, &out));
    assert_string_equal(out.detail, "because");
    assert_int_equal(out.state, DEEP_STATE_FAILED);
    assert_int_equal(out.total, 4);
    assert_int_equal(out.finished_at, 8);
    assert_int_equal(db_deep_run_get(w->tx, "two", &out), STATUS_NOT_FOUND);
    run = a_run(w, &w->nodes[0], "two");
    MUST(db_deep_run_close(w->tx, run.operation_id, DEEP_STATE_CANCELLED, "gone", 9));
    MUST(db_deep_run_get(w->tx, "two", &out));
    assert_int_equal(out.state, DEEP_STATE_CANCELLED);
    assert_string_equal(out.detail, "gone");
}

static void test_a_test_that_ran_when_its_run_was_closed_is_cancelled(void **state)
{
    struct world *w = *state;
    struct deep_run run = a_run(w, &w->nodes[0], "one"), other = a_run(w, &w->nodes[1], "other");
    struct deep_test passed = a_test(1, DEEP_STATE_PASSED), running = a_test(2, DEEP_STATE_RUNNING);
    bool changed;
    passed.measure_count = running.measure_count = 0;
    MUST(db_deep_test_put(w->tx, run.id, &passed, "", &changed));
    MUST(db_deep_test_put(w->tx, run.id, &running, "", &changed));
    MUST(db_deep_test_put(w->tx, other.id, &running, "", &changed));
    run.finished_at = 0;
    MUST(db_deep_run_update(w->tx, &run));
    MUST(db_deep_run_close(w->tx, run.operation_id, DEEP_STATE_CANCELLED, "gone", 9));
    assert_tests(w, run.id, "1 HARDWARE_CHECK passed \n2 HARDWARE_CHECK cancelled \n");
    assert_tests(w, other.id, "2 HARDWARE_CHECK running \n");
}

static void test_the_last_word_of_a_test_stays(void **state)
{
    struct world *w = *state;
    struct deep_run run = a_run(w, &w->nodes[0], "one"), out;
    struct deep_test running = a_test(1, DEEP_STATE_RUNNING), passed = a_test(1, DEEP_STATE_PASSED),
                     failed = a_test(1, DEEP_STATE_FAILED), skipped = a_test(2, DEEP_STATE_SKIPPED);
    bool changed;
    running.measure_count = 0;
    MUST(db_deep_test_put(w->tx, run.id, &running, "", &changed));
    assert_true(changed);
    MUST(db_deep_test_put(w->tx, run.id, &running, "", &changed));
    assert_false(changed);
    MUST(db_deep_test_put(w->tx, run.id, &passed, "log", &changed));
    assert_true(changed);
    MUST(db_deep_test_put(w->tx, run.id, &failed, "other", &changed));
    assert_false(changed);
    MUST(db_deep_test_put(w->tx, run.id, &running, "other", &changed));
    assert_false(changed);
    MUST(db_deep_test_put(w->tx, run.id, &skipped, "", &changed));
    assert_tests(w, run.id,
                 "1 HARDWARE_CHECK passed log [cpu bogo ops/s=1.5] [bandwidth=80>= 30 ok]\n"
                 "2 HARDWARE_CHECK skipped  [cpu bogo ops/s=1.5] [bandwidth=80>= 30 ok]\n");
    MUST(db_deep_run_get(w->tx, "one", &out));
    assert_int_equal(out.passed, 1);
    assert_int_equal(out.skipped, 1);
    assert_int_equal(out.failed, 0);
}

static int count(struct world *w, struct db_deep_filter filter)
{
    int rows = 0;
    MUST(db_deep_run_list(w->tx, &filter, count_rows, &rows));
    return rows;
}

static void test_the_newest_of_each_node_are_kept(void **state)
{
    struct world *w = *state;
    struct deep_run other = a_run(w, &w->nodes[1], "other"), run = {0};
    for (int i = 0; i < DEEP_RUNS_KEPT + 5; i++) {
        char uid[16];
        snprintf(uid, sizeof(uid), "run-%d", i);
        run = a_run(w, &w->nodes[0], uid);
    }
    assert_int_equal(count(w, (struct db_deep_filter){.node_id = w->nodes[0].id}), DEEP_RUNS_KEPT);
    assert_int_equal(count(w, (struct db_deep_filter){.node_id = w->nodes[1].id}), 1);
    assert_int_equal(count(w, (struct db_deep_filter){.cluster_id = w->cluster.id}), DEEP_RUNS_KEPT + 1);
    assert_int_equal(count(w, (struct db_deep_filter){.limit = 3}), 3);
    assert_int_equal(count(w, (struct db_deep_filter){.before_id = run.id, .node_id = w->nodes[0].id}),
                     DEEP_RUNS_KEPT - 1);
    assert_int_equal(db_deep_run_get(w->tx, "run-0", &run), STATUS_NOT_FOUND);
    MUST(db_deep_run_get(w->tx, "other", &run));
    assert_int_equal(run.id, other.id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_a_run_comes_back),
        WORLD_TEST(test_a_test_that_ran_when_its_run_was_closed_is_cancelled),
        WORLD_TEST(test_the_last_word_of_a_test_stays),
        WORLD_TEST(test_the_newest_of_each_node_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
