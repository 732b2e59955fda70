/*
 * A check examines the node periodically and reports what it finds.
 *
 * Each run is a process of its own (agents/checks/run.h). It may block. It reports only by the calls below; its memory is lost at
 * its end. The file of a check, agents/checks/<name>.c, has a reader of /proc, /sys or a tool's output, a pure parser for
 * tests and fuzzers, and these calls. The check has one row in the table of agents/checks/checks.c.
 *
 * A STATE is wrong now and can become right again ("the disk is full"): check_found, in every run while it lasts. When complete runs
 * no longer find it, the agent reports its end. An EVENT has happened and stays true ("an uncorrected memory error"): check_event,
 * with the number since the last run. Only a repair clears it.
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

#define CHECK_NAME_MAX_BYTES SOURCE_MAX_BYTES /* the name is the source of its verdicts */
#define CHECK_MEMORY_MAX_BYTES 16384
#define CHECK_METRIC_MAX_BYTES 64
#define CHECK_LABELS_MAX_BYTES 192
#define CHECK_OBSERVATIONS_MAX 64 /* of one run; more add nothing */
#define CHECK_VALUES_MAX 2048     /* of one run: 32 adapters with 64 counters each */

struct check_context {
    const char *root;          /* prefix of "/proc", "/sys", "/dev", "/etc": "", or a directory in tests */
    const char *path;          /* where tools (nvidia-smi, dcgmi, fi_info …) are looked for; NULL: $PATH */
    const char *instance_type; /* "" when not known */
    const char *state_dir;     /* the agent's own; "" when it has none */
    /* Since boot, without suspend: nothing changes in that time. There is no wall clock here: it can be set, and a check measures. */
    int64_t uptime_ms;
    const char *memory; /* from check_remember of the last run; "" in the first run */
    size_t memory_len;
    const void *own;                       /* the check's */
    const struct agent_settings *settings; /* the site's settings, for agent_settings_limit; NULL: none */
    int64_t deadline_ms;                   /* replaces the check's own; 0: does not */
};

struct check_out; /* takes the results of a run */

/* code: a row of a fault table, "node.disk.full". device "" for the node. count is at least 1. */
void check_found(struct check_out *out, const char *code, const char *device, int64_t count, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void check_event(struct check_out *out, const char *code, const char *device, int64_t count, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* A measurement, which becomes a metric. labels as Prometheus writes them between the braces: gpu="0",uuid="GPU-…"; "". */
void check_value(struct check_out *out, const char *metric, const char *labels, double value);
/* A device of the machine, with its identity. A complete run reports all devices: one that is missing has been removed. */
void check_hardware(struct check_out *out, const struct hardware *hardware);
/* The device or tool does not exist. The result is never "ok". */
void check_not_applicable(struct check_out *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The result, or a part of it, is unknown, and why. Known states stay. */
void check_unknown(struct check_out *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Data for the next run, at most CHECK_MEMORY_MAX_BYTES. Without a call the next run gets the same data again. */
void check_remember(struct check_out *out, const char *data, size_t len);

struct check {
    const char *name;  /* "disk" */
    const char *about; /* one line for help and man page */
    int64_t period_ms, deadline_ms;
    void (*run)(const struct check_context *context,
                struct check_out *out); /* at the deadline its process group is killed */
    const void *own;                    /* the context's; NULL */
    bool spans_boots; /* its data stays valid after a reboot; the check handles the differences itself */
};

/* Times of a built-in check, from the model. */
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
