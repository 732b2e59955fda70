/*
 * The runner: fetches the order, the scripts and resource_config.json, runs the scripts one after the other, and reports each.
 *
 * The state is stored before each action and each report. After a crash the next runner knows what was started: it ends the
 * remaining process, counts it as an attempt, and continues. When the order is over, it only repeats the final report.
 */
#include "agents/node/lifecycle.h"

#include "base/file.h"
#include "base/log.h"
#include "base/status.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ORDER_BYTES_MAX (2 * LIFECYCLE_RESOURCES_BYTES_MAX) /* resources are escaped in JSON */
#define OVER_DONE 1
#define OVER_DOWNED 2

#define PARAMETERS "provisioning_parameters.json"

struct run {
    struct runner runner;
    const struct runner_options *options;
    struct work_state work;
    struct lifecycle_job job;
    char *source, *resources, *log;
    int log_fd;
    bool stale; /* what the scripts may read is older than an attempt */
};

/* --- made and freed ------------------------------------------------------------------------------------------ */

static int run_open(struct run *run, const struct runner_options *options)
{
    *run = (struct run){.options = options, .log_fd = -1};
    int status = runner_open(&run->runner, &lifecycle_runner, options);
    run->source = own_printf("%s/source", run->runner.directory);
    run->resources = own_printf("%s/resource_config.json", run->runner.directory);
    run->log = runner_log_path(&lifecycle_runner, options);
    if (status != 0)
        return status;
    run->log_fd = open(run->log, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (run->log_fd >= 0)
        return 0;
    log_error("lifecycle: the log cannot be written path=%s", run->log);
    return STATUS_IO;
}

static void run_close(struct run *run)
{
    if (run->log_fd >= 0)
        close(run->log_fd);
    runner_close(&run->runner);
    free(run->source);
    free(run->resources);
    free(run->log);
}

/* --- what is remembered -------------------------------------------------------------------------------------- */

static int save(const struct run *run)
{
    AUTO(text) struct text out = {0};
    work_write_state(&out, &run->work);
    return runner_save(&run->runner, &out);
}

/* State of another instance is ignored. Of another order only the successes are kept. */
static int load(struct run *run, const char *key)
{
    autofree char *data = NULL;
    size_t len;
    struct work_state *work = &run->work;
    bool known = runner_load(&run->runner, &data, &len) == 0 && work_read_state(data, len, work) == 0 &&
                 text_equal(work->instance_id, run->options->instance_id);
    if (known && text_equal(work->key, key))
        return 0;
    if (known)
        attempt_kill_left((pid_t)work->pid, (uint64_t)work->ticks);
    struct work_state anew = {.exit_code = -1};
    if (known)
        memcpy(anew.done, work->done, sizeof(anew.done));
    text_copy_cut(anew.instance_id, sizeof(anew.instance_id), run->options->instance_id);
    text_copy_cut(anew.key, sizeof(anew.key), key);
    *work = anew;
    return save(run);
}

static bool is_done(const struct run *run, const char *script)
{
    for (int i = 0; i < LIFECYCLE_SCRIPTS_MAX; i++)
        if (text_equal(run->work.done[i], script))
            return true;
    return false;
}

static void note_done(struct run *run, const char *script)
{
    struct work_state *work = &run->work;
    if (work->done[0][0] != '\0') {
        if (work->done[1][0] != '\0')
            memcpy(work->done[0], work->done[1], sizeof(work->done[0]));
        text_copy_cut(work->done[1], sizeof(work->done[1]), script);
        return;
    }
    text_copy_cut(work->done[0], sizeof(work->done[0]), script);
}

/* --- talking to the server ----------------------------------------------------------------------------------- */

static int64_t log_size(const struct run *run)
{
    struct stat st;
    return fstat(run->log_fd, &st) == 0 ? st.st_size : 0;
}

/* The end of the output of the last attempt, without our own lines. */
static size_t read_tail(const struct run *run, char *ret_tail, size_t size)
{
    int64_t from = run->work.log_from, len = run->work.log_to - from;
    if (len > (int64_t)size)
        from += len - (int64_t)size;
    if (len <= 0)
        return 0;
    ssize_t n = pread(run->log_fd, ret_tail, (size_t)(run->work.log_to - from), (off_t)from);
    return n < 0 ? 0 : (size_t)n;
}

static void write_report(const struct run *run, enum script_state state, bool final, struct text *out)
{
    char tail[LIFECYCLE_LOG_MAX_BYTES - 1];
    const struct work_state *work = &run->work;
    struct lifecycle_report report = {.state = state, .final = final, .attempt = work->attempts, .exit_code = -1};
    bool failed = state == SCRIPT_STATE_FAILED;
    size_t len = failed && work->attempts > 0 ? read_tail(run, tail, sizeof(tail)) : 0;
    text_copy_cut(report.key, sizeof(report.key), work->key);
    text_copy_cut(report.script, sizeof(report.script), work->script);
    if (failed) {
        report.exit_code = work->exit_code;
        text_copy_cut(report.detail, sizeof(report.detail), work->detail);
    }
    work_write_report(out, &report, tail, len);
}

static int say(struct run *run, enum script_state state, bool final)
{
    AUTO(text) struct text body = {0};
    write_report(run, state, final, &body);
    return talk_say(&run->runner.talk, &body);
}

static int say_last_word(struct run *run)
{
    int status = say(run, run->work.over == OVER_DONE ? SCRIPT_STATE_SUCCEEDED : SCRIPT_STATE_FAILED, true);
    return status == TALK_WITHDRAWN ? 0 : status;
}

/* --- the order ----------------------------------------------------------------------------------------------- */

static int finish(struct run *run, int over)
{
    run->work.over = over;
    int status = save(run);
    return status != 0 ? status : say_last_word(run);
}

static int give_up(struct run *run, const char *why)
{
    log_error("lifecycle: failed: %s", why);
    text_copy_cut(run->work.detail, sizeof(run->work.detail), why);
    return finish(run, OVER_DOWNED);
}

static int read_order(const char *body, size_t len, void *arg)
{
    struct run *run = arg;
    autofree char *resources = NULL;
    int status = work_read_order(body, len, &run->job, &resources);
    if (status != 0)
        return status;
    if (!text_equal(run->job.key, run->work.key) || !text_equal(run->job.instance_id, run->work.instance_id))
        return TALK_WITHDRAWN; /* the next heartbeat has the current key */
    return file_write(run->resources, resources, strlen(resources), 0644);
}

/* The same order again, for where the other instances are now. */
static int read_resources(const char *body, size_t len, void *arg)
{
    struct run *run = arg;
    struct lifecycle_job job;
    autofree char *resources = NULL;
    int status = work_read_order(body, len, &job, &resources);
    if (status != 0)
        return status;
    if (!text_equal(job.key, run->work.key) || !text_equal(job.instance_id, run->work.instance_id))
        return TALK_WITHDRAWN;
    return file_write(run->resources, resources, strlen(resources), 0644);
}

/* --- where published scripts look --------------------------------------------------------------------- */

static void copy_config(const char *from, const char *directory, const char *name)
{
    autofree char *data = NULL, *to = own_printf("%s/%s", directory, name);
    size_t len;
    int status = file_read(from, LIFECYCLE_RESOURCES_BYTES_MAX, &data, &len);
    if (status == STATUS_NOT_FOUND)
        return;
    if (status == 0)
        status = file_write(to, data, len, 0644);
    if (status != 0)
        log_warn("lifecycle: %s cannot be written: %s; scripts find it at %s", to, status_meaning(status), from);
}

/* HyperPod's place for both files: scripts that do not go by their argument look there. */
static void publish(const struct run *run)
{
    const char *directory = run->options->config_dir;
    autofree char *parameters = own_printf("%s/" PARAMETERS, run->source);
    if (directory == NULL || *directory == '\0')
        return;
    int status = file_make_dirs(directory, 0755);
    if (status != 0) {
        log_warn("lifecycle: %s cannot be made: %s; scripts find their files at %s", directory, status_meaning(status),
                 run->resources);
        return;
    }
    copy_config(run->resources, directory, "resource_config.json");
    copy_config(parameters, directory, PARAMETERS);
}

/* 0 when the source is complete; else ret_error has the reason. */
static int fetch_source(struct run *run, char ret_error[LIFECYCLE_ERROR_MAX])
{
    int status = STATUS_IO;
    for (int64_t i = 0; i < run->job.attempts_max && status != 0 && status != STATUS_INVALID; i++) {
        if (i > 0)
            talk_pause(run->options->times.pause_ms);
        status = lifecycle_fetch(run->options, &run->job, run->source, ret_error);
        if (status != 0)
            log_warn("lifecycle: the source cannot be fetched: %s", ret_error);
    }
    return status;
}

/* --- scripts ------------------------------------------------------------------------------------------------- */

static int on_begin(pid_t pid, uint64_t ticks, void *arg)
{
    struct run *run = arg;
    run->work.pid = pid;
    run->work.ticks = (int64_t)ticks;
    return save(run);
}

/* Reports "running" again. The answer says whether the order is still wanted. */
static bool on_probe(void *arg)
{
    struct run *run = arg;
    AUTO(text) struct text body = {0};
    write_report(run, SCRIPT_STATE_STARTED, false, &body);
    return talk_say_once(&run->runner.talk, &body) != TALK_WITHDRAWN;
}

static int attempt_failed(struct run *run, const char *why, int64_t exit_code)
{
    struct work_state *work = &run->work;
    work->pid = 0;
    work->exit_code = exit_code;
    work->log_to = log_size(run);
    autofree char *detail = own_printf("%.150s %.150s in attempt %" PRId64 " of %" PRId64 "; log %.150s", work->script,
                                       why, work->attempts, run->job.attempts_max, run->log);
    if (work->attempts >= run->job.attempts_max)
        return give_up(run, detail);
    log_warn("lifecycle: %s", detail);
    text_copy_cut(work->detail, sizeof(work->detail), detail);
    int status = save(run);
    return status != 0 ? status : say(run, SCRIPT_STATE_FAILED, false);
}

static bool is_last(const struct run *run, const char *script)
{
    bool after = false;
    for (int i = 0; i < LIFECYCLE_SCRIPTS_MAX; i++) {
        if (after && run->job.scripts[i][0] != '\0' && !is_done(run, run->job.scripts[i]))
            return false;
        after = after || text_equal(run->job.scripts[i], script);
    }
    return true;
}

static int attempt_succeeded(struct run *run, const char *script)
{
    run->work.pid = 0;
    note_done(run, script);
    log_info("lifecycle: %s succeeded", script);
    if (is_last(run, script))
        return finish(run, OVER_DONE);
    int status = save(run);
    return status != 0 ? status : say(run, SCRIPT_STATE_SUCCEEDED, false);
}

static int begin_attempt(struct run *run, const char *script)
{
    struct work_state *work = &run->work;
    if (!text_equal(work->script, script)) {
        text_copy_cut(work->script, sizeof(work->script), script);
        work->attempts = 0;
    }
    work->attempts++;
    work->exit_code = -1;
    log_info("lifecycle: %s attempt=%" PRId64, script, work->attempts);
    work->log_from = work->log_to = log_size(run);
    int status = save(run);
    return status != 0 ? status : say(run, SCRIPT_STATE_STARTED, false);
}

/* Addresses become known while others come up, so each attempt reads the newest file. */
static int refresh(struct run *run)
{
    if (!run->stale) {
        run->stale = true;
        return 0;
    }
    int status = runner_fetch(&run->runner, read_resources, run);
    if (status == 0)
        publish(run);
    return status;
}

static int attempt(struct run *run, const char *script)
{
    struct attempt_end end;
    const struct lifecycle_script plan = {
        .directory = run->source, .name = script, .resources = run->resources, .source = run->job.source};
    struct attempt process = {.log_fd = run->log_fd,
                              .time_limit_ms = run->job.time_limit_ms,
                              .grace_ms = run->options->times.grace_ms,
                              .probe_ms = run->options->times.probe_ms,
                              .on_begin = on_begin,
                              .on_probe = on_probe,
                              .arg = run};
    int status = refresh(run);
    if (status == 0)
        status = begin_attempt(run, script);
    if (status != 0)
        return status;
    status = lifecycle_attempt(&plan, &process, &end);
    if (status != 0)
        return attempt_failed(run, status_meaning(status), -1);
    if (end.withdrawn) {
        run->work.pid = 0;
        (void)save(run);
        return TALK_WITHDRAWN;
    }
    return end.succeeded ? attempt_succeeded(run, script) : attempt_failed(run, end.why, end.exit_code);
}

static int run_script(struct run *run, const char *script)
{
    int status = 0;
    while (status == 0 && run->work.over == 0 && !is_done(run, script)) {
        if (run->work.attempts > 0 && text_equal(run->work.script, script))
            talk_pause(run->options->times.pause_ms);
        status = attempt(run, script);
    }
    return status;
}

/* --- all of it ----------------------------------------------------------------------------------------------- */

static int carry_out(struct run *run)
{
    char error[LIFECYCLE_ERROR_MAX] = "";
    int status = runner_fetch(&run->runner, read_order, run);
    if (status == 0 && run->work.pid != 0) {
        attempt_kill_left((pid_t)run->work.pid, (uint64_t)run->work.ticks);
        status = attempt_failed(run, "was interrupted", -1);
    }
    if (status != 0 || run->work.over != 0)
        return status;
    if (fetch_source(run, error) != 0) {
        autofree char *why = own_printf("the source cannot be fetched: %.300s; log %.150s", error, run->log);
        return give_up(run, why);
    }
    publish(run);
    for (int i = 0; i < LIFECYCLE_SCRIPTS_MAX && status == 0 && run->work.over == 0; i++)
        if (run->job.scripts[i][0] != '\0')
            status = run_script(run, run->job.scripts[i]);
    /* All scripts had succeeded under another order. */
    return status == 0 && run->work.over == 0 ? finish(run, OVER_DONE) : status;
}

static int lifecycle_run(const struct runner_options *options, const char *key)
{
    struct run run;
    int status = run_open(&run, options);
    if (status == 0)
        status = load(&run, key);
    if (status == 0 && run.work.over != 0)
        status = say_last_word(&run);
    else if (status == 0 && options->refused)
        status = give_up(&run, "this agent was started with --no-lifecycle and runs no scripts");
    else if (status == 0)
        status = carry_out(&run);
    run_close(&run);
    return status == TALK_WITHDRAWN ? 0 : status;
}

const struct runner_kind lifecycle_runner = {
    .name = "lifecycle",
    .state = "state",
    .option = "--lifecycle",
    .process = "hp-lifecycle",
    .about = "lifecycle scripts",
    .path = "/v1/agent/work",
    .order_bytes_max = ORDER_BYTES_MAX,
    .times = {.timeout_ms = 60000, .fetch_ms = 600000, .pause_ms = 2000, .grace_ms = 10000, .probe_ms = 30000},
    .run = lifecycle_run,
};
