/*
 * fork and not posix_spawn: the child has to ask for its parent-death signal before it becomes a program, and hprun is small. Between fork
 * and exec only calls that a signal handler may make.
 */
#include "agents/launcher/worker.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_RUN 127

/* What we were started with, which is what workers get. */
static struct rlimit files;

void workers_prepare(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGPIPE, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        const struct rlimit most = {files.rlim_max, files.rlim_max}; /* a worker takes five descriptors of ours */
        setrlimit(RLIMIT_NOFILE, &most);
    }
}

static void say_and_exit(const char *program, int error)
{
    const char *parts[] = {"hprun: cannot run ", program, ": ", strerrordesc_np(error), "\n"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (parts[i] != NULL && write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
            break;
    _exit(NOT_RUN);
}

static void become(const struct worker_start *start, pid_t parent)
{
    sigset_t none;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(NOT_RUN);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    if (start->fds[0] >= 0)
        dup2(start->fds[0], STDOUT_FILENO);
    if (start->fds[1] >= 0)
        dup2(start->fds[1], STDERR_FILENO);
    for (int number = 1; number < NSIG; number++)
        if (number != SIGKILL && number != SIGSTOP)
            signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (files.rlim_cur != 0)
        setrlimit(RLIMIT_NOFILE, &files);
    execvpe(start->argv[0], (char *const *)(uintptr_t)start->argv, start->env);
    say_and_exit(start->argv[0], errno);
}

static void close_end(struct worker *worker, struct loop *loop)
{
    loop_remove(loop, &worker->end);
    if (worker->end.fd >= 0)
        close(worker->end.fd);
    worker->end.fd = -1;
}

static void on_end(void *arg, uint32_t events)
{
    struct worker *worker = arg;
    siginfo_t info = {0};
    (void)events;
    /* Before it is reaped its number names nobody else's group. */
    kill(-worker->pid, SIGKILL);
    if (waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0)
        return;
    worker->running = false;
    worker->death = info.si_code == CLD_EXITED ? 0 : info.si_status;
    worker->exit_code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    worker->ended_ms = clock_mono_ms(clock_system());
    close_end(worker, worker->streams[0].loop);
    for (size_t i = 0; i < ARRAY_LEN(worker->streams); i++)
        stream_close(&worker->streams[i]);
    worker->on_end(worker->arg, worker);
}

int worker_start(struct worker *worker, struct loop *loop, const struct worker_start *start)
{
    pid_t parent = getpid();
    worker->streams[0].loop = loop;
    worker->end = (struct source){-1, on_end, worker};
    worker->pid = fork();
    if (worker->pid < 0)
        return STATUS_IO;
    if (worker->pid == 0)
        become(start, parent);
    setpgid(worker->pid, worker->pid); /* whoever comes first */
    worker->running = true;
    worker->started_ms = clock_mono_ms(clock_system());
    worker->end.fd = pidfd_open(worker->pid, 0);
    if (worker->end.fd >= 0 && loop_add(loop, &worker->end, EPOLLIN) == 0)
        return 0;
    worker_kill(worker);
    waitpid(worker->pid, NULL, 0);
    worker->running = false;
    close_end(worker, loop);
    return STATUS_IO;
}

void worker_signal(const struct worker *worker, int signal)
{
    if (worker->running)
        pidfd_send_signal(worker->end.fd, signal, NULL, 0);
}

void worker_kill(const struct worker *worker)
{
    if (worker->running)
        kill(-worker->pid, SIGKILL);
}

bool workers_reap_one(struct worker *workers, int count)
{
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
        return false;
    for (int i = 0; i < count; i++)
        if (workers[i].running && workers[i].pid == info.si_pid) {
            on_end(&workers[i], 0);
            return true;
        }
    return waitpid(info.si_pid, NULL, WNOHANG) == info.si_pid;
}
