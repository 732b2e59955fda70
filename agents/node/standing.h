/*
 * States that last: what checks found wrong and have not found right again (agents/checks/check.h).
 *
 * A state is told when it begins, again now and then with how often it was seen, as a new verdict after an hour (so that
 * what somebody dealt with, and did not mend, comes back), and when it is over, which a verdict of the same source,
 * code and device says that is marked so (struct verdict's over). Over is what some whole runs did not find: what swings around a threshold is not
 * mended each time. The list is kept on disk, so that an agent that was started again knows what it has to take back.
 */
#ifndef HOLDFAST_AGENTS_NODE_STANDING_H
#define HOLDFAST_AGENTS_NODE_STANDING_H

#include "agents/checks/report.h"
#include "agents/node/window.h"

#define STANDING_MAX 128                    /* states at a time; more are not reported, and the log says so */
#define STANDING_REPEAT_MS INT64_C(600000)  /* a state that lasts is told again this often */
#define STANDING_WINDOW_MS INT64_C(3600000) /* and is a new verdict after this */
#define STANDING_CLEAR_RUNS 2               /* whole runs without it before it is over */

struct standing_state {
    struct verdict verdict;
    int misses;
    int64_t began_at, reported_at; /* monotonic */
    bool seen, due;                /* in the report at hand; to be told */
};

struct standing {
    char instance_id[ID_INSTANCE_MAX], boot_id[BOOT_ID_MAX_BYTES];
    struct standing_state *states;
    size_t count;
};

void standing_init(struct standing *standing, const char *instance_id, const char *boot_id);
/* What is still there is told again by the next run of its check, as seen since. */
void standing_renew(struct standing *standing);
void standing_clear(struct standing *standing);
/* Who hears of it, and who stores the list (standing_write). What ends is told before the list is stored, everything else after:
 * whoever is killed in between says the same again, under the same key, and forgets nothing. */
struct standing_to {
    verdict_fn *on_verdict;
    void (*save)(void *arg);
    void *arg;
};

/* What a run said about states; its events are windows' business. wall_ms dates them. */
void standing_take(struct standing *standing, const char *source, const struct check_report *report, int64_t now_ms,
                   int64_t wall_ms, const struct standing_to *to);
/* Ends the states of checks that are not run any more, as nobody looks at them. True when the list changed. */
typedef bool standing_runs_fn(const char *source, void *arg);
bool standing_end_others(struct standing *standing, standing_runs_fn *runs, int64_t now_ms, int64_t wall_ms,
                         verdict_fn *on_verdict, void *arg);
/* The list as lines of records (message_write_record), and back: those of this boot. */
void standing_write(const struct standing *standing, struct text *out);
void standing_read(struct standing *standing, const char *data, size_t len, int64_t now_ms);

#endif
