/*
 * What a check is: something that looks at the node every so often and says what it found.
 *
 * A run has a process of its own (agents/checks/run.h). It may block, and what it writes into its memory is gone with
 * it: it speaks by the calls below, and nothing else of it is ever seen. A check's file, agents/checks/<name>.c, is a
 * reading of /proc, /sys or a tool's output, a pure parse that tests and fuzzers reach without any of that, and these
 * calls. It has one row in the table of agents/checks/checks.c.
 *
 * A STATE is wrong now and can be right again ("the disk is full"): check_found, in every run for as long as it lasts.
 * When a whole run does not find it any more, the agent says that it is over. An EVENT has happened and stays true ("a
 * memory error that was not corrected"): check_event, with how many there were since the run before; nothing takes it
 * back but a repair.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_CHECK_H
#define HOLDFAST_AGENTS_CHECKS_CHECK_H

#include "base/child.h"
#include "base/clock.h"
#include "model/agent_settings.h"
#include "model/hardware.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECK_NAME_MAX_BYTES SOURCE_MAX_BYTES /* it is the source of its verdicts */
#define CHECK_MEMORY_MAX_BYTES 16384
#define CHECK_METRIC_MAX_BYTES 64
#define CHECK_LABELS_MAX_BYTES 192
#define CHECK_SIGHTINGS_MAX 64 /* of one run; more say the same */
#define CHECK_VALUES_MAX 2048  /* of one run: 32 adapters with 64 counters each */

struct check_context {
    const char *root; /* goes before "/proc", "/sys", "/dev", "/etc": "" in life, a directory of the test's in tests */
    const char *path; /* where tools (nvidia-smi, dcgmi, fi_info …) are looked for; NULL: $PATH */
    const char *instance_type; /* "" when not known */
    const char *state_dir;     /* the agent's own; "" when it has none */
    /* Since boot, without the time asleep: in a suspend nothing fails and nothing mends. There is no wall clock: somebody may set
     * it, and a check measures. */
    int64_t uptime_ms;
    const char *memory; /* what the run before left by check_remember: counters to compare with; "" at the first */
    size_t memory_len;
    const void *own;                       /* the check's */
    const struct agent_settings *settings; /* what the site says otherwise: agent_settings_limit; NULL: nothing */
    int64_t deadline_ms;                   /* in place of the check's own; 0: that */
};

struct check_out; /* where a run's results go */

/* code: a row of a fault table, "node.disk.full". device "" for the node. count is at least 1. */
void check_found(struct check_out *out, const char *code, const char *device, int64_t count, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void check_event(struct check_out *out, const char *code, const char *device, int64_t count, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* A measurement, which becomes a metric. labels as Prometheus writes them between the braces: gpu="0",uuid="GPU-…"; "". */
void check_value(struct check_out *out, const char *metric, const char *labels, double value);
/* A piece of the machine that the run has seen, with what tells it from others. All of them in each whole run: a piece that is
 * not in it is not there any more. */
void check_hardware(struct check_out *out, const struct hardware *hardware);
/* The device or tool is not there, so there is nothing to say: never "ok". */
void check_not_applicable(struct check_out *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* It, or a part of it, could not be found out, and why. States that were found before stand. */
void check_unknown(struct check_out *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* For the next run, at most CHECK_MEMORY_MAX_BYTES; a run that leaves nothing hands on what it got. */
void check_remember(struct check_out *out, const char *data, size_t len);

struct check {
    const char *name;  /* "disk" */
    const char *about; /* one line for help and man page */
    int64_t period_ms, deadline_ms;
    void (*run)(const struct check_context *context, struct check_out *out); /* killed with its group at the deadline */
    const void *own;                                                         /* the context's; NULL */
    bool spans_boots; /* what it remembers is good after another boot, too: it sees to the rest by itself */
};

/* Of one of ours: the model has its times, for whoever shows what is built in. */
#define CHECK_TIMES(name) \
    .period_ms = AGENT_PERIOD_S_##name * MS_PER_S, .deadline_ms = AGENT_DEADLINE_S_##name * MS_PER_S

/* Adds name="value" to labels, with a comma before it when it is not the first; what has no room is left out. */
void check_label(char labels[CHECK_LABELS_MAX_BYTES], const char *name, const char *value);
/* root and name as one path. Caller frees. */
char *check_path(const struct check_context *context, const char *name);
/* The file below root: base/file.h's statuses. For /proc and /sys, whose files have no size; the data ends with a zero. */
int check_read(const struct check_context *context, const char *name, size_t bytes_max, char **ret_data,
               size_t *ret_len);
/* The first of the directories of path, with colons between, that has this program; path NULL: $PATH. Caller frees; NULL. */
char *check_find_tool(const char *path, const char *name);
/* A tool by its name, looked for in context->path, in this run's process group, so that it ends with it. timeout_ms has
 * to be shorter than the check's deadline for an answer of one's own. child_run's statuses; ret_result as there. */
int check_tool(const struct check_context *context, const char *const argv[], int64_t timeout_ms, size_t out_bytes_max,
               struct child_result *ret_result);

#endif
