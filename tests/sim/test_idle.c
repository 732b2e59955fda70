/* Stories of nodes that are tested in the background because they have nothing to do. */
#include "tests/sim/sim_cluster.h"

#include "server/service/cluster/pause.h"
#include "server/service/node/node.h"
#include "server/service/node/report.h"

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

/* --- what others say ---------------------------------------------------------------------------- */
static void report(struct sim *sim, const char *node, enum report_kind kind, const char *subject)
{
    struct node_report said = {.kind = kind};
    struct verdict verdict;
    struct problem problem;
    snprintf(said.subject, sizeof(said.subject), "%s", subject);
    assert_int_equal(
        service_node_report(&sim->service, &sim_admin, SIM_CLUSTER, node, &said, "wrong results", &verdict, &problem),
        0);
}

/* Nobody wants checks in the background: a suspicion is tested all the same, once, and a test that passes answers it. */
static void a_suspicion_is_tested_between_jobs(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, 720, 0);
    assert_int_equal(most_out(&sim, MS_PER_HOUR), 0);
    fake_scheduler_find(&sim.scheduler, "gpu-2")->jobs = 1;
    report(&sim, "gpu-2", REPORT_KIND_SUSPECTED, "0000:b9:00");
    assert_int_equal(most_out(&sim, MS_PER_HOUR), 0); /* it has work */
    fake_scheduler_find(&sim.scheduler, "gpu-2")->jobs = 0;
    assert_int_equal(most_out(&sim, 2 * MS_PER_HOUR), 1);
    assert_int_equal(runs_of(&sim, 1), 1);
    assert_int_equal(sim_events(&sim, "gpu-2", EVENT_KIND_DEEP_CHECK, "1 suspicion of the node is answered"), 1);
    assert_int_equal(most_out(&sim, MS_PER_DAY), 0);
    assert_int_equal(runs_of(&sim, 1), 1);
    for (int i = 0; i < NODES; i++)
        assert_true(i == 1 || runs_of(&sim, i) == 0);
    sim_close(&sim);
}

/* What the test finds is judged as any other's; a restart of hpd forgets no suspicion. */
static void a_suspicion_that_is_right_takes_the_node_out(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, 721, 0);
    sim_run(&sim, MS_PER_HOUR);
    fake_scheduler_find(&sim.scheduler, "gpu-3")->jobs = 1;
    report(&sim, "gpu-3", REPORT_KIND_SUSPECTED, "");
    sim_run(&sim, MS_PER_MIN);
    sim_crash(&sim);
    fake_scheduler_find(&sim.scheduler, "gpu-3")->jobs = 0;
    sim.deep = SIM_DEEP_FAILS;
    sim_run(&sim, 2 * MS_PER_HOUR);
    assert_true(sim_events(&sim, "gpu-3", EVENT_KIND_DECISION, "deep.") >= 1);
    sim_close(&sim);
}

/* One user's jobs that fail everywhere are not the nodes'; of three users they are this node's. */
static void failed_jobs_of_three_users_are_a_suspicion(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, 722, 0);
    sim_run(&sim, MS_PER_HOUR);
    for (int i = 0; i < 5; i++)
        for (int n = 0; n < NODES; n++)
            report(&sim, name_of(n), REPORT_KIND_JOB_FAILED, "anna");
    report(&sim, "gpu-4", REPORT_KIND_JOB_FAILED, "bert");
    assert_int_equal(most_out(&sim, 2 * MS_PER_HOUR), 0);
    report(&sim, "gpu-4", REPORT_KIND_JOB_FAILED, "carl");
    assert_int_equal(most_out(&sim, 2 * MS_PER_HOUR), 1);
    for (int n = 0; n < NODES; n++)
        assert_int_equal(runs_of(&sim, n), n == 3);
    sim_close(&sim);
}

/* Who is certain needs no test: a person looks. The provider's own notice is a machine less. */
static void certainty_is_for_a_person_and_a_notice_for_another_machine(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, 723, 0);
    sim_run(&sim, MS_PER_HOUR);
    report(&sim, "gpu-1", REPORT_KIND_CERTAIN, "0000:b9:00");
    sim_until(&sim, "gpu-1", NODE_STATE_HELD, MS_PER_MIN);
    int launches = sim.provider.launches;
    report(&sim, "gpu-2", REPORT_KIND_PROVIDER_NOTICE, "");
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim.provider.launches, launches + 1);
    assert_int_equal(sim_state(&sim, "gpu-2"), NODE_STATE_READY);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
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
        cmocka_unit_test(a_suspicion_is_tested_between_jobs),
        cmocka_unit_test(a_suspicion_that_is_right_takes_the_node_out),
        cmocka_unit_test(failed_jobs_of_three_users_are_a_suspicion),
        cmocka_unit_test(certainty_is_for_a_person_and_a_notice_for_another_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
