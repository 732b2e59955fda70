/*
 * Regular expressions by PCRE2: over whole texts, for patterns of ours, and over lines of logs, for patterns of others.
 *
 * The work of one match is bounded, so that no text can hold a thread by making a pattern try everything; a text that
 * would need more counts as one that does not match. A compiled pattern is constant: any thread may match with it.
 */
#ifndef HOLDFAST_BASE_PATTERN_H
#define HOLDFAST_BASE_PATTERN_H

#include "base/own.h"

#include <stdbool.h>
#include <stddef.h>

struct pattern;

/* Java's reading, as far as PCRE2 has it: UTF-8, \d \s \b of ASCII, a dot is anything but the end of a line. NULL when
 * regex is not one. Caller frees. */
struct pattern *pattern_new(const char *regex);
void pattern_free(struct pattern *pattern); /* accepts NULL */
AUTO_DEFINE(struct pattern *, pattern, pattern_free)

/* True when the pattern matches all of text, which must be UTF-8 and may hold zeros. */
bool pattern_matches(const struct pattern *pattern, const char *text, size_t len);

#define PATTERN_ERROR_MAX 160

enum pattern_result {
    PATTERN_NO,
    PATTERN_YES,
    PATTERN_TOO_MUCH, /* the line would need more work than a line may cost: whether it matches is not known */
};

struct pattern_group {
    const char *data; /* into the line; NULL when the group took no part */
    size_t len;
};

/* As Python's re.match: from the start of a line, not to its end. Bytes that are no UTF-8 match nothing, or end the match. NULL with a message when
 * regex is not one. One thread at a time may match with it. Caller frees. */
struct pattern *pattern_new_line(const char *regex, char ret_error[PATTERN_ERROR_MAX]);
/* ret_group is the first group of a line that matches. */
enum pattern_result pattern_match_line(struct pattern *pattern, const char *line, size_t len,
                                       struct pattern_group *ret_group);

#endif
