/*
 * Text: a growing buffer, and strict small parsers that refuse what they do not
 * fully understand. No locale, no floating surprises.
 */
#ifndef HOLDFAST_BASE_TEXT_H
#define HOLDFAST_BASE_TEXT_H

#include "base/own.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *data; /* always zero-terminated once anything was added; NULL while empty */
    size_t len;
    size_t capacity;
};

void text_add(struct text *t, const char *s);
void text_add_bytes(struct text *t, const char *bytes, size_t len);
void text_add_char(struct text *t, char c);
void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(struct text *t, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* The text itself, "" while empty. Owned by t. */
const char *text_get(const struct text *t);
/* Hands the heap string over (never NULL) and empties t. Caller frees. */
char *text_take(struct text *t);
void text_clear(struct text *t); /* keeps the memory */
void text_free(struct text *t);  /* accepts half-built and NULL */
static inline void auto_text_cleanup(struct text *t)
{
    text_free(t);
}

/* What the noun ends with: "3 nodes", "1 node". */
static inline const char *text_plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* What may be missing, for a printf. */
static inline const char *text_or_empty(const char *s)
{
    return s == NULL ? "" : s;
}

bool text_equal(const char *a, const char *b); /* NULL equals only NULL */
bool text_starts_with(const char *s, const char *prefix);
/* Whether word stands in words, with a blank or an end on each side. */
bool text_has_word(const char *words, const char *word);
bool text_ends_with(const char *s, const char *suffix);
/* Copies with a zero at the end. STATUS_TOO_LARGE (dst untouched) when src does not fit in size. */
int text_copy(char *dst, size_t size, const char *src);
int text_copy_bytes(char *dst, size_t size, const char *src, size_t len);
/* Copies as much as fits (never splits a UTF-8 character); for evidence that may be cut. */
void text_copy_cut(char *dst, size_t size, const char *src);
/* How many bytes of s, of at most max, make whole UTF-8 characters; for a printf: "%.*s", TEXT_FIT(s, max). */
int text_fit(const char *s, size_t max);
#define TEXT_FIT(s, max) text_fit(s, max), s
/* len bytes as valid UTF-8, cut to fit: control characters of ASCII as blanks, what text_mask masks as '?'. For JSON, a database and terminals. */
void text_copy_clean(char *dst, size_t size, const char *line, size_t len);
/* No control characters (ASCII's) in it: it may go into logs and onto terminals. UTF-8 is the caller's to check. */
bool text_is_clean(const char *s);
/* Bytes of the character at s when it must not be shown as it is, 0 otherwise: control characters of ASCII and of Unicode, breaks of lines
 * and paragraphs, and what turns the direction of the text around it, by which one line can look like another. */
int text_hidden_len(const char *s);
/* Puts a '?' in the place of each of these in s. ASCII stays: its control characters are the caller's to check. For texts that machines report. */
void text_mask(char *s);
/* None of these in it: what people write as one line. */
bool text_is_line(const char *s);
/* Adds s with a '?' for each of these. */
void text_add_line(struct text *t, const char *s);
/* Whole string, decimal, no sign tricks, within [min, max]; STATUS_INVALID otherwise. */
int text_parse_i64(const char *s, int64_t min, int64_t max, int64_t *ret_value);
/* The value of a hexadecimal digit, small or capital; -1 when c is none. */
int text_hex_digit(char c);
/* Adds s as a part of a URL: letters, digits, "-._~" and what is in also stay, every other byte becomes "%XX". */
void text_add_escaped(struct text *t, const char *s, const char *also);
/* Without the blanks and line ends around it, in place; what it returns lies within s. */
char *text_trim(char *s);
/* A part of a path or query as people meant it: strict percent signs, UTF-8, no control characters. INVALID, or TOO_LARGE when it
 * does not fit in size. */
int text_percent_decode(const char *text, size_t len, char *ret_text, size_t size);
bool text_is_utf8(const char *s, size_t len);
/* HyperPod's name rule: [a-zA-Z0-9](-*[a-zA-Z0-9])*, 1..63 (botocore ClusterName). */
bool text_is_name(const char *s);

/* Expands "gpu-[1-3,07],login" (Slurm hostlist) into ret_names (caller frees each and the array).
 * STATUS_INVALID for bad syntax, STATUS_TOO_LARGE above count_max. */
int text_hostlist_expand(const char *list, size_t count_max, char ***ret_names, size_t *ret_count);
/* Names as a host list, "gpu-[1-4],login"; they are put into order. Caller frees. */
char *text_hostlist_compress(char **names, size_t count);
/* The order of names with numbers at their ends, "n-2" before "n-10"; for qsort of char *. */
int text_by_name(const void *left, const void *right);
/* The number at the end of a name, 7 of "gpu-07"; -1 where there is none that counts: it has at most nine digits. */
int64_t text_name_number(const char *name);
void text_list_free(char **names, size_t count);

#endif
