/* What the kernel writes about a port, and what is none of its words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/rdma.h"
#include "agents/checks/sysfs.h"

static void test_states(void **state)
{
    static const char *const none[] = {"", "ACTIVE", "4 ACTIVE", ":", "x: DOWN", "-1: DOWN", "16: NEW", " 4: ACTIVE"};
    (void)state;
    assert_int_equal(rdma_parse_state("4: ACTIVE\n"), RDMA_STATE_ACTIVE);
    assert_int_equal(rdma_parse_state("1: DOWN\n"), 1);
    assert_int_equal(rdma_parse_state("3: Disabled\n"), RDMA_PHYS_STATE_DISABLED);
    assert_int_equal(rdma_parse_state("0: NOP"), 0);
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_int_equal(rdma_parse_state(none[i]), -1);
}

static void test_rates(void **state)
{
    static const char *const none[] = {
        "",          "Gb/sec",    "400",         "400 Mb/sec",     "-400 Gb/sec",
        "2. Gb/sec", ".5 Gb/sec", "2.55 Gb/sec", "1000000 Gb/sec", "9999999999999999 Gb/sec"};
    (void)state;
    assert_int_equal(rdma_parse_rate_mbps("400 Gb/sec (4X NDR)\n"), 400000);
    assert_int_equal(rdma_parse_rate_mbps("2.5 Gb/sec (1X SDR)\n"), 2500);
    assert_int_equal(rdma_parse_rate_mbps("100 Gb/sec (4X EDR)"), 100000);
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_int_equal(rdma_parse_rate_mbps(none[i]), -1);
}

static void test_layers_and_counts(void **state)
{
    static const char *const none[] = {"",   "\n", "-1\n", "+1", " 1", "1 ", "1\n2\n", "0x10", "9223372036854775808",
                                       "N/A"};
    (void)state;
    assert_int_equal(rdma_parse_layer("InfiniBand\n"), RDMA_LAYER_INFINIBAND);
    assert_int_equal(rdma_parse_layer("Ethernet\n"), RDMA_LAYER_ETHERNET);
    assert_int_equal(rdma_parse_layer("Unknown\n"), RDMA_LAYER_OTHER);
    assert_int_equal(sysfs_parse_count("0\n"), 0);
    assert_true(sysfs_parse_count("9223372036854775807\n") == INT64_MAX);
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_int_equal(sysfs_parse_count(none[i]), -1);
}

/* An InfiniBand port that is disabled was disabled; an Ethernet port says so whenever it has no carrier. */
static void test_off(void **state)
{
    (void)state;
    assert_true(rdma_port_is_off(&(struct rdma_port){.phys_state = 3, .layer = RDMA_LAYER_INFINIBAND}));
    assert_false(rdma_port_is_off(&(struct rdma_port){.phys_state = 2, .layer = RDMA_LAYER_INFINIBAND}));
    assert_false(rdma_port_is_off(&(struct rdma_port){.phys_state = 3, .layer = RDMA_LAYER_ETHERNET}));
    assert_true(
        rdma_port_is_off(&(struct rdma_port){.phys_state = 3, .layer = RDMA_LAYER_ETHERNET, .interface_off = true}));
}

static void test_types(void **state)
{
    (void)state;
    assert_int_equal(efa_count_of_type("p4d.24xlarge"), 4);
    assert_int_equal(efa_count_of_type("ml.p5.48xlarge"), 32);
    assert_int_equal(efa_count_of_type("ml.trn1n.32xlarge"), 16);
    assert_int_equal(efa_count_of_type("ml."), -1);
    assert_int_equal(efa_count_of_type(""), -1);
    assert_int_equal(efa_count_of_type("p5.48xlarge "), -1);
    assert_int_equal(efa_count_of_type("ml.ml.p5.48xlarge"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states), cmocka_unit_test(test_rates), cmocka_unit_test(test_layers_and_counts),
        cmocka_unit_test(test_off),    cmocka_unit_test(test_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
