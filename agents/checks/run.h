/*
 * One run of a check: a process of its own, in a process group of its own, at the other end of a pipe.
 *
 * Nothing here waits. What hangs (a dead NFS mount, a driver that never answers) is killed at the check's deadline with
 * all it has started; what even SIGKILL does not end is left behind and asked about until it goes.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_RUN_H
#define HOLDFAST_AGENTS_CHECKS_RUN_H

#include "agents/checks/report.h"

#include <sys/types.h>

struct run {
    const struct check *check; /* NULL: nothing runs */
    pid_t pid;
    int fd, exit_fd; /* to wait on for reading: what it says, and its end */
    int64_t deadline_ms, deadline_at;
    struct text said;
};

/* now_ms is monotonic here and below. IO when no process can be made. */
int run_start(const struct check *check, const struct check_context *context, int64_t now_ms, struct run *ret_run);
/* Reads what there is. True when the run is over, well or not: *ret_report is filled then, and *ret_left is the process
 * that would not die (0: none), which run_is_gone is to be asked about. */
bool run_turn(struct run *run, int64_t now_ms, struct check_report *ret_report, pid_t *ret_left);
bool run_is_gone(pid_t left);
/* Ends it without an answer. */
void run_cancel(struct run *run);

#endif
