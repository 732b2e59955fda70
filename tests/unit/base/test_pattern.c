/* Patterns: whole texts, Java's reading, and an end to the work that a text can ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/pattern.h"

#include <stdio.h>
#include <string.h>

static void test_matches_whole_texts(void **state)
{
    static const struct {
        const char *regex, *text;
        bool matches;
    } table[] = {
        {"abc", "abc", true},
        {"abc", "abcd", false},
        {"abc", "xabc", false},
        {"ami-[0-9a-f]{8,17}|default", "default", true},
        {"ami-[0-9a-f]{8,17}|default", "ami-01234567", true},
        {"ami-[0-9a-f]{8,17}|default", "defaults", false},
        {"ami-[0-9a-f]{8,17}|default", "ami-01234567default", false},
        {"a|ab", "ab", true}, /* the first branch alone does not reach the end */
        {".*", "", true},
        {".*", "one\ntwo", false},
        {".*", "one\rtwo", false},
        {"[\\S\\s]+", "one\ntwo", true},
        {"(?!\\s*$).+", "  ", false},
        {"(?!\\s*$).+", " x", true},
        {"\\d", "\xd9\xa3", false}, /* ARABIC-INDIC DIGIT THREE */
        {"[\\p{L}]+", "\xc3\xa9t\xc3\xa9", true},
        {"[\\p{L}]+", "7", false},
        {".", "\xf0\x9f\x90\x8e", true}, /* one character of four bytes */
        {"a", "a\n", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        AUTO(pattern) struct pattern *pattern = pattern_new(table[i].regex);
        assert_non_null(pattern);
        if (pattern_matches(pattern, table[i].text, strlen(table[i].text)) != table[i].matches)
            fail_msg("%s on \"%s\"", table[i].regex, table[i].text);
    }
}

static void test_length_counts_not_the_zero(void **state)
{
    AUTO(pattern) struct pattern *pattern = pattern_new("ab");

    (void)state;
    assert_true(pattern_matches(pattern, "abc", 2));
    assert_false(pattern_matches(pattern, "ab\0", 3));
    assert_false(pattern_matches(pattern, "", 0));
}

static void test_refuses_what_is_no_pattern(void **state)
{
    (void)state;
    assert_null(pattern_new("("));
    assert_null(pattern_new("[z-a]"));
    pattern_free(NULL);
}

/* Nested repetition makes a matcher try every way to cut the text up: 2^100 of them here, were there no limit. */
static void test_work_is_bounded(void **state)
{
    AUTO(pattern) struct pattern *pattern = pattern_new("[a-z0-9]([-a-z0-9]*[a-z0-9]){0,39}?");
    char text[102];

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_true(pattern_matches(pattern, text, 101));
    text[100] = '!';
    int64_t start_us = clock_stopwatch_us();
    assert_false(pattern_matches(pattern, text, 101));
    assert_in_range(clock_stopwatch_us() - start_us, 0, 1000000); /* a second is some hundred times what it takes */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches_whole_texts),
        cmocka_unit_test(test_length_counts_not_the_zero),
        cmocka_unit_test(test_refuses_what_is_no_pattern),
        cmocka_unit_test(test_work_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
