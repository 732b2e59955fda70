/* Stories of groups that are changed while something of an earlier change is left. */
#include "server/service/cluster/cluster.h"
#include "tests/sim/sim_cluster.h"

#define OFF_THE_BUS 79

static struct instance_group group_of(struct sim *sim, const char *name)
{
    struct instance_group group = {0};
    assert_true(sim_group(sim, name, &group));
    return group;
}

static int remove_one(struct sim *sim, const char *node)
{
    struct operation operation;
    struct problem problem = {0};
    return service_node_remove(&sim->service, &sim_admin, SIM_CLUSTER, node, URGENCY_AFTER_JOBS, "", &operation,
                               &problem);
}

static int scale_to(struct sim *sim, char **names, int64_t count)
{
    struct service_group_spec group = sim_spec("gpu", count, 0);
    group.node_names = names;
    return sim_change(sim, &group, 1, NULL);
}

static void open_whole(struct sim *sim, uint64_t seed, int64_t count)
{
    struct service_group_spec gpu = sim_spec("gpu", count, 0);
    sim_open(sim, seed, true);
    sim_ask_cluster(sim, PROVISIONING_ALL_OR_NOTHING, &gpu, 1);
    sim_until_cluster(sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
}

/* --- groups ------------------------------------------------------------------------------------ */
static void a_failed_group_is_filled_without_a_minimum(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 121, true);
    struct service_group_spec groups[] = {sim_spec("cpu", 1, 0), sim_spec("gpu", 3, 3)};
    snprintf(sim.provider.cursed, sizeof(sim.provider.cursed), "gpu-1");
    sim_ask_cluster(&sim, PROVISIONING_CONTINUOUS, groups, 2);
    sim_until_group(&sim, "gpu", GROUP_STATE_FAILED, 0, 4 * MS_PER_HOUR);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_MIN);
    sim_run(&sim, MS_PER_MIN); /* so that their names are free again */
    assert_int_equal(sim_scale(&sim, "gpu", 2, 0), 0);
    sim_until_group(&sim, "gpu", GROUP_STATE_DEGRADED, 2, MS_PER_HOUR);
    sim.provider.cursed[0] = '\0'; /* what failed is tried again, as in any group */
    sim_until_group(&sim, "gpu", GROUP_STATE_IN_SERVICE, 2, MS_PER_HOUR);
    assert_string_equal(group_of(&sim, "gpu").failure, "");
    sim_close(&sim);
}

/* The new node has the lower number. */
static void going_back_takes_those_that_came_last(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 122, true);
    sim_create(&sim, 3, NODE_RECOVERY_AUTOMATIC);
    sim_schedule(&sim, "gpu", 8);
    assert_int_equal(remove_one(&sim, "gpu-2"), 0);
    sim_run(&sim, 5 * MS_PER_MIN);
    assert_false(sim_has_node(&sim, "gpu-2"));
    snprintf(sim.provider.cursed, sizeof(sim.provider.cursed), "gpu-4");
    assert_int_equal(sim_scale(&sim, "gpu", 4, 4), 0);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_state(&sim, "gpu-2"), NODE_STATE_READY);
    sim_until_group(&sim, "gpu", GROUP_STATE_IN_SERVICE, 2, 3 * MS_PER_HOUR);
    assert_true(sim_has_node(&sim, "gpu-1") && sim_has_node(&sim, "gpu-3"));
    sim_close(&sim);
}

static void a_group_that_is_deleted_in_vain_stays(void **state)
{
    struct sim sim;
    struct instance_group gone;
    struct service_group_spec groups[] = {sim_spec("cpu", 1, 0), sim_spec("gpu", 2, 0)}, fresh = sim_spec("new", 1, 0);
    (void)state;
    sim_open(&sim, 123, true);
    sim_ask_cluster(&sim, PROVISIONING_ALL_OR_NOTHING, groups, 2);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
    sim_schedule(&sim, "new", 2);
    snprintf(sim.provider.cursed, sizeof(sim.provider.cursed), "new-1");
    assert_int_equal(sim_change(&sim, &fresh, 1, "gpu"), 0);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_CLUSTER_UPDATED, "goes back to what it was"), 1);
    sim_crash(&sim);
    sim_run(&sim, MS_PER_HOUR);
    assert_false(sim_group(&sim, "new", &gone));
    assert_int_equal(group_of(&sim, "gpu").state, GROUP_STATE_IN_SERVICE);
    assert_int_equal(group_of(&sim, "gpu").desired, 2);
    assert_int_equal(sim_group_count(&sim, "gpu", NODE_STATE_READY), 2);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_SCHEDULER_MARK, NULL), 0);
    sim.provider.cursed[0] = '\0';
    assert_int_equal(sim_change(&sim, &fresh, 1, "gpu"), 0);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
    assert_false(sim_group(&sim, "gpu", &gone));
    assert_int_equal(sim_machines(&sim), 2);
    sim_close(&sim);
}

/* --- faults before service --------------------------------------------------------------------- */
static void open_faulty(struct sim *sim, uint64_t seed, enum provisioning provisioning)
{
    struct service_group_spec gpu = sim_spec("gpu", 2, 0);
    struct service_cluster_spec spec = {.name = SIM_CLUSTER,
                                        .recovery = NODE_RECOVERY_NONE,
                                        .groups = &gpu,
                                        .group_count = 1,
                                        .provisioning = provisioning,
                                        .orchestrator = ORCHESTRATOR_SLURM};
    struct cluster cluster;
    struct problem problem = {0};
    sim_open(sim, seed, true);
    sim_schedule(sim, "gpu", 2);
    assert_int_equal(service_cluster_create(&sim->service, &sim_admin, &spec, &cluster, &problem), 0);
    sim_until(sim, "gpu-1", NODE_STATE_VERIFYING, MS_PER_HOUR);
    sim_verdict(sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
}

static void a_node_that_waits_for_a_person_keeps_no_other(void **state)
{
    struct sim sim;
    (void)state;
    open_faulty(&sim, 127, PROVISIONING_CONTINUOUS);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
    sim_crash(&sim);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(group_of(&sim, "gpu").state, GROUP_STATE_DEGRADED);
    assert_non_null(strstr(group_of(&sim, "gpu").failure, "gpu-1 could not be provisioned"));
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    const struct service_cluster_change automatic = {.has_recovery = true, .recovery = NODE_RECOVERY_AUTOMATIC};
    struct cluster cluster;
    struct problem problem = {0};
    assert_int_equal(service_cluster_update(&sim.service, &sim_admin, SIM_CLUSTER, &automatic, &cluster, &problem), 0);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    sim_until_group(&sim, "gpu", GROUP_STATE_IN_SERVICE, 2, MS_PER_MIN);
    sim_close(&sim);
}

static void a_creation_does_not_wait_for_a_person(void **state)
{
    struct sim sim;
    struct cluster cluster;
    (void)state;
    open_faulty(&sim, 128, PROVISIONING_ALL_OR_NOTHING);
    sim_until_cluster(&sim, CLUSTER_STATE_FAILED, MS_PER_HOUR);
    assert_true(sim_has_cluster(&sim, &cluster));
    assert_non_null(strstr(cluster.failure, "gpu-1 could not be provisioned"));
    assert_int_equal(sim_machines(&sim), 0);
    sim_close(&sim);
}

/* --- names ------------------------------------------------------------------------------------- */
static void a_name_that_is_on_its_way_out_is_not_there(void **state)
{
    char one[] = "gpu-1", two[] = "gpu-2", *names[] = {one, two};
    struct sim sim;
    (void)state;
    open_whole(&sim, 124, 2);
    fake_scheduler_find(&sim.scheduler, "gpu-2")->jobs = 1;
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(remove_one(&sim, "gpu-2"), 0);
    assert_int_equal(scale_to(&sim, names, 2), STATUS_CONFLICT);
    fake_scheduler_find(&sim.scheduler, "gpu-2")->jobs = 0;
    sim_run(&sim, 5 * MS_PER_MIN);
    assert_int_equal(scale_to(&sim, names, 2), 0);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
    assert_int_equal(sim_state(&sim, "gpu-2"), NODE_STATE_READY);
    sim_close(&sim);
}

/* All or nothing: what was there would be gone when what was to come does not. */
static void names_do_not_change_places_in_one_update(void **state)
{
    char one[] = "gpu-1", other[] = "gpu-7", *names[] = {one, other};
    struct service_group_spec more = sim_spec("new", 1, 0);
    struct sim sim;
    (void)state;
    open_whole(&sim, 125, 2);
    assert_int_equal(scale_to(&sim, names, 2), STATUS_INVALID);
    struct service_group_spec both[] = {sim_spec("gpu", 1, 0), more};
    both[0].node_names = names;
    assert_int_equal(sim_change(&sim, both, 2, NULL), STATUS_INVALID);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_group_count(&sim, "gpu", NODE_STATE_READY), 2);
    assert_int_equal(scale_to(&sim, names, 1), 0);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
    sim_run(&sim, 5 * MS_PER_MIN);
    fake_scheduler_add(&sim.scheduler, other);
    assert_int_equal(scale_to(&sim, names, 2), 0);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
    assert_int_equal(sim_state(&sim, "gpu-7"), NODE_STATE_READY);
    assert_false(sim_has_node(&sim, "gpu-2"));
    sim_close(&sim);
}

/* Wakes that come after the loop's next turns. */
struct late {
    void (*wake)(void *arg, enum service_wake what, int64_t id);
    void *arg;
    enum service_wake what[8];
    int64_t id[8];
    size_t count;
};

static void come_late(void *arg, enum service_wake what, int64_t id)
{
    struct late *late = arg;
    assert_true(late->count < ARRAY_LEN(late->what));
    late->what[late->count] = what;
    late->id[late->count++] = id;
}

/* A change that the loop has not heard of yet, while one of the nodes it knows has still to go. */
static void nobody_goes_by_what_was_wanted_before(void **state)
{
    char one[] = "gpu-1", other[] = "gpu-7", *names[] = {one, other};
    struct sim sim;
    (void)state;
    sim_open(&sim, 126, true);
    sim_create(&sim, 3, NODE_RECOVERY_AUTOMATIC);
    fake_scheduler_add(&sim.scheduler, other);
    fake_scheduler_find(&sim.scheduler, "gpu-2")->jobs = fake_scheduler_find(&sim.scheduler, "gpu-3")->jobs = 1;
    sim.scheduler.down = true;
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_scale(&sim, "gpu", 2, 0), 0);
    sim_run(&sim, MS_PER_MIN);
    struct late late = {.wake = sim.service.wake, .arg = sim.service.wake_arg};
    sim.service.wake = come_late;
    sim.service.wake_arg = &late;
    assert_int_equal(scale_to(&sim, names, 2), 0);
    sim.service.wake = late.wake;
    sim.service.wake_arg = late.arg;
    sim.scheduler.down = false;
    sim_run(&sim, MS_PER_MIN);
    assert_true(late.count > 0);
    for (size_t i = 0; i < late.count; i++)
        late.wake(late.arg, late.what[i], late.id[i]);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    assert_int_equal(sim_state(&sim, "gpu-7"), NODE_STATE_READY);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_group_is_filled_without_a_minimum),
        cmocka_unit_test(going_back_takes_those_that_came_last),
        cmocka_unit_test(a_group_that_is_deleted_in_vain_stays),
        cmocka_unit_test(a_node_that_waits_for_a_person_keeps_no_other),
        cmocka_unit_test(a_creation_does_not_wait_for_a_person),
        cmocka_unit_test(a_name_that_is_on_its_way_out_is_not_there),
        cmocka_unit_test(names_do_not_change_places_in_one_update),
        cmocka_unit_test(nobody_goes_by_what_was_wanted_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
