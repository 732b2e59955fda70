/*
 * What workers write, read by the rules: bytes in, findings out (policy/job/rules.h).
 *
 * Vectorscan finds which lines may matter, PCRE2 says whether they do and takes the value. Time is bounded for any pattern and any
 * text, memory for lines of any length: a rule sees the first WATCH_LINE_MAX bytes of a line. A rule that keeps costing too
 * much is switched off and said.
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_WATCH_H
#define HOLDFAST_AGENTS_LAUNCHER_WATCH_H

#include "policy/job/rules.h"

#define WATCH_LINE_MAX 16384
#define WATCH_TOO_MUCH_MAX 50 /* so many lines that cost too much, and the rule is off */

struct watch;

/* Of streams that each belong to a rank: stdout and stderr of rank 0 are 0 and 1, those of rank 1 are 2 and 3. Caller frees. */
struct watch *watch_new(int ranks);
void watch_free(struct watch *watch); /* accepts NULL */
AUTO_DEFINE(struct watch *, watch, watch_free)

/* Takes over the rules; any time. What the same rules have seen stays. */
void watch_set_rules(struct watch *watch, struct rule_list *list, int64_t now_ms);

#define WATCH_STREAMS_A_RANK 2
/* Bytes of a stream, in any pieces. */
void watch_feed(struct watch *watch, int rank, int stream, const char *bytes, size_t len, int64_t now_ms);
/* The stream is over: what is left of it is a line. */
void watch_end(struct watch *watch, int rank, int stream, int64_t now_ms);
/* For rules_tick, rules_due_ms and rules_next. */
struct rules *watch_rules(struct watch *watch);
/* The name of a rule that was switched off because it costs too much, each once; NULL when there is none. */
const char *watch_next_switched_off(struct watch *watch);

#endif
