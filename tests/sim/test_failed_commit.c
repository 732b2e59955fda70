/* What a turn does in memory it does after its commit: where the commit fails nothing of it has happened. */
#include "tests/sim/sim_cluster.h"
#include "tests/sim/sim_disk.h"

#include "server/service/node/node.h"

#define UNCONTAINED 95 /* the table asks for a reset */
#define RETRIED_MS 400 /* the turn that failed is tried again, and the look after our own change is not due yet */
#define GOOD_MAX 40    /* calls to the disk until the reset has begun, and some more */

/* The law is in sim_law_task: no agent is asked for a step that is not stored as begun. */
static void an_agent_is_asked_after_the_commit(void **state)
{
    bool before = false, after = false;
    (void)state;
    for (int good = 0; good < GOOD_MAX; good++) {
        struct sim sim;
        sim_open(&sim, 901, true);
        sim.resets = SIM_RESETS_SUCCEED;
        sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
        sim_run(&sim, MS_PER_MIN);
        sim_verdict(&sim, "gpu-1", UNCONTAINED, SEVERITY_CRITICAL);
        sim_disk_break(good);
        sim_run(&sim, 2 * MS_PER_MIN);
        sim_disk_fix();
        int resets = fake_provider_of_node(&sim.provider, "gpu-1")->resets;
        before = before || resets == 0;
        after = after || resets == 1;
        sim_run(&sim, 30 * MS_PER_MIN);
        assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
        assert_int_equal(fake_provider_of_node(&sim.provider, "gpu-1")->resets, 1);
        sim_close(&sim);
    }
    assert_true(before && after);
}

/* A step that waits for a newer snapshot asks for it when the wait is stored. */
static void a_scheduler_is_looked_at_after_the_commit(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    sim_open(&sim, 902, true);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_REBOOT,
                                          URGENCY_NOW, "", "", &op, &problem),
                     0);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN); /* it was just uncordoned, and is not seen since */
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_REBOOT,
                                          URGENCY_NOW, "", "", &op, &problem),
                     0);
    int64_t looks = sim.scheduler.observed;
    sim_disk_break(0);
    sim_run(&sim, RETRIED_MS);
    sim_disk_fix();
    assert_int_equal(sim.scheduler.observed, looks);
    sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, MS_PER_MIN);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 2);
    sim_close(&sim);
}

/* Housekeeping that could not be written is no look at an idle node. */
static void a_look_at_an_idle_node_counts_once(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 903, true);
    sim.deep = SIM_DEEP_PASSES;
    sim.settings.check_idle_ms = MS_PER_DAY;
    sim_crash(&sim);
    sim_create(&sim, 3, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    sim_disk_break(0);
    fake_scheduler_by_hand(&sim.scheduler, "gpu-3", false, "disk swap"); /* what a turn has to write */
    sim_run(&sim, 5 * MS_PER_MIN);
    sim_disk_fix();
    sim_run(&sim, 90 * MS_PER_S); /* two looks, where five in a row are asked for */
    for (int i = 1; i <= 2; i++) {
        char name[NODE_NAME_MAX_BYTES];
        snprintf(name, sizeof(name), "gpu-%d", i);
        assert_int_equal(fake_provider_of_node(&sim.provider, name)->deep_runs, 0);
    }
    sim_run(&sim, 30 * MS_PER_MIN);
    assert_int_equal(fake_provider_of_node(&sim.provider, "gpu-1")->deep_runs, 1);
    assert_int_equal(fake_provider_of_node(&sim.provider, "gpu-2")->deep_runs, 1);
    sim_close(&sim);
}

/* More than one turn takes: those that were chosen for the turn that failed are chosen again, and told of as a whole. */
static void a_group_that_shrinks_is_told_of_once(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 904, true);
    sim_create(&sim, 80, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_scale(&sim, "gpu", 4, 0), 0);
    sim_disk_break(0);
    sim_disk.bad = 1;
    sim_run(&sim, 30 * MS_PER_MIN);
    sim_disk_fix();
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_GROUP_SCALING, "76 nodes go: "), 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_GROUP_SCALING, " nodes go: "), 1);
    assert_int_equal(sim_group_count(&sim, "gpu", NODE_STATE_READY), 4);
    sim_close(&sim);
}

static int well(void **state)
{
    (void)state;
    sim_disk_fix();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_agent_is_asked_after_the_commit, well),
        cmocka_unit_test_setup(a_scheduler_is_looked_at_after_the_commit, well),
        cmocka_unit_test_setup(a_look_at_an_idle_node_counts_once, well),
        cmocka_unit_test_setup(a_group_that_shrinks_is_told_of_once, well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
