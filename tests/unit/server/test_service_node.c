/* Nodes: shown, listed, opted out, and operated by people: what the states allow, and that a repeat is no second time. */
#include "tests/support/service_world.h"

static const char line_79[] = "NVRM: Xid (PCI:0000:b9:00): 79, GPU has fallen off the bus.";

static int operate(struct world *world, enum operation_kind kind, const char *key, struct operation *ret_operation)
{
    return service_node_operate(&world->service, &world_operator, "ml", "gpu-1", kind, URGENCY_AFTER_JOBS, "", key,
                                ret_operation, &world->problem);
}

static void open_with_ready_node(struct world *world)
{
    world_open_ready(world, DB_INLINE, 3);
    world->wakes = world->events_heard = 0;
}

/* --- operate --------------------------------------------------------------------------------------- */

static void test_what_the_states_allow(void **state)
{
    (void)state;
    static const struct {
        enum node_state state;
        bool repair, release;
    } table[] = {
        {NODE_STATE_PENDING, false, false}, {NODE_STATE_STARTING, false, false}, {NODE_STATE_VERIFYING, true, false},
        {NODE_STATE_READY, true, false},    {NODE_STATE_HELD, true, true},       {NODE_STATE_REPAIRING, false, false},
        {NODE_STATE_FAILED, true, true},    {NODE_STATE_DELETING, false, false}, {NODE_STATE_DELETED, false, false},
    };
    static const enum operation_kind kinds[] = {OPERATION_KIND_REBOOT, OPERATION_KIND_REPLACE, OPERATION_KIND_RELEASE};
    struct world world;
    struct operation operation;
    open_with_ready_node(&world);
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
            bool allowed = kinds[k] == OPERATION_KIND_RELEASE ? table[i].release : table[i].repair;
            world_node_set(&world, "ml", "gpu-1", table[i].state, HEALTH_UNHEALTHY);
            int status = operate(&world, kinds[k], "", &operation);
            assert_int_equal(status, allowed ? 0 : STATUS_CONFLICT);
            if (!allowed)
                assert_problem(&world, PROBLEM_CONFLICT);
            world_operation_end(&world, "ml", "gpu-1", OPERATION_STATE_SUCCEEDED);
        }
    world_close(&world);
}

static void test_a_request_is_a_decision_and_an_operation(void **state)
{
    (void)state;
    struct world world;
    struct operation operation;
    struct service_node_view view;
    struct event event;
    open_with_ready_node(&world);
    assert_int_equal(service_node_operate(&world.service, &world_operator, "ml", "gpu-1", OPERATION_KIND_REPLACE,
                                          URGENCY_NOW, "smells of smoke", "key-1", &operation, &world.problem),
                     0);
    assert_string_equal(operation.reason, "A person asked for a replacement");
    assert_string_equal(operation.actor, "token:oper");
    assert_string_equal(operation.old_instance, "i-1");
    assert_string_equal(operation.old_boot, WORLD_BOOT);
    assert_int_equal(operation.urgency, URGENCY_NOW);
    assert_int_equal(operation.state, OPERATION_STATE_PENDING);
    assert_int_equal(operation.step_count, 9);
    assert_int_equal(world.wakes, 1);
    assert_int_equal(world.events_heard, 1);

    assert_int_equal(service_node_describe(&world.service, "ml", "gpu-1", &view, &world.problem), 0);
    assert_int_equal(view.row.node.state, NODE_STATE_REPAIRING);
    assert_string_equal(view.active.uid, operation.uid);
    const struct decision *decision = &view.last_decision;
    assert_int_equal(decision->rule, RULE_PERSON_REQUEST);
    assert_int_equal(decision->action, ACTION_REPLACE);
    assert_int_equal(decision->operation_id, operation.id);
    assert_int_equal(operation.decision_id, decision->id);
    assert_non_null(strstr(decision->sentence, "smells of smoke"));
    for (int gate = 0; gate < GATE_COUNT; gate++)
        assert_int_equal(decision->gates[gate].result,
                         gate == GATE_ONE_OPERATION ? GATE_RESULT_PASSED : GATE_RESULT_NOT_ASKED);
    assert_int_equal(world_events(&world, EVENT_KIND_OPERATOR_REQUEST, &event), 1);
    assert_string_equal(event.operation, operation.uid);
    assert_non_null(strstr(event.message, "smells of smoke"));
    assert_int_equal(world_events(&world, EVENT_KIND_NODE_STATE, &event), 1);
    assert_string_equal(event.about.was, "ready");
    assert_string_equal(event.about.state, "repairing");
    world_close(&world);
}

static void test_a_release_goes_through_the_gate(void **state)
{
    (void)state;
    struct world world;
    struct operation operation;
    open_with_ready_node(&world);
    world_node_set(&world, "ml", "gpu-1", NODE_STATE_HELD, HEALTH_HEALTHY);
    assert_int_equal(operate(&world, OPERATION_KIND_RELEASE, "", &operation), 0);
    assert_int_equal(operation.kind, OPERATION_KIND_RELEASE);
    assert_int_equal(operation.step_count, 3);
    assert_int_equal(operation.steps[0].kind,
                     STEP_KIND_PREPARE); /* skipped by a machine that is through with its scripts */
    assert_int_equal(operation.steps[1].kind, STEP_KIND_VERIFY);
    assert_int_equal(world_node_get(&world, "ml", "gpu-1").state, NODE_STATE_VERIFYING);
    world_close(&world);
}

static void test_a_repeated_key_is_the_same_operation(void **state)
{
    (void)state;
    struct world world;
    struct operation first, again;
    open_with_ready_node(&world);
    assert_int_equal(operate(&world, OPERATION_KIND_REBOOT, "key-1", &first), 0);
    assert_int_equal(operate(&world, OPERATION_KIND_REBOOT, "key-1", &again), 0);
    assert_string_equal(again.uid, first.uid);
    assert_int_equal(world.wakes, 1);
    assert_int_equal(world_events(&world, EVENT_KIND_OPERATOR_REQUEST, NULL), 1);

    /* Also long after it has ended, and whatever the node is in now. */
    world_operation_end(&world, "ml", "gpu-1", OPERATION_STATE_FAILED);
    world_node_set(&world, "ml", "gpu-1", NODE_STATE_FAILED, HEALTH_UNHEALTHY);
    assert_int_equal(operate(&world, OPERATION_KIND_REBOOT, "key-1", &again), 0);
    assert_string_equal(again.uid, first.uid);
    assert_int_equal(again.state, OPERATION_STATE_FAILED);
    world_close(&world);
}

static void test_a_key_for_another_request_is_refused(void **state)
{
    (void)state;
    struct world world;
    struct operation operation;
    struct service *s = &world.service;
    open_with_ready_node(&world);
    world_ready(&world, "ml", "gpu-2", "i-2", NULL);
    assert_int_equal(operate(&world, OPERATION_KIND_REBOOT, "key-1", &operation), 0);
    world_operation_end(&world, "ml", "gpu-1", OPERATION_STATE_SUCCEEDED);
    static const struct {
        const struct actor *actor;
        const char *node;
        enum operation_kind kind;
        enum urgency urgency;
        const char *reason;
    } table[] = {
        {&world_operator, "gpu-1", OPERATION_KIND_REPLACE, URGENCY_AFTER_JOBS, ""},
        {&world_operator, "gpu-2", OPERATION_KIND_REBOOT, URGENCY_AFTER_JOBS, ""},
        {&world_operator, "gpu-1", OPERATION_KIND_REBOOT, URGENCY_NOW, ""},
        {&world_operator, "gpu-1", OPERATION_KIND_REBOOT, URGENCY_AFTER_JOBS, "another reason"},
        {&world_admin, "gpu-1", OPERATION_KIND_REBOOT, URGENCY_AFTER_JOBS, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        assert_int_equal(service_node_operate(s, table[i].actor, "ml", table[i].node, table[i].kind, table[i].urgency,
                                              table[i].reason, "key-1", &operation, &world.problem),
                         STATUS_CONFLICT);
        assert_problem(&world, PROBLEM_KEY_REUSED);
    }
    world_close(&world);
}

static void test_requests_that_are_refused(void **state)
{
    (void)state;
    static char long_key[KEY_MAX_BYTES];
    memset(long_key, 'k', sizeof(long_key) - 1);
    const struct {
        const struct actor *actor;
        const char *cluster, *node, *key;
        enum operation_kind kind;
        int status;
        enum problem_code code;
    } table[] = {
        {&world_viewer, "ml", "gpu-1", "", OPERATION_KIND_REBOOT, STATUS_DENIED, PROBLEM_FORBIDDEN},
        {NULL, "ml", "gpu-1", "", OPERATION_KIND_REBOOT, STATUS_DENIED, PROBLEM_FORBIDDEN},
        {&world_operator, "xx", "gpu-1", "", OPERATION_KIND_REBOOT, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND},
        {&world_operator, "ml", "gpu-9", "", OPERATION_KIND_REBOOT, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND},
        {&world_operator, "ml", "gpu-1", "", OPERATION_KIND_DELETE, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {&world_operator, "ml", "gpu-1", "", OPERATION_KIND_LAUNCH, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {&world_operator, "ml", "gpu-1", "a b", OPERATION_KIND_REBOOT, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {&world_operator, "ml", "gpu-1", "k\xc3\xa9y", OPERATION_KIND_REBOOT, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {&world_operator, "ml", "gpu-1", long_key, OPERATION_KIND_REBOOT, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {&world_operator, "ml", "gpu-2", "", OPERATION_KIND_REPLACE, STATUS_CONFLICT, PROBLEM_OPERATION_ACTIVE},
    };
    struct world world;
    struct operation operation;
    open_with_ready_node(&world);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        assert_int_equal(service_node_operate(&world.service, table[i].actor, table[i].cluster, table[i].node,
                                              table[i].kind, URGENCY_NOW, NULL, table[i].key, &operation,
                                              &world.problem),
                         table[i].status);
        assert_problem(&world, table[i].code);
    }
    /* A slot that never had an instance has nothing to reboot, but can be filled. */
    world_operation_end(&world, "ml", "gpu-3", OPERATION_STATE_FAILED);
    world_node_set(&world, "ml", "gpu-3", NODE_STATE_FAILED, HEALTH_UNKNOWN);
    assert_int_equal(service_node_operate(&world.service, &world_operator, "ml", "gpu-3", OPERATION_KIND_REBOOT,
                                          URGENCY_NOW, NULL, NULL, &operation, &world.problem),
                     STATUS_CONFLICT);
    assert_non_null(strstr(world.problem.detail, "Replace"));
    assert_int_equal(service_node_operate(&world.service, &world_operator, "ml", "gpu-3", OPERATION_KIND_REPLACE,
                                          URGENCY_NOW, NULL, NULL, &operation, &world.problem),
                     0);
    world_close(&world);
}

static void test_a_very_long_reason_is_cut_cleanly(void **state)
{
    (void)state;
    struct world world;
    struct operation operation;
    autofree char *reason = own_calloc(4000, 1);
    for (size_t i = 0; i + 4 < 4000; i += 3)
        memcpy(reason + i, "€", 3);
    open_with_ready_node(&world);
    assert_int_equal(service_node_operate(&world.service, &world_operator, "ml", "gpu-1", OPERATION_KIND_REBOOT,
                                          URGENCY_NOW, reason, "key-1", &operation, &world.problem),
                     0);
    assert_int_equal(service_node_operate(&world.service, &world_operator, "ml", "gpu-1", OPERATION_KIND_REBOOT,
                                          URGENCY_NOW, reason, "key-1", &operation, &world.problem),
                     0);
    const struct node node = world_node_get(&world, "ml", "gpu-1");
    assert_true(strlen(node.reason) > REASON_MAX_BYTES - 5);
    assert_int_equal((unsigned char)node.reason[strlen(node.reason) - 1], 0xac); /* the last byte of a whole euro */
    world_close(&world);
}

/* --- shown and listed ------------------------------------------------------------------------------ */

static void nothing_done(int status, const struct problem *problem, void *arg)
{
    (void)problem, (void)arg;
    assert_int_equal(status, 0);
}

static void test_describe_joins_store_and_fleet(void **state)
{
    (void)state;
    struct world world;
    struct service_node_view view;
    open_with_ready_node(&world);
    int64_t id = world_node_get(&world, "ml", "gpu-1").id;
    assert_int_equal(world_beat(&world, id, "i-1", WORLD_BOOT, 5), 0);
    const struct verdict verdicts[] = {world_verdict(&world, "i-1", "k1", "xid.79"),
                                       world_verdict(&world, "i-1", "k2", "xid.48")};
    assert_int_equal(
        service_agent_verdicts(&world.service, id, verdicts, 2, WORLD_T0, nothing_done, NULL, &world.problem), 0);
    assert_int_equal(service_node_describe(&world.service, "ml", "gpu-1", &view, &world.problem), 0);
    assert_string_equal(view.row.cluster, "ml");
    assert_string_equal(view.row.group, "workers");
    assert_string_equal(view.row.instance.instance_id, "i-1");
    assert_int_equal(view.live.last_heartbeat_at, WORLD_T0);
    assert_int_equal(view.open_verdicts, 2);
    assert_int_equal(view.active.id, 0);
    assert_int_equal(view.last_decision.id, 0);

    assert_int_equal(service_node_describe(&world.service, "ml", "gpu-2", &view, &world.problem), 0);
    assert_int_equal(view.live.slot.node_id, 0);
    assert_int_equal(view.row.instance.id, 0);
    assert_int_equal(view.active.kind, OPERATION_KIND_LAUNCH);
    assert_int_equal(service_node_describe(&world.service, "ml", "gpu-9", &view, &world.problem), STATUS_NOT_FOUND);
    assert_int_equal(service_node_describe(&world.service, "no", "gpu-1", &view, &world.problem), STATUS_NOT_FOUND);
    world_close(&world);
}

struct found {
    char names[256];
    int count;
};

static int note_node(const void *row, void *arg)
{
    const struct db_node_row *node = row;
    struct found *found = arg;
    strncat(found->names, node->node.name, sizeof(found->names) - strlen(found->names) - 1);
    found->count++;
    return 0;
}

static int note_verdict(const void *row, void *arg)
{
    const struct verdict *verdict = row;
    struct found *found = arg;
    strncat(found->names, verdict->key, sizeof(found->names) - strlen(found->names) - 1);
    assert_string_equal(verdict->raw_line, line_79);
    found->count++;
    return 0;
}

static void test_lists_filter(void **state)
{
    (void)state;
    static const struct {
        const char *group;
        int state, health;
        const char *after;
        int limit;
        const char *expected;
    } table[] = {
        {NULL, -1, -1, NULL, 0, "gpu-1gpu-2gpu-3"},
        {"workers", -1, -1, "gpu-1", 1, "gpu-2"},
        {NULL, NODE_STATE_PENDING, -1, NULL, 0, "gpu-2gpu-3"},
        {NULL, -1, HEALTH_HEALTHY, NULL, 0, "gpu-1"},
        {"workers", NODE_STATE_READY, HEALTH_UNKNOWN, NULL, 0, ""},
    };
    struct world world;
    struct service *s = &world.service;
    open_with_ready_node(&world);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct found found = {0};
        assert_int_equal(service_node_list(s, "ml", table[i].group, table[i].state, table[i].health, table[i].after,
                                           table[i].limit, note_node, &found, &world.problem),
                         0);
        assert_string_equal(found.names, table[i].expected);
    }
    struct found found = {0};
    assert_int_equal(service_node_list(s, "ml", "nogroup", -1, -1, NULL, 0, note_node, &found, &world.problem),
                     STATUS_NOT_FOUND);
    assert_problem(&world, PROBLEM_NOT_FOUND);
    assert_int_equal(service_node_list(s, "no", NULL, -1, -1, NULL, 0, note_node, &found, &world.problem),
                     STATUS_NOT_FOUND);
    world_close(&world);
}

static void test_verdicts_are_listed_newest_first(void **state)
{
    (void)state;
    struct world world;
    struct service *s = &world.service;
    struct found all = {0}, stale = {0};
    open_with_ready_node(&world);
    int64_t id = world_node_get(&world, "ml", "gpu-1").id;
    const struct verdict verdicts[] = {world_verdict(&world, "i-1", "k1", "xid.79"),
                                       world_verdict(&world, "i-1", "k2", "xid.79"),
                                       world_verdict(&world, "i-0", "k3", "xid.79")};
    assert_int_equal(service_agent_verdicts(s, id, verdicts, 3, WORLD_T0, nothing_done, NULL, &world.problem), 0);
    assert_int_equal(service_verdict_list(s, "ml", "gpu-1", -1, 0, 0, note_verdict, &all, &world.problem), 0);
    assert_string_equal(all.names, "k3k2k1");
    assert_int_equal(
        service_verdict_list(s, "ml", "gpu-1", VERDICT_STATE_STALE, 0, 0, note_verdict, &stale, &world.problem), 0);
    assert_string_equal(stale.names, "k3");
    assert_int_equal(service_verdict_list(s, "ml", "gpu-9", -1, 0, 0, note_verdict, &all, &world.problem),
                     STATUS_NOT_FOUND);
    world_close(&world);
}

/* --- opt out --------------------------------------------------------------------------------------- */

static void test_opt_out_is_said_once(void **state)
{
    (void)state;
    struct world world;
    struct node node;
    struct service *s = &world.service;
    const struct service_node_change mine = {.says_out = true, .opted_out = true}, yours = {.says_out = true};
    open_with_ready_node(&world);
    assert_int_equal(service_node_update(s, &world_viewer, "ml", "gpu-1", &mine, 0, &node, &world.problem),
                     STATUS_DENIED);
    assert_int_equal(service_node_update(s, &world_operator, "ml", "gpu-9", &mine, 0, &node, &world.problem),
                     STATUS_NOT_FOUND);
    for (int i = 0; i < 2; i++)
        assert_int_equal(service_node_update(s, &world_operator, "ml", "gpu-1", &mine, 0, &node, &world.problem), 0);
    assert_true(node.opted_out);
    assert_true(world_node_get(&world, "ml", "gpu-1").opted_out);
    assert_int_equal(world.wakes, 1);
    assert_int_equal(world_events(&world, EVENT_KIND_OPERATOR_REQUEST, NULL), 1);
    assert_int_equal(service_node_update(s, &world_operator, "ml", "gpu-1", &yours, 0, &node, &world.problem), 0);
    assert_false(node.opted_out);
    assert_int_equal(world.wakes, 2);
    int64_t read = service_node_revision(&node);
    assert_int_equal(service_node_update(s, &world_operator, "ml", "gpu-1", &mine, read, &node, &world.problem), 0);
    assert_int_equal(service_node_update(s, &world_operator, "ml", "gpu-1", &yours, read, &node, &world.problem),
                     STATUS_CONFLICT);
    assert_int_equal(world.problem.code, PROBLEM_PRECONDITION_FAILED);
    assert_true(world_node_get(&world, "ml", "gpu-1").opted_out);
    world_close(&world);
}

/* Both or neither: what is refused for its revision has moved the node nowhere. */
static void test_a_change_is_whole(void **state)
{
    (void)state;
    struct world world;
    struct node node;
    struct service *s = &world.service;
    const struct service_node_change both = {
        .says_out = true, .opted_out = true, .domain = {[TOPOLOGY_LEVEL_RACK] = "r12"}};
    const struct service_node_change moved = {.domain = {[TOPOLOGY_LEVEL_RACK] = "r13"}}, nothing = {.says_out = false};
    open_with_ready_node(&world);
    node = world_node_get(&world, "ml", "gpu-1");
    int64_t read = service_node_revision(&node);
    assert_int_equal(service_node_update(s, &world_operator, "ml", "gpu-1", &nothing, 0, &node, &world.problem), 0);
    assert_int_equal(world.wakes, 0);
    assert_int_equal(service_node_update(s, &world_operator, "ml", "gpu-1", &both, read + 1, &node, &world.problem),
                     STATUS_CONFLICT);
    assert_int_equal(service_node_update(s, &world_operator, "ml", "gpu-1", &moved, read + 1, &node, &world.problem),
                     STATUS_CONFLICT);
    node = world_node_get(&world, "ml", "gpu-1");
    assert_string_equal(node_domain(&node, TOPOLOGY_LEVEL_RACK), "");
    assert_int_equal(world.wakes, 0);
    assert_int_equal(service_node_update(s, &world_operator, "ml", "gpu-1", &both, read, &node, &world.problem), 0);
    node = world_node_get(&world, "ml", "gpu-1");
    assert_true(node.opted_out);
    assert_string_equal(node_domain(&node, TOPOLOGY_LEVEL_RACK), "r12");
    assert_int_equal(world.wakes, 1);
    assert_int_equal(service_node_update(s, &world_operator, "ml", "gpu-1", &moved, 0, &node, &world.problem), 0);
    assert_int_equal(world.wakes, 2);
    assert_int_equal(world_events(&world, EVENT_KIND_OPERATOR_REQUEST, NULL), 1);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_the_states_allow),
        cmocka_unit_test(test_a_request_is_a_decision_and_an_operation),
        cmocka_unit_test(test_a_release_goes_through_the_gate),
        cmocka_unit_test(test_a_repeated_key_is_the_same_operation),
        cmocka_unit_test(test_a_key_for_another_request_is_refused),
        cmocka_unit_test(test_requests_that_are_refused),
        cmocka_unit_test(test_a_very_long_reason_is_cut_cleanly),
        cmocka_unit_test(test_describe_joins_store_and_fleet),
        cmocka_unit_test(test_lists_filter),
        cmocka_unit_test(test_verdicts_are_listed_newest_first),
        cmocka_unit_test(test_opt_out_is_said_once),
        cmocka_unit_test(test_a_change_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
