/* YAML: the JSON-like part of it, and a refusal with line and column for the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "base/yaml.h"

#include <stdio.h>
#include <string.h>

#define BYTES_MAX 100000

static void test_what_is_read(void **state)
{
    static const struct {
        const char *yaml, *json;
    } cases[] = {
        {"", "null"},
        {"# only a comment\n", "null"},
        {"a: 1\nb: [x, \"y\", 'z']\n", "{\"a\":1,\"b\":[\"x\",\"y\",\"z\"]}"},
        {"{\"json\": [1, true, null, -2.5e3, \"\\u00e9\"]}", "{\"json\":[1,true,null,-2500.0,\"\xc3\xa9\"]}"},
        {"a:\n  b:\n    - 1\n    - c: ~\n", "{\"a\":{\"b\":[1,{\"c\":null}]}}"},
        {"v: no\n", "{\"v\":\"no\"}"}, /* a word, not false */
        {"v: yes\nw: on\nx: 1:30\ny: 2026-11-20\n", "{\"v\":\"yes\",\"w\":\"on\",\"x\":\"1:30\",\"y\":\"2026-11-20\"}"},
        {"v: TRUE\nw: False\n", "{\"v\":true,\"w\":false}"},
        {"v: 0x1f\nw: 0o17\nx: 017\ny: +3\nz: -0\n", "{\"v\":31,\"w\":15,\"x\":17,\"y\":3,\"z\":0}"},
        {"v: 1.\nw: .5\nx: 1e3\ny: 1e\nz: .\n", "{\"v\":1.0,\"w\":0.5,\"x\":1000.0,\"y\":\"1e\",\"z\":\".\"}"},
        {"v: \"1\"\nw: '~'\nx: ''\n", "{\"v\":\"1\",\"w\":\"~\",\"x\":\"\"}"},
        {"v: |\n  two\n  lines\n", "{\"v\":\"two\\nlines\\n\"}"},
        {"v: 9223372036854775807\n", "{\"v\":9223372036854775807}"},
        {"---\na: 1\n...\n", "{\"a\":1}"},
        {"1: one\n", "{\"1\":\"one\"}"}, /* keys are text */
        {"dir: C:\\x\nurl: http://x:1/#y\n", "{\"dir\":\"C:\\\\x\",\"url\":\"http://x:1/#y\"}"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_json json_t *json = NULL;
        char error[JSON_ERROR_MAX] = "";
        int status = yaml_parse(cases[i].yaml, strlen(cases[i].yaml), BYTES_MAX, &json, error);
        if (status != 0)
            fail_msg("%s: %s", cases[i].yaml, error);
        autofree char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
        assert_string_equal(text, cases[i].json);
    }
}

static void test_what_is_refused(void **state)
{
    static const struct {
        const char *yaml, *message;
    } cases[] = {
        {"a: 1\nb: 2\na: 3\n", "line 3, column 1: the key \"a\" is there twice"},
        {"a: &x 1\nb: *x\n", "line 1, column 4: anchors"},
        {"b: *x\n", "line 1, column 4: aliases"},
        {"*x : 1\n", "line 1, column 1: aliases"},
        {"a: !!str 1\n", "line 1, column 4: tags"},
        {"a: !local {b: 1}\n", "line 1, column 4: tags"},
        {"- &x [1]\n", "line 1, column 3: anchors"},
        {"a: 1\n---\nb: 2\n", "line 2, column 1: one document"},
        {"? [a, b]\n: 1\n", "line 1, column 3: a key must be text"},
        {"<<: {a: 1}\n", "line 1, column 1: merge keys"},
        {"a: .inf\n", "line 1, column 4: infinity"},
        {"a: -.INF\n", "line 1, column 4: infinity"},
        {"a: .nan\n", "line 1, column 4: infinity"},
        {"a: 99999999999999999999\n", "line 1, column 4: the number is too large"},
        {"a: 1e999\n", "line 1, column 4: the number is too large"},
        {"a: \"x\\0y\"\n", "line 1, column 4: a zero character"},
        {"\"a\\0b\": 1\n", "line 1, column 1: a zero character"},
        {"a: [1\n", "line "},
        {"a: b: c\n", "line 1"},
        {"\ta: 1\n", "line 1"},
        {"a: \xff\xfe\n", ""},
        {"%YAML 3.0\n---\na: 1\n", "line 1"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_json json_t *json = NULL;
        char error[JSON_ERROR_MAX] = "";
        if (yaml_parse(cases[i].yaml, strlen(cases[i].yaml), BYTES_MAX, &json, error) != STATUS_INVALID)
            fail_msg("taken: %s", cases[i].yaml);
        assert_null(json);
        if (!text_starts_with(error, cases[i].message))
            fail_msg("%s: %s", cases[i].yaml, error);
        assert_true(error[0] != '\0');
    }
}

static void test_limits(void **state)
{
    char error[JSON_ERROR_MAX], deep[200];
    auto_json json_t *json = NULL;
    (void)state;
    assert_int_equal(yaml_parse("a: 1", 4, 3, &json, error), STATUS_TOO_LARGE);
    memset(deep, '[', JSON_DEPTH_MAX);
    memset(deep + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    assert_int_equal(yaml_parse(deep, 2 * JSON_DEPTH_MAX, BYTES_MAX, &json, error), 0);
    memset(deep, '[', JSON_DEPTH_MAX + 1);
    memset(deep + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    auto_json json_t *none = NULL;
    assert_int_equal(yaml_parse(deep, 2 * JSON_DEPTH_MAX + 2, BYTES_MAX, &none, error), STATUS_TOO_LARGE);
}

/* Every prefix of a document is taken or refused, never worse. */
static void test_prefixes(void **state)
{
    static const char yaml[] = "a: [1, \"x\\u00e9\", {b: 'c'}]\nd: |\n  text\ne:\n- ~\n- 1.5\n";
    (void)state;
    for (size_t len = 0; len < sizeof(yaml); len++) {
        auto_json json_t *json = NULL;
        char error[JSON_ERROR_MAX] = "";
        int status = yaml_parse(yaml, len, BYTES_MAX, &json, error);
        assert_true(status == 0 ? json != NULL : json == NULL && error[0] != '\0');
    }
}

static void test_round_trip(void **state)
{
    static const char *const jsons[] = {
        "{\"a\":1,\"b\":[],\"c\":{},\"d\":[{\"e\":\"f\",\"g\":[1,[2]]}]}",
        "[\"no\",\"Yes\",\"on\",\"null\",\"~\",\"\",\"1\",\"0x1\",\"1.5\",\".inf\",\"1:30\",\"2026-11-20\"]",
        "[\" x\",\"x \",\"- a\",\"a: b\",\"#c\",\"a #c\",\"&a\",\"*a\",\"!a\",\"%a\",\"@a\",\"`a\",\"'\"]",
        "[\"\\\"\",\"[a\",\"{a\",\"a,b\",\"|\",\">\",\"?\",\"---\",\"...\",\"<<\"]",
        "[\"two\\nlines\\n\",\"one\\ntwo\",\"\\n\",\" lead\\nx\"]",
        "[\"tab\\tx\",\"\\u0001\",\"\\u007f\",\"\xf0\x9f\x98\x80\"]",
        "[1,-1,9223372036854775807,1.5,1e+300,2.0,-0.0,true,false,null]",
        "\"text\"",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(jsons); i++) {
        char error[JSON_ERROR_MAX] = "";
        auto_json json_t *json = json_loads(jsons[i], JSON_DECODE_ANY, NULL), *again = NULL;
        assert_non_null(json);
        autofree char *yaml = yaml_dump(json);
        if (yaml_parse(yaml, strlen(yaml), BYTES_MAX, &again, error) != 0)
            fail_msg("%s: %s", yaml, error);
        if (!json_equal(json, again))
            fail_msg("%s", yaml);
    }
}

static void test_dump_reads_well(void **state)
{
    auto_json json_t *json =
        json_loads("{\"name\":\"train\",\"on\":\"no\",\"groups\":[{\"count\":4,\"names\":\"gpu-[1-4]\"}],"
                   "\"none\":[],\"note\":\"a\\nb\\n\"}",
                   0, NULL);
    (void)state;
    autofree char *yaml = yaml_dump(json);
    assert_string_equal(yaml,
                        "name: train\n\"on\": \"no\"\ngroups:\n- count: 4\n  names: gpu-[1-4]\nnone: []\nnote: |\n  "
                        "a\n  b\n");
}

static void test_says_on_which_line(void **state)
{
    static const char text[] = "a: 1\n"
                               "list:\n"
                               "  - x: 1\n"
                               "  - [1, 2]\n"
                               "\n"
                               "  - y:\n"
                               "      z: {deep: true}\n"
                               "\"b\": |\n"
                               "  text\n"
                               "c: 0\n";
    static const struct {
        const char *path[5];
        size_t depth, line;
    } cases[] = {
        {{"a"}, 1, 1},
        {{"list"}, 1, 2},
        {{"list", "0"}, 2, 3},
        {{"list", "0", "x"}, 3, 3},
        {{"list", "1", "1"}, 3, 4},
        {{"list", "2", "y"}, 3, 6},
        {{"list", "2", "y", "z", "deep"}, 5, 7},
        {{"b"}, 1, 8},
        {{"c"}, 1, 10},
        {{"d"}, 1, 0},
        {{"a", "b"}, 2, 0},
        {{"list", "3"}, 2, 0},
        {{"list", "x"}, 2, 0},
        {{"a"}, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(yaml_line(text, strlen(text), cases[i].path, cases[i].depth), cases[i].line);
    assert_int_equal(yaml_line("", 0, cases[0].path, 1), 0);
    assert_int_equal(yaml_line("{", 1, cases[0].path, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_says_on_which_line), cmocka_unit_test(test_what_is_read),
        cmocka_unit_test(test_what_is_refused),    cmocka_unit_test(test_limits),
        cmocka_unit_test(test_prefixes),           cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_dump_reads_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
