/*
 * The pull parser, driven as the server drives it: by the shape of a report. Besides tables
 * of good and bad messages, every beginning of a valid message and every change of one of its
 * bytes is tried, with jansson as the second opinion on what is JSON at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/pull.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

struct item {
    char code[16], line[64];
    int64_t count;
};

struct report {
    char boot[40];
    int64_t seq;
    bool dry;
    size_t item_count;
    struct item items[3];
};

static void pull_item(struct pull *p, struct item *item)
{
    struct pull_view name;

    pull_object(p);
    while (pull_member(p, &name)) {
        if (pull_view_is(name, "code"))
            pull_text(p, item->code, sizeof(item->code));
        else if (pull_view_is(name, "line"))
            pull_text(p, item->line, sizeof(item->line));
        else if (pull_view_is(name, "count"))
            pull_i64(p, 1, INT64_MAX, &item->count);
        else
            pull_fail(p, "a member that is not known");
    }
}

static void pull_items(struct pull *p, struct report *report)
{
    pull_array(p);
    while (pull_element(p)) {
        if (report->item_count == ARRAY_LEN(report->items)) {
            pull_fail(p, "too many items");
            break;
        }
        pull_item(p, &report->items[report->item_count++]);
    }
}

static int pull_report(struct pull *p, const char *data, size_t len, struct report *report)
{
    struct pull_view name;

    *report = (struct report){0};
    pull_start(p, data, len);
    pull_object(p);
    while (pull_member(p, &name)) {
        if (pull_view_is(name, "boot"))
            pull_text(p, report->boot, sizeof(report->boot));
        else if (pull_view_is(name, "seq"))
            pull_i64(p, 0, INT64_MAX, &report->seq);
        else if (pull_view_is(name, "dry"))
            pull_bool(p, &report->dry);
        else if (pull_view_is(name, "items"))
            pull_items(p, report);
        else
            pull_fail(p, "a member that is not known");
    }
    return pull_end(p);
}

/* On the heap and without a zero behind, so that the sanitizers see a byte too many. */
static int pull_bytes(const char *data, size_t len, struct report *report)
{
    autofree char *copy = own_calloc(len, 1);
    struct pull p;

    memcpy(copy, data, len);
    int r = pull_report(&p, copy, len, report);
    if (r != 0 && p.why == NULL)
        fail_msg("refused without a reason");
    if (r == 0 && (p.why != NULL || p.at != p.end || p.depth != 0))
        fail_msg("taken before its end");
    return r;
}

static int pull_string(const char *text, struct report *report)
{
    return pull_bytes(text, strlen(text), report);
}

static const char valid[] = "{\"boot\":\"5f0c9a10-0000-4000-8000-00000000beef\",\"seq\":1763650000123,\"dry\":false,\n"
                            " \"items\": [ {\"code\":\"xid.79\",\"line\":\"NVRM: Xid (PCI:0000:b9:00): 79, "
                            "\\\"lost\\\" \\u00e9\\t\",\"count\":3},\r\n"
                            "\t{\"code\":\"\",\"line\":\"\xe2\x82\xac \\ud83d\\udd25\",\"count\":1} ] } ";

static void test_valid(void **state)
{
    struct report report;

    (void)state;
    assert_int_equal(pull_string(valid, &report), 0);
    assert_string_equal(report.boot, "5f0c9a10-0000-4000-8000-00000000beef");
    assert_int_equal(report.seq, INT64_C(1763650000123));
    assert_false(report.dry);
    assert_int_equal(report.item_count, 2);
    assert_string_equal(report.items[0].code, "xid.79");
    assert_string_equal(report.items[0].line, "NVRM: Xid (PCI:0000:b9:00): 79, \"lost\" \xc3\xa9\t");
    assert_int_equal(report.items[0].count, 3);
    assert_string_equal(report.items[1].code, "");
    assert_string_equal(report.items[1].line, "\xe2\x82\xac \xf0\x9f\x94\xa5");
}

static void test_small_and_valid(void **state)
{
    static const char *const rows[] = {"{}",
                                       " { } ",
                                       "{\"items\":[]}",
                                       "{\"items\":[{},{}]}",
                                       "{\"dry\":true}",
                                       "{\"seq\":0}",
                                       "{\"seq\":9223372036854775807}",
                                       "{\"boot\":\"\"}"};
    struct report report;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (pull_string(rows[i], &report) != 0)
            fail_msg("%s was refused", rows[i]);
}

static const char *const malformed[] = {
    "",
    " ",
    "{",
    "}",
    "[",
    "]",
    "[]",
    "1",
    "null",
    "\"boot\"",
    "{}}",
    "{}{}",
    "{} {}",
    "{},",
    "{}x",
    "{}\v",
    "\f{}",
    "\xef\xbb\xbf{}",
    "/**/{}",
    "{,}",
    "{,\"seq\":1}",
    "{\"seq\":1,}",
    "{\"seq\":1,,\"dry\":true}",
    "{\"seq\":1 \"dry\":true}",
    "{\"seq\" 1}",
    "{\"seq\"::1}",
    "{\"seq\":}",
    "{\"seq\"}",
    "{seq:1}",
    "{'seq':1}",
    "{\"seq:1}",
    "{1:1}",
    "{null:1}",
    "{\"se\\u0071\":1}",
    "{\"s\\eq\":1}",
    "{\"\":1}",
    "{\"x\":1}",
    "{\"SEQ\":1}",
    "{\"seq \":1}",
    "{\"seqq\":1}",
    "{\"se\":1}",
    "{\"s\xc3\xa9q\":1}",
    "{\"s\tq\":1}",
    "{\"s\x7fq\":1}",
    /* numbers */
    "{\"seq\":-1}",
    "{\"seq\":+1}",
    "{\"seq\":01}",
    "{\"seq\":00}",
    "{\"seq\":-0}",
    "{\"seq\":-}",
    "{\"seq\":1.0}",
    "{\"seq\":1.}",
    "{\"seq\":.1}",
    "{\"seq\":1e3}",
    "{\"seq\":1E3}",
    "{\"seq\":0x1}",
    "{\"seq\":1a}",
    "{\"seq\":1 2}",
    "{\"seq\":9223372036854775808}",
    "{\"seq\":99999999999999999999999999999999}",
    "{\"seq\":\"1\"}",
    "{\"seq\":true}",
    "{\"seq\":null}",
    "{\"seq\":[]}",
    "{\"seq\":{}}",
    "{\"seq\":NaN}",
    "{\"seq\":--1}",
    "{\"seq\":1-}",
    "{\"seq\":1,\"seq\":}",
    /* words */
    "{\"dry\":True}",
    "{\"dry\":tru}",
    "{\"dry\":truee}",
    "{\"dry\":1}",
    "{\"dry\":null}",
    "{\"dry\":\"true\"}",
    "{\"dry\":t}",
    "{\"dry\":fals}",
    "{\"dry\":falsetrue}",
    /* texts */
    "{\"boot\":a}",
    "{\"boot\":'a'}",
    "{\"boot\":\"a}",
    "{\"boot\":\"a\"\"b\"}",
    "{\"boot\":\"\\\"}",
    "{\"boot\":\"\\x41\"}",
    "{\"boot\":\"\\0\"}",
    "{\"boot\":\"\\\n\"}",
    "{\"boot\":\"\\U0041\"}",
    "{\"boot\":\"\\u\"}",
    "{\"boot\":\"\\u004\"}",
    "{\"boot\":\"\\u004g\"}",
    "{\"boot\":\"\\u+041\"}",
    "{\"boot\":\"\\u0000\"}",
    "{\"boot\":\"\\ud800\"}",
    "{\"boot\":\"\\udc00\"}",
    "{\"boot\":\"\\ud800x\"}",
    "{\"boot\":\"\\ud800\\n\"}",
    "{\"boot\":\"\\ud800\\u0041\"}",
    "{\"boot\":\"\\ud800\\ud800\"}",
    "{\"boot\":\"\\udc00\\ud800\"}",
    "{\"boot\":\"\\ud83d\\udd2\"}",
    "{\"boot\":\"a\nb\"}",
    "{\"boot\":\"a\tb\"}",
    "{\"boot\":\"\x01\"}",
    "{\"boot\":\"\x1f\"}",
    "{\"boot\":\"\x80\"}",
    "{\"boot\":\"\xc0\x80\"}",
    "{\"boot\":\"\xc3\"}",
    "{\"boot\":\"\xe2\x82\"}",
    "{\"boot\":\"\xed\xa0\x80\"}",
    "{\"boot\":\"\xf4\x90\x80\x80\"}",
    "{\"boot\":\"\xf0\x9f\x94\"}",
    "{\"boot\":\"\xff\"}",
    "{\"boot\":\"12345678\xff\"}",
    "{\"boot\":\"1234567\x1f\"}",
    "{\"boot\":null}",
    "{\"boot\":1}",
    /* arrays */
    "{\"items\":[,]}",
    "{\"items\":[{},]}",
    "{\"items\":[,{}]}",
    "{\"items\":[{}{}]}",
    "{\"items\":[{} {}]}",
    "{\"items\":[{},,{}]}",
    "{\"items\":[{}}",
    "{\"items\":[{}]",
    "{\"items\":{}}",
    "{\"items\":[1]}",
    "{\"items\":[null]}",
    "{\"items\":[[]]}",
    "{\"items\":[\"\"]}",
    "{\"items\":}",
    "{\"items\":[}]",
    "{\"items\":[{]}",
    "{\"items\":[{\"count\":0}]}",
    "{\"items\":[{},{},{},{}]}",
    "{\"items\":[{}],]}",
};

static void test_malformed(void **state)
{
    struct report report;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(malformed); i++)
        if (pull_string(malformed[i], &report) != STATUS_INVALID)
            fail_msg("row %zu, \"%s\", was taken", i, malformed[i]);
}

static void test_zero_bytes(void **state)
{
    static const struct {
        const char *data;
        size_t len;
    } rows[] = {
        {"{}\0", 3}, {"\0{}", 3}, {"{\"boot\":\"a\0b\"}", 14}, {"{\"bo\0t\":\"a\"}", 12}, {"{\"boot\":\"\\\0\"}", 13}};
    struct report report;
    struct pull p;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(pull_bytes(rows[i].data, rows[i].len, &report), STATUS_INVALID);
    assert_int_equal(pull_report(&p, NULL, 0, &report), STATUS_INVALID);
}

static void test_every_beginning(void **state)
{
    struct report report;
    size_t whole = strlen(valid) - 1; /* the space behind the brace is not needed */

    (void)state;
    for (size_t len = 0; len < whole; len++)
        if (pull_bytes(valid, len, &report) != STATUS_INVALID)
            fail_msg("the first %zu bytes were taken", len);
    assert_int_equal(pull_bytes(valid, whole, &report), 0);
}

static bool jansson_takes(const char *data, size_t len)
{
    auto_json json_t *json = json_loadb(data, len, 0, NULL);

    return json != NULL;
}

/* Whatever one byte becomes: what is taken is JSON, and most changes are not taken. */
static void test_every_changed_byte(void **state)
{
    size_t len = strlen(valid), taken = 0, tried = 0;
    autofree char *copy = own_strdup(valid);
    struct report report;

    (void)state;
    for (size_t at = 0; at < len; at++) {
        for (unsigned value = 0; value < 256; value++, tried++) {
            copy[at] = (char)value;
            if (pull_bytes(copy, len, &report) != 0)
                continue;
            taken++;
            if (!jansson_takes(copy, len))
                fail_msg("byte %zu as %u is no JSON and was taken", at, value);
        }
        copy[at] = valid[at];
    }
    assert_true(taken >= len);
    assert_true(taken < tried / 2);
}

static void test_every_removed_byte(void **state)
{
    size_t len = strlen(valid);
    autofree char *copy = own_calloc(len, 1);
    struct report report;

    (void)state;
    for (size_t at = 0; at < len; at++) {
        memcpy(copy, valid, at);
        memcpy(copy + at, valid + at + 1, len - at - 1);
        if (pull_bytes(copy, len - 1, &report) == 0)
            assert_true(jansson_takes(copy, len - 1));
    }
}

/* A special character at each offset of a word, before and behind plain ones. */
static void test_special_characters_at_each_offset(void **state)
{
    static const struct {
        const char *json, *decoded;
    } rows[] = {{"\\\"", "\""},
                {"\\\\", "\\"},
                {"\\/", "/"},
                {"\\b", "\b"},
                {"\\f", "\f"},
                {"\\n", "\n"},
                {"\\r", "\r"},
                {"\\t", "\t"},
                {"\\u0001", "\x01"},
                {"\\u007F", "\x7f"},
                {"\\u0080", "\xc2\x80"},
                {"\\u07ff", "\xdf\xbf"},
                {"\\u0800", "\xe0\xa0\x80"},
                {"\\ud7FF", "\xed\x9f\xbf"},
                {"\\ue000", "\xee\x80\x80"},
                {"\\uffff", "\xef\xbf\xbf"},
                {"\\ud800\\udc00", "\xf0\x90\x80\x80"},
                {"\\udbff\\udfff", "\xf4\x8f\xbf\xbf"},
                {"\xc2\x80", "\xc2\x80"},
                {"\xed\x9f\xbf", "\xed\x9f\xbf"},
                {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
                {"\x7f", "\x7f"},
                {" ", " "},
                {"~!#[]", "~!#[]"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (int before = 0; before < 20; before++) {
            autofree char *json = own_printf("\"%.*s%s%.*s\"", before, "abcdefghijklmnopqrst", rows[i].json,
                                             20 - before, "uvwxyzABCDEFGHIJKLMN");
            autofree char *expected = own_printf("%.*s%s%.*s", before, "abcdefghijklmnopqrst", rows[i].decoded,
                                                 20 - before, "uvwxyzABCDEFGHIJKLMN");
            char text[64];
            struct pull p;
            pull_start(&p, json, strlen(json));
            pull_text(&p, text, sizeof(text));
            assert_int_equal(pull_end(&p), 0);
            assert_string_equal(text, expected);
        }
}

/* Each byte alone at each offset: exactly the right ones end a plain run. */
static void test_each_byte_in_a_text(void **state)
{
    (void)state;
    for (unsigned value = 0; value < 256; value++)
        for (size_t at = 0; at < 17; at++) {
            char json[20], text[32];
            struct pull p;
            memset(json, 'x', sizeof(json));
            json[0] = '"';
            json[1 + at] = (char)value;
            json[19] = '"';
            pull_start(&p, json, sizeof(json));
            pull_text(&p, text, sizeof(text));
            bool plain = value >= 0x20 && value < 0x80 && value != '"' && value != '\\';
            assert_int_equal(pull_end(&p) == 0, plain);
        }
}

static void test_text_that_just_fits(void **state)
{
    static const char *const texts[] = {"\"1234567\"", "\"123456\\n\"", "\"12345\xc3\xa9\"", "\"1234\xe2\x82\xac\"",
                                        "\"123\\ud83d\\udd25\""};
    char text[9];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        for (size_t size = 0; size <= 8; size++) {
            struct pull p;
            memset(text, '#', sizeof(text));
            pull_start(&p, texts[i], strlen(texts[i]));
            pull_text(&p, text, size);
            assert_int_equal(pull_end(&p), size == 8 ? 0 : STATUS_TOO_LARGE);
            assert_int_equal(text[size], '#');
            if (size > 0)
                assert_int_equal(strlen(text), size == 8 ? 7 : 0);
        }
}

static void test_depth(void **state)
{
    (void)state;
    for (int depth = 1; depth <= PULL_DEPTH_MAX + 1; depth++) {
        char json[2 * (PULL_DEPTH_MAX + 1)];
        struct pull p;
        memset(json, '[', (size_t)depth);
        memset(json + depth, ']', (size_t)depth);
        pull_start(&p, json, 2 * (size_t)depth);
        pull_array(&p);
        for (int i = 1; i < depth && pull_element(&p); i++)
            pull_array(&p);
        for (int i = 0; i < depth; i++)
            assert_false(pull_element(&p));
        assert_int_equal(pull_end(&p), depth <= PULL_DEPTH_MAX ? 0 : STATUS_TOO_LARGE);
    }
}

static void test_numbers(void **state)
{
    static const struct {
        const char *json;
        int64_t min, max, expected;
        int status;
    } rows[] = {
        {"0", 0, 0, 0, 0},
        {"-1", -1, -1, -1, 0},
        {"-9223372036854775808", INT64_MIN, 0, INT64_MIN, 0},
        {"9223372036854775807", 0, INT64_MAX, INT64_MAX, 0},
        {" 12 ", 0, 20, 12, 0},
        {"-9223372036854775809", INT64_MIN, INT64_MAX, 0, STATUS_INVALID},
        {"21", 0, 20, 0, STATUS_INVALID},
        {"-1", 0, 20, 0, STATUS_INVALID},
        {"-01", -20, 20, 0, STATUS_INVALID},
        {"- 1", -20, 20, 0, STATUS_INVALID},
        {"1_000", 0, 2000, 0, STATUS_INVALID},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct pull p;
        int64_t value = 77;
        pull_start(&p, rows[i].json, strlen(rows[i].json));
        pull_i64(&p, rows[i].min, rows[i].max, &value);
        int r = pull_end(&p);
        assert_int_equal(r, rows[i].status);
        if (r == 0)
            assert_int_equal(value, rows[i].expected);
    }
}

static void test_one_value_only(void **state)
{
    struct pull p;
    int64_t value;
    bool flag = false;

    (void)state;
    pull_start(&p, "1 2", 3);
    pull_i64(&p, 0, 9, &value);
    pull_i64(&p, 0, 9, &value);
    assert_int_equal(pull_end(&p), STATUS_INVALID);
    pull_start(&p, "true", 4);
    assert_int_equal(pull_end(&p), STATUS_INVALID);
    pull_start(&p, "true", 4);
    pull_bool(&p, &flag);
    assert_int_equal(pull_end(&p), 0);
    assert_true(flag);
}

/* The first reason stays, and nothing is written any more. */
static void test_nothing_happens_after_a_refusal(void **state)
{
    char text[8] = "kept";
    struct pull_view name = {0};
    struct pull p;
    int64_t value = 77;
    bool flag = true;

    (void)state;
    pull_start(&p, "{\"a\":1}", 7);
    pull_fail(&p, "the first reason");
    pull_fail(&p, "the second reason");
    pull_object(&p);
    pull_array(&p);
    assert_false(pull_member(&p, &name));
    assert_false(pull_element(&p));
    pull_text(&p, text, sizeof(text));
    pull_i64(&p, 0, 9, &value);
    pull_bool(&p, &flag);
    assert_int_equal(pull_end(&p), STATUS_INVALID);
    assert_string_equal(p.why, "the first reason");
    assert_string_equal(text, "kept");
    assert_int_equal(value, 77);
    assert_true(flag);
    assert_null(name.data);
    assert_ptr_equal(p.at, p.start);
}

/* A caller that asks for members of an array gets an error, not a walk off the end. */
static void test_wrong_container(void **state)
{
    struct pull_view name;
    struct pull p;

    (void)state;
    pull_start(&p, "[1]", 3);
    pull_array(&p);
    assert_false(pull_member(&p, &name));
    assert_int_equal(pull_end(&p), STATUS_INVALID);
    pull_start(&p, "{}", 2);
    pull_object(&p);
    assert_false(pull_element(&p));
    assert_int_equal(pull_end(&p), STATUS_INVALID);
    pull_start(&p, "]", 1);
    assert_false(pull_element(&p));
    assert_int_equal(pull_end(&p), STATUS_INVALID);
}

/* Members that the caller does not read are refused by the next step. */
static void test_a_value_must_be_read(void **state)
{
    static const char *const rows[] = {"{\"a\":1}", "{\"a\":\"x\",\"b\":1}", "{\"a\":{}}", "{\"a\":}"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct pull_view name;
        struct pull p;
        int members = 0;
        pull_start(&p, rows[i], strlen(rows[i]));
        pull_object(&p);
        while (pull_member(&p, &name))
            members++;
        assert_int_equal(members, 1);
        assert_int_equal(pull_end(&p), STATUS_INVALID);
    }
}

static void test_view_is(void **state)
{
    struct pull_view view = {"abc", 3}, empty = {"", 0};

    (void)state;
    assert_true(pull_view_is(view, "abc"));
    assert_false(pull_view_is(view, "ab"));
    assert_false(pull_view_is(view, "abcd"));
    assert_false(pull_view_is(view, "abd"));
    assert_true(pull_view_is(empty, ""));
    assert_false(pull_view_is(empty, "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_small_and_valid),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_zero_bytes),
        cmocka_unit_test(test_every_beginning),
        cmocka_unit_test(test_every_changed_byte),
        cmocka_unit_test(test_every_removed_byte),
        cmocka_unit_test(test_special_characters_at_each_offset),
        cmocka_unit_test(test_each_byte_in_a_text),
        cmocka_unit_test(test_text_that_just_fits),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_one_value_only),
        cmocka_unit_test(test_nothing_happens_after_a_refusal),
        cmocka_unit_test(test_wrong_container),
        cmocka_unit_test(test_a_value_must_be_read),
        cmocka_unit_test(test_view_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
