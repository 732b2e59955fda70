/* Memory errors: corrected ones by their rate, others at once, and which module it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/checks.h"
#include "tests/unit/agents/machine.h"

#define MC "/sys/devices/system/edac/mc/mc1"

static void counts(const struct machine *machine, const char *corrected, const char *uncorrected)
{
    machine_file(machine, MC "/ce_count", corrected);
    machine_file(machine, MC "/ue_count", uncorrected);
}

static void test_rates(void **state)
{
    struct machine machine = machine_new(*state, "");
    counts(&machine, "1000\n", "0\n");
    machine_file(&machine, MC "/dimm0/dimm_ce_count", "1\n");
    machine_file(&machine, MC "/dimm0/dimm_label", "CPU0_DIMM_A1\n");
    machine_file(&machine, MC "/dimm3/dimm_ce_count", "90\n");
    machine_file(&machine, MC "/dimm3/dimm_label", "CPU0_DIMM_B1\n");
    machine_file(&machine, MC "/dimm4/dimm_ce_count", "many\n");
    struct check_report report = machine_run(&machine, &check_edac);
    assert_int_equal(report.result, CHECK_RESULT_OK);
    report_free(&report);
    counts(&machine, "1099\n", "0\n");
    report = machine_run(&machine, &check_edac);
    assert_int_equal(report.result, CHECK_RESULT_OK);
    report_free(&report);
    counts(&machine, "1130\n", "0\n");
    report = machine_run(&machine, &check_edac);
    const struct check_observation *found = machine_sees(&report, "node.edac.corrected", "mc1");
    assert_non_null(found);
    assert_true(found->is_event);
    assert_int_equal(found->count, 130);
    assert_non_null(strstr(found->text, "CPU0_DIMM_B1"));
    report_free(&report);
    report = machine_run(&machine, &check_edac);
    assert_int_equal(report.result, CHECK_RESULT_OK); /* it is told once */
    report_free(&report);
    machine_free(&machine);
}

static void test_one_that_was_not_corrected(void **state)
{
    struct machine machine = machine_new(*state, "");
    counts(&machine, "0\n", "1\n");
    struct check_report report = machine_run(&machine, &check_edac);
    const struct check_observation *found = machine_sees(&report, "node.edac.uncorrected", "mc1");
    assert_non_null(found);
    assert_true(found->is_event);
    report_free(&report);
    report = machine_run(&machine, &check_edac);
    assert_int_equal(report.result, CHECK_RESULT_OK);
    report_free(&report);
    machine_free(&machine);
}

static void test_nothing_counts(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct check_report report = machine_run(&machine, &check_edac);
    assert_int_equal(report.result, CHECK_RESULT_NOT_APPLICABLE);
    report_free(&report);
    machine_free(&machine);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rates),
        TEST(test_one_that_was_not_corrected),
        TEST(test_nothing_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
