/* Processors: exceptions that are counted, some that went away, and marks of the kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/cpu.h"

#include "agents/checks/checks.h"
#include "tests/unit/agents/machine.h"

static void test_parse(void **state)
{
    static const char *const bad_lists[] = {"", "\n", "1-", "-1", "3-1", "0-", "a", "0,", "0-99999999", "0 1", "1--2"};
    autofree char *data = NULL;
    int64_t value;
    (void)state;
    assert_int_equal(file_read("tests/data/proc/interrupts", 1 << 16, &data, NULL), 0);
    assert_true(cpu_parse_interrupts(data, strlen(data), "MCP:", &value));
    assert_int_equal(value, 1290 + 3 * 1291);
    assert_true(cpu_parse_interrupts(data, strlen(data), "THR:", &value));
    assert_int_equal(value, 3);
    assert_false(cpu_parse_interrupts(data, strlen(data), "XYZ:", &value));
    assert_true(cpu_parse_interrupts(" MCE: 9223372036854775000 5 9223372036854775000", 45, "MCE:", &value));
    assert_true(cpu_parse_list("0-3,8,10-11\n", 12, &value));
    assert_int_equal(value, 7);
    for (size_t i = 0; i < ARRAY_LEN(bad_lists); i++)
        if (cpu_parse_list(bad_lists[i], strlen(bad_lists[i]), &value))
            fail_msg("%s", bad_lists[i]);
    assert_string_equal(cpu_taint(0x1201), ""); /* P, W, O: daily bread */
    assert_true(cpu_taint(1 << 7)[0] != '\0');
}

static const char *first_code(struct machine *machine, char code[CODE_MAX_BYTES])
{
    struct check_report report = machine_run(machine, &check_cpu);
    code[0] = '\0';
    if (report.observation_count > 0)
        memcpy(code, report.observations[0].code, CODE_MAX_BYTES);
    report_free(&report);
    return code;
}

static void test_exceptions(void **state)
{
    struct machine machine = machine_new(*state, "");
    char code[CODE_MAX_BYTES];
    machine_file(&machine, "/proc/interrupts", "     CPU0 CPU1\n MCE: 1 0 Machine check exceptions\n");
    assert_string_equal(first_code(&machine, code), ""); /* of what was before us, the kernel log tells */
    machine_file(&machine, "/proc/interrupts", "     CPU0 CPU1\n MCE: 1 1 Machine check exceptions\n");
    assert_string_equal(first_code(&machine, code), "node.machine-check");
    assert_string_equal(first_code(&machine, code), "");
    machine_free(&machine);
}

static void test_corrected_by_the_sites_rate(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct agent_settings settings;
    char code[CODE_MAX_BYTES];
    machine_file(&machine, "/proc/interrupts", "     CPU0 CPU1\n THR: 0 0 Threshold APIC interrupts\n");
    assert_string_equal(first_code(&machine, code), "");
    machine_file(&machine, "/proc/interrupts", "     CPU0 CPU1\n THR: 20 20 Threshold APIC interrupts\n");
    assert_string_equal(first_code(&machine, code), ""); /* a hundred within an hour are too many */
    machine_said(&machine, &settings, "cpu.corrected: 30\n");
    machine_file(&machine, "/proc/interrupts", "     CPU0 CPU1\n THR: 40 40 Threshold APIC interrupts\n");
    assert_string_equal(first_code(&machine, code), "node.machine-check");
    agent_settings_free(&settings);
    machine_free(&machine);
}

static void test_processors(void **state)
{
    struct machine machine = machine_new(*state, "");
    char code[CODE_MAX_BYTES];
    machine_file(&machine, "/sys/devices/system/cpu/smt/control", "on\n");
    machine_file(&machine, "/sys/devices/system/cpu/online", "0-62\n"); /* as it began */
    assert_string_equal(first_code(&machine, code), "");
    machine_file(&machine, "/sys/devices/system/cpu/online", "0-61\n");
    assert_string_equal(first_code(&machine, code), "node.cpu.offline");
    assert_string_equal(first_code(&machine, code), "node.cpu.offline");
    machine_file(&machine, "/sys/devices/system/cpu/smt/control", "off\n"); /* somebody's request */
    assert_string_equal(first_code(&machine, code), "");
    machine_free(&machine);
}

static void test_marks(void **state)
{
    struct machine machine = machine_new(*state, "");
    char code[CODE_MAX_BYTES];
    machine_file(&machine, "/proc/sys/kernel/tainted", "4097\n");
    assert_string_equal(first_code(&machine, code), "");
    machine_file(&machine, "/proc/sys/kernel/tainted", "4225\n");
    assert_string_equal(first_code(&machine, code), "node.kernel.taint");
    machine_free(&machine);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse), TEST(test_exceptions), TEST(test_corrected_by_the_sites_rate),
        TEST(test_processors),        TEST(test_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
