/* What a sender reports under a key of its own, again and again. */
#include "db/verdict.h"
#include "server/service/node/report.h"
#include "tests/sim/sim_cluster.h"

static struct service_report say_until(struct sim *sim, bool over, int64_t expires_at)
{
    const struct actor actor = {.name = "token:monitor", .role = ROLE_REPORTER};
    struct service_report said = {
        .node = "gpu-1", .report = {.kind = REPORT_KIND_SUSPECTED, .expires_at = expires_at}, .over = over};
    struct problem problem = {0};
    snprintf(said.key, sizeof(said.key), "kk");
    snprintf(said.text, sizeof(said.text), "GPU 3 is slow");
    assert_int_equal(service_node_report_many(&sim->service, &actor, SIM_CLUSTER, &said, 1, &problem), 0);
    sim_settle(sim);
    return said;
}

static struct service_report say(struct sim *sim, bool over)
{
    return say_until(sim, over, 0);
}

static int count_row(const void *row, void *arg)
{
    (void)row;
    (*(int *)arg)++;
    return 0;
}

static int count_verdicts(struct sim *sim, int state)
{
    const struct db_verdict_filter filter = {.node_id = fake_provider_of_node(&sim->provider, "gpu-1")->node_row,
                                             .state = state};
    struct db_tx *tx = NULL;
    int count = 0;
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_int_equal(db_verdict_list(tx, &filter, count_row, &count), 0);
    db_read_end(sim->service.db, tx);
    return count;
}

/* A monitor has the same key for an alert each time that it fires. */
static void a_key_that_was_over_is_said_anew(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 650, true);
    sim_create(&sim, 2, NODE_RECOVERY_NONE);
    int64_t last = 0;
    for (int round = 1; round <= 3; round++) {
        struct service_report first = say(&sim, false);
        assert_int_equal(first.outcome, REPORT_OUTCOME_STORED);
        assert_true(first.verdict_id > last);
        last = first.verdict_id;
        assert_int_equal(count_verdicts(&sim, VERDICT_STATE_OPEN), 1);
        struct service_report again = say(&sim, false);
        assert_int_equal(again.outcome, REPORT_OUTCOME_KNOWN);
        assert_int_equal(again.verdict_id, last);
        struct service_report over = say(&sim, true);
        assert_int_equal(over.outcome, REPORT_OUTCOME_OVER);
        assert_int_equal(over.verdict_id, last);
        assert_int_equal(say(&sim, true).outcome, REPORT_OUTCOME_KNOWN);
        assert_int_equal(count_verdicts(&sim, VERDICT_STATE_OPEN), 0);
        assert_int_equal(count_verdicts(&sim, VERDICT_STATE_RESOLVED), round);
        sim_run(&sim, MS_PER_MIN);
    }
    sim_close(&sim);
}

static void a_key_that_has_expired_is_said_anew(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 651, true);
    sim_create(&sim, 2, NODE_RECOVERY_NONE);
    int64_t until = clock_wall_ms(&sim.clock) + MS_PER_HOUR;
    assert_int_equal(say_until(&sim, false, until).outcome, REPORT_OUTCOME_STORED);
    assert_int_equal(say_until(&sim, false, until).outcome, REPORT_OUTCOME_KNOWN);
    sim_run(&sim, 2 * MS_PER_HOUR);
    assert_int_equal(say_until(&sim, false, clock_wall_ms(&sim.clock) + MS_PER_HOUR).outcome, REPORT_OUTCOME_STORED);
    assert_int_equal(count_verdicts(&sim, VERDICT_STATE_OPEN), 1);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_that_was_over_is_said_anew),
        cmocka_unit_test(a_key_that_has_expired_is_said_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
