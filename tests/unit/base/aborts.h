/* Says whether a call aborts, by making it in a child process whose words nobody hears. */
#ifndef HOLDFAST_TESTS_ABORTS_H
#define HOLDFAST_TESTS_ABORTS_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static inline bool aborts(void (*call)(void *arg), void *arg)
{
    int status = 0;
    pid_t pid = fork();

    if (pid < 0)
        return false;
    if (pid == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL);
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
        call(arg);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

#endif
