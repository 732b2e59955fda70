/* Evidence that comes again and again: what costs no node is decided once, and never keeps waiting what does. */
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/decide/undecided.h"
#include "tests/sim/sim_world.h"

#define OFF_THE_BUS 79
#define PROGRAM_FAULT 43
#define OTHER_PROGRAM_FAULT 68
#define RATED 31 /* a program's fault, too, but twice within a day is told */
#define WATCHED 14
#define NODES_OF_A_JOB 100 /* more than are looked at in a turn */

static uint64_t decisions(struct sim *sim)
{
    struct reconcile_stats stats;
    reconcile_stats(sim->reconcile, &stats);
    return stats.decisions;
}

/* The store holds the verdict, and the loop was never told of it. */
static void a_verdict_whose_wake_is_lost_is_found(void **state)
{
    struct sim sim;
    struct reconcile_stats stats;
    (void)state;
    sim_open(&sim, 7, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, 5 * MS_PER_MIN);
    sim.service.verdicts_stored = NULL;
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, 3 * MS_PER_MIN);
    assert_int_equal(sim_read(&sim, "gpu-1").decision.action, ACTION_REBOOT);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_VERDICT_UNDECIDED, NULL), 1);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.verdicts_forgotten, 1);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    sim_crash(&sim); /* what was decided before is not told again */
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_VERDICT_UNDECIDED, NULL), 1);
    sim_close(&sim);
}

/* One that the loop knows and has not come to yet is late, which the metric shows: in a burst that is ordinary. After ten minutes it is not. */
static void a_late_verdict_is_not_forgotten(void **state)
{
    struct sim sim;
    struct reconcile_stats stats;
    (void)state;
    sim_open(&sim, 9, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, 5 * MS_PER_MIN);
    sim.service.verdicts_stored = NULL;
    struct rnode *node = reconcile_node_find(sim.reconcile, sim_read(&sim, "gpu-1").row.id);
    const int64_t came_us = clock_mono_ms(&sim.clock) * 1000;
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    reconcile_undecided_came(sim.reconcile, node, came_us);
    sim_run(&sim, 5 * MS_PER_MIN);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.undecided_since_us, came_us);
    assert_int_equal(stats.verdicts_forgotten, 0);
    sim_run(&sim, 7 * MS_PER_MIN);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.verdicts_forgotten, 1);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_VERDICT_UNDECIDED, NULL), 1);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.undecided_since_us, 0);
    sim_close(&sim);
}

/* Between its arrival and the look it is shown how long it waits. */
static void what_waits_for_a_decision_is_shown(void **state)
{
    struct sim sim;
    struct reconcile_stats stats;
    (void)state;
    sim_open(&sim, 8, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.undecided_since_us, 0);
    const int64_t came_us = clock_mono_ms(&sim.clock) * 1000;
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    clock_fake_advance(&sim.clock, 5 * MS_PER_S);
    sim_verdict(&sim, "gpu-2", OFF_THE_BUS, SEVERITY_CRITICAL);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.undecided_since_us, came_us);
    sim_settle(&sim);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.undecided_since_us, 0);
    sim_close(&sim);
}

static void a_crashing_program_is_one_decision(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 1, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    for (int i = 0; i < 50; i++) {
        sim_verdict(&sim, "gpu-1", i % 2 == 0 ? PROGRAM_FAULT : OTHER_PROGRAM_FAULT, SEVERITY_WARN);
        sim_run(&sim, 90 * MS_PER_S);
    }
    struct sim_reading now = sim_read(&sim, "gpu-1");
    assert_int_equal(decisions(&sim), 1);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DECISION, NULL), 1);
    assert_int_equal(now.decision.action, ACTION_NONE);
    assert_string_equal(now.decision.code, "xid.43");
    assert_int_equal(now.row.health, HEALTH_HEALTHY);
    sim_close(&sim);
}

static void a_rate_is_told_once(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 5, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    for (int i = 0; i < 20; i++) {
        sim_verdict(&sim, "gpu-1", RATED, SEVERITY_WARN);
        sim_run(&sim, 5 * MS_PER_MIN);
    }
    assert_int_equal(decisions(&sim), 2);
    assert_int_equal(sim_read(&sim, "gpu-1").decision.action, ACTION_WATCH);
    sim_close(&sim);
}

static void a_watched_code_is_told_beside_it(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 2, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_verdict(&sim, "gpu-1", PROGRAM_FAULT, SEVERITY_WARN);
    sim_run(&sim, 90 * MS_PER_S);
    sim_verdict(&sim, "gpu-1", WATCHED, SEVERITY_WARN);
    sim_settle(&sim);
    assert_int_equal(decisions(&sim), 2);
    assert_int_equal(sim_read(&sim, "gpu-1").decision.action, ACTION_WATCH);
    assert_int_equal(sim_read(&sim, "gpu-1").row.health, HEALTH_DEGRADED);
    sim_close(&sim);
}

static uint64_t writes(struct sim *sim)
{
    struct db_stats stats;
    db_stats(sim->service.db, &stats);
    return stats.writes;
}

static void a_look_from_which_nothing_follows_writes_nothing(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 6, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_verdict(&sim, "gpu-1", WATCHED, SEVERITY_WARN);
    sim_run(&sim, 90 * MS_PER_S);
    sim_verdict(&sim, "gpu-1", WATCHED, SEVERITY_WARN);
    uint64_t before = writes(&sim);
    sim_settle(&sim);
    assert_int_equal(writes(&sim) - before, 0);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    before = writes(&sim);
    sim_settle(&sim);
    assert_true(writes(&sim) > before);
    sim_close(&sim);
}

static void the_fault_behind_the_noise_is_seen(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 3, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    for (int i = 0; i < 20; i++)
        sim_verdict(&sim, "gpu-1", PROGRAM_FAULT, SEVERITY_WARN);
    sim_run(&sim, MS_PER_MIN);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    assert_int_equal(sim_read(&sim, "gpu-1").decision.action, ACTION_REBOOT);
    assert_string_equal(sim_read(&sim, "gpu-1").decision.code, "xid.79");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 20 * MS_PER_MIN);
    /* The repair dealt with all of it, so the next crash is news. */
    uint64_t before = decisions(&sim);
    sim_verdict(&sim, "gpu-1", PROGRAM_FAULT, SEVERITY_WARN);
    sim_settle(&sim);
    assert_int_equal(decisions(&sim), before + 1);
    assert_int_equal(sim_read(&sim, "gpu-1").decision.action, ACTION_NONE);
    sim_close(&sim);
}

/* A job of many nodes crashes, and a machine of it is really broken: that one is decided in the next turn. */
static void critical_evidence_goes_first(void **state)
{
    struct sim sim;
    char name[NODE_NAME_MAX_BYTES];
    int64_t next;
    (void)state;
    sim_open(&sim, 4, false);
    sim_create(&sim, NODES_OF_A_JOB, NODE_RECOVERY_NONE);
    for (int i = 1; i <= NODES_OF_A_JOB; i++) {
        snprintf(name, sizeof(name), "gpu-%d", i);
        sim_verdict(&sim, name, PROGRAM_FAULT, SEVERITY_WARN);
    }
    snprintf(name, sizeof(name), "gpu-%d", NODES_OF_A_JOB);
    sim_verdict(&sim, name, OFF_THE_BUS, SEVERITY_CRITICAL);
    reconcile_run_once(sim.reconcile, &next);
    assert_int_equal(sim_read(&sim, name).decision.action, ACTION_MARK);
    assert_true(decisions(&sim) < NODES_OF_A_JOB);
    sim_settle(&sim);
    assert_int_equal(decisions(&sim), NODES_OF_A_JOB);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verdict_whose_wake_is_lost_is_found),
        cmocka_unit_test(a_late_verdict_is_not_forgotten),
        cmocka_unit_test(what_waits_for_a_decision_is_shown),
        cmocka_unit_test(a_crashing_program_is_one_decision),
        cmocka_unit_test(a_rate_is_told_once),
        cmocka_unit_test(a_watched_code_is_told_beside_it),
        cmocka_unit_test(the_fault_behind_the_noise_is_seen),
        cmocka_unit_test(a_look_from_which_nothing_follows_writes_nothing),
        cmocka_unit_test(critical_evidence_goes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
