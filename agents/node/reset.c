/*
 * The runner of a reset (see reset.h).
 *
 * While a process has the GPU open, nvidia-smi refuses and does nothing. The runner then tries again within the order's time, but not
 * when the rest of the time could end a reset in the middle. Any other refusal, a timeout and a signal are final.
 */
#include "agents/node/reset.h"

#include "agents/checks/check.h"
#include "agents/node/single.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define TOOL "nvidia-smi"
#define TRY_MS 20000 /* nvidia-smi takes seconds; if it is killed in the middle, the state of the GPU is unknown */

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

/* "In use by another client" beside the GPU, and in later versions a sentence about it below. */
static bool says_busy(const char *output)
{
    return strcasestr(output, "in use by another client") != NULL || strcasestr(output, "being used by") != NULL;
}

/* --- the reset ------------------------------------------------------------------------------------------------ */

struct run {
    struct single single;
    struct reset_job job;
};

static int read_order(const char *body, size_t len, void *arg)
{
    struct run *run = arg;
    if (work_read_reset(body, len, &run->job) != 0)
        return TALK_WITHDRAWN; /* an order of another kind: the next heartbeat has the current key */
    return single_is_ours(&run->single, run->job.key, run->job.instance_id, run->job.boot_id);
}

static int fetch_order(struct run *run)
{
    return runner_fetch(&run->single.runner, read_order, run);
}

static int fail(struct run *run, const char *why)
{
    return single_finish(&run->single, SINGLE_FAILED, why);
}

static int refuse(struct run *run, const char *device, const struct single_output *output)
{
    autofree char *detail = own_printf(TOOL " --gpu-reset -i %s %.100s%s%s", device, output->end.why,
                                       output->line[0] != '\0' ? ": " : "", output->line);
    return fail(run, detail);
}

/* One call of nvidia-smi. *ret_busy: it refused because a process has the GPU open, and did nothing. */
static int call_tool(struct run *run, const char *tool, const char *device, int64_t limit_ms,
                     struct single_output *ret_output, bool *ret_busy)
{
    const char *const argv[] = {tool, "--gpu-reset", "-i", device, NULL};
    struct single *single = &run->single;
    single->work.attempts++;
    int status = single_call(single, argv, limit_ms, ret_output);
    autofree char *text = TAKE(ret_output->text);
    single->work.exit_code = ret_output->end.exit_code;
    single->work.ended_at = clock_wall_ms(clock_system());
    *ret_busy = status == 0 && !ret_output->end.succeeded && ret_output->end.exit_code >= 0 && says_busy(text);
    return status;
}

static int reset(struct run *run, const char *tool, const char *device)
{
    const struct clock *clock = clock_system();
    const struct runner_times *times = &run->single.options->times;
    int64_t until = clock_mono_ms(clock) + run->job.time_limit_ms, left_ms = run->job.time_limit_ms;
    struct single_output output;
    bool is_busy;
    do { /* the first try may use all of the time */
        int status = call_tool(run, tool, device, left_ms, &output, &is_busy);
        if (status != 0)
            return fail(run, status_meaning(status));
        if (output.end.succeeded) {
            log_info("reset: %s was reset", run->job.device);
            return single_finish(&run->single, SINGLE_DONE, "");
        }
        if (!is_busy || clock_mono_ms(clock) + times->busy_pause_ms + times->try_ms > until)
            return refuse(run, device, &output);
        run->single.work.pid = 0; /* refused: nothing was done */
        if ((status = single_save(&run->single)) != 0)
            return status;
        talk_pause(times->busy_pause_ms);
        if ((status = fetch_order(run)) != 0)
            return status;
        left_ms = until - clock_mono_ms(clock);
    } while (left_ms > 0 && left_ms >= times->try_ms); /* the server may have been long in answering */
    return refuse(run, device, &output);
}

/* Reports the start first: an operation that is over by then is not executed. */
static int carry_out(struct run *run)
{
    char device[DEVICE_MAX_BYTES + 2];
    autofree char *tool = check_find_tool(run->single.options->path, TOOL);
    int status = fetch_order(run);
    if (status != 0)
        return status;
    if (tool == NULL)
        return fail(run, TOOL " is not there");
    if (reset_device(run->job.device, device) != 0)
        return fail(run, "the device is neither a UUID of a GPU nor an address on the bus");
    status = single_say_started(&run->single);
    return status != 0 ? status : reset(run, tool, device);
}

static int reset_run(const struct runner_options *options, const char *key)
{
    struct run run = {.single = {.options = options}};
    struct single *single = &run.single;
    int status = single_open(single, &reset_runner, options);
    if (status == 0) {
        single_load(single, key, true);
        if (single->work.over != 0)
            status = single_say_last_word(single);
        else if (single->work.pid != 0)
            status = fail(&run, "it was interrupted, and whether the device was reset is not known");
        else
            status = carry_out(&run);
    }
    single_close(single);
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
