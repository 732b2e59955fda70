/*
 * Messages about lifecycle scripts, resets and reboots, and their state on disk.
 */
#ifndef HOLDFAST_AGENTS_NODE_WORK_H
#define HOLDFAST_AGENTS_NODE_WORK_H

#include "base/text.h"
#include "model/lifecycle.h"
#include "model/reboot.h"
#include "model/reset.h"

/* The order at /v1/agent/work. ret_resources: the text of resource_config.json; caller frees. */
int work_read_order(const char *body, size_t len, struct lifecycle_job *ret_job, char **ret_resources);
/* The orders to reset a device, and to reboot this machine, at the same place. */
int work_read_reset(const char *body, size_t len, struct reset_job *ret_job);
int work_read_reboot(const char *body, size_t len, struct reboot_job *ret_job);
/* log: the end of the output of the script; invalid UTF-8 becomes "?". */
void work_write_report(struct text *out, const struct lifecycle_report *report, const char *log, size_t log_len);

/* The state of an order on disk. */
struct work_state {
    char instance_id[ID_INSTANCE_MAX];
    char key[KEY_MAX_BYTES];
    char done[LIFECYCLE_SCRIPTS_MAX][LIFECYCLE_FILE_MAX_BYTES]; /* succeeded on this instance, under any order */
    char script[LIFECYCLE_FILE_MAX_BYTES];                      /* the last one that ran under this key */
    int64_t attempts;                                           /* of it */
    int64_t pid, ticks;                                         /* of its process; pid 0: none runs */
    int64_t log_from, log_to;                                   /* its output in the log */
    int64_t over;                                               /* the order succeeded (1) or failed (2) */
    int64_t exit_code;                                          /* -1: it was ended */
    char detail[SENTENCE_MAX_BYTES];
    int64_t ended_at; /* when a reset had succeeded, by this machine's clock */
};
void work_write_state(struct text *out, const struct work_state *state);
int work_read_state(const char *data, size_t len, struct work_state *ret_state);

#endif
