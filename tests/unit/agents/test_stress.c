/* What stress-ng says, read from samples in its shape and from hostile ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/deep/stress.h"
#include "base/file.h"
#include "base/own.h"

#include <string.h>

static struct stress_report read_sample(const char *name)
{
    struct stress_report report;
    size_t len;
    autofree char *path = own_printf("tests/data/stress/%s", name), *data = NULL;
    assert_int_equal(file_read(path, 65536, &data, &len), 0);
    stress_read(data, len, &report);
    return report;
}

static void test_metrics(void **state)
{
    struct stress_report report = read_sample("metrics.txt");
    (void)state;
    assert_int_equal(report.metric_count, 3);
    assert_string_equal(report.metrics[0].stressor, "cpu");
    assert_string_equal(report.metrics[0].rate, "1949.21");
    assert_string_equal(report.metrics[2].stressor, "switch");
    assert_string_equal(report.metrics[2].rate, "48617.36");
    assert_string_equal(report.complaint, "");
}

static void test_the_first_complaint_counts(void **state)
{
    struct stress_report report = read_sample("failed.txt");
    (void)state;
    assert_int_equal(report.metric_count, 0);
    assert_string_equal(report.complaint, "vm: detected 3 bit errors while checking memory");
}

static void test_strange_lines_are_passed_over(void **state)
{
    static const char *const lines[] = {"",
                                        "\n\n",
                                        "stress-ng:",
                                        "stress-ng: metrc:",
                                        "stress-ng: metrc: [1",
                                        "stress-ng: metrc: [1]",
                                        "stress-ng: metrc: [1] cpu 1 2 3 4",
                                        "stress-ng: metrc: [1] cpu 1 2 3 4 nan",
                                        "stress-ng: metrc: [1] CPU 1 2 3 4 5",
                                        "stress-ng: metrc: [1] a-stressor-with-much-too-long-a-name 1 2 3 4 5",
                                        "stress-ng: metrc: [1] cpu 1 2 3 4 123456789012345678901234567890",
                                        "other: metrc: [1] cpu 1 2 3 4 5"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct stress_report report;
        stress_read(lines[i], strlen(lines[i]), &report);
        if (report.metric_count != 0 || report.complaint[0] != '\0')
            fail_msg("%s", lines[i]);
    }
}

static void test_no_more_than_fits(void **state)
{
    struct stress_report report;
    char many[4096], line[] = "stress-ng: metrc: [1] cpu 1 2 3 4 5\n", hostile[2048];
    (void)state;
    size_t used = 0;
    for (; used + sizeof(line) < sizeof(many); used += sizeof(line) - 1)
        memcpy(many + used, line, sizeof(line) - 1);
    stress_read(many, used, &report);
    assert_int_equal(report.metric_count, STRESS_METRICS_MAX);
    memset(hostile, '\x1b', sizeof(hostile));
    memcpy(hostile, "stress-ng: fail: [1] ", 21);
    stress_read(hostile, sizeof(hostile), &report);
    assert_int_equal(strlen(report.complaint), sizeof(report.complaint) - 1);
    assert_int_equal(strspn(report.complaint, "?"), sizeof(report.complaint) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_the_first_complaint_counts),
        cmocka_unit_test(test_strange_lines_are_passed_over),
        cmocka_unit_test(test_no_more_than_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
