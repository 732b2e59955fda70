/* What a fleet measures of itself: numbers with units, medians that bad machines do not move, and limits that name them. */
#include "base/own.h"
#include "cli/baseline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void numbers_are_read_strictly(void **state)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"0", 0}, {"38211.20", 38211.2}, {"58.59 Gbit/s", 58.59}, {"97 %", 97}, {"123456789012345", 123456789012345.0}};
    static const char *const bad[] = {"",
                                      "-1",
                                      "+1",
                                      ".5",
                                      "1.",
                                      "1e3",
                                      "0x10",
                                      "nan",
                                      "inf",
                                      " 1",
                                      "1,5",
                                      "1 2",
                                      "1\n",
                                      "1us",
                                      "1.2.3",
                                      "12 \x1b[31m",
                                      "none",
                                      "1 GB;",
                                      "8/8x",
                                      "1\xff",
                                      "1  2",
                                      "1.2.",
                                      "1234567890123456"};
    double value;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (!baseline_number(good[i].text, &value) || !near(value, good[i].value))
            fail_msg("%s", good[i].text);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (baseline_number(bad[i], &value))
            fail_msg("\"%s\" was read as %g", bad[i], value);
}

static void adapters_are_taken_together(void **state)
{
    char measure[BASELINE_NAME_MAX];
    (void)state;
    baseline_measure("EFA_LOOPBACK", "rdmap0s29 MB/s", measure);
    assert_string_equal(measure, "EFA MB/s");
    baseline_measure("EFA", "rdmap0s30 latency us", measure);
    assert_string_equal(measure, "EFA latency us");
    baseline_measure("DEVICE_COUNT", "NVLinks", measure);
    assert_string_equal(measure, "NVLinks");
    assert_true(baseline_less_is_better("EFA latency us"));
    assert_false(baseline_less_is_better("EFA MB/s"));
}

static void a_bad_machine_does_not_move_the_limit(void **state)
{
    double values[] = {101, 99, 100, 102, 98, 100, 20};
    struct baseline b;
    (void)state;
    baseline_recount(values, ARRAY_LEN(values), false, &b);
    assert_true(b.proposes && !b.at_most);
    assert_true(near(b.median, 100) && near(b.deviation, 1));
    assert_true(near(b.limit, 95)); /* 4.4 would be three deviations: 5 % is more */
    assert_true(baseline_is_outlier(&b, 20));
    assert_false(baseline_is_outlier(&b, 98));
    assert_false(baseline_is_outlier(&b, 500)); /* more is better */
}

static void what_scatters_has_a_wide_limit(void **state)
{
    double values[] = {10, 20, 30, 40, 50};
    struct baseline b;
    (void)state;
    baseline_recount(values, ARRAY_LEN(values), true, &b);
    assert_true(near(b.median, 30) && near(b.deviation, 10));
    assert_true(near(b.limit, 74.5)); /* 30 + 3 * 14.826, rounded up */
    assert_true(near(b.p5, 12) && near(b.p95, 48));
    double wild[] = {1, 2, 300, 400, 500};
    baseline_recount(wild, ARRAY_LEN(wild), false, &b);
    assert_true(near(b.limit, 0)); /* nothing can be asked for */
    assert_false(baseline_is_outlier(&b, 1));
}

static void counts_are_asked_for_exactly(void **state)
{
    double values[] = {144, 144, 144, 143, 144, 144};
    struct baseline b;
    (void)state;
    baseline_recount(values, ARRAY_LEN(values), false, &b);
    assert_true(near(b.limit, 144));
    assert_true(baseline_is_outlier(&b, 143));
}

static void few_samples_propose_nothing(void **state)
{
    double values[] = {1, 100, 100, 100};
    struct baseline b;
    (void)state;
    baseline_recount(values, ARRAY_LEN(values), false, &b);
    assert_false(b.proposes || baseline_is_outlier(&b, 1));
    baseline_recount(values, 1, false, &b);
    assert_true(near(b.median, 1) && near(b.p95, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_strictly),
        cmocka_unit_test(adapters_are_taken_together),
        cmocka_unit_test(a_bad_machine_does_not_move_the_limit),
        cmocka_unit_test(what_scatters_has_a_wide_limit),
        cmocka_unit_test(counts_are_asked_for_exactly),
        cmocka_unit_test(few_samples_propose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
