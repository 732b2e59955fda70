/* Two schedulers under one loop, the second of another kind, with the same node names in both: each is repaired and down by itself. */
#include "server/service/cluster/cluster.h"
#include "server/service/scheduler/governance.h"
#include "tests/sim/sim_other.h"

#define OFF_THE_BUS 79

static void open_both(struct sim *sim, uint64_t seed)
{
    sim_open(sim, seed, true);
    sim->other_nodes = 3;
    sim_crash(sim);
    sim_ask_both(sim, 4);
    sim_until_all_ready(sim, 30 * MS_PER_MIN);
    sim_run(sim, 5 * MS_PER_MIN);
    assert_true(sim_other_is_ready(sim));
}

static void a_node_of_both_is_repaired_in_each(void **state)
{
    struct sim sim;
    (void)state;
    open_both(&sim, 401);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_other_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, 10 * MS_PER_S);
    assert_true(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    assert_true(fake_scheduler_find(&sim.other, "gpu-1")->out);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    assert_true(sim_other_is_ready(&sim));
    assert_int_equal(sim.provider.reboots, 2);
    for (int i = 1; i <= 3; i++) {
        char name[NODE_NAME_MAX_BYTES];
        snprintf(name, sizeof(name), "gpu-%d", i);
        assert_int_equal(fake_scheduler_find(&sim.scheduler, name)->marks, i == 1);
        assert_int_equal(fake_scheduler_find(&sim.other, name)->marks, i == 1);
    }
    sim_close(&sim);
}

static int count_down(const void *row, void *arg)
{
    const struct event *event = row;
    *(int *)arg += event->kind == EVENT_KIND_SCHEDULER_DOWN;
    return 0;
}

static int down_events(struct sim *sim, const char *name)
{
    struct db_tx *tx = NULL;
    int count = 0;
    const struct db_event_filter of = {.cluster = name};
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_int_equal(db_event_list(tx, &of, count_down, &count), 0);
    db_read_end(sim->service.db, tx);
    return count;
}

static void one_that_is_down_holds_up_nothing_of_the_other(void **state)
{
    struct sim sim;
    (void)state;
    open_both(&sim, 402);
    sim.other.down = true;
    sim_run(&sim, MS_PER_MIN);
    sim_verdict(&sim, "gpu-2", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_other_verdict(&sim, "gpu-2", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-2"), NODE_STATE_READY);
    assert_int_equal(sim.provider.reboots, 1);
    assert_false(fake_scheduler_find(&sim.other, "gpu-2")->out);
    assert_int_equal(down_events(&sim, SIM_OTHER), 1);
    assert_int_equal(down_events(&sim, SIM_CLUSTER), 0);
    sim.other.down = false;
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_true(sim_other_is_ready(&sim));
    assert_int_equal(sim.provider.reboots, 2);
    sim_close(&sim);
}

/* A drain of a person in one is nothing of the node of the same name in the other. */
static void a_hold_is_of_one_scheduler(void **state)
{
    struct sim sim;
    (void)state;
    open_both(&sim, 403);
    fake_scheduler_by_hand(&sim.other, "gpu-1", false, "swapping a fan");
    sim_run(&sim, MS_PER_MIN);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_other_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    assert_int_equal(sim.provider.reboots, 1);
    assert_string_equal(fake_scheduler_find(&sim.other, "gpu-1")->reason, "swapping a fan");
    sim_close(&sim);
}

/* Taken out of the configuration: said at the start, shown, and what needs it waits. Nothing of it fails for good. */
static void one_that_is_no_longer_configured_is_said(void **state)
{
    struct sim sim;
    struct problem problem;
    struct service_cluster_view view;
    (void)state;
    open_both(&sim, 404);
    sim_kill(&sim);
    sim.other_nodes = 0;
    sim_boot(&sim);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_SCHEDULER_DOWN, "has no scheduler \"" SIM_OTHER "\""), 1);
    assert_int_equal(service_cluster_describe(&sim.service, SIM_OTHER, &view, &problem), 0);
    assert_int_equal(view.scheduler.state, SCHEDULER_STATE_DOWN);
    assert_non_null(strstr(view.scheduler.error, "has no scheduler \"" SIM_OTHER "\""));
    service_cluster_view_free(&view);
    AUTO(governance_spec) struct governance_spec config = {0};
    static struct governance governance;
    assert_int_equal(governance_spec_read("{\"fairShare\":true}", &config), 0);
    const struct service_governance_spec spec = {.name = "main", .config = &config, .active = -1};
    const enum governance_kind kind = GOVERNANCE_KIND_SCHEDULER_CONFIG;
    assert_int_equal(service_governance_create(&sim.service, &sim_admin, kind, SIM_OTHER, &spec, &governance, &problem),
                     0);
    int64_t next;
    for (int i = 0; i < 4; i++)
        (void)reconcile_run_once(sim.reconcile, &next);
    const struct service_governance_ref ref = {.kind = kind, .cluster = SIM_OTHER};
    assert_int_equal(service_governance_describe(&sim.service, &ref, 0, &governance, &problem), 0);
    assert_string_equal(governance_status_text(governance.status), "Creating");
    assert_non_null(strstr(governance.reason, "no scheduler of the cluster's name"));
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_of_both_is_repaired_in_each),
        cmocka_unit_test(one_that_is_down_holds_up_nothing_of_the_other),
        cmocka_unit_test(a_hold_is_of_one_scheduler),
        cmocka_unit_test(one_that_is_no_longer_configured_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
