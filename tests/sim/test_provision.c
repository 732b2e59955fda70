/* Stories of clusters that come into service, grow, shrink, fail and are taken back. */
#include "server/service/cluster/cluster.h"
#include "tests/sim/sim_cluster.h"

#define DAY_PART (6 * MS_PER_HOUR)

static struct instance_group group_of(struct sim *sim, const char *name)
{
    struct instance_group group = {0};
    assert_true(sim_group(sim, name, &group));
    return group;
}

static struct cluster cluster_of(struct sim *sim)
{
    struct cluster cluster;
    assert_true(sim_has_cluster(sim, &cluster));
    return cluster;
}

static void a_group_comes_into_service_with_its_cluster(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 81, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    assert_int_equal(cluster_of(&sim).state, CLUSTER_STATE_IN_SERVICE);
    assert_int_equal(group_of(&sim, "gpu").state, GROUP_STATE_IN_SERVICE);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_GROUP_STATE, "creating -> in-service"), 1);
    sim_crash(&sim);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_GROUP_STATE, NULL), 1);
    sim_close(&sim);
}

/* --- continuous -------------------------------------------------------------------------------- */

static void one_bad_node_does_not_keep_the_others(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 82, true);
    struct service_group_spec gpu = sim_spec("gpu", 4, 0);
    snprintf(sim.provider.cursed, sizeof(sim.provider.cursed), "gpu-2");
    sim_ask_cluster(&sim, PROVISIONING_CONTINUOUS, &gpu, 1);
    sim_until_group(&sim, "gpu", GROUP_STATE_DEGRADED, 4, MS_PER_HOUR);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_MIN);
    assert_non_null(strstr(group_of(&sim, "gpu").failure, "gpu-2"));
    assert_non_null(strstr(group_of(&sim, "gpu").failure, "no machine fits"));
    sim_crash(&sim);
    sim_run(&sim, DAY_PART);
    assert_int_equal(group_of(&sim, "gpu").state, GROUP_STATE_DEGRADED);
    assert_int_equal(sim_events(&sim, "gpu-2", EVENT_KIND_OPERATION_FAILED, NULL), 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_GROUP_STATE, NULL), 1);
    assert_true(sim_read(&sim, "gpu-2").operation.id > 8); /* it was tried again */
    sim.provider.cursed[0] = '\0';
    sim_until_group(&sim, "gpu", GROUP_STATE_IN_SERVICE, 4, MS_PER_HOUR);
    assert_int_equal(sim_state(&sim, "gpu-2"), NODE_STATE_READY);
    assert_string_equal(group_of(&sim, "gpu").failure, "");
    assert_int_equal(sim_events(&sim, "gpu-2", EVENT_KIND_OPERATION_SUCCEEDED, NULL), 1);
    sim_close(&sim);
}

/* A machine that was made and never reported is ended before the next one is made. */
static void another_try_leaves_no_machine_behind(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 83, true);
    struct service_group_spec gpu = sim_spec("gpu", 2, 0);
    sim.provider.failed_to_provision = true;
    sim_ask_cluster(&sim, PROVISIONING_CONTINUOUS, &gpu, 1);
    sim_until_group(&sim, "gpu", GROUP_STATE_DEGRADED, 2, 2 * MS_PER_HOUR);
    sim_run(&sim, DAY_PART);
    assert_true(sim.provider.launches > 6);
    assert_int_equal(sim_machines(&sim), 2);
    sim.provider.failed_to_provision = false;
    sim_until_group(&sim, "gpu", GROUP_STATE_IN_SERVICE, 2, 2 * MS_PER_HOUR);
    assert_int_equal(sim_machines(&sim), 2);
    assert_int_equal(sim.provider.launches - sim.provider.terminations, 2);
    sim_close(&sim);
}

static void a_minimum_is_enough(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 84, true);
    struct service_group_spec gpu = sim_spec("gpu", 4, 3);
    snprintf(sim.provider.cursed, sizeof(sim.provider.cursed), "gpu-4");
    sim_ask_cluster(&sim, PROVISIONING_CONTINUOUS, &gpu, 1);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_GROUP_SCALING, "the minimum is in service: 3"), 1);
    sim_run(&sim, DAY_PART);
    assert_int_equal(group_of(&sim, "gpu").desired, 4);
    assert_int_equal(group_of(&sim, "gpu").state, GROUP_STATE_DEGRADED);
    sim_close(&sim);
}

static void a_minimum_that_does_not_come_takes_a_new_group_to_nothing(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 85, true);
    struct service_group_spec groups[] = {sim_spec("cpu", 1, 0), sim_spec("gpu", 3, 3)};
    snprintf(sim.provider.cursed, sizeof(sim.provider.cursed), "gpu-1");
    sim_ask_cluster(&sim, PROVISIONING_CONTINUOUS, groups, 2);
    sim_run(&sim, 2 * MS_PER_HOUR);
    assert_int_equal(group_of(&sim, "gpu").state, GROUP_STATE_CREATING);
    sim_crash(&sim);
    sim_until_group(&sim, "gpu", GROUP_STATE_FAILED, 0, 2 * MS_PER_HOUR);
    assert_int_equal(group_of(&sim, "gpu").desired, 0);
    assert_non_null(strstr(group_of(&sim, "gpu").failure, "2 of at least 3"));
    assert_int_equal(sim_machines(&sim), 1);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_MIN);
    sim.provider.cursed[0] = '\0';
    assert_int_equal(sim_scale(&sim, "gpu", 2, 2), 0);
    sim_until_group(&sim, "gpu", GROUP_STATE_IN_SERVICE, 2, MS_PER_HOUR);
    sim_close(&sim);
}

static void a_minimum_that_does_not_come_takes_an_old_group_back(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 86, true);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    sim_schedule(&sim, "gpu", 8);
    snprintf(sim.provider.cursed, sizeof(sim.provider.cursed), "gpu-4");
    assert_int_equal(sim_scale(&sim, "gpu", 4, 4), 0);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_state(&sim, "gpu-3"), NODE_STATE_READY);
    assert_int_equal(group_of(&sim, "gpu").state, GROUP_STATE_UPDATING);
    sim_until_group(&sim, "gpu", GROUP_STATE_IN_SERVICE, 2, 3 * MS_PER_HOUR);
    assert_int_equal(group_of(&sim, "gpu").desired, 2);
    assert_true(sim_has_node(&sim, "gpu-1") && sim_has_node(&sim, "gpu-2"));
    assert_non_null(strstr(group_of(&sim, "gpu").failure, "taken back"));
    assert_int_equal(sim_machines(&sim), 2);
    sim_close(&sim);
}

static void a_group_grows_and_shrinks(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 87, true);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    sim_schedule(&sim, "gpu", 10);
    assert_int_equal(sim_scale(&sim, "gpu", 6, 0), 0);
    sim.nodes = 6;
    sim_until_all_ready(&sim, MS_PER_HOUR);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_GROUP_SCALING, "the group has all its nodes: 6"), 1);
    /* gpu-6 and gpu-5 work; the last idle ones go, and the others notice nothing */
    fake_scheduler_find(&sim.scheduler, "gpu-6")->jobs = fake_scheduler_find(&sim.scheduler, "gpu-5")->jobs = 1;
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_scale(&sim, "gpu", 4, 0), 0);
    sim_until_group(&sim, "gpu", GROUP_STATE_IN_SERVICE, 4, MS_PER_HOUR);
    sim_run(&sim, MS_PER_MIN); /* rows of nodes that are gone linger a while */
    assert_false(sim_has_node(&sim, "gpu-3") || sim_has_node(&sim, "gpu-4"));
    assert_int_equal(fake_scheduler_find(&sim.scheduler, "gpu-6")->jobs, 1);
    assert_int_equal(fake_scheduler_find(&sim.scheduler, "gpu-5")->marks, 0);
    assert_int_equal(sim_machines(&sim), 4);
    /* busy ones go last, after their jobs */
    assert_int_equal(sim_scale(&sim, "gpu", 1, 0), 0);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_group_count(&sim, "gpu", NODE_STATE_DELETING), 1);
    assert_int_equal(sim_state(&sim, "gpu-6"), NODE_STATE_DELETING);
    assert_int_equal(fake_scheduler_find(&sim.scheduler, "gpu-6")->evictions, 0);
    fake_scheduler_find(&sim.scheduler, "gpu-6")->jobs = 0;
    sim_until_group(&sim, "gpu", GROUP_STATE_IN_SERVICE, 1, MS_PER_MIN);
    assert_true(sim_has_node(&sim, "gpu-5"));
    /* names are free again */
    assert_int_equal(sim_scale(&sim, "gpu", 3, 0), 0);
    sim.nodes = 3;
    sim_until_all_ready(&sim, MS_PER_HOUR);
    assert_true(sim_has_node(&sim, "gpu-1"));
    sim_close(&sim);
}

/* Nobody knows who works: nobody goes. */
static void a_group_does_not_shrink_blindly(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 93, true);
    sim_create(&sim, 3, NODE_RECOVERY_AUTOMATIC);
    fake_scheduler_find(&sim.scheduler, "gpu-3")->jobs = 1;
    sim_run(&sim, MS_PER_MIN);
    sim.scheduler.down = true;
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_scale(&sim, "gpu", 1, 0), 0);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_group_count(&sim, "gpu", -1), 3);
    sim.scheduler.down = false;
    sim_until_group(&sim, "gpu", GROUP_STATE_IN_SERVICE, 1, 10 * MS_PER_MIN);
    assert_true(sim_has_node(&sim, "gpu-3"));
    assert_int_equal(fake_scheduler_find(&sim.scheduler, "gpu-3")->jobs, 1);
    sim_close(&sim);
}

/* A group that is smaller again before its new nodes came up loses those. */
static void what_never_came_up_goes_first(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 88, true);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    sim_schedule(&sim, "gpu", 8);
    sim.provider.failed_to_provision = true;
    assert_int_equal(sim_scale(&sim, "gpu", 4, 0), 0);
    sim_run(&sim, 5 * MS_PER_MIN);
    assert_int_equal(sim_scale(&sim, "gpu", 2, 0), 0);
    sim_until_group(&sim, "gpu", GROUP_STATE_IN_SERVICE, 2, 10 * MS_PER_MIN);
    assert_true(sim_has_node(&sim, "gpu-1") && sim_has_node(&sim, "gpu-2"));
    assert_int_equal(sim_machines(&sim), 2);
    sim_close(&sim);
}

static void a_group_is_added_and_deleted(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 89, true);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    sim_schedule(&sim, "cpu", 2);
    assert_int_equal(sim_scale(&sim, "cpu", 2, 0), 0);
    sim_until_group(&sim, "cpu", GROUP_STATE_IN_SERVICE, 2, MS_PER_HOUR);
    fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs = 1;
    assert_int_equal(sim_change(&sim, NULL, 0, "cpu"), 0);
    struct instance_group gone;
    sim_run(&sim, 5 * MS_PER_MIN);
    assert_false(sim_group(&sim, "cpu", &gone));
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_GROUP_STATE, "the group is deleted"), 1);
    assert_int_equal(sim_machines(&sim), 2);
    assert_int_equal(fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs, 1);
    sim_crash(&sim);
    assert_int_equal(sim_scale(&sim, "cpu", 1, 0), 0);
    sim_until_group(&sim, "cpu", GROUP_STATE_IN_SERVICE, 1, MS_PER_HOUR);
    sim_close(&sim);
}

/* --- all or nothing ---------------------------------------------------------------------------- */

static void a_creation_that_fails_leaves_nothing(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 90, true);
    struct service_group_spec groups[] = {sim_spec("cpu", 2, 0), sim_spec("gpu", 3, 0), sim_spec("none", 0, 0)};
    snprintf(sim.provider.cursed, sizeof(sim.provider.cursed), "gpu-2");
    sim_ask_cluster(&sim, PROVISIONING_ALL_OR_NOTHING, groups, 3);
    sim_until_cluster(&sim, CLUSTER_STATE_FAILED, MS_PER_HOUR);
    assert_non_null(strstr(cluster_of(&sim).failure, "gpu-2"));
    assert_non_null(strstr(cluster_of(&sim).failure, "no machine fits"));
    assert_int_equal(sim_machines(&sim), 0);
    assert_int_equal(group_of(&sim, "cpu").state, GROUP_STATE_FAILED);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_group_count(&sim, "cpu", -1), 0);
    assert_int_equal(cluster_of(&sim).state, CLUSTER_STATE_FAILED);
    assert_int_equal(sim_delete(&sim), 0);
    sim_until_is(&sim, sim_cluster_gone, NULL, MS_PER_MIN, "the cluster is gone");
    sim_close(&sim);
}

static void an_update_that_fails_is_taken_back(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 91, true);
    struct service_group_spec groups[] = {sim_spec("cpu", 3, 0), sim_spec("gpu", 2, 0)};
    sim_ask_cluster(&sim, PROVISIONING_ALL_OR_NOTHING, groups, 2);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
    sim_schedule(&sim, "new", 2);
    snprintf(sim.provider.cursed, sizeof(sim.provider.cursed), "gpu-4");
    struct service_group_spec wanted[] = {sim_spec("cpu", 1, 0), sim_spec("gpu", 4, 0), sim_spec("new", 2, 0)};
    assert_int_equal(sim_change(&sim, wanted, 3, NULL), 0);
    assert_int_equal(cluster_of(&sim).state, CLUSTER_STATE_UPDATING);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
    struct instance_group gone;
    assert_false(sim_group(&sim, "new", &gone));
    assert_int_equal(group_of(&sim, "cpu").desired, 3);
    assert_int_equal(group_of(&sim, "gpu").desired, 2);
    assert_int_equal(sim_group_count(&sim, "cpu", NODE_STATE_READY), 3);
    assert_int_equal(sim_group_count(&sim, "gpu", NODE_STATE_READY), 2);
    assert_int_equal(sim_machines(&sim), 5);
    assert_non_null(strstr(cluster_of(&sim).failure, "gpu-4"));
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_CLUSTER_UPDATED, "goes back to what it was"), 1);
    sim.provider.cursed[0] = '\0';
    assert_int_equal(sim_change(&sim, wanted, 2, NULL), 0);
    sim_until_cluster(&sim, CLUSTER_STATE_UPDATING, MS_PER_MIN);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_group_count(&sim, "cpu", -1), 1);
    assert_int_equal(sim_group_count(&sim, "gpu", NODE_STATE_READY), 4);
    assert_string_equal(cluster_of(&sim).failure, "");
    assert_int_equal(group_of(&sim, "gpu").previous_desired, -1);
    sim_close(&sim);
}

/* --- deletion ---------------------------------------------------------------------------------- */

static void delete_in(enum provisioning provisioning, bool curse, int64_t after_ms)
{
    struct sim sim;
    sim_open(&sim, 92, true);
    struct service_group_spec groups[] = {sim_spec("cpu", 1, 0), sim_spec("gpu", 2, 0)};
    if (curse)
        snprintf(sim.provider.cursed, sizeof(sim.provider.cursed), "gpu-2");
    sim_ask_cluster(&sim, provisioning, groups, 2);
    sim_run(&sim, after_ms);
    assert_int_equal(sim_delete(&sim), 0);
    sim_until_is(&sim, sim_cluster_gone, NULL, 5 * MS_PER_HOUR, "the cluster is gone");
    assert_int_equal(sim_machines(&sim), 0);
    sim.provider.cursed[0] = '\0';
    sim_ask_cluster(&sim, provisioning, groups, 2);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
    sim_close(&sim);
}

static void a_cluster_is_deleted_whatever_it_is_doing(void **state)
{
    static const int64_t times[] = {0, 2 * MS_PER_S, 40 * MS_PER_S, 20 * MS_PER_MIN};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        for (int curse = 0; curse < 2; curse++) {
            delete_in(PROVISIONING_CONTINUOUS, curse != 0, times[i]);
            delete_in(PROVISIONING_ALL_OR_NOTHING, curse != 0, times[i]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_comes_into_service_with_its_cluster),
        cmocka_unit_test(one_bad_node_does_not_keep_the_others),
        cmocka_unit_test(another_try_leaves_no_machine_behind),
        cmocka_unit_test(a_minimum_is_enough),
        cmocka_unit_test(a_minimum_that_does_not_come_takes_a_new_group_to_nothing),
        cmocka_unit_test(a_minimum_that_does_not_come_takes_an_old_group_back),
        cmocka_unit_test(a_group_grows_and_shrinks),
        cmocka_unit_test(a_group_does_not_shrink_blindly),
        cmocka_unit_test(what_never_came_up_goes_first),
        cmocka_unit_test(a_group_is_added_and_deleted),
        cmocka_unit_test(a_creation_that_fails_leaves_nothing),
        cmocka_unit_test(an_update_that_fails_is_taken_back),
        cmocka_unit_test(a_cluster_is_deleted_whatever_it_is_doing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
