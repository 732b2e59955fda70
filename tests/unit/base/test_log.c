/* Log lines: one line a call whatever is in it, and only from the chosen level on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAUGHT_MAX 65536

/* Standard error goes into a file while fn runs; what it wrote comes back. Caller frees. */
static char *catch_log(void (*fn)(void *arg), void *arg)
{
    char path[] = "/tmp/holdfast-log-XXXXXX";
    int fd = mkstemp(path), before = dup(STDERR_FILENO);
    char *caught = own_calloc(CAUGHT_MAX, 1);

    unlink(path);
    dup2(fd, STDERR_FILENO);
    fn(arg);
    dup2(before, STDERR_FILENO);
    close(before);
    ssize_t n = pread(fd, caught, CAUGHT_MAX - 1, 0);
    close(fd);
    assert_true(n >= 0);
    return caught;
}

static void say(void *arg)
{
    log_info("%s", (const char *)arg);
}

static void say_all(void *arg)
{
    (void)arg;
    log_debug("d");
    log_info("i");
    log_warn("w");
    log_error("e");
}

static char *say_text(const char *text)
{
    autofree char *copy = own_strdup(text);

    log_set_level(LOG_LEVEL_INFO);
    return catch_log(say, copy);
}

static void test_shape(void **state)
{
    autofree char *line = say_text("node held node=gpu-1");
    int64_t at_ms;

    (void)state;
    assert_int_equal(strcspn(line, " "), 24);
    line[24] = '\0';
    assert_int_equal(clock_parse(line, &at_ms), 0);
    assert_string_equal(line + 25, "info node held node=gpu-1\n");
}

static void test_levels(void **state)
{
    static const struct {
        enum log_level level;
        const char *text;
        int lines;
    } rows[] = {
        {LOG_LEVEL_DEBUG, "debug", 4},
        {LOG_LEVEL_INFO, "info", 3},
        {LOG_LEVEL_WARN, "warn", 2},
        {LOG_LEVEL_ERROR, "error", 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        enum log_level level;
        int lines = 0;
        assert_int_equal(log_level_parse(rows[i].text, &level), 0);
        assert_int_equal(level, rows[i].level);
        log_set_level(level);
        autofree char *caught = catch_log(say_all, NULL);
        for (const char *c = caught; *c != '\0'; c++)
            lines += *c == '\n' ? 1 : 0;
        assert_int_equal(lines, rows[i].lines);
    }
    log_set_level(LOG_LEVEL_INFO);
}

static void test_level_names(void **state)
{
    static const char *const bad[] = {"", "INFO", "warning", "info ", "4"};
    enum log_level level = LOG_LEVEL_ERROR;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(log_level_parse(bad[i], &level), STATUS_INVALID);
    assert_int_equal(log_level_parse(NULL, &level), STATUS_INVALID);
    assert_int_equal(level, LOG_LEVEL_ERROR);
}

/* A name that comes from outside must not be able to write a second line or to drive the terminal. */
static void test_forgery(void **state)
{
    autofree char *line = say_text("a\nb\rc\td\x1b[2J\x7f\xc3\xa9\xc2\x9b"
                                   "2J\xc2\xa0");

    (void)state;
    assert_string_equal(line + 25, "info a\\nb\\x0dc\\td\\x1b[2J\\x7f\xc3\xa9\\xc2\\x9b"
                                   "2J\xc2\xa0\n");
}

static void test_length(void **state)
{
    enum { LONG = 100000 };
    static const char fillers[] = {'x', '\x01'};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fillers); i++) {
        autofree char *text = own_calloc(LONG + 1, 1);
        memset(text, fillers[i], LONG);
        autofree char *line = say_text(text);
        size_t len = strlen(line);
        assert_true(len > 2000 && len < 9000);
        assert_int_equal(line[len - 1], '\n');
        assert_ptr_equal(strchr(line, '\n'), line + len - 1);
    }
}

static void say_and_look(void *arg)
{
    errno = 4711;
    log_error("text");
    *(int *)arg = errno;
}

static void test_errno_survives(void **state)
{
    int seen = 0;
    autofree char *line = catch_log(say_and_look, &seen);

    (void)state;
    assert_int_equal(seen, 4711);
    assert_true(strlen(line) > 0);
}

static void *say_often(void *arg)
{
    for (int i = 0; i < 100; i++)
        log_info("thread %s ends here", (const char *)arg);
    return NULL;
}

static void say_from_threads(void *arg)
{
    static char names[] = "a\0b\0c";
    pthread_t threads[3];

    (void)arg;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_create(&threads[i], NULL, say_often, names + 2 * i);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
}

static void test_threads_do_not_mix(void **state)
{
    autofree char *caught = catch_log(say_from_threads, NULL);
    int lines = 0;
    char *rest = NULL;

    (void)state;
    for (char *line = strtok_r(caught, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest), lines++) {
        assert_int_equal(strlen(line), strlen("2026-11-20T14:48:00.123Z info thread a ends here"));
        assert_string_equal(line + 38, " ends here");
    }
    assert_int_equal(lines, 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_level_names),
        cmocka_unit_test(test_forgery),
        cmocka_unit_test(test_length),
        cmocka_unit_test(test_errno_survives),
        cmocka_unit_test(test_threads_do_not_mix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
