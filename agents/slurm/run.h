/*
 * A child in our process group and with our streams, waited for while signals are passed on to it: srun, and salloc while a
 * job waits for a node.
 */
#ifndef HOLDFAST_AGENTS_SLURM_RUN_H
#define HOLDFAST_AGENTS_SLURM_RUN_H

#include <stdbool.h>
#include <stdint.h>

struct run_watch {
    int64_t interval_ms;        /* between two calls of on_tick */
    bool (*on_tick)(void *arg); /* false: end the child; NULL: it is left alone */
    /* Asks the child to end; how long it has before SIGTERM; NULL: no time. */
    int64_t (*on_stop)(void *arg);
    void *arg;
    int64_t limit_ms; /* then it is ended; 0: none */
};

struct run_ended {
    int exit_code; /* as a shell says it: 128 + signal */
    int death;     /* the signal that ended it; 0: none */
    bool told;     /* somebody sent us a signal that asks to end: there is no next run */
    bool stopped;  /* on_tick or the limit ended it */
};

/* Blocks the signals that are passed on, and SIGPIPE, once, before the first child. */
void run_prepare(void);
/* Sees whether a signal came that asks to end, for as long as in_ms. */
bool run_told_within(int64_t in_ms);
/* kept_fd: a descriptor that the child keeps; -1: none. Its standard output is ours, or /dev/null when quiet. IO; a program that is not
 * there ends with 127. */
int run_child(char *const argv[], int kept_fd, bool quiet, const struct run_watch *watch, struct run_ended *ret_ended);

/* A process of ours that does nothing but to outlive us: when we are gone before run_guard_end, SIGKILL included, it calls then. It has a
 * session of its own, and of our streams standard error only. */
struct run_guard {
    int fd; /* -1: there is none */
    int pid;
};
/* IO: there is none, and nothing else is wrong. */
int run_guard_begin(void (*then)(void *arg), void *arg, struct run_guard *ret_guard);
void run_guard_end(struct run_guard *guard);

/* Ends this process as the child ended; but one that was stopped did not do its work, even where it says 0. */
void run_end_like(const struct run_ended *ended) __attribute__((noreturn));

#endif
