/*
 * A process that a runner waits for: in its own session, without input, with its output in a file, and with limits on its time
 * and its output.
 *
 * After fork the process waits at a pipe until its pid is stored on disk, so that the next runner can end it after a crash. If it
 * succeeds, processes that it left running are services and stay. If it fails or is ended, its process group is killed.
 */
#include "agents/node/attempt.h"

#include "base/child.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 500 /* how often the size of the output is checked */
#define EXIT_NOT_FOUND 127
#define EXIT_NOT_RUN 126

static int64_t now_ms(void)
{
    return clock_mono_ms(clock_system());
}

/* --- the process --------------------------------------------------------------------------------------------- */

static void complain(const char *what)
{
    ssize_t ignored = write(STDERR_FILENO, what, strlen(what));
    (void)ignored;
}

/* In the child, until it is the program; shell is what runs a text without "#!". Only calls that are safe after a fork. */
static void become(const struct attempt *attempt, const char *const *shell, int gate)
{
    char byte;
    sigset_t none;
    sigemptyset(&none);
    for (int s = 1; s < NSIG; s++)
        (void)signal(s, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setsid();
    if (read(gate, &byte, 1) != 1)
        _exit(EXIT_NOT_RUN); /* the runner is gone */
    int null = open("/dev/null", O_RDONLY);
    if (dup2(null, STDIN_FILENO) < 0 || dup2(attempt->log_fd, STDOUT_FILENO) < 0 ||
        dup2(attempt->log_fd, STDERR_FILENO) < 0 || chdir(attempt->directory) != 0)
        _exit(EXIT_NOT_RUN);
    (void)close_range(STDERR_FILENO + 1, ~0u, 0);
    char *const *env = attempt->env != NULL ? attempt->env : environ;
    (void)execve(attempt->argv[0], (char *const *)(uintptr_t)attempt->argv, env);
    if (errno == ENOEXEC)
        (void)execve(shell[0], (char *const *)(uintptr_t)shell, env);
    int error = errno;
    complain("hp-agent: the program, or what its first line names, cannot be executed\n");
    _exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN);
}

static const char **with_shell(const char *const *argv)
{
    size_t count = 0;
    while (argv[count] != NULL)
        count++;
    const char **shell = own_calloc(count + 2, sizeof(*shell));
    shell[0] = "/bin/sh";
    for (size_t i = 0; i < count; i++)
        shell[i + 1] = argv[i];
    return shell;
}

/* The process waits at the pipe. */
static int start(const struct attempt *attempt, pid_t *ret_pid, int *ret_gate)
{
    int gate[2];
    if (pipe2(gate, O_CLOEXEC) != 0)
        return STATUS_IO;
    autofree const char **shell = with_shell(attempt->argv);
    pid_t pid = fork();
    if (pid == 0) {
        close(gate[1]);
        become(attempt, shell, gate[0]);
    }
    close(gate[0]);
    if (pid < 0) {
        close(gate[1]);
        return STATUS_IO;
    }
    *ret_pid = pid;
    *ret_gate = gate[1];
    return 0;
}

/* --- its end ------------------------------------------------------------------------------------------------- */

static void end_say(struct attempt_end *end, const char *why)
{
    text_copy_cut(end->why, sizeof(end->why), why);
}

static bool has_ended(int pidfd, int64_t wait_ms)
{
    struct pollfd fd = {.fd = pidfd, .events = POLLIN};
    return poll(&fd, 1, wait_ms < 0 ? 0 : (int)wait_ms) > 0;
}

/* SIGTERM, then SIGKILL. The leader is not reaped yet, so its group id cannot be reused. */
static void end_group(pid_t pid, int pidfd, int64_t grace_ms)
{
    kill(-pid, SIGTERM);
    for (int64_t until = now_ms() + grace_ms; now_ms() < until;)
        if (has_ended(pidfd, until - now_ms()))
            break;
    kill(-pid, SIGKILL);
}

/* False when the process has to be ended; end->why has the reason. */
static bool watch(const struct attempt *attempt, int pidfd, off_t log_from, struct attempt_end *end)
{
    int64_t began = now_ms(), probe_at = began + attempt->probe_ms;
    while (!has_ended(pidfd, LOOK_MS)) {
        struct stat st;
        char span[CLOCK_TEXT_MAX];
        if (now_ms() - began >= attempt->time_limit_ms) {
            snprintf(end->why, sizeof(end->why), "did not end within %s",
                     clock_format_duration(attempt->time_limit_ms, span));
            end->timed_out = true;
            return false;
        }
        if (fstat(attempt->log_fd, &st) == 0 && st.st_size - log_from > attempt->log_bytes_max) {
            snprintf(end->why, sizeof(end->why), "wrote more than %" PRId64 " MiB", attempt->log_bytes_max >> 20);
            return false;
        }
        if (now_ms() >= probe_at && attempt->on_probe != NULL) {
            end->withdrawn = !attempt->on_probe(attempt->arg);
            probe_at = now_ms() + attempt->probe_ms;
        }
        if (end->withdrawn) {
            end_say(end, "was wanted no more");
            return false;
        }
    }
    return true;
}

static void judge(int wait_status, struct attempt_end *end)
{
    if (WIFSIGNALED(wait_status)) {
        snprintf(end->why, sizeof(end->why), "was ended by signal %d", WTERMSIG(wait_status));
        return;
    }
    end->exit_code = WEXITSTATUS(wait_status);
    end->succeeded = end->exit_code == 0;
    snprintf(end->why, sizeof(end->why), "ended with exit code %" PRId64, end->exit_code);
}

static bool failed(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0 || info.si_code != CLD_EXITED || info.si_status != 0;
}

static void follow(const struct attempt *attempt, pid_t pid, int pidfd, struct attempt_end *end)
{
    struct stat st = {0};
    int wait_status = 0;
    (void)fstat(attempt->log_fd, &st);
    bool by_itself = watch(attempt, pidfd, st.st_size, end);
    if (!by_itself)
        end_group(pid, pidfd, attempt->grace_ms);
    else if (failed(pid))
        kill(-pid, SIGKILL);
    while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
        ;
    if (by_itself)
        judge(wait_status, end);
}

int attempt_run(const struct attempt *attempt, struct attempt_end *ret_end)
{
    struct attempt_end end = {.exit_code = -1};
    pid_t pid;
    int gate;
    uint64_t ticks = 0;
    int status = start(attempt, &pid, &gate);
    if (status != 0)
        return status;
    int pidfd = pidfd_open(pid, 0);
    if (pidfd < 0 || child_start_time(pid, &ticks) != 0)
        status = STATUS_IO;
    if (status == 0)
        status = attempt->on_begin(pid, ticks, attempt->arg);
    if (status == 0 && write(gate, "", 1) != 1)
        status = STATUS_IO;
    close(gate); /* closed without a byte, it ends the process */
    if (status == 0)
        follow(attempt, pid, pidfd, &end);
    else
        (void)waitpid(pid, NULL, 0);
    if (pidfd >= 0)
        close(pidfd);
    *ret_end = end;
    return status;
}

void attempt_kill_left(pid_t pid, uint64_t ticks)
{
    if (pid > 1 && child_alive(pid, ticks))
        kill(-pid, SIGKILL);
}
