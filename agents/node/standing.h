/*
 * Standing states: what checks found wrong and have not found right since (agents/checks/check.h).
 *
 * A state is reported when it begins, then every ten minutes with its count, and after an hour as a new verdict, so that a fault
 * that was acknowledged but not repaired appears again. Its end is a verdict of the same source, code and device with "over"
 * set. A state ends when several complete runs did not find it, so a value near its threshold does not flap. The list is kept on
 * disk: after a restart the agent still knows which states it has to end.
 */
#ifndef HOLDFAST_AGENTS_NODE_STANDING_H
#define HOLDFAST_AGENTS_NODE_STANDING_H

#include "agents/checks/report.h"
#include "agents/node/window.h"

#define STANDING_MAX 128                    /* states at a time; more are not reported, and the log says so */
#define STANDING_REPEAT_MS INT64_C(600000)  /* a standing state is reported again this often */
#define STANDING_WINDOW_MS INT64_C(3600000) /* and becomes a new verdict after this */
#define STANDING_CLEAR_RUNS 2               /* complete runs without it before it ends */

struct standing_state {
    struct verdict verdict;
    int misses;
    int64_t began_at, reported_at; /* monotonic */
    bool seen, due;                /* in the current report; to be reported */
};

struct standing {
    char instance_id[ID_INSTANCE_MAX], boot_id[BOOT_ID_MAX_BYTES];
    struct standing_state *states;
    size_t count;
};

void standing_init(struct standing *standing, const char *instance_id, const char *boot_id);
/* States that still hold are reported again by the next run of their check. */
void standing_renew(struct standing *standing);
void standing_clear(struct standing *standing);
/* Where reports go, and what stores the list (standing_write). Ends are reported before the list is stored, all else after it. If
 * the agent is killed in between, it reports the same again under the same key, and loses nothing. */
struct standing_to {
    verdict_fn *on_verdict;
    void (*save)(void *arg);
    void *arg;
};

/* Takes the states of a run; events go to windows. wall_ms is shown to people. */
void standing_take(struct standing *standing, const char *source, const struct check_report *report, int64_t now_ms,
                   int64_t wall_ms, const struct standing_to *to);
/* Ends the states of checks that no longer run. True when the list changed. */
typedef bool standing_runs_fn(const char *source, void *arg);
bool standing_end_others(struct standing *standing, standing_runs_fn *runs, int64_t now_ms, int64_t wall_ms,
                         verdict_fn *on_verdict, void *arg);
/* The list as lines of records (message_write_record). Reading takes the records of this boot. */
void standing_write(const struct standing *standing, struct text *out);
void standing_read(struct standing *standing, const char *data, size_t len, int64_t now_ms);

#endif
