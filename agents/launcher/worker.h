/*
 * A worker: a process group of its own, known by a pidfd, whose end ends everything in its group.
 *
 * Its leader alone gets signals that ask for something; SIGKILL goes to the group. It dies with us. Nothing of it stays a zombie: we
 * reap, and what it leaves without a parent comes to us (workers_reap_one).
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_WORKER_H
#define HOLDFAST_AGENTS_LAUNCHER_WORKER_H

#include "agents/launcher/output.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct worker {
    int rank; /* local */
    pid_t pid;
    struct source end; /* the pidfd */
    bool running;
    int exit_code; /* 0..255 */
    int death;     /* the signal that ended it, or 0 */
    int64_t started_ms, ended_ms;
    struct stream streams[2];
    char *error_file; /* NULL: none */
    void (*on_end)(void *arg, struct worker *worker);
    void *arg;
};

struct worker_start {
    const char *const *argv;
    char **env;
    int fds[2]; /* its stdout and stderr; -1: ours */
};

/* Must be called once before anything is started: we adopt orphans and are not ended by a pipe that closed. */
void workers_prepare(void);
/* rank, on_end and arg are set. STATUS_IO. A program that cannot be run is a worker that exits with 127 and says why. */
int worker_start(struct worker *worker, struct loop *loop, const struct worker_start *start);
/* Asks its leader. */
void worker_signal(const struct worker *worker, int signal);
void worker_kill(const struct worker *worker); /* its whole group */
/* Reaps one child that has ended: an orphan that came to us, or a worker, which is then told as by its pidfd. False: there is none. */
bool workers_reap_one(struct worker *workers, int count);

#endif
