/* Deep health checks as they are asked for. What agents say of them is told in tests/sim/test_check.c. */
#include "change_world.h"

#include "base/sm.h"

static struct world world;

static int setup(void **state)
{
    struct service_group_spec groups[] = {a_spec("a", 2), a_spec("b", 1)};
    (void)state;
    world_open(&world, DB_INLINE);
    change_world_create(&world, PROVISIONING_CONTINUOUS, groups, ARRAY_LEN(groups));
    change_world_state_set(&world, CLUSTER_STATE_IN_SERVICE);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_close(&world);
    return 0;
}

static struct operation active_of(const char *node)
{
    struct service_node_view view;
    assert_int_equal(service_node_describe(&world.service, "ml", node, &view, &world.problem), 0);
    return view.active;
}

#define assert_refused(expr, status, problem_code) \
    do {                                           \
        assert_int_equal(expr, status);            \
        assert_problem(&world, problem_code);      \
    } while (0)

static struct service_check_request a_request(const char *group, int64_t checks)
{
    struct service_check_request request = {.checks = checks, .by_instance = true};
    snprintf(request.group, sizeof(request.group), "%s", group);
    return request;
}

static int check_as(const struct actor *actor, const struct service_check_request *requests, size_t count)
{
    const struct service_check_how how = {.profile = DEEP_PROFILE_DEEP, .urgency = URGENCY_AFTER_JOBS};
    struct service_check_result result;
    int status = service_cluster_check(&world.service, actor, "ml", requests, count, &how, &result, &world.problem);
    service_check_result_free(&result);
    return status;
}

static int check(const struct service_check_request *requests, size_t count)
{
    return check_as(&world_operator, requests, count);
}

static void test_ready_nodes_are_checked_once(void **state)
{
    static const char *const ids[] = {"i-1"};
    struct service_check_request requests[] = {a_request("a", SM_BIT(DEEP_CHECK_STRESS)),
                                               a_request("a", SM_BIT(DEEP_CHECK_CONNECTIVITY))};
    (void)state;
    world_ready(&world, "ml", "a-1", "i-1", NULL);
    requests[1].nodes = ids;
    requests[1].node_count = 1;
    assert_int_equal(check(requests, 2), 0); /* which overlap */
    const struct operation operation = active_of("a-1");
    assert_int_equal(operation.kind, OPERATION_KIND_CHECK);
    assert_string_equal(operation.code, "instance-stress+instance-connectivity");
    assert_int_equal(operation.urgency, URGENCY_AFTER_JOBS);
    assert_int_equal(active_of("a-2").kind == OPERATION_KIND_CHECK, false); /* starts still */
    assert_int_equal(check(requests, 1), 0);                                /* busy: left out, and said */
    assert_string_equal(active_of("a-1").uid, operation.uid);
    struct event last;
    assert_true(world_events(&world, EVENT_KIND_OPERATOR_REQUEST, &last) > 0);
    assert_non_null(strstr(last.message, "no deep health check of a-1"));
}

static void test_checks_that_are_refused(void **state)
{
    static const char *const ids[] = {"i-1"}, *const strange[] = {"i-2"}, *const names[] = {"a-9"};
    struct service_check_request request = a_request("c", SM_BIT(DEEP_CHECK_STRESS));
    (void)state;
    world_ready(&world, "ml", "a-1", "i-1", NULL);
    assert_refused(check(&request, 1), STATUS_NOT_FOUND, PROBLEM_NOT_FOUND);
    request = a_request("b", SM_BIT(DEEP_CHECK_STRESS));
    request.nodes = ids; /* of the other group */
    request.node_count = 1;
    assert_refused(check(&request, 1), STATUS_NOT_FOUND, PROBLEM_NOT_FOUND);
    request = a_request("a", SM_BIT(DEEP_CHECK_STRESS));
    request.nodes = strange;
    request.node_count = 1;
    assert_refused(check(&request, 1), STATUS_NOT_FOUND, PROBLEM_NOT_FOUND);
    request.nodes = names; /* by name, in any group */
    request.by_instance = false;
    request.group[0] = '\0';
    assert_refused(check(&request, 1), STATUS_NOT_FOUND, PROBLEM_NOT_FOUND);
    assert_refused(check_as(&world_viewer, &request, 1), STATUS_DENIED, PROBLEM_FORBIDDEN);
    assert_int_equal(active_of("a-1").id, 0);
    request = a_request("a", SM_BIT(DEEP_CHECK_STRESS));
    change_world_state_set(&world, CLUSTER_STATE_DELETING);
    request.node_count = 0;
    assert_refused(check(&request, 1), STATUS_CONFLICT, PROBLEM_CONFLICT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_ready_nodes_are_checked_once),
        TEST(test_checks_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
