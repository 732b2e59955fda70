/* Neuron devices: a driver's tree of our own making, run after run, in the places of several drivers, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/checks.h"
#include "agents/checks/neuron_ls.h"
#include "agents/checks/neuron_monitor.h"
#include "base/text.h"
#include "policy/faults/faults.h"
#include "tests/unit/agents/tree.h"

#define DEVICES "/sys/devices/virtual/neuron_device"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

static void expect(struct machine *machine, enum check_result result, const char *wanted)
{
    struct check_report report = machine_run(machine, &check_neuron);
    AUTO(text) struct text seen = {0};
    for (size_t i = 0; i < report.observation_count; i++) {
        text_printf(&seen, "%s%s%s %s*%d", i > 0 ? ", " : "", report.observations[i].is_event ? "!" : "",
                    report.observations[i].code, report.observations[i].device, (int)report.observations[i].count);
        assert_non_null(fault_find(report.observations[i].code));
    }
    bool is_expected = strcmp(text_get(&seen), wanted) == 0 && report.result == result;
    if (!is_expected)
        print_error("\"%s\" (%s, %s)\n", text_get(&seen), check_result_text(report.result), report.why);
    report_free(&report);
    assert_true(is_expected);
}

static struct machine machine_of_six(void **state)
{
    struct machine machine = machine_new(*state, "ml.inf2.24xlarge");
    tree_grow(&machine, "neuron/inf2.24xlarge.txt");
    return machine;
}

static void test_well(void **state)
{
    struct machine machine = machine_of_six(state);
    struct check_report report = machine_run(&machine, &check_neuron);
    int devices = 0, values = 0;
    assert_int_equal(report.result, CHECK_RESULT_OK);
    assert_true(report.whole);
    for (size_t i = 0; i < report.measure_count; i++) {
        devices +=
            strcmp(report.measures[i].metric, "holdfast_neuron_devices") == 0 ? (int)report.measures[i].value : 0;
        values += strcmp(report.measures[i].labels, "device=\"neuron5\"") == 0;
    }
    assert_int_equal(devices, 6);
    assert_int_equal(values, 4); /* no corrected errors: this driver does not count them */
    report_free(&report);
    expect(&machine, CHECK_RESULT_OK, "");
    machine_free(&machine);
}

static void test_counters_grow(void **state)
{
    struct machine machine = machine_of_six(state);
    expect(&machine, CHECK_RESULT_OK, "");
    tree_file(&machine, DEVICES "/neuron3/stats/hardware/sram_ecc_uncorrected", "1");
    tree_file(&machine, DEVICES "/neuron3/stats/hardware/mem_ecc_uncorrected", "2");
    tree_file(&machine, DEVICES "/neuron3/stats/hardware/mem_ecc_repairable_uncorrected", "3");
    tree_file(&machine, DEVICES "/neuron4/neuron_core0/stats/status/hw_error/total", "1");
    tree_file(&machine, DEVICES "/neuron4/neuron_core1/stats/status/hw_error/total", "4");
    tree_file(&machine, DEVICES "/neuron5/neuron_core1/stats/status/timeout/total", "2");
    expect(
        &machine, CHECK_RESULT_FOUND,
        "!neuron.memory.uncorrected neuron3*5, !neuron.sram.uncorrected neuron3*1, !neuron.hardware.error neuron4*5, "
        "!neuron.execution.timeout neuron5*2");
    expect(&machine, CHECK_RESULT_OK, ""); /* told once */
    tree_file(&machine, DEVICES "/neuron3/stats/hardware/mem_ecc_uncorrected", "3");
    expect(&machine, CHECK_RESULT_FOUND, "!neuron.memory.uncorrected neuron3*1");
    tree_file(&machine, DEVICES "/neuron3/stats/hardware/mem_ecc_uncorrected", "not a number");
    tree_file(&machine, DEVICES "/neuron3/stats/hardware/mem_ecc_repairable_uncorrected", "-1");
    expect(&machine, CHECK_RESULT_OK, ""); /* away … */
    tree_file(&machine, DEVICES "/neuron3/stats/hardware/mem_ecc_uncorrected", "3");
    tree_file(&machine, DEVICES "/neuron3/stats/hardware/mem_ecc_repairable_uncorrected", "3");
    expect(&machine, CHECK_RESULT_OK, ""); /* … and back again */
    tree_file(&machine, DEVICES "/neuron3/stats/hardware/mem_ecc_uncorrected", "0");
    tree_file(&machine, DEVICES "/neuron3/stats/hardware/mem_ecc_repairable_uncorrected", "1");
    expect(&machine, CHECK_RESULT_FOUND, "!neuron.memory.uncorrected neuron3*1"); /* the driver was loaded anew */
    machine_free(&machine);
}

static void test_another_boot(void **state)
{
    struct machine machine = machine_of_six(state);
    tree_file(&machine, DEVICES "/neuron0/stats/hardware/sram_ecc_uncorrected", "1");
    expect(&machine, CHECK_RESULT_FOUND, "!neuron.sram.uncorrected neuron0*1"); /* before the agent came */
    tree_file(&machine, BOOT_ID, "99999999-2222-3333-4444-555555555555");
    expect(&machine, CHECK_RESULT_FOUND, "!neuron.sram.uncorrected neuron0*1");
    expect(&machine, CHECK_RESULT_OK, "");
    machine_free(&machine);
}

/* Other drivers have other trees: a name is enough. */
static void test_moved_counters(void **state)
{
    struct machine machine = machine_of_six(state);
    tree_cut(&machine, DEVICES "/neuron1/stats/hardware");
    tree_file(&machine, DEVICES "/neuron1/health/ecc/sram_ecc_uncorrected/total", "2");
    tree_file(&machine, DEVICES "/neuron1/mem_ecc_corrected", "9");
    tree_file(&machine, DEVICES "/neuron1/stats/power/sram_ecc_corrected", "9"); /* not looked into */
    expect(&machine, CHECK_RESULT_FOUND, "!neuron.sram.uncorrected neuron1*2, !neuron.memory.corrected neuron1*9");
    tree_cut(&machine, DEVICES "/neuron1/health");
    tree_cut(&machine, DEVICES "/neuron1/mem_ecc_corrected");
    expect(&machine, CHECK_RESULT_OK, "");
    machine_free(&machine);
}

static void test_count(void **state)
{
    struct machine machine = machine_of_six(state);
    tree_cut(&machine, DEVICES "/neuron2");
    machine.uptime_ms = 60000;
    expect(&machine, CHECK_RESULT_UNKNOWN, "");
    machine.uptime_ms = MACHINE_OLD_MS;
    expect(&machine, CHECK_RESULT_FOUND, "neuron.device.missing neuron2*1");
    machine.instance_type = "inf2.48xlarge";
    tree_cut(&machine, DEVICES "/neuron0");
    struct check_report report = machine_run(&machine, &check_neuron);
    assert_int_equal(report.observation_count, 8);
    report_free(&report);
    machine.instance_type = "inf2.xlarge"; /* more than there should be */
    expect(&machine, CHECK_RESULT_OK, "");
    machine_free(&machine);
}

static void test_count_of_an_unknown_type(void **state)
{
    struct machine machine = machine_of_six(state);
    machine.instance_type = "";
    expect(&machine, CHECK_RESULT_OK, "");
    tree_cut(&machine, DEVICES "/neuron5");
    tree_file(&machine, BOOT_ID, "99999999-2222-3333-4444-555555555555");
    expect(&machine, CHECK_RESULT_FOUND, "neuron.device.missing neuron5*1");
    machine_free(&machine);
}

static void test_cores(void **state)
{
    struct machine machine = machine_of_six(state);
    tree_file(&machine, DEVICES "/neuron4/core_count", "1");
    machine.uptime_ms = 60000; /* not yet */
    expect(&machine, CHECK_RESULT_UNKNOWN, "");
    machine.uptime_ms = MACHINE_OLD_MS;
    expect(&machine, CHECK_RESULT_FOUND, "neuron.device.missing neuron4*1");
    tree_file(&machine, DEVICES "/neuron4/core_count", "?");
    expect(&machine, CHECK_RESULT_OK, "");
    assert_int_equal(file_remove_tree(machine.root), 0);
    machine.instance_type = "trn2.3xlarge";
    tree_file(&machine, DEVICES "/neuron0/core_count", "4"); /* two used as one */
    expect(&machine, CHECK_RESULT_OK, "");
    tree_file(&machine, DEVICES "/neuron0/core_count", "7");
    expect(&machine, CHECK_RESULT_FOUND, "neuron.device.missing neuron0*1");
    machine_free(&machine);
}

static void test_no_driver(void **state)
{
    struct machine machine = machine_new(*state, "p5.48xlarge");
    expect(&machine, CHECK_RESULT_NOT_APPLICABLE, "");
    machine.instance_type = "";
    expect(&machine, CHECK_RESULT_NOT_APPLICABLE, "");
    machine.instance_type = "trn1.2xlarge";
    machine.uptime_ms = 60000;
    expect(&machine, CHECK_RESULT_UNKNOWN, "");
    machine.uptime_ms = MACHINE_OLD_MS;
    expect(&machine, CHECK_RESULT_FOUND, "neuron.driver.missing *1");
    machine.instance_type = "";
    tree_file(&machine, "/sys/bus/pci/devices/0000:00:1e.0/vendor", "0x1d0f");
    tree_file(&machine, "/sys/bus/pci/devices/0000:00:1e.0/device", "0xefa1"); /* an adapter */
    expect(&machine, CHECK_RESULT_NOT_APPLICABLE, "");
    tree_file(&machine, "/sys/bus/pci/devices/0000:00:1e.0/device", "0x7164");
    expect(&machine, CHECK_RESULT_FOUND, "neuron.driver.missing *1");
    machine_free(&machine);
}

/* Links that lead back, files in the place of directories, depths, megabytes: it ends, and says nothing of errors. */
static void test_hostile(void **state)
{
    struct machine machine = machine_of_six(state);
    AUTO(text) struct text deep = {0}, noise = {0};
    autofree char *loop = own_printf("%s" DEVICES "/neuron0/stats/loop", machine.root);
    autofree char *top = own_printf("%s" DEVICES "/neuron0", machine.root);
    assert_int_equal(symlink(top, loop), 0);
    text_add(&deep, DEVICES "/neuron0");
    for (int i = 0; i < 30; i++)
        text_add(&deep, "/d");
    text_add(&deep, "/sram_ecc_uncorrected");
    tree_file(&machine, text_get(&deep), "1");
    tree_cut(&machine, DEVICES "/neuron1/stats");
    tree_file(&machine, DEVICES "/neuron1/stats", "a file");
    tree_file(&machine, DEVICES "/neuron2/stats/hardware/other/mem_ecc_uncorrected/total/total", "1");
    for (int i = 0; i < 1 << 20; i++)
        text_add_char(&noise, '9');
    tree_file(&machine, DEVICES "/neuron3/stats/hardware/sram_ecc_uncorrected", text_get(&noise));
    tree_file(&machine, DEVICES "/neuron4/stats/hardware/sram_ecc_uncorrected", "0x1");
    tree_file(&machine, DEVICES "/neuron4/core_count", "99999999999999999999");
    tree_file(&machine, DEVICES "/neuronx/core_count", "2");
    tree_file(&machine, DEVICES "/neuron/core_count", "2");
    tree_file(&machine, DEVICES "/neuron99999999999/core_count", "2");
    expect(&machine, CHECK_RESULT_OK, "");
    tree_file(&machine, DEVICES "/neuron5/neuron_core0/stats/status/hw_error/total", "9223372036854775807");
    tree_file(&machine, DEVICES "/neuron5/neuron_core1/stats/status/hw_error/total", "9223372036854775807");
    struct check_report report = machine_run(&machine, &check_neuron);
    assert_int_equal(report.observation_count, 1);
    report_free(&report);
    machine_free(&machine);
}

static void test_memory_of_others(void **state)
{
    static const char *const memories[] = {"x", "[]", "{\"devices\":7,\"count\":\"x\"}", "{\"count\":123456}",
                                           "{\"devices\":{\"neuron0\":{\"neuron.sram.uncorrected\":\"1\"}}}"};
    struct machine machine = machine_of_six(state);
    machine.instance_type = "";
    for (size_t i = 0; i < ARRAY_LEN(memories); i++) {
        free(machine.memory);
        machine.memory = own_strdup(memories[i]);
        machine.memory_len = strlen(memories[i]);
        expect(&machine, CHECK_RESULT_OK, "");
    }
    machine_free(&machine);
}

/* --- neuron-monitor -------------------------------------------------------------------------------------------------- */

static void test_monitor_parse(void **state)
{
    static const struct {
        const char *said;
        int64_t device, sram; /* of the first; -2: none at all */
    } cases[] = {
        {"{\"system_data\":{\"neuron_hw_counters\":{\"period\":1.0,\"neuron_devices\":[{\"neuron_device_index\":3,"
         "\"mem_ecc_corrected\":1,\"mem_ecc_uncorrected\":0,\"sram_ecc_uncorrected\":2,\"sram_ecc_corrected\":0}],"
         "\"error\":\"\"}}}\n",
         3, 2},
        {"{\"neuron_runtime_data\":[{\"report\":{\"hw_counters\":{\"neuron_devices\":[{\"neuron_device_index\":0,"
         "\"sram_ecc_uncorrected\":5}]}}},7,{\"report\":[]}]}",
         0, 5},
        {"{\"system_data\":{\"neuron_hw_counters\":{\"neuron_devices\":[{\"neuron_device_index\":1}]}}}\n{\"system_da",
         1, -1}, /* the last whole line */
        {"{\"system_data\":{\"neuron_hw_counters\":{\"neuron_devices\":[{\"neuron_device_index\":1,"
         "\"sram_ecc_uncorrected\":-4}]}}}",
         1, -1},
        {"{\"system_data\":{\"memory_info\":{\"period\":0.1}},\"neuron_runtime_data\":[]}\n", 0, -2},
        {"{\"system_data\":{\"neuron_hw_counters\":{\"neuron_devices\":{}}}}", 0, -2},
        {"{\"system_data\":[{\"neuron_device_index\":1}]}", 0, -2},
        {"neuron-monitor: no devices", 0, -2},
        {"\n\n\n", 0, -2},
        {"", 0, -2},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct neuron_ecc ecc[NEURON_DEVICES_MAX];
        size_t len = strlen(cases[i].said);
        autofree char *exact = own_calloc(len > 0 ? len : 1, 1);
        memcpy(exact, cases[i].said, len);
        size_t count = neuron_monitor_parse(exact, len, ecc);
        assert_int_equal(count, cases[i].sram != -2);
        if (count > 0) {
            assert_int_equal(ecc[0].device, cases[i].device);
            assert_int_equal(ecc[0].sram_uncorrected, cases[i].sram);
        }
    }
}

static void monitor_says(const struct machine *machine, int memory)
{
    autofree char *text =
        own_printf("{\"system_data\":{\"neuron_hw_counters\":{\"neuron_devices\":[{\"neuron_device_index\":2,\"mem_ecc_"
                   "corrected\":0,"
                   "\"mem_ecc_uncorrected\":%d,\"sram_ecc_uncorrected\":0,\"sram_ecc_corrected\":0}]}}}\n",
                   memory);
    machine_says(machine, "neuron-monitor", text, strlen(text));
}

static void test_monitor_is_asked(void **state)
{
    struct machine machine = machine_of_six(state);
    machine_tool(&machine, "timeout", "shift 2; exec \"$@\"");
    machine_tool(&machine, "neuron-monitor", "cat \"$0.out\"; exit 124");
    monitor_says(&machine, 4);
    expect(&machine, CHECK_RESULT_OK, ""); /* the tree tells, and is believed */
    tree_cut(&machine, DEVICES "/neuron2/stats/hardware");
    expect(&machine, CHECK_RESULT_FOUND, "!neuron.memory.uncorrected neuron2*4");
    monitor_says(&machine, 5);
    expect(&machine, CHECK_RESULT_OK, ""); /* not each minute */
    machine.uptime_ms += 600000;
    expect(&machine, CHECK_RESULT_FOUND, "!neuron.memory.uncorrected neuron2*1");
    machine_says(&machine, "neuron-monitor", "", 0);
    machine.uptime_ms += 600000;
    expect(&machine, CHECK_RESULT_FOUND, "neuron.monitor.hung *1");
    machine_free(&machine);
}

/* --- neuron-ls ------------------------------------------------------------------------------------------------ */

static size_t listed(const char *sample, struct neuron_listed devices[NEURON_DEVICES_MAX])
{
    autofree char *path = own_printf("tests/data/neuron/%s", sample), *data = NULL;
    size_t len;
    assert_int_equal(file_read(path, NEURON_LS_BYTES_MAX, &data, &len), 0);
    return neuron_ls_parse(data, len, devices);
}

static void test_ls_is_read(void **state)
{
    static const struct {
        const char *text;
        int count;
    } odd[] = {
        {"", 0},
        {"[", 0},
        {"[]", 0},
        {"{}", 0},
        {"Neuron DKMS Driver is not running!", 0},
        {"instance-type: trn1.2xlarge\n[{\"neuron_device\": 0, \"nc_count\": 2}]", 1},
        {"[{\"neuron_device\": \"0\"}, {\"neuron_device\": -1}, {\"neuron_device\": 4096}, {}, 7, null]", 0},
        {"[{\"neuron_device\": 3}, {\"neuron_device\": 3}, {\"neuron_device\": 1}]", 2},
    };
    struct neuron_listed devices[NEURON_DEVICES_MAX];
    (void)state;
    assert_int_equal(listed("ls-inf2.24xlarge.json", devices), 6);
    assert_int_equal(devices[5].number, 5);
    assert_int_equal(devices[5].cores, 2);
    assert_int_equal(listed("ls-trn2.48xlarge.json", devices), 16);
    assert_int_equal(devices[15].logical, 4);
    assert_int_equal(devices[15].cores, 8); /* two are used as one */
    for (size_t i = 0; i < ARRAY_LEN(odd); i++)
        assert_int_equal(neuron_ls_parse(odd[i].text, strlen(odd[i].text), devices), odd[i].count);
}

static void ls_says(const struct machine *machine, const char *sample)
{
    autofree char *path = own_printf("tests/data/neuron/%s", sample), *data = NULL;
    size_t len;
    assert_int_equal(file_read(path, NEURON_LS_BYTES_MAX, &data, &len), 0);
    machine_tool(machine, "neuron-ls", "test \"$*\" = --json-output || exit 9\ncat \"$0.out\"");
    machine_says(machine, "neuron-ls", data, len);
}

/* A device is there when either of the two has it. */
static void test_ls_is_a_second_witness(void **state)
{
    struct machine machine = machine_of_six(state);
    tree_cut(&machine, DEVICES "/neuron2");
    expect(&machine, CHECK_RESULT_FOUND, "neuron.device.missing neuron2*1");
    ls_says(&machine, "ls-inf2.24xlarge.json");
    expect(&machine, CHECK_RESULT_OK, "");
    tree_cut(&machine, DEVICES);
    expect(&machine, CHECK_RESULT_OK, ""); /* a driver whose tree is elsewhere */
    machine_tool(&machine, "neuron-ls", "echo Neuron DKMS Driver is not running!; exit 1");
    expect(&machine, CHECK_RESULT_FOUND, "neuron.driver.missing *1");
    machine_free(&machine);
}

static void test_ls_counts_cores(void **state)
{
    struct machine machine = machine_new(*state, "ml.trn2.48xlarge");
    ls_says(&machine, "ls-trn2.48xlarge.json");
    expect(&machine, CHECK_RESULT_OK, "");
    machine.instance_type = "ml.trn2.3xlarge"; /* more than there should be is no fault */
    expect(&machine, CHECK_RESULT_OK, "");
    machine.instance_type = "ml.trn1.32xlarge";
    ls_says(&machine, "ls-inf2.24xlarge.json");
    struct check_report report = machine_run(&machine, &check_neuron);
    assert_int_equal(report.observation_count, 10);
    assert_non_null(machine_sees(&report, "neuron.device.missing", "neuron15"));
    report_free(&report);
    machine_free(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(test_well),
        PLACE_TEST(test_counters_grow),
        PLACE_TEST(test_another_boot),
        PLACE_TEST(test_moved_counters),
        PLACE_TEST(test_count),
        PLACE_TEST(test_count_of_an_unknown_type),
        PLACE_TEST(test_cores),
        PLACE_TEST(test_no_driver),
        PLACE_TEST(test_hostile),
        PLACE_TEST(test_memory_of_others),
        cmocka_unit_test(test_monitor_parse),
        PLACE_TEST(test_monitor_is_asked),
        cmocka_unit_test(test_ls_is_read),
        PLACE_TEST(test_ls_is_a_second_witness),
        PLACE_TEST(test_ls_counts_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
