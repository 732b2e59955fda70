/*
 * Waits for a child and for signals at once. What the terminal sends goes to the whole foreground group, the child included, so
 * only what a process sent is passed on. The child dies with us: a step without its supervisor would run on unseen. So a reader
 * of ours that went, hpd or who reads standard error, must not end us.
 */
#include "agents/slurm/run.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_MS (60 * MS_PER_S) /* for srun to end its step before it is killed */
#define WAIT_MS_MAX 1000
/* One SIGINT makes srun say how its tasks are, a second one within a second (of whole seconds) ends it. With --quit-on-interrupt one
 * does, and soon. */
#define TWICE_MS (2 * MS_PER_S)
#define SOON_MS (10 * MS_PER_S)

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGALRM, SIGWINCH};

static bool asks_to_end(int signal)
{
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

static void signals(sigset_t *ret_set)
{
    sigemptyset(ret_set);
    sigaddset(ret_set, SIGCHLD);
    for (size_t i = 0; i < ARRAY_LEN(passed_on); i++)
        sigaddset(ret_set, passed_on[i]);
}

/* What we block, and a child does not: SIGPIPE beside, which is ours alone. */
static void blocked(sigset_t *ret_set)
{
    signals(ret_set);
    sigaddset(ret_set, SIGPIPE);
}

void run_prepare(void)
{
    sigset_t set;
    blocked(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

/* The next signal within so long; 0: none. */
static int next_signal(int64_t in_ms, siginfo_t *ret_info)
{
    sigset_t set;
    signals(&set);
    int64_t wait = in_ms < 0 ? 0 : in_ms;
    const struct timespec timeout = {.tv_sec = (time_t)(wait / MS_PER_S), .tv_nsec = (long)(wait % MS_PER_S) * 1000000};
    int signal = sigtimedwait(&set, ret_info, &timeout);
    return signal < 0 ? 0 : signal;
}

bool run_told_within(int64_t in_ms)
{
    const struct clock *clock = clock_system();
    int64_t end = clock_mono_ms(clock) + in_ms, now;
    siginfo_t info;
    while ((now = clock_mono_ms(clock)) < end)
        if (asks_to_end(next_signal(end - now < WAIT_MS_MAX ? end - now : WAIT_MS_MAX, &info)))
            return true;
    return false;
}

static void become(char *const argv[], int kept_fd, bool quiet, pid_t parent)
{
    sigset_t set;
    blocked(&set);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(127);
    if (kept_fd >= 0)
        fcntl(kept_fd, F_SETFD, 0);
    int null = quiet ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
    }
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    execvp(argv[0], argv);
    _exit(127);
}

static void read_end(int status, struct run_ended *ended)
{
    ended->death = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    ended->exit_code = ended->death != 0 ? 128 + ended->death : WEXITSTATUS(status);
}

static bool is_over(pid_t child, struct run_ended *ended)
{
    int status;
    pid_t got = waitpid(child, &status, WNOHANG);
    if (got == child)
        read_end(status, ended);
    else if (got < 0 && errno == ECHILD)
        ended->exit_code = 127;
    return got == child || (got < 0 && errno == ECHILD);
}

static void take_signal(pid_t child, int signal, const siginfo_t *info, int64_t *interrupted_at,
                        struct run_ended *ended)
{
    int64_t now = clock_mono_ms(clock_system());
    if (signal == 0 || signal == SIGCHLD)
        return;
    bool first = signal == SIGINT && now >= *interrupted_at + TWICE_MS;
    if (signal == SIGINT)
        *interrupted_at = now;
    ended->told = ended->told || (asks_to_end(signal) && !first);
    if (info->si_code != SI_KERNEL)
        kill(child, signal);
}

static void wait_for(pid_t child, const struct run_watch *watch, struct run_ended *ended)
{
    const struct clock *clock = clock_system();
    int64_t begun = clock_mono_ms(clock), tick = begun + watch->interval_ms, term_at = 0, kill_at = 0;
    int64_t interrupted_at = begun - SOON_MS;
    while (!is_over(child, ended)) {
        siginfo_t info;
        take_signal(child, next_signal(WAIT_MS_MAX / 4, &info), &info, &interrupted_at, ended);
        int64_t now = clock_mono_ms(clock);
        bool late = watch->limit_ms > 0 && now >= begun + watch->limit_ms;
        bool ticks = watch->on_tick != NULL && now >= tick;
        if (!ended->stopped && (late || (ticks && !watch->on_tick(watch->arg)))) {
            ended->stopped = true;
            term_at = now + (watch->on_stop != NULL ? watch->on_stop(watch->arg) : 0);
        }
        if (ended->stopped && kill_at == 0 && now >= term_at) {
            kill(child, SIGTERM);
            kill_at = now + STOP_MS;
        }
        if (ticks)
            tick = clock_mono_ms(clock) + watch->interval_ms;
        if (kill_at > 0 && now >= kill_at)
            kill(child, SIGKILL);
    }
    if (!ended->stopped && clock_mono_ms(clock) < interrupted_at + SOON_MS)
        ended->told = true;
}

int run_child(char *const argv[], int kept_fd, bool quiet, const struct run_watch *watch, struct run_ended *ret_ended)
{
    struct run_ended ended = {0};
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        return STATUS_IO;
    if (child == 0)
        become(argv, kept_fd, quiet, parent);
    wait_for(child, watch, &ended);
    *ret_ended = ended;
    return 0;
}

/* --- the guard ----------------------------------------------------------------------------------------- */

/* The one byte says that we are well; the end of the pipe without it that we are not. */
static bool is_dismissed(int fd)
{
    char byte;
    ssize_t got;
    do
        got = read(fd, &byte, 1);
    while (got < 0 && errno == EINTR);
    return got == 1;
}

static void stand_guard(int fd, void (*then)(void *arg), void *arg)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)setsid(); /* who ends our process group does not end it */
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
    }
    if (!is_dismissed(fd))
        then(arg);
    _exit(0);
}

int run_guard_begin(void (*then)(void *arg), void *arg, struct run_guard *ret_guard)
{
    int fds[2];
    *ret_guard = (struct run_guard){.fd = -1, .pid = -1};
    if (pipe2(fds, O_CLOEXEC) != 0)
        return STATUS_IO;
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[1]);
        stand_guard(fds[0], then, arg);
    }
    close(fds[0]);
    if (pid < 0) {
        close(fds[1]);
        return STATUS_IO;
    }
    *ret_guard = (struct run_guard){.fd = fds[1], .pid = pid};
    return 0;
}

void run_guard_end(struct run_guard *guard)
{
    if (guard->fd < 0)
        return;
    ssize_t written = write(guard->fd, "", 1); /* where it was killed there is nobody to read it: SIGPIPE is blocked */
    (void)written;
    close(guard->fd);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    guard->fd = -1;
}

void run_end_like(const struct run_ended *ended)
{
    if (ended->death != 0 && ended->death != SIGKILL) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, ended->death);
        signal(ended->death, SIG_DFL);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        prctl(PR_SET_DUMPABLE, 0); /* the core is the child's */
        raise(ended->death);
    }
    _exit(ended->stopped && ended->exit_code == 0 ? 128 + SIGTERM : ended->exit_code);
}
