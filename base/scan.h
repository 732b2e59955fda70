/*
 * Many regular expressions over a block of lines at once, by Vectorscan: which lines may match which of them.
 *
 * It is a filter. A line that a pattern matches from its start, as pattern_match_line says, is always reported; a line that is
 * reported may still not match. So whoever asks confirms with base/pattern.h, which costs only for the lines that are reported.
 * The time of a scan grows with the block and nothing else.
 */
#ifndef HOLDFAST_BASE_SCAN_H
#define HOLDFAST_BASE_SCAN_H

#include "base/own.h"

#include <stdbool.h>
#include <stddef.h>

struct scan;

/* Takes the patterns that it can find. ret_found[i] is false for the others: unknown constructs, too large, or too general to be
 * worth it; who asks tries these on every line. Never fails. Caller frees. */
struct scan *scan_new(const char *const regexes[], size_t count, bool ret_found[]);
void scan_free(struct scan *scan); /* accepts NULL */
AUTO_DEFINE(struct scan *, scan, scan_free)

/* Calls on_line for each line of block and each pattern that may match it, lines in order. A line ends with \n, the last one with the
 * block. Every byte of the block must be ASCII. */
void scan_block(struct scan *scan, const char *block, size_t len,
                void (*on_line)(void *arg, size_t pattern, const char *line, size_t len), void *arg);

#endif
