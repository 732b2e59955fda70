/*
 * Which of a fixed set of words occur in a text, in one pass that looks at a fraction of its bytes: what lets a hundred
 * patterns look at every line of a kernel log.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_KMSG_SCAN_H
#define HOLDFAST_AGENTS_CHECKS_KMSG_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KMSG_SCAN_WORDS_MAX 256
#define KMSG_SCAN_WORD_LEN_MIN 5 /* what is looked at at once; longer words would let it skip more */

struct kmsg_scan_word {
    const char *text; /* not owned */
    size_t len;
};

/* A set of words by their index. */
struct kmsg_scan_set {
    uint64_t bits[KMSG_SCAN_WORDS_MAX / 64];
};

struct kmsg_scan;

/* words are of KMSG_SCAN_WORD_LEN_MIN bytes at least, at most KMSG_SCAN_WORDS_MAX of them, and outlive it. */
struct kmsg_scan *kmsg_scan_new(const struct kmsg_scan_word *words, size_t count);
void kmsg_scan_free(struct kmsg_scan *scan);
/* False when none occurs; ret_set is then not written. */
bool kmsg_scan_find(const struct kmsg_scan *scan, const char *text, size_t len, struct kmsg_scan_set *ret_set);

#endif
