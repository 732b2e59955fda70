/*
 * One process that a runner of hp-agent waits for: a script, or a tool that tests something.
 */
#ifndef HOLDFAST_AGENTS_NODE_ATTEMPT_H
#define HOLDFAST_AGENTS_NODE_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ATTEMPT_ERROR_MAX 320

struct attempt {
    const char *const *argv; /* argv[0] is a path */
    char *const *env;        /* NULL: ours */
    const char *directory;   /* where it runs */
    int log_fd;              /* its output */
    int64_t log_bytes_max;   /* a process that writes more is ended */
    int64_t time_limit_ms;
    int64_t grace_ms; /* between SIGTERM and SIGKILL */
    int64_t probe_ms;
    /* The process exists and waits. It runs only when this returns 0. */
    int (*on_begin)(pid_t pid, uint64_t ticks, void *arg);
    /* Called every probe_ms; false: no longer wanted. */
    bool (*on_probe)(void *arg);
    void *arg;
};
struct attempt_end {
    bool succeeded, withdrawn, timed_out;
    int64_t exit_code; /* -1: it was ended */
    char why[ATTEMPT_ERROR_MAX];
};
int attempt_run(const struct attempt *attempt, struct attempt_end *ret_end);
/* Ends the process of an earlier runner. */
void attempt_kill_left(pid_t pid, uint64_t ticks);

#endif
