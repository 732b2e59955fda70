/*
 * Stores a number and its time for each of many keys, between the runs of a check.
 *
 * A run loads the data of the last run, looks keys up, and stores the keys that it used. Unused keys are dropped. The text has one line
 * for each key, "key value at".
 */
#ifndef HOLDFAST_AGENTS_CHECKS_RECALL_H
#define HOLDFAST_AGENTS_CHECKS_RECALL_H

#include "agents/checks/check.h"
#include "base/own.h"

#define RECALL_KEY_MAX_BYTES 80
#define RECALL_ITEMS_MAX 1024

struct recall;

/* now_ms is since boot, here and below. Invalid lines are skipped; a time in the future becomes now. */
struct recall *recall_new(const char *data, size_t len, int64_t now_ms);
void recall_free(struct recall *recall);
AUTO_DEFINE(struct recall *, recall, recall_free)
/* The used keys as text; lines beyond bytes_max are left out. Caller frees. */
char *recall_text(const struct recall *recall, size_t bytes_max);
void recall_keep(const struct recall *recall, struct check_out *out);

/* The largest value so far, including this one. */
int64_t recall_most(struct recall *recall, const char *key, int64_t value);
/* The stored number, or otherwise. */
int64_t recall_get(struct recall *recall, const char *key, int64_t otherwise);
void recall_set(struct recall *recall, const char *key, int64_t value);
/* Age of the stored number; INT64_MAX: none. */
int64_t recall_age_ms(struct recall *recall, const char *key);
/* Whether it holds now and held in every run for at least for_ms. */
bool recall_lasts(struct recall *recall, const char *key, bool is, int64_t for_ms);
/* Growth of a counter if it exceeds limit within window_ms; else 0. Growth is reported once. The first run and a reset of the
 * counter report nothing. A longer time between two runs raises the limit. */
int64_t recall_growth(struct recall *recall, const char *key, int64_t value, int64_t limit, int64_t window_ms);

#endif
