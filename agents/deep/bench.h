/* The internals of a bench, for the files of the runner. Tests use deep.h. */
#ifndef HOLDFAST_AGENTS_DEEP_BENCH_H
#define HOLDFAST_AGENTS_DEEP_BENCH_H

#include "agents/deep/deep.h"
#include "agents/node/runner.h"

struct deep_bench {
    struct runner runner;
    const struct runner_options *options;
    struct deep_job job;
    struct deep_memory memory;
    const struct deep_test_ops *plan[DEEP_TESTS_MAX];
    int64_t total;
    int64_t ends_at; /* monotonic: the wall clock may be set */
    char *report_path, *output_path, *scratch, *told_path, *log_path;
    char boot_id[BOOT_ID_MAX_BYTES];
    struct deep_test test; /* the current one */
    int64_t test_from_ms;  /* monotonic; for a test of an earlier runner: when this runner took it over */
    struct text log;
};

int64_t bench_wall_ms(void);
int64_t bench_mono_ms(void);
/* Stores the state. */
int bench_save(struct deep_bench *bench);
int64_t bench_time_left_ms(const struct deep_bench *bench);
/* Reports "running" again; false: the order is withdrawn. */
bool bench_is_wanted(struct deep_bench *bench);
/* Appends the test's lines to the log on this machine. */
void bench_keep_log(const struct deep_bench *bench);

#endif
