/*
 * The growing buffer and the strict small parsers of text.h. Hostlists are in
 * text_hostlist.c.
 */
#include "base/text.h"

#include "base/status.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define TEXT_CAPACITY_MIN 64
#define NAME_LENGTH_MAX 63 /* botocore ClusterName */

/* Room for extra bytes and a zero. */
static void reserve(struct text *t, size_t extra)
{
    size_t needed;

    if (__builtin_add_overflow(t->len, extra, &needed) || needed > SIZE_MAX / 4)
        abort();
    needed++;
    if (needed <= t->capacity)
        return;
    size_t capacity = t->capacity < TEXT_CAPACITY_MIN ? TEXT_CAPACITY_MIN : t->capacity;
    while (capacity < needed)
        capacity *= 2;
    t->data = own_realloc(t->data, capacity, 1);
    t->capacity = capacity;
}

void text_add_bytes(struct text *t, const char *bytes, size_t len)
{
    reserve(t, len);
    if (len > 0)
        memcpy(t->data + t->len, bytes, len);
    t->len += len;
    t->data[t->len] = '\0';
}

void text_add(struct text *t, const char *s)
{
    text_add_bytes(t, s, strlen(s));
}

void text_add_char(struct text *t, char c)
{
    text_add_bytes(t, &c, 1);
}

void text_vprintf(struct text *t, const char *fmt, va_list ap)
{
    va_list again;

    reserve(t, TEXT_CAPACITY_MIN);
    va_copy(again, ap);
    int n = vsnprintf(t->data + t->len, t->capacity - t->len, fmt, ap);
    if (n < 0)
        abort();
    if ((size_t)n >= t->capacity - t->len) {
        reserve(t, (size_t)n);
        vsnprintf(t->data + t->len, t->capacity - t->len, fmt, again);
    }
    va_end(again);
    t->len += (size_t)n;
}

void text_printf(struct text *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    text_vprintf(t, fmt, ap);
    va_end(ap);
}

const char *text_get(const struct text *t)
{
    return t->data == NULL ? "" : t->data;
}

char *text_take(struct text *t)
{
    char *data = t->data == NULL ? own_strdup("") : t->data;

    *t = (struct text){0};
    return data;
}

void text_clear(struct text *t)
{
    t->len = 0;
    if (t->data != NULL)
        t->data[0] = '\0';
}

void text_free(struct text *t)
{
    if (t == NULL)
        return;
    free(t->data);
    *t = (struct text){0};
}

bool text_equal(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return strcmp(a, b) == 0;
}

bool text_starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool text_has_word(const char *words, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = len > 0 ? strstr(words, word) : NULL; at != NULL; at = strstr(at + 1, word))
        if ((at == words || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    return false;
}

bool text_ends_with(const char *s, const char *suffix)
{
    size_t len = strlen(s), suffix_len = strlen(suffix);

    return suffix_len <= len && memcmp(s + len - suffix_len, suffix, suffix_len) == 0;
}

int text_copy_bytes(char *dst, size_t size, const char *src, size_t len)
{
    if (len >= size)
        return STATUS_TOO_LARGE;
    if (len > 0)
        memcpy(dst, src, len);
    dst[len] = '\0';
    return 0;
}

int text_copy(char *dst, size_t size, const char *src)
{
    return text_copy_bytes(dst, size, src, strlen(src));
}

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

int text_fit(const char *s, size_t max)
{
    size_t len = strnlen(s, max + 1);
    if (len <= max)
        return (int)len;
    /* A character has at most three continuation bytes; more of them is not UTF-8 and is cut anywhere. */
    size_t back = 0;
    while (back < 3 && back < max && is_continuation(s[max - back]))
        back++;
    return (int)(is_continuation(s[max - back]) ? max : max - back);
}

void text_copy_cut(char *dst, size_t size, const char *src)
{
    if (size == 0)
        return;
    size_t len = (size_t)text_fit(src, size - 1);
    memcpy(dst, src, len);
    dst[len] = '\0';
}

void text_copy_clean(char *dst, size_t size, const char *line, size_t len)
{
    if (len >= size) {
        for (len = size - 1; len > 0 && ((unsigned char)line[len] & 0xc0) == 0x80;)
            len--;
    }
    bool valid = text_is_utf8(line, len);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)line[i];
        dst[i] = c < 0x20 || c == 0x7f ? ' ' : c >= 0x80 && !valid ? '?' : line[i];
    }
    dst[len] = '\0';
    text_mask(dst);
}

void text_mask(char *s)
{
    char *to = s;
    while (*s != '\0') {
        int hidden = (unsigned char)*s < 0x80 ? 0 : text_hidden_len(s);
        *to++ = hidden == 0 ? *s : '?';
        s += hidden == 0 ? 1 : hidden;
    }
    *to = '\0';
}

bool text_is_clean(const char *s)
{
    for (; *s != '\0'; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return false;
    return true;
}

int text_hidden_len(const char *s)
{
    static const struct {
        char first[3], low, high; /* the last byte from … to … */
    } hidden[] = {
        {"\xc2", '\x80', '\x9f'},     /* C1: terminals take U+009B for escape and bracket */
        {"\xd8", '\x9c', '\x9c'},     /* U+061C */
        {"\xe2\x80", '\x8b', '\x8f'}, /* U+200B to U+200F */
        {"\xe2\x80", '\xa8', '\xae'}, /* U+2028 to U+202E */
        {"\xe2\x81", '\xa0', '\xaf'}, /* U+2060 to U+206F */
        {"\xef\xbb", '\xbf', '\xbf'}, /* U+FEFF */
    };
    unsigned char c = (unsigned char)s[0];
    if (c < 0x80)
        return (c != 0 && c < 0x20) || c == 0x7f;
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++) {
        size_t len = strlen(hidden[i].first);
        if (strncmp(s, hidden[i].first, len) == 0 && (unsigned char)s[len] >= (unsigned char)hidden[i].low &&
            (unsigned char)s[len] <= (unsigned char)hidden[i].high)
            return (int)len + 1;
    }
    return 0;
}

bool text_is_line(const char *s)
{
    while (*s != '\0' && text_hidden_len(s) == 0)
        s++;
    return *s == '\0';
}

void text_add_line(struct text *t, const char *s)
{
    while (*s != '\0') {
        int hidden = text_hidden_len(s);
        text_add_char(t, hidden > 0 ? '?' : *s);
        s += hidden > 0 ? hidden : 1;
    }
}

int text_parse_i64(const char *s, int64_t min, int64_t max, int64_t *ret_value)
{
    bool negative = s != NULL && s[0] == '-';
    int64_t value = 0;

    if (s == NULL || s[negative ? 1 : 0] == '\0' || (negative && s[1] == '0'))
        return STATUS_INVALID;
    for (const char *c = s + (negative ? 1 : 0); *c != '\0'; c++) {
        if (*c < '0' || *c > '9' || __builtin_mul_overflow(value, INT64_C(10), &value))
            return STATUS_INVALID;
        int64_t digit = *c - '0';
        /* Built on the side of its sign, because INT64_MIN has no positive twin. */
        if (negative ? __builtin_sub_overflow(value, digit, &value) : __builtin_add_overflow(value, digit, &value))
            return STATUS_INVALID;
    }
    if (value < min || value > max)
        return STATUS_INVALID;
    *ret_value = value;
    return 0;
}

/* Length of the well-formed character at s (Unicode's table 3-7), 0 when there is none. */
static size_t utf8_length(const unsigned char *s, size_t left)
{
    unsigned char lead = s[0], low = 0x80, high = 0xbf;

    if (lead < 0x80)
        return 1;
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    size_t len = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead == 0xe0)
        low = 0xa0; /* overlong */
    else if (lead == 0xed)
        high = 0x9f; /* surrogates */
    else if (lead == 0xf0)
        low = 0x90; /* overlong */
    else if (lead == 0xf4)
        high = 0x8f; /* above U+10FFFF */
    if (left < len || s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++)
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    return len;
}

bool text_is_utf8(const char *s, size_t len)
{
    size_t at = 0;

    while (at < len) {
        size_t n = utf8_length((const unsigned char *)s + at, len - at);
        if (n == 0)
            return false;
        at += n;
    }
    return true;
}

int text_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void text_add_escaped(struct text *t, const char *s, const char *also)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    for (const char *at = s; *at != '\0'; at++)
        if (strchr(plain, *at) != NULL || strchr(also, *at) != NULL)
            text_add_char(t, *at);
        else
            text_printf(t, "%%%02X", (unsigned)(unsigned char)*at);
}

char *text_trim(char *s)
{
    size_t len = strlen(s);
    while (len > 0 && isspace((unsigned char)s[len - 1]))
        s[--len] = '\0';
    while (isspace((unsigned char)*s))
        s++;
    return s;
}

int text_percent_decode(const char *text, size_t len, char *ret_text, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++, n++) {
        int c = (unsigned char)text[i];
        if (c == '%') {
            int high = len - i > 2 ? text_hex_digit(text[i + 1]) : -1;
            int low = len - i > 2 ? text_hex_digit(text[i + 2]) : -1;
            if (high < 0 || low < 0)
                return STATUS_INVALID;
            c = high * 16 + low;
            i += 2;
        }
        if (c < 0x20 || c == 0x7f)
            return STATUS_INVALID;
        if (n + 1 >= size)
            return STATUS_TOO_LARGE;
        ret_text[n] = (char)c;
    }
    ret_text[n] = '\0';
    return text_is_utf8(ret_text, n) ? 0 : STATUS_INVALID;
}

static bool is_alnum_ascii(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool text_is_name(const char *s)
{
    size_t len = s == NULL ? 0 : strnlen(s, NAME_LENGTH_MAX + 1);

    if (len == 0 || len > NAME_LENGTH_MAX || !is_alnum_ascii(s[0]) || !is_alnum_ascii(s[len - 1]))
        return false;
    for (size_t i = 1; i < len; i++)
        if (!is_alnum_ascii(s[i]) && s[i] != '-')
            return false;
    return true;
}
