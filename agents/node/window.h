/*
 * Folds findings into verdicts. The same fault on the same device within a minute of its first finding is one verdict,
 * whose count and last time grow. The minute is measured by the monotonic clock.
 */
#ifndef HOLDFAST_AGENTS_NODE_WINDOW_H
#define HOLDFAST_AGENTS_NODE_WINDOW_H

#include "agents/checks/finding.h"
#include "model/model.h"

#include <stdbool.h>

#define WINDOW_MS 60000
#define WINDOW_COUNT_MAX 64   /* different faults within a minute; the oldest is evicted */
#define WINDOW_UPDATE_MS 5000 /* a growing verdict is reported again this often */

/* Which findings a verdict has counted; stored with it. A finding at this place or before it, when read again, is not counted
 * again. */
struct reach {
    struct log_place place; /* of the last finding; log 0: findings have no place */
    int64_t place_count;    /* the part of the count that belongs to that place */
    int64_t began_at;       /* of the first finding; monotonic, this boot */
    int64_t touched_at;     /* of the last finding, when it was counted; monotonic, this boot */
};

struct window {
    struct verdict verdict;
    struct reach reach;
    enum action_class action;
    bool used, reported, grew;
    int64_t reported_at; /* monotonic */
};

struct windows {
    char instance_id[ID_INSTANCE_MAX], boot_id[BOOT_ID_MAX_BYTES];
    bool changed; /* since the caller last set it to false */
    struct window slots[WINDOW_COUNT_MAX];
};

/* Takes a verdict to report. reach: NULL for states, which are not folded. */
typedef void verdict_fn(const struct verdict *verdict, const struct reach *reach, void *arg);

void windows_init(struct windows *windows, const char *instance_id, const char *boot_id);
/* now_ms is monotonic. Reports at once only a window that is evicted. */
void windows_add(struct windows *windows, const struct finding *finding, int64_t now_ms, verdict_fn *on_verdict,
                 void *arg);
/* Restores a window of this boot, so that it continues to grow. grew: its last growth was not reported. Of two windows with one
 * key the larger count stays. */
void windows_restore(struct windows *windows, const struct verdict *verdict, const struct reach *reach, bool grew,
                     int64_t now_ms);
/* Reports new windows, and grown ones that are due (all: due or not). Drops windows that are over. */
void windows_flush(struct windows *windows, int64_t now_ms, bool all, verdict_fn *on_verdict, void *arg);
/* When windows_flush has something to do next, monotonic; INT64_MAX: nothing. */
int64_t windows_due_ms(const struct windows *windows);
/* Some window grew after its last report. */
bool windows_grew(const struct windows *windows);

/* The verdict that a finding begins, with its key. */
void window_make_verdict(const struct finding *finding, const char *instance_id, const char *boot_id, int64_t first_at,
                         struct verdict *ret_verdict);
/* Hex SHA-256 of boot|source|code|device|place. A line has the same key whenever it is read. Without a place first_at takes its
 * position. */
void verdict_make_key(struct verdict *verdict, const struct log_place *place);

#endif
