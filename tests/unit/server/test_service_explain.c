/* Explanations: the decision with its evidence in sentences, and what is said when there is none. */
#include "tests/support/service_world.h"

static int explain(struct world *world, const char *node, struct service_explanation *ret_explanation)
{
    return service_node_explain(&world->service, "ml", node, ret_explanation, &world->problem);
}

static void assert_says(const struct service_explanation *explanation, const char *words)
{
    if (strstr(explanation->text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", explanation->text, words);
}

static void test_without_a_decision_it_says_what_is_known(void **state)
{
    (void)state;
    struct world world;
    struct service_explanation explanation;
    int64_t id = world_open_ready(&world, DB_INLINE, 2);

    assert_int_equal(explain(&world, "gpu-2", &explanation), 0); /* an empty slot */
    assert_int_equal(explanation.decision.id, 0);
    assert_says(&explanation, "gpu-2 is pending");
    assert_says(&explanation, "No decision was ever needed");
    assert_says(&explanation, "no instance fills the slot");
    assert_int_equal(explanation.current.kind, EXPLANATION_WORKING); /* its launch */
    assert_says(&explanation, explanation.current.sentence);
    service_explanation_free(&explanation);

    assert_int_equal(explain(&world, "gpu-1", &explanation), 0);
    assert_says(&explanation, "was not seen since this server started");
    service_explanation_free(&explanation);

    assert_int_equal(world_beat(&world, id, "i-1", WORLD_BOOT, 1), 0);
    clock_fake_advance(&world.clock, 3000);
    assert_int_equal(explain(&world, "gpu-1", &explanation), 0);
    assert_says(&explanation, "Its agent was seen 3s ago");
    assert_says(&explanation, "Nothing has happened because nothing is wrong");
    service_explanation_free(&explanation);

    clock_fake_advance(&world.clock, 40 * MS_PER_MIN - 3000);
    world_sweep(&world);
    assert_int_equal(explain(&world, "gpu-1", &explanation), 0);
    assert_says(&explanation, "No verdict: the agent has been silent for 40m");
    assert_int_equal(explanation.current.kind, EXPLANATION_NOT_SEEN);
    assert_says(&explanation, "What you can do\n  systemctl status hp-agent\n");
    service_explanation_free(&explanation);
    service_explanation_free(&explanation); /* twice is harmless */
    service_explanation_free(NULL);
    world_close(&world);
}

static void stored(int status, const struct problem *problem, void *arg)
{
    (void)problem, (void)arg;
    assert_int_equal(status, 0);
}

static int first_verdicts(const void *row, void *arg)
{
    const struct verdict *verdict = row;
    struct decision *decision = arg;
    decision->evidence[decision->evidence_count++] = verdict->id;
    return 0;
}

/* What the reconcile loop would record: a reboot for an Xid 79, with its evidence. */
static int decide_write(struct db_tx *tx, void *arg)
{
    struct decision *decision = arg;
    struct db_verdict_filter filter = {.node_id = decision->node_id, .state = VERDICT_STATE_OPEN};
    decision->evidence_count = 0;
    int status = db_verdict_list(tx, &filter, first_verdicts, decision);
    return status < 0 ? status : db_decision_insert(tx, decision);
}

static void test_with_a_decision_it_tells_why(void **state)
{
    (void)state;
    struct world world;
    struct service_explanation explanation;
    int64_t id = world_open_ready(&world, DB_INLINE, 1);
    assert_int_equal(world_beat(&world, id, "i-1", WORLD_BOOT, 1), 0);
    const struct verdict verdict = world_verdict(&world, "i-1", "k1", "xid.79");
    assert_int_equal(service_agent_verdicts(&world.service, id, &verdict, 1, WORLD_T0, stored, NULL, &world.problem),
                     0);
    struct decision decision = {.node_id = id,
                                .at = WORLD_T0,
                                .action = ACTION_HOLD,
                                .rule = RULE_TABLE_REBOOT,
                                .code = "xid.79",
                                .device = "0000:b9:00",
                                .sentence = "The budget of the group is used up."};
    world_write(&world, decide_write, &decision);
    assert_int_equal(explain(&world, "gpu-1", &explanation), 0);
    assert_int_equal(explanation.decision.id, decision.id);
    assert_int_equal(explanation.evidence_count, 1);
    assert_string_equal(explanation.evidence[0].key, "k1");
    assert_int_equal(explanation.operation.id, 0);
    assert_says(&explanation, "The budget of the group is used up");
    assert_says(&explanation, "Its agent was seen");
    assert_int_equal(explanation.current.kind, EXPLANATION_DECIDED); /* in service still: it follows at the next look */
    service_explanation_free(&explanation);
    world_close(&world);
}

static void test_a_persons_request_is_explained_with_its_operation(void **state)
{
    (void)state;
    struct world world;
    struct operation operation;
    struct service_explanation explanation;
    (void)world_open_ready(&world, DB_INLINE, 1);
    assert_int_equal(service_node_operate(&world.service, &world_operator, "ml", "gpu-1", OPERATION_KIND_REBOOT,
                                          URGENCY_NOW, "fan noise", "", &operation, &world.problem),
                     0);
    assert_int_equal(explain(&world, "gpu-1", &explanation), 0);
    assert_string_equal(explanation.operation.uid, operation.uid);
    assert_says(&explanation, "fan noise");
    assert_says(&explanation, operation.uid);
    assert_says(&explanation, "gpu-1 is repairing");
    assert_int_equal(explanation.current.kind, EXPLANATION_WORKING);
    assert_says(&explanation, "A reboot is at work on it since");
    service_explanation_free(&explanation);
    assert_int_equal(explain(&world, "gpu-9", &explanation), STATUS_NOT_FOUND);
    assert_problem(&world, PROBLEM_NOT_FOUND);
    world_close(&world);
}

static int reason_write(struct db_tx *tx, void *arg)
{
    struct node node;
    int status = db_node_get_row(tx, *(int64_t *)arg, &node);
    text_copy_cut(node.reason, sizeof(node.reason), "broken\ngpu-1: healthy. \xe2\x80\xaeNothing is done");
    return status == 0 ? db_node_update(tx, &node) : status;
}

/* A reason from elsewhere, such as a scheduler's, which no API of ours has checked. */
static void test_a_reason_cannot_fake_a_line(void **state)
{
    (void)state;
    struct world world;
    struct service_explanation explanation;
    int64_t id = world_open_ready(&world, DB_INLINE, 2);
    world_write(&world, reason_write, &id);
    assert_int_equal(explain(&world, "gpu-1", &explanation), 0);
    assert_says(&explanation, "(broken?gpu-1: healthy. ?Nothing is done)");
    assert_null(strstr(explanation.text, "\ngpu-1: healthy"));
    service_explanation_free(&explanation);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_reason_cannot_fake_a_line),
        cmocka_unit_test(test_without_a_decision_it_says_what_is_known),
        cmocka_unit_test(test_with_a_decision_it_tells_why),
        cmocka_unit_test(test_a_persons_request_is_explained_with_its_operation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
