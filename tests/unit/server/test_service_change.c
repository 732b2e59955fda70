/* Clusters that are changed: groups that grow, shrink, come and go, what may not be changed and when, and what a roll-back needs. */
#include "change_world.h"

static struct world world;

static void open_with(enum provisioning provisioning, int64_t count)
{
    struct service_group_spec groups[] = {a_spec("a", count), a_spec("b", 1)};
    world_open(&world, DB_INLINE);
    change_world_create(&world, provisioning, groups, ARRAY_LEN(groups));
}

static int teardown(void **state)
{
    (void)state;
    world_close(&world);
    return 0;
}

static int continuous(void **state)
{
    (void)state;
    open_with(PROVISIONING_CONTINUOUS, 2);
    change_world_state_set(&world, CLUSTER_STATE_IN_SERVICE);
    return 0;
}

static int whole(void **state)
{
    (void)state;
    open_with(PROVISIONING_ALL_OR_NOTHING, 2);
    change_world_state_set(&world, CLUSTER_STATE_IN_SERVICE);
    change_world_group_set(&world, "a", GROUP_STATE_IN_SERVICE);
    return 0;
}

static int change(const struct service_cluster_change *wanted)
{
    struct cluster cluster;
    return service_cluster_update(&world.service, &world_operator, "ml", wanted, &cluster, &world.problem);
}

static int change_group(struct service_group_spec spec)
{
    return change(&(struct service_cluster_change){.groups = &spec, .group_count = 1});
}

#define assert_refused(expr, status, problem_code) \
    do {                                           \
        assert_int_equal(expr, status);            \
        assert_problem(&world, problem_code);      \
    } while (0)

/* --- sizes ------------------------------------------------------------------------------------------- */

static void test_a_group_grows_at_once_and_shrinks_by_the_loop(void **state)
{
    (void)state;
    assert_int_equal(change_group(a_spec("a", 4)), 0);
    assert_nodes(&world, "a-1 a-2 a-3 a-4 b-1");
    assert_int_equal(change_world_group(&world, "a").desired, 4);
    assert_int_equal(change_world_group(&world, "b").desired, 1);
    assert_int_equal(change_group(a_spec("a", 4)), 0); /* again: nothing more */
    assert_nodes(&world, "a-1 a-2 a-3 a-4 b-1");
    assert_int_equal(change_group(a_spec("a", 1)), 0);
    assert_nodes(&world, "a-1 a-2 a-3 a-4 b-1"); /* the loop knows who is at work */
    assert_int_equal(change_world_group(&world, "a").desired, 1);
    assert_int_equal(change_group(a_spec("a", 5)), 0); /* those that were too many count again */
    assert_nodes(&world, "a-1 a-2 a-3 a-4 a-5 b-1");
    assert_true(world.wakes > 0);
}

static void test_slots_on_their_way_out_do_not_count(void **state)
{
    struct operation operation;
    (void)state;
    assert_int_equal(
        service_node_remove(&world.service, &world_operator, "ml", "a-1", URGENCY_NOW, "", &operation, &world.problem),
        0);
    assert_int_equal(change_group(a_spec("a", 2)), 0);
    assert_nodes(&world, "a-2 a-3 b-1");
}

static void test_names_make_the_slots_exactly_those(void **state)
{
    char one[] = "a-2", other[] = "gpu-07";
    char *names[] = {one, other};
    struct service_group_spec spec = a_spec("a", 2);
    (void)state;
    spec.node_names = names;
    assert_int_equal(change_group(spec), 0);
    assert_nodes(&world, "a-2 b-1 gpu-07");
    assert_int_equal(world_node_get(&world, "ml", "a-1").state, NODE_STATE_DELETING);
    assert_int_equal(change_group(spec), 0); /* again */
    assert_nodes(&world, "a-2 b-1 gpu-07");
    assert_int_equal(change_group(a_spec("a", 3)), 0); /* and numbers go on as the last is called */
    assert_nodes(&world, "a-2 b-1 gpu-01 gpu-07");
    char taken[] = "b-1";
    char *clash[] = {one, taken};
    spec.node_names = clash;
    assert_refused(change_group(spec), STATUS_CONFLICT, PROBLEM_CONFLICT);
    assert_nodes(&world, "a-2 b-1 gpu-01 gpu-07"); /* all or nothing of it */
}

static void test_new_groups_and_groups_that_go(void **state)
{
    static const char *const gone[] = {"b"};
    struct service_group_spec fresh = a_spec("c", 2);
    struct event last;
    (void)state;
    assert_int_equal(change(&(struct service_cluster_change){
                         .groups = &fresh, .group_count = 1, .groups_to_delete = gone, .delete_count = 1}),
                     0);
    assert_nodes(&world, "a-1 a-2 b-1 c-1 c-2");
    assert_int_equal(change_world_group(&world, "b").state, GROUP_STATE_DELETING);
    assert_int_equal(change_world_group(&world, "b").desired, 0);
    assert_int_equal(change_world_group(&world, "c").state, GROUP_STATE_CREATING);
    assert_string_equal(change_world_group(&world, "c").provider, "local");
    assert_true(world_events(&world, EVENT_KIND_CLUSTER_UPDATED, &last) == 1);
    assert_non_null(strstr(last.message, "the group b with 1 node goes, the new group c with 2 nodes"));
    assert_refused(change_group(a_spec("b", 2)), STATUS_CONFLICT, PROBLEM_CONFLICT); /* while it goes */
    struct service_group_spec both = a_spec("b", 1);
    assert_refused(change(&(struct service_cluster_change){
                       .groups = &both, .group_count = 1, .groups_to_delete = gone, .delete_count = 1}),
                   STATUS_INVALID, PROBLEM_INVALID_VALUE);
}

/* --- what may not be --------------------------------------------------------------------------------- */

static void test_changes_that_are_refused(void **state)
{
    static const char *const none[] = {"none"};
    struct service_group_spec twice[] = {a_spec("a", 1), a_spec("a", 2)};
    struct service_group_spec typed = a_spec("a", 2), sourced = a_spec("a", 2), minimum = a_spec("a", 2);
    (void)state;
    assert_refused(change(&(struct service_cluster_change){.groups = twice, .group_count = 2}), STATUS_INVALID,
                   PROBLEM_INVALID_VALUE);
    assert_refused(change(&(struct service_cluster_change){.groups_to_delete = none, .delete_count = 1}),
                   STATUS_INVALID, PROBLEM_INVALID_VALUE);
    snprintf(typed.instance_type, sizeof(typed.instance_type), "ml.p5.48xlarge");
    assert_int_equal(change_group(typed), 0); /* nobody had said it before */
    snprintf(typed.instance_type, sizeof(typed.instance_type), "ml.c5.large");
    assert_refused(change_group(typed), STATUS_INVALID, PROBLEM_INVALID_VALUE);
    snprintf(sourced.provider, sizeof(sourced.provider), "manual");
    assert_refused(change_group(sourced), STATUS_INVALID, PROBLEM_INVALID_VALUE);
    minimum.min_count = 3;
    assert_refused(change_group(minimum), STATUS_INVALID, PROBLEM_INVALID_VALUE);
    assert_refused(change_group(a_spec("a", -1)), STATUS_INVALID, PROBLEM_INVALID_VALUE);
    assert_refused(change_group(a_spec("a b", 1)), STATUS_INVALID, PROBLEM_INVALID_VALUE);
    assert_refused(change_group(a_spec("a", GROUP_NODES_MAX_LOCAL + 1)), STATUS_INVALID, PROBLEM_INVALID_VALUE);
    assert_refused(change(&(struct service_cluster_change){.has_recovery = true, .if_revision = 999}), STATUS_CONFLICT,
                   PROBLEM_PRECONDITION_FAILED);
    change_world_group_set(&world, "a", GROUP_STATE_SYSTEM_UPDATING);
    assert_refused(change_group(a_spec("a", 3)), STATUS_CONFLICT, PROBLEM_CONFLICT);
    struct cluster cluster;
    assert_refused(service_cluster_update(&world.service, &world_viewer, "ml", &(struct service_cluster_change){0},
                                          &cluster, &world.problem),
                   STATUS_DENIED, PROBLEM_FORBIDDEN);
    assert_nodes(&world, "a-1 a-2 b-1");
}

static void test_a_role_in_slurm_stays(void **state)
{
    struct service_group_spec spec = a_spec("c", 0);
    (void)state;
    spec.spec = group_spec_of("{\"slurm\":{\"role\":\"login\"}}");
    assert_int_equal(change_group(spec), 0);
    assert_int_equal(change_group(spec), 0);
    spec.spec = group_spec_of("{\"slurm\":{\"role\":\"controller\"}}");
    assert_refused(change_group(spec), STATUS_INVALID, PROBLEM_INVALID_VALUE);
    spec.spec = group_spec_of("{\"executionRole\":\"r\"}");
    assert_refused(change_group(spec), STATUS_INVALID, PROBLEM_INVALID_VALUE);
}

/* HyperPod's words, with what stands in the store counted. */
static void test_what_groups_are_to_slurm_together(void **state)
{
    static const struct {
        const char *name, *config, *said;
    } cases[] = {
        {"head", "{\"slurm\":{\"role\":\"controller\"}}", NULL},
        {"head2", "{\"slurm\":{\"role\":\"controller\"}}",
         "2 Controller Groups found: SlurmConfig for InstanceGroups may only have one Controller Group."},
        {"API", "{\"slurm\":{\"role\":\"login\"}}", NULL},
        {"login2", "{\"slurm\":{\"role\":\"login\"}}", "2 Login Groups found"},
        {"API", "{\"slurm\":{\"role\":\"login\",\"partitions\":[\"x\"]}}",
         "Partitions can only be assigned to Compute node types"},
        {"gpu", "{\"slurm\":{\"role\":\"compute\",\"partitions\":[\"train\"]}}", NULL},
        {"gpu2", "{\"slurm\":{\"role\":\"compute\",\"partitions\":[\"Default\"]}}", "neither DEFAULT nor ALL"},
        {"gpu2", "{\"slurm\":{\"role\":\"compute\",\"partitions\":[\"\"]}}", "1 to 63 letters"},
        {"gpu2", "{\"slurm\":{\"role\":\"compute\",\"partitions\":[\"a b\"]}}", "1 to 63 letters"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct service_group_spec spec = a_spec(cases[i].name, 0);
        spec.spec = group_spec_of(cases[i].config);
        if (cases[i].said == NULL) {
            assert_int_equal(change_group(spec), 0);
            continue;
        }
        assert_refused(change_group(spec), STATUS_INVALID, PROBLEM_INVALID_VALUE);
        assert_non_null(strstr(world.problem.detail, cases[i].said));
    }
}

/* Refused before the first of its slots is made. */
static void test_changes_that_make_it_too_large(void **state)
{
    struct instance_group large = change_world_group(&world, "b");
    (void)state;
    large.desired = GROUP_NODES_MAX_LOCAL - 3;
    world_write(&world, change_world_group_write, &large);
    assert_refused(change_group(a_spec("a", 4)), STATUS_INVALID, PROBLEM_LIMIT_EXCEEDED);
    assert_refused(change_group(a_spec("c", 2)), STATUS_INVALID, PROBLEM_LIMIT_EXCEEDED);
    assert_nodes(&world, "a-1 a-2 b-1");
    assert_int_equal(change_group(a_spec("a", 3)), 0);
    struct service_cluster_spec slurm = {.name = "slurm", .orchestrator = ORCHESTRATOR_SLURM, .group_count = 1};
    struct service_group_spec group = a_spec("s", 1), more = a_spec("s", GROUP_NODES_MAX + 1);
    struct service_cluster_change wanted = {.groups = &more, .group_count = 1};
    struct cluster cluster;
    slurm.groups = &group;
    assert_int_equal(service_cluster_create(&world.service, &world_admin, &slurm, &cluster, &world.problem), 0);
    assert_refused(service_cluster_update(&world.service, &world_operator, "slurm", &wanted, &cluster, &world.problem),
                   STATUS_INVALID, PROBLEM_LIMIT_EXCEEDED);
}

static void test_states_that_allow_a_change(void **state)
{
    static const struct {
        enum provisioning provisioning;
        enum cluster_state state;
        bool groups, words;
    } table[] = {
        {PROVISIONING_CONTINUOUS, CLUSTER_STATE_CREATING, true, true},
        {PROVISIONING_CONTINUOUS, CLUSTER_STATE_IN_SERVICE, true, true},
        {PROVISIONING_CONTINUOUS, CLUSTER_STATE_SYSTEM_UPDATING, false, true},
        {PROVISIONING_CONTINUOUS, CLUSTER_STATE_FAILED, false, true},
        {PROVISIONING_CONTINUOUS, CLUSTER_STATE_DELETING, false, false},
        {PROVISIONING_ALL_OR_NOTHING, CLUSTER_STATE_CREATING, false, true},
        {PROVISIONING_ALL_OR_NOTHING, CLUSTER_STATE_IN_SERVICE, true, true},
        {PROVISIONING_ALL_OR_NOTHING, CLUSTER_STATE_UPDATING, false, true},
        {PROVISIONING_ALL_OR_NOTHING, CLUSTER_STATE_ROLLING_BACK, false, true},
        {PROVISIONING_ALL_OR_NOTHING, CLUSTER_STATE_DELETING, false, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        open_with(table[i].provisioning, 2);
        change_world_state_set(&world, table[i].state);
        const struct service_cluster_change words = {.has_recovery = true, .recovery = NODE_RECOVERY_NONE};
        assert_int_equal(change(&words), table[i].words ? 0 : STATUS_CONFLICT);
        assert_int_equal(change_group(a_spec("a", 3)), table[i].groups ? 0 : STATUS_CONFLICT);
        world_close(&world);
    }
}

/* --- what a roll-back needs -------------------------------------------------------------------------- */

static void test_all_or_nothing_remembers_what_stood_before(void **state)
{
    (void)state;
    assert_int_equal(change_group(a_spec("a", 4)), 0);
    struct instance_group group = change_world_group(&world, "a");
    assert_int_equal(group.previous_desired, 2);
    assert_int_equal(group.state, GROUP_STATE_UPDATING);
    assert_int_equal(change_world_group(&world, "b").previous_desired, -1);
    struct service_cluster_view view = change_world_view(&world);
    assert_int_equal(view.cluster.state, CLUSTER_STATE_UPDATING);
    service_cluster_view_free(&view);
}

static void test_a_new_group_goes_back_to_nothing(void **state)
{
    struct service_group_spec fresh = a_spec("c", 1);
    (void)state;
    assert_int_equal(change_group(fresh), 0);
    assert_int_equal(change_world_group(&world, "c").previous_desired, 0);
}

static void test_continuous_remembers_only_for_a_minimum(void **state)
{
    struct service_group_spec minimum = a_spec("b", 3);
    (void)state;
    change_world_group_set(&world, "a", GROUP_STATE_IN_SERVICE);
    change_world_group_set(&world, "b", GROUP_STATE_IN_SERVICE);
    assert_int_equal(change_group(a_spec("a", 4)), 0);
    assert_int_equal(change_world_group(&world, "a").previous_desired, -1);
    assert_int_equal(change_world_group(&world, "a").state, GROUP_STATE_IN_SERVICE);
    minimum.min_count = 2;
    assert_int_equal(change_group(minimum), 0);
    assert_int_equal(change_world_group(&world, "b").previous_desired, 1);
    assert_int_equal(change_world_group(&world, "b").state, GROUP_STATE_UPDATING);
}

/* --- what is asked for ------------------------------------------------------------------------------- */

static void assert_specs(const char *cluster, const char *group)
{
    struct service_cluster_view view = change_world_view(&world);
    autofree char *of_cluster = cluster_spec_write(&view.spec), *of_group = group_spec_write(&view.groups[0].spec);
    assert_string_equal(of_cluster, cluster);
    assert_string_equal(of_group, group);
    service_cluster_view_free(&view);
}

static void test_what_is_asked_for_is_kept(void **state)
{
    struct service_group_spec spec = a_spec("a", 2);
    (void)state;
    assert_specs("{}", "{}");
    spec.spec = group_spec_of("{\"threadsPerCore\":1}");
    assert_int_equal(change(&(struct service_cluster_change){
                         .groups = &spec,
                         .group_count = 1,
                         .spec = cluster_spec_of("{\"role\":\"r\",\"network\":{\"subnets\":[\"a\"]}}"),
                         .notice = "ThreadsPerCore"}),
                     0);
    assert_specs("{\"network\":{\"subnets\":[\"a\"]},\"role\":\"r\"}", "{\"threadsPerCore\":1}");
    struct event last;
    assert_int_equal(world_events(&world, EVENT_KIND_CLUSTER_UPDATED, &last), 2);
    assert_true(last.level == EVENT_LEVEL_WARN && strstr(last.message, "no effect here: ThreadsPerCore") != NULL);
    spec.spec = group_spec_of("{\"executionRole\":\"x\"}"); /* of a group the whole, of a cluster what changes */
    assert_int_equal(
        change(&(struct service_cluster_change){
            .groups = &spec, .group_count = 1, .spec = cluster_spec_of("{\"network\":{\"subnets\":[\"b\"]}}")}),
        0);
    assert_specs("{\"network\":{\"subnets\":[\"b\"]},\"role\":\"r\"}", "{\"executionRole\":\"x\"}");
    spec.spec = group_spec_of("{\"threadsPerCore\":2}");
    spec.instance_count = spec.min_count = -1; /* stays */
    assert_int_equal(change(&(struct service_cluster_change){.groups = &spec, .group_count = 1, .merge = true}), 0);
    assert_specs("{\"network\":{\"subnets\":[\"b\"]},\"role\":\"r\"}",
                 "{\"executionRole\":\"x\",\"threadsPerCore\":2}");
    assert_int_equal(change_world_group(&world, "a").desired, 2);
}

int main(void)
{
#define TEST(setup, name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(continuous, test_a_group_grows_at_once_and_shrinks_by_the_loop),
        TEST(continuous, test_slots_on_their_way_out_do_not_count),
        TEST(continuous, test_names_make_the_slots_exactly_those),
        TEST(continuous, test_new_groups_and_groups_that_go),
        TEST(continuous, test_changes_that_are_refused),
        TEST(continuous, test_a_role_in_slurm_stays),
        TEST(continuous, test_what_groups_are_to_slurm_together),
        TEST(continuous, test_changes_that_make_it_too_large),
        cmocka_unit_test(test_states_that_allow_a_change),
        TEST(whole, test_all_or_nothing_remembers_what_stood_before),
        TEST(whole, test_a_new_group_goes_back_to_nothing),
        TEST(continuous, test_continuous_remembers_only_for_a_minimum),
        TEST(continuous, test_what_is_asked_for_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
