/*
 * The runner: fetches the order, runs its tests one after the other, and reports each result.
 *
 * The state is stored before each action and each report. After a crash the next runner ends the remaining process and continues. The
 * last report is kept until the next one and sent again; the server recognizes a repeat.
 */
#include "agents/deep/bench.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/sm.h"
#include "base/status.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPORT_BYTES_MAX AGENT_BODY_BYTES_MAX
#define TRIES_MAX 2

/* --- made and freed ------------------------------------------------------------------------------------------ */

static int bench_open(struct deep_bench *bench, const struct runner_options *options)
{
    *bench = (struct deep_bench){.options = options};
    int status = runner_open(&bench->runner, &deep_check_runner, options);
    const char *directory = bench->runner.directory;
    bench->report_path = own_printf("%s/report", directory);
    bench->output_path = own_printf("%s/output", directory);
    bench->scratch = own_printf("%s/scratch", directory);
    bench->told_path = own_printf("%s/told", directory);
    bench->log_path = own_printf("%s/sagemaker-deep-health-check.log", options->state_dir);
    return status != 0 ? status : state_read_line(options->boot_id_file, bench->boot_id, sizeof(bench->boot_id));
}

static void bench_close(struct deep_bench *bench)
{
    runner_close(&bench->runner);
    text_free(&bench->log);
    free(bench->report_path);
    free(bench->output_path);
    free(bench->scratch);
    free(bench->told_path);
    free(bench->log_path);
}

/* --- what is remembered -------------------------------------------------------------------------------------- */

/* The used part of the order's time. The downtime of a reboot is unknown and does not count. */
static int64_t used_ms(const struct deep_bench *bench)
{
    const struct deep_memory *memory = &bench->memory;
    int64_t now = clock_boot_ms(), wall = bench_wall_ms();
    if (memory->began_at == 0)
        return 0;
    if (memory->clock_ms == 0)
        return wall > memory->began_at ? wall - memory->began_at : 0;
    bool same = text_equal(memory->clock_boot_id, bench->boot_id) && memory->clock_ms <= now;
    return memory->used_ms + (same ? now - memory->clock_ms : 0);
}

int bench_save(struct deep_bench *bench)
{
    AUTO(text) struct text out = {0};
    bench->memory.used_ms = used_ms(bench);
    bench->memory.clock_ms = clock_boot_ms();
    memcpy(bench->memory.clock_boot_id, bench->boot_id, sizeof(bench->boot_id));
    deep_write_memory(&out, &bench->memory);
    return runner_save(&bench->runner, &out);
}

static int load(struct deep_bench *bench, const char *key)
{
    autofree char *data = NULL;
    size_t len;
    struct deep_memory *memory = &bench->memory;
    bool known = runner_load(&bench->runner, &data, &len) == 0 && deep_read_memory(data, len, memory) == 0 &&
                 text_equal(memory->instance_id, bench->options->instance_id);
    if (known && text_equal(memory->key, key))
        return 0;
    if (known)
        attempt_kill_left((pid_t)memory->pid, (uint64_t)memory->ticks);
    (void)unlink(bench->report_path); /* of another order */
    *memory = (struct deep_memory){.at = 0};
    text_copy_cut(memory->instance_id, sizeof(memory->instance_id), bench->options->instance_id);
    text_copy_cut(memory->key, sizeof(memory->key), key);
    return bench_save(bench);
}

/* --- the order ----------------------------------------------------------------------------------------------- */

static int read_order(const char *body, size_t len, void *arg)
{
    struct deep_bench *bench = arg;
    struct deep_memory *memory = &bench->memory;
    int status = deep_read_order(body, len, &bench->job);
    if (status != 0)
        return status;
    if (!text_equal(bench->job.key, memory->key) || !text_equal(bench->job.instance_id, memory->instance_id))
        return TALK_WITHDRAWN; /* the next heartbeat has the current key */
    for (size_t i = 0; i < deep_test_count; i++)
        if ((bench->job.checks & SM_BIT(deep_tests[i].check)) != 0)
            bench->plan[bench->total++] = &deep_tests[i];
    bench->ends_at = bench_mono_ms() + bench->job.time_limit_ms - used_ms(bench);
    if (memory->began_at > 0)
        return 0;
    memory->began_at = bench_wall_ms();
    return bench_save(bench);
}

/* --- reports ------------------------------------------------------------------------------------------------- */

static int say_running(struct deep_bench *bench)
{
    AUTO(text) struct text body = {0};
    deep_write_report(&body, bench->memory.key, bench->total, &bench->test, "");
    return talk_say(&bench->runner.talk, &body);
}

/* Reports "running" again. The answer says whether the order is still wanted. */
bool bench_is_wanted(struct deep_bench *bench)
{
    AUTO(text) struct text body = {0};
    deep_write_report(&body, bench->memory.key, bench->total, &bench->test, "");
    return talk_say_once(&bench->runner.talk, &body) != TALK_WITHDRAWN;
}

/* The report is stored, so that the next runner can repeat it after a crash. */
static int say_result(struct deep_bench *bench)
{
    AUTO(text) struct text body = {0};
    struct deep_memory *memory = &bench->memory;
    deep_write_report(&body, memory->key, bench->total, &bench->test, text_get(&bench->log));
    int status = file_write(bench->report_path, body.data, body.len, 0600);
    if (status != 0)
        return status;
    memory->at++;
    memory->begun = memory->pid = 0;
    status = bench_save(bench);
    return status != 0 ? status : talk_say(&bench->runner.talk, &body);
}

static int say_last_result(struct deep_bench *bench)
{
    AUTO(text) struct text body = {0};
    autofree char *data = NULL;
    size_t len;
    if (bench->memory.at == 0 || file_read(bench->report_path, REPORT_BYTES_MAX, &data, &len) != 0)
        return 0;
    text_add_bytes(&body, data, len);
    return talk_say(&bench->runner.talk, &body);
}

static int say_final(struct deep_bench *bench)
{
    AUTO(text) struct text body = {0};
    deep_write_final(&body, bench->memory.key, bench->total);
    bench->memory.over = 1;
    int status = bench_save(bench);
    return status != 0 ? status : talk_say(&bench->runner.talk, &body);
}

/* --- told to end --------------------------------------------------------------------------------------------- */

static const char *told_path; /* of the run in this process */

/* An orderly shutdown sends SIGTERM first; a crash does not. */
static void on_terminate(int number)
{
    (void)number;
    int fd = open(told_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)fsync(fd);
    _exit(EXIT_FAILURE);
}

static void listen_for_end(const char *path)
{
    struct sigaction action = {.sa_handler = path != NULL ? on_terminate : SIG_DFL};
    if (path != NULL)
        told_path = path;
    (void)sigaction(SIGTERM, &action, NULL);
    if (path == NULL)
        told_path = NULL;
}

/* --- tests --------------------------------------------------------------------------------------------------- */

static void take_up(struct deep_bench *bench)
{
    const struct deep_test_ops *ops = bench->plan[bench->memory.at];
    bench->test = (struct deep_test){.ordinal = bench->memory.at + 1,
                                     .check = ops->check,
                                     .state = DEEP_STATE_RUNNING,
                                     .started_at = bench->memory.begun > 0 ? bench->memory.test_at : bench_wall_ms()};
    bench->test_from_ms = bench_mono_ms();
    text_copy_cut(bench->test.name, sizeof(bench->test.name), ops->name);
    text_clear(&bench->log);
}

/* True when the test was started before and must not run again. The end of a runner is no failure of the machine; an unexpected
 * reboot is. */
static bool was_lost(struct deep_bench *bench)
{
    const struct deep_memory *memory = &bench->memory;
    if (memory->begun == 0)
        return false;
    bool rebooted = !text_equal(memory->boot_id, bench->boot_id);
    if (!rebooted && memory->pid != 0)
        attempt_kill_left((pid_t)memory->pid, (uint64_t)memory->ticks);
    if (rebooted && !file_exists(bench->told_path)) {
        deep_failed(bench, "the machine came up anew while this test ran");
        deep_log(bench, "error", "%s %s", bench->test.name, bench->test.detail);
    } else if (memory->begun >= TRIES_MAX) {
        deep_skipped(bench, "was interrupted %d times", TRIES_MAX);
    }
    return bench->test.state != DEEP_STATE_RUNNING;
}

static int begin_test(struct deep_bench *bench)
{
    struct deep_memory *memory = &bench->memory;
    memory->begun++;
    memory->pid = 0;
    memory->test_at = bench->test.started_at = bench_wall_ms();
    bench->test_from_ms = bench_mono_ms();
    memcpy(memory->boot_id, bench->boot_id, sizeof(memory->boot_id));
    log_info("deep check: %s begins", bench->test.name);
    int status = bench_save(bench);
    (void)unlink(bench->told_path);
    return status != 0 ? status : say_running(bench);
}

/* 0 when the test has ended, with any result. */
static int carry_out(struct deep_bench *bench)
{
    if (bench_time_left_ms(bench) <= 0) {
        deep_skipped(bench, "the time of this run was over before it could begin");
        return 0;
    }
    int status = begin_test(bench);
    if (status != 0)
        return status;
    status = bench->plan[bench->memory.at]->run(bench);
    if (status == TALK_WITHDRAWN)
        return status;
    if (status != 0)
        deep_skipped(bench, "could not be carried out: %s", status_meaning(status));
    else if (bench->test.state == DEEP_STATE_RUNNING)
        deep_failed(bench, "ended without a result");
    return 0;
}

static int run_test(struct deep_bench *bench)
{
    take_up(bench);
    int status = was_lost(bench) ? 0 : carry_out(bench);
    if (status != 0)
        return status;
    struct deep_test *test = &bench->test;
    test->duration_ms = test->state == DEEP_STATE_SKIPPED ? 0 : bench_mono_ms() - bench->test_from_ms;
    if (test->state == DEEP_STATE_SKIPPED)
        deep_log(bench, "info", "%s skipped: %s", test->name, test->detail);
    log_info("deep check: %s %s %s", test->name, deep_state_text(test->state), test->detail);
    bench_keep_log(bench);
    return say_result(bench);
}

static int run_all(struct deep_bench *bench)
{
    int status = runner_fetch(&bench->runner, read_order, bench);
    if (status == 0)
        status = say_last_result(bench);
    while (status == 0 && bench->memory.over == 0 && bench->memory.at < bench->total)
        status = run_test(bench);
    return status == 0 ? say_final(bench) : status;
}

static int deep_run(const struct runner_options *options, const char *key)
{
    struct deep_bench bench;
    int status = bench_open(&bench, options);
    if (status == 0)
        status = load(&bench, key);
    listen_for_end(bench.told_path);
    if (status == 0)
        status = run_all(&bench);
    listen_for_end(NULL);
    if (status == TALK_WITHDRAWN)
        log_info("deep check: wanted no more");
    bench_close(&bench);
    return status == TALK_WITHDRAWN ? 0 : status;
}

const struct runner_kind deep_check_runner = {
    .name = "deep",
    .state = "memory",
    .option = "--deep-check",
    .process = "hp-deep-check",
    .about = "deep health checks",
    .path = "/v1/agent/check",
    .order_bytes_max = 16384,
    .times = {.timeout_ms = 60000, .pause_ms = 2000, .grace_ms = 10000, .probe_ms = 10000},
    .run = deep_run,
};
