/*
 * The patterns and their syntax:
 *
 *   {}         any text, the shortest match
 *   {word}     letters, digits and punctuation of names, the shortest match; {device}: the same, and the device of the finding
 *   {n}        a number, all of its digits
 *   the rest   literal text
 *
 * A pattern matches at the start of the kernel's text; any text may follow. There is no backtracking: each part takes the first place
 * that fits, so a match reads a line once.
 *
 * The longest literal of each pattern is searched in one scan of the line (kmsg_scan.h). Only patterns that the scan finds are
 * compared in full. The first matching row wins.
 */
#include "agents/checks/kmsg_pattern.h"

#include "agents/checks/kmsg_scan.h"
#include "base/own.h"
#include "base/text.h"
#include "model/fault_name.h"

#include <assert.h>
#include <string.h>

static const struct row {
    const char *code; /* NULL: harmless */
    const char *pattern;
} rows[] = {
#define KMSG(code, pattern) {code, pattern},
#define HARMLESS(pattern) {NULL, pattern},
#include "agents/checks/kmsg_patterns.def"
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))
_Static_assert(ROWS <= KMSG_SCAN_WORDS_MAX, "the scan holds a word for each pattern");

struct kmsg_patterns {
    struct kmsg_scan *scan;
};

/* --- matching ------------------------------------------------------------------------------------------------ */

/* What may stand for itself, and how far it goes at most. */
enum part { PLAIN, ANY, WORD, DEVICE, NUMBER };

static enum part take_part(const char **pattern)
{
    static const struct {
        const char *name;
        enum part part;
    } parts[] = {{"{}", ANY}, {"{word}", WORD}, {"{device}", DEVICE}, {"{n}", NUMBER}};
    if (**pattern != '{')
        return PLAIN;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (text_starts_with(*pattern, parts[i].name)) {
            *pattern += strlen(parts[i].name);
            return parts[i].part;
        }
    return PLAIN;
}

static size_t plain_len(const char *pattern)
{
    return strcspn(pattern, "{");
}

static size_t number_len(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && text[n] >= '0' && text[n] <= '9')
        n++;
    return n;
}

/* How many bytes a part takes in front of the plain text that follows it in the pattern; len + 1: it does not fit. */
static size_t part_len(enum part part, const char *follows, const char *text, size_t len)
{
    size_t plain = plain_len(follows), none = len + 1;
    if (part == NUMBER) {
        size_t n = number_len(text, len);
        return n > 0 ? n : none;
    }
    size_t words = 0;
    if (part != ANY)
        while (words < len && fault_name_has(text[words]))
            words++;
    if (plain == 0)
        return part == ANY ? 0 : words > 0 ? words : none;
    size_t least = part == ANY ? 0 : 1;
    const char *hit = len >= least ? memmem(text + least, len - least, follows, plain) : NULL;
    if (hit == NULL || (part != ANY && (size_t)(hit - text) > words))
        return none;
    return (size_t)(hit - text);
}

bool kmsg_pattern_matches(const char *pattern, const char *text, size_t len, char ret_device[DEVICE_MAX_BYTES])
{
    char device[DEVICE_MAX_BYTES] = "";
    while (*pattern != '\0') {
        enum part part = take_part(&pattern);
        size_t n = part == PLAIN ? plain_len(pattern) : part_len(part, pattern, text, len);
        if (n > len || (part == PLAIN && memcmp(text, pattern, n) != 0))
            return false;
        if (part == PLAIN)
            pattern += n;
        if (part == DEVICE) {
            if (text_copy_bytes(device, sizeof(device), text, n) != 0 || !fault_name_is_device(device))
                return false; /* no device is called so */
        }
        text += n;
        len -= n;
    }
    memcpy(ret_device, device, sizeof(device));
    return true;
}

/* --- the table ----------------------------------------------------------------------------------------------- */

static struct kmsg_scan_word longest_plain(const char *pattern)
{
    struct kmsg_scan_word word = {pattern, 0};
    while (*pattern != '\0') {
        if (take_part(&pattern) != PLAIN)
            continue;
        size_t len = plain_len(pattern);
        assert(len > 0); /* a brace that is no part */
        if (len > word.len)
            word = (struct kmsg_scan_word){pattern, len};
        pattern += len;
    }
    return word;
}

struct kmsg_patterns *kmsg_patterns_new(void)
{
    struct kmsg_patterns *patterns = own_calloc(1, sizeof(*patterns));
    struct kmsg_scan_word words[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        words[i] = longest_plain(rows[i].pattern);
    patterns->scan = kmsg_scan_new(words, ROWS);
    return patterns;
}

void kmsg_patterns_free(struct kmsg_patterns *patterns)
{
    if (patterns == NULL)
        return;
    kmsg_scan_free(patterns->scan);
    free(patterns);
}

/* A GPU is called the same as in Xid lines ("0000:b9:00"), so that both are one incident. */
static void name_gpu(struct kmsg_hit *hit)
{
    size_t len = strlen(hit->device);
    if (!text_starts_with(hit->code, "kernel.nvidia."))
        return;
    if (len > 2 && hit->device[len - 2] == '.')
        hit->device[len - 2] = '\0';
    for (char *c = hit->device; *c != '\0'; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
}

bool kmsg_patterns_find(const struct kmsg_patterns *patterns, const char *line, size_t len, struct kmsg_hit *ret_hit)
{
    struct kmsg_scan_set set;
    if (!kmsg_scan_find(patterns->scan, line, len, &set))
        return false;
    size_t start = kmsg_text_start(line, len);
    for (size_t i = 0; i < sizeof(set.bits) / sizeof(set.bits[0]); i++)
        for (uint64_t bits = set.bits[i]; bits != 0; bits &= bits - 1) {
            const struct row *row = &rows[i * 64 + (size_t)__builtin_ctzll(bits)];
            struct kmsg_hit hit = {.code = row->code};
            if (!kmsg_pattern_matches(row->pattern, line + start, len - start, hit.device))
                continue;
            if (row->code == NULL)
                return false;
            name_gpu(&hit);
            *ret_hit = hit;
            return true;
        }
    return false;
}

bool kmsg_patterns_row(size_t i, const char **ret_code, const char **ret_pattern)
{
    if (i >= ROWS)
        return false;
    *ret_code = rows[i].code;
    *ret_pattern = rows[i].pattern;
    return true;
}
