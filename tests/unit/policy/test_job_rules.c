/* Rules over a log: what is late, what is slow, what decides at once, and what stays when rules change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/job/rules.h"

#include <math.h>
#include <string.h>

#define S INT64_C(1000)

static struct rules *named_rule(const char *name, struct rule rule, int ranks)
{
    struct rule_list list = {own_calloc(1, sizeof(struct rule)), 1};
    struct rules *rules = rules_new(ranks);
    rule.name = own_strdup(name);
    rule.pattern = own_strdup("x");
    rule.points = rule.points == 0 ? 1 : rule.points;
    list.rules[0] = rule;
    rules_set(rules, &list, 0);
    return rules;
}

static struct rules *one_rule(struct rule rule, int ranks)
{
    return named_rule("R", rule, ranks);
}

static void line(struct rules *rules, int rank, int64_t at_ms, const char *value)
{
    rules_match(rules, 0, rank, at_ms, "a line", 6, value, value == NULL ? 0 : strlen(value));
}

static bool found(struct rules *rules, int64_t at_ms, enum rule_kind kind, int rank)
{
    struct rule_finding finding;
    rules_tick(rules, at_ms);
    if (!rules_next(rules, &finding))
        return false;
    assert_int_equal(finding.kind, kind);
    assert_int_equal(finding.rank, rank);
    return true;
}

static bool quiet(struct rules *rules, int64_t at_ms)
{
    struct rule_finding finding;
    rules_tick(rules, at_ms);
    return !rules_next(rules, &finding);
}

static void test_first_line_in_time(void **state)
{
    (void)state;
    AUTO(rules) struct rules *rules = one_rule((struct rule){.start_ms = 120 * S}, 2);
    assert_int_equal(rules_due_ms(rules), 120 * S + 1);
    assert_true(quiet(rules, 120 * S));
    line(rules, 1, 120 * S, NULL);
    assert_true(quiet(rules, 1000000 * S)); /* no recurring limit */
    assert_int_equal(rules_due_ms(rules), INT64_MAX);
}

static void test_first_line_late(void **state)
{
    (void)state;
    AUTO(rules) struct rules *rules = named_rule("JobStart", (struct rule){.start_ms = 120 * S}, 2);
    struct rule_finding finding;
    rules_tick(rules, 120 * S + 1);
    assert_true(rules_next(rules, &finding));
    assert_int_equal(finding.kind, RULE_HANG);
    assert_int_equal(finding.rank, -1);
    autofree char *reason = rules_reason(rules, &finding), *sentence = rules_sentence(rules, &finding);
    assert_string_equal(reason, "LogHang_JobStart");
    assert_string_equal(sentence, "No line of rule JobStart within 120 s.");
    assert_true(quiet(rules, 500 * S)); /* once */
}

static void test_gap_names_who_stopped_first(void **state)
{
    (void)state;
    AUTO(rules) struct rules *rules = named_rule("H", (struct rule){.recurring_ms = 300 * S}, 3);
    struct rule_finding finding;
    assert_true(quiet(rules, 10000 * S)); /* nothing is late before the first line */
    line(rules, 0, 10000 * S, NULL);
    line(rules, 2, 10001 * S, NULL);
    assert_true(quiet(rules, 10301 * S));
    rules_tick(rules, 10301 * S + 1);
    assert_true(rules_next(rules, &finding));
    autofree char *sentence = rules_sentence(rules, &finding);
    assert_string_equal(sentence, "No line of rule H for 301 s (limit 300 s); local rank 0 stopped first: a line");
    line(rules, 0, 10400 * S, NULL); /* it goes on: the hang is over, and may come again */
    assert_true(found(rules, 10701 * S, RULE_HANG, 2));
}

static void test_gap_of_one_rank(void **state)
{
    (void)state;
    AUTO(rules) struct rules *rules = one_rule((struct rule){.recurring_ms = 10 * S}, 2);
    line(rules, 1, 0, NULL); /* once only: no rhythm that it could lose */
    for (int64_t at = 0; at <= 60; at += 5)
        line(rules, 0, at * S, NULL);
    assert_true(quiet(rules, 60 * S));
    line(rules, 1, 61 * S, NULL);
    for (int64_t at = 62; at <= 71; at += 3)
        line(rules, 0, at * S, NULL);
    assert_true(quiet(rules, 71 * S));
    assert_true(found(rules, 72 * S, RULE_HANG, 1));
}

static void test_values(void **state)
{
    (void)state;
    static const struct {
        enum rule_operator operator;
        double threshold;
        const char *bad, *good;
    } table[] = {
        {RULE_GT, 2.0, "2.01", "2.0"},   {RULE_GTEQ, 2.5, "2.5", "2.4999"}, {RULE_LT, 100, "99.999", "100"},
        {RULE_LTEQ, 80, "80", "80.001"}, {RULE_EQ, 0, "0.0", "0.1"},        {RULE_GT, 2.0, "nan", "1"},
        {RULE_LT, 2.0, "inf", "3"},      {RULE_GT, 2.0, "-Infinity", "1"},  {RULE_GT, 2.0, " 7e0\t", " 1 "},
        {RULE_GT, -1.5, "-1.4", "-1.6"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        AUTO(rules)
        struct rules *rules = one_rule(
            (struct rule){
                .has_threshold = true, .threshold = table[i].threshold, .operator = table[i].operator, .points = 2},
            1);
        line(rules, 0, 1, table[i].bad);
        line(rules, 0, 2, table[i].good);
        line(rules, 0, 3, table[i].bad);
        assert_true(quiet(rules, 3));
        line(rules, 0, 4, "not a number"); /* neither good nor bad */
        line(rules, 0, 4, NULL);
        assert_true(quiet(rules, 4));
        line(rules, 0, 5, table[i].bad);
        assert_true(found(rules, 5, RULE_SLOW, 0));
        line(rules, 0, 6, table[i].bad);
        assert_true(quiet(rules, 6)); /* it is still slow */
    }
}

static void test_values_are_counted_by_rank(void **state)
{
    (void)state;
    AUTO(rules)
    struct rules *rules =
        one_rule((struct rule){.has_threshold = true, .threshold = 2, .operator= RULE_GT, .points = 5}, 4);
    for (int i = 0; i < 4; i++)
        for (int rank = 0; rank < 4; rank++)
            line(rules, rank, i, "3");
    assert_true(quiet(rules, 9));
    line(rules, 2, 9, "3");
    assert_true(found(rules, 9, RULE_SLOW, 2));
}

static void test_what_is_a_number(void **state)
{
    (void)state;
    static const char *const none[] = {"", " ", "x", "0x10", "1 2", "nan(1)", "1_0", "1,5", "--1", "."};
    double value;
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_false(rule_value(none[i], strlen(none[i]), &value));
    assert_false(rule_value("1\0002", 3, &value));
    assert_true(rule_value("1e400", 5, &value) && isinf(value));
    assert_true(rule_value(" 12.5\n", 6, &value));
    assert_true(value > 12.49 && value < 12.51);
}

static void test_fault_and_stop(void **state)
{
    (void)state;
    AUTO(rules) struct rules *rules = one_rule((struct rule){.fault_on_match = true, .recurring_ms = S}, 2);
    line(rules, 1, 5, NULL);
    assert_true(found(rules, 5, RULE_FAULT, 1));
    rules_stop(rules, 0);
    line(rules, 1, 6, NULL);
    assert_true(quiet(rules, 100 * S));
    assert_true(rules_is_stopped(rules, 0));
}

static void test_worst_first(void **state)
{
    (void)state;
    struct rule_list list = {own_calloc(3, sizeof(struct rule)), 3};
    AUTO(rules) struct rules *rules = rules_new(1);
    list.rules[0] = (struct rule){.name = own_strdup("slow"), .has_threshold = true, .operator= RULE_GT, .points = 1};
    list.rules[1] = (struct rule){.name = own_strdup("hang"), .start_ms = S, .points = 1};
    list.rules[2] = (struct rule){.name = own_strdup("fault"), .fault_on_match = true, .points = 1};
    rules_set(rules, &list, 0);
    rules_match(rules, 0, 0, 1, "7", 1, "7", 1);
    rules_match(rules, 2, 0, 1, "f", 1, NULL, 0);
    rules_tick(rules, 2 * S);
    static const enum rule_kind order[] = {RULE_FAULT, RULE_HANG, RULE_SLOW};
    struct rule_finding finding;
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        assert_true(rules_next(rules, &finding));
        assert_int_equal(finding.kind, order[i]);
    }
    assert_false(rules_next(rules, &finding));
}

static struct rule_list two_rules(int64_t second_start_ms)
{
    struct rule_list list = {own_calloc(2, sizeof(struct rule)), 2};
    list.rules[0] = (struct rule){.name = own_strdup("new"), .start_ms = second_start_ms, .points = 1};
    list.rules[1] =
        (struct rule){.name = own_strdup("R"), .pattern = own_strdup("x"), .recurring_ms = 10 * S, .points = 1};
    return list;
}

static void test_rules_that_change_while_it_runs(void **state)
{
    (void)state;
    AUTO(rules) struct rules *rules = one_rule((struct rule){.recurring_ms = 10 * S}, 1);
    struct rule_finding finding;
    line(rules, 0, 5 * S, NULL);
    struct rule_list list = two_rules(60 * S);
    rules_set(rules, &list, 10 * S); /* the old one is second now, and remembers */
    rules_tick(rules, 15 * S + 1);
    assert_true(rules_next(rules, &finding));
    assert_int_equal(finding.rule, 1);
    assert_true(quiet(rules, 70 * S)); /* the new one began at 10 s */
    rules_tick(rules, 70 * S + 1);
    assert_true(rules_next(rules, &finding));
    assert_int_equal(finding.rule, 0);
    struct rule_list none = {0};
    rules_set(rules, &none, 71 * S);
    assert_true(quiet(rules, 10000 * S));
    assert_int_equal(rules_due_ms(rules), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_line_in_time),
        cmocka_unit_test(test_first_line_late),
        cmocka_unit_test(test_gap_names_who_stopped_first),
        cmocka_unit_test(test_gap_of_one_rank),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_values_are_counted_by_rank),
        cmocka_unit_test(test_what_is_a_number),
        cmocka_unit_test(test_fault_and_stop),
        cmocka_unit_test(test_worst_first),
        cmocka_unit_test(test_rules_that_change_while_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
