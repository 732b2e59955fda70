/* The runner of a reboot (see reboot.h). */
#include "agents/node/reboot.h"

#include "agents/checks/check.h"
#include "agents/node/single.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "model/reboot.h"

#include <stdio.h>
#include <stdlib.h>

#define WALL_MS 5000

struct run {
    struct single single;
    struct reboot_job job;
};

static int fail(struct run *run, const char *why)
{
    return single_finish(&run->single, SINGLE_FAILED, why);
}

/* An order for another boot was carried out, whoever did it. */
static int read_order(const char *body, size_t len, void *arg)
{
    struct run *run = arg;
    if (work_read_reboot(body, len, &run->job) != 0)
        return TALK_WITHDRAWN; /* an order of another kind: the next heartbeat has the current key */
    return single_is_ours(&run->single, run->job.key, run->job.instance_id, run->job.boot_id);
}

/* As well as can be: nobody has to be logged in, and wall may not be there. */
static void tell_users(struct run *run)
{
    autofree char *tool = check_find_tool(run->single.options->path, "wall");
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

static int run_command(struct run *run, const char *command)
{
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    struct single_output output;
    int status = single_call(&run->single, argv, REBOOT_COMMAND_MS, &output);
    free(TAKE(output.text));
    run->single.work.exit_code = output.end.exit_code;
    /* One that was ended (exit code -1) may have been so by the shutdown that it began: the server waits for the new boot. */
    if (status == 0 && (output.end.succeeded || output.end.exit_code == -1))
        return single_finish(&run->single, SINGLE_DONE, "");
    autofree char *detail =
        own_printf("%.80s %.100s%s%.120s", command, status != 0 ? status_meaning(status) : output.end.why,
                   output.line[0] != '\0' ? ": " : "", output.line);
    return fail(run, detail);
}

static int carry_out(struct run *run)
{
    const struct runner_options *options = run->single.options;
    int status = runner_fetch(&run->single.runner, read_order, run);
    if (status != 0)
        return status;
    run->single.work.attempts = run->job.attempt;
    if (!options->allow_reboot)
        return fail(run, "hp-agent runs without --allow-reboot");
    if ((status = single_say_started(&run->single)) != 0)
        return status;
    tell_users(run);
    talk_pause(run->job.delay_ms);
    if ((status = runner_fetch(&run->single.runner, read_order, run)) != 0)
        return status;
    return run_command(run, options->reboot_command != NULL ? options->reboot_command : REBOOT_COMMAND);
}

static int reboot_run(const struct runner_options *options, const char *key)
{
    struct run run = {.single = {.options = options}};
    struct single *single = &run.single;
    int status = single_open(single, &reboot_runner, options);
    if (status == 0) {
        single_load(single, key, false);
        if (single->work.over != 0)
            status = single_say_last_word(single);
        else if (single->work.pid != 0) /* it may be going down: the server waits for the new boot */
            status = single_finish(single, SINGLE_DONE, "");
        else
            status = carry_out(&run);
    }
    single_close(single);
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
