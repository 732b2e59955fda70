/* The lines of what is open beside a decision: read, compared, and survived where somebody has changed them. */
#include "model/beside.h"

#include "base/own.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void lines_come_out_as_they_went_in(void **state)
{
    const char *at = "application-fault xid.31 0000:b9:00\nwatch node.disk.low \nno-such-rule a b c\n";
    struct decision_beside beside;
    (void)state;
    assert_true(decision_beside_next(&at, &beside));
    assert_int_equal(beside.rule, RULE_APPLICATION_FAULT);
    assert_string_equal(beside.code, "xid.31");
    assert_string_equal(beside.device, "0000:b9:00");
    assert_true(decision_beside_next(&at, &beside));
    assert_string_equal(beside.code, "node.disk.low");
    assert_string_equal(beside.device, "");
    assert_true(decision_beside_next(&at, &beside));
    assert_int_equal(beside.rule, RULE_FORMER);
    assert_string_equal(beside.device, "b c");
    assert_false(decision_beside_next(&at, &beside));
}

static void what_is_no_line_ends_them(void **state)
{
    static const char *const hostile[] = {"", "\n", "watch", "watch xid.1", "watch\nxid.1 b", " \n", "watch xid.1\n b"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
        autofree char *copy = own_strdup(hostile[i]); /* so that a byte behind its end is seen */
        const char *at = copy;
        struct decision_beside beside;
        assert_false(decision_beside_next(&at, &beside));
        assert_ptr_equal(at, copy);
        assert_false(decision_beside_is_new(copy, copy));
    }
    autofree char *longer = own_calloc(200, 1);
    memset(longer, 'x', 150);
    longer[50] = longer[100] = ' ';
    const char *at = longer;
    struct decision_beside beside;
    assert_false(decision_beside_next(&at, &beside));
}

static void only_a_line_that_was_not_there_is_new(void **state)
{
    (void)state;
    assert_true(decision_beside_is_new("watch a b\n", ""));
    assert_false(decision_beside_is_new("", "watch a b\n"));
    assert_false(decision_beside_is_new("watch a b\n", "watch c d\nwatch a b\n"));
    assert_true(decision_beside_is_new("watch a b\n", "watch a bc\n"));
    assert_true(decision_beside_is_new("watch a b\n", "rate-exceeded a b\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_out_as_they_went_in),
        cmocka_unit_test(what_is_no_line_ends_them),
        cmocka_unit_test(only_a_line_that_was_not_there_is_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
