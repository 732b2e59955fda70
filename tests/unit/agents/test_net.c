/* The check of ordinary interfaces and bonds: the words of the kernel, and a node run after run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/checks.h"
#include "agents/checks/net.h"
#include "agents/checks/network_limits.h"
#include "tests/unit/agents/tree.h"

#define ETH0 "/sys/class/net/eth0/"
#define ENS2 "/sys/class/net/ens2/"

static char *sample(const char *name)
{
    autofree char *path = own_printf("tests/data/net/%s", name);
    char *data = NULL;
    size_t len;
    assert_int_equal(file_read(path, 65536, &data, &len), 0);
    return data;
}

/* --- words --------------------------------------------------------------------------------------------------- */

static void test_states(void **state)
{
    static const char *const unknown[] = {"unknown\n", "dormant\n", "testing\n", "notpresent\n", "", "up", "UP\n"};
    (void)state;
    assert_int_equal(net_parse_state("up\n"), NET_UP);
    assert_int_equal(net_parse_state("down\n"), NET_DOWN);
    assert_int_equal(net_parse_state("lowerlayerdown\n"), NET_DOWN);
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
        assert_int_equal(net_parse_state(unknown[i]), NET_UNKNOWN);
}

static void test_routes(void **state)
{
    (void)state;
    autofree char *routes = sample("route"), *routes6 = sample("route6");
    assert_true(net_has_route(routes, "eth0"));
    assert_true(net_has_route(routes, "bond0"));
    assert_false(net_has_route(routes, "eth"));
    assert_false(net_has_route(routes, "eth00"));
    assert_false(net_has_route(routes, ""));
    assert_false(net_has_route("", "eth0"));
    assert_true(net_has_route6(routes6, "eth1"));
    assert_true(net_has_route6(routes6, "beth1"));
    assert_false(net_has_route6(routes6, "eth2")); /* what every interface has that is up */
    assert_false(net_has_route6(routes6, "th1"));
    assert_false(net_has_route6(routes6, ""));
    assert_false(net_has_route6("", "eth1"));
}

static void test_bonds(void **state)
{
    struct net_slave slaves[4];
    (void)state;
    autofree char *text = sample("bond");
    assert_int_equal(net_parse_bond(text, slaves, ARRAY_LEN(slaves)), 2);
    assert_string_equal(slaves[0].name, "ens1");
    assert_string_equal(slaves[1].name, "ens2");
    assert_true(slaves[0].up && slaves[1].up);
    assert_int_equal(net_parse_bond(text, slaves, 1), 1);
    assert_int_equal(
        net_parse_bond(
            "MII Status: down\nSlave Interface: a\nMII Status: going down\nSlave Interface: b\nMII Status: down\n",
            slaves, 4),
        2);
    assert_true(slaves[0].up);
    assert_false(slaves[1].up);
    assert_int_equal(net_parse_bond("", slaves, 4), 0);
    assert_int_equal(net_parse_bond("Slave Interface: \n", slaves, 4), 0);
    assert_int_equal(net_parse_bond("Slave Interface: a-name-that-is-too-long\n", slaves, 4), 0);
    assert_int_equal(net_parse_bond("Slave Interface: a", slaves, 4), 1);
}

/* --- a node -------------------------------------------------------------------------------------------------- */

static struct machine machine_with_interfaces(void **state)
{
    struct machine machine = machine_new(*state, "");
    autofree char *routes = sample("route"), *routes6 = sample("route6"), *bond = sample("bond");
    tree_grow(&machine, "net/node.tree");
    tree_file(&machine, "/proc/net/route", routes);
    tree_file(&machine, "/proc/net/ipv6_route", routes6);
    tree_file(&machine, "/proc/net/bonding/bond0", bond);
    return machine;
}

static void expect(struct machine *machine, const char *code, const char *device)
{
    tree_expect(machine, &check_net, code, device);
}

static void quiet(struct machine *machine, int runs)
{
    for (int i = 0; i < runs; i++)
        expect(machine, NULL, NULL);
}

/* An interface without a cable, a container's, docker's bridge that is down, counters that are not zero. */
static void test_a_healthy_node(void **state)
{
    struct machine machine = machine_with_interfaces(state);
    struct check_report report = machine_run(&machine, &check_net);
    assert_int_equal(report.result, CHECK_RESULT_OK);
    for (size_t i = 0; i < report.measure_count; i++) {
        assert_null(strstr(report.measures[i].labels, "veth"));
        assert_null(strstr(report.measures[i].labels, "\"lo\""));
        assert_null(strstr(report.measures[i].labels, "\"ib0\"")); /* infiniband's */
    }
    report_free(&report);
    tree_file(&machine, "/sys/class/net/veth1a2b/operstate", "down");
    tree_file(&machine, "/sys/class/net/veth1a2b/statistics/rx_dropped", "99999999");
    tree_file(&machine, "/sys/class/net/ens3/carrier_down_count", "9");
    tree_file(&machine, "/sys/class/net/ens4/operstate", "down"); /* it was up, and nothing went by it */
    quiet(&machine, 4);
    machine_free(&machine);
}

static void test_nothing_to_look_at(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct check_report report = machine_run(&machine, &check_net);
    assert_int_equal(report.result, CHECK_RESULT_UNKNOWN); /* no /sys/class/net at all */
    report_free(&report);
    tree_file(&machine, "/sys/class/net/lo/operstate", "unknown");
    report = machine_run(&machine, &check_net);
    assert_int_equal(report.result, CHECK_RESULT_NOT_APPLICABLE);
    report_free(&report);
    machine_free(&machine);
}

static void test_a_link_goes_down_and_comes_back(void **state)
{
    struct machine machine = machine_with_interfaces(state);
    quiet(&machine, 2);
    tree_file(&machine, ENS2 "operstate", "down");
    tree_file(&machine, ENS2 "carrier_down_count", "2");
    tree_file(&machine, ENS2 "speed", "-1");
    expect(&machine, "net.link.flapping", "ens2");
    struct check_report report = machine_run(&machine, &check_net);
    assert_int_equal(report.observation_count, 1);
    assert_string_equal(report.observations[0].code, "net.link.down");
    assert_string_equal(report.observations[0].text, "ens2 was up and is down, as a part of bond0");
    report_free(&report);
    tree_cut(&machine, "/proc/net/route"); /* a node without its network loses its routes, and is no better for it */
    tree_file(&machine, "/proc/net/route", "");
    expect(&machine, "net.link.down", "ens2");
    tree_file(&machine, ENS2 "operstate", "up");
    quiet(&machine, 2);
    machine_free(&machine);
}

/* A management controller on USB, and a function that is lent to containers. */
static void test_interfaces_that_are_not_the_nodes(void **state)
{
    struct machine machine = machine_with_interfaces(state);
    autofree char *routes = own_printf("eth0\t00000000\nens2\t00000000\n");
    tree_file(&machine, "/proc/net/route", routes);
    tree_cut(&machine, "/proc/net/bonding");
    tree_file(&machine, ETH0 "device/bInterfaceNumber", "00");
    tree_file(&machine, ENS2 "device/physfn/vendor", "0x15b3");
    quiet(&machine, 1);
    tree_file(&machine, ETH0 "operstate", "down");
    tree_file(&machine, ENS2 "operstate", "down");
    quiet(&machine, 4);
    machine_free(&machine);
}

static void test_switched_off_is_no_fault(void **state)
{
    struct machine machine = machine_with_interfaces(state);
    quiet(&machine, 2);
    tree_file(&machine, ETH0 "operstate", "down");
    tree_file(&machine, ETH0 "flags", "0x1002");
    tree_file(&machine, ETH0 "carrier_down_count", "2");
    quiet(&machine, 3);
    machine_free(&machine);
}

/* The bond's own watch (ARP) sees what the carrier does not show. */
static void test_a_bond_loses_a_part(void **state)
{
    struct machine machine = machine_with_interfaces(state);
    quiet(&machine, 1);
    tree_file(&machine, "/proc/net/bonding/bond0",
              "Slave Interface: ens1\nMII Status: up\n\nSlave Interface: ens2\nMII Status: down\n");
    expect(&machine, "net.link.flapping", "ens2");
    expect(&machine, "net.link.down", "ens2");
    machine_free(&machine);
}

static void test_a_flap_between_two_looks(void **state)
{
    struct machine machine = machine_with_interfaces(state);
    quiet(&machine, 1);
    tree_file(&machine, ETH0 "carrier_down_count", "3");
    expect(&machine, "net.link.flapping", "eth0");
    tree_cut(&machine, ETH0 "carrier_down_count"); /* an older kernel counts both ways together */
    tree_file(&machine, ETH0 "carrier_changes", "6");
    quiet(&machine, 1);
    tree_file(&machine, ETH0 "carrier_changes", "8");
    expect(&machine, "net.link.flapping", "eth0");
    machine_free(&machine);
}

static void test_a_slower_link(void **state)
{
    struct machine machine = machine_with_interfaces(state);
    quiet(&machine, 1);
    tree_file(&machine, ENS2 "speed", "1000");
    tree_file(&machine, "/sys/class/net/bond0/speed", "26000");
    quiet(&machine, 1);
    expect(&machine, "net.link.speed", "ens2");
    tree_file(&machine, ENS2 "speed", "4294967295"); /* a driver that does not know */
    quiet(&machine, 2);
    tree_file(&machine, ENS2 "speed", "25000");
    quiet(&machine, 3);
    machine_free(&machine);
}

static void test_errors_and_drops_by_rate(void **state)
{
    struct machine machine = machine_with_interfaces(state);
    quiet(&machine, 1);
    tree_file(&machine, ENS2 "statistics/rx_crc_errors", "60");
    tree_file(&machine, ETH0 "statistics/rx_dropped", "60912"); /* a broadcast storm, or a program that does not read */
    quiet(&machine, 1);
    tree_file(&machine, ENS2 "statistics/rx_crc_errors", "121");
    expect(&machine, "net.errors", "ens2");
    tree_file(&machine, ETH0 "statistics/rx_dropped", "200000");
    expect(&machine, "net.drops", "eth0");
    machine_free(&machine);
}

static void test_rates_of_the_site(void **state)
{
    struct machine machine = machine_with_interfaces(state);
    struct agent_settings settings;
    machine_said(&machine, &settings, "net.crcErrors: 9\nnet.drops: 1000000\n");
    quiet(&machine, 1);
    tree_file(&machine, ENS2 "statistics/rx_crc_errors", "9");
    tree_file(&machine, ETH0 "statistics/rx_dropped", "200000");
    quiet(&machine, 1);
    tree_file(&machine, ENS2 "statistics/rx_crc_errors", "19");
    expect(&machine, "net.errors", "ens2");
    agent_settings_free(&settings);
    machine_free(&machine);
}

static void test_while_the_node_starts(void **state)
{
    struct machine machine = machine_with_interfaces(state);
    machine.uptime_ms = 1000;
    quiet(&machine, 1);
    tree_file(&machine, ENS2 "operstate", "down");
    tree_file(&machine, ENS2 "carrier_down_count", "5");
    tree_file(&machine, ENS2 "statistics/rx_errors", "99999");
    for (int run = 1; machine.uptime_ms < NETWORK_BOOT_GRACE_MS && run < 10; run++)
        quiet(&machine, 1);
    expect(&machine, "net.link.down", "ens2");
    machine_free(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_bonds),
        PLACE_TEST(test_a_healthy_node),
        PLACE_TEST(test_nothing_to_look_at),
        PLACE_TEST(test_a_link_goes_down_and_comes_back),
        PLACE_TEST(test_switched_off_is_no_fault),
        PLACE_TEST(test_interfaces_that_are_not_the_nodes),
        PLACE_TEST(test_a_bond_loses_a_part),
        PLACE_TEST(test_a_flap_between_two_looks),
        PLACE_TEST(test_a_slower_link),
        PLACE_TEST(test_errors_and_drops_by_rate),
        PLACE_TEST(test_rates_of_the_site),
        PLACE_TEST(test_while_the_node_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
