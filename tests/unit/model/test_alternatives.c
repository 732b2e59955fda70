/* What is said of what a decision did not do, where a person asked for it: that follows from its rule, not from the name of a code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"
#include "base/text.h"
#include "model/alternatives.h"

#include <string.h>

static const char *why_not(struct alternative *list, size_t count, enum action action)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].action == action)
            return list[i].why;
    return "";
}

static void test_a_person_asked(void **state)
{
    (void)state;
    struct alternative list[ALTERNATIVES_MAX];
    static const enum decision_rule rules[] = {RULE_OPERATOR_REQUEST, RULE_PERSON_REQUEST};
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        struct decision decision = {.action = ACTION_REPLACE, .rule = rules[i]};
        size_t count = decision_alternatives(&decision, list);
        assert_string_equal(why_not(list, count, ACTION_REBOOT), "a person asked for something else");
        assert_string_equal(why_not(list, count, ACTION_WATCH), "a person asked for more");
    }
}

static void test_a_code_of_that_name_is_no_person(void **state)
{
    (void)state;
    struct alternative list[ALTERNATIVES_MAX];
    struct decision decision = {.action = ACTION_REPLACE, .rule = RULE_TABLE_REPLACE};
    text_copy_cut(decision.code, sizeof(decision.code), "operator");
    size_t count = decision_alternatives(&decision, list);
    assert_non_null(strstr(why_not(list, count, ACTION_REBOOT), "a reboot is not enough, by the rule"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_person_asked),
        cmocka_unit_test(test_a_code_of_that_name_is_no_person),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
