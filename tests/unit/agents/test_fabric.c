/* libfabric's tools: what they print, a real measurement over this node's own loopback, and tools that do not work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/fabric.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"
#include "tests/unit/agents/machine.h"

#define HEAD "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
#define ROW "64      10      =10      1.2k        0.00s      3.10      20.65       0.05\n"

static char *sample(const char *path)
{
    char *data = NULL;
    size_t len;
    assert_int_equal(file_read(path, 65536, &data, &len), 0);
    return data;
}

static void test_info(void **state)
{
    (void)state;
    autofree char *text = sample("tests/data/fabric/info-efa");
    struct fabric_info infos[8];
    assert_int_equal(fabric_parse_info(text, infos, ARRAY_LEN(infos)), 4);
    assert_string_equal(infos[0].provider, "efa");
    assert_string_equal(infos[0].domain, "rdmap16s27-rdm");
    assert_string_equal(infos[0].type, "FI_EP_RDM");
    assert_string_equal(infos[1].type, "FI_EP_DGRAM");
    assert_string_equal(infos[3].provider, "tcp;ofi_rxm");
    assert_int_equal(fabric_parse_info(text, infos, 2), 2);
}

static void test_info_that_is_none(void **state)
{
    static const char *const none[] = {
        "",
        "\n\n",
        "fi_getinfo: -61\n",
        "    domain: x\n    type: y\n",
        " provider: efa\n",
        "provider:efa\n",
        "providers: efa\n",
        "provider: 0123456789012345678901234567890123456789012345678901234567890123456789\n"};
    struct fabric_info infos[2];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_int_equal(fabric_parse_info(none[i], infos, ARRAY_LEN(infos)), 0);
    assert_int_equal(fabric_parse_info("provider: a\nprovider: b", infos, ARRAY_LEN(infos)), 2);
    assert_string_equal(infos[1].domain, "");
}

static void test_table(void **state)
{
    (void)state;
    autofree char *text = sample("tests/data/fabric/pingpong");
    struct fabric_speed speed;
    assert_int_equal(fabric_parse_pingpong(text, &speed), 0);
    assert_int_equal(speed.count, 4);
    assert_int_equal(speed.sizes[0].bytes, 64);
    assert_int_equal(speed.sizes[2].bytes, 4096);
    assert_int_equal(speed.sizes[3].bytes, 1048576);
    assert_int_equal(speed.sizes[3].sent, 10);
    assert_int_equal(speed.sizes[0].acknowledged, 10);
    assert_int_equal(speed.sizes[3].acknowledged, 9);
    assert_true(speed.max_mb_per_s > 2210.5 && speed.max_mb_per_s < 2210.6);
    assert_true(speed.min_latency_us > 20.6 && speed.min_latency_us < 20.7);
    assert_int_equal(fabric_parse_pingpong("a warning\n" HEAD ROW "\nmore\n", &speed), 0);
    assert_int_equal(speed.count, 1);
}

static void test_table_that_is_none(void **state)
{
    static const char *const none[] = {
        "",
        HEAD,
        ROW,
        "no " HEAD ROW,
        HEAD "64      10      =10      1.2k        0.00s      3.10      20.65       0.05", /* cut off */
        HEAD ROW "256 10 =10",
        HEAD ROW "256 10 =10\n",
        HEAD "64 10 =10 1.2k 0.00s 3.10 20.65 0.05 9\n",
        HEAD "0 10 =10 1.2k 0.00s 3.10 20.65 0.05\n",
        HEAD "64x 10 =10 1.2k 0.00s 3.10 20.65 0.05\n",
        HEAD "64kk 10 =10 1.2k 0.00s 3.10 20.65 0.05\n",
        HEAD "99999999999999999999 10 =10 1.2k 0.00s 3.10 20.65 0.05\n",
        HEAD "64 -1 =10 1.2k 0.00s 3.10 20.65 0.05\n",
        HEAD "64 10 ==10 1.2k 0.00s 3.10 20.65 0.05\n",
        HEAD "64 10 =10 1.2k 0.00s nan 20.65 0.05\n",
        HEAD "64 10 =10 1.2k 0.00s 3.10 inf 0.05\n",
        HEAD "64 10 =10 1.2k 0.00s 0x3 20.65 0.05\n",
        HEAD "64 10 =10 1.2k 0.00s 1.2.3 20.65 0.05\n",
        HEAD "64 10 =10 1.2k 0.00s 111111111111111111111111 20.65 0.05\n",
    };
    struct fabric_speed speed;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        if (fabric_parse_pingpong(none[i], &speed) != STATUS_INVALID)
            fail_msg("taken: %s", none[i]);
    struct text many = {0};
    text_add(&many, HEAD);
    for (int i = 0; i <= FABRIC_SIZES_MAX; i++)
        text_add(&many, ROW);
    assert_int_equal(fabric_parse_pingpong(many.data, &speed), STATUS_INVALID);
    text_free(&many);
}

static const struct check_context real = {.root = "", .path = NULL, .instance_type = "", .memory = ""};

/* Debian's fi_pingpong, both ends on this machine. */
static void test_a_real_measurement(void **state)
{
    const struct fabric_pingpong test = {.provider = "tcp", .endpoint = "msg", .timeout_ms = 2 * MS_PER_MIN};
    struct fabric_speed speed;
    char why[SENTENCE_MAX_BYTES];
    (void)state;
    int status = fabric_pingpong(&real, &test, &speed, why);
    if (status != 0)
        fail_msg("%s: %s", status_text(status), why);
    assert_true(speed.count >= 4);
    assert_int_equal(speed.sizes[0].bytes, 64);
    assert_int_equal(speed.sizes[0].acknowledged, speed.sizes[0].sent);
    assert_true(speed.max_mb_per_s > 0 && speed.min_latency_us > 0);
}

/* There is no such provider: both ends end, long before the time is over, and the tool's own words are kept. */
static void test_a_provider_that_is_not_there(void **state)
{
    const struct fabric_pingpong test = {.provider = "efa", .endpoint = "rdm", .timeout_ms = 10 * MS_PER_MIN};
    struct fabric_speed speed;
    char why[SENTENCE_MAX_BYTES];
    (void)state;
    assert_int_equal(fabric_pingpong(&real, &test, &speed, why), STATUS_UNSUPPORTED);
    if (strstr(why, "exit code 61") == NULL)
        fail_msg("%s", why);
}

static void test_where_tools_are(void **state)
{
    autofree char *path = fabric_path("/a:/b");
    (void)state;
    assert_string_equal(path, "/a:/b:/opt/amazon/efa/bin");
}

static int with_tool(void **state, const char *script, int64_t timeout_ms, char why[SENTENCE_MAX_BYTES])
{
    const struct fabric_pingpong test = {
        .provider = "tcp", .endpoint = "msg", .domain = "lo", .timeout_ms = timeout_ms};
    struct machine machine = machine_new(*state, "");
    const struct check_context context = {.root = machine.root, .path = machine.bin, .memory = ""};
    struct fabric_speed speed;
    if (script != NULL)
        machine_tool(&machine, "fi_pingpong", script);
    int status = fabric_pingpong(&context, &test, &speed, why);
    machine_free(&machine);
    return status;
}

static void test_tools_that_do_not_work(void **state)
{
    char why[SENTENCE_MAX_BYTES];
    assert_int_equal(with_tool(state, NULL, MS_PER_MIN, why), STATUS_NOT_FOUND);
    assert_int_equal(with_tool(state, "echo no table", MS_PER_MIN, why), STATUS_BACKEND);
    assert_int_equal(with_tool(state, "echo broken >&2; exit 1", MS_PER_MIN, why), STATUS_BACKEND);
    assert_non_null(strstr(why, "exit code 1, broken"));
    assert_int_equal(with_tool(state, "exec sleep 1000", 300, why), STATUS_TIMEOUT);
    /* the waiting end gives up before it listens: the other one must not ask for ever */
    assert_int_equal(
        with_tool(state, "case $* in *127.0.0.1) exit 111;; esac; echo no card >&2; exit 19", 10 * MS_PER_MIN, why),
        STATUS_BACKEND);
    assert_non_null(strstr(why, "waiting end: exit code 19, no card"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_info_that_is_none),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_table_that_is_none),
        cmocka_unit_test(test_a_real_measurement),
        cmocka_unit_test(test_a_provider_that_is_not_there),
        cmocka_unit_test(test_where_tools_are),
        PLACE_TEST(test_tools_that_do_not_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
