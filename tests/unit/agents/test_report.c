/* What checks say, through the records of a pipe: what goes in comes out, and bytes that are no records are never believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void say_much(const struct check_context *context, struct check_out *out)
{
    check_found(out, "node.disk.full", "/var lib", 0, "tab\there, feed\nthere, %s", "no \xff UTF-8");
    check_event(out, "node.memory.uncorrected", "", 3, "%d errors", 3);
    check_found(out, "node.disk.full", "\xc3\xa9", 1, "a name of no letters");
    check_value(out, "holdfast_disk_free_bytes", "mountpoint=\"/\"", 0.1);
    check_value(out, "holdfast_none", "", NAN);
    check_remember(out, context->memory, context->memory_len);
}

static void say_nothing(const struct check_context *context, struct check_out *out)
{
    (void)context;
    (void)out;
}

static void say_part(const struct check_context *context, struct check_out *out)
{
    (void)context;
    check_found(out, "a.b", "x", 1, "one");
    check_unknown(out, "the other %s", "hangs");
    check_unknown(out, "a later reason");
}

static void say_not_there(const struct check_context *context, struct check_out *out)
{
    (void)context;
    check_not_applicable(out, "no such device");
}

static void say_too_much(const struct check_context *context, struct check_out *out)
{
    autofree char *memory = own_calloc(CHECK_MEMORY_MAX_BYTES + 1, 1);
    (void)context;
    for (int i = 0; i < CHECK_OBSERVATIONS_MAX + 10; i++)
        check_found(out, "a.b", "", 1, "%d", i);
    for (int i = 0; i < CHECK_VALUES_MAX + 10; i++)
        check_value(out, "m", "", i);
    check_remember(out, memory, CHECK_MEMORY_MAX_BYTES + 1);
}

static struct check_report report_by(void (*run)(const struct check_context *, struct check_out *), const char *memory,
                                     size_t memory_len)
{
    const struct check check = {.name = "test", .run = run};
    const struct check_context context = {.root = "", .memory = memory, .memory_len = memory_len};
    struct check_report report;
    report_of(&check, &context, &report);
    return report;
}

static void test_what_is_said_arrives(void **state)
{
    (void)state;
    struct check_report report = report_by(say_much, "a\tb\n.\0F", 7);
    assert_int_equal(report.result, CHECK_RESULT_FOUND);
    assert_true(report.whole);
    assert_int_equal(report.observation_count, 3);
    assert_string_equal(report.observations[2].device, "x_");
    assert_string_equal(report.observations[0].code, "node.disk.full");
    assert_string_equal(report.observations[0].device, "/var_lib");
    assert_int_equal(report.observations[0].count, 1);
    assert_string_equal(report.observations[0].text, "tab here, feed there, no ? UTF-8");
    assert_false(report.observations[0].is_event);
    assert_true(report.observations[1].is_event);
    assert_int_equal(report.observations[1].count, 3);
    assert_int_equal(report.measure_count, 1);
    assert_string_equal(report.measures[0].labels, "mountpoint=\"/\"");
    assert_true(report.measures[0].value == 0.1);
    assert_int_equal(report.memory_len, 7);
    assert_memory_equal(report.memory, "a\tb\n.\0F", 7);
    report_free(&report);
}

static void test_results_are_told_quarantine(void **state)
{
    (void)state;
    struct check_report report = report_by(say_nothing, "", 0);
    assert_int_equal(report.result, CHECK_RESULT_OK);
    assert_true(report.whole);
    report_free(&report);
    report = report_by(say_part, "", 0);
    assert_int_equal(report.result, CHECK_RESULT_FOUND);
    assert_false(report.whole);
    assert_string_equal(report.why, "the other hangs");
    report_free(&report);
    report = report_by(say_not_there, "", 0);
    assert_int_equal(report.result, CHECK_RESULT_NOT_APPLICABLE);
    assert_false(report.whole);
    report_free(&report);
}

static void test_limits_hold(void **state)
{
    (void)state;
    struct check_report report = report_by(say_too_much, "", 0);
    assert_true(report.whole);
    assert_int_equal(report.observation_count, CHECK_OBSERVATIONS_MAX);
    assert_int_equal(report.measure_count, CHECK_VALUES_MAX);
    assert_null(report.memory);
    report_free(&report);
}

static void test_hostile_bytes_are_unknown(void **state)
{
    static const char *const bad[] = {
        "",                                       /* nothing at all: it was ended */
        "F\ta.b\t\t1\tx\n",                       /* no end */
        "F\ta.b\t\t1\tx\n.",                      /* an end without its feed */
        ".\n.\n",                                 /* something behind the end */
        "..\n",                                   /* no such record */
        "X\tx\n.\n",                              /* nor this */
        "F\ta b\t\t1\tx\n.\n",                    /* a code with a blank */
        "F\t\t\t1\tx\n.\n",                       /* no code */
        "F\ta.b\t\t0\tx\n.\n",                    /* no count */
        "F\ta.b\t\t-1\tx\n.\n",                   /* less than none */
        "F\ta.b\t\t99999999999999999999\tx\n.\n", /* more than there are */
        "F\ta.b\t\t1\n.\n",                       /* a field is missing */
        "F\ta.b\t\t1\tx\ty\n.\n",                 /* one too many */
        "F\ta.b\t\t1\t\x01\n.\n",                 /* a control character */
        "F\ta.b\t\t1\t\xff\n.\n",                 /* no UTF-8 */
        "V\tm\t\tnan\n.\n",
        "V\tm\t\tinf\n.\n",
        "V\tm\t\t1x\n.\n",
        "V\tm\t\t\n.\n",
        "V\t\t\t1\n.\n",
        "M\t5\nab\n.\n", /* less memory than said */
        "M\t1\nab\n.\n", /* more of it */
        "M\t16385\n",    /* too much of it */
        "M\t-1\n\n.\n",
        "U\n.\n",
        "N\t\xc3\x28\n.\n",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct check_report report;
        report_read(bad[i], strlen(bad[i]), &report);
        if (report.whole || report.result == CHECK_RESULT_OK || report.result == CHECK_RESULT_NOT_APPLICABLE)
            fail_msg("believed: %s", bad[i]);
        assert_true(report.why[0] != '\0');
        report_free(&report);
    }
}

static void test_what_came_before_the_end_counts(void **state)
{
    static const char cut[] = "F\ta.b\tdev\t2\tseen\nF\tb.c\t";
    struct check_report report;
    (void)state;
    report_read(cut, strlen(cut), &report);
    assert_int_equal(report.result, CHECK_RESULT_FOUND);
    assert_false(report.whole);
    assert_int_equal(report.observation_count, 1);
    assert_string_equal(report.observations[0].device, "dev");
    report_free(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_said_arrives),
        cmocka_unit_test(test_results_are_told_quarantine),
        cmocka_unit_test(test_limits_hold),
        cmocka_unit_test(test_hostile_bytes_are_unknown),
        cmocka_unit_test(test_what_came_before_the_end_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
