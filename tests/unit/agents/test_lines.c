/* Lines and words of small files: numbers that are none are refused, and nothing is read behind the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/lines.h"
#include "base/own.h"

#include <string.h>

static struct word word_of(const char *text)
{
    return (struct word){text, strlen(text)};
}

static void test_lines_and_words(void **state)
{
    static const char data[] = "a  b\tc\n\n last";
    struct lines lines;
    struct word line, words[2];
    (void)state;
    lines_start(&lines, data, strlen(data));
    assert_true(lines_next(&lines, &line));
    assert_int_equal(lines_words(line, words, 2), 3); /* more than there was room for */
    assert_true(word_is(words[1], "b"));
    assert_true(lines_next(&lines, &line));
    assert_int_equal(lines_words(line, words, 2), 0);
    assert_true(lines_next(&lines, &line));
    assert_true(word_is(line, " last"));
    assert_false(lines_next(&lines, &line));
    lines_start(&lines, NULL, 0);
    assert_false(lines_next(&lines, &line));
}

static void test_numbers(void **state)
{
    static const char *const bad[] = {"", "-1", "+1", "0x1", "1 ", "9999999999999999999", "99999999999999999999999"};
    static const char *const bad_milli[] = {"", ".", ".5", "1.x", "1.5.5", "9223372036854775807", "-1.0"};
    int64_t value;
    (void)state;
    assert_true(word_i64(word_of("0123"), &value));
    assert_int_equal(value, 123);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(word_i64(word_of(bad[i]), &value));
    assert_true(word_milli(word_of("12.3456"), &value));
    assert_int_equal(value, 12345);
    assert_true(word_milli(word_of("16"), &value));
    assert_int_equal(value, 16000);
    for (size_t i = 0; i < ARRAY_LEN(bad_milli); i++)
        assert_false(word_milli(word_of(bad_milli[i]), &value));
}

static void test_keys(void **state)
{
    static const char data[] = "MemTotalX: 1 kB\nMemTotal: 2 kB\nHugePages_Free:\nSwap: x";
    int64_t value;
    (void)state;
    assert_true(lines_find_i64(data, strlen(data), "MemTotal:", &value));
    assert_int_equal(value, 2);
    assert_false(lines_find_i64(data, strlen(data), "HugePages_Free:", &value));
    assert_false(lines_find_i64(data, strlen(data), "Swap:", &value));
    assert_false(lines_find_i64(data, strlen(data), "None:", &value));
}

static void test_copies(void **state)
{
    char small[4];
    (void)state;
    assert_true(word_copy(word_of("abc"), small, sizeof(small)));
    assert_string_equal(small, "abc");
    assert_false(word_copy(word_of("abcd"), small, sizeof(small)));
    assert_false(word_copy((struct word){"a\0b", 3}, small, sizeof(small)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_and_words),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
