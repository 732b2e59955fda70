/*
 * A run is a forked process without exec: the agent is small, has one thread, and a check only reads some files. Descriptors are
 * closed, signals are reset, and the process dies with the agent. Its group is killed before it is reaped, because until then the
 * pid cannot be reused.
 */
#include "agents/checks/run.h"

#include "base/clock.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIPE_FD 3
#define READ_BYTES 16384
#define KILLED_WAIT_MS 50 /* a process that lives longer hangs in the kernel */

/* --- the check's process ------------------------------------------------------------------------------------- */

static void set_up_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGKILL && sig != SIGSTOP)
            (void)signal(sig, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* a reader that went is seen by write */
}

/* Standard error stays the agent's log. */
static bool set_up_descriptors(int *fd)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
        return false;
    if (*fd != PIPE_FD && dup3(*fd, PIPE_FD, O_CLOEXEC) < 0)
        return false;
    *fd = PIPE_FD;
    return close_range(PIPE_FD + 1, ~0U, 0) == 0;
}

static void be_check(const struct check *check, const struct check_context *context, int fd, pid_t agent)
{
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != agent || !set_up_descriptors(&fd))
        _exit(1);
    set_up_signals();
    (void)prctl(PR_SET_NAME, "hp-check");
    (void)setenv("LC_ALL", "C", 1);
    struct check_out out = {.fd = fd};
    check->run(context, &out);
    report_end(&out);
    _exit(0);
}

/* --- the agent's side ---------------------------------------------------------------------------------------- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int run_start(const struct check *check, const struct check_context *context, int64_t now_ms, struct run *ret_run)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return STATUS_IO;
    pid_t agent = getpid(), pid = fork();
    if (pid == 0)
        be_check(check, context, ends[1], agent);
    close(ends[1]);
    int64_t deadline_ms = context->deadline_ms > 0 ? context->deadline_ms : check->deadline_ms;
    struct run run = {.check = check,
                      .pid = pid,
                      .fd = ends[0],
                      .exit_fd = -1,
                      .deadline_ms = deadline_ms,
                      .deadline_at = now_ms + deadline_ms};
    if (pid > 0) {
        (void)setpgid(pid, pid); /* whichever of the two is first */
        run.exit_fd = pidfd_open(pid, 0);
    }
    if (pid < 0 || run.exit_fd < 0 || fcntl(run.fd, F_SETFL, O_NONBLOCK) != 0) {
        if (pid > 0)
            run_cancel(&run);
        close_fd(&run.fd);
        return STATUS_IO;
    }
    *ret_run = run;
    return 0;
}

/* False at the end of what it says, and when that is too much. */
static bool take_said(struct run *run)
{
    char data[READ_BYTES];
    for (;;) {
        ssize_t n = read(run->fd, data, sizeof(data));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 && errno == EAGAIN;
        text_add_bytes(&run->said, data, (size_t)n);
        if (run->said.len > REPORT_BYTES_MAX)
            return false;
    }
}

static bool is_readable(int fd, int wait_ms)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    return poll(&one, 1, wait_ms) > 0;
}

bool run_is_gone(pid_t left)
{
    return waitpid(left, NULL, WNOHANG) != 0;
}

/* Ends the group and reaps its leader; 0, or the process that has not gone. */
static pid_t end(struct run *run, int *ret_wait_status)
{
    kill(-run->pid, SIGKILL);
    kill(run->pid, SIGKILL);
    if (run->exit_fd >= 0)
        (void)is_readable(run->exit_fd, KILLED_WAIT_MS);
    pid_t reaped = waitpid(run->pid, ret_wait_status, WNOHANG);
    close_fd(&run->fd);
    close_fd(&run->exit_fd);
    run->check = NULL;
    return reaped == 0 ? run->pid : 0;
}

bool run_turn(struct run *run, int64_t now_ms, struct check_report *ret_report, pid_t *ret_left)
{
    bool exited = is_readable(run->exit_fd, 0); /* asked first: all it has said is in the pipe then */
    bool goes_on = take_said(run), late = now_ms >= run->deadline_at, too_much = run->said.len > REPORT_BYTES_MAX;
    if (!exited && !late && (goes_on || !too_much)) {
        if (!goes_on) /* it has closed its end, and is about to exit */
            close_fd(&run->fd);
        return false;
    }
    int wait_status = 0;
    *ret_left = end(run, &wait_status);
    report_read(run->said.data, run->said.len, ret_report);
    if (too_much)
        report_fail(ret_report, "it said more than %d bytes", REPORT_BYTES_MAX);
    else if (!exited)
        report_fail(ret_report, "it did not answer within %" PRId64 " s", run->deadline_ms / MS_PER_S);
    else if (WIFSIGNALED(wait_status))
        report_fail(ret_report, "it was ended by signal %d", WTERMSIG(wait_status));
    text_free(&run->said);
    return true;
}

void run_cancel(struct run *run)
{
    int ignored;
    if (run->check == NULL)
        return;
    (void)end(run, &ignored);
    text_free(&run->said);
}
