/* Collects what a test reports: its result, measurements and log lines. */
#include "agents/deep/bench.h"

#include "base/clock.h"
#include "base/own.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_KEPT_MAX (16 * 1024 * 1024)

const struct runner_options *deep_bench_options(const struct deep_bench *bench)
{
    return bench->options;
}

const struct deep_job *deep_bench_job(const struct deep_bench *bench)
{
    return &bench->job;
}

int64_t bench_wall_ms(void)
{
    return clock_wall_ms(clock_system());
}

int64_t bench_mono_ms(void)
{
    return clock_mono_ms(clock_system());
}

int64_t bench_time_left_ms(const struct deep_bench *bench)
{
    return bench->ends_at - bench_mono_ms();
}

/* --- the outcome --------------------------------------------------------------------------------------------- */

static void end_test(struct deep_bench *bench, enum deep_state state, const char *fmt, va_list ap)
{
    autofree char *detail = own_vprintf(fmt, ap);
    for (char *c = detail; *c != '\0'; c++) /* it may contain output of a tool */
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
    bench->test.state = state;
    text_copy_cut(bench->test.detail, sizeof(bench->test.detail),
                  text_is_utf8(detail, strlen(detail)) ? detail : "the tool's words are no text");
}

static void __attribute__((format(printf, 3, 4)))
say_end(struct deep_bench *bench, enum deep_state state, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    end_test(bench, state, fmt, ap);
    va_end(ap);
}

void deep_passed(struct deep_bench *bench)
{
    bench->test.state = DEEP_STATE_PASSED;
    bench->test.detail[0] = '\0';
}

void deep_passed_but(struct deep_bench *bench, const char *word)
{
    say_end(bench, DEEP_STATE_PASSED, "%s", word);
}

void deep_failed(struct deep_bench *bench, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    end_test(bench, DEEP_STATE_FAILED, fmt, ap);
    va_end(ap);
}

void deep_skipped(struct deep_bench *bench, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    end_test(bench, DEEP_STATE_SKIPPED, fmt, ap);
    va_end(ap);
}

static void add_measure(struct deep_bench *bench, const struct deep_measure *measure)
{
    struct deep_test *test = &bench->test;
    if (test->measure_count < DEEP_MEASURES_MAX)
        test->measures[test->measure_count++] = *measure;
}

void deep_measured(struct deep_bench *bench, const char *name, const char *fmt, ...)
{
    struct deep_measure measure = {.mark = DEEP_MARK_NONE};
    va_list ap;
    va_start(ap, fmt);
    autofree char *value = own_vprintf(fmt, ap);
    va_end(ap);
    text_copy_cut(measure.name, sizeof(measure.name), name);
    text_copy_cut(measure.value, sizeof(measure.value), value);
    add_measure(bench, &measure);
}

/* Values are counts and speeds, far from what an integer cannot hold. */
bool deep_judged(struct deep_bench *bench, const char *name, const struct deep_limit *limit, double value)
{
    struct deep_measure measure = {.mark = DEEP_MARK_NONE};
    bool holds = limit == NULL || deep_limit_holds(limit, value);
    text_copy_cut(measure.name, sizeof(measure.name), name);
    snprintf(measure.value, sizeof(measure.value), value == (double)(int64_t)value ? "%.0f" : "%.2f", value);
    if (limit != NULL) {
        deep_limit_text(limit, measure.limit);
        measure.mark = holds ? DEEP_MARK_OK : DEEP_MARK_FAILED;
    }
    add_measure(bench, &measure);
    return holds;
}

void deep_log(struct deep_bench *bench, const char *level, const char *fmt, ...)
{
    char at[CLOCK_TEXT_MAX];
    clock_format(bench_wall_ms(), at);
    snprintf(at + strcspn(at, "."), 2, "Z"); /* HyperPod's are to the second */
    va_list ap;
    va_start(ap, fmt);
    text_printf(&bench->log, "%s %s ", at, level);
    text_vprintf(&bench->log, fmt, ap);
    va_end(ap);
    text_add_char(&bench->log, '\n');
}

void deep_log_raw(struct deep_bench *bench, const char *lines)
{
    text_add(&bench->log, lines);
    if (lines[0] != '\0' && !text_ends_with(lines, "\n"))
        text_add_char(&bench->log, '\n');
}

void bench_keep_log(const struct deep_bench *bench)
{
    int fd = open(bench->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (fd < 0)
        return;
    if (lseek(fd, 0, SEEK_END) > LOG_KEPT_MAX) {
        autofree char *aside = own_printf("%s.1", bench->log_path);
        (void)rename(bench->log_path, aside);
    }
    ssize_t ignored = write(fd, text_get(&bench->log), bench->log.len);
    (void)ignored;
    close(fd);
}
