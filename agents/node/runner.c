/* A runner is spawned in its own session, with its output in a log. */
#include "agents/node/runner.h"

#include "base/child.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGUMENTS_MAX 28
#define STATE_BYTES_MAX 65536

const struct runner_kind *runner_kind(enum runner_id id)
{
    static const struct runner_kind *const kinds[] = {
#define X(id, kind, member) &(kind),
        RUNNER_LIST(X)
#undef X
    };
    return kinds[id];
}

/* --- the agent's part ---------------------------------------------------------------------------------------- */

static char *path_of(const struct runner_kind *kind, const struct runner_options *options, const char *file)
{
    return own_printf("%s/%s/%s", options->state_dir, kind->name, file);
}

char *runner_log_path(const struct runner_kind *kind, const struct runner_options *options)
{
    if (kind == &lifecycle_runner && options->log != NULL)
        return own_strdup(options->log);
    return own_printf("%s/%s.log", options->state_dir, kind->name);
}

static void park(const char *log)
{
    struct stat st;
    autofree char *aside = own_printf("%s.1", log);
    if (stat(log, &st) == 0 && st.st_size > RUNNER_LOG_KEPT_MAX)
        (void)rename(log, aside);
}

static int spawn(const struct runner_kind *kind, const struct runner_options *options, const char *program,
                 const char *key, const char *log, int lock)
{
    const char *const pairs[][2] = {{kind->option, key},
                                    {"--server", options->url},
                                    {"--state-dir", options->state_dir},
                                    {"--instance-id", options->instance_id},
                                    {"--fingerprint", options->fingerprint},
                                    {"--boot-id-file", options->boot_id_file},
                                    {"--address", options->address},
                                    {"--lifecycle-log", options->log},
                                    {"--ca-file", options->ca_file},
                                    {"--s3-config", options->s3_config},
                                    {"--config-dir", options->config_dir},
                                    {"--reboot-command", options->reboot_command}};
    const char *argv[ARGUMENTS_MAX] = {program};
    size_t count = 1;
    pid_t pid;
    _Static_assert(ARRAY_LEN(pairs) * 2 + 4 <= ARGUMENTS_MAX, "all of them fit");
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        if (pairs[i][1] == NULL)
            continue;
        argv[count++] = pairs[i][0];
        argv[count++] = pairs[i][1];
    }
    if (options->refused)
        argv[count++] = "--no-lifecycle";
    if (options->allow_reboot)
        argv[count++] = "--allow-reboot";
    return child_spawn_detached(argv, NULL, NULL, log, lock, &pid);
}

int runner_begin(const struct runner_kind *kind, const struct runner_options *options, const char *program,
                 const char *key)
{
    autofree char *directory = own_printf("%s/%s", options->state_dir, kind->name);
    autofree char *path = path_of(kind, options, "lock"), *log = runner_log_path(kind, options);
    int lock;
    int status = file_make_dirs(directory, 0755);
    if (status == 0)
        status = file_lock(path, &lock);
    if (status != 0)
        return status;
    park(log);
    status = spawn(kind, options, program, key, log, lock);
    close(lock); /* the runner holds it, too */
    return status;
}

/* --- the runner's part --------------------------------------------------------------------------------------- */

int runner_lock(const struct runner_kind *kind, const struct runner_options *options, int *ret_fd)
{
    autofree char *path = path_of(kind, options, "lock");
    if (file_lock_inherited(path, CHILD_KEPT_FD) == 0) {
        *ret_fd = CHILD_KEPT_FD;
        return 0;
    }
    return file_lock(path, ret_fd);
}

int runner_main(const struct runner_kind *kind, struct runner_options options, const char *key)
{
    int lock;
    signal(SIGPIPE, SIG_IGN);
    (void)prctl(PR_SET_NAME, kind->process);
    if (runner_lock(kind, &options, &lock) != 0)
        return EXIT_SUCCESS; /* another runner is running */
    options.times = kind->times;
    int status = kind->run(&options, key);
    close(lock);
    return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int runner_open(struct runner *runner, const struct runner_kind *kind, const struct runner_options *options)
{
    *runner = (struct runner){.kind = kind, .options = options};
    runner->directory = own_printf("%s/%s", options->state_dir, kind->name);
    runner->state_path = path_of(kind, options, kind->state);
    const struct talk_options talk = {.url = options->url,
                                      .fingerprint = options->fingerprint,
                                      .state_dir = options->state_dir,
                                      .instance_id = options->instance_id,
                                      .path = kind->path,
                                      .reply_bytes_max = kind->order_bytes_max,
                                      .timeout_ms = options->times.timeout_ms,
                                      .pause_ms = options->times.pause_ms};
    return talk_open(&runner->talk, &talk);
}

void runner_close(struct runner *runner)
{
    talk_close(&runner->talk);
    free(runner->directory);
    free(runner->state_path);
}

int runner_save(const struct runner *runner, const struct text *state)
{
    int status = file_write(runner->state_path, state->data, state->len, 0600);
    if (status != 0)
        log_error("%s: what was done cannot be stored: %s", runner->kind->about, status_meaning(status));
    return status;
}

int runner_load(const struct runner *runner, char **ret_state, size_t *ret_len)
{
    return file_read(runner->state_path, STATE_BYTES_MAX, ret_state, ret_len);
}

int runner_fetch(struct runner *runner, runner_read_fn *read, void *arg)
{
    const char *body;
    size_t len;
    int answer;
    int status = talk_exchange(&runner->talk, NULL, &answer, &body, &len);
    if (status != 0)
        return status;
    if (answer == 404 || answer == 401 || answer == 403)
        return TALK_WITHDRAWN;
    if (answer != 200)
        return STATUS_UNAVAILABLE;
    status = read(body, len, arg);
    if (status == STATUS_INVALID)
        log_error("%s: the order makes no sense", runner->kind->about);
    return status == STATUS_INVALID ? STATUS_BACKEND : status;
}
