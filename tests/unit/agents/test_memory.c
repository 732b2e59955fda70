/* Memory: when it is low, huge pages that nobody has, and swap that goes both ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/memory.h"

#include "agents/checks/checks.h"
#include "tests/unit/agents/machine.h"

static char *sample(void)
{
    char *data = NULL;
    assert_int_equal(file_read("tests/data/proc/meminfo", 1 << 16, &data, NULL), 0);
    return data;
}

static void test_parse(void **state)
{
    static const char *const bad[] = {"", "MemTotal: 1 kB\n", "MemTotal: 0 kB\nMemAvailable: 0 kB\n",
                                      "MemTotal: x kB\nMemAvailable: 1 kB\n",
                                      "MemTotal: 2 kB\nMemAvailable: 1 kB\nHugePages_Total: 1\nHugePages_Free: 2\n"};
    struct memory_info info;
    autofree char *data = sample();
    (void)state;
    assert_true(memory_parse(data, strlen(data), &info));
    assert_int_equal(info.available_kib, 1572864000);
    assert_int_equal(info.huge_total, 5120);
    assert_false(memory_is_low(&info));
    info.available_kib = 900 * 1024;
    assert_true(memory_is_low(&info)); /* of two terabytes */
    info.total_kib = 8 * 1024 * 1024;
    assert_false(memory_is_low(&info));
    info.available_kib = 90 * 1024;
    assert_true(memory_is_low(&info));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(memory_parse(bad[i], strlen(bad[i]), &info));
}

static void test_pressure(void **state)
{
    static const char good[] =
        "some avg10=0.00 avg60=0.00 avg300=9.00 total=1\nfull avg10=1.00 avg60=2.00 avg300=33.25 total=7\n";
    static const char *const bad[] = {"", "full",
                                      "full avg10=1 avg60=2 avg300=", "full avg10=1 avg60=2 avg300=x total=1",
                                      "some avg10=1 avg60=2 avg300=3 total=1"};
    int64_t milli;
    (void)state;
    assert_true(memory_parse_pressure(good, strlen(good), &milli));
    assert_int_equal(milli, 33250);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(memory_parse_pressure(bad[i], strlen(bad[i]), &milli));
}

static void test_huge_pages_that_nobody_has(void **state)
{
    struct machine machine = machine_new(*state, "");
    static const char meminfo[] = "MemTotal: 200000000 kB\nMemAvailable: 100000000 kB\nHugePages_Total: 5120\n"
                                  "HugePages_Free: 120\nHugepagesize: 2048 kB\n";
    machine_file(&machine, "/proc/meminfo", meminfo);
    machine_file(&machine, "/proc/17/status", "Name:\tpython\nHugetlbPages:\t 10240000 kB\n");
    for (int i = 0; i < 3; i++) {
        struct check_report report = machine_run(&machine, &check_memory);
        assert_int_equal(report.result, CHECK_RESULT_OK); /* a program has them */
        report_free(&report);
    }
    machine_file(&machine, "/proc/17/status", "Name:\tpython\nHugetlbPages:\t 0 kB\n");
    for (int i = 0; i < 3; i++) {
        struct check_report report = machine_run(&machine, &check_memory);
        assert_int_equal(report.result, i > 0 ? CHECK_RESULT_FOUND : CHECK_RESULT_OK);
        report_free(&report);
    }
    machine_free(&machine);
}

static void test_swap_and_little_left(void **state)
{
    struct machine machine = machine_new(*state, "");
    machine_file(&machine, "/proc/meminfo", "MemTotal: 200000000 kB\nMemAvailable: 50000 kB\n");
    machine_file(&machine, "/proc/vmstat", "pswpin 0\npswpout 0\n");
    struct check_report report = machine_run(&machine, &check_memory);
    assert_int_equal(report.result, CHECK_RESULT_OK); /* once is a moment */
    report_free(&report);
    machine_file(&machine, "/proc/vmstat", "pswpin 600000\npswpout 10\n");
    report = machine_run(&machine, &check_memory);
    assert_non_null(machine_sees(&report, "node.memory.low", ""));
    assert_null(machine_sees(&report, "node.swap.storm", "")); /* it only came back */
    report_free(&report);
    machine_file(&machine, "/proc/vmstat", "pswpin 1200000\npswpout 600000\n");
    report = machine_run(&machine, &check_memory);
    assert_non_null(machine_sees(&report, "node.swap.storm", ""));
    report_free(&report);
    machine_free(&machine);
}

static void test_a_machine_that_does_not_tell(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct check_report report = machine_run(&machine, &check_memory);
    assert_int_equal(report.result, CHECK_RESULT_UNKNOWN);
    report_free(&report);
    machine_free(&machine);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),    cmocka_unit_test(test_pressure),         TEST(test_huge_pages_that_nobody_has),
        TEST(test_swap_and_little_left), TEST(test_a_machine_that_does_not_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
