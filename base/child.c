/*
 * Child processes: posix_spawn, pipes, a pidfd and one poll loop under one deadline.
 *
 * posix_spawn and not fork: a server with gigabytes of memory and many threads copies no page
 * tables and runs no code of its own between fork and exec. The child gets a process group, so that a
 * time-out ends all it started; what it leaves in that group when it exits ends with it.
 * No shell, no inherited descriptor. For a process that shall live on: child_spawn_detached, which hands one over if asked.
 */
#include "base/child.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READ_BYTES 16384
#define REST_READS_MAX 64   /* 1 MiB, the largest pipe an ordinary user may have */
#define STAT_BYTES_MAX 1024 /* /proc/PID/stat is one line of some 300 bytes */
#define STAT_START_TIME 22  /* its number of this field in proc(5) */
#define STAT_AFTER_NAME 3   /* the first field behind the name in parentheses */
#define LOWEST_PIPE_FD 3    /* pipe ends below would be overwritten by the child's own 0, 1, 2 */
#define REAP_GRACE_MS 5000  /* a killed process may sit in an uninterruptible call */

/* One side of the conversation with a child; every descriptor is -1 when closed. */
struct run {
    const struct child_options *options;
    int in, out, err, pidfd;
    size_t in_done;
    struct text out_text, err_text;
    bool out_cut;
    bool exited;
    int64_t deadline;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int64_t now_ms(void)
{
    return clock_mono_ms(clock_system());
}

static int above_standard(int fd)
{
    if (fd < 0 || fd >= LOWEST_PIPE_FD)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_PIPE_FD);
    close(fd);
    return moved;
}

/* A pipe whose ends are both close-on-exec and above the standard descriptors. */
static int make_pipe(int fds[2])
{
    if (pipe2(fds, O_CLOEXEC) != 0)
        return STATUS_IO;
    fds[0] = above_standard(fds[0]);
    fds[1] = above_standard(fds[1]);
    if (fds[0] >= 0 && fds[1] >= 0)
        return 0;
    close_fd(&fds[0]);
    close_fd(&fds[1]);
    return STATUS_IO;
}

static void set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0)
        (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static int status_of_errno(int error)
{
    return error == ENOENT || error == ENOTDIR ? STATUS_NOT_FOUND : STATUS_IO;
}

/* Signals as a fresh process has them, whatever this thread blocks or ignores. */
static void attributes_init(posix_spawnattr_t *attributes, short extra)
{
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setflags(attributes, (short)(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | extra));
}

static int spawn(const char *const argv[], const struct child_options *options, const int fds[3], pid_t *ret_pid)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    attributes_init(&attributes, options->in_our_group ? 0 : POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    int error = posix_spawn_file_actions_init(&actions);
    if (options->input == NULL)
        error = error ? error : posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    else
        error = error ? error : posix_spawn_file_actions_adddup2(&actions, fds[0], STDIN_FILENO);
    error = error ? error : posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    error = error ? error : posix_spawn_file_actions_adddup2(&actions, fds[2], STDERR_FILENO);
    if (options->directory != NULL)
        error = error ? error : posix_spawn_file_actions_addchdir_np(&actions, options->directory);
    error = error ? error : posix_spawn_file_actions_addclosefrom_np(&actions, LOWEST_PIPE_FD);
    pid_t pid = -1;
    if (error == 0)
        error = posix_spawnp(&pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv,
                             options->env != NULL ? options->env : environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0)
        return status_of_errno(error);
    *ret_pid = pid;
    return 0;
}

/* Writes what the pipe takes. A reader that went away is no failure of ours: it has read what it wanted. */
static void feed(struct run *run)
{
    sigset_t pipe_signal, before, pending;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    ssize_t n = write(run->in, run->options->input + run->in_done, run->options->input_len - run->in_done);
    int error = errno;
    if (n < 0 && error == EPIPE && !sigismember(&pending, SIGPIPE)) {
        const struct timespec at_once = {0, 0};
        (void)sigtimedwait(&pipe_signal, NULL, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (n > 0)
        run->in_done += (size_t)n;
    bool again = n < 0 && (error == EAGAIN || error == EINTR);
    if (run->in_done == run->options->input_len || (n < 0 && !again))
        close_fd(&run->in);
}

/* Reads once; false when there is nothing more for now. Beyond bytes_max it is read and forgotten, so that the
 * child is not stuck in its write. */
static bool drain(int *fd, struct text *text, size_t bytes_max, bool *ret_cut)
{
    char buffer[READ_BYTES];
    ssize_t n = read(*fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR)
        return true;
    if (n < 0 && errno == EAGAIN)
        return false;
    if (n <= 0) {
        close_fd(fd);
        return false;
    }
    size_t room = bytes_max - text->len;
    size_t take = (size_t)n < room ? (size_t)n : room;
    text_add_bytes(text, buffer, take);
    if (take < (size_t)n)
        *ret_cut = true;
    return true;
}

/* Bounded: a process that left the group may hold the pipe and write for ever. */
static void drain_rest(struct run *run, bool *err_cut)
{
    for (int i = 0; run->out >= 0 && i < REST_READS_MAX; i++)
        if (!drain(&run->out, &run->out_text, run->options->out_bytes_max, &run->out_cut))
            break;
    for (int i = 0; run->err >= 0 && i < REST_READS_MAX; i++)
        if (!drain(&run->err, &run->err_text, CHILD_ERR_BYTES_MAX, err_cut))
            break;
}

static int converse(struct run *run)
{
    bool err_cut = false;
    while (!run->exited) {
        struct pollfd fds[4] = {{.fd = run->in, .events = POLLOUT},
                                {.fd = run->out, .events = POLLIN},
                                {.fd = run->err, .events = POLLIN},
                                {.fd = run->pidfd, .events = POLLIN}};
        int64_t left = run->deadline - now_ms();
        if (left <= 0)
            return STATUS_TIMEOUT;
        int ready = poll(fds, ARRAY_LEN(fds), left > INT32_MAX ? INT32_MAX : (int)left);
        if (ready < 0 && errno != EINTR)
            return STATUS_IO;
        if (ready <= 0)
            continue;
        if (fds[0].revents != 0)
            feed(run);
        if (fds[1].revents != 0)
            drain(&run->out, &run->out_text, run->options->out_bytes_max, &run->out_cut);
        if (fds[2].revents != 0)
            drain(&run->err, &run->err_text, CHILD_ERR_BYTES_MAX, &err_cut);
        run->exited = fds[3].revents != 0;
    }
    return 0;
}

static void *reap_later(void *pid)
{
    while (waitpid((pid_t)(intptr_t)pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return NULL;
}

static int leave_to_thread(pid_t pid)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, reap_later, (void *)(intptr_t)pid) == 0)
        pthread_detach(thread);
    return STATUS_TIMEOUT;
}

/* The group is killed before the leader is reaped: until then its number cannot belong to anybody else. What even
 * SIGKILL does not end (a dead NFS mount) must not hold the caller; a thread waits for it instead. */
static int reap(struct run *run, pid_t pid, int *ret_wait_status)
{
    kill(run->options->in_our_group ? pid : -pid, SIGKILL);
    struct pollfd dead = {.fd = run->pidfd, .events = POLLIN};
    int64_t until = now_ms() + REAP_GRACE_MS;
    while (run->pidfd >= 0 && !run->exited && now_ms() < until)
        run->exited = poll(&dead, 1, (int)REAP_GRACE_MS) > 0;
    if (run->pidfd >= 0 && !run->exited)
        return leave_to_thread(pid);
    pid_t reaped;
    do
        reaped = waitpid(pid, ret_wait_status, 0);
    while (reaped < 0 && errno == EINTR);
    return reaped == pid ? 0 : STATUS_IO;
}

static int run_to_end(struct run *run, pid_t pid, struct child_result *ret_result)
{
    bool err_cut = false;
    int wait_status = 0;
    int status = converse(run);
    int reaped = reap(run, pid, &wait_status);
    if (status != 0)
        return status;
    if (reaped != 0)
        return reaped;
    drain_rest(run, &err_cut);
    ret_result->exit_code = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    ret_result->out_len = run->out_text.len;
    ret_result->out = text_take(&run->out_text);
    ret_result->err = text_take(&run->err_text);
    ret_result->out_cut = run->out_cut;
    return 0;
}

int child_run(const char *const argv[], const struct child_options *options, struct child_result *ret_result)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
    pid_t pid = -1;
    int status = options->input != NULL ? make_pipe(in) : 0;
    if (status == 0)
        status = make_pipe(out);
    if (status == 0)
        status = make_pipe(err);
    struct run run = {.options = options, .in = -1, .out = -1, .err = -1, .pidfd = -1};
    run.deadline = now_ms() + options->timeout_ms;
    if (status == 0)
        status = spawn(argv, options, (const int[3]){in[0], out[1], err[1]}, &pid);
    close_fd(&in[0]);
    close_fd(&out[1]);
    close_fd(&err[1]);
    run.in = in[1], run.out = out[0], run.err = err[0];
    if (status == 0 && (run.pidfd = pidfd_open(pid, 0)) < 0) {
        int ignored;
        reap(&run, pid, &ignored);
        status = STATUS_IO;
    }
    if (status == 0) {
        for (size_t i = 0; i < 3; i++)
            set_nonblocking((const int[3]){run.in, run.out, run.err}[i]);
        status = run_to_end(&run, pid, ret_result);
    }
    close_fd(&run.in);
    close_fd(&run.out);
    close_fd(&run.err);
    close_fd(&run.pidfd);
    text_free(&run.out_text);
    text_free(&run.err_text);
    return status;
}

void child_result_free(struct child_result *result)
{
    if (result == NULL)
        return;
    free(TAKE(result->out));
    free(TAKE(result->err));
}

int child_spawn_piped(const char *const argv[], pid_t *ret_pid, int *ret_fd)
{
    const struct child_options options = {.input = NULL};
    int out[2];
    if (make_pipe(out) != 0)
        return STATUS_IO;
    int status = spawn(argv, &options, (const int[3]){-1, out[1], STDERR_FILENO}, ret_pid);
    close_fd(&out[1]);
    if (status != 0) {
        close_fd(&out[0]);
        return status;
    }
    set_nonblocking(out[0]);
    *ret_fd = out[0];
    return 0;
}

struct detached {
    int error;
    pid_t pid;
};

/* Runs in the child between: only calls that are safe after a fork of a threaded process. Its own child is adopted
 * by init once it leaves, so nobody here has to reap it. */
static void spawn_and_leave(int report, const char *const argv[], char *const env[],
                            const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes)
{
    struct detached detached = {.pid = -1};
    detached.error = posix_spawnp(&detached.pid, argv[0], actions, attributes, (char *const *)(uintptr_t)argv, env);
    ssize_t ignored = write(report, &detached, sizeof(detached));
    (void)ignored;
    _exit(0);
}

static int spawn_between(const char *const argv[], char *const env[], const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes, pid_t *ret_pid)
{
    int report[2];
    if (make_pipe(report) != 0)
        return STATUS_IO;
    /* Not _Fork: ThreadSanitizer minds its locks around fork only. Without that its exit waits a second in the child, or for
     * ever when another thread held one of them. */
    pid_t between = fork();
    if (between == 0)
        spawn_and_leave(report[1], argv, env, actions, attributes);
    close_fd(&report[1]);
    struct detached detached = {.error = EIO, .pid = -1};
    ssize_t n = -1;
    if (between > 0) {
        do
            n = read(report[0], &detached, sizeof(detached));
        while (n < 0 && errno == EINTR);
        while (waitpid(between, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close_fd(&report[0]);
    if (n != (ssize_t)sizeof(detached))
        return STATUS_IO;
    if (detached.error != 0)
        return status_of_errno(detached.error);
    *ret_pid = detached.pid;
    return 0;
}

int child_spawn_detached(const char *const argv[], char *const env[], const char *directory, const char *log_path,
                         int kept_fd, pid_t *ret_pid)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    attributes_init(&attributes, POSIX_SPAWN_SETSID);
    int error = posix_spawn_file_actions_init(&actions);
    if (kept_fd >= 0) /* first: it may be one that the others take the place of */
        error = error ? error : posix_spawn_file_actions_adddup2(&actions, kept_fd, CHILD_KEPT_FD);
    error = error ? error : posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    error = error ? error
                  : posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log_path, O_WRONLY | O_CREAT | O_APPEND,
                                                     0640);
    error = error ? error : posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (directory != NULL)
        error = error ? error : posix_spawn_file_actions_addchdir_np(&actions, directory);
    int close_from = kept_fd >= 0 ? CHILD_KEPT_FD + 1 : LOWEST_PIPE_FD;
    error = error ? error : posix_spawn_file_actions_addclosefrom_np(&actions, close_from);
    int status =
        error != 0 ? STATUS_IO : spawn_between(argv, env != NULL ? env : environ, &actions, &attributes, ret_pid);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return status;
}

/* Reads state and start time; the name may hold spaces and parentheses, so it is skipped from the right. */
static int read_stat(pid_t pid, char *ret_state, uint64_t *ret_ticks)
{
    char path[64], line[STAT_BYTES_MAX];
    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return STATUS_NOT_FOUND;
    ssize_t n = read(fd, line, sizeof(line) - 1);
    close(fd);
    if (n <= 0)
        return STATUS_NOT_FOUND;
    line[n] = '\0';
    char *at = strrchr(line, ')');
    if (at == NULL || at[1] != ' ')
        return STATUS_IO;
    at += 2;
    char state = *at;
    for (int field = STAT_AFTER_NAME; field < STAT_START_TIME; field++) {
        at = strchr(at, ' ');
        if (at == NULL)
            return STATUS_IO;
        at++;
    }
    *ret_state = state;
    *ret_ticks = strtoull(at, NULL, 10);
    return 0;
}

int child_start_time(pid_t pid, uint64_t *ret_ticks)
{
    char state;
    return read_stat(pid, &state, ret_ticks);
}

/* A zombie is dead: in a container nobody may ever reap it. */
bool child_alive(pid_t pid, uint64_t start_ticks)
{
    char state;
    uint64_t ticks;
    return read_stat(pid, &state, &ticks) == 0 && ticks == start_ticks && state != 'Z' && state != 'X';
}
