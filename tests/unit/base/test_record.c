/* Documents as structs: what comes back is what was said, every refusal names the place, and nothing is lost or kept by mistake. */
#include "base/record.h"
#include "base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct inner {
    bool given;
    char *text;
};
struct item {
    struct optional number;
    struct inner inner, other;
};
struct outer {
    char *name;
    struct optional number, flag, word, words;
    struct optional_list texts, items, map;
    struct inner inner;
    struct optional_real real;
};

static const char *const words[] = {"one", "two", "three"};
static const struct record_field inner_fields[] = {
    {.name = "text",
     .type = RECORD_TEXT,
     .required = true,
     .at = offsetof(struct inner, text),
     .min = 1,
     .max = 4,
     .pattern = "[a-zä]+",
     .rule = "small letters"},
};
static const struct record inner = RECORD(struct inner, inner_fields);
static const struct record_field item_fields[] = {
    {.name = "inner", .type = RECORD_OBJECT, .at = offsetof(struct item, inner), .record = &inner},
    {.name = "other", .type = RECORD_OBJECT, .at = offsetof(struct item, other), .record = &inner},
};
static const struct record item = {
    .fields = item_fields, .count = ARRAY_LEN(item_fields), .size = sizeof(struct item), .one = true};
static const struct record_field map_key = {
    .name = "", .type = RECORD_TEXT, .min = 1, .max = 3, .pattern = "[a-z]+", .rule = "small letters"};
static const struct record_field outer_fields[] = {
    {.name = "name", .type = RECORD_TEXT, .required = true, .at = offsetof(struct outer, name)},
    {.name = "number", .type = RECORD_NUMBER, .at = offsetof(struct outer, number), .min = 1, .max = 9},
    {.name = "flag", .type = RECORD_FLAG, .at = offsetof(struct outer, flag)},
    {.name = "word", .type = RECORD_WORD, .at = offsetof(struct outer, word), .words = words, .word_count = 3},
    {.name = "words",
     .type = RECORD_WORDS,
     .at = offsetof(struct outer, words),
     .words = words,
     .word_count = 3,
     .items_min = 1,
     .items_max = 3},
    {.name = "texts", .type = RECORD_TEXTS, .at = offsetof(struct outer, texts), .max = 5, .items_max = 2},
    {.name = "items", .type = RECORD_LIST, .at = offsetof(struct outer, items), .record = &item},
    {.name = "map", .type = RECORD_MAP, .at = offsetof(struct outer, map), .max = 2, .items_max = 2, .key = &map_key},
    {.name = "inner", .type = RECORD_OBJECT, .at = offsetof(struct outer, inner), .record = &inner},
    {.name = "real", .type = RECORD_REAL, .at = offsetof(struct outer, real), .min = 0, .max = 10},
    {.name = "never", .type = RECORD_NEVER, .rule = "it is gone"},
};
static const struct record outer = RECORD(struct outer, outer_fields);
static const struct record lenient = {
    .fields = outer_fields, .count = ARRAY_LEN(outer_fields), .size = sizeof(struct outer), .lenient = true};

static json_t *parse(const char *text)
{
    json_t *json = json_loads(text, JSON_ALLOW_NUL, NULL);
    assert_non_null(json);
    return json;
}

static void assert_comes_back(const char *text, const char *expected)
{
    char error[RECORD_ERROR_MAX];
    struct outer read = {0};
    auto_json json_t *json = parse(text), *wanted = parse(expected);
    if (record_read(&outer, json, "", &read, error) != 0)
        fail_msg("%s: %s", text, error);
    auto_json json_t *written = record_write(&outer, &read);
    autofree char *got = json_dumps(written, JSON_COMPACT);
    if (!json_equal(written, wanted))
        fail_msg("%s came back as %s", text, got);
    record_free(&outer, &read);
    static const struct outer nothing;
    assert_memory_equal(&read, &nothing, sizeof(read));
}

#define FULL                                                                                                           \
    "{\"name\":\"\",\"number\":9,\"flag\":false,\"word\":\"one\",\"words\":[\"one\",\"three\"],\"texts\":[],"          \
    "\"items\":[{\"inner\":{\"text\":\"ä\"}},{\"other\":{\"text\":\"b\"}}],\"inner\":{\"text\":\"abcd\"},\"real\":2." \
    "5}"

static void test_there_and_back(void **state)
{
    (void)state;
    assert_comes_back(FULL, FULL);
    assert_comes_back("{\"name\":\"a\",\"map\":{\"k\":\"v\",\"l\":\"\"}}",
                      "{\"name\":\"a\",\"map\":{\"k\":\"v\",\"l\":\"\"}}");
    assert_comes_back("{\"name\":\"a\",\"map\":{}}", "{\"name\":\"a\",\"map\":{}}");
    assert_comes_back("{\"name\":\"a\",\"real\":3}", "{\"name\":\"a\",\"real\":3.0}");
    assert_comes_back("{\"name\":\"a\"}", "{\"name\":\"a\"}");
    assert_comes_back("{\"name\":\"a\",\"number\":null,\"inner\":null}", "{\"name\":\"a\"}");
    assert_comes_back("{\"name\":\"a\",\"number\":2.0,\"words\":[\"two\",\"two\"]}",
                      "{\"name\":\"a\",\"number\":2,\"words\":[\"two\"]}");
}

static void test_refusals(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"[]", "an object is wanted here"},
        {"{}", "name is missing; it is required"},
        {"{\"name\":null}", "name is missing; it is required"},
        {"{\"name\":3}", "name is 3; it must be a text"},
        {"{\"name\":\"a\\u0000b\"}", "a text without control characters"},
        {"{\"name\":\"a\\nb\"}", "a text without control characters"},
        {"{\"name\":\"a\",\"number\":0}", "number is 0; it must be a whole number of 1 to 9"},
        {"{\"name\":\"a\",\"number\":10}", "number is 10; it must be"},
        {"{\"name\":\"a\",\"number\":1.5}", "number is 1.5; it must be"},
        {"{\"name\":\"a\",\"number\":1e300}", "it must be a whole number"},
        {"{\"name\":\"a\",\"number\":\"1\"}", "number is \"1\"; it must be"},
        {"{\"name\":\"a\",\"real\":10.5}", "real is 10.5; it must be a number of 0 to 10"},
        {"{\"name\":\"a\",\"real\":\"1\"}", "it must be a number"},
        {"{\"name\":\"a\",\"flag\":1}", "flag is 1; it must be true or false"},
        {"{\"name\":\"a\",\"word\":\"four\"}", "word is \"four\"; it must be one, two or three"},
        {"{\"name\":\"a\",\"word\":[]}", "it must be one, two or three"},
        {"{\"name\":\"a\",\"words\":[]}", "words is an array of 0; it must be a list of 1 to 3"},
        {"{\"name\":\"a\",\"words\":[\"one\",\"x\"]}", "words[1] is \"x\"; it must be"},
        {"{\"name\":\"a\",\"texts\":[\"a\",\"b\",\"c\"]}", "it must be a list of 0 to 2"},
        {"{\"name\":\"a\",\"texts\":[\"a\",\"abcdef\"]}",
         "texts[1] is \"abcdef\"; it must be a text of 0 to 5 characters"},
        {"{\"name\":\"a\",\"texts\":{}}", "texts is an object; it must be a list"},
        {"{\"name\":\"a\",\"map\":[]}", "map is an array of 0; it must be an object"},
        {"{\"name\":\"a\",\"map\":{\"a\":\"\",\"b\":\"\",\"c\":\"\"}}", "map has 3 entries; it may have at most 2"},
        {"{\"name\":\"a\",\"map\":{\"a\":1}}", "map.a is 1; it must be a text"},
        {"{\"name\":\"a\",\"map\":{\"a\":\"b\",\"c\":\"abc\"}}", "map.c is \"abc\"; it must be a text of 0 to 2"},
        {"{\"name\":\"a\",\"map\":{\"A\":\"b\"}}", "a key of map is \"A\"; it must be small letters"},
        {"{\"name\":\"a\",\"map\":{\"\":\"b\"}}", "it must be a text of 1 to 3 characters"},
        {"{\"name\":\"a\",\"inner\":{}}", "inner.text is missing"},
        {"{\"name\":\"a\",\"inner\":[]}", "inner is an array of 0; it must be an object"},
        {"{\"name\":\"a\",\"inner\":{\"text\":\"abcde\"}}", "inner.text is \"abcde\"; it must be a text of 1 to 4"},
        {"{\"name\":\"a\",\"inner\":{\"text\":\"A\"}}", "inner.text is \"A\"; it must be small letters"},
        {"{\"name\":\"a\",\"inner\":{\"txet\":\"a\"}}", "inner: \"txet\" is not known here (the nearest is \"text\")"},
        {"{\"name\":\"a\",\"nubmer\":3}", "\"nubmer\" is not known here (the nearest is \"number\")"},
        {"{\"name\":\"a\",\"nevr\":3}", "\"nevr\" is not known here"},
        {"{\"name\":\"a\",\"never\":3}", "never cannot be said here: it is gone"},
        {"{\"name\":\"a\",\"items\":[{\"inner\":{\"text\":\"a\"}},{}]}",
         "items[1] must have exactly one of inner and other"},
        {"{\"name\":\"a\",\"items\":[{\"inner\":{\"text\":\"a\"},\"other\":{\"text\":\"a\"}}]}",
         "items[0] must have exactly one"},
        {"{\"name\":\"a\",\"items\":[{\"inner\":{\"text\":\"a\"}},7]}", "items[1] is 7; it must be an object"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char error[RECORD_ERROR_MAX];
        struct outer read = {0};
        static const struct outer nothing;
        auto_json json_t *json = parse(cases[i].text);
        assert_int_equal(record_read(&outer, json, "", &read, error), STATUS_INVALID);
        if (strstr(error, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].text, error);
        assert_memory_equal(&read, &nothing, sizeof(read));
    }
}

static void test_what_was_checked_before_may_have_more(void **state)
{
    char error[RECORD_ERROR_MAX];
    struct outer read = {0};
    auto_json json_t *json = parse("{\"name\":\"a\",\"more\":3,\"inner\":{\"text\":\"a\"}}");
    (void)state;
    assert_int_equal(record_read(&lenient, json, "", &read, error), 0);
    assert_string_equal(read.inner.text, "a");
    record_free(&lenient, &read);
}

static void test_a_path_begins_where_it_is_said(void **state)
{
    char error[RECORD_ERROR_MAX];
    struct outer read = {0};
    auto_json json_t *json = parse("{\"name\":\"a\",\"number\":0}");
    (void)state;
    assert_int_equal(record_read(&outer, json, "groups[3]", &read, error), STATUS_INVALID);
    assert_non_null(strstr(error, "groups[3].number is 0"));
}

static void test_merging(void **state)
{
    char error[RECORD_ERROR_MAX];
    struct outer into = {0}, newer = {0};
    auto_json json_t *old = parse(FULL);
    auto_json json_t *new = parse("{\"name\":\"n\",\"flag\":true,\"texts\":[\"x\"],\"items\":[]}");
    auto_json json_t *merged = parse(FULL);
    (void)state;
    assert_int_equal(record_read(&outer, old, "", &into, error), 0);
    assert_int_equal(record_read(&outer, new, "", &newer, error), 0);
    record_merge(&outer, &into, &newer);
    json_object_update(merged, new);
    auto_json json_t *written = record_write(&outer, &into), *rest = record_write(&outer, &newer);
    assert_true(json_equal(written, merged));
    assert_int_equal(json_object_size(rest), 0);
    record_free(&outer, &into);
    record_free(&outer, &newer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_what_was_checked_before_may_have_more),
        cmocka_unit_test(test_a_path_begins_where_it_is_said),
        cmocka_unit_test(test_merging),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
