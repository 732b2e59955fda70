/*
 * The runner of a reset (see reset.h).
 *
 * While a process has the GPU open, nvidia-smi refuses and does nothing. The runner then tries again within the order's time, but not
 * when the rest of the time could end a reset in the middle. Any other refusal, a timeout and a signal are final.
 */
#include "agents/node/reset.h"

#include "agents/checks/check.h"
#include "agents/node/attempt.h"
#include "agents/node/runner.h"
#include "agents/node/state.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOOL "nvidia-smi"
#define TRY_MS 20000 /* nvidia-smi takes seconds; if it is killed in the middle, the state of the GPU is unknown */
#define LINE_MAX_BYTES 200
enum { OVER_DONE = 1, OVER_FAILED = 2 };

bool reset_is_offered(const char *path)
{
    autofree char *tool = check_find_tool(path, TOOL);
    return tool != NULL;
}

/* --- words ---------------------------------------------------------------------------------------------------- */

/* "GPU-" and hex digits. nvidia-smi also accepts lists; they are refused here. */
static bool is_uuid(const char *device)
{
    if (!text_starts_with(device, "GPU-") || device[4] == '\0')
        return false;
    for (const char *c = device + 4; *c != '\0'; c++)
        if (!isxdigit((unsigned char)*c) && *c != '-')
            return false;
    return true;
}

/* "0000:b9:00" or "0000:b9:00.0"; *ret_function: whether it ends with one. */
static bool is_address(const char *device, bool *ret_function)
{
    size_t domain = strspn(device, "0123456789abcdefABCDEF");
    const char *rest = device + domain;
    bool shaped = domain >= 4 && domain <= 8 && rest[0] == ':' && isxdigit((unsigned char)rest[1]) &&
                  isxdigit((unsigned char)rest[2]) && rest[3] == ':' && isxdigit((unsigned char)rest[4]) &&
                  isxdigit((unsigned char)rest[5]);
    if (!shaped)
        return false;
    *ret_function = rest[6] == '.' && rest[7] >= '0' && rest[7] <= '7' && rest[8] == '\0';
    return *ret_function || rest[6] == '\0';
}

int reset_device(const char *device, char ret_name[DEVICE_MAX_BYTES + 2])
{
    bool function = true;
    if (!is_uuid(device) && !is_address(device, &function))
        return STATUS_INVALID;
    snprintf(ret_name, DEVICE_MAX_BYTES + 2, "%s%s", device, function ? "" : ".0");
    return 0;
}

void reset_last_line(const char *output, size_t len, char *ret_line, size_t size)
{
    size_t end = len;
    while (end > 0 && isspace((unsigned char)output[end - 1]))
        end--;
    size_t begin = end;
    while (begin > 0 && output[begin - 1] != '\n')
        begin--;
    size_t used = 0;
    for (size_t i = begin; i < end && used + 1 < size; i++)
        ret_line[used++] = isprint((unsigned char)output[i]) ? output[i] : '?';
    ret_line[used] = '\0';
}

/* "In use by another client" beside the GPU, and in later versions a sentence about it below. */
static bool says_busy(const char *output)
{
    return strcasestr(output, "in use by another client") != NULL || strcasestr(output, "being used by") != NULL;
}

/* --- made and freed ------------------------------------------------------------------------------------------- */

struct run {
    struct runner runner;
    const struct runner_options *options;
    struct reset_job job;
    struct work_state work;
    char *output_path;
};

static int run_open(struct run *run, const struct runner_options *options)
{
    *run = (struct run){.options = options};
    int status = runner_open(&run->runner, &reset_runner, options);
    run->output_path = own_printf("%s/output", run->runner.directory);
    return status;
}

static void run_close(struct run *run)
{
    runner_close(&run->runner);
    free(run->output_path);
}

static int save(struct run *run)
{
    AUTO(text) struct text out = {0};
    work_write_state(&out, &run->work);
    return runner_save(&run->runner, &out);
}

/* State of another order is dropped, and its process is ended. */
static void load(struct run *run, const char *key)
{
    autofree char *data = NULL;
    size_t len;
    bool known = runner_load(&run->runner, &data, &len) == 0 && work_read_state(data, len, &run->work) == 0 &&
                 text_equal(run->work.instance_id, run->options->instance_id);
    if (known && run->work.pid != 0)
        attempt_kill_left((pid_t)run->work.pid, (uint64_t)run->work.ticks);
    if (known && text_equal(run->work.key, key))
        return;
    run->work = (struct work_state){.exit_code = -1};
    text_copy_cut(run->work.instance_id, sizeof(run->work.instance_id), run->options->instance_id);
    text_copy_cut(run->work.key, sizeof(run->work.key), key);
}

/* --- reports -------------------------------------------------------------------------------------------------- */

static int say(struct run *run, enum script_state state, bool final)
{
    AUTO(text) struct text body = {0};
    struct lifecycle_report report = {.state = state,
                                      .final = final,
                                      .attempt = run->work.attempts,
                                      .exit_code = state == SCRIPT_STATE_FAILED ? run->work.exit_code : -1};
    if (state == SCRIPT_STATE_SUCCEEDED) {
        report.ended_at = run->work.ended_at;
        report.sent_at = clock_wall_ms(clock_system());
    }
    text_copy_cut(report.key, sizeof(report.key), run->work.key);
    text_copy_cut(report.detail, sizeof(report.detail), state == SCRIPT_STATE_FAILED ? run->work.detail : "");
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
    if (over == OVER_DONE)
        log_info("reset: %s was reset", run->job.device);
    else
        log_error("reset: %s", detail);
    int status = save(run);
    return status != 0 ? status : say_last_word(run);
}

/* --- the reset ------------------------------------------------------------------------------------------------ */

static int read_order(const char *body, size_t len, void *arg)
{
    struct run *run = arg;
    char boot_id[BOOT_ID_MAX_BYTES];
    if (work_read_reset(body, len, &run->job) != 0)
        return TALK_WITHDRAWN; /* an order of another kind: the next heartbeat has the current key */
    int status = state_read_line(run->options->boot_id_file, boot_id, sizeof(boot_id));
    if (status != 0)
        return status == STATUS_INVALID ? STATUS_IO : status;
    bool ours = text_equal(run->job.key, run->work.key) && text_equal(run->job.instance_id, run->work.instance_id) &&
                text_equal(run->job.boot_id, boot_id);
    return ours ? 0 : TALK_WITHDRAWN;
}

static int fetch_order(struct run *run)
{
    return runner_fetch(&run->runner, read_order, run);
}

static int on_begin(pid_t pid, uint64_t ticks, void *arg)
{
    struct run *run = arg;
    run->work.pid = pid;
    run->work.ticks = (int64_t)ticks;
    run->work.attempts++;
    return save(run);
}

struct told {
    struct attempt_end end;
    char line[LINE_MAX_BYTES];
    bool busy;
};

static void read_output(int fd, struct told *ret_told)
{
    autofree char *output = own_calloc(1, RESET_OUTPUT_BYTES_MAX + 1);
    off_t end = lseek(fd, 0, SEEK_END);
    off_t from = end > RESET_OUTPUT_BYTES_MAX ? end - RESET_OUTPUT_BYTES_MAX : 0;
    ssize_t len = pread(fd, output, RESET_OUTPUT_BYTES_MAX, from);
    reset_last_line(output, len > 0 ? (size_t)len : 0, ret_told->line, sizeof(ret_told->line));
    ret_told->busy = says_busy(output);
}

/* One call of nvidia-smi. */
static int call_tool(struct run *run, const char *tool, const char *device, int64_t limit_ms, struct told *ret_told)
{
    const char *const argv[] = {tool, "--gpu-reset", "-i", device, NULL};
    int fd = open(run->output_path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return STATUS_IO;
    const struct attempt attempt = {.argv = argv,
                                    .directory = run->runner.directory,
                                    .log_fd = fd,
                                    .log_bytes_max = RESET_OUTPUT_BYTES_MAX,
                                    .time_limit_ms = limit_ms,
                                    .grace_ms = run->options->times.grace_ms,
                                    .probe_ms = limit_ms,
                                    .on_begin = on_begin,
                                    .arg = run};
    int status = attempt_run(&attempt, &ret_told->end);
    read_output(fd, ret_told);
    close(fd);
    return status;
}

static int refuse(struct run *run, const char *device, const struct told *told)
{
    autofree char *detail = own_printf(TOOL " --gpu-reset -i %s %.100s%s%s", device, told->end.why,
                                       told->line[0] != '\0' ? ": " : "", told->line);
    return finish(run, OVER_FAILED, detail);
}

static int reset(struct run *run, const char *tool, const char *device)
{
    const struct clock *clock = clock_system();
    int64_t until = clock_mono_ms(clock) + run->job.time_limit_ms, left_ms = run->job.time_limit_ms;
    struct told told;
    do { /* the first try may use all of the time */
        told = (struct told){.line = ""};
        int status = call_tool(run, tool, device, left_ms, &told);
        if (status != 0)
            return finish(run, OVER_FAILED, status_meaning(status));
        run->work.exit_code = told.end.exit_code;
        run->work.ended_at = clock_wall_ms(clock);
        if (told.end.succeeded)
            return finish(run, OVER_DONE, "");
        if (told.end.exit_code < 0 || !told.busy ||
            clock_mono_ms(clock) + run->options->times.busy_pause_ms + run->options->times.try_ms > until)
            return refuse(run, device, &told);
        run->work.pid = 0; /* refused: nothing was done */
        if ((status = save(run)) != 0)
            return status;
        talk_pause(run->options->times.busy_pause_ms);
        if ((status = fetch_order(run)) != 0)
            return status;
        left_ms = until - clock_mono_ms(clock);
    } while (left_ms > 0 && left_ms >= run->options->times.try_ms); /* the server may have been long in answering */
    return refuse(run, device, &told);
}

/* Reports the start first: an operation that is over by then is not executed. */
static int carry_out(struct run *run)
{
    char device[DEVICE_MAX_BYTES + 2];
    autofree char *tool = check_find_tool(run->options->path, TOOL);
    int status = fetch_order(run);
    if (status != 0)
        return status;
    if (tool == NULL)
        return finish(run, OVER_FAILED, TOOL " is not there");
    if (reset_device(run->job.device, device) != 0)
        return finish(run, OVER_FAILED, "the device is neither a UUID of a GPU nor an address on the bus");
    status = say(run, SCRIPT_STATE_STARTED, false);
    return status != 0 ? status : reset(run, tool, device);
}

static int reset_run(const struct runner_options *options, const char *key)
{
    struct run run;
    int status = run_open(&run, options);
    if (status == 0) {
        load(&run, key);
        if (run.work.over != 0)
            status = say_last_word(&run);
        else if (run.work.pid != 0)
            status = finish(&run, OVER_FAILED, "it was interrupted, and whether the device was reset is not known");
        else
            status = carry_out(&run);
    }
    run_close(&run);
    return status == TALK_WITHDRAWN ? 0 : status;
}

const struct runner_kind reset_runner = {
    .name = "reset",
    .state = "state",
    .option = "--reset",
    .process = "hp-reset",
    .about = "the reset of a device",
    .path = "/v1/agent/work",
    .order_bytes_max = 16384,
    .times = {.timeout_ms = 60000, .pause_ms = 2000, .grace_ms = 10000, .busy_pause_ms = 5000, .try_ms = TRY_MS},
    .run = reset_run,
};
