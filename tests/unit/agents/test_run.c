/* Runs of checks that behave as no check should: they hang, crash, talk without end, and start things that outlive them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/run.h"
#include "base/clock.h"
#include "base/file.h"
#include "tests/unit/agents/place.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 60000

static void good(const struct check_context *context, struct check_out *out)
{
    (void)context;
    check_found(out, "a.b", "", 1, "pid %d group %d", (int)getpid(), (int)getpgrp());
}

static void hang(const struct check_context *context, struct check_out *out)
{
    (void)context;
    check_found(out, "a.b", "", 1, "before");
    for (;;)
        pause();
}

static void crash(const struct check_context *context, struct check_out *out)
{
    (void)context;
    (void)out;
    (void)signal(SIGABRT, SIG_DFL);
    raise(SIGKILL);
}

static void leave(const struct check_context *context, struct check_out *out)
{
    (void)context;
    (void)out;
    _exit(0);
}

static void talk(const struct check_context *context, struct check_out *out)
{
    (void)context;
    for (;;)
        check_unknown(out, "%0200d", 0);
}

/* Writes the number of a tool's process, and waits for a tool that does not end. */
static void use_tool(const struct check_context *context, struct check_out *out)
{
    const char *const argv[] = {"tool", NULL};
    struct child_result result;
    (void)out;
    if (check_tool(context, argv, PATIENCE_MS, 100, &result) == 0)
        child_result_free(&result);
}

static struct check_report run_with(void (*fn)(const struct check_context *, struct check_out *), int64_t deadline_ms,
                                    const char *path)
{
    const struct check check = {.name = "test", .deadline_ms = deadline_ms, .run = fn};
    const struct check_context context = {.root = "", .path = path, .memory = ""};
    struct check_report report;
    struct run run;
    pid_t left = -1;
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
    assert_int_equal(run_start(&check, &context, clock_mono_ms(clock_system()), &run), 0);
    while (!run_turn(&run, clock_mono_ms(clock_system()), &report, &left)) {
        struct pollfd fds[] = {{.fd = run.exit_fd, .events = POLLIN}, {.fd = run.fd, .events = POLLIN}};
        assert_true(clock_mono_ms(clock_system()) < until);
        (void)poll(fds, ARRAY_LEN(fds), 100);
    }
    while (left > 0 && !run_is_gone(left)) /* a loaded machine may take longer than we wait for a killed process */
        (void)poll(NULL, 0, 10);
    assert_null(run.check);
    return report;
}

static void test_a_good_run(void **state)
{
    (void)state;
    struct check_report report = run_with(good, PATIENCE_MS, NULL);
    int pid = 0, group = 0;
    assert_true(report.whole);
    assert_int_equal(report.result, CHECK_RESULT_FOUND);
    assert_int_equal(sscanf(report.observations[0].text, "pid %d group %d", &pid, &group), 2);
    assert_int_equal(pid, group);
    assert_int_not_equal(pid, getpid());
    report_free(&report);
}

static void test_a_run_that_hangs(void **state)
{
    (void)state;
    struct check_report report = run_with(hang, 1000, NULL);
    assert_false(report.whole);
    assert_int_equal(report.observation_count, 1); /* what it had said counts */
    assert_string_equal(report.why, "it did not answer within 1 s");
    report_free(&report);
}

static void test_a_run_that_dies(void **state)
{
    (void)state;
    struct check_report report = run_with(crash, PATIENCE_MS, NULL);
    assert_int_equal(report.result, CHECK_RESULT_UNKNOWN);
    assert_string_equal(report.why, "it was ended by signal 9");
    report_free(&report);
    report = run_with(leave, PATIENCE_MS, NULL);
    assert_int_equal(report.result, CHECK_RESULT_UNKNOWN);
    assert_string_equal(report.why, "it ended in the middle");
    report_free(&report);
}

static void test_a_run_that_talks_for_ever(void **state)
{
    (void)state;
    struct check_report report = run_with(talk, PATIENCE_MS, NULL);
    assert_int_equal(report.result, CHECK_RESULT_UNKNOWN);
    assert_non_null(strstr(report.why, "more than"));
    report_free(&report);
}

static void test_a_tool_ends_with_its_run(void **state)
{
    struct place *place = *state;
    autofree char *tool = own_printf("%s/tool", place->dir);
    autofree char *script = own_printf("#!/bin/sh\necho $$ >%s.new; mv %s.new %s; while :; do sleep 1000; done\n",
                                       place->path, place->path, place->path);
    assert_int_equal(file_write(tool, script, strlen(script), 0700), 0);
    struct check_report report = run_with(use_tool, 3000, place->dir);
    assert_int_equal(report.result, CHECK_RESULT_UNKNOWN);
    report_free(&report);
    autofree char *number = NULL;
    if (file_read(place->path, 100, &number, NULL) != 0)
        return; /* a machine so slow that the tool had not begun: nothing to see */
    uint64_t ticks = 0;
    pid_t pid = (pid_t)strtol(number, NULL, 10);
    assert_true(pid > 1);
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
    while (child_start_time(pid, &ticks) == 0 && child_alive(pid, ticks)) {
        assert_true(clock_mono_ms(clock_system()) < until);
        (void)poll(NULL, 0, 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_good_run),
        cmocka_unit_test(test_a_run_that_hangs),
        cmocka_unit_test(test_a_run_that_dies),
        cmocka_unit_test(test_a_run_that_talks_for_ever),
        cmocka_unit_test_setup_teardown(test_a_tool_ends_with_its_run, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
