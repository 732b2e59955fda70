/*
 * Counters that only grow, and what is too much of them: kept from run to run in a check's memory.
 *
 * One corrected memory error is nothing; a hundred within an hour is a finding, and the next hundred is the next one. A
 * counter that fell was set back, and all that it shows is new. After another boot nothing of before counts.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_COUNTERS_H
#define HOLDFAST_AGENTS_CHECKS_COUNTERS_H

#include "agents/checks/check.h"

#define COUNTER_NAME_MAX_BYTES 64
#define COUNTERS_MAX 120 /* what CHECK_MEMORY_MAX_BYTES has room for; those that are 0 need none */

struct counter {
    char name[COUNTER_NAME_MAX_BYTES];
    int64_t from_at, from; /* when the window began, and what the counter was */
    int64_t last;          /* at the last run */
    bool seen;             /* in this one */
    bool fresh;            /* not known before */
};

struct counters {
    char boot_id[BOOT_ID_MAX_BYTES];
    int64_t at_ms, before_ms; /* of this run and of the one before; before 0: none */
    struct counter *rows;
    size_t count;
};

/* Takes what the run before left. Free with counters_free. */
void counters_load(struct counters *counters, const struct check_context *context);
/* How many of a counter are too many since its window began, or 0: less than threshold within window_ms. What the very
 * first run sees counts only when from_boot is said, for what must not happen even once. */
int64_t counters_over(struct counters *counters, const char *name, int64_t value, int64_t threshold, int64_t window_ms,
                      bool from_boot);
/* The increase per second since the run before, in thousandths; -1 when there was none. */
int64_t counters_rate_milli(struct counters *counters, const char *name, int64_t value);
/* In how many runs in a row, this one included, it was so. */
int64_t counters_same(struct counters *counters, const char *name, bool is_so);
/* The most it has been since boot, this run included. */
int64_t counters_most(struct counters *counters, const char *name, int64_t value);
/* It was seen in the run before. */
bool counters_known(struct counters *counters, const char *name);
/* Leaves those that were seen for the next run. */
void counters_keep(const struct counters *counters, struct check_out *out);
void counters_free(struct counters *counters);

#endif
