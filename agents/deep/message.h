/*
 * The messages about deep health checks, and their state on disk.
 */
#ifndef HOLDFAST_AGENTS_DEEP_MESSAGE_H
#define HOLDFAST_AGENTS_DEEP_MESSAGE_H

#include "base/text.h"
#include "model/deep.h"

/* The order at /v1/agent/check. INVALID when it is something else. */
int deep_read_order(const char *body, size_t len, struct deep_job *ret_job);
/* The state of a test. log: its lines; only the end if there are too many. */
void deep_write_report(struct text *out, const char *key, int64_t total, const struct deep_test *test, const char *log);
void deep_write_final(struct text *out, const char *key, int64_t total);

/* The state of an order on disk. */
struct deep_memory {
    char instance_id[ID_INSTANCE_MAX];
    char key[KEY_MAX_BYTES];
    char boot_id[BOOT_ID_MAX_BYTES]; /* when the test was begun */
    int64_t began_at;                /* the order, wall clock; 0: not yet */
    int64_t at;                      /* the test that is next or being run, from 0 */
    int64_t begun;                   /* how often that was begun */
    int64_t test_at;                 /* when, wall clock */
    int64_t used_ms;                 /* used part of the order's time, when this was written … */
    int64_t clock_ms;                /* … by the boot clock; 0: written by an older version */
    char clock_boot_id[BOOT_ID_MAX_BYTES];
    int64_t pid, ticks; /* of its process while it runs; pid 0: it does not */
    int64_t over;       /* all tests have ended */
};
void deep_write_memory(struct text *out, const struct deep_memory *memory);
int deep_read_memory(const char *data, size_t len, struct deep_memory *ret_memory);

#endif
