/*
 * What a check remembers of many things at once, between its runs: of each a number and when that was written down.
 *
 * A run takes in what the run before left, asks about things by their keys, and leaves what it has asked about: a thing
 * nobody asks about any more is forgotten. As text it is one line each, "key value at", so that a person can read it.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_RECALL_H
#define HOLDFAST_AGENTS_CHECKS_RECALL_H

#include "agents/checks/check.h"
#include "base/own.h"

#define RECALL_KEY_MAX_BYTES 80
#define RECALL_ITEMS_MAX 1024

struct recall;

/* now_ms is since boot, here and below. Lines that are none are passed over; what is later than now was written now. */
struct recall *recall_new(const char *data, size_t len, int64_t now_ms);
void recall_free(struct recall *recall);
AUTO_DEFINE(struct recall *, recall, recall_free)
/* What was asked about, as text; what does not fit in bytes_max is left out by whole lines. Caller frees. */
char *recall_text(const struct recall *recall, size_t bytes_max);
void recall_keep(const struct recall *recall, struct check_out *out);

/* The greatest value ever told, this one included. */
int64_t recall_most(struct recall *recall, const char *key, int64_t value);
/* The number written down last; otherwise when there is none. */
int64_t recall_get(struct recall *recall, const char *key, int64_t otherwise);
void recall_set(struct recall *recall, const char *key, int64_t value);
/* How long ago it was written down; INT64_MAX: never. */
int64_t recall_age_ms(struct recall *recall, const char *key);
/* Whether it is so now and was so in every look for at least for_ms. */
bool recall_lasts(struct recall *recall, const char *key, bool is, int64_t for_ms);
/* How much a counter grew, when that is more than limit within window_ms; else 0. What was told is not told again, nothing
 * is said at the first look or when the counter began anew, and a longer time between two looks allows for more. */
int64_t recall_growth(struct recall *recall, const char *key, int64_t value, int64_t limit, int64_t window_ms);

#endif
