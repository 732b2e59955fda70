/* PCIe: errors by their rate, links below what both ends can, and files that say nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/pcie.h"

#include "agents/checks/checks.h"
#include "tests/unit/agents/machine.h"

#define PORT "/sys/devices/pci0000:00/0000:00:01.0"
#define DEVICE PORT "/0000:01:00.0"

/* A card behind a port, as sysfs lays them out: the list of the bus has links into the tree. */
static struct machine machine_with_card(void **state, const char *class)
{
    struct machine machine = machine_new(*state, "");
    autofree char *bus = own_printf("%s/sys/bus/pci/devices", machine.root);
    autofree char *link = own_printf("%s/0000:01:00.0", bus);
    assert_int_equal(file_make_dirs(bus, 0755), 0);
    machine_file(&machine, DEVICE "/class", class);
    machine_file(&machine, DEVICE "/max_link_width", "16\n");
    machine_file(&machine, DEVICE "/max_link_speed", "32.0 GT/s PCIe\n");
    machine_file(&machine, PORT "/max_link_width", "16\n");
    machine_file(&machine, PORT "/max_link_speed", "32.0 GT/s PCIe\n");
    assert_int_equal(symlink("../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0", link), 0);
    return machine;
}

/* After two runs: the first may have met it while it was trained. */
static bool is_degraded(struct machine *machine, const char *width, const char *speed)
{
    machine_file(machine, DEVICE "/current_link_width", width);
    machine_file(machine, DEVICE "/current_link_speed", speed);
    struct check_report report = machine_run(machine, &check_pcie);
    report_free(&report);
    report = machine_run(machine, &check_pcie);
    bool found = machine_sees(&report, "node.pcie.link-degraded", "0000:01:00.0") != NULL;
    report_free(&report);
    return found;
}

static void test_links(void **state)
{
    struct machine machine = machine_with_card(state, "0x020700\n");
    assert_false(is_degraded(&machine, "16\n", "32.0 GT/s PCIe\n"));
    assert_true(is_degraded(&machine, "8\n", "32.0 GT/s PCIe\n"));
    assert_true(is_degraded(&machine, "16\n", "16.0 GT/s PCIe\n"));
    assert_false(is_degraded(&machine, "0\n", "Unknown\n"));
    machine_file(&machine, PORT "/max_link_width", "8\n"); /* a slot with fewer lanes */
    assert_false(is_degraded(&machine, "8\n", "32.0 GT/s PCIe\n"));
    machine_free(&machine);
}

static void test_a_gpu_may_be_slow_and_not_narrow(void **state)
{
    struct machine machine = machine_with_card(state, "0x030200\n");
    assert_false(is_degraded(&machine, "16\n", "2.5 GT/s PCIe\n"));
    assert_true(is_degraded(&machine, "4\n", "32.0 GT/s PCIe\n"));
    machine_free(&machine);
}

static void test_others_do_not_matter(void **state)
{
    struct machine machine = machine_with_card(state, "0x060400\n");
    assert_false(is_degraded(&machine, "1\n", "2.5 GT/s PCIe\n"));
    machine_free(&machine);
}

static void errors(const struct machine *machine, int corrected, int fatal)
{
    autofree char *cor = own_printf("RxErr 0\nTOTAL_ERR_COR %d\n", corrected);
    autofree char *fat = own_printf("DLP 0\nTOTAL_ERR_FATAL %d\n", fatal);
    machine_file(machine, DEVICE "/aer_dev_correctable", cor);
    machine_file(machine, DEVICE "/aer_dev_fatal", fat);
}

static void test_errors(void **state)
{
    struct machine machine = machine_with_card(state, "0x030200\n");
    static const struct {
        int corrected, fatal;
        const char *code;
    } runs[] = {{700, 2, NULL}, {750, 2, NULL}, {801, 2, "node.pcie.aer-corrected"}, {801, 3, "node.pcie.aer-fatal"}};
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        errors(&machine, runs[i].corrected, runs[i].fatal);
        struct check_report report = machine_run(&machine, &check_pcie);
        assert_int_equal(report.observation_count, runs[i].code != NULL);
        if (runs[i].code != NULL)
            assert_true(machine_sees(&report, runs[i].code, "0000:01:00.0")->is_event);
        report_free(&report);
    }
    machine_free(&machine);
}

static void test_parse(void **state)
{
    int64_t value;
    autofree char *data = NULL;
    (void)state;
    assert_int_equal(file_read("tests/data/pcie/aer_dev_correctable", 4096, &data, NULL), 0);
    assert_true(pcie_parse_total(data, strlen(data), &value));
    assert_int_equal(value, 6);
    assert_false(pcie_parse_total("TOTAL_ERR_COR\n", 14, &value));
    assert_false(pcie_parse_total("TOTAL_ERR_COR -1\n", 17, &value));
    assert_false(pcie_parse_total("", 0, &value));
    assert_true(pcie_parse_speed("2.5 GT/s PCIe\n", 14, &value));
    assert_int_equal(value, 2500);
    assert_true(pcie_parse_speed("8 GT/s\n", 7, &value)); /* older kernels */
    assert_false(pcie_parse_speed("Unknown speed\n", 14, &value));
    assert_false(pcie_parse_speed("", 0, &value));
    assert_false(pcie_parse_width("255\n", 4, &value));
    assert_false(pcie_parse_width("", 0, &value));
    assert_int_equal(pcie_parse_class("0x010802\n", 9), PCIE_DISK);
    assert_int_equal(pcie_parse_class("0x120000\n", 9), PCIE_ACCELERATOR);
    assert_int_equal(pcie_parse_class("", 0), PCIE_OTHER);
}

static void test_a_machine_without_a_bus(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct check_report report = machine_run(&machine, &check_pcie);
    assert_int_equal(report.result, CHECK_RESULT_NOT_APPLICABLE);
    report_free(&report);
    machine_free(&machine);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_links),
        TEST(test_a_gpu_may_be_slow_and_not_narrow),
        TEST(test_others_do_not_matter),
        TEST(test_errors),
        cmocka_unit_test(test_parse),
        TEST(test_a_machine_without_a_bus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
