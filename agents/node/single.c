/* What a reset and a reboot have in common (see single.h). */
#include "agents/node/single.h"

#include "agents/node/state.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int single_open(struct single *single, const struct runner_kind *kind, const struct runner_options *options)
{
    *single = (struct single){.options = options};
    int status = runner_open(&single->runner, kind, options);
    single->output_path = own_printf("%s/output", single->runner.directory);
    return status;
}

void single_close(struct single *single)
{
    runner_close(&single->runner);
    free(single->output_path);
}

int single_save(struct single *single)
{
    AUTO(text) struct text out = {0};
    work_write_state(&out, &single->work);
    return runner_save(&single->runner, &out);
}

void single_load(struct single *single, const char *key, bool end_left)
{
    autofree char *data = NULL;
    size_t len;
    struct work_state *work = &single->work;
    bool known = runner_load(&single->runner, &data, &len) == 0 && work_read_state(data, len, work) == 0 &&
                 text_equal(work->instance_id, single->options->instance_id);
    if (known && end_left && work->pid != 0)
        attempt_kill_left((pid_t)work->pid, (uint64_t)work->ticks);
    if (known && text_equal(work->key, key))
        return;
    *work = (struct work_state){.exit_code = -1};
    text_copy_cut(work->instance_id, sizeof(work->instance_id), single->options->instance_id);
    text_copy_cut(work->key, sizeof(work->key), key);
}

int single_is_ours(const struct single *single, const char *key, const char *instance_id, const char *boot_id)
{
    char now[BOOT_ID_MAX_BYTES];
    int status = state_read_line(single->options->boot_id_file, now, sizeof(now));
    if (status != 0)
        return status == STATUS_INVALID ? STATUS_IO : status;
    bool ours = text_equal(key, single->work.key) && text_equal(instance_id, single->work.instance_id) &&
                text_equal(boot_id, now);
    return ours ? 0 : TALK_WITHDRAWN;
}

/* --- reports -------------------------------------------------------------------------------------------------- */

static int say(struct single *single, enum script_state state, bool final)
{
    AUTO(text) struct text body = {0};
    const struct work_state *work = &single->work;
    bool failed = state == SCRIPT_STATE_FAILED;
    struct lifecycle_report report = {
        .state = state, .final = final, .attempt = work->attempts, .exit_code = failed ? work->exit_code : -1};
    if (state == SCRIPT_STATE_SUCCEEDED && work->ended_at != 0) {
        report.ended_at = work->ended_at;
        report.sent_at = clock_wall_ms(clock_system());
    }
    text_copy_cut(report.key, sizeof(report.key), work->key);
    text_copy_cut(report.detail, sizeof(report.detail), failed ? work->detail : "");
    work_write_report(&body, &report, "", 0);
    return talk_say(&single->runner.talk, &body);
}

int single_say_started(struct single *single)
{
    return say(single, SCRIPT_STATE_STARTED, false);
}

int single_say_last_word(struct single *single)
{
    return say(single, single->work.over == SINGLE_DONE ? SCRIPT_STATE_SUCCEEDED : SCRIPT_STATE_FAILED, true);
}

int single_finish(struct single *single, int over, const char *detail)
{
    single->work.over = over;
    single->work.pid = 0;
    text_copy_cut(single->work.detail, sizeof(single->work.detail), detail);
    if (over == SINGLE_FAILED)
        log_error("%s: %s", single->runner.kind->name, detail);
    int status = single_save(single);
    return status != 0 ? status : single_say_last_word(single);
}

/* --- the command ---------------------------------------------------------------------------------------------- */

/* It is on disk before the command runs, and stays there when the machine goes down in the middle. */
static int on_begin(pid_t pid, uint64_t ticks, void *arg)
{
    struct single *single = arg;
    single->work.pid = pid;
    single->work.ticks = (int64_t)ticks;
    return single_save(single);
}

void single_last_line(const char *output, size_t len, char *ret_line, size_t size)
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

static void read_output(int fd, struct single_output *output)
{
    output->text = own_calloc(1, SINGLE_OUTPUT_BYTES_MAX + 1);
    off_t size = lseek(fd, 0, SEEK_END);
    off_t from = size > SINGLE_OUTPUT_BYTES_MAX ? size - SINGLE_OUTPUT_BYTES_MAX : 0;
    ssize_t len = pread(fd, output->text, SINGLE_OUTPUT_BYTES_MAX, from);
    single_last_line(output->text, len > 0 ? (size_t)len : 0, output->line, sizeof(output->line));
}

int single_call(struct single *single, const char *const argv[], int64_t limit_ms, struct single_output *ret_output)
{
    *ret_output = (struct single_output){.end = {.exit_code = -1}};
    int fd = open(single->output_path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return STATUS_IO;
    const struct attempt attempt = {.argv = argv,
                                    .directory = single->runner.directory,
                                    .log_fd = fd,
                                    .log_bytes_max = SINGLE_OUTPUT_BYTES_MAX,
                                    .time_limit_ms = limit_ms,
                                    .grace_ms = single->options->times.grace_ms,
                                    .probe_ms = limit_ms,
                                    .on_begin = on_begin,
                                    .arg = single};
    int status = attempt_run(&attempt, &ret_output->end);
    read_output(fd, ret_output);
    close(fd);
    return status;
}
