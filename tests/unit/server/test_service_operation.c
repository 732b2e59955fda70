/* Operations: found, listed, and stopped as long as stopping makes sense. */
#include "tests/support/service_world.h"

static void open_with_reboot(struct world *world, struct operation *ret_operation)
{
    world_open_ready(world, DB_INLINE, 2);
    assert_int_equal(service_node_operate(&world->service, &world_operator, "ml", "gpu-1", OPERATION_KIND_REBOOT,
                                          URGENCY_NOW, "", "", ret_operation, &world->problem),
                     0);
    world->wakes = 0;
}

static int write_operation(struct db_tx *tx, void *arg)
{
    const struct operation *operation = arg;
    int status = db_operation_update(tx, operation);
    for (int i = 0; status == 0 && i < operation->step_count; i++)
        status = db_operation_step_update(tx, operation->id, &operation->steps[i]);
    return status;
}

/* The operation as it stands when its step number running runs and the earlier ones are done. */
static void advance(struct world *world, struct operation operation, int running)
{
    operation.state = OPERATION_STATE_RUNNING;
    for (int i = 0; i < running; i++)
        operation.steps[i].state = STEP_STATE_DONE;
    operation.steps[running].state = STEP_STATE_RUNNING;
    world_write(world, write_operation, &operation);
}

static int cancel(struct world *world, const char *uid, struct operation *ret_operation)
{
    return service_operation_cancel(&world->service, &world_operator, uid, ret_operation, &world->problem);
}

static void test_cancel_is_asked_once(void **state)
{
    (void)state;
    struct world world;
    struct operation operation, cancelled;
    open_with_reboot(&world, &operation);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cancel(&world, operation.uid, &cancelled), 0);
        assert_true(cancelled.cancel_asked);
    }
    assert_int_equal(world.wakes, 1);
    assert_int_equal(world_events(&world, EVENT_KIND_OPERATOR_REQUEST, NULL), 2); /* the request, and its end */
    world_operation_end(&world, "ml", "gpu-1", OPERATION_STATE_CANCELLED);
    assert_int_equal(cancel(&world, operation.uid, &cancelled), 0); /* it is what was asked for */
    assert_int_equal(cancelled.state, OPERATION_STATE_CANCELLED);
    world_close(&world);
}

/* The policy would begin another one; a person wants none. */
static void test_a_persons_cancel_counts_beside_the_policys(void **state)
{
    (void)state;
    struct world world;
    struct operation operation, cancelled;
    open_with_reboot(&world, &operation);
    operation.cancel_asked = true;
    snprintf(operation.cancelled_by, sizeof(operation.cancelled_by), "%s", ACTOR_POLICY);
    world_write(&world, write_operation, &operation);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cancel(&world, operation.uid, &cancelled), 0);
        assert_int_equal(service_operation_get(&world.service, operation.uid, &cancelled, &world.problem), 0);
        assert_string_equal(cancelled.cancelled_by, world_operator.name);
    }
    assert_int_equal(world.wakes, 1);
    world_close(&world);
}

/* mark, drain, reboot, join, verify, resume: the reboot is the point of no return. */
static void test_cancel_up_to_the_point_of_no_return(void **state)
{
    (void)state;
    for (int running = 0; running < 6; running++) {
        struct world world;
        struct operation operation, cancelled;
        open_with_reboot(&world, &operation);
        advance(&world, operation, running);
        int status = cancel(&world, operation.uid, &cancelled);
        assert_int_equal(status, running < 2 ? 0 : STATUS_CONFLICT);
        if (running >= 2) {
            assert_problem(&world, PROBLEM_CONFLICT);
            assert_int_equal(service_operation_get(&world.service, operation.uid, &cancelled, &world.problem), 0);
            assert_false(cancelled.cancel_asked);
        }
        world_close(&world);
    }
}

static void test_cancels_that_are_refused(void **state)
{
    (void)state;
    struct world world;
    struct operation operation, other;
    open_with_reboot(&world, &operation);
    assert_int_equal(service_operation_cancel(&world.service, &world_viewer, operation.uid, &other, &world.problem),
                     STATUS_DENIED);
    assert_int_equal(cancel(&world, "no-such-operation", &other), STATUS_NOT_FOUND);
    assert_problem(&world, PROBLEM_NOT_FOUND);
    world_operation_end(&world, "ml", "gpu-1", OPERATION_STATE_SUCCEEDED);
    assert_int_equal(cancel(&world, operation.uid, &other), STATUS_CONFLICT);
    assert_problem(&world, PROBLEM_CONFLICT);
    assert_int_equal(
        service_node_remove(&world.service, &world_admin, "ml", "gpu-1", URGENCY_NOW, "", &operation, &world.problem),
        0);
    assert_int_equal(cancel(&world, operation.uid, &other), STATUS_CONFLICT); /* a deletion is not taken back */
    world_close(&world);
}

static int count_row(const void *row, void *arg)
{
    (void)row;
    (*(int *)arg)++;
    return 0;
}

static void test_lists_by_cluster_node_and_state(void **state)
{
    (void)state;
    static const struct {
        const char *cluster, *node;
        int state, limit, status, expected;
    } table[] = {
        {NULL, NULL, -1, 0, 0, 6}, /* with the creation of each of the two clusters */
        {"ml", NULL, -1, 0, 0, 4},
        {"ml", "gpu-1", -1, 0, 0, 2},
        {"ml", "gpu-1", OPERATION_STATE_SUCCEEDED, 0, 0, 1},
        {NULL, NULL, OPERATION_STATE_PENDING, 2, 0, 2},
        {"no", NULL, -1, 0, STATUS_NOT_FOUND, 0},
        {"ml", "no", -1, 0, STATUS_NOT_FOUND, 0},
        {NULL, "gpu-1", -1, 0, STATUS_INVALID, 0},
    };
    struct world world;
    struct operation operation;
    open_with_reboot(&world, &operation);
    world_cluster(&world, "other", "o", 1, ORCHESTRATOR_NONE);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        int count = 0;
        const struct db_operation_filter filter = {.state = table[i].state, .limit = table[i].limit};
        assert_int_equal(service_operation_list(&world.service, table[i].cluster, table[i].node, &filter, count_row,
                                                &count, &world.problem),
                         table[i].status);
        assert_int_equal(count, table[i].expected);
    }
    assert_int_equal(service_operation_get(&world.service, "x", &operation, &world.problem), STATUS_NOT_FOUND);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancel_is_asked_once),
        cmocka_unit_test(test_a_persons_cancel_counts_beside_the_policys),
        cmocka_unit_test(test_cancel_up_to_the_point_of_no_return),
        cmocka_unit_test(test_cancels_that_are_refused),
        cmocka_unit_test(test_lists_by_cluster_node_and_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
