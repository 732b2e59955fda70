/* Stories of nodes that are tested in the background because they have nothing to do. */
#include "tests/sim/sim_cluster.h"

#include "server/service/cluster/pause.h"

#define NODES 4
#define EVERY_MS MS_PER_DAY

static void open_world(struct sim *sim, uint64_t seed, int64_t every_ms)
{
    sim_open(sim, seed, true);
    sim->deep = SIM_DEEP_PASSES;
    sim->settings.check_idle_ms = every_ms;
    sim_crash(sim);
    sim_create(sim, NODES, NODE_RECOVERY_AUTOMATIC);
}

static const char *name_of(int i)
{
    static const char *const names[NODES] = {"gpu-1", "gpu-2", "gpu-3", "gpu-4"};
    return names[i];
}

static int runs_of(struct sim *sim, int i)
{
    return fake_provider_of_node(&sim->provider, name_of(i))->deep_runs;
}

/* Runs the world for so long; the most nodes that were out of service at once. */
static int most_out(struct sim *sim, int64_t ms)
{
    int most = 0;
    for (int64_t until = clock_wall_ms(&sim->clock) + ms; clock_wall_ms(&sim->clock) < until;) {
        sim_tick(sim, until);
        int out = NODES - sim_count_state(sim, NODE_STATE_READY);
        most = out > most ? out : most;
    }
    return most;
}

/* The loop has not heard of the pause yet, and asks the store before it begins. */
static void no_test_begins_after_the_answer_to_who_paused(void **state)
{
    struct sim sim;
    struct cluster cluster;
    struct problem problem;
    (void)state;
    open_world(&sim, 707, EVERY_MS);
    void (*wake)(void *arg, enum service_wake what, int64_t id) = sim.service.wake;
    sim.service.wake = NULL;
    assert_int_equal(service_cluster_pause(&sim.service, &sim_admin, SIM_CLUSTER, "", &cluster, &problem), 0);
    sim.service.wake = wake;
    assert_int_equal(most_out(&sim, MS_PER_HOUR), 0);
    for (int i = 0; i < NODES; i++)
        assert_int_equal(runs_of(&sim, i), 0);
    assert_int_equal(service_cluster_resume(&sim.service, &sim_admin, SIM_CLUSTER, "", &cluster, &problem), 0);
    assert_int_equal(most_out(&sim, MS_PER_HOUR), 1);
    sim_close(&sim);
}

static void idle_nodes_are_tested_one_after_another(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, 701, EVERY_MS);
    fake_scheduler_find(&sim.scheduler, "gpu-3")->jobs = 1;
    assert_int_equal(most_out(&sim, 3 * MS_PER_HOUR), 1);
    for (int i = 0; i < NODES; i++)
        assert_int_equal(runs_of(&sim, i), i == 2 ? 0 : 1);
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_int_equal(reading.operation.kind, OPERATION_KIND_CHECK);
    assert_int_equal(reading.operation.state, OPERATION_STATE_SUCCEEDED);
    assert_string_equal(reading.operation.actor, "policy");
    assert_string_equal(reading.operation.reason, "idle: checked in the background");
    assert_false(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);

    fake_scheduler_find(&sim.scheduler, "gpu-3")->jobs = 0;
    assert_int_equal(most_out(&sim, 3 * MS_PER_HOUR), 1); /* its job is over; of the others it is known */
    for (int i = 0; i < NODES; i++)
        assert_int_equal(runs_of(&sim, i), 1);
    (void)most_out(&sim, EVERY_MS);
    for (int i = 0; i < NODES; i++)
        assert_int_equal(runs_of(&sim, i), 2);
    sim_close(&sim);
}

/* Also where a test is over before the next look. */
static void who_was_tested_longest_ago_is_next(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, 706, 2 * MS_PER_MIN);
    (void)most_out(&sim, 3 * MS_PER_HOUR);
    for (int i = 0; i < NODES; i++)
        assert_in_range(runs_of(&sim, i) - runs_of(&sim, 0) + 1, 0, 2);
    assert_in_range(runs_of(&sim, 0), 3, 1000);
    sim_close(&sim);
}

static void nobody_asked_for_it(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, 702, 0);
    assert_int_equal(most_out(&sim, EVERY_MS), 0);
    assert_int_equal(runs_of(&sim, 0), 0);
    sim_close(&sim);
}

static void a_restart_forgets_no_test(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, 703, EVERY_MS);
    (void)most_out(&sim, 2 * MS_PER_HOUR);
    sim_crash(&sim);
    (void)most_out(&sim, 2 * MS_PER_HOUR);
    for (int i = 0; i < NODES; i++)
        assert_int_equal(runs_of(&sim, i), 1);
    sim_close(&sim);
}

/* What is found is evidence as any is. */
static void what_fails_is_repaired(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, 704, EVERY_MS);
    sim.deep = SIM_DEEP_FAILS;
    while (sim.provider.reboots == 0)
        sim_tick(&sim, INT64_MAX);
    assert_int_equal(runs_of(&sim, 0) + runs_of(&sim, 1) + runs_of(&sim, 2) + runs_of(&sim, 3), 1);
    sim.deep = SIM_DEEP_PASSES;
    (void)most_out(&sim, 3 * MS_PER_HOUR);
    assert_int_equal(sim_count_state(&sim, NODE_STATE_READY), NODES);
    assert_int_equal(sim.provider.reboots, 1);
    sim_close(&sim);
}

/* A look has an end: who cannot be tested must not stand in the way of who can. */
static void many_that_cannot_be_tested_hide_nobody(void **state)
{
    static const char able[] = "gpu-35";
    struct sim sim;
    (void)state;
    sim_open(&sim, 705, true);
    sim.deep = SIM_DEEP_PASSES;
    sim.settings.check_idle_ms = EVERY_MS;
    sim_crash(&sim);
    sim_create(&sim, 70, NODE_RECOVERY_AUTOMATIC);
    for (int i = 1; i <= 70; i++) {
        char name[NODE_NAME_MAX_BYTES];
        snprintf(name, sizeof(name), "gpu-%d", i);
        fake_provider_of_node(&sim.provider, name)->runs_no_tests = strcmp(name, able) != 0;
    }
    for (int64_t until = clock_wall_ms(&sim.clock) + MS_PER_HOUR; clock_wall_ms(&sim.clock) < until;)
        sim_tick(&sim, until);
    assert_int_equal(fake_provider_of_node(&sim.provider, able)->deep_runs, 1);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_test_begins_after_the_answer_to_who_paused),
        cmocka_unit_test(idle_nodes_are_tested_one_after_another),
        cmocka_unit_test(who_was_tested_longest_ago_is_next),
        cmocka_unit_test(nobody_asked_for_it),
        cmocka_unit_test(a_restart_forgets_no_test),
        cmocka_unit_test(what_fails_is_repaired),
        cmocka_unit_test(many_that_cannot_be_tested_hide_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
