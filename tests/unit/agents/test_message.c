/* The agent's messages: what is written is what the protocol says, and what is read is nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/node/message.h"
#include "base/json.h"
#include "base/own.h"
#include "base/status.h"

#include <string.h>

static struct verdict verdict_of(const char *raw_line)
{
    struct verdict v = {.instance_id = "i-1",
                        .boot_id = "b-1",
                        .key = "abc",
                        .device = "0000:b9:00",
                        .source = "kmsg",
                        .code = "xid.79",
                        .severity = SEVERITY_CRITICAL,
                        .first_at = 5,
                        .last_at = 7,
                        .count = 672,
                        .table_version = "t.1"};
    text_copy_cut(v.raw_line, sizeof(v.raw_line), raw_line);
    return v;
}

static void test_written(void **state)
{
    struct text out AUTO(text) = {0};
    struct verdict v = verdict_of("NVRM: \"x\" \\ \x01");
    (void)state;
    message_write_enroll(&out, "gpu-1", "i-1", "b-1");
    assert_string_equal(out.data, "{\"node\":\"gpu-1\",\"instanceId\":\"i-1\",\"bootId\":\"b-1\"}");
    text_clear(&out);
    message_write_enroll(&out, NULL, "i-1", "b-1");
    assert_string_equal(out.data, "{\"instanceId\":\"i-1\",\"bootId\":\"b-1\"}");
    text_clear(&out);
    struct message_heartbeat beat = {"i-1", "b-1", 3, 4, true, false, false, 0, 0x1f, 2, NULL};
    message_write_heartbeat(&out, &beat);
    assert_string_equal(
        out.data,
        "{\"instanceId\":\"i-1\",\"bootId\":\"b-1\",\"seq\":3,\"sentAtMs\":4,\"checks\":[\"lifecycle\",\"machine\","
        "\"settings:1f\",\"kmsg\"],\"spooled\":2}");
    text_clear(&out);
    beat.kmsg_covered = false;
    beat.deep_checks = 3;
    beat.settings_tag = 0;
    message_write_heartbeat(&out, &beat);
    assert_non_null(
        strstr(out.data,
               "\"checks\":[\"lifecycle\",\"machine\",\"settings:0\",\"instance-stress\",\"instance-connectivity\"],"));
    text_clear(&out);
    beat.deep_checks = 0;
    beat.resets = true;
    message_write_heartbeat(&out, &beat);
    assert_non_null(strstr(out.data, "\"checks\":[\"lifecycle\",\"machine\",\"settings:0\",\"reset\"],"));
    text_clear(&out);
    beat.reboots = true;
    text_clear(&out);
    message_write_heartbeat(&out, &beat);
    assert_non_null(strstr(out.data, "\"settings:0\",\"reset\",\"reboot\"],"));
    beat.reboots = false;
    beat.resets = false;
    beat.address = "2001:db8::7";
    message_write_heartbeat(&out, &beat);
    assert_true(text_ends_with(out.data, ",\"spooled\":2,\"address\":\"2001:db8::7\"}"));
    assert_non_null(strstr(out.data, "\"checks\":[\"lifecycle\",\"machine\",\"settings:0\"],"));
    text_clear(&out);
    message_open_report(&out, "i-1", "b-1", 9);
    message_add_verdict(&out, &v, true);
    message_add_verdict(&out, &v, false);
    message_close_report(&out);
#define ONE                                                                                                   \
    "{\"key\":\"abc\",\"device\":\"0000:b9:00\",\"source\":\"kmsg\",\"code\":\"xid.79\",\"rawLine\":\"NVRM: " \
    "\\\"x\\\" "                                                                                              \
    "\\\\ \\u0001\",\"firstAtMs\":5,\"lastAtMs\":7,\"count\":672,\"severity\":\"critical\",\"tableVersion\":\"t.1\"}"
    assert_string_equal(out.data,
                        "{\"instanceId\":\"i-1\",\"bootId\":\"b-1\",\"sentAtMs\":9,\"verdicts\":[" ONE "," ONE "]}");
}

/* Sixty-four of the largest verdicts, every byte escaped, fit the server's limit only because a report is cut by size:
 * link.c does that; here is the size it can rely on. */
static void test_the_largest_verdict(void **state)
{
    struct text out AUTO(text) = {0};
    char line[RAW_LINE_MAX_BYTES];
    (void)state;
    memset(line, 1, sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    struct verdict v = verdict_of(line), back;
    const struct reach reach = {{INT64_MAX, INT64_MAX}, INT64_MAX, INT64_MAX, INT64_MAX};
    struct reach reach_back;
    message_write_record(&out, &v, &reach);
    assert_true(out.len < 8192);
    assert_int_equal(message_read_record(out.data, out.len, &back, &reach_back), 0);
    assert_memory_equal(&back, &v, sizeof(v));
    assert_memory_equal(&reach_back, &reach, sizeof(reach));
}

static void test_records_survive(void **state)
{
    static const char *const lines[] = {"", "plain", "\"\\/\b\f\n\r\t", "\x01\x1f\x7f", "caf\xc3\xa9 \xf0\x9f\x98\x80"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct text out AUTO(text) = {0};
        struct verdict v = verdict_of(lines[i]), back;
        struct reach reach;
        message_write_record(&out, &v, NULL); /* as versions before wrote them */
        assert_int_equal(message_read_record(out.data, out.len, &back, &reach), 0);
        assert_memory_equal(&back, &v, sizeof(v));
        assert_int_equal(reach.place.log, 0);
        /* any JSON reader understands it */
        auto_json json_t *json = json_loads(out.data, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(json);
        assert_string_equal(json_string_value(json_object_get(json, "rawLine")), lines[i]);
        for (size_t len = 0; len < out.len; len++) /* no part of it passes for the whole */
            assert_int_equal(message_read_record(out.data, len, &back, &reach), STATUS_INVALID);
    }
}

static void test_enrolled(void **state)
{
    static const char *const bad[] = {
        "",
        "{}",
        "[]",
        "null",
        "{\"nodeId\":1,\"credential\":\"x\"}",
        "{\"nodeId\":0,\"credential\":\"x\",\"heartbeatIntervalMs\":5000}",
        "{\"nodeId\":1,\"credential\":\"\",\"heartbeatIntervalMs\":5000}",
        "{\"nodeId\":1,\"credential\":\"a b\",\"heartbeatIntervalMs\":5000}",
        "{\"nodeId\":1,\"credential\":\"a\\r\\nX: y\",\"heartbeatIntervalMs\":5000}",
        "{\"nodeId\":1,\"credential\":\"x\",\"heartbeatIntervalMs\":0}",
        "{\"nodeId\":1,\"credential\":\"x\",\"heartbeatIntervalMs\":99999999}",
        "{\"nodeId\":1,\"credential\":\"x\",\"heartbeatIntervalMs\":5000,\"more\":1}",
        "{\"nodeId\":1,\"nodeId\":1,\"credential\":\"x\",\"heartbeatIntervalMs\":5000}",
        "{\"nodeId\":1,\"credential\":\"x\",\"heartbeatIntervalMs\":5000} ,",
    };
    static const char good[] = "{\"nodeId\":17,\"credential\":\"hfn_17.abc\",\"heartbeatIntervalMs\":5000}";
    struct message_enrolled enrolled = {.node_id = -1};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (message_read_enrolled(bad[i], strlen(bad[i]), &enrolled) != STATUS_INVALID)
            fail_msg("taken: %s", bad[i]);
    assert_int_equal(enrolled.node_id, -1);
    autofree char *huge = own_printf("{\"nodeId\":1,\"credential\":\"%0200d\",\"heartbeatIntervalMs\":5000}", 1);
    assert_int_equal(message_read_enrolled(huge, strlen(huge), &enrolled), STATUS_INVALID);
    assert_int_equal(message_read_enrolled(good, strlen(good), &enrolled), 0);
    assert_int_equal(enrolled.node_id, 17);
    assert_string_equal(enrolled.credential, "hfn_17.abc");
    assert_int_equal(enrolled.heartbeat_interval_ms, 5000);
}

static void test_spares(void **state)
{
    static const char *const bad[] = {
        "",
        "{}",
        "{\"state\":\"spare\"}",
        "{\"state\":\"spare\",\"waitMs\":0}",
        "{\"state\":\"spare\",\"waitMs\":99999999}",
        "{\"state\":\"spare\",\"waitMs\":1000,\"machineCredential\":\"a b\"}",
        "{\"state\":\"in-use\",\"waitMs\":1000,\"instanceId\":\"i-1\"}",
        "{\"state\":\"in-use\",\"waitMs\":1000,\"instanceId\":\"../"
        "i-1\",\"credential\":\"x\",\"heartbeatIntervalMs\":5000}",
        "{\"state\":\"in-use\",\"waitMs\":1000,\"instanceId\":\"i-/../"
        "x\",\"credential\":\"x\",\"heartbeatIntervalMs\":5000}",
        "{\"state\":\"in-use\",\"waitMs\":1000,\"instanceId\":\"i-1\",\"credential\":\"a\\r\\nX: "
        "y\",\"heartbeatIntervalMs\":5000}",
        "{\"state\":\"in-use\",\"waitMs\":1000,\"instanceId\":\"i-1\",\"credential\":\"x\"}",
    };
    static const char waits[] = "{\"state\":\"bench\",\"waitMs\":1000}";
    static const char good[] = "{\"state\":\"in-use\",\"waitMs\":1000,\"machineCredential\":\"hfm_1.a\",\"instanceId\":"
                               "\"i-1\",\"node\":\"gpu-1\",\"nodeId\":7,\"credential\":\"hfn_7.b\","
                               "\"heartbeatIntervalMs\":5000}";
    struct message_spare spare = {.wait_ms = -1};
    AUTO(text) struct text out = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (message_read_spare(bad[i], strlen(bad[i]), &spare) != STATUS_INVALID)
            fail_msg("taken: %s", bad[i]);
    assert_int_equal(spare.wait_ms, -1);
    assert_int_equal(message_read_spare(waits, strlen(waits), &spare), 0);
    assert_string_equal(spare.instance_id, "");
    assert_int_equal(message_read_spare(good, strlen(good), &spare), 0);
    assert_string_equal(spare.instance_id, "i-1");
    assert_string_equal(spare.machine_credential, "hfm_1.a");
    assert_int_equal(spare.enrolled.node_id, 7);
    message_write_spare(&out, "m1", "b", true, "xid.79 \"x\"");
    assert_string_equal(text_get(&out),
                        "{\"machine\":\"m1\",\"bootId\":\"b\",\"checked\":true,\"trouble\":\"xid.79 \\\"x\\\"\"}");
}

static void test_orders(void **state)
{
    static const char good[] = "{\"inject\":\"NVRM: Xid (PCI:0000:b9:00): 79, x\"}", none[] = "{}";
    static const char *const bad[] = {"", "{\"inject\":1}", "{\"run\":\"rm\"}", "{\"heartbeatIntervalMs\":1}", "{}x"};
    struct message_orders orders;
    (void)state;
    assert_int_equal(message_read_orders(good, strlen(good), &orders), 0);
    assert_string_equal(orders.inject, "NVRM: Xid (PCI:0000:b9:00): 79, x");
    assert_int_equal(message_read_orders(none, strlen(none), &orders), 0);
    assert_string_equal(orders.inject, "");
    assert_int_equal(orders.heartbeat_interval_ms, 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(message_read_orders(bad[i], strlen(bad[i]), &orders), STATUS_INVALID);
}

static void test_problems(void **state)
{
    static const char good[] = "{\"type\":\"urn:holdfast:problem:stale-report\",\"title\":\"Stale\",\"status\":409,"
                               "\"code\":\"stale-report\",\"detail\":\"replaced\",\"requestId\":\"r\"}";
    struct message_problem problem;
    (void)state;
    message_read_problem(good, strlen(good), &problem);
    assert_string_equal(problem.code, "stale-report");
    assert_string_equal(problem.detail, "replaced");
    message_read_problem("<html>", 6, &problem);
    assert_string_equal(problem.code, "");
    message_read_problem("", 0, &problem);
    assert_string_equal(problem.code, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written),         cmocka_unit_test(test_the_largest_verdict),
        cmocka_unit_test(test_records_survive), cmocka_unit_test(test_enrolled),
        cmocka_unit_test(test_orders),          cmocka_unit_test(test_problems),
        cmocka_unit_test(test_spares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
