/* How hp-auto-resume runs a child and ends as it ended: its codes, its signals, and what must not end the supervisor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/slurm/run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* How a supervisor of "sh -c script" ends, as wait says it. */
static int supervise(const char *script, const struct run_watch *watch, const char *ready)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct run_ended ended;
        char *const argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, strdup(script), strdup(ready), NULL};
        run_prepare();
        if (run_child(argv, -1, true, watch, &ended) != 0)
            _exit(99);
        run_end_like(&ended);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_codes(void **state)
{
    (void)state;
    const struct run_watch watch = {.interval_ms = 1000};
    int status = supervise("exit 0", &watch, "");
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    status = supervise("exit 42", &watch, "");
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

static void test_signals(void **state)
{
    (void)state;
    static const char *const scripts[] = {"kill -TERM $$", "kill -PIPE $$", "kill -USR1 $$"};
    static const int deaths[] = {SIGTERM, SIGPIPE, SIGUSR1};
    const struct run_watch watch = {.interval_ms = 1000};
    for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++) {
        int status = supervise(scripts[i], &watch, "");
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), deaths[i]);
    }
}

static bool stop_when_ready(void *arg)
{
    return access(arg, F_OK) != 0;
}

/* A program that takes SIGTERM for a checkpoint and ends well has not done its work for that. */
static void test_stopped(void **state)
{
    (void)state;
    char directory[] = "/tmp/test-slurm-run-XXXXXX", ready[64];
    assert_non_null(mkdtemp(directory));
    snprintf(ready, sizeof(ready), "%s/ready", directory);
    const struct run_watch watch = {.interval_ms = 10, .on_tick = stop_when_ready, .arg = ready};
    int status = supervise("trap 'exit 0' TERM; : >\"$0\"; while :; do sleep 0.1; done", &watch, ready);
    unlink(ready);
    rmdir(directory);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
}

/* Whether a run counts as ended by somebody. */
static bool is_told(const char *script, const struct run_watch *watch, const char *ready)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct run_ended ended;
        char *const argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, strdup(script), strdup(ready), NULL};
        run_prepare();
        _exit(run_child(argv, -1, true, watch, &ended) != 0 ? 99 : ended.told ? 1 : 0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
    return WEXITSTATUS(status) == 1;
}

/* One SIGINT asks srun how its tasks are: a step that is stopped for a repair after that is run again. */
static void test_interrupts(void **state)
{
    (void)state;
    char directory[] = "/tmp/test-slurm-run-XXXXXX", ready[64];
    assert_non_null(mkdtemp(directory));
    snprintf(ready, sizeof(ready), "%s/ready", directory);
    const struct run_watch watch = {.interval_ms = 10, .on_tick = stop_when_ready, .arg = ready};
    assert_false(is_told("trap ': >\"$0\"' INT; kill -INT $PPID; while :; do sleep 0.1; done", &watch, ready));
    unlink(ready);
    assert_true(is_told("trap ': >\"$0\"' HUP; kill -HUP $PPID; while :; do sleep 0.1; done", &watch, ready));
    unlink(ready);
    rmdir(directory);
    const struct run_watch alone = {.interval_ms = 1000};
    assert_true(is_told("kill -INT $PPID; while :; do sleep 0.1; done", &alone, ""));
    assert_false(is_told("exit 3", &alone, ""));
}

/* A connection of ours that the other end has closed. */
static void test_reader_that_went(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int fds[2];
        run_prepare();
        if (pipe(fds) != 0)
            _exit(99);
        close(fds[0]);
        _exit(write(fds[1], "x", 1) < 0 && !run_told_within(1) ? 7 : 8);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

static void leave_a_word(void *arg)
{
    FILE *file = fopen(arg, "w");
    if (file != NULL)
        fclose(file);
}

/* One that has a guard, and is killed, or dismisses it. */
static bool guard_acts(bool killed)
{
    char directory[] = "/tmp/test-slurm-run-XXXXXX", word[64];
    int ends[2];
    assert_non_null(mkdtemp(directory));
    snprintf(word, sizeof(word), "%s/word", directory);
    assert_int_equal(pipe(ends), 0); /* the guard has its end, too: the last to close it is over */
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct run_guard guard;
        close(ends[0]);
        run_prepare();
        if (run_guard_begin(leave_a_word, word, &guard) != 0)
            _exit(99);
        if (killed)
            kill(getpid(), SIGKILL);
        run_guard_end(&guard);
        _exit(0);
    }
    char byte;
    close(ends[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    bool acted = access(word, F_OK) == 0;
    unlink(word);
    rmdir(directory);
    return acted;
}

static void test_guard(void **state)
{
    (void)state;
    assert_true(guard_acts(true));
    assert_false(guard_acts(false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guard),   cmocka_unit_test(test_codes),      cmocka_unit_test(test_signals),
        cmocka_unit_test(test_stopped), cmocka_unit_test(test_interrupts), cmocka_unit_test(test_reader_that_went),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
