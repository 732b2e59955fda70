/* Work: the order read strictly, the report written, and the state that comes back as it went. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/node/work.h"
#include "base/json.h"
#include "base/own.h"
#include "base/status.h"

#include <string.h>

#define ORDER(scripts)                                                                                             \
    "{\"key\":\"k\",\"instanceId\":\"i-1\",\"source\":\"file:///s\",\"scripts\":" scripts ",\"timeLimitMs\":1000," \
    "\"attempts\":3,\"resourceConfig\":\"{\\\"a\\\": \\\"\\u00e9\\\"}\"}"

#define REBOOT(boot, delay)                                                                               \
    "{\"key\":\"o/2\",\"instanceId\":\"i-1\",\"bootId\":\"" boot "\",\"reason\":\"r\",\"delayMs\":" delay \
    ",\"attempt\":2}"

static void test_a_reboot(void **state)
{
    struct reboot_job job;
    (void)state;
    assert_int_equal(work_read_reboot(REBOOT("b", "600000"), strlen(REBOOT("b", "600000")), &job), 0);
    assert_string_equal(job.key, "o/2");
    assert_string_equal(job.boot_id, "b");
    assert_int_equal(job.delay_ms, 600000);
    assert_int_equal(job.attempt, 2);
    static const char *const bad[] = {REBOOT("", "0"), REBOOT("b", "600001"), REBOOT("b", "-1"),
                                      "{\"key\":\"o/2\",\"instanceId\":\"i-1\",\"bootId\":\"b\"}", "{}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(work_read_reboot(bad[i], strlen(bad[i]), &job), STATUS_INVALID);
}

static void test_an_order(void **state)
{
    struct lifecycle_job job;
    autofree char *resources = NULL;
    (void)state;
    assert_int_equal(
        work_read_order(ORDER("[\"a.sh\",\"b/c d.sh\"]"), strlen(ORDER("[\"a.sh\",\"b/c d.sh\"]")), &job, &resources),
        0);
    assert_string_equal(job.key, "k");
    assert_string_equal(job.instance_id, "i-1");
    assert_string_equal(job.source, "file:///s");
    assert_string_equal(job.scripts[0], "a.sh");
    assert_string_equal(job.scripts[1], "b/c d.sh");
    assert_int_equal(job.time_limit_ms, 1000);
    assert_int_equal(job.attempts_max, 3);
    assert_string_equal(resources, "{\"a\": \"\xc3\xa9\"}");
}

static void test_orders_that_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "{}",
        "[]",
        ORDER("[]"),
        ORDER("[\"\"]"),
        ORDER("[\"/bin/sh\"]"),
        ORDER("[\"..\"]"),
        ORDER("[\"../a\"]"),
        ORDER("[\"a/../../b\"]"),
        ORDER("[\"a/./b\"]"),
        ORDER("[\"a//b\"]"),
        ORDER("[\"a/\"]"),
        ORDER("[\"a\\nb\"]"),
        ORDER("[\"a\\u0000b\"]"),
        ORDER("[\"a\",\"b\",\"c\"]"),
        ORDER("\"a.sh\""),
        ORDER("[7]"),
        ORDER("[\"a\"],\"more\":1"),
        ORDER("[\"a\"],\"key\":\"again\""),
        ORDER("[\"a\"]") "x",
        "{\"key\":\"k\",\"instanceId\":\"i-1\",\"source\":\"file:///s\",\"scripts\":[\"a\"],\"timeLimitMs\":0,"
        "\"attempts\":3,\"resourceConfig\":\"\"}",
        "{\"key\":\"k\",\"instanceId\":\"i-1\",\"source\":\"file:///s\",\"scripts\":[\"a\"],\"timeLimitMs\":1,"
        "\"attempts\":101,\"resourceConfig\":\"\"}",
        "{\"key\":\"\",\"instanceId\":\"i-1\",\"source\":\"file:///s\",\"scripts\":[\"a\"],\"timeLimitMs\":1,"
        "\"attempts\":1,\"resourceConfig\":\"\"}",
        "{\"key\":\"k\",\"source\":\"file:///"
        "s\",\"scripts\":[\"a\"],\"timeLimitMs\":1,\"attempts\":1,\"resourceConfig\":"
        "\"\"}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct lifecycle_job job = {.attempts_max = 77};
        char *resources = NULL;
        if (work_read_order(bad[i], strlen(bad[i]), &job, &resources) != STATUS_INVALID)
            fail_msg("%s", bad[i]);
        assert_int_equal(job.attempts_max, 77);
        assert_null(resources);
    }
}

static json_t *written(const struct lifecycle_report *report, const char *log, size_t len)
{
    struct text out = {0};
    char error[JSON_ERROR_MAX];
    json_t *json = NULL;
    work_write_report(&out, report, log, len);
    if (json_parse(out.data, out.len, 65536, &json, error) != 0)
        fail_msg("%s: %s", error, out.data);
    text_free(&out);
    return json;
}

static void test_reports(void **state)
{
    struct lifecycle_report report = {.key = "k", .state = SCRIPT_STATE_FAILED, .exit_code = -1};
    (void)state;
    auto_json json_t *least = written(&report, "", 0);
    assert_int_equal(json_object_size(least), 4); /* key, state, final, attempt */
    static const char log[] = "fine\n\x1b[31mred\xff\xc3\xa9\xe2\x82\0tail";
    report.exit_code = 3;
    text_copy_cut(report.script, sizeof(report.script), "a\"b.sh");
    auto_json json_t *more = written(&report, log, sizeof(log) - 1);
    assert_string_equal(json_string_value(json_object_get(more, "log")), "fine\n?[31mred?\xc3\xa9???tail");
    assert_string_equal(json_string_value(json_object_get(more, "script")), "a\"b.sh");
    assert_int_equal(json_integer_value(json_object_get(more, "exitCode")), 3);
}

/* Of a log that is too long the end counts, and it fits whatever it consists of. */
static void test_a_long_log(void **state)
{
    struct lifecycle_report report = {.key = "k"};
    size_t len = 2 * (size_t)LIFECYCLE_LOG_MAX_BYTES;
    autofree char *log = own_calloc(1, len);
    (void)state;
    for (size_t i = 0; i < len; i++)
        log[i] = "\xe2\x82\xac"[i % 3];
    memcpy(log + len - 3, "end", 3);
    auto_json json_t *json = written(&report, log, len);
    const char *shown = json_string_value(json_object_get(json, "log"));
    assert_true(strlen(shown) < LIFECYCLE_LOG_MAX_BYTES);
    assert_string_equal(shown + strlen(shown) - 3, "end");
}

static void test_the_state_comes_back(void **state)
{
    struct work_state work = {.instance_id = "i-1",
                              .key = "k",
                              .done = {"a.sh", "b \"c\".sh"},
                              .script = "b",
                              .attempts = 2,
                              .pid = 99,
                              .ticks = 12345678901,
                              .log_from = 5,
                              .log_to = 6,
                              .over = 1,
                              .exit_code = -1,
                              .detail = "why\nnot",
                              .ended_at = 1777777777777};
    struct work_state back = {0};
    struct text out = {0};
    (void)state;
    work_write_state(&out, &work);
    assert_int_equal(work_read_state(out.data, out.len, &back), 0);
    assert_memory_equal(&back, &work, sizeof(work));
    for (size_t len = 0; len < out.len; len++)
        assert_int_equal(work_read_state(out.data, len, &back), STATUS_INVALID);
    autofree char *older = own_printf("%.*s}", (int)(strstr(out.data, ",\"endedAt\"") - out.data), out.data);
    assert_int_equal(work_read_state(older, strlen(older), &back),
                     0); /* of an agent before this one: nothing is forgotten */
    assert_string_equal(back.key, work.key);
    text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_order),
        cmocka_unit_test(test_a_reboot),
        cmocka_unit_test(test_orders_that_are_refused),
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_a_long_log),
        cmocka_unit_test(test_the_state_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
