/* Decisions: round trip with gates and evidence, the last one, the operation that is added later. */
#include "db_world.h"

#include <inttypes.h>

static struct decision full_decision(int64_t node_id)
{
    struct decision decision = {.node_id = node_id,
                                .at = WORLD_NOW,
                                .action = ACTION_HOLD,
                                .urgency = URGENCY_NOW,
                                .rule = RULE_REPEAT_AFTER_REBOOT,
                                .code = "xid.79",
                                .device = "0000:b9:00",
                                .sentence = "The device fell off the bus again.",
                                .refused = ACTION_REPLACE,
                                .refused_why = "1 of 1 in repair",
                                .evidence_count = DECISION_EVIDENCE_MAX + 3,
                                .group = {64, 3, -1, 1, 0},
                                .retry_at = WORLD_NOW + 1,
                                .operation_id = 5,
                                .beside = "watch xid.32 0000:3b:00\n",
                                .table_version = "2026-11-20"};
    for (int i = 0; i < DECISION_EVIDENCE_MAX; i++)
        decision.evidence[i] = 100 - i;
    for (int gate = 0; gate < GATE_COUNT; gate++) {
        decision.gates[gate].result = (enum gate_result)(gate % 3);
        if (gate % 3 != GATE_RESULT_NOT_ASKED)
            snprintf(decision.gates[gate].detail, sizeof(decision.gates[gate].detail), "detail %d", gate);
    }
    SET(decision.gates[0].detail, "not asked, and says why");
    return decision;
}

static void assert_same_decision(const struct decision *a, const struct decision *b)
{
    assert_int_equal(a->id, b->id);
    assert_int_equal(a->node_id, b->node_id);
    assert_int_equal(a->at, b->at);
    assert_int_equal(a->action, b->action);
    assert_int_equal(a->urgency, b->urgency);
    assert_int_equal(a->rule, b->rule);
    assert_string_equal(a->code, b->code);
    assert_string_equal(a->device, b->device);
    assert_string_equal(a->sentence, b->sentence);
    assert_int_equal(a->refused, b->refused);
    assert_string_equal(a->refused_why, b->refused_why);
    assert_int_equal(a->evidence_count, b->evidence_count);
    assert_memory_equal(&a->group, &b->group, sizeof(a->group));
    assert_string_equal(a->beside, b->beside);
    assert_int_equal(a->retry_at, b->retry_at);
    assert_int_equal(a->operation_id, b->operation_id);
    assert_string_equal(a->table_version, b->table_version);
    for (int gate = 0; gate < GATE_COUNT; gate++) {
        assert_int_equal(a->gates[gate].result, b->gates[gate].result);
        assert_string_equal(a->gates[gate].detail, b->gates[gate].detail);
    }
    assert_memory_equal(a->evidence, b->evidence, sizeof(a->evidence));
}

static void test_every_field_comes_back(void **state)
{
    struct world *w = *state;
    struct decision full = full_decision(w->nodes[0].id), bare = {.node_id = w->nodes[1].id}, out;
    struct decision *const in[] = {&full, &bare};
    for (size_t i = 0; i < ARRAY_LEN(in); i++) {
        MUST(db_decision_insert(w->tx, in[i]));
        memset(&out, 0xee, sizeof(out));
        MUST(db_decision_get_row(w->tx, in[i]->id, &out));
        assert_same_decision(in[i], &out);
        memset(&out, 0xee, sizeof(out));
        MUST(db_decision_last(w->tx, in[i]->node_id, &out));
        assert_same_decision(in[i], &out);
    }
}

static void test_the_last_and_the_list_newest_first(void **state)
{
    struct world *w = *state;
    int64_t ids[3];
    for (int i = 0; i < 3; i++) {
        struct decision decision = full_decision(w->nodes[0].id);
        decision.at = WORLD_NOW - i; /* the order is that of recording, not of the clock */
        MUST(db_decision_insert(w->tx, &decision));
        ids[i] = decision.id;
    }
    struct decision out;
    MUST(db_decision_last(w->tx, w->nodes[0].id, &out));
    assert_int_equal(out.id, ids[2]);
    struct rows rows = ROWS(struct decision);
    MUST(db_decision_list(w->tx, w->nodes[0].id, 2, rows_add, &rows));
    assert_int_equal(rows.count, 2);
    assert_int_equal(ROW(rows, struct decision, 0)->id, ids[2]);
    assert_int_equal(ROW(rows, struct decision, 1)->id, ids[1]);
    assert_int_equal(ROW(rows, struct decision, 1)->evidence[1], 99);
    assert_int_equal(db_decision_last(w->tx, w->nodes[1].id, &out), STATUS_NOT_FOUND);
}

static void test_the_operation_is_added_later(void **state)
{
    struct world *w = *state;
    struct decision in = full_decision(w->nodes[0].id), out;
    in.operation_id = 0;
    MUST(db_decision_insert(w->tx, &in));
    MUST(db_decision_set_operation(w->tx, in.id, 42));
    MUST(db_decision_get_row(w->tx, in.id, &out));
    assert_int_equal(out.operation_id, 42);
    assert_int_equal(db_decision_set_operation(w->tx, 999, 42), STATUS_NOT_FOUND);
}

static void test_what_is_refused(void **state)
{
    struct world *w = *state;
    struct decision orphan = full_decision(999), out;
    assert_int_equal(db_decision_insert(w->tx, &orphan), STATUS_NOT_FOUND);
    assert_int_equal(orphan.id, 0);
    assert_int_equal(db_decision_get_row(w->tx, 999, &out), STATUS_NOT_FOUND);
}

/* A row that this binary never wrote is said to be unreadable, and nothing is read beyond its end. */
static void test_damaged_gates_and_evidence(void **state)
{
    struct world *w = *state;
    static const char *const damage[] = {
        "gates = 'owner'",
        "gates = 'owner passed'",
        "gates = 'owner passed 0 '",
        "gates = 'owner passed 5 abc' || char(10)",
        "gates = 'owner passed 2 abc' || char(10)",
        "gates = 'owner passed -1 ' || char(10)",
        "gates = 'owner passed 99999999999999999999 x' || char(10)",
        "gates = 'owner passed 100000 ' || hex(zeroblob(50000)) || char(10)",
        "gates = 'owner perhaps 0 ' || char(10)",
        "gates = 'nobody passed 0 ' || char(10)",
        "gates = hex(zeroblob(50)) || ' passed 0 ' || char(10)",
        "gates = char(10)",
        "evidence = 'x'",
        "evidence = '1 x'",
        "evidence = '1 2 3 4 5 6 7 8 9'",
    };
    for (size_t i = 0; i < ARRAY_LEN(damage); i++) {
        struct decision in = full_decision(w->nodes[0].id), out;
        MUST(db_decision_insert(w->tx, &in));
        autofree char *sql = own_printf("UPDATE decision SET %s WHERE id = %" PRId64, damage[i], in.id);
        MUST(db_script(w->tx, sql));
        if (db_decision_get_row(w->tx, in.id, &out) != STATUS_IO)
            fail_msg("%s was read", damage[i]);
    }
}

/* Details are whatever was seen: nothing in one is taken for another gate. */
static void test_a_detail_may_be_any_text(void **state)
{
    struct world *w = *state;
    struct decision in = full_decision(w->nodes[0].id), out;
    SET(in.gates[GATE_OWNER].detail, "a\nowner failed 3 x\n\xc3\xa9 ");
    memset(in.gates[GATE_BREAKER].detail, 'y', sizeof(in.gates[GATE_BREAKER].detail) - 1);
    in.evidence[0] = INT64_MAX;
    MUST(db_decision_insert(w->tx, &in));
    MUST(db_decision_get_row(w->tx, in.id, &out));
    assert_same_decision(&in, &out);
}

/* A decision of a version that had other rules is shown, and its text stays. */
static void test_a_rule_of_another_version(void **state)
{
    struct world *w = *state;
    struct decision in = full_decision(w->nodes[0].id), out;
    MUST(db_decision_insert(w->tx, &in));
    MUST(db_script(w->tx, "UPDATE decision SET rule = 'zone-lost'"));
    MUST(db_decision_get_row(w->tx, in.id, &out));
    assert_int_equal(out.rule, RULE_FORMER);
    MUST(db_decision_set_operation(w->tx, in.id, 42));
    MUST(db_script(w->tx, "UPDATE decision SET rule = 'watch' WHERE rule = 'zone-lost'"));
    MUST(db_decision_get_row(w->tx, in.id, &out));
    assert_int_equal(out.rule, RULE_WATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_every_field_comes_back),       WORLD_TEST(test_the_last_and_the_list_newest_first),
        WORLD_TEST(test_the_operation_is_added_later), WORLD_TEST(test_what_is_refused),
        WORLD_TEST(test_damaged_gates_and_evidence),   WORLD_TEST(test_a_detail_may_be_any_text),
        WORLD_TEST(test_a_rule_of_another_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
