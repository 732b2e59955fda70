/*
 * Deep health checks on this instance, by a runner (agents/node/runner.h), which runs the tests one after the other, as long as they
 * take.
 *
 *     <state-dir>/deep/  memory   agents/deep/message.h: which test is next
 *                        report   what was said last, in case nobody heard it
 *                        output   of the tool that runs
 *                        scratch/ where it runs
 *                        told     there when the runner was told to end, as it is when the machine goes down in order
 *     <state-dir>/sagemaker-deep-health-check.log   in HyperPod's lines
 *
 * A test whose result is remembered is never run again. That is before it is said to anybody. One that was interrupted is run once
 * more; interrupted again it is skipped. By a reboot that nobody asked for it has failed: a test that ends the machine is the
 * strongest finding of all. What could not be carried out, for want of room or of time, is skipped: it says nothing of the machine.
 */
#ifndef HOLDFAST_AGENTS_DEEP_DEEP_H
#define HOLDFAST_AGENTS_DEEP_DEEP_H

#include "agents/deep/message.h"
#include "agents/node/attempt.h"
#include "agents/node/runner.h"
#include "base/text.h"

#define DEEP_OUTPUT_BYTES_MAX (1024 * 1024) /* of a tool: one that writes more is ended */

/* --- what a test has in hand --------------------------------------------------------------------------------- */

struct deep_bench; /* deep_run.c */
const struct runner_options *deep_bench_options(const struct deep_bench *bench);
const struct deep_job *deep_bench_job(const struct deep_bench *bench);

/* The outcome: one of these, the last one counts. Without any the test has failed. */
void deep_passed(struct deep_bench *bench);
void deep_passed_but(struct deep_bench *bench, const char *word); /* "": nothing more is to be known */
void deep_failed(struct deep_bench *bench, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void deep_skipped(struct deep_bench *bench, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* It is told, not judged. */
void deep_measured(struct deep_bench *bench, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Judged by its limit, when there is one (limits.h): false when it misses it. The outcome is the test's own to say. */
bool deep_judged(struct deep_bench *bench, const char *name, const struct deep_limit *limit, double value);
/* A line of the log: level is info, warn or error. */
void deep_log(struct deep_bench *bench, const char *level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Lines of a tool, as they are. */
void deep_log_raw(struct deep_bench *bench, const char *lines);

/* A tool, looked for by its name, or found already where it has a slash. */
struct deep_tool {
    bool found;
    struct attempt_end end;
    char *output;
    size_t output_len;
};
/* Runs it and waits. TALK_WITHDRAWN: the server wants no more, return at once. TIMEOUT: the time of the whole run was over.
 * Freed with deep_tool_free in any case. */
int deep_tool_run(struct deep_bench *bench, const char *const argv[], int64_t limit_ms, struct deep_tool *ret_tool);
void deep_tool_free(struct deep_tool *tool);
bool deep_tool_find(const struct deep_bench *bench, const char *name);
/* Waits. TALK_WITHDRAWN and TIMEOUT as above. */
int deep_pause(struct deep_bench *bench, int64_t ms);

/* --- the tests (one file each) ------------------------------------------------------------------------------- */

struct deep_test_ops {
    const char *name;
    enum deep_check check;
    int (*run)(struct deep_bench *bench); /* 0, TALK_WITHDRAWN, or a status: the test is skipped */
};
extern const struct deep_test_ops deep_tests[];
extern const size_t deep_test_count;
/* What the tests are of: bits by enum deep_check. */
int64_t deep_offers(void);

int deep_hardware_run(struct deep_bench *bench); /* hardware.c */
int deep_devices_run(struct deep_bench *bench);  /* devices.c */
int deep_dcgm_run(struct deep_bench *bench);     /* dcgm.c */
int deep_efa_run(struct deep_bench *bench);      /* efa.c */
int deep_neuron_run(struct deep_bench *bench);   /* neuron.c */
int deep_nccom_local_run(struct deep_bench *bench);
int deep_pair_run(struct deep_bench *bench); /* pair.c */

#endif
