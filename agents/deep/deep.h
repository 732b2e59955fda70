/*
 * Deep health checks on this instance, by a runner (agents/node/runner.h), which runs the tests one after the other.
 *
 *     <state-dir>/deep/  memory   agents/deep/message.h: which test is next
 *                        report   the last report, in case it was not delivered
 *                        output   of the running tool
 *                        scratch/ its working directory
 *                        told     exists when the runner got SIGTERM, as in an orderly shutdown
 *     <state-dir>/sagemaker-deep-health-check.log   in HyperPod's format
 *
 * The result of a test is stored before it is reported. A test with a stored result never runs again. An interrupted test runs once
 * more; after a second interruption it is skipped. An unexpected reboot during a test is a failure: the test brought the machine
 * down. A test that cannot run for lack of space or time is skipped, which says nothing about the machine.
 */
#ifndef HOLDFAST_AGENTS_DEEP_DEEP_H
#define HOLDFAST_AGENTS_DEEP_DEEP_H

#include "agents/deep/message.h"
#include "agents/node/attempt.h"
#include "agents/node/runner.h"
#include "base/text.h"

#define DEEP_OUTPUT_BYTES_MAX (1024 * 1024) /* a tool that writes more is ended */

/* --- what a test has in hand --------------------------------------------------------------------------------- */

struct deep_bench; /* deep_run.c */
const struct runner_options *deep_bench_options(const struct deep_bench *bench);
const struct deep_job *deep_bench_job(const struct deep_bench *bench);

/* The result of the test: the last call counts. A test without any has failed. */
void deep_passed(struct deep_bench *bench);
void deep_passed_but(struct deep_bench *bench, const char *word); /* word: a remark, or "" */
void deep_failed(struct deep_bench *bench, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void deep_skipped(struct deep_bench *bench, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A measurement without a limit. */
void deep_measured(struct deep_bench *bench, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A measurement that is compared with its limit, if there is one (limits.h). False: it misses the limit. The test sets its result. */
bool deep_judged(struct deep_bench *bench, const char *name, const struct deep_limit *limit, double value);
/* A line of the log: level is info, warn or error. */
void deep_log(struct deep_bench *bench, const char *level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Output of a tool, unchanged. */
void deep_log_raw(struct deep_bench *bench, const char *lines);

/* A tool, by name or path. */
struct deep_tool {
    bool found;
    struct attempt_end end;
    char *output;
    size_t output_len;
};
/* Runs the tool and waits. TALK_WITHDRAWN: the order is withdrawn, return at once. TIMEOUT: the time of the whole run is over. Call
 * deep_tool_free in any case. */
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
/* The checks that have tests: bits by enum deep_check. */
int64_t deep_offers(void);

int deep_hardware_run(struct deep_bench *bench); /* hardware.c */
int deep_devices_run(struct deep_bench *bench);  /* devices.c */
int deep_dcgm_run(struct deep_bench *bench);     /* dcgm.c */
int deep_efa_run(struct deep_bench *bench);      /* efa.c */
int deep_neuron_run(struct deep_bench *bench);   /* neuron.c */
int deep_nccom_local_run(struct deep_bench *bench);
int deep_pair_run(struct deep_bench *bench); /* pair.c */

#endif
