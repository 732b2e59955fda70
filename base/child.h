/*
 * Child processes without a shell: an argument vector, a deadline, a limit on output.
 *
 * child_run waits; child_spawn starts something that outlives us. Descriptors are
 * closed in the child, signals reset, no environment but what is given (NULL: ours).
 */
#ifndef HOLDFAST_BASE_CHILD_H
#define HOLDFAST_BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct child_result {
    int exit_code; /* 0..255; 128 + signal when killed by one */
    char *out;     /* stdout, zero-terminated, never NULL after success */
    size_t out_len;
    char *err;    /* stderr, cut at CHILD_ERR_BYTES_MAX */
    bool out_cut; /* more than out_bytes_max came: do not trust out */
};

#define CHILD_ERR_BYTES_MAX 4096

struct child_options {
    const char *input; /* NULL: /dev/null */
    size_t input_len;
    int64_t timeout_ms;    /* then SIGKILL to its whole process group; must be > 0 */
    size_t out_bytes_max;  /* must be > 0 */
    char *const *env;      /* NULL: inherit */
    const char *directory; /* NULL: ours */
    bool in_our_group;     /* who ends our process group ends it too; a time-out then ends the program alone */
};

/* 0 when the program ran and was reaped, whatever its exit code. TIMEOUT, NOT_FOUND (no such
 * program), IO. Thread-safe. ret_result is freed with child_result_free. */
int child_run(const char *const argv[], const struct child_options *options, struct child_result *ret_result);
void child_result_free(struct child_result *result);

/* Starts argv in a process group of its own and returns; *ret_fd reads its standard output and does not block. Its standard
 * error is ours. The caller reaps it. NOT_FOUND, IO. */
int child_spawn_piped(const char *const argv[], pid_t *ret_pid, int *ret_fd);

#define CHILD_KEPT_FD 3

/* Starts argv in its own session, double-forked (never our zombie), output appended to log_path. kept_fd, unless it is
 * -1, is that program's descriptor CHILD_KEPT_FD: a lock on it goes over without ever being free. */
int child_spawn_detached(const char *const argv[], char *const env[], const char *directory, const char *log_path,
                         int kept_fd, pid_t *ret_pid);

/* A process by pid and start time (field 22 of /proc/pid/stat), so that a reused pid is not mistaken. */
int child_start_time(pid_t pid, uint64_t *ret_ticks);
bool child_alive(pid_t pid, uint64_t start_ticks);

#endif
