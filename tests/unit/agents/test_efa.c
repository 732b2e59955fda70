/* The check of Elastic Fabric Adapters: how many there are, who sees them, and what they count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/checks.h"
#include "agents/checks/network_limits.h"
#include "base/text.h"
#include "tests/unit/agents/tree.h"

#define COUNTERS "/sys/class/infiniband/rdmap16s27/ports/1/hw_counters/"

static struct machine machine_with_adapters(void **state, const char *instance_type)
{
    struct machine machine = machine_new(*state, instance_type);
    tree_grow(&machine, "efa/p4d.tree");
    return machine;
}

static void expect(struct machine *machine, const char *code, const char *device)
{
    tree_expect(machine, &check_efa, code, device);
}

static void quiet(struct machine *machine, int runs)
{
    for (int i = 0; i < runs; i++)
        expect(machine, NULL, NULL);
}

static void lose_adapter(const struct machine *machine, bool on_bus_too)
{
    tree_cut(machine, "/sys/class/infiniband/rdmap16s27");
    if (on_bus_too)
        tree_cut(machine, "/sys/bus/pci/devices/0000:10:1b.0");
}

static void test_a_whole_node(void **state)
{
    struct machine machine = machine_with_adapters(state, "ml.p4d.24xlarge");
    struct check_report report = machine_run(&machine, &check_efa);
    bool measured = false;
    assert_int_equal(report.result, CHECK_RESULT_OK);
    for (size_t i = 0; i < report.measure_count; i++)
        measured = measured || (strcmp(report.measures[i].metric, "node_amazonefa_rdma_read_bytes") == 0 &&
                                strcmp(report.measures[i].labels, "device=\"rdmap16s27\",port=\"1\"") == 0);
    assert_true(measured);
    report_free(&report);
    quiet(&machine, 12);
    machine.memory_len = 0;
    report = machine_run(&machine, &check_infiniband); /* they are not its business */
    assert_int_equal(report.result, CHECK_RESULT_NOT_APPLICABLE);
    report_free(&report);
    machine_free(&machine);
}

static void test_a_node_without(void **state)
{
    struct machine machine = machine_new(*state, "ml.p5.48xlarge"); /* whoever started it attached none */
    struct check_report report = machine_run(&machine, &check_efa);
    assert_int_equal(report.result, CHECK_RESULT_NOT_APPLICABLE);
    report_free(&report);
    machine_free(&machine);
}

static void test_an_adapter_is_lost(void **state)
{
    struct machine machine = machine_with_adapters(state, "p4d.24xlarge");
    quiet(&machine, 1);
    lose_adapter(&machine, true);
    quiet(&machine, 2);
    struct check_report report = machine_run(&machine, &check_efa);
    assert_int_equal(report.observation_count, 1); /* and not also: fewer than the type has */
    assert_non_null(machine_sees(&report, "efa.device.gone", ""));
    assert_non_null(strstr(report.observations[0].text, "3 adapters are there, and 4 were"));
    report_free(&report);
    tree_grow(&machine, "efa/p4d.tree");
    quiet(&machine, 2);
    machine_free(&machine);
}

static void reboot(struct machine *machine, const char *boot_id)
{
    tree_file(machine, "/proc/sys/kernel/random/boot_id", boot_id);
    machine->uptime_ms = NETWORK_BOOT_GRACE_MS - 100 * 1000;
}

/* It was lost while the machine ran, and a reboot did not bring it back. */
static void test_a_reboot_does_not_help(void **state)
{
    struct machine machine = machine_with_adapters(state, "p4d.24xlarge");
    reboot(&machine, "boot-1");
    quiet(&machine, 3);
    lose_adapter(&machine, true);
    quiet(&machine, 2);
    expect(&machine, "efa.device.gone", "");
    reboot(&machine, "boot-2");
    quiet(&machine, 2); /* drivers load */
    expect(&machine, "efa.device.gone", "");
    tree_grow(&machine, "efa/p4d.tree");
    quiet(&machine, 2);
    reboot(&machine, "boot-3");
    quiet(&machine, 4);
    machine_free(&machine);
}

/* Somebody stopped the machine and took one away. */
static void test_fewer_after_a_reboot(void **state)
{
    struct machine machine = machine_with_adapters(state, "");
    reboot(&machine, "boot-1");
    quiet(&machine, 4);
    lose_adapter(&machine, true);
    reboot(&machine, "boot-2");
    quiet(&machine, 5);
    machine.instance_type = "p4d.24xlarge";
    expect(&machine, "efa.device.fewer", "");
    machine_free(&machine);
}

/* The driver lost it, or is being loaded anew: the bus still has it. */
static void test_a_driver_lets_go(void **state)
{
    struct machine machine = machine_with_adapters(state, "");
    quiet(&machine, 1);
    lose_adapter(&machine, false);
    quiet(&machine, 1);
    tree_grow(&machine, "efa/p4d.tree");
    quiet(&machine, 1);
    lose_adapter(&machine, false);
    quiet(&machine, 2);
    expect(&machine, "efa.driver.missing", "");
    machine.uptime_ms = NETWORK_BOOT_GRACE_MS - 170 * 1000; /* the same, and the node is starting */
    machine.memory_len = 0;
    quiet(&machine, 3);
    expect(&machine, "efa.driver.missing", "");
    machine_free(&machine);
}

static void test_fewer_than_the_type_has(void **state)
{
    struct machine machine = machine_with_adapters(state, "ml.p5en.48xlarge");
    expect(&machine, "efa.device.fewer", "");
    machine.instance_type = "ml.x9.unknown";
    quiet(&machine, 1);
    machine.instance_type = "ml.g6e.24xlarge"; /* more than one expects is no fault */
    quiet(&machine, 1);
    machine.instance_type = "ml.p5en.48xlarge";
    machine.uptime_ms = NETWORK_BOOT_GRACE_MS - 1;
    quiet(&machine, 1);
    expect(&machine, "efa.device.fewer", "");
    machine_free(&machine);
}

static void test_counters(void **state)
{
    static const struct {
        const char *file, *within, *beyond, *code;
    } cases[] = {
        {"rx_drops", "160", "321", "efa.drops"},
        {"rdma_read_wr_err", "160", "321", "efa.errors"},
        {"no_completion_cmds", "0", "1", "efa.errors"},
        {"unresponsive_remote_events", "162", "323", "efa.unresponsive"},
        {"retrans_timeout_events", "164", "325", "efa.retransmits"},
        {"retrans_pkts", "1160", "2221", "efa.retransmits"},
    };
    struct machine machine = machine_with_adapters(state, "");
    quiet(&machine, 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *file = own_printf(COUNTERS "%s", cases[i].file);
        tree_file(&machine, file, cases[i].within);
        quiet(&machine, 1);
        tree_file(&machine, file, cases[i].beyond);
        expect(&machine, cases[i].code, "rdmap16s27");
    }
    tree_file(&machine, COUNTERS "submitted_cmds", "999999999"); /* what is not in the table is not judged */
    quiet(&machine, 1);
    machine_free(&machine);
}

/* Everything remembered of 32 adapters has to fit, or the last of them would be blind. */
static void test_memory_of_the_largest_node(void **state)
{
    struct machine machine = machine_new(*state, "");
    for (int i = 0; i < 32; i++) {
        autofree char *dir = own_printf("/sys/class/infiniband/rdmap%ds%d", 100 + i, 20 + i);
        static const char *const counters[] = {"rx_drops",
                                               "rdma_read_wr_err",
                                               "rdma_write_wr_err",
                                               "no_completion_cmds",
                                               "unresponsive_remote_events",
                                               "impaired_remote_conn_events",
                                               "retrans_timeout_events",
                                               "retrans_pkts"};
        autofree char *vendor = own_printf("%s/device/vendor", dir), *device = own_printf("%s/device/device", dir);
        autofree char *port_state = own_printf("%s/ports/1/state", dir);
        tree_file(&machine, vendor, "0x1d0f");
        tree_file(&machine, device, "0xefa2");
        tree_file(&machine, port_state, "4: ACTIVE");
        for (size_t k = 0; k < ARRAY_LEN(counters); k++) {
            autofree char *file = own_printf("%s/ports/1/hw_counters/%s", dir, counters[k]);
            tree_file(&machine, file, "83829566");
        }
    }
    machine.uptime_ms = INT64_C(1000) * 86400000;
    quiet(&machine, 2);
    tree_file(&machine, "/sys/class/infiniband/rdmap131s51/ports/1/hw_counters/retrans_pkts", "93829566");
    expect(&machine, "efa.retransmits", "rdmap131s51");
    machine_free(&machine);
}

static void says_info(const struct machine *machine, const char *script)
{
    autofree char *data = NULL;
    size_t len;
    assert_int_equal(file_read("tests/data/fabric/info-efa", 65536, &data, &len), 0);
    machine_says(machine, "fi_info", data, len);
    machine_tool(machine, "fi_info", script);
}

static void test_libfabric(void **state)
{
    struct machine machine = machine_with_adapters(state, "");
    says_info(&machine, "[ \"$*\" = '-p efa' ] && cat \"$0.out\"; echo >> \"$0.count\"");
    struct check_report report = machine_run(&machine, &check_efa);
    assert_int_equal(report.observation_count, 1);
    assert_non_null(strstr(report.observations[0].text, "libfabric sees 2 of 4 adapters"));
    assert_string_equal(report.observations[0].code, "efa.provider.missing");
    report_free(&report);
    tree_cut(&machine, "/sys/class/infiniband/rdmap144s27");
    tree_cut(&machine, "/sys/class/infiniband/rdmap160s27");
    tree_cut(&machine, "/sys/bus");
    machine.memory_len = 0;
    autofree char *count = own_printf("%s/fi_info.count", machine.bin), *looks = NULL;
    size_t len;
    assert_int_equal(file_remove_tree(count), 0);
    quiet(&machine, 10);
    assert_int_equal(file_read(count, 100, &looks, &len), 0);
    assert_int_equal(len, 1); /* ten runs, one question */
    machine_free(&machine);
}

static void test_libfabric_that_fails(void **state)
{
    struct machine machine = machine_with_adapters(state, "");
    says_info(&machine, "echo fi_getinfo: -61 >&2; exit 61");
    expect(&machine, "efa.provider.missing", "");
    const char *const broken[] = {"exit 1", "echo nothing that is known"};
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        says_info(&machine, broken[i]);
        struct check_report report = machine_run(&machine, &check_efa);
        assert_int_equal(report.result, CHECK_RESULT_UNKNOWN);
        assert_int_equal(report.observation_count, 0);
        report_free(&report);
    }
    machine_free(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(test_a_whole_node),
        PLACE_TEST(test_a_node_without),
        PLACE_TEST(test_an_adapter_is_lost),
        PLACE_TEST(test_a_reboot_does_not_help),
        PLACE_TEST(test_fewer_after_a_reboot),
        PLACE_TEST(test_a_driver_lets_go),
        PLACE_TEST(test_fewer_than_the_type_has),
        PLACE_TEST(test_counters),
        PLACE_TEST(test_memory_of_the_largest_node),
        PLACE_TEST(test_libfabric),
        PLACE_TEST(test_libfabric_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
