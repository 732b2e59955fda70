/*
 * The runner: fetches the order, runs its tests one after the other, and says what each came to.
 *
 * What is on disk is written before whatever it speaks of is done or said, so a runner that comes after a crash knows what was
 * begun: it ends what is left of it, and goes on. What was said last is kept until the next thing is, and said again: the server
 * takes a repeat for what it is.
 */
#include "agents/deep/deep.h"

#include "agents/checks/check.h"
#include "agents/node/talk.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/sm.h"
#include "base/status.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ORDER_PATH "/v1/agent/check"
#define ORDER_BYTES_MAX 16384
#define MEMORY_BYTES_MAX 4096
#define REPORT_BYTES_MAX AGENT_BODY_BYTES_MAX
#define TRIES_MAX 2
#define LOG_KEPT_MAX (16 * 1024 * 1024)
#define TOOL_WORDS_MAX 32

struct deep_bench {
    const struct deep_options *options;
    struct talk talk;
    struct deep_job job;
    struct deep_memory memory;
    const struct deep_test_ops *plan[DEEP_TESTS_MAX];
    int64_t total;
    char *directory, *memory_path, *report_path, *output_path, *scratch, *log_path;
    char boot_id[BOOT_ID_MAX_BYTES];
    struct deep_test test; /* in hand */
    struct text log;
};

const struct deep_options *deep_bench_options(const struct deep_bench *bench)
{
    return bench->options;
}

const struct deep_job *deep_bench_job(const struct deep_bench *bench)
{
    return &bench->job;
}

static int64_t wall_ms(void)
{
    return clock_wall_ms(clock_system());
}

/* --- made and freed ------------------------------------------------------------------------------------------ */

static int bench_open(struct deep_bench *bench, const struct deep_options *options)
{
    *bench = (struct deep_bench){.options = options};
    bench->directory = own_printf("%s/deep", options->state_dir);
    bench->memory_path = own_printf("%s/memory", bench->directory);
    bench->report_path = own_printf("%s/report", bench->directory);
    bench->output_path = own_printf("%s/output", bench->directory);
    bench->scratch = own_printf("%s/scratch", bench->directory);
    bench->log_path = own_printf("%s/sagemaker-deep-health-check.log", options->state_dir);
    const struct talk_options talk = {.url = options->url,
                                      .fingerprint = options->fingerprint,
                                      .state_dir = options->state_dir,
                                      .instance_id = options->instance_id,
                                      .path = ORDER_PATH,
                                      .reply_bytes_max = ORDER_BYTES_MAX,
                                      .timeout_ms = options->timeout_ms,
                                      .pause_ms = options->pause_ms};
    int status = talk_open(&bench->talk, &talk);
    return status != 0 ? status : state_read_line(options->boot_id_file, bench->boot_id, sizeof(bench->boot_id));
}

static void bench_close(struct deep_bench *bench)
{
    talk_close(&bench->talk);
    text_free(&bench->log);
    free(bench->directory);
    free(bench->memory_path);
    free(bench->report_path);
    free(bench->output_path);
    free(bench->scratch);
    free(bench->log_path);
}

/* --- what is remembered -------------------------------------------------------------------------------------- */

static int save(const struct deep_bench *bench)
{
    AUTO(text) struct text out = {0};
    deep_write_memory(&out, &bench->memory);
    int status = file_write(bench->memory_path, out.data, out.len, 0600);
    if (status != 0)
        log_error("deep check: what was done cannot be stored: %s", status_meaning(status));
    return status;
}

static int load(struct deep_bench *bench, const char *key)
{
    autofree char *data = NULL;
    size_t len;
    struct deep_memory *memory = &bench->memory;
    bool known = file_read(bench->memory_path, MEMORY_BYTES_MAX, &data, &len) == 0 &&
                 deep_read_memory(data, len, memory) == 0 &&
                 text_equal(memory->instance_id, bench->options->instance_id);
    if (known && text_equal(memory->key, key))
        return 0;
    if (known)
        attempt_kill_left((pid_t)memory->pid, (uint64_t)memory->ticks);
    (void)unlink(bench->report_path); /* of another order */
    *memory = (struct deep_memory){.at = 0};
    text_copy_cut(memory->instance_id, sizeof(memory->instance_id), bench->options->instance_id);
    text_copy_cut(memory->key, sizeof(memory->key), key);
    return save(bench);
}

/* --- the order ----------------------------------------------------------------------------------------------- */

static int fetch_order(struct deep_bench *bench)
{
    const char *body;
    size_t len;
    int answer;
    struct deep_memory *memory = &bench->memory;
    int status = talk_exchange(&bench->talk, NULL, &answer, &body, &len);
    if (status != 0)
        return status;
    if (answer == 404 || answer == 401 || answer == 403)
        return TALK_WITHDRAWN;
    if (answer != 200)
        return STATUS_UNAVAILABLE;
    if (deep_read_order(body, len, &bench->job) != 0) {
        log_error("deep check: the order makes no sense");
        return STATUS_BACKEND;
    }
    if (!text_equal(bench->job.key, memory->key) || !text_equal(bench->job.instance_id, memory->instance_id))
        return TALK_WITHDRAWN; /* a heartbeat will bring the key of what is wanted now */
    for (size_t i = 0; i < deep_test_count; i++)
        if ((bench->job.checks & SM_BIT(deep_tests[i].check)) != 0)
            bench->plan[bench->total++] = &deep_tests[i];
    if (memory->began_at > 0)
        return 0;
    memory->began_at = wall_ms();
    return save(bench);
}

/* --- reports ------------------------------------------------------------------------------------------------- */

static int say_running(struct deep_bench *bench)
{
    AUTO(text) struct text body = {0};
    deep_write_report(&body, bench->memory.key, bench->total, &bench->test, "");
    return talk_say(&bench->talk, &body);
}

/* Says once more that it runs, which changes nothing there unless it is no longer wanted. */
static bool on_probe(void *arg)
{
    struct deep_bench *bench = arg;
    AUTO(text) struct text body = {0};
    deep_write_report(&body, bench->memory.key, bench->total, &bench->test, "");
    return talk_say_once(&bench->talk, &body) != TALK_WITHDRAWN;
}

/* Kept until the next one, and said again by whoever comes after a crash. */
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
    status = save(bench);
    return status != 0 ? status : talk_say(&bench->talk, &body);
}

static int say_last_result(struct deep_bench *bench)
{
    AUTO(text) struct text body = {0};
    autofree char *data = NULL;
    size_t len;
    if (bench->memory.at == 0 || file_read(bench->report_path, REPORT_BYTES_MAX, &data, &len) != 0)
        return 0;
    text_add_bytes(&body, data, len);
    return talk_say(&bench->talk, &body);
}

static int say_final(struct deep_bench *bench)
{
    AUTO(text) struct text body = {0};
    deep_write_final(&body, bench->memory.key, bench->total);
    bench->memory.over = 1;
    int status = save(bench);
    return status != 0 ? status : talk_say(&bench->talk, &body);
}

/* --- what tests say ------------------------------------------------------------------------------------------ */

static void end_test(struct deep_bench *bench, enum deep_state state, const char *fmt, va_list ap)
{
    autofree char *detail = own_vprintf(fmt, ap);
    for (char *c = detail; *c != '\0'; c++) /* a tool's words may be in it */
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
    bench->test.state = state;
    text_copy_cut(bench->test.detail, sizeof(bench->test.detail),
                  text_is_utf8(detail, strlen(detail)) ? detail : "the tool's words are no text");
}

void deep_passed(struct deep_bench *bench)
{
    bench->test.state = DEEP_STATE_PASSED;
    bench->test.detail[0] = '\0';
}

void deep_failed(struct deep_bench *bench, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    end_test(bench, DEEP_STATE_FAILED, fmt, ap);
    va_end(ap);
}

void deep_skipped(struct deep_bench *bench, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    end_test(bench, DEEP_STATE_SKIPPED, fmt, ap);
    va_end(ap);
}

void deep_measured(struct deep_bench *bench, const char *name, const char *limit, const char *fmt, ...)
{
    struct deep_test *test = &bench->test;
    if (test->measure_count == DEEP_MEASURES_MAX)
        return;
    struct deep_measure *measure = &test->measures[test->measure_count++];
    va_list ap;
    va_start(ap, fmt);
    autofree char *value = own_vprintf(fmt, ap);
    va_end(ap);
    text_copy_cut(measure->name, sizeof(measure->name), name);
    text_copy_cut(measure->value, sizeof(measure->value), value);
    text_copy_cut(measure->limit, sizeof(measure->limit), limit);
}

void deep_log(struct deep_bench *bench, const char *level, const char *fmt, ...)
{
    char at[CLOCK_TEXT_MAX];
    clock_format(wall_ms(), at);
    snprintf(at + strcspn(at, "."), 2, "Z"); /* HyperPod's are to the second */
    va_list ap;
    va_start(ap, fmt);
    text_printf(&bench->log, "%s %s ", at, level);
    text_vprintf(&bench->log, fmt, ap);
    va_end(ap);
    text_add_char(&bench->log, '\n');
}

void deep_log_raw(struct deep_bench *bench, const char *lines)
{
    text_add(&bench->log, lines);
    if (lines[0] != '\0' && !text_ends_with(lines, "\n"))
        text_add_char(&bench->log, '\n');
}

static void keep_log(const struct deep_bench *bench)
{
    int fd = open(bench->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (fd < 0)
        return;
    if (lseek(fd, 0, SEEK_END) > LOG_KEPT_MAX) {
        autofree char *aside = own_printf("%s.1", bench->log_path);
        (void)rename(bench->log_path, aside);
    }
    ssize_t ignored = write(fd, text_get(&bench->log), bench->log.len);
    (void)ignored;
    close(fd);
}

/* --- tools --------------------------------------------------------------------------------------------------- */

bool deep_tool_find(const struct deep_bench *bench, const char *name)
{
    autofree char *path = check_find_tool(bench->options->path, name);
    return path != NULL;
}

static int on_begin(pid_t pid, uint64_t ticks, void *arg)
{
    struct deep_bench *bench = arg;
    bench->memory.pid = pid;
    bench->memory.ticks = (int64_t)ticks;
    return save(bench);
}

static int64_t time_left_ms(const struct deep_bench *bench)
{
    return bench->job.time_limit_ms - (wall_ms() - bench->memory.began_at);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The beginning of it, when a tool wrote more in no time. */
static void read_output(int fd, struct deep_tool *tool)
{
    tool->output = own_calloc(1, DEEP_OUTPUT_BYTES_MAX + 1);
    while (tool->output_len < DEEP_OUTPUT_BYTES_MAX) {
        ssize_t n = pread(fd, tool->output + tool->output_len, DEEP_OUTPUT_BYTES_MAX - tool->output_len,
                          (off_t)tool->output_len);
        if (n <= 0)
            return;
        tool->output_len += (size_t)n;
    }
}

int deep_tool_run(struct deep_bench *bench, const char *const argv[], int64_t limit_ms, struct deep_tool *ret_tool)
{
    const char *words[TOOL_WORDS_MAX] = {NULL};
    autofree char *path = check_find_tool(bench->options->path, argv[0]);
    *ret_tool = (struct deep_tool){.found = path != NULL};
    if (path == NULL)
        return 0;
    words[0] = path;
    for (size_t i = 1; argv[i] != NULL && i < TOOL_WORDS_MAX - 1; i++)
        words[i] = argv[i];
    (void)file_remove_tree(bench->scratch);
    int status = file_make_dirs(bench->scratch, 0700);
    int fd = open(bench->output_path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (status != 0 || fd < 0)
        return STATUS_IO;
    const struct attempt attempt = {.argv = words,
                                    .directory = bench->scratch,
                                    .log_fd = fd,
                                    .log_bytes_max = DEEP_OUTPUT_BYTES_MAX,
                                    .time_limit_ms = least(limit_ms, time_left_ms(bench)),
                                    .grace_ms = bench->options->grace_ms,
                                    .probe_ms = bench->options->probe_ms,
                                    .on_begin = on_begin,
                                    .on_probe = on_probe,
                                    .arg = bench};
    status = attempt_run(&attempt, &ret_tool->end);
    read_output(fd, ret_tool);
    close(fd);
    bench->memory.pid = 0;
    (void)file_remove_tree(bench->scratch);
    if (status == 0 && ret_tool->end.timed_out && attempt.time_limit_ms < limit_ms)
        return STATUS_TIMEOUT; /* of the whole run: that says nothing of the tool */
    return status == 0 && ret_tool->end.withdrawn ? TALK_WITHDRAWN : status;
}

void deep_tool_free(struct deep_tool *tool)
{
    free(TAKE(tool->output));
}

/* --- tests --------------------------------------------------------------------------------------------------- */

static void take_up(struct deep_bench *bench)
{
    const struct deep_test_ops *ops = bench->plan[bench->memory.at];
    bench->test = (struct deep_test){.ordinal = bench->memory.at + 1,
                                     .check = ops->check,
                                     .state = DEEP_STATE_RUNNING,
                                     .started_at = bench->memory.begun > 0 ? bench->memory.test_at : wall_ms()};
    text_copy_cut(bench->test.name, sizeof(bench->test.name), ops->name);
    text_clear(&bench->log);
}

/* True when it was begun before and is not to be begun again. Who ended the runner need not be the machine. */
static bool was_lost(struct deep_bench *bench)
{
    const struct deep_memory *memory = &bench->memory;
    if (memory->begun == 0)
        return false;
    bool rebooted = !text_equal(memory->boot_id, bench->boot_id);
    if (!rebooted && memory->pid != 0)
        attempt_kill_left((pid_t)memory->pid, (uint64_t)memory->ticks);
    if (rebooted) {
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
    memory->test_at = bench->test.started_at = wall_ms();
    memcpy(memory->boot_id, bench->boot_id, sizeof(memory->boot_id));
    log_info("deep check: %s begins", bench->test.name);
    int status = save(bench);
    return status != 0 ? status : say_running(bench);
}

/* 0 when it has ended, however. */
static int carry_out(struct deep_bench *bench)
{
    if (time_left_ms(bench) <= 0) {
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
    test->duration_ms = test->state == DEEP_STATE_SKIPPED ? 0 : wall_ms() - test->started_at;
    if (test->duration_ms < 0)
        test->duration_ms = 0; /* the clock was set back */
    if (test->state == DEEP_STATE_SKIPPED)
        deep_log(bench, "info", "%s skipped: %s", test->name, test->detail);
    log_info("deep check: %s %s %s", test->name, deep_state_text(test->state), test->detail);
    keep_log(bench);
    return say_result(bench);
}

static int run_all(struct deep_bench *bench)
{
    int status = fetch_order(bench);
    if (status == 0)
        status = say_last_result(bench);
    while (status == 0 && bench->memory.over == 0 && bench->memory.at < bench->total)
        status = run_test(bench);
    return status == 0 ? say_final(bench) : status;
}

int deep_run(const struct deep_options *options, const char *key)
{
    struct deep_bench bench;
    int status = bench_open(&bench, options);
    if (status == 0)
        status = load(&bench, key);
    if (status == 0)
        status = run_all(&bench);
    if (status == TALK_WITHDRAWN)
        log_info("deep check: wanted no more");
    bench_close(&bench);
    return status == TALK_WITHDRAWN ? 0 : status;
}
