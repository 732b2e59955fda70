/* Text: the growing buffer, and parsers that refuse what they do not fully understand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

static void test_buffer_starts_empty(void **state)
{
    AUTO(text) struct text t = {0};

    (void)state;
    assert_string_equal(text_get(&t), "");
    text_clear(&t);
    assert_null(t.data);
    autofree char *taken = text_take(&t);
    assert_string_equal(taken, "");
    text_free(NULL);
}

static void test_buffer_grows(void **state)
{
    AUTO(text) struct text t = {0};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        text_add(&t, "ab");
        text_add_char(&t, 'c');
        text_printf(&t, "%d", i % 10);
        assert_int_equal(strlen(t.data), t.len);
    }
    assert_int_equal(t.len, 4000);
    assert_memory_equal(t.data + 3996, "abc9", 5);
}

/* Around the first capacity, where a format just fits or just does not. */
static void test_printf_at_every_fill(void **state)
{
    (void)state;
    for (size_t fill = 0; fill < 200; fill++) {
        AUTO(text) struct text t = {0};
        for (size_t i = 0; i < fill; i++)
            text_add_char(&t, '.');
        text_printf(&t, "%0*d", 130, 7);
        assert_int_equal(t.len, fill + 130);
        assert_int_equal(t.data[t.len - 1], '7');
        assert_int_equal(t.data[t.len], '\0');
    }
}

static void test_bytes_may_be_zero(void **state)
{
    AUTO(text) struct text t = {0};

    (void)state;
    text_add_bytes(&t, "a\0b", 3);
    text_add_bytes(&t, NULL, 0);
    assert_int_equal(t.len, 3);
    assert_memory_equal(t.data, "a\0b", 4);
}

static void test_take_empties(void **state)
{
    AUTO(text) struct text t = {0};

    (void)state;
    text_add(&t, "one");
    autofree char *one = text_take(&t);
    text_add(&t, "two");
    assert_string_equal(one, "one");
    assert_string_equal(text_get(&t), "two");
    text_clear(&t);
    assert_string_equal(text_get(&t), "");
    text_add(&t, "three");
    assert_string_equal(text_get(&t), "three");
}

static void test_compare(void **state)
{
    (void)state;
    assert_true(text_equal(NULL, NULL));
    assert_false(text_equal(NULL, ""));
    assert_false(text_equal("", NULL));
    assert_true(text_equal("a", "a"));
    assert_false(text_equal("a", "A"));
    assert_true(text_starts_with("abc", ""));
    assert_true(text_starts_with("abc", "abc"));
    assert_false(text_starts_with("abc", "abcd"));
    assert_false(text_starts_with("", "a"));
    assert_true(text_has_word("nvidia efa", "efa"));
    assert_true(text_has_word("xefa efa", "efa"));
    assert_false(text_has_word("efax xefa efa-1", "efa"));
    assert_false(text_has_word("", "efa"));
    assert_false(text_has_word("efa", ""));
    assert_true(text_ends_with("abc", ""));
    assert_true(text_ends_with("abc", "bc"));
    assert_false(text_ends_with("bc", "abc"));
    assert_false(text_ends_with("abc", "b"));
}

static void test_copy(void **state)
{
    char dst[4] = "old";

    (void)state;
    assert_int_equal(text_copy(dst, sizeof(dst), "four"), STATUS_TOO_LARGE);
    assert_string_equal(dst, "old");
    assert_int_equal(text_copy(dst, 0, ""), STATUS_TOO_LARGE);
    assert_int_equal(text_copy(dst, sizeof(dst), "new"), 0);
    assert_string_equal(dst, "new");
    assert_int_equal(text_copy_bytes(dst, sizeof(dst), "abcdef", 2), 0);
    assert_string_equal(dst, "ab");
    assert_int_equal(text_copy_bytes(dst, sizeof(dst), NULL, 0), 0);
    assert_string_equal(dst, "");
}

static void test_copy_cut(void **state)
{
    static const struct {
        const char *source;
        size_t size;
        const char *expected;
    } rows[] = {
        {"abc", 4, "abc"},
        {"abc", 3, "ab"},
        {"abc", 1, ""},
        {"", 1, ""},
        {"a\xc3\xa9", 4, "a\xc3\xa9"}, /* fits exactly */
        {"a\xc3\xa9", 3, "a"},         /* would split two bytes */
        {"\xe2\x82\xac!", 4, "\xe2\x82\xac"},
        {"\xe2\x82\xac!", 3, ""}, /* would split three */
        {"\xf0\x9f\x94\xa5!", 5, "\xf0\x9f\x94\xa5"},
        {"\xf0\x9f\x94\xa5!", 4, ""}, /* would split four */
        {"x\xf0\x9f\x94\xa5", 3, "x"},
        {"\x80\x80\x80\x80\x80\x80", 6, "\x80\x80\x80\x80\x80"}, /* no UTF-8 at all: cut anywhere */
    };
    char dst[16];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        memset(dst, '#', sizeof(dst));
        text_copy_cut(dst, rows[i].size, rows[i].source);
        assert_string_equal(dst, rows[i].expected);
        assert_int_equal(dst[rows[i].size], '#');
    }
    memset(dst, '#', sizeof(dst));
    text_copy_cut(dst, 0, "abc");
    assert_int_equal(dst[0], '#');
}

static void test_fit(void **state)
{
    (void)state;
    assert_int_equal(text_fit("a\xc3\xa9", 3), 3);
    assert_int_equal(text_fit("a\xc3\xa9", 2), 1); /* would split two bytes */
    assert_int_equal(text_fit("a\xc3\xa9", 0), 0);
    assert_int_equal(text_fit("\xf0\x9f\x94\xa5", 3), 0);
    assert_int_equal(text_fit("\x80\x80\x80\x80\x80\x80", 5), 5); /* no UTF-8 at all: cut anywhere */
    autofree char *said = own_printf("(%.*s)", TEXT_FIT("Z\xc3\xbcrich", 2));
    assert_string_equal(said, "(Z)");
}

static void test_parse_i64(void **state)
{
    static const struct {
        const char *text;
        int64_t min, max, expected;
    } good[] = {
        {"0", 0, 0, 0},
        {"-1", -1, 0, -1},
        {"007", 0, 10, 7},
        {"9223372036854775807", 0, INT64_MAX, INT64_MAX},
        {"-9223372036854775808", INT64_MIN, 0, INT64_MIN},
        {"000000000000000000000000000012", 0, 12, 12},
    };
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1\n",
                                      "--1",
                                      "-0",
                                      "-01",
                                      "0x1",
                                      "1e3",
                                      "1.0",
                                      "1,0",
                                      "one",
                                      "1-",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "99999999999999999999999",
                                      "\xd9\xa1" /* ARABIC-INDIC DIGIT ONE */};
    int64_t value = 77;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_int_equal(text_parse_i64(good[i].text, good[i].min, good[i].max, &value), 0);
        assert_int_equal(value, good[i].expected);
    }
    value = 77;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(text_parse_i64(bad[i], INT64_MIN, INT64_MAX, &value), STATUS_INVALID);
    assert_int_equal(text_parse_i64(NULL, 0, 1, &value), STATUS_INVALID);
    assert_int_equal(text_parse_i64("11", 0, 10, &value), STATUS_INVALID);
    assert_int_equal(text_parse_i64("-1", 0, 10, &value), STATUS_INVALID);
    assert_int_equal(value, 77);
}

static void test_utf8(void **state)
{
    static const char *const good[] = {"",
                                       "plain",
                                       "\x7f",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf",
                                       "mixed \xe2\x82\xac text"};
    static const char *const bad[] = {
        "\x80", /* continuation alone */
        "\xbf",
        "\xc0\x80", /* overlong zero */
        "\xc1\xbf",
        "\xc2", /* cut */
        "\xc2"
        "A",
        "\xe0\x9f\xbf", /* overlong */
        "\xed\xa0\x80", /* surrogates */
        "\xed\xbf\xbf",
        "\xe2\x82", /* cut */
        "\xe2"
        "A\x82",
        "\xe2\x82"
        "A",
        "\xf0\x8f\xbf\xbf", /* overlong */
        "\xf4\x90\x80\x80", /* above U+10FFFF */
        "\xf5\x80\x80\x80",
        "\xf0\x9f\x94", /* cut */
        "\xf0\x9f\x94"
        "A",
        "\xfe",
        "\xff",
        "good then \xff",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(text_is_utf8(good[i], strlen(good[i])));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(text_is_utf8(bad[i], strlen(bad[i])));
    assert_true(text_is_utf8("a\0b", 3));
    assert_true(text_is_utf8(NULL, 0));
}

/* Every character there is, encoded by hand, and every three-byte sequence that is none. */
static void test_utf8_exhaustively(void **state)
{
    size_t valid = 0;

    (void)state;
    for (unsigned a = 0; a < 0x110000 >> 12; a++) {
        char s[4] = {(char)(0xf0 | a >> 6), (char)(0x80 | (a & 0x3f)), (char)0x80, (char)0xbf};
        assert_int_equal(text_is_utf8(s, 4), a >= 0x10);
    }
    for (unsigned n = 0; n < 1u << 16; n++) {
        char s[3] = {(char)0xe0, (char)(n >> 8), (char)n};
        s[0] = (char)(0xe0 | (n >> 12 & 0x0f));
        s[1] = (char)(0x80 | (n >> 6 & 0x3f));
        s[2] = (char)(0x80 | (n & 0x3f));
        bool is_character = n >= 0x800 && (n < 0xd800 || n > 0xdfff);
        assert_int_equal(text_is_utf8(s, 3), is_character);
        valid += is_character ? 1 : 0;
    }
    assert_int_equal(valid, 0x10000 - 0x800 - 0x800);
}

static void test_clean_has_no_control_characters(void **state)
{
    (void)state;
    assert_true(text_is_clean(""));
    assert_true(text_is_clean(" ~ gr\xc3\xbc\xc3\x9f"));
    for (int c = 1; c < 256; c++) {
        const char text[] = {'a', (char)c, 'b', '\0'};
        assert_int_equal(text_is_clean(text), c >= 0x20 && c != 0x7f);
    }
}

static void test_hex_digits(void **state)
{
    static const char digits[] = "0123456789abcdef";
    static const char capitals[] = "0123456789ABCDEF";

    (void)state;
    for (int c = 0; c < 256; c++) {
        const char *small = memchr(digits, c, 16), *capital = memchr(capitals, c, 16);
        int expected = small != NULL ? (int)(small - digits) : capital != NULL ? (int)(capital - capitals) : -1;
        assert_int_equal(text_hex_digit((char)c), expected);
    }
}

static void test_percent_decoding_is_strict(void **state)
{
    static const struct {
        const char *text;
        int rc;
        const char *want;
    } cases[] = {
        {"gpu-1", 0, "gpu-1"},
        {"a%2Db", 0, "a-b"},
        {"%C3%a9", 0, "é"},
        {"a+b", 0, "a+b"},
        {"123456789", 0, "123456789"},
        {"1234567890", STATUS_TOO_LARGE, NULL},
        {"%", STATUS_INVALID, NULL},
        {"%4", STATUS_INVALID, NULL},
        {"%4g", STATUS_INVALID, NULL},
        {"%-1", STATUS_INVALID, NULL},
        {"a%00b", STATUS_INVALID, NULL},
        {"a%0ab", STATUS_INVALID, NULL},
        {"a%7f", STATUS_INVALID, NULL},
        {"%ff", STATUS_INVALID, NULL},
        {"%c3", STATUS_INVALID, NULL},
        {"%ed%a0%80", STATUS_INVALID, NULL}, /* a lone surrogate */
        {"\xc3(", STATUS_INVALID, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char out[10];
        int rc = text_percent_decode(cases[i].text, strlen(cases[i].text), out, sizeof(out));
        if (rc != cases[i].rc)
            fail_msg("\"%s\": %d, not %d", cases[i].text, rc, cases[i].rc);
        if (rc == 0)
            assert_string_equal(out, cases[i].want);
    }
}

static void test_escaping(void **state)
{
    AUTO(text) struct text plain = {0}, path = {0};
    (void)state;
    text_add_escaped(&plain, "aZ09-._~ /+%\xc3\xa9", "");
    assert_string_equal(text_get(&plain), "aZ09-._~%20%2F%2B%25%C3%A9");
    text_add_escaped(&path, "a/b c", "/");
    assert_string_equal(text_get(&path), "a/b%20c");
}

static void test_trimming(void **state)
{
    char padded[] = "\t a b\r\n", blank[] = " \n", none[] = "a", empty[] = "";
    (void)state;
    assert_string_equal(text_trim(padded), "a b");
    assert_string_equal(text_trim(blank), "");
    assert_string_equal(text_trim(none), "a");
    assert_string_equal(text_trim(empty), "");
}

static void test_is_name(void **state)
{
    static const char sixty_three[] = "a23456789-123456789-123456789-123456789-123456789-123456789-123";
    static const char *const good[] = {"a", "Z", "0", "gpu-1", "a--b", "A1-b2-C3", sixty_three};
    static const char *const bad[] = {"",    "-",   "-a",   "a-",     "a_b",       "a.b", "a b",
                                      "a\n", "a/b", "../a", "gpu[1]", "a\xc3\xa9", "$a",  "a;b"};
    char sixty_four[sizeof(sixty_three) + 1];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(text_is_name(good[i]));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(text_is_name(bad[i]));
    snprintf(sixty_four, sizeof(sixty_four), "%s4", sixty_three);
    assert_false(text_is_name(sixty_four));
    assert_false(text_is_name(NULL));
}

/* What would make one line look like another. */
static void test_what_must_not_be_shown(void **state)
{
    static const char *const hidden[] = {"\n",           "\x1b",         "\x7f",         "\xc2\x9b", "\xe2\x80\xae",
                                         "\xe2\x81\xa6", "\xe2\x80\xa8", "\xef\xbb\xbf", "\xd8\x9c"};
    static const char *const shown[] = {"",         "a b",  "gr\xc3\xbc\xc3\x9f", "\xe2\x80\xa6", "\xe2\x82\xac",
                                        "\xc2\xa0", "\xe2", "\xe2\x80",           "\xc2"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++) {
        struct text line AUTO(text) = {0};
        autofree char *text = own_printf("a%sb", hidden[i]);
        assert_int_equal(text_hidden_len(hidden[i]), strlen(hidden[i]));
        assert_false(text_is_line(text));
        text_add_line(&line, text);
        assert_string_equal(text_get(&line), "a?b");
        char copy[8];
        text_copy_clean(copy, sizeof(copy), text, strlen(text));
        assert_true(text_is_line(copy));
        assert_string_equal(copy, (unsigned char)hidden[i][0] < 0x80 ? "a b" : "a?b");
        text_mask(text);
        assert_true((unsigned char)hidden[i][0] < 0x80 || strcmp(text, "a?b") == 0);
        assert_true((unsigned char)hidden[i][0] >= 0x80 || text[1] == hidden[i][0]); /* the caller's */
    }
    for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
        struct text line AUTO(text) = {0};
        assert_true(text_is_line(shown[i]));
        text_add_line(&line, shown[i]);
        assert_string_equal(text_get(&line), shown[i]);
        autofree char *same = own_strdup(shown[i]);
        text_mask(same);
        assert_string_equal(same, shown[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_must_not_be_shown),
        cmocka_unit_test(test_buffer_starts_empty),
        cmocka_unit_test(test_buffer_grows),
        cmocka_unit_test(test_printf_at_every_fill),
        cmocka_unit_test(test_bytes_may_be_zero),
        cmocka_unit_test(test_take_empties),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_copy_cut),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_parse_i64),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_utf8_exhaustively),
        cmocka_unit_test(test_clean_has_no_control_characters),
        cmocka_unit_test(test_hex_digits),
        cmocka_unit_test(test_percent_decoding_is_strict),
        cmocka_unit_test(test_escaping),
        cmocka_unit_test(test_trimming),
        cmocka_unit_test(test_is_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
