/*
 * A stream of a worker goes straight to our own output where nobody needs to see it, straight into a file where only that is asked
 * for, and through a pipe to us otherwise.
 */
#include "agents/launcher/run.h"

#include "agents/launcher/logs.h"
#include "agents/launcher/socket.h"
#include "base/status.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_MODE 0644

struct plan {
    bool to_file, shown, prefixed, through_us;
};

static struct plan plan_of(const struct launcher *launcher, int rank, unsigned bit)
{
    const struct options *o = launcher->options;
    bool tee = (std_of_rank(&o->tee, rank) & bit) != 0, redirect = (std_of_rank(&o->redirects, rank) & bit) != 0;
    bool passes = launcher->stage != STAGE_TRAIN || (std_of_rank(&o->shown, rank) & bit) != 0;
    struct plan plan = {.to_file = tee || redirect, .shown = passes && (tee || !redirect), .prefixed = tee};
    bool plain = plan.to_file != plan.shown; /* one place only */
    plan.through_us = launcher->watch != NULL || !plain;
    return plan;
}

static int open_log(const struct launcher *launcher, int rank, int number)
{
    autofree char *path = logs_path(launcher, rank, number == 0 ? "stdout.log" : "stderr.log");
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, LOG_MODE);
}

/* Sets up one stream; *ret_fd is what the worker gets, and the caller closes it (-1: ours). */
static int open_stream(struct launcher *launcher, struct stream *stream, const struct plan *plan, int *ret_fd)
{
    int file = plan->to_file ? open_log(launcher, stream->rank, stream->number) : -1, fds[2];
    *ret_fd = -1;
    if (plan->to_file && file < 0)
        return STATUS_IO;
    if (!plan->through_us) {
        *ret_fd = file;
        return 0;
    }
    if (pipe2(fds, O_CLOEXEC) != 0) {
        if (file >= 0)
            close(file);
        return STATUS_IO;
    }
    (void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
    stream->file = file;
    stream->console = plan->shown ? &launcher->consoles[stream->number] : NULL;
    stream->prefix = plan->prefixed
                         ? place_prefix(&launcher->place, stream->rank, getenv("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"))
                         : own_strdup("");
    *ret_fd = fds[1];
    return stream_open(stream, &launcher->loop, fds[0]);
}

static const char **command_of(const struct launcher *launcher, int rank)
{
    const struct options *o = launcher->options;
    if (launcher->stage != STAGE_TRAIN) {
        bool before = launcher->stage == STAGE_PRE;
        const char **argv = own_calloc(3, sizeof(*argv));
        argv[0] = own_strdup(before ? o->pre_script : o->post_script);
        argv[1] = own_strdup(before ? o->pre_args : o->post_args);
        return argv;
    }
    size_t count = 0;
    while (o->command[count] != NULL)
        count++;
    const char **argv = own_calloc(count + 1, sizeof(*argv));
    for (size_t i = 0; i < count; i++) /* torchrun's macro, and no other name */
        argv[i] = strstr(o->command[i], "${local_rank}") != NULL
                      ? place_substitute(o->command[i], &launcher->place, rank)
                      : own_strdup(o->command[i]);
    return argv;
}

static void free_command(const char **argv)
{
    for (size_t i = 0; argv[i] != NULL; i++)
        free((char *)(uintptr_t)argv[i]);
    free(argv);
}

static char **env_of(const struct launcher *launcher, const struct worker *worker)
{
    const struct place_extra extra = {
        .error_file = worker->error_file,
        .socket_path = launcher->socket != NULL ? socket_path(launcher->socket) : NULL,
        .default_threads = launcher->options->ranks > 1,
        .one_process = launcher->stage != STAGE_TRAIN,
    };
    return place_env(&launcher->place, worker->rank, &extra, launcher->env);
}

int run_worker(struct launcher *launcher, struct worker *worker,
               void (*on_bytes)(void *arg, int rank, int number, const char *bytes, size_t len),
               void (*on_stream_end)(void *arg, int rank, int number))
{
    struct worker_start start = {.fds = {-1, -1}};
    int rc = 0;
    for (int i = 0; i < 2; i++) {
        struct plan plan = plan_of(launcher, worker->rank, i == 0 ? STD_OUT : STD_ERR);
        worker->streams[i] = (struct stream){.source = {-1, NULL, NULL},
                                             .file = -1,
                                             .on_bytes = on_bytes,
                                             .on_end = on_stream_end,
                                             .arg = launcher,
                                             .rank = worker->rank,
                                             .number = i};
        rc = rc != 0 ? rc : open_stream(launcher, &worker->streams[i], &plan, &start.fds[i]);
    }
    worker->error_file = logs_path(launcher, worker->rank, "error.json");
    start.argv = command_of(launcher, worker->rank);
    start.env = env_of(launcher, worker);
    rc = rc != 0 ? rc : worker_start(worker, &launcher->loop, &start);
    for (int i = 0; i < 2; i++) {
        if (start.fds[i] >= 0)
            close(start.fds[i]);
        if (rc != 0)
            stream_close(&worker->streams[i]);
    }
    free_command((const char **)(uintptr_t)start.argv);
    place_env_free(start.env);
    return rc;
}
