/*
 * Regular expressions over whole texts, by PCRE2: for patterns of ours, over texts from outside.
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

#endif
