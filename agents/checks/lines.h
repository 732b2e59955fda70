/*
 * The text files of /proc and /sys, as lines and words. Views into the data; nothing needs a zero at its end.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_LINES_H
#define HOLDFAST_AGENTS_CHECKS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct word {
    const char *at;
    size_t len;
};

struct lines {
    const char *at, *end;
};

void lines_start(struct lines *lines, const char *data, size_t len);
/* False at the end. */
bool lines_next(struct lines *lines, struct word *ret_line);
/* The words of a line, as many as there is room for; returns how many there are. Blanks and tabs part them. */
size_t lines_words(struct word line, struct word *ret_words, size_t max);
bool word_is(struct word word, const char *text);
bool word_starts_with(struct word word, const char *prefix);
/* The whole word, decimal digits; false when it is anything else or has no room. */
bool word_i64(struct word word, int64_t *ret_value);
/* A number such as "12.5" in thousandths. */
bool word_milli(struct word word, int64_t *ret_value);
/* Copies with a zero; false when it does not fit. */
bool word_copy(struct word word, char *dst, size_t size);
/* The number behind the first word of a line, "MemTotal:     12 kB". False when no line begins so. */
bool lines_find_i64(const char *data, size_t len, const char *key, int64_t *ret_value);

#endif
