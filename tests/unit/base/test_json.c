/* JSON: limits of the parser, and a reader that writes everything or nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define BODY_MAX 4096

static json_t *parse(const char *text)
{
    json_t *json = NULL;
    char error[JSON_ERROR_MAX] = "";

    if (json_parse(text, strlen(text), BODY_MAX, &json, error) < 0)
        fail_msg("%s: %s", text, error);
    return json;
}

static void test_parse_good(void **state)
{
    static const char *const rows[] = {"{}", "[]", " {\"a\": [1, 2.5, -3e2, true, false, null, \"\\u00e9\"]} ",
                                       "{\"a\":{\"a\":{}}}", "{\"\":1}"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        auto_json json_t *json = parse(rows[i]);
        assert_non_null(json);
    }
}

static void test_parse_bad(void **state)
{
    static const char *const rows[] = {
        "",
        " ",
        "1",
        "\"text\"",
        "null",
        "{",
        "}",
        "{}{}",
        "{} x",
        "[1,]",
        "{\"a\":1,}",
        "{\"a\":1 \"b\":2}",
        "{a:1}",
        "{'a':1}",
        "{\"a\":1,\"a\":1}",       /* duplicate */
        "{\"a\":1,\"\\u0061\":1}", /* the same name in other clothes */
        "{\"o\":{\"a\":1,\"a\":2}}",
        "[01]",
        "[1.]",
        "[.5]",
        "[+1]",
        "[NaN]",
        "[Infinity]",
        "[1e999]",
        "[9223372036854775808]",
        "[\"\\x41\"]",
        "[\"\\u00\"]",
        "[\"\\ud800\"]", /* half a pair */
        "[\"\\u0000\"]",
        "[\"\n\"]",
        "[\"\xff\"]",
        "[\"\xc0\x80\"]",
        "[\"\xed\xa0\x80\"]",
        "\xef\xbb\xbf{}", /* a byte order mark */
        "// comment\n{}",
        "[true false]",
        "[tru]",
        "]",
        "[\"\\\"]",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_t *json = NULL;
        char error[JSON_ERROR_MAX] = "";
        if (json_parse(rows[i], strlen(rows[i]), BODY_MAX, &json, error) != STATUS_INVALID)
            fail_msg("\"%s\" was taken", rows[i]);
        assert_null(json);
        assert_true(strlen(error) > 0);
        for (const char *c = error; *c != '\0'; c++)
            assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
    }
}

static void test_parse_zero_bytes_inside(void **state)
{
    static const char body[] = "{\"a\":1}\0{\"b\":2}";
    json_t *json = NULL;
    char error[JSON_ERROR_MAX];

    (void)state;
    assert_int_equal(json_parse(body, sizeof(body) - 1, BODY_MAX, &json, error), STATUS_INVALID);
    assert_int_equal(json_parse(NULL, 0, BODY_MAX, &json, error), STATUS_INVALID);
    assert_null(json);
}

static void test_parse_size(void **state)
{
    json_t *json = NULL;
    char error[JSON_ERROR_MAX];

    (void)state;
    assert_int_equal(json_parse("[12]", 4, 3, &json, error), STATUS_TOO_LARGE);
    assert_null(json);
    assert_int_equal(json_parse("[12]", 4, 4, &json, error), 0);
    json_decref(json);
}

/* depth times open, then as often close. Caller frees. */
static char *nest(int depth, const char *open, const char *close)
{
    AUTO(text) struct text t = {0};

    for (int i = 0; i < depth; i++)
        text_add(&t, open);
    text_add(&t, "1");
    for (int i = 0; i < depth; i++)
        text_add(&t, close);
    return text_take(&t);
}

static void test_parse_depth(void **state)
{
    static const struct {
        const char *open, *close;
    } shapes[] = {{"[", "]"}, {"{\"a\":", "}"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        autofree char *deepest = nest(JSON_DEPTH_MAX, shapes[i].open, shapes[i].close);
        autofree char *deeper = nest(JSON_DEPTH_MAX + 1, shapes[i].open, shapes[i].close);
        autofree char *abyss = nest(100000, shapes[i].open, shapes[i].close);
        json_t *none = NULL;
        char error[JSON_ERROR_MAX];
        auto_json json_t *json = parse(deepest);
        assert_non_null(json);
        assert_int_equal(json_parse(deeper, strlen(deeper), 1 << 20, &none, error), STATUS_TOO_LARGE);
        assert_int_equal(json_parse(abyss, strlen(abyss), 1 << 20, &none, error), STATUS_TOO_LARGE);
        assert_null(none);
    }
}

/* Brackets inside of texts are no depth, whatever is escaped around them. */
static void test_depth_looks_past_texts(void **state)
{
    autofree char *brackets = own_calloc(300, 1);

    (void)state;
    memset(brackets, '[', 200);
    autofree char *plain = own_printf("{\"a\":\"%s\"}", brackets);
    autofree char *escaped = own_printf("{\"a\":\"\\\\\\\"%s\"}", brackets);
    auto_json json_t *one = parse(plain);
    auto_json json_t *two = parse(escaped);
    assert_non_null(one);
    assert_non_null(two);
}

static int check_even(const char *text)
{
    return strlen(text) % 2 == 0 ? 0 : STATUS_INVALID;
}

struct target {
    char name[8], even[16];
    int64_t count;
    bool on, count_present, name_present;
    json_t *object, *array;
};

static int read_target(json_t *json, struct target *t, char error[JSON_ERROR_MAX])
{
    const struct json_field fields[] = {
        {.name = "name",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = t->name,
         .size = sizeof(t->name),
         .min = 2,
         .ret_present = &t->name_present},
        {.name = "count",
         .type = JSON_FIELD_I64,
         .target = &t->count,
         .min = -5,
         .max = 5,
         .ret_present = &t->count_present},
        {.name = "on", .type = JSON_FIELD_BOOL, .target = &t->on},
        {.name = "object", .type = JSON_FIELD_OBJECT, .target = &t->object},
        {.name = "array", .type = JSON_FIELD_ARRAY, .target = &t->array, .min = 1, .max = 2},
        {.name = "even",
         .type = JSON_FIELD_TEXT,
         .target = t->even,
         .size = sizeof(t->even),
         .check = check_even,
         .rule = "of even length"},
    };

    return json_read(json, fields, ARRAY_LEN(fields), error);
}

static void test_read_all(void **state)
{
    auto_json json_t *json = parse("{\"name\":\"gpu-123\",\"count\":-5,\"on\":true,\"object\":{\"x\":1},"
                                   "\"array\":[1,2],\"even\":\"\"}");
    struct target t = {0};
    char error[JSON_ERROR_MAX] = "";

    (void)state;
    assert_int_equal(read_target(json, &t, error), 0);
    assert_string_equal(t.name, "gpu-123");
    assert_int_equal(t.count, -5);
    assert_true(t.on && t.count_present && t.name_present);
    assert_int_equal(json_object_size(t.object), 1);
    assert_int_equal(json_array_size(t.array), 2);
    assert_string_equal(t.even, "");
}

static void test_absent_members_keep_their_defaults(void **state)
{
    auto_json json_t *json = parse("{\"name\":\"ab\"}");
    struct target t = {.count = 3, .on = true, .even = "kept", .count_present = true};
    char error[JSON_ERROR_MAX] = "";

    (void)state;
    assert_int_equal(read_target(json, &t, error), 0);
    assert_int_equal(t.count, 3);
    assert_true(t.on);
    assert_string_equal(t.even, "kept");
    assert_false(t.count_present);
    assert_true(t.name_present);
    assert_null(t.object);
}

static const struct {
    const char *json, *message;
} refused[] = {
    {"[]", "an object is wanted here"},
    {"{}", "\"name\" is missing: it is required"},
    {"{\"name\":null}", "\"name\" is null: must be a text"},
    {"{\"name\":7}", "\"name\" is 7: must be a text"},
    {"{\"name\":[]}", "\"name\" is an array of 0: must be a text"},
    {"{\"name\":\"a\"}", "\"name\" is \"a\": must be 2 to 7 bytes long"},
    {"{\"name\":\"12345678\"}", "\"name\" is \"12345678\": must be 2 to 7 bytes long"},
    {"{\"name\":\"1234\xc3\xa9\xc3\xa9\"}", "\"name\" is \"1234\xc3\xa9\xc3\xa9\": must be 2 to 7 bytes long"},
    {"{\"name\":\"ab\",\"count\":6}", "\"count\" is 6: must be -5 to 5"},
    {"{\"name\":\"ab\",\"count\":-6}", "\"count\" is -6: must be -5 to 5"},
    {"{\"name\":\"ab\",\"count\":1.0}", "\"count\" is 1: must be a whole number"},
    {"{\"name\":\"ab\",\"count\":0.5}", "\"count\" is 0.5: must be a whole number"},
    {"{\"name\":\"ab\",\"count\":\"1\"}", "\"count\" is \"1\": must be a whole number"},
    {"{\"name\":\"ab\",\"count\":true}", "\"count\" is true: must be a whole number"},
    {"{\"name\":\"ab\",\"on\":1}", "\"on\" is 1: must be true or false"},
    {"{\"name\":\"ab\",\"on\":\"false\"}", "\"on\" is \"false\": must be true or false"},
    {"{\"name\":\"ab\",\"object\":[]}", "\"object\" is an array of 0: must be an object"},
    {"{\"name\":\"ab\",\"array\":{}}", "\"array\" is an object: must be an array"},
    {"{\"name\":\"ab\",\"array\":[]}", "\"array\" is an array of 0: must be an array of 1 to 2"},
    {"{\"name\":\"ab\",\"array\":[1,2,3]}", "\"array\" is an array of 3: must be an array of 1 to 2"},
    {"{\"name\":\"ab\",\"even\":\"odd\"}", "\"even\" is \"odd\": must be of even length"},
    {"{\"name\":\"ab\",\"nam\":\"ab\"}", "\"nam\" is not known here (the nearest is \"name\")"},
    {"{\"name\":\"ab\",\"Name\":\"ab\"}", "\"Name\" is not known here (the nearest is \"name\")"},
    {"{\"name\":\"ab\",\"\":1}", "\"\" is not known here"},
    {"{\"name\":\"ab\",\"a\\nb\":1}", "\"a\\nb\" is not known here"},
    {"{\"name\":\"ab\",\"a\x7f\":1}", "\"a?\" is not known here"},
    {"{\"name\":\"ab\",\"a\\u202e\":1}", "\"a?\" is not known here"},
    {"{\"name\":\"ab\",\"on\":\"\xc2\x9b\"}", "\"on\" is \"??\": must be true or false"},
};

/* Nothing is written on failure, even when everything before and behind the bad member is fine. */
static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        auto_json json_t *json = parse(refused[i].json);
        struct target t, before;
        char error[JSON_ERROR_MAX] = "";
        memset(&t, 0x5a, sizeof(t));
        memcpy(&before, &t, sizeof(t));
        assert_int_equal(read_target(json, &t, error), STATUS_INVALID);
        assert_string_equal(error, refused[i].message);
        assert_memory_equal(&t, &before, sizeof(t));
    }
}

/* The same with a bad member at each place of an otherwise good object. */
static void test_refusal_at_each_place(void **state)
{
    static const char *const good[] = {"\"name\":\"ab\"", "\"count\":1",   "\"on\":true",
                                       "\"object\":{}",   "\"array\":[1]", "\"even\":\"ab\""};
    static const char *const bad[] = {"\"name\":1",   "\"count\":99", "\"on\":0",
                                      "\"object\":0", "\"array\":0",  "\"even\":\"a\""};

    (void)state;
    for (size_t broken = 0; broken <= ARRAY_LEN(good); broken++) {
        AUTO(text) struct text body = {0};
        struct target t, before;
        char error[JSON_ERROR_MAX] = "";
        for (size_t i = 0; i < ARRAY_LEN(good); i++)
            text_printf(&body, "%c%s", i == 0 ? '{' : ',', i == broken ? bad[i] : good[i]);
        text_add(&body, "}");
        auto_json json_t *json = parse(text_get(&body));
        memset(&t, 0x5a, sizeof(t));
        memcpy(&before, &t, sizeof(t));
        assert_int_equal(read_target(json, &t, error), broken < ARRAY_LEN(good) ? STATUS_INVALID : 0);
        assert_int_equal(memcmp(&t, &before, sizeof(t)) == 0, broken < ARRAY_LEN(good));
    }
}

/* What a client sends is shown cut and escaped, and never splits a character. */
static void test_message_with_hostile_value(void **state)
{
    AUTO(text) struct text body = {0};
    struct target t = {0};
    char error[JSON_ERROR_MAX] = "";

    (void)state;
    text_add(&body, "{\"name\":\"\\n\\u001b[2J");
    for (int i = 0; i < 500; i++)
        text_add(&body, "\xe2\x82\xac");
    text_add(&body, "\"}");
    auto_json json_t *json = parse(text_get(&body));
    assert_int_equal(read_target(json, &t, error), STATUS_INVALID);
    assert_true(text_is_utf8(error, strlen(error)));
    assert_non_null(strstr(error, "\\n\\u001B[2J"));
    assert_non_null(strstr(error, "(cut): must be 2 to 7 bytes long"));
    assert_null(strchr(error, '\n'));
    assert_null(strchr(error, '\x1b'));
}

/* Values made by other hands than json_parse may hold zeros; a C text may not. */
static void test_text_with_zero(void **state)
{
    auto_json json_t *json = json_pack("{s:s%}", "name", "a\0b", (size_t)3);
    struct target t = {0};
    char error[JSON_ERROR_MAX] = "";

    (void)state;
    assert_non_null(json);
    assert_int_equal(read_target(json, &t, error), STATUS_INVALID);
    assert_non_null(strstr(error, "without zeros"));
}

static void assert_dumps(json_t *json, const char *expected)
{
    autofree char *text = json_dumps(json, JSON_COMPACT);

    assert_string_equal(text, expected);
}

static void test_put(void **state)
{
    auto_json json_t *json = json_object();

    (void)state;
    json_put_text(json, "text", "a");
    json_put_text(json, "empty", "");
    json_put_text(json, "none", NULL);
    json_put_i64(json, "big", INT64_MIN);
    json_put_i64(json, "zero", 0);
    json_put(json, "yes", json_true());
    json_put(json, "no", json_false());
    json_put_time(json, "at", INT64_C(1795186080123));
    json_put_time(json, "never", 0);
    json_put(json, "list", json_array());
    json_put(json, "lost", NULL);
    assert_dumps(json, "{\"text\":\"a\",\"big\":-9223372036854775808,\"zero\":0,\"yes\":true,\"no\":false,"
                       "\"at\":\"2026-11-20T14:48:00.123Z\",\"list\":[]}");
}

static void test_put_text_that_is_not_utf8(void **state)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"\xff", "{\"t\":\"\xef\xbf\xbd\"}"},
        {"a\xff"
         "b",
         "{\"t\":\"a\xef\xbf\xbd"
         "b\"}"},
        {"\xe2\x82", "{\"t\":\"\xef\xbf\xbd\xef\xbf\xbd\"}"},
        {"\xe2\x82\xac\x80\xc3\xa9", "{\"t\":\"\xe2\x82\xac\xef\xbf\xbd\xc3\xa9\"}"},
        {"\xf0\x9f\x94\xa5\xf0", "{\"t\":\"\xf0\x9f\x94\xa5\xef\xbf\xbd\"}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        auto_json json_t *json = json_object();
        json_put_text(json, "t", rows[i].text);
        assert_dumps(json, rows[i].expected);
    }
}

static void test_a_missing_member_reads_as_empty_text(void **state)
{
    auto_json json_t *json = json_object();
    (void)state;
    json_put_text(json, "name", "gpu-1");
    json_put_i64(json, "count", 3);
    assert_string_equal(json_member_text(json, "name"), "gpu-1");
    assert_string_equal(json_member_text(json, "count"), "");
    assert_string_equal(json_member_text(json, "absent"), "");
    assert_string_equal(json_member_text(NULL, "name"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_missing_member_reads_as_empty_text),
        cmocka_unit_test(test_parse_good),
        cmocka_unit_test(test_parse_bad),
        cmocka_unit_test(test_parse_zero_bytes_inside),
        cmocka_unit_test(test_parse_size),
        cmocka_unit_test(test_parse_depth),
        cmocka_unit_test(test_depth_looks_past_texts),
        cmocka_unit_test(test_read_all),
        cmocka_unit_test(test_absent_members_keep_their_defaults),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_refusal_at_each_place),
        cmocka_unit_test(test_message_with_hostile_value),
        cmocka_unit_test(test_text_with_zero),
        cmocka_unit_test(test_put),
        cmocka_unit_test(test_put_text_that_is_not_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
