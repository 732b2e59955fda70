/*
 * The strict pull parser of pull.h.
 *
 * Texts are looked at eight bytes at a time: a word that holds only plain characters
 * (printable ASCII but quote and backslash) is copied as it is, and everything else is
 * decided byte by byte. Depth 0 is the input itself, which awaits one value.
 */
#include "base/pull.h"

#include "base/status.h"
#include "base/text.h"

#include <string.h>

#define LOW_BITS UINT64_C(0x0101010101010101)
#define HIGH_BITS UINT64_C(0x8080808080808080)

/* What first[depth] may be. */
enum { VALUE_READ, NOTHING_YET, VALUE_AWAITED };

static void fail(struct pull *p, int status, const char *why)
{
    if (p->error == 0) {
        p->error = status;
        p->why = why;
    }
}

void pull_fail(struct pull *p, const char *why)
{
    fail(p, STATUS_INVALID, why);
}

void pull_start(struct pull *p, const char *data, size_t len)
{
    if (data == NULL) /* an empty body may have no address, and no offset may be added to none */
        data = "";
    *p = (struct pull){.at = data, .end = data + len, .start = data, .first[0] = VALUE_AWAITED};
}

static inline void skip_space(struct pull *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t'))
        p->at++;
}

static inline bool accept_char(struct pull *p, char c)
{
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

/* Before each value: false when none may stand here. */
static inline bool begin_value(struct pull *p)
{
    if (p->error != 0)
        return false;
    skip_space(p);
    if (p->first[p->depth] != VALUE_AWAITED) {
        pull_fail(p, "no value may stand here");
        return false;
    }
    p->first[p->depth] = VALUE_READ;
    return true;
}

static void enter(struct pull *p, char open, const char *why)
{
    if (!begin_value(p))
        return;
    if (!accept_char(p, open)) {
        pull_fail(p, why);
        return;
    }
    if (p->depth == PULL_DEPTH_MAX) {
        fail(p, STATUS_TOO_LARGE, "nested too deep");
        return;
    }
    p->depth++;
    p->first[p->depth] = NOTHING_YET;
    p->kind[p->depth] = (uint8_t)open;
}

void pull_object(struct pull *p)
{
    enter(p, '{', "an object is wanted");
}

void pull_array(struct pull *p)
{
    enter(p, '[', "an array is wanted");
}

/* Stands before a member or element, its comma read; false when the container ended. */
static inline bool next(struct pull *p, char open, char close)
{
    if (p->error != 0)
        return false;
    if (p->depth == 0 || p->kind[p->depth] != open) {
        pull_fail(p, "not inside of such a value");
        return false;
    }
    if (p->first[p->depth] == VALUE_AWAITED) {
        pull_fail(p, "a value was not read");
        return false;
    }
    skip_space(p);
    if (accept_char(p, close)) {
        p->depth--;
        return false;
    }
    if (p->first[p->depth] == VALUE_READ && !accept_char(p, ',')) {
        pull_fail(p, "a comma or the end of the value is wanted");
        return false;
    }
    p->first[p->depth] = VALUE_AWAITED;
    skip_space(p);
    return true;
}

bool pull_member(struct pull *p, struct pull_view *ret_name)
{
    if (!next(p, '{', '}'))
        return false;
    if (!accept_char(p, '"')) {
        pull_fail(p, "the name of a member is wanted");
        return false;
    }
    const char *name = p->at;
    while (p->at < p->end && *p->at >= 0x20 && *p->at < 0x7f && *p->at != '"' && *p->at != '\\')
        p->at++;
    size_t len = (size_t)(p->at - name);
    if (!accept_char(p, '"')) {
        pull_fail(p, "a name may hold printable ASCII only, without escapes");
        return false;
    }
    skip_space(p);
    if (!accept_char(p, ':')) {
        pull_fail(p, "a colon is wanted");
        return false;
    }
    *ret_name = (struct pull_view){name, len};
    return true;
}

bool pull_element(struct pull *p)
{
    return next(p, '[', ']');
}

/* A byte's high bit is set in the result when that byte of word may end a plain run. Bytes behind the
 * first such one may be marked wrongly (a borrow), which only the order from low to high makes harmless. */
static inline uint64_t special_bytes(uint64_t word)
{
    uint64_t quote = word ^ (LOW_BITS * '"'), backslash = word ^ (LOW_BITS * '\\');

    return ((word - LOW_BITS * 0x20) | (quote - LOW_BITS) | (backslash - LOW_BITS) | word) & HIGH_BITS;
}

static inline bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Bytes at at that need no decision. */
static inline size_t plain_length(const char *at, const char *end)
{
    const char *c = at;
    uint64_t word;

    while ((size_t)(end - c) >= sizeof(word)) {
        memcpy(&word, c, sizeof(word));
        if (special_bytes(word) != 0)
            break;
        c += sizeof(word);
    }
    while (c < end && is_plain((unsigned char)*c))
        c++;
    return (size_t)(c - at);
}

/* Four hex digits behind "\u"; -1 when they are not there. */
static int32_t read_hex4(struct pull *p)
{
    int32_t value = 0;

    if (p->end - p->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = text_hex_digit(*p->at++);
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

static size_t encode_utf8(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* Behind "\u". Zero is refused, since texts end with it here; halves of surrogate pairs are no characters. */
static size_t read_unicode_escape(struct pull *p, char out[4])
{
    int32_t high = read_hex4(p);

    if (high <= 0 || (high >= 0xdc00 && high <= 0xdfff))
        return 0;
    if (high < 0xd800 || high > 0xdbff)
        return encode_utf8((uint32_t)high, out);
    if (!accept_char(p, '\\') || !accept_char(p, 'u'))
        return 0;
    int32_t low = read_hex4(p);
    if (low < 0xdc00 || low > 0xdfff)
        return 0;
    return encode_utf8(0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00), out);
}

/* Behind a backslash. Returns the bytes put into out, 0 when the escape is none. */
static size_t read_escape(struct pull *p, char out[4])
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";

    if (p->at == p->end || *p->at == '\0')
        return 0;
    char c = *p->at++;
    if (c == 'u')
        return read_unicode_escape(p, out);
    const char *letter = strchr(letters, c);
    if (letter == NULL)
        return 0;
    out[0] = meanings[letter - letters];
    return 1;
}

/* One character above ASCII, taken over as it is; 0 when it is not UTF-8. */
static size_t read_utf8(struct pull *p, char out[4])
{
    unsigned char lead = (unsigned char)*p->at;
    size_t len = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

    if ((size_t)(p->end - p->at) < len || !text_is_utf8(p->at, len))
        return 0;
    memcpy(out, p->at, len);
    p->at += len;
    return len;
}

/* What stands at p->at is not plain and not the closing quote. */
static size_t read_special(struct pull *p, char out[4])
{
    size_t len = 0;

    if (p->at == p->end) {
        pull_fail(p, "a text does not end");
    } else if (*p->at == '\\') {
        p->at++;
        len = read_escape(p, out);
        if (len == 0)
            pull_fail(p, "a bad escape");
    } else if ((unsigned char)*p->at < 0x20) {
        pull_fail(p, "a control character in a text");
    } else {
        len = read_utf8(p, out);
        if (len == 0)
            pull_fail(p, "a text is not UTF-8");
    }
    return len;
}

/* dst has size bytes, used of them taken; len more and a zero must fit. */
static bool fits(struct pull *p, size_t size, size_t used, size_t len)
{
    if (size - used > len)
        return true;
    fail(p, STATUS_TOO_LARGE, "a text is too long");
    return false;
}

void pull_text(struct pull *p, char *dst, size_t size)
{
    size_t used = 0;

    if (size == 0)
        fail(p, STATUS_TOO_LARGE, "a text is too long");
    if (!begin_value(p))
        return;
    if (!accept_char(p, '"'))
        pull_fail(p, "a text is wanted");
    while (p->error == 0) {
        char bytes[4];
        const char *from = p->at;
        size_t len = plain_length(p->at, p->end);
        p->at += len;
        if (len == 0) {
            if (accept_char(p, '"'))
                break;
            from = bytes;
            len = read_special(p, bytes);
        }
        if (p->error == 0 && fits(p, size, used, len)) {
            memcpy(dst + used, from, len);
            used += len;
        }
    }
    dst[p->error == 0 ? used : 0] = '\0';
}

static bool is_digit(const struct pull *p)
{
    return p->at < p->end && *p->at >= '0' && *p->at <= '9';
}

/* Digits without a leading zero and without a fraction or an exponent. False when they are none or too many. */
static bool read_digits(struct pull *p, bool negative, int64_t *ret_value)
{
    const char *from = p->at;
    int64_t value = 0;

    for (; is_digit(p); p->at++) {
        int64_t digit = *p->at - '0';
        /* Built on the side of its sign, because INT64_MIN has no positive twin. */
        if (__builtin_mul_overflow(value, INT64_C(10), &value) ||
            (negative ? __builtin_sub_overflow(value, digit, &value) : __builtin_add_overflow(value, digit, &value)))
            return false;
    }
    if (p->at == from || (*from == '0' && (p->at - from > 1 || negative)))
        return false;
    *ret_value = value;
    return p->at == p->end || (*p->at != '.' && *p->at != 'e' && *p->at != 'E');
}

void pull_i64(struct pull *p, int64_t min, int64_t max, int64_t *ret_value)
{
    int64_t value = 0;

    if (!begin_value(p))
        return;
    if (!read_digits(p, accept_char(p, '-'), &value))
        pull_fail(p, "a plain whole number is wanted");
    else if (value < min || value > max)
        pull_fail(p, "a number is out of its range");
    else
        *ret_value = value;
}

static bool accept_word(struct pull *p, const char *word, size_t len)
{
    if ((size_t)(p->end - p->at) < len || memcmp(p->at, word, len) != 0)
        return false;
    p->at += len;
    return true;
}

void pull_bool(struct pull *p, bool *ret_value)
{
    if (!begin_value(p))
        return;
    if (accept_word(p, "true", 4))
        *ret_value = true;
    else if (accept_word(p, "false", 5))
        *ret_value = false;
    else
        pull_fail(p, "true or false is wanted");
}

int pull_end(struct pull *p)
{
    if (p->error != 0)
        return p->error;
    skip_space(p);
    if (p->depth != 0 || p->first[0] != VALUE_READ)
        pull_fail(p, "the message does not end");
    else if (p->at != p->end)
        pull_fail(p, "bytes behind the message");
    return p->error;
}

bool pull_view_is(struct pull_view view, const char *text)
{
    return strlen(text) == view.len && memcmp(view.data, text, view.len) == 0;
}
