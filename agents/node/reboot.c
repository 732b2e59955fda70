/* The runner of a reboot (see reboot.h). */
#include "agents/node/reboot.h"

#include "agents/checks/check.h"
#include "agents/node/attempt.h"
#include "agents/node/reset.h"
#include "agents/node/runner.h"
#include "agents/node/state.h"
#include "agents/node/work.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "model/reboot.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 160
#define WALL_MS 5000
enum { OVER_DONE = 1, OVER_FAILED = 2 };

struct run {
    struct runner runner;
    const struct runner_options *options;
    struct reboot_job job;
    struct work_state work;
    char *output_path;
};

static int save(struct run *run)
{
    AUTO(text) struct text out = {0};
    work_write_state(&out, &run->work);
    return runner_save(&run->runner, &out);
}

/* State of another order is dropped: its boot is over, or the server has gone on without it. */
static void load(struct run *run, const char *key)
{
    autofree char *data = NULL;
    size_t len;
    bool known = runner_load(&run->runner, &data, &len) == 0 && work_read_state(data, len, &run->work) == 0 &&
                 text_equal(run->work.instance_id, run->options->instance_id);
    if (known && text_equal(run->work.key, key))
        return;
    run->work = (struct work_state){.exit_code = -1};
    text_copy_cut(run->work.instance_id, sizeof(run->work.instance_id), run->options->instance_id);
    text_copy_cut(run->work.key, sizeof(run->work.key), key);
}

static int say(struct run *run, enum script_state state, bool final)
{
    AUTO(text) struct text body = {0};
    bool failed = state == SCRIPT_STATE_FAILED;
    struct lifecycle_report report = {
        .state = state, .final = final, .attempt = run->work.attempts, .exit_code = failed ? run->work.exit_code : -1};
    text_copy_cut(report.key, sizeof(report.key), run->work.key);
    text_copy_cut(report.detail, sizeof(report.detail), failed ? run->work.detail : "");
    work_write_report(&body, &report, "", 0);
    return talk_say(&run->runner.talk, &body);
}

static int say_last_word(struct run *run)
{
    return say(run, run->work.over == OVER_DONE ? SCRIPT_STATE_SUCCEEDED : SCRIPT_STATE_FAILED, true);
}

static int finish(struct run *run, int over, const char *detail)
{
    run->work.over = over;
    run->work.pid = 0;
    text_copy_cut(run->work.detail, sizeof(run->work.detail), detail);
    if (over == OVER_FAILED)
        log_error("reboot: %s", detail);
    int status = save(run);
    return status != 0 ? status : say_last_word(run);
}

/* An order for another boot was carried out, whoever did it. */
static int read_order(const char *body, size_t len, void *arg)
{
    struct run *run = arg;
    char boot_id[BOOT_ID_MAX_BYTES];
    if (work_read_reboot(body, len, &run->job) != 0)
        return TALK_WITHDRAWN; /* an order of another kind: the next heartbeat has the current key */
    int status = state_read_line(run->options->boot_id_file, boot_id, sizeof(boot_id));
    if (status != 0)
        return status == STATUS_INVALID ? STATUS_IO : status;
    bool ours = text_equal(run->job.key, run->work.key) && text_equal(run->job.instance_id, run->work.instance_id) &&
                text_equal(run->job.boot_id, boot_id);
    return ours ? 0 : TALK_WITHDRAWN;
}

/* As well as can be: nobody has to be logged in, and wall may not be there. */
static void tell_users(struct run *run)
{
    autofree char *tool = check_find_tool(run->options->path, "wall");
    char span[CLOCK_TEXT_MAX];
    clock_format_duration(run->job.delay_ms, span);
    autofree char *message = own_printf("Holdfast reboots this machine in %s: %s", span, run->job.reason);
    log_warn("%s", message);
    if (tool == NULL)
        return;
    const char *const argv[] = {tool, message, NULL};
    const struct child_options options = {.timeout_ms = WALL_MS, .out_bytes_max = 4096};
    struct child_result result;
    if (child_run(argv, &options, &result) == 0)
        child_result_free(&result);
}

/* It is on disk before the command runs, and stays there when the machine goes down in the middle. */
static int on_begin(pid_t pid, uint64_t ticks, void *arg)
{
    struct run *run = arg;
    run->work.pid = pid;
    run->work.ticks = (int64_t)ticks;
    return save(run);
}

static int run_command(struct run *run, const char *command)
{
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    struct attempt_end end = {.exit_code = -1};
    char output[LINE_MAX_BYTES * 4], line[LINE_MAX_BYTES];
    int fd = open(run->output_path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return finish(run, OVER_FAILED, "the output of the command cannot be stored");
    const struct attempt attempt = {.argv = argv,
                                    .directory = run->runner.directory,
                                    .log_fd = fd,
                                    .log_bytes_max = REBOOT_OUTPUT_BYTES_MAX,
                                    .time_limit_ms = REBOOT_COMMAND_MS,
                                    .grace_ms = run->options->times.grace_ms,
                                    .probe_ms = REBOOT_COMMAND_MS,
                                    .on_begin = on_begin,
                                    .arg = run};
    int status = attempt_run(&attempt, &end);
    off_t size = lseek(fd, 0, SEEK_END), from = size > (off_t)sizeof(output) ? size - (off_t)sizeof(output) : 0;
    ssize_t len = pread(fd, output, sizeof(output), from);
    close(fd);
    reset_last_line(output, len > 0 ? (size_t)len : 0, line, sizeof(line));
    run->work.exit_code = end.exit_code;
    /* One that was ended (exit code -1) may have been so by the shutdown that it began: the server waits for the new boot. */
    if (status == 0 && (end.succeeded || end.exit_code == -1))
        return finish(run, OVER_DONE, "");
    autofree char *detail = own_printf("%.80s %.100s%s%.120s", command, status != 0 ? status_meaning(status) : end.why,
                                       line[0] != '\0' ? ": " : "", line);
    return finish(run, OVER_FAILED, detail);
}

static int carry_out(struct run *run)
{
    int status = runner_fetch(&run->runner, read_order, run);
    if (status != 0)
        return status;
    run->work.attempts = run->job.attempt;
    if (!run->options->allow_reboot)
        return finish(run, OVER_FAILED, "hp-agent runs without --allow-reboot");
    if ((status = say(run, SCRIPT_STATE_STARTED, false)) != 0)
        return status;
    tell_users(run);
    talk_pause(run->job.delay_ms);
    if ((status = runner_fetch(&run->runner, read_order, run)) != 0)
        return status;
    return run_command(run, run->options->reboot_command != NULL ? run->options->reboot_command : REBOOT_COMMAND);
}

static int reboot_run(const struct runner_options *options, const char *key)
{
    struct run run = {.options = options};
    int status = runner_open(&run.runner, &reboot_runner, options);
    run.output_path = own_printf("%s/output", run.runner.directory);
    if (status == 0) {
        load(&run, key);
        if (run.work.over != 0)
            status = say_last_word(&run);
        else if (run.work.pid != 0) /* it may be going down: the server waits for the new boot */
            status = finish(&run, OVER_DONE, "");
        else
            status = carry_out(&run);
    }
    runner_close(&run.runner);
    free(run.output_path);
    return status == TALK_WITHDRAWN ? 0 : status;
}

const struct runner_kind reboot_runner = {
    .name = "reboot",
    .state = "state",
    .option = "--reboot",
    .process = "hp-reboot",
    .about = "the reboot of this machine",
    .path = "/v1/agent/work",
    .order_bytes_max = 16384,
    .times = {.timeout_ms = 60000, .pause_ms = 2000, .grace_ms = 10000},
    .run = reboot_run,
};
