/* Stories of software updates: batch by batch, back when it goes wrong, and beside repairs. */
#include "db/cluster.h"
#include "server/service/cluster/cluster.h"
#include "server/service/node/node.h"
#include "tests/sim/sim_cluster.h"

#define OFF_THE_BUS 79

static void open_cluster(struct sim *sim, uint64_t seed, int nodes)
{
    sim_open(sim, seed, true);
    struct service_group_spec gpu = sim_spec("gpu", nodes, 0);
    snprintf(gpu.release, sizeof(gpu.release), "v1");
    sim_ask_cluster(sim, PROVISIONING_CONTINUOUS, &gpu, 1);
    sim_until_cluster(sim, CLUSTER_STATE_IN_SERVICE, 30 * MS_PER_MIN);
    sim_run(sim, MS_PER_MIN);
}

static void update_to(struct sim *sim, const char *release, int64_t batch, bool percent, int64_t wait_ms)
{
    struct rollout how = {.batch_value = batch, .batch_is_percent = percent, .rollback_batch_value = 0};
    struct cluster cluster;
    struct problem problem = {0};
    how.wait_ms = wait_ms;
    snprintf(how.release, sizeof(how.release), "%s", release);
    if (service_cluster_update_software(&sim->service, &sim_admin, SIM_CLUSTER, &how, NULL, 0, &cluster, &problem) != 0)
        fail_msg("update: %s", problem.detail);
}

static struct rollout rollout_of(struct sim *sim)
{
    struct rollout rollout = {0};
    struct instance_group group;
    struct db_tx *tx = NULL;
    assert_true(sim_group(sim, "gpu", &group));
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_int_equal(db_rollout_get(tx, group.id, &rollout), 0);
    db_read_end(sim->service.db, tx);
    return rollout;
}

static int count_release(struct sim *sim, const char *release)
{
    int count = 0;
    for (int i = 0; i < sim->provider.count; i++)
        count += !sim->provider.instances[i].gone && strcmp(sim->provider.instances[i].release, release) == 0;
    return count;
}

static bool rollout_ended(struct sim *sim, const void *arg)
{
    (void)arg;
    enum rollout_state state = rollout_of(sim).state;
    return state != ROLLOUT_STATE_PENDING && state != ROLLOUT_STATE_IN_PROGRESS && state != ROLLOUT_STATE_ROLLING_BACK;
}

static void until_ended(struct sim *sim, int64_t at_most_ms)
{
    sim_until_is(sim, rollout_ended, NULL, at_most_ms, "the rollout has ended");
}

static void it_goes_batch_by_batch(void **state)
{
    struct sim sim;
    struct instance_group group;
    (void)state;
    open_cluster(&sim, 101, 5);
    fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs = 1; /* may finish */
    update_to(&sim, "v2", 2, false, 10 * MS_PER_MIN);
    int64_t until = clock_wall_ms(&sim.clock) + 12 * MS_PER_HOUR;
    int most = 0;
    sim_settle(&sim);
    while (!rollout_ended(&sim, NULL) && clock_wall_ms(&sim.clock) < until) {
        int away = 5 - sim_group_count(&sim, "gpu", NODE_STATE_READY);
        most = away > most ? away : most;
        assert_true(sim_group(&sim, "gpu", &group));
        assert_int_equal(group.state, GROUP_STATE_SYSTEM_UPDATING);
        if (clock_wall_ms(&sim.clock) > until - 11 * MS_PER_HOUR)
            fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs = 0;
        sim_tick(&sim, until);
    }
    assert_int_equal(rollout_of(&sim).state, ROLLOUT_STATE_SUCCEEDED);
    assert_int_equal(most, 2);
    assert_int_equal(rollout_of(&sim).batch, 3);
    assert_int_equal(count_release(&sim, "v2"), 5);
    assert_int_equal(sim_machines(&sim), 5);
    assert_int_equal(fake_scheduler_find(&sim.scheduler, "gpu-1")->evictions, 0);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_MIN);
    sim_until_group(&sim, "gpu", GROUP_STATE_IN_SERVICE, 5, MS_PER_MIN);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_ROLLOUT, "batch"), 6); /* begins, three chosen, two done */
    sim_close(&sim);
}

static void percent_of_the_group(void **state)
{
    struct sim sim;
    (void)state;
    open_cluster(&sim, 102, 4);
    update_to(&sim, "v2", 50, true, 0);
    until_ended(&sim, 6 * MS_PER_HOUR);
    assert_int_equal(rollout_of(&sim).state, ROLLOUT_STATE_SUCCEEDED);
    assert_int_equal(rollout_of(&sim).batch, 2);
    update_to(&sim, "v3", 1, true, 0); /* less than one node is one */
    until_ended(&sim, 6 * MS_PER_HOUR);
    assert_int_equal(rollout_of(&sim).batch, 4);
    assert_int_equal(count_release(&sim, "v3"), 4);
    sim_close(&sim);
}

static void what_does_not_come_up_goes_back(void **state)
{
    struct sim sim;
    struct instance_group group;
    (void)state;
    open_cluster(&sim, 103, 4);
    snprintf(sim.provider.broken_release, sizeof(sim.provider.broken_release), "v2");
    update_to(&sim, "v2", 1, false, 0);
    until_ended(&sim, 6 * MS_PER_HOUR);
    struct rollout rollout = rollout_of(&sim);
    assert_int_equal(rollout.state, ROLLOUT_STATE_ROLLED_BACK);
    assert_non_null(strstr(rollout.failure, "gpu-"));
    assert_int_equal(count_release(&sim, "v1"), 4);
    assert_int_equal(sim_machines(&sim), 4);
    assert_true(sim_group(&sim, "gpu", &group));
    assert_string_equal(group.release, "v1");
    assert_int_equal(group.state, GROUP_STATE_IN_SERVICE);
    assert_true(group.failure[0] != '\0');
    assert_int_equal(sim.provider.launches, 4 + 2); /* only the one of the first batch was touched */
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_MIN);
    sim_until_all_ready(&sim, MS_PER_MIN);
    sim_close(&sim);
}

/* An image that the group was described with, but that no node runs yet, is nothing to go back to. */
static void it_goes_back_to_what_the_nodes_ran(void **state)
{
    static const char *const targets[] = {"v2", "v3"};
    struct sim sim;
    struct instance_group group;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        open_cluster(&sim, 110 + i, 3);
        struct service_group_spec described = sim_spec("gpu", 3, 0);
        snprintf(described.release, sizeof(described.release), "v2");
        assert_int_equal(sim_change(&sim, &described, 1, NULL), 0);
        snprintf(sim.provider.broken_release, sizeof(sim.provider.broken_release), "%s", targets[i]);
        update_to(&sim, targets[i], 1, false, 0);
        until_ended(&sim, 6 * MS_PER_HOUR);
        assert_int_equal(rollout_of(&sim).state, ROLLOUT_STATE_ROLLED_BACK);
        assert_int_equal(count_release(&sim, "v1"), 3);
        assert_true(sim_group(&sim, "gpu", &group));
        assert_string_equal(group.release, "v1");
        sim_close(&sim);
    }
}

/* A member that falls ill before the next batch begins turns the update back. */
static void the_gate_watches_between_batches(void **state)
{
    struct sim sim;
    (void)state;
    open_cluster(&sim, 104, 3);
    update_to(&sim, "v2", 1, false, MS_PER_HOUR);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(rollout_of(&sim).state, ROLLOUT_STATE_IN_PROGRESS);
    assert_int_equal(count_release(&sim, "v2"), 1);
    for (int i = 1; i <= 3; i++) {
        char name[NODE_NAME_MAX_BYTES];
        snprintf(name, sizeof(name), "gpu-%d", i);
        if (strcmp(fake_provider_of_node(&sim.provider, name)->release, "v2") == 0)
            sim_verdict(&sim, name, OFF_THE_BUS, SEVERITY_CRITICAL);
    }
    until_ended(&sim, 6 * MS_PER_HOUR);
    assert_int_equal(rollout_of(&sim).state, ROLLOUT_STATE_ROLLED_BACK);
    assert_int_equal(count_release(&sim, "v1"), 3);
    sim_close(&sim);
}

/* Neither image comes up any more: a person is needed, and told so. */
static void a_rollback_that_fails_says_so(void **state)
{
    struct sim sim;
    struct instance_group group;
    (void)state;
    open_cluster(&sim, 105, 2);
    sim.provider.failed_to_provision = true;
    update_to(&sim, "v2", 1, false, 0);
    until_ended(&sim, 12 * MS_PER_HOUR);
    assert_int_equal(rollout_of(&sim).state, ROLLOUT_STATE_FAILED);
    assert_non_null(strstr(rollout_of(&sim).failure, "roll-back failed"));
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_MIN);
    assert_true(sim_group(&sim, "gpu", &group));
    assert_int_equal(group.state, GROUP_STATE_DEGRADED);
    sim_close(&sim);
}

static void a_repair_beside_it_gets_the_new_image(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem = {0};
    (void)state;
    open_cluster(&sim, 106, 4);
    update_to(&sim, "v2", 1, false, MS_PER_HOUR);
    sim_run(&sim, 10 * MS_PER_MIN);
    const char *old = NULL;
    for (int i = 0; i < sim.provider.count && old == NULL; i++)
        if (!sim.provider.instances[i].gone && strcmp(sim.provider.instances[i].release, "v1") == 0)
            old = sim.provider.instances[i].node;
    assert_non_null(old);
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, old, OPERATION_KIND_REPLACE,
                                          URGENCY_NOW, "", "", &op, &problem),
                     0);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(count_release(&sim, "v2"), 2);
    until_ended(&sim, 6 * MS_PER_HOUR);
    assert_int_equal(rollout_of(&sim).state, ROLLOUT_STATE_SUCCEEDED);
    assert_int_equal(rollout_of(&sim).batch, 3);
    sim_close(&sim);
}

static void nothing_to_do_is_done(void **state)
{
    struct sim sim;
    (void)state;
    open_cluster(&sim, 107, 2);
    update_to(&sim, "v1", 1, false, 0);
    until_ended(&sim, MS_PER_MIN);
    assert_int_equal(rollout_of(&sim).state, ROLLOUT_STATE_SUCCEEDED);
    assert_int_equal(sim.provider.launches, 2);
    sim_close(&sim);
}

static void a_cluster_goes_in_the_middle_of_it(void **state)
{
    struct sim sim;
    (void)state;
    open_cluster(&sim, 108, 3);
    update_to(&sim, "v2", 2, false, 0);
    sim_run(&sim, 20 * MS_PER_S);
    assert_int_equal(sim_delete(&sim), 0);
    sim_until_is(&sim, sim_cluster_gone, NULL, MS_PER_HOUR, "the cluster is gone");
    assert_int_equal(sim_machines(&sim), 0);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_batch_by_batch),
        cmocka_unit_test(percent_of_the_group),
        cmocka_unit_test(what_does_not_come_up_goes_back),
        cmocka_unit_test(it_goes_back_to_what_the_nodes_ran),
        cmocka_unit_test(the_gate_watches_between_batches),
        cmocka_unit_test(a_rollback_that_fails_says_so),
        cmocka_unit_test(a_repair_beside_it_gets_the_new_image),
        cmocka_unit_test(nothing_to_do_is_done),
        cmocka_unit_test(a_cluster_goes_in_the_middle_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
