/*
 * Folds findings into verdicts: the same fault on the same device within a minute of its first sight is one verdict
 * whose count and last time grow. Minutes are those of the monotonic clock.
 */
#ifndef HOLDFAST_AGENTS_NODE_WINDOW_H
#define HOLDFAST_AGENTS_NODE_WINDOW_H

#include "agents/checks/finding.h"
#include "model/model.h"

#include <stdbool.h>

#define WINDOW_MS 60000
#define WINDOW_COUNT_MAX 64   /* different faults within a minute; the oldest gives way */
#define WINDOW_UPDATE_MS 5000 /* a verdict that grows is told again this often */

/* What a verdict's count holds, beside the verdict on disk: what stands at or before that place and is read again is
 * not counted again. */
struct reach {
    struct log_place place; /* of the last finding in it; log 0: none has a place */
    int64_t place_count;    /* how much of the count is of that place */
    int64_t began_at;       /* monotonic, of this boot; of the first finding in it */
};

struct window {
    struct verdict verdict;
    struct reach reach;
    enum action_class action;
    bool used, reported, grew;
    int64_t reported_at, touched_at; /* monotonic */
};

struct windows {
    char instance_id[ID_INSTANCE_MAX], boot_id[BOOT_ID_MAX_BYTES];
    bool changed; /* since somebody set it false */
    struct window slots[WINDOW_COUNT_MAX];
};

/* Takes over a verdict that is ready to be told. reach: NULL of what is folded by nobody. */
typedef void verdict_fn(const struct verdict *verdict, const struct reach *reach, void *arg);

void windows_init(struct windows *windows, const char *instance_id, const char *boot_id);
/* now_ms is monotonic. Tells at once only what has to leave the table to make room. */
void windows_add(struct windows *windows, const struct finding *finding, int64_t now_ms, verdict_fn *on_verdict,
                 void *arg);
/* Puts a verdict of this boot back, so that it goes on growing; grew: with something that was not told yet. Of two with one key
 * the one that has counted more stays. */
void windows_restore(struct windows *windows, const struct verdict *verdict, const struct reach *reach, bool grew,
                     int64_t now_ms);
/* Tells what is new, and what grew and is due (all: whether due or not), and forgets what is over. */
void windows_flush(struct windows *windows, int64_t now_ms, bool all, verdict_fn *on_verdict, void *arg);
/* When windows_flush has something to do next, monotonic; INT64_MAX: nothing. */
int64_t windows_due_ms(const struct windows *windows);
/* Something was folded since it was last told. */
bool windows_grew(const struct windows *windows);

/* The verdict that a finding begins, with its key. */
void window_make_verdict(const struct finding *finding, const char *instance_id, const char *boot_id, int64_t first_at,
                         struct verdict *ret_verdict);
/* Hex SHA-256 over boot|source|code|device and the place, so that a line is one verdict in whichever life it is read; what
 * stands at no place has first_at in its stead. */
void verdict_make_key(struct verdict *verdict, const struct log_place *place);

#endif
