/*
 * The answers of tests/data/provider_command/answers.json, read by the code; tests/e2e/providers/schema.test.mjs holds the same to
 * docs/provider-command.schema.json. A text R with a number stands for so many letters.
 */
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/provider/command/answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASES "tests/data/provider_command/answers.json"
#define CASES_BYTES_MAX (64 * 1024)
#define LETTERS_MAX 1000

static void lengthen(json_t *answer)
{
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(answer, next, name, value)
    {
        const char *text = text_or_empty(json_string_value(value));
        int64_t letters;
        if (text[0] != 'R' || text_parse_i64(text + 1, 1, LETTERS_MAX, &letters) != 0)
            continue;
        autofree char *whole = own_calloc((size_t)letters + 1, 1);
        memset(whole, 'x', (size_t)letters);
        json_object_set_new(answer, name, json_string(whole));
    }
}

static int read_answer(enum command_action action, json_t *answer, char *ret_error)
{
    struct provider_instance instance;
    lengthen(answer);
    autofree char *out = json_dumps(answer, JSON_ENCODE_ANY);
    const struct command_run run = {.out = out, .err = ""};
    return command_answer(action, &run, &instance, ret_error);
}

static void test_the_code_reads_what_fits_the_schema(void **state)
{
    (void)state;
    autofree char *data = NULL;
    auto_json json_t *cases = NULL;
    size_t len, i;
    char error[JSON_ERROR_MAX], why[PROVIDER_ERROR_MAX];
    json_t *one;
    assert_int_equal(file_read(CASES, CASES_BYTES_MAX, &data, &len), 0);
    assert_int_equal(json_parse(data, len, CASES_BYTES_MAX, &cases, error), 0);
    assert_true(json_array_size(cases) > 0);
    json_array_foreach(cases, i, one)
    {
        enum command_action action;
        const char *name = json_string_value(json_object_get(one, "action"));
        autofree char *shown = json_dumps(one, 0);
        assert_int_equal(command_action_parse(name, &action), 0);
        int expected = json_is_true(json_object_get(one, "fits")) ? 0 : STATUS_BACKEND;
        int status = read_answer(action, json_object_get(one, "answer"), why);
        if (status != expected)
            fail_msg("%s: %s, %s", shown, status_text(status), why);
    }
}

static void test_events_are_read_strictly(void **state)
{
    static const char *const bad[] = {
        "[]",
        "{\"events\":{}}",
        "{\"events\":[{}]}",
        "{\"events\":[{\"id\":\"e\",\"kind\":\"reboot\"}]}",
        "{\"events\":[{\"ref\":\"m\",\"kind\":\"reboot\"}]}",
        "{\"events\":[{\"id\":\"e\",\"ref\":\"m\"}]}",
        "{\"events\":[{\"id\":\"e\",\"ref\":\"m\",\"kind\":\"party\"}]}",
        "{\"events\":[{\"id\":\"a b\",\"ref\":\"m\",\"kind\":\"reboot\"}]}",
        "{\"events\":[{\"id\":\"e\",\"ref\":\"m\",\"kind\":\"reboot\",\"at\":\"tomorrow\"}]}",
        "{\"events\":[{\"id\":\"e\",\"ref\":\"m\",\"kind\":\"reboot\",\"at\":1795176000}]}",
        "{\"events\":[{\"id\":\"e\",\"ref\":\"m\",\"kind\":\"reboot\",\"when\":\"\"}]}",
        "{\"events\":[],\"more\":1}"};
    struct provider_notice *notices = NULL;
    char why[PROVIDER_ERROR_MAX];
    size_t count = 99;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const struct command_run run = {.out = bad[i], .err = ""};
        if (command_events_answer(&run, &notices, &count, why) != STATUS_BACKEND)
            fail_msg("%s is read", bad[i]);
        assert_non_null(strstr(why, "the answer of events cannot be read"));
    }
    const struct command_run run = {
        .out = "{\"events\":[{\"id\":\"e-1\",\"ref\":\"m-1\",\"kind\":\"retirement\",\"at\":\"2026-12-05T10:00:00Z\","
               "\"detail\":\"the rack\\u0007 moves\"},{\"id\":\"e-2\",\"instanceId\":\"i-1\",\"kind\":\"degraded\"}]}",
        .err = ""};
    assert_int_equal(command_events_answer(&run, &notices, &count, why), 0);
    assert_int_equal(count, 2);
    assert_int_equal(notices[0].kind, PROVIDER_NOTICE_RETIREMENT);
    assert_int_equal(notices[0].due_at, INT64_C(1796464800000));
    assert_null(strchr(notices[0].words, 7));
    assert_string_equal(notices[1].instance_id, "i-1");
    assert_int_equal(notices[1].due_at, 0);
    free(notices);
    const struct command_run failed = {.exit_code = 4, .out = "", .err = "no"};
    assert_int_equal(command_events_answer(&failed, &notices, &count, why), STATUS_BACKEND);
}

static int read_list(const char *out, int exit_code, size_t *ret_count, char *why)
{
    const struct command_run run = {.exit_code = exit_code, .out = out, .err = ""};
    struct provider_listed *list = NULL;
    int status = command_list_answer(&run, &list, ret_count, why);
    free(list);
    return status;
}

static void test_a_list_is_read_strictly(void **state)
{
    static const char *const bad[] = {"",
                                      "[]",
                                      "{}",
                                      "{\"machines\":{}}",
                                      "{\"machines\":[1]}",
                                      "{\"machines\":[{}]}",
                                      "{\"machines\":[{\"ref\":\"\"}]}",
                                      "{\"machines\":[{\"ref\":\"a b\"}]}",
                                      "{\"machines\":[{\"ref\":7}]}",
                                      "{\"machines\":[{\"ref\":\"a\",\"colour\":\"red\"}]}",
                                      "{\"machines\":[],\"more\":1}"};
    char why[PROVIDER_ERROR_MAX];
    size_t count = 99;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (read_list(bad[i], 0, &count, why) != STATUS_BACKEND)
            fail_msg("taken: %s", bad[i]);
    assert_int_equal(read_list("{\"machines\":[]}", 4, &count, why), STATUS_BACKEND);
    assert_int_equal(count, 99);
    assert_int_equal(read_list("{\"machines\":[]}", 0, &count, why), 0);
    assert_int_equal(count, 0);
    assert_int_equal(
        read_list("{\"machines\":[{\"ref\":\"a\"},{\"instanceId\":\"i-1\",\"ref\":\"b\"}]}", 0, &count, why), 0);
    assert_int_equal(count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_code_reads_what_fits_the_schema),
                                       cmocka_unit_test(test_a_list_is_read_strictly),
                                       cmocka_unit_test(test_events_are_read_strictly)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
