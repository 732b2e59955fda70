/* Tasks that are stuck, told from those that merely wait often; limits; lines of /proc that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/load.h"

#include "agents/checks/checks.h"
#include "base/clock.h"
#include "tests/unit/agents/machine.h"

#define STAT "%d (%s) %c 1 1 1 0 -1 %d 1 2 3 4 5 6 7 8 20 0 1 0 %d 100 200\n"

static void task(const struct machine *machine, int id, const char *name, char task_state, int flags, int start,
                 int switches)
{
    autofree char *stat_file = own_printf("/proc/%d/task/%d/stat", id, id);
    autofree char *status_file = own_printf("/proc/%d/task/%d/status", id, id);
    autofree char *stat_text = own_printf(STAT, id, name, task_state, flags, start);
    autofree char *status_text = own_printf("Name:\t%s\nvoluntary_ctxt_switches:\t%d\n", name, switches);
    machine_file(machine, stat_file, stat_text);
    machine_file(machine, status_file, status_text);
}

static struct check_report look(struct machine *machine)
{
    struct check_report report = machine_run(machine, &check_load);
    assert_true(report.whole);
    return report;
}

static void test_parse(void **state)
{
    static const char good[] = "17 (a b) c) D 1 1 1 0 -1 2097216 1 2 3 4 5 6 7 8 20 0 1 0 4711 100 200\n";
    static const char *const bad[] = {"",
                                      "17",
                                      "17 (a",
                                      "17 a) D 1",
                                      ")(",
                                      "17 (a) D 1 1 1 0 -1 64 1 2 3 4",
                                      "17 (a) DD 1 1 1 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 4711 100",
                                      "17 (a) D 1 1 1 0 -1 x 1 2 3 4 5 6 7 8 20 0 1 0 4711 100"};
    struct load_task parsed;
    int64_t milli, tasks;
    (void)state;
    assert_true(load_parse_stat(good, strlen(good), &parsed));
    assert_string_equal(parsed.name, "a b) c");
    assert_int_equal(parsed.state, 'D');
    assert_int_equal(parsed.start, 4711);
    assert_true(parsed.is_kernel);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(load_parse_stat(bad[i], strlen(bad[i]), &parsed));
    assert_true(load_parse_average("0.50 12.25 3.00 2/1234 99\n", 26, &milli, &tasks));
    assert_int_equal(milli, 12250);
    assert_int_equal(tasks, 1234);
    assert_false(load_parse_average("", 0, &milli, &tasks));
    assert_false(load_parse_average("0.50 12.25 3.00 1234 99", 23, &milli, &tasks));
    assert_false(load_parse_average("0.50 x 3.00 1/2 99", 18, &milli, &tasks));
}

static void test_stuck_for_five_minutes(void **state)
{
    struct machine machine = machine_new(*state, "");
    machine_file(&machine, "/proc/loadavg", "0.10 0.10 0.10 1/100 5\n");
    for (int i = 0; i < 5; i++) {
        task(&machine, 10, "python", 'D', 64, 500, 7);
        task(&machine, 11, "dd", 'D', 64, 500, i);           /* it was run in between */
        task(&machine, 12, "kworker/1", 'D', 2097216, 1, 3); /* waits by habit */
        task(&machine, 13, "idle", 'S', 64, 500, 7);
        struct check_report report = look(&machine);
        assert_int_equal(report.result, CHECK_RESULT_OK);
        report_free(&report);
    }
    struct check_report report = look(&machine);
    const struct check_observation *found = machine_sees(&report, "node.process.stuck", "");
    assert_non_null(found);
    assert_int_equal(report.observation_count, 1);
    assert_non_null(strstr(found->text, "1 tasks"));
    assert_non_null(strstr(found->text, "python (10)"));
    report_free(&report);
    task(&machine, 10, "python", 'D', 64, 501, 7); /* the same number, another process */
    task(&machine, 11, "dd", 'D', 64, 500, 99);
    report = look(&machine);
    assert_int_equal(report.result, CHECK_RESULT_OK);
    report_free(&report);
    machine_free(&machine);
}

static void test_load_and_limits(void **state)
{
    struct machine machine = machine_new(*state, "");
    machine_file(&machine, "/proc/loadavg", "0.10 99999.00 0.10 1/950 5\n");
    machine_file(&machine, "/proc/sys/kernel/threads-max", "4000000\n");
    machine_file(&machine, "/proc/sys/kernel/pid_max", "1000\n");
    machine_file(&machine, "/proc/sys/fs/file-nr", "9000\t0\t10000\n");
    struct check_report report = look(&machine);
    assert_non_null(machine_sees(&report, "node.load.high", ""));
    assert_non_null(machine_sees(&report, "node.process.limit", "tasks"));
    assert_non_null(machine_sees(&report, "node.process.limit", "files"));
    report_free(&report);
    machine_file(&machine, "/proc/loadavg", "0.10 0.00 0.10 1/850 5\n");
    machine_file(&machine, "/proc/sys/fs/file-nr", "9000\t0\t9223372036854775807\n");
    report = look(&machine);
    assert_int_equal(report.result, CHECK_RESULT_OK);
    report_free(&report);
    machine_free(&machine);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        TEST(test_stuck_for_five_minutes),
        TEST(test_load_and_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
