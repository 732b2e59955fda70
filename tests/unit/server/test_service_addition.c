/* Nodes one by one: more for some groups under a client's token, and fewer for good. */
#include "change_world.h"

static struct world world;
static struct service_addition_result result;

static int setup(void **state)
{
    struct service_group_spec groups[] = {a_spec("a", 2), a_spec("b", 1)};
    (void)state;
    world_open(&world, DB_INLINE);
    snprintf(groups[1].instance_type, sizeof(groups[1].instance_type), "ml.p5.48xlarge");
    change_world_create(&world, PROVISIONING_CONTINUOUS, groups, ARRAY_LEN(groups));
    change_world_state_set(&world, CLUSTER_STATE_IN_SERVICE);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    service_addition_result_free(&result);
    result = (struct service_addition_result){.nodes = NULL};
    world_close(&world);
    return 0;
}

static struct service_addition an_addition(const char *group, int64_t count)
{
    struct service_addition addition = {.count = count};
    snprintf(addition.group, sizeof(addition.group), "%s", group);
    return addition;
}

static int add(const char *token, const struct service_addition *items, size_t count)
{
    service_addition_result_free(&result);
    result = (struct service_addition_result){.nodes = NULL};
    return service_nodes_add(&world.service, &world_operator, "ml", token, items, count, &result, &world.problem);
}

static int add_one(const char *token, struct service_addition item)
{
    return add(token, &item, 1);
}

#define assert_refused(expr, status, problem_code) \
    do {                                           \
        assert_int_equal(expr, status);            \
        assert_problem(&world, problem_code);      \
    } while (0)

/* --- more -------------------------------------------------------------------------------------------- */

static void test_each_item_has_its_own_answer(void **state)
{
    static const char *const zones[] = {"hp-local-1a"}, *const types[] = {"ml.c5.large"},
                             *const right[] = {"ml.c5.large", "ml.p5.48xlarge"};
    struct service_addition items[] = {an_addition("a", 2), an_addition("none", 1), an_addition("a", 1),
                                       an_addition("b", 1), an_addition("b", 1)};
    (void)state;
    items[2].zones = zones;
    items[2].zone_count = 1;
    items[3].instance_types = types;
    items[3].type_count = 1;
    items[4].instance_types = right;
    items[4].type_count = 2;
    assert_int_equal(add("", items, ARRAY_LEN(items)), 0);
    assert_int_equal(result.node_count, 3);
    assert_string_equal(result.nodes[0].node, "a-3");
    assert_string_equal(result.nodes[1].node, "a-4");
    assert_string_equal(result.nodes[2].node, "b-2");
    assert_string_equal(result.nodes[2].instance_type, "ml.p5.48xlarge");
    static const enum addition_error errors[] = {ADDITION_ERROR_NONE, ADDITION_ERROR_GROUP_NOT_FOUND,
                                                 ADDITION_ERROR_ZONES, ADDITION_ERROR_INSTANCE_TYPES,
                                                 ADDITION_ERROR_NONE};
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        assert_int_equal(result.refused[i].error, errors[i]);
        assert_int_equal(result.refused[i].why[0] != '\0', errors[i] != ADDITION_ERROR_NONE);
    }
    assert_int_equal(change_world_group(&world, "a").desired, 4);
    assert_int_equal(change_world_group(&world, "b").desired, 2);
    assert_nodes(&world, "a-1 a-2 a-3 a-4 b-1 b-2");
}

static void test_states_of_groups_that_take_no_more(void **state)
{
    static const enum group_state states[] = {GROUP_STATE_DELETING, GROUP_STATE_SYSTEM_UPDATING, GROUP_STATE_FAILED};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        change_world_group_set(&world, "a", states[i]);
        assert_int_equal(add_one("", an_addition("a", 1)), 0);
        assert_int_equal(result.node_count, 0);
        assert_int_equal(result.refused[0].error, ADDITION_ERROR_GROUP_STATE);
    }
    assert_nodes(&world, "a-1 a-2 b-1");
}

static void test_additions_that_are_refused(void **state)
{
    const struct service_addition many[] = {an_addition("a", 26), an_addition("b", 25)};
    const struct service_addition crowd[6] = {an_addition("a", 1), an_addition("a", 1), an_addition("a", 1),
                                              an_addition("a", 1), an_addition("a", 1), an_addition("a", 1)};
    (void)state;
    assert_refused(add("", many, 2), STATUS_INVALID, PROBLEM_LIMIT_EXCEEDED);
    assert_refused(add("", crowd, 6), STATUS_INVALID, PROBLEM_INVALID_VALUE);
    assert_refused(add("", many, 0), STATUS_INVALID, PROBLEM_INVALID_VALUE);
    assert_refused(add_one("", an_addition("a", 0)), STATUS_INVALID, PROBLEM_INVALID_VALUE);
    assert_refused(add_one("", an_addition("a", 51)), STATUS_INVALID, PROBLEM_INVALID_VALUE);
    change_world_state_set(&world, CLUSTER_STATE_DELETING);
    assert_refused(add_one("", an_addition("a", 1)), STATUS_CONFLICT, PROBLEM_CONFLICT);
    assert_nodes(&world, "a-1 a-2 b-1");
}

static void test_additions_that_make_it_too_large(void **state)
{
    struct instance_group large = change_world_group(&world, "b");
    (void)state;
    large.desired = GROUP_NODES_MAX_LOCAL - 3;
    world_write(&world, change_world_group_write, &large);
    assert_refused(add_one("", an_addition("a", 2)), STATUS_INVALID, PROBLEM_LIMIT_EXCEEDED);
    assert_nodes(&world, "a-1 a-2 b-1");
    assert_int_equal(add_one("", an_addition("a", 1)), 0);
}

static void test_all_or_nothing_takes_none(void **state)
{
    struct service_group_spec group = a_spec("a", 1);
    (void)state;
    world_open(&world, DB_INLINE);
    change_world_create(&world, PROVISIONING_ALL_OR_NOTHING, &group, 1);
    assert_refused(add_one("", an_addition("a", 1)), STATUS_INVALID, PROBLEM_INVALID_VALUE);
    teardown(NULL);
}

/* --- the same again ---------------------------------------------------------------------------------- */

static void test_the_same_token_gives_the_same_slots(void **state)
{
    struct operation operation;
    struct service_addition two[] = {an_addition("a", 2), an_addition("none", 1)};
    (void)state;
    assert_int_equal(add("once", two, 2), 0);
    assert_int_equal(result.node_count, 2);
    world_ready(&world, "ml", "a-3", "i-3", NULL);
    assert_int_equal(add("once", two, 2), 0);
    assert_int_equal(result.node_count, 2);
    assert_string_equal(result.nodes[0].node, "a-3");
    assert_int_equal(result.nodes[0].row.state, NODE_STATE_READY); /* as it is now */
    assert_string_equal(result.nodes[0].instance.instance_id, "i-3");
    assert_int_equal(result.nodes[1].row.state, NODE_STATE_PENDING);
    assert_int_equal(result.refused[1].error, ADDITION_ERROR_GROUP_NOT_FOUND);
    assert_nodes(&world, "a-1 a-2 a-3 a-4 b-1");
    assert_refused(add_one("once", an_addition("a", 2)), STATUS_CONFLICT, PROBLEM_KEY_REUSED);
    assert_int_equal(add_one("other", an_addition("b", 1)), 0);
    assert_nodes(&world, "a-1 a-2 a-3 a-4 b-1 b-2");
    assert_int_equal(
        service_node_remove(&world.service, &world_operator, "ml", "a-4", URGENCY_NOW, "", &operation, &world.problem),
        0);
    assert_int_equal(add("once", two, 2), 0); /* what was taken away does not come again */
    assert_int_equal(result.nodes[1].row.state, NODE_STATE_DELETING);
    assert_nodes(&world, "a-1 a-2 a-3 b-1 b-2");
}

static void test_a_token_is_forgotten_after_eight_hours(void **state)
{
    (void)state;
    assert_int_equal(add_one("once", an_addition("a", 1)), 0);
    clock_fake_advance(&world.clock, SERVICE_ADDITION_KEEP_MS);
    assert_int_equal(add_one("once", an_addition("a", 1)), 0);
    assert_string_equal(result.nodes[0].node, "a-3");
    clock_fake_advance(&world.clock, 1);
    assert_int_equal(add_one("once", an_addition("a", 1)), 0);
    assert_string_equal(result.nodes[0].node, "a-4");
}

static void test_a_token_is_of_its_cluster(void **state)
{
    struct service_addition item = an_addition("workers", 1);
    (void)state;
    world_cluster(&world, "other", "w", 1, ORCHESTRATOR_NONE);
    assert_int_equal(add_one("once", an_addition("a", 1)), 0);
    service_addition_result_free(&result);
    assert_int_equal(
        service_nodes_add(&world.service, &world_operator, "other", "once", &item, 1, &result, &world.problem), 0);
    assert_string_equal(result.nodes[0].node, "w-2");
}

/* --- zones ------------------------------------------------------------------------------------------- */

static void test_slots_are_spread_over_zones(void **state)
{
    static const struct service_backends backends = {.providers = {"local"},
                                                     .provider_count = 1,
                                                     .release = "",
                                                     .subnets = {{"s-1", "z-1"}, {"s-2", "z-2"}, {"s-3", "z-2"}},
                                                     .subnet_count = 3};
    static const char *const only[] = {"z-2"}, *const strange[] = {"z-3"};
    struct service_group_spec group = a_spec("a", 3);
    struct service_addition item = an_addition("a", 2);
    (void)state;
    world_open(&world, DB_INLINE);
    world.service.backends = &backends;
    group.spec = group_spec_of("{\"network\":{\"subnets\":[\"s-1\",\"s-2\",\"s-3\"]}}");
    change_world_create(&world, PROVISIONING_CONTINUOUS, &group, 1);
    assert_string_equal(world_node_get(&world, "ml", "a-1").zone, "z-1");
    assert_string_equal(world_node_get(&world, "ml", "a-2").zone, "z-2");
    assert_string_equal(world_node_get(&world, "ml", "a-3").zone, "z-1");
    item.zones = only;
    item.zone_count = 1;
    assert_int_equal(add_one("", item), 0);
    assert_string_equal(result.nodes[0].zone, "z-2");
    assert_string_equal(result.nodes[1].zone, "z-2");
    item.zones = strange;
    assert_int_equal(add_one("", item), 0);
    assert_int_equal(result.refused[0].error, ADDITION_ERROR_ZONES);
    assert_int_equal(add_one("", an_addition("a", 1)), 0);
    assert_string_equal(result.nodes[0].zone, "z-1"); /* which has fewest */
    teardown(NULL);
}

/* --- fewer ------------------------------------------------------------------------------------------- */

static void test_many_are_removed_and_each_has_its_answer(void **state)
{
    struct service_removal items[] = {
        {.node = "a-1"}, {.node = "none"}, {.node = "instance:i-9"}, {.node = "b-1"}, {.node = "a-1"}};
    (void)state;
    world_ready(&world, "ml", "b-1", "i-1", NULL);
    items[3].node = "instance:i-1";
    assert_int_equal(service_nodes_remove(&world.service, &world_operator, "ml", items, ARRAY_LEN(items), URGENCY_NOW,
                                          "", &world.problem),
                     0);
    static const int statuses[] = {0, STATUS_NOT_FOUND, STATUS_NOT_FOUND, 0, 0};
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        assert_int_equal(items[i].status, statuses[i]);
    assert_int_equal(items[1].problem.code, PROBLEM_NOT_FOUND);
    assert_nodes(&world, "a-2");
    assert_int_equal(change_world_group(&world, "a").desired, 1); /* once, though it was named twice */
    assert_int_equal(change_world_group(&world, "b").desired, 0);
    assert_int_equal(
        service_nodes_remove(&world.service, &world_operator, "none", items, 1, URGENCY_NOW, "", &world.problem),
        STATUS_NOT_FOUND);
}

static void test_a_minimum_goes_down_with_the_group(void **state)
{
    struct service_group_spec spec = a_spec("a", 2);
    struct service_cluster_change wanted = {.groups = &spec, .group_count = 1};
    struct cluster cluster;
    struct operation operation;
    (void)state;
    spec.min_count = 2;
    assert_int_equal(service_cluster_update(&world.service, &world_operator, "ml", &wanted, &cluster, &world.problem),
                     0);
    assert_int_equal(service_node_remove(&world.service, &world_operator, "ml", "a-2", URGENCY_AFTER_JOBS, "broken",
                                         &operation, &world.problem),
                     0);
    assert_true(operation.kind == OPERATION_KIND_DELETE || operation.cancel_asked);
    assert_int_equal(change_world_group(&world, "a").min_count, 1);
    assert_int_equal(change_world_group(&world, "a").desired, 1);
}

static void test_what_is_not_removed(void **state)
{
    struct service_group_spec spec = a_spec("c", 1);
    struct service_cluster_change wanted = {.groups = &spec, .group_count = 1};
    struct cluster cluster;
    struct operation operation;
    (void)state;
    spec.spec = group_spec_of("{\"slurm\":{\"role\":\"controller\"}}");
    assert_int_equal(service_cluster_update(&world.service, &world_operator, "ml", &wanted, &cluster, &world.problem),
                     0);
    assert_refused(
        service_node_remove(&world.service, &world_operator, "ml", "c-1", URGENCY_NOW, "", &operation, &world.problem),
        STATUS_CONFLICT, PROBLEM_CONFLICT);
    world_ready(&world, "ml", "c-1", "i-c", NULL);
    assert_refused(service_node_operate(&world.service, &world_operator, "ml", "c-1", OPERATION_KIND_REPLACE,
                                        URGENCY_NOW, "", "", &operation, &world.problem),
                   STATUS_CONFLICT, PROBLEM_CONFLICT);
    assert_int_equal(service_node_operate(&world.service, &world_operator, "ml", "c-1", OPERATION_KIND_REBOOT,
                                          URGENCY_NOW, "", "", &operation, &world.problem),
                     0);
    assert_refused(
        service_node_remove(&world.service, &world_viewer, "ml", "a-1", URGENCY_NOW, "", &operation, &world.problem),
        STATUS_DENIED, PROBLEM_FORBIDDEN);
    change_world_state_set(&world, CLUSTER_STATE_ROLLING_BACK);
    assert_refused(
        service_node_remove(&world.service, &world_operator, "ml", "a-1", URGENCY_NOW, "", &operation, &world.problem),
        STATUS_CONFLICT, PROBLEM_CONFLICT);
    assert_nodes(&world, "a-1 a-2 b-1 c-1");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_each_item_has_its_own_answer),
        TEST(test_states_of_groups_that_take_no_more),
        TEST(test_additions_that_are_refused),
        TEST(test_additions_that_make_it_too_large),
        cmocka_unit_test(test_all_or_nothing_takes_none),
        TEST(test_the_same_token_gives_the_same_slots),
        TEST(test_a_token_is_forgotten_after_eight_hours),
        TEST(test_a_token_is_of_its_cluster),
        cmocka_unit_test(test_slots_are_spread_over_zones),
        TEST(test_many_are_removed_and_each_has_its_answer),
        TEST(test_a_minimum_goes_down_with_the_group),
        TEST(test_what_is_not_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
