/*
 * Folds findings into verdicts: the same fault on the same device within a minute of its first sight is one verdict
 * whose count and last time grow.
 */
#ifndef HOLDFAST_AGENTS_NODE_WINDOW_H
#define HOLDFAST_AGENTS_NODE_WINDOW_H

#include "agents/checks/finding.h"
#include "model/model.h"

#include <stdbool.h>

#define WINDOW_MS 60000       /* part of the protocol: the key holds the window's start */
#define WINDOW_COUNT_MAX 64   /* different faults within a minute; the oldest gives way */
#define WINDOW_UPDATE_MS 5000 /* a verdict that grows is told again this often */

struct window {
    struct verdict verdict;
    enum action_class action;
    bool used, told, grew;
    int64_t told_at, touched_at; /* monotonic */
};

struct windows {
    char instance_id[ID_INSTANCE_MAX], boot_id[BOOT_ID_MAX_BYTES];
    struct window slots[WINDOW_COUNT_MAX];
};

/* Takes over a verdict that is ready to be told. */
typedef void window_tell_fn(const struct verdict *verdict, void *arg);

void windows_init(struct windows *windows, const char *instance_id, const char *boot_id);
/* now_ms is monotonic. Tells at once only what has to leave the table to make room. */
void windows_add(struct windows *windows, const struct finding *finding, int64_t now_ms, window_tell_fn *tell,
                 void *arg);
/* Puts a verdict back that an earlier life of this boot has told, so that it goes on growing. */
void windows_restore(struct windows *windows, const struct verdict *verdict, enum action_class action, int64_t now_ms);
/* Tells what is new, and what grew and is due (all: whether due or not), and forgets what is over. */
void windows_flush(struct windows *windows, int64_t now_ms, bool all, window_tell_fn *tell, void *arg);
/* When windows_flush has something to do next, monotonic; INT64_MAX: nothing. */
int64_t windows_due_ms(const struct windows *windows);
/* Something was folded since it was last told. */
bool windows_grew(const struct windows *windows);

/* The verdict that a finding begins, with its key. */
void window_make_verdict(const struct finding *finding, const char *instance_id, const char *boot_id, int64_t first_at,
                         struct verdict *ret_verdict);
/* The key of the protocol: hex SHA-256 over boot|source|code|device|first_at. */
void verdict_make_key(struct verdict *verdict);

#endif
