/* The inside of a bench, for the runner's own files; tests have deep.h. */
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
    int64_t ends_at; /* monotonic: the clock may be set while tests run */
    char *report_path, *output_path, *scratch, *told_path, *log_path;
    char boot_id[BOOT_ID_MAX_BYTES];
    struct deep_test test; /* in hand */
    int64_t test_from_ms;  /* monotonic; of one that an earlier runner began, when this one took it up */
    struct text log;
};

int64_t bench_wall_ms(void);
int64_t bench_mono_ms(void);
/* What is remembered, onto the disk. */
int bench_save(struct deep_bench *bench);
int64_t bench_time_left_ms(const struct deep_bench *bench);
/* Says once more that the test runs; false: the server wants no more. */
bool bench_is_wanted(struct deep_bench *bench);
/* Appends the test's lines to the log on this machine. */
void bench_keep_log(const struct deep_bench *bench);

#endif
