/* The scan: each line that a pattern matches is found, whatever is around it; and what it leaves to others is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/pattern.h"
#include "base/scan.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

static const char *const regexes[] = {
    "foo",         ".*foo.*",     ".*?foo",     "foo.*bar$", "foo|bar", ".*foo|bar.*", "(?:a|b)+c", "[]|(]x|foo",
    "\\.*x",       "a{2,3}b",     "foo(?=bar)", "(?<!x)foo", "(f)o\\1", "foo\\s",      "f[^x]*o",   ".*(\\d+) bar\\.*",
    "(?P<v>\\d+)", ".*\\bfoo\\b", "",           ".*",        "^foo",    "a?",
};
static const char *const lines[] = {
    "foo", "xfoo", "foobar", "foo bar", "bar", "a foo b bar", "ac",       "bbac", "]x",   "(x",    "|x",
    "..x", "x",    "aab",    "aaab",    "fof", "1",           "x1 bar..", "",     "foo ", "1 bar", "a",
};

struct seen {
    bool line[ARRAY_LEN(regexes)][ARRAY_LEN(lines)];
    const char *starts[ARRAY_LEN(lines)];
};

static void on_line(void *arg, size_t pattern, const char *line, size_t len)
{
    struct seen *seen = arg;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        if (seen->starts[i] == line) {
            assert_int_equal(len, strlen(lines[i]));
            seen->line[pattern][i] = true;
            return;
        }
    fail_msg("pattern %zu: no line begins there", pattern);
}

static void test_no_match_is_missed(void **state)
{
    (void)state;
    bool found[ARRAY_LEN(regexes)];
    struct seen seen = {0};
    __attribute__((cleanup(auto_text_cleanup))) struct text block = {0};
    char error[PATTERN_ERROR_MAX];
    size_t offsets[ARRAY_LEN(lines)];
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        offsets[i] = block.len;
        text_printf(&block, "%s\n", lines[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        seen.starts[i] = block.data + offsets[i];
    AUTO(scan) struct scan *scan = scan_new(regexes, ARRAY_LEN(regexes), found);
    scan_block(scan, block.data, block.len, on_line, &seen);
    for (size_t i = 0; i < ARRAY_LEN(regexes); i++) {
        AUTO(pattern) struct pattern *pattern = pattern_new_line(regexes[i], error);
        for (size_t k = 0; k < ARRAY_LEN(lines); k++) {
            struct pattern_group group;
            bool matches =
                pattern_match_line(pattern, block.data + offsets[k], strlen(lines[k]) + 1, &group) == PATTERN_YES;
            if (found[i] && matches && !seen.line[i][k])
                fail_msg("%s: missed \"%s\"", regexes[i], lines[k]);
        }
    }
}

static void test_what_is_left_to_others(void **state)
{
    (void)state;
    static const struct {
        const char *regex;
        bool found;
    } table[] = {
        {"foo", true},        {".*loss (\\d+).*", true}, {"(a)\\1", true},
        {"foo(?=bar)", true}, {"\\Afoo", false},         {"foo\\Z", false},
        {"(?i)foo", false},   {"(?:foo)", true},         {"(?P<name>foo)", true},
        {"(?P=name)", false}, {"caf\xc3\xa9", false},    {"", false},
        {".*", false},        {"x{1,3000}", false},      {"((a{50}){50}){50}", false},
        {"a*", false},        {"(*ACCEPT)x", false},     {"\\x41", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        bool found;
        AUTO(scan) struct scan *scan = scan_new(&table[i].regex, 1, &found);
        if (found != table[i].found)
            fail_msg("%s: %s", table[i].regex, found ? "is found" : "is not found");
    }
}

static void count_line(void *arg, size_t pattern, const char *line, size_t len)
{
    (void)pattern;
    (void)line;
    (void)len;
    ++*(int *)arg;
}

static void test_a_line_is_told_once(void **state)
{
    (void)state;
    static const char *const one[] = {"loss \\d+"};
    bool found;
    int count = 0;
    AUTO(scan) struct scan *scan = scan_new(one, 1, &found);
    static const char block[] = "loss 123456 loss 1\nloss 1\nloss x\nloss 7";
    scan_block(scan, block, strlen(block), count_line, &count);
    assert_int_equal(count, 3);
    scan_block(scan, block, 0, count_line, &count);
    assert_int_equal(count, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_match_is_missed),
        cmocka_unit_test(test_what_is_left_to_others),
        cmocka_unit_test(test_a_line_is_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
