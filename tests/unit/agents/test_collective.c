/* What all_reduce_perf and nccom-test print, by samples of ours in their shape, and by what only looks like it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/deep/collective.h"
#include "base/file.h"
#include "base/own.h"

#include <string.h>

#define BYTES_MAX 65536

static struct collective_report read_sample(const char *name)
{
    struct collective_report report;
    autofree char *path = own_printf("tests/data/nccl/%s", name), *data = NULL;
    size_t len;
    assert_int_equal(file_read(path, BYTES_MAX, &data, &len), 0);
    collective_read(data, len, &report);
    return report;
}

static void test_a_table_of_nccl(void **state)
{
    struct collective_report report = read_sample("pair.txt");
    (void)state;
    assert_int_equal(report.rows, 4);
    assert_true(report.max_busbw == 81.87 && report.max_algbw == 43.67 && report.avg_busbw == 29.8512);
    assert_false(report.wrong);
    assert_true(read_sample("wrong.txt").wrong);
}

static void test_a_table_of_netpipe(void **state)
{
    struct collective_report report = read_sample("netpipe.txt");
    (void)state;
    assert_int_equal(report.rows, 3);
    assert_true(report.max_busbw > 1.874 && report.max_busbw < 1.876);
    assert_false(report.wrong);
    static const char *const wrong[] = {
        "1: 65536 bytes 20 times --> fast Mbps in 46.65 usec", "1: 65536 bytes 20 times --> 1.0 Gbps in 46.65 usec",
        "1: many bytes 20 times --> 1.0 Mbps in 46.65 usec", "1: 65536 bytes 20 times -->"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        collective_read(wrong[i], strlen(wrong[i]), &report);
        assert_int_equal(report.rows, 0);
    }
}

static void test_a_table_of_neuron(void **state)
{
    struct collective_report report = read_sample("local.txt");
    (void)state;
    assert_int_equal(report.rows, 2);
    assert_true(report.max_busbw == 52.04 && report.avg_busbw == 47.775);
    report = read_sample("local-failed.txt");
    assert_int_equal(report.rows, 0);
    assert_true(report.wrong);
}

static void test_what_is_no_table(void **state)
{
    static const char *const texts[] = {
        "",
        "8 2 float sum -1 1.0 nan inf 0 1.0 nan inf",
        "-8 2 float sum -1 1.0 1 1 0 1.0 1 1 0",
        "8 2 3 sum -1 1.0 1 1 0 1.0 1 1 0",
        "8 2 float 1.0 1.0.0 1.0",
        "Avg bus bandwidth : 1e400",
        "8 2 float sum -1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
    };
    struct collective_report report;
    (void)state;
    assert_int_equal(read_sample("unreachable.txt").rows, 0);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        collective_read(texts[i], strlen(texts[i]), &report);
        assert_true(report.max_busbw == 0);
    }
    static const char torn[] = "8 2 fl\0at 1 2 3\n8 2 uint8 1 2 3";
    collective_read(torn, sizeof(torn) - 1, &report);
    assert_int_equal(report.rows, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_table_of_nccl),
        cmocka_unit_test(test_a_table_of_netpipe),
        cmocka_unit_test(test_a_table_of_neuron),
        cmocka_unit_test(test_what_is_no_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
