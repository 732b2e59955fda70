/* What the earlier of nodes weighs: from the ledger, with the pieces that have moved; and in what order it is listed. */
#include "db/hardware.h"
#include "tests/support/service_world.h"

struct told {
    struct world *world;
    int64_t node_id, instance_row;
    const char *instance, *device, *actor;
    enum operation_kind kind;
    enum operation_state state;
    enum step_kind failed_step; /* MARK: none */
    int64_t at;
    const char *identity; /* a GPU that is there now */
};

static int tell(struct db_tx *tx, void *arg)
{
    static int count;
    const struct told *told = arg;
    if (told->identity != NULL) {
        struct hardware gpu = {.kind = HARDWARE_KIND_GPU, .present = true};
        snprintf(gpu.location, sizeof(gpu.location), "%s", told->device);
        snprintf(gpu.identity, sizeof(gpu.identity), "%s", told->identity);
        assert_int_equal(db_hardware_put(tx, told->instance_row, &gpu, told->at), 0);
        return 0;
    }
    struct node node;
    assert_int_equal(db_node_get_row(tx, told->node_id, &node), 0);
    struct operation op = {.cluster_id = node.cluster_id,
                           .node_id = told->node_id,
                           .kind = told->kind,
                           .cause = told->actor != NULL ? OPERATION_CAUSE_PERSON : OPERATION_CAUSE_FAULT,
                           .state = told->state,
                           .created_at = told->at,
                           .started_at = told->at,
                           .finished_at = told->at};
    snprintf(op.uid, sizeof(op.uid), "earlier-%d", ++count);
    snprintf(op.key, sizeof(op.key), "earlier-%d", count);
    snprintf(op.actor, sizeof(op.actor), "%s", told->actor != NULL ? told->actor : "policy");
    snprintf(op.device, sizeof(op.device), "%s", told->device);
    snprintf(op.code, sizeof(op.code), "xid.79");
    snprintf(op.old_instance, sizeof(op.old_instance), "%s", told->instance);
    if (told->failed_step != STEP_KIND_MARK)
        op.steps[op.step_count++] = (struct operation_step){.kind = told->failed_step, .state = STEP_STATE_FAILED};
    return db_operation_insert(tx, &op);
}

static void earlier(struct world *world, struct told told)
{
    world_write(world, tell, &told);
}

/* All of it half a window ago, but for one repair that is as old as the window. */
static void tell_past(struct world *world, int64_t id, int64_t half)
{
    earlier(world, (struct told){.node_id = id,
                                 .instance = "i-1",
                                 .device = "0000:b9:00",
                                 .kind = OPERATION_KIND_REBOOT,
                                 .state = OPERATION_STATE_FAILED,
                                 .failed_step = STEP_KIND_VERIFY,
                                 .at = half});
    earlier(world, (struct told){.node_id = id,
                                 .instance = "i-1",
                                 .device = "0000:4e:00",
                                 .kind = OPERATION_KIND_REBOOT,
                                 .state = OPERATION_STATE_SUCCEEDED,
                                 .at = half});
    earlier(world, (struct told){.node_id = id,
                                 .instance = "i-1",
                                 .device = "0000:4e:00",
                                 .kind = OPERATION_KIND_REBOOT,
                                 .state = OPERATION_STATE_FAILED,
                                 .failed_step = STEP_KIND_REBOOT,
                                 .at = half});
    earlier(world, (struct told){.node_id = id,
                                 .instance = "i-1",
                                 .device = "",
                                 .kind = OPERATION_KIND_REBOOT,
                                 .actor = "token:ops",
                                 .state = OPERATION_STATE_SUCCEEDED,
                                 .at = half});
    earlier(world, (struct told){.node_id = id,
                                 .instance = "i-0",
                                 .device = "",
                                 .kind = OPERATION_KIND_REPLACE,
                                 .state = OPERATION_STATE_SUCCEEDED,
                                 .at = half});
    earlier(world, (struct told){.node_id = id,
                                 .instance = "i-1",
                                 .device = "",
                                 .kind = OPERATION_KIND_REBOOT,
                                 .state = OPERATION_STATE_SUCCEEDED,
                                 .at = WORLD_T0 - 28 * MS_PER_DAY});
    earlier(world, (struct told){.node_id = id + 1,
                                 .instance = "i-9",
                                 .device = "",
                                 .kind = OPERATION_KIND_REPLACE,
                                 .state = OPERATION_STATE_SUCCEEDED,
                                 .at = half});
}

static void test_weighs_what_was_repaired(void **state)
{
    (void)state;
    struct world world;
    struct service_lemon lemon, *lemons = NULL;
    size_t count = 99;
    int64_t id = world_open_ready(&world, DB_INLINE, 3);
    const int64_t half = WORLD_T0 - 14 * MS_PER_DAY;
    assert_int_equal(service_lemon_list(&world.service, "ml", &lemons, &count, &world.problem), 0);
    assert_int_equal(count, 0);
    free(lemons);
    tell_past(&world, id, half);
    assert_int_equal(service_lemon_get(&world.service, "ml", "gpu-1", &lemon, &world.problem), 0);
    assert_int_equal(lemon.score, 200);      /* half of 200, 100 and 100: the provider's no is not the machine's */
    assert_int_equal(lemon.slot_score, 250); /* … and of the machine before */
    assert_int_equal(lemon.repairs, 3);
    assert_int_equal(lemon.not_cleared, 1);
    assert_int_equal(lemon.device_score, 100);
    assert_int_equal(lemon.last_at, half);
    assert_int_equal(service_lemon_list(&world.service, "ml", &lemons, &count, &world.problem), 0);
    assert_int_equal(count, 2);
    assert_string_equal(lemons[0].node, "gpu-1");
    assert_string_equal(lemons[1].node, "gpu-2");
    assert_int_equal(lemons[1].score, 0);
    assert_int_equal(lemons[1].slot_score, 50);
    free(lemons);
    assert_int_equal(service_lemon_get(&world.service, "ml", "gpu-9", &lemon, &world.problem), STATUS_NOT_FOUND);
    assert_int_equal(service_lemon_list(&world.service, "no", &lemons, &count, &world.problem), STATUS_NOT_FOUND);
    world_close(&world);
}

#define REPAIRS 70

/* All repairs of the window weigh, however many there are. */
static void test_every_repair_of_the_window_weighs(void **state)
{
    (void)state;
    struct world world;
    struct service_lemon lemon;
    int64_t id = world_open_ready(&world, DB_INLINE, 1);
    for (int i = 0; i < REPAIRS; i++)
        earlier(&world, (struct told){.node_id = id,
                                      .instance = "i-1",
                                      .device = "0000:b9:00",
                                      .kind = OPERATION_KIND_REBOOT,
                                      .state = OPERATION_STATE_SUCCEEDED,
                                      .at = WORLD_T0 - 14 * MS_PER_DAY});
    assert_int_equal(service_lemon_get(&world.service, "ml", "gpu-1", &lemon, &world.problem), 0);
    assert_int_equal(lemon.repairs, REPAIRS);
    world_close(&world);
}

static int find_instance(struct db_tx *tx, void *arg)
{
    struct told *told = arg;
    struct node node;
    assert_int_equal(db_node_get_row(tx, told->node_id, &node), 0);
    told->instance_row = node.instance_row;
    return 0;
}

/* The card was repaired in one machine and is in another now, whose slot has no earlier of its own. */
static void test_a_piece_brings_its_past_along(void **state)
{
    (void)state;
    struct world world;
    struct service_lemon *lemons = NULL;
    struct service_explanation explanation;
    size_t count = 0;
    int64_t id = world_open_ready(&world, DB_INLINE, 2), second = world_ready(&world, "ml", "gpu-2", "i-2", NULL);
    struct told here = {.node_id = id, .device = "0000:b9:00", .identity = "GPU-7c1c0a0e", .at = WORLD_T0};
    struct told there = {.node_id = second, .device = "0000:19:00", .identity = "GPU-7c1c0a0e", .at = WORLD_T0};
    world_write(&world, find_instance, &here);
    world_write(&world, find_instance, &there);
    earlier(&world, here);
    earlier(&world, there);
    earlier(&world, (struct told){.node_id = id,
                                  .instance = "i-1",
                                  .device = "0000:b9:00",
                                  .kind = OPERATION_KIND_REBOOT,
                                  .state = OPERATION_STATE_SUCCEEDED,
                                  .at = WORLD_T0 - 7 * MS_PER_DAY});
    assert_int_equal(service_lemon_list(&world.service, "ml", &lemons, &count, &world.problem), 0);
    assert_int_equal(count, 2);
    assert_string_equal(lemons[1].node, "gpu-2");
    assert_int_equal(lemons[1].score, 75);
    assert_int_equal(lemons[1].slot_score, 0);
    assert_string_equal(lemons[1].device, "0000:19:00");
    assert_string_equal(lemons[1].identity, "GPU-7c1c0a0e");
    free(lemons);
    assert_int_equal(service_node_explain(&world.service, "ml", "gpu-2", &explanation, &world.problem), 0);
    assert_non_null(strstr(explanation.text, "weigh 75 points"));
    assert_non_null(strstr(explanation.text, "75 of which are those of 0000:19:00"));
    service_explanation_free(&explanation);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_repair_of_the_window_weighs),
        cmocka_unit_test(test_weighs_what_was_repaired),
        cmocka_unit_test(test_a_piece_brings_its_past_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
