/* The InfiniBand check, run after run: what a node's ports do, and what they do without anybody's fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/checks.h"
#include "agents/checks/network_limits.h"
#include "tests/unit/agents/tree.h"

#define PORT "/sys/class/infiniband/mlx5_1/ports/1/"
#define ROCE "/sys/class/infiniband/mlx5_3/ports/1/"
#define ROCE_FLAGS "/sys/class/infiniband/mlx5_3/device/net/ens3/flags"

static struct machine machine_with_ports(void **state)
{
    struct machine machine = machine_new(*state, "");
    tree_grow(&machine, "infiniband/six.tree");
    return machine;
}

static void quiet(struct machine *machine, int runs)
{
    for (int i = 0; i < runs; i++)
        tree_expect(machine, &check_infiniband, NULL, NULL);
}

static void expect(struct machine *machine, const char *code, const char *device)
{
    tree_expect(machine, &check_infiniband, code, device);
}

static void port_is(const struct machine *machine, const char *port, const char *state, const char *phys_state)
{
    autofree char *state_file = own_printf("%sstate", port), *phys_file = own_printf("%sphys_state", port);
    tree_file(machine, state_file, state);
    tree_file(machine, phys_file, phys_state);
}

/* Counters that are not zero, a port without a cable, one whose interface nobody wants up: none is a fault. */
static void test_a_healthy_node(void **state)
{
    struct machine machine = machine_with_ports(state);
    struct check_report report = machine_run(&machine, &check_infiniband);
    bool up = false;
    assert_int_equal(report.result, CHECK_RESULT_OK);
    for (size_t i = 0; i < report.measure_count; i++)
        up = up ||
             (strcmp(report.measures[i].metric, "holdfast_infiniband_port_up") == 0 &&
              strcmp(report.measures[i].labels, "device=\"mlx4_0\",port=\"2\"") == 0 && report.measures[i].value > 0);
    assert_true(up);
    report_free(&report);
    quiet(&machine, 5);
    machine_free(&machine);
}

static void test_no_devices(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct check_report report = machine_run(&machine, &check_infiniband);
    assert_int_equal(report.result, CHECK_RESULT_NOT_APPLICABLE);
    report_free(&report);
    machine_free(&machine);
}

static void test_a_port_goes_down_and_comes_back(void **state)
{
    struct machine machine = machine_with_ports(state);
    quiet(&machine, 2);
    port_is(&machine, PORT, "1: DOWN", "2: Polling");
    tree_file(&machine, PORT "counters/link_downed", "2");
    expect(&machine, "net.ib.flapping", "mlx5_1"); /* at once an event, and a state when it lasts */
    expect(&machine, "net.ib.port-down", "mlx5_1");
    port_is(&machine, PORT, "2: INIT", "5: LinkUp"); /* without a subnet manager nothing goes through */
    expect(&machine, "net.ib.port-down", "mlx5_1");
    port_is(&machine, PORT, "4: ACTIVE", "5: LinkUp");
    quiet(&machine, 3);
    machine_free(&machine);
}

static void test_a_flap_between_two_looks(void **state)
{
    struct machine machine = machine_with_ports(state);
    quiet(&machine, 1);
    tree_file(&machine, PORT "counters/link_downed", "4");
    struct check_report report = machine_run(&machine, &check_infiniband);
    const struct check_observation *flap = machine_sees(&report, "net.ib.flapping", "mlx5_1");
    assert_non_null(flap);
    assert_true(flap->is_event);
    assert_int_equal(flap->count, 3);
    report_free(&report);
    tree_file(&machine, PORT "counters/link_downed", "0"); /* the driver was loaded anew */
    quiet(&machine, 2);
    machine_free(&machine);
}

static void test_switched_off_is_no_fault(void **state)
{
    struct machine machine = machine_with_ports(state);
    quiet(&machine, 2);
    port_is(&machine, PORT, "1: DOWN", "3: Disabled");
    tree_file(&machine, PORT "counters/link_downed", "2");
    tree_file(&machine, ROCE_FLAGS, "0x1002");
    port_is(&machine, ROCE, "1: DOWN", "3: Disabled");
    quiet(&machine, 4);
    port_is(&machine, PORT, "1: DOWN", "2: Polling"); /* switched on, and the other end is not */
    quiet(&machine, 4);
    machine_free(&machine);
}

/* RoCE calls a pulled cable "Disabled"; the interface is still wanted up. */
static void test_a_pulled_ethernet_cable(void **state)
{
    struct machine machine = machine_with_ports(state);
    quiet(&machine, 1);
    port_is(&machine, ROCE, "1: DOWN", "3: Disabled");
    tree_file(&machine, ROCE "rate", "40 Gb/sec (4X QDR)");
    expect(&machine, "net.ib.flapping", "mlx5_3");
    expect(&machine, "net.ib.port-down", "mlx5_3");
    machine_free(&machine);
}

static void test_a_slower_link(void **state)
{
    struct machine machine = machine_with_ports(state);
    quiet(&machine, 1);
    tree_file(&machine, PORT "rate", "100 Gb/sec (1X NDR)");
    quiet(&machine, 1);
    expect(&machine, "net.ib.rate-degraded", "mlx5_1");
    expect(&machine, "net.ib.rate-degraded", "mlx5_1");
    tree_file(&machine, PORT "rate", "400 Gb/sec (4X NDR)");
    quiet(&machine, 2);
    tree_file(&machine, PORT "rate", "broken");
    quiet(&machine, 3);
    machine_free(&machine);
}

static void test_errors_by_rate(void **state)
{
    struct machine machine = machine_with_ports(state);
    quiet(&machine, 1);
    tree_file(&machine, PORT "counters/symbol_error",
              "123"); /* 120 more: what IBTA's bit error rate allows in an hour */
    tree_file(&machine, PORT "counters/port_rcv_errors", "614");
    quiet(&machine, 1);
    tree_file(&machine, PORT "counters/symbol_error", "124");
    expect(&machine, "net.ib.errors", "mlx5_1");
    quiet(&machine, 2);
    tree_file(&machine, PORT "counters/symbol_error", "no number");
    quiet(&machine, 2);
    machine_free(&machine);
}

static void test_while_the_node_starts(void **state)
{
    struct machine machine = machine_with_ports(state);
    machine.uptime_ms = 1000;
    quiet(&machine, 1);
    port_is(&machine, PORT, "1: DOWN", "2: Polling");
    tree_file(&machine, PORT "counters/link_downed", "9");
    tree_file(&machine, PORT "counters/symbol_error", "9999");
    for (int run = 1; machine.uptime_ms < NETWORK_BOOT_GRACE_MS && run < 10; run++)
        quiet(&machine, 1);
    expect(&machine, "net.ib.port-down", "mlx5_1"); /* it never came back */
    machine_free(&machine);
}

static void test_a_device_goes_away(void **state)
{
    struct machine machine = machine_with_ports(state);
    quiet(&machine, 1);
    tree_cut(&machine, "/sys/class/infiniband/mlx5_1");
    quiet(&machine, 2); /* long enough for a driver to be loaded anew */
    expect(&machine, "net.ib.missing", "");
    tree_cut(&machine, "/sys/class/infiniband");
    expect(&machine, "net.ib.missing", "");
    tree_grow(&machine, "infiniband/six.tree");
    quiet(&machine, 3);
    machine_free(&machine);
}

/* A container was given the device, and it is hidden from us: the bus still shows that there is one. */
static void test_a_device_that_was_lent(void **state)
{
    struct machine machine = machine_with_ports(state);
    for (int i = 0; i < 6; i++) {
        autofree char *file = own_printf("/sys/bus/pci/devices/0000:b%d:00.0/infiniband/uevent", i);
        tree_file(&machine, file, "");
    }
    tree_file(&machine, "/sys/class/infiniband/mlx5_9/ports/1/state", "4: ACTIVE");
    tree_file(&machine, "/sys/class/infiniband/mlx5_9/device/physfn/vendor", "0x15b3"); /* virtual: comes and goes */
    quiet(&machine, 1);
    tree_cut(&machine, "/sys/class/infiniband/mlx5_1");
    tree_cut(&machine, "/sys/class/infiniband/mlx5_9");
    quiet(&machine, 5);
    tree_cut(&machine, "/sys/bus/pci/devices/0000:b1:00.0");
    quiet(&machine, 2);
    expect(&machine, "net.ib.missing", "");
    machine_free(&machine);
}

/* Soft-RoCE over an ordinary interface: not the node's, whatever becomes of it. */
static void test_a_device_of_software(void **state)
{
    struct machine machine = machine_new(*state, "");
    autofree char *link = own_printf("%s/sys/class/infiniband/rxe0", machine.root);
    tree_file(&machine, "/sys/devices/virtual/infiniband/rxe0/ports/1/state", "4: ACTIVE");
    tree_file(&machine, "/sys/class/infiniband/placeholder", "");
    assert_int_equal(symlink("../../devices/virtual/infiniband/rxe0", link), 0);
    struct check_report report = machine_run(&machine, &check_infiniband);
    assert_int_equal(report.result, CHECK_RESULT_NOT_APPLICABLE);
    report_free(&report);
    machine_free(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(test_a_healthy_node),
        PLACE_TEST(test_no_devices),
        PLACE_TEST(test_a_port_goes_down_and_comes_back),
        PLACE_TEST(test_a_flap_between_two_looks),
        PLACE_TEST(test_switched_off_is_no_fault),
        PLACE_TEST(test_a_pulled_ethernet_cable),
        PLACE_TEST(test_a_slower_link),
        PLACE_TEST(test_errors_by_rate),
        PLACE_TEST(test_while_the_node_starts),
        PLACE_TEST(test_a_device_goes_away),
        PLACE_TEST(test_a_device_that_was_lent),
        PLACE_TEST(test_a_device_of_software),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
