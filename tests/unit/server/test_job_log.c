/* Logs of jobs: the place where people's questions wait for who reads them, what a container wrote made harmless, and where Slurm's jobs write to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/live/job_log.h"
#include "server/scheduler/kubernetes/private.h"
#include "server/scheduler/slurm/job_log.h"

#include <pthread.h>
#include <string.h>

static const struct job_log_ask a_rank = {.scheduler = "east", .job = "default/llama", .rank = 1, .lines = 200};

static void answer(struct job_logs *logs, const char *text, int64_t now)
{
    struct job_log_ask ask;
    struct job_log log = {.source = "llama-pods-1", .text = own_strdup(text), .read_at = 5};
    assert_true(job_logs_next(logs, "east", &ask));
    assert_string_equal(ask.job, "default/llama");
    assert_int_equal(ask.rank, 1);
    job_logs_answer(logs, &ask, 0, &log, "", now);
    assert_null(log.text);
}

static void expect_text(struct job_logs *logs, int64_t now, const char *text)
{
    enum job_log_state state;
    struct job_log log = {0};
    char error[JOB_LOG_ERROR_MAX];
    assert_int_equal(job_logs_ask(logs, &a_rank, now, &state, &log, error), 0);
    assert_int_equal(state, text == NULL ? JOB_LOG_ASKED : JOB_LOG_READ);
    if (text != NULL)
        assert_string_equal(log.text, text);
    free(log.text);
}

static void test_what_is_asked_is_read_once_and_stays_for_who_comes_late(void **state)
{
    (void)state;
    struct job_logs *logs = job_logs_new();
    job_logs_serve(logs, "east");
    expect_text(logs, 1000, NULL);
    expect_text(logs, 1100, NULL);
    answer(logs, "one\n", 1200);
    expect_text(logs, 31000, "one\n"); /* who asked comes back late */
    expect_text(logs, 31001, NULL);    /* and then it is old */
    answer(logs, "two\n", 32000);
    expect_text(logs, 32500, "two\n");
    expect_text(logs, 33500, "two\n"); /* fresh, for another one */
    expect_text(logs, 34100, NULL);
    answer(logs, "three\n", 35000);
    expect_text(logs, 95000, NULL); /* nobody came for it within a minute */
    job_logs_free(logs);
}

static void test_what_failed_says_why(void **state)
{
    (void)state;
    struct job_log_ask ask, other = a_rank;
    enum job_log_state at;
    struct job_log log = {0};
    char error[JOB_LOG_ERROR_MAX];
    struct job_logs *logs = job_logs_new();
    assert_int_equal(job_logs_ask(logs, &a_rank, 1, &at, &log, error), STATUS_UNSUPPORTED);
    job_logs_serve(logs, "east");
    expect_text(logs, 1, NULL);
    assert_true(job_logs_next(logs, "east", &ask));
    job_logs_answer(logs, &ask, STATUS_NOT_FOUND, NULL, "the pod is gone", 2);
    assert_int_equal(job_logs_ask(logs, &a_rank, 3, &at, &log, error), STATUS_NOT_FOUND);
    assert_string_equal(error, "the pod is gone");
    int status = 0;
    for (other.rank = 2; other.rank < 1000 && status == 0; other.rank++)
        status = job_logs_ask(logs, &other, 4, &at, &log, error);
    assert_int_equal(status, STATUS_FULL);
    assert_int_equal(job_logs_ask(logs, &other, 70000, &at, &log, error), 0); /* what nobody read is dropped */
    job_logs_free(logs);
}

static void *read_all(void *arg)
{
    struct job_logs *logs = arg;
    struct job_log_ask ask;
    while (job_logs_next(logs, "east", &ask)) {
        struct job_log log = {.text = own_printf("rank %lld", (long long)ask.rank)};
        job_logs_answer(logs, &ask, 0, &log, "", 10);
    }
    return NULL;
}

static void test_a_reader_on_its_own_thread(void **state)
{
    (void)state;
    pthread_t thread;
    struct job_logs *logs = job_logs_new();
    job_logs_serve(logs, "east");
    assert_int_equal(pthread_create(&thread, NULL, read_all, logs), 0);
    for (int rank = 0; rank < 20; rank++) {
        struct job_log_ask ask = a_rank;
        enum job_log_state at = JOB_LOG_ASKED;
        struct job_log log = {0};
        char error[JOB_LOG_ERROR_MAX];
        ask.rank = rank;
        while (at != JOB_LOG_READ)
            assert_int_equal(job_logs_ask(logs, &ask, 10, &at, &log, error), 0);
        autofree char *want = own_printf("rank %d", rank);
        assert_string_equal(log.text, want);
        free(log.text);
    }
    job_logs_stop(logs);
    pthread_join(thread, NULL);
    job_logs_free(logs);
}

static void test_what_a_container_wrote_becomes_harmless_lines(void **state)
{
    (void)state;
    static const char wrote[] = "step 1\r\n10%\r20%\n\x1b[31mred\xff\n\xe2\x80\xae"
                                "evil\nno end";
    autofree char *lines = kube_log_lines(wrote, strlen(wrote));
    assert_string_equal(lines, "step 1\n10%\n20%\n [31mred?\n?evil\nno end\n");
    autofree char *none = kube_log_lines("", 0);
    assert_string_equal(none, "");
}

/* A kubelet: the last lines, cut behind so many bytes. */
struct kubelet {
    const char *log;
    int requests;
};

static int kubelet_get(void *arg, int64_t lines, char **ret_bytes, size_t *ret_len)
{
    struct kubelet *kubelet = arg;
    const char *at = kubelet->log + strlen(kubelet->log);
    for (int64_t left = lines + 1; at > kubelet->log; at--)
        if (at[-1] == '\n' && --left == 0)
            break;
    size_t len = strlen(at);
    *ret_len = len > JOB_LOG_BYTES_MAX ? JOB_LOG_BYTES_MAX : len;
    *ret_bytes = own_calloc(*ret_len + 1, 1);
    memcpy(*ret_bytes, at, *ret_len);
    kubelet->requests++;
    return 0;
}

static void expect_log(const char *wrote, const struct job_log_ask *ask, const char *lines, const char *last, bool cut)
{
    struct kubelet kubelet = {.log = wrote};
    struct job_log log = {0};
    assert_int_equal(kube_log_read(ask, kubelet_get, &kubelet, &log), 0);
    assert_string_equal(log.text, lines);
    assert_string_equal(log.last, last);
    assert_int_equal(log.cut, cut);
    free(log.text);
}

#define AT(ns) "2026-11-20T15:02:11.00000000" ns "Z"

static void test_the_times_of_lines_are_taken_off_and_say_what_is_new(void **state)
{
    (void)state;
    static const char wrote[] = AT("1") " a\n" AT("2") " \n" AT("3") " 10%\r20%\n";
    struct job_log_ask ask = {.lines = 10};
    expect_log(wrote, &ask, "a\n\n10%\n20%\n", AT("3"), false);
    text_copy(ask.after, sizeof(ask.after), AT("1"));
    expect_log(wrote, &ask, "\n10%\n20%\n", AT("3"), false);
    text_copy(ask.after, sizeof(ask.after), AT("3"));
    expect_log(wrote, &ask, "", AT("3"), false);
    expect_log("", &ask, "", AT("3"), false);
    ask.lines = 2; /* as many came as were asked for, and all are new: others may lie between */
    text_copy(ask.after, sizeof(ask.after), AT("1"));
    expect_log(wrote, &ask, "\n10%\n20%\n", AT("3"), true);
    ask.lines = 3;
    expect_log(wrote, &ask, "\n10%\n20%\n", AT("3"), false);
    expect_log("no time\n", &ask, "no time\n", AT("1"), false);
    expect_log("2026-11-20T15:02:11 is none\n", &ask, "2026-11-20T15:02:11 is none\n", AT("1"), false);
}

static void test_the_newest_of_long_lines_are_shown(void **state)
{
    (void)state;
    struct text wrote AUTO(text) = {0};
    autofree char *blank = own_calloc(40001, 1), *longer = own_calloc(JOB_LOG_BYTES_MAX + 1, 1);
    memset(blank, '.', 40000);
    for (int i = 0; i < 200; i++)
        text_printf(&wrote, "%s %d %s\n", AT("1"), i, i < 150 ? blank : "");
    text_printf(&wrote, "%s the newest\n", AT("2"));
    struct kubelet kubelet = {.log = text_get(&wrote)};
    struct job_log log = {0};
    assert_int_equal(kube_log_read(&(struct job_log_ask){.lines = 200}, kubelet_get, &kubelet, &log), 0);
    size_t len = strlen(log.text);
    assert_true(len > strlen("the newest\n") && len < JOB_LOG_BYTES_MAX);
    assert_string_equal(log.text + len - strlen("199 \nthe newest\n"), "199 \nthe newest\n");
    assert_string_equal(log.last, AT("2"));
    assert_true(log.cut);
    assert_in_range(kubelet.requests, 2, 8);
    free(log.text);
    memset(longer, 'x', JOB_LOG_BYTES_MAX);
    text_clear(&wrote);
    text_printf(&wrote, "%s small\n%s %s\n", AT("1"), AT("2"), longer);
    struct kubelet other = {.log = text_get(&wrote)};
    assert_int_equal(kube_log_read(&(struct job_log_ask){.lines = 200}, kubelet_get, &other, &log), 0);
    assert_int_equal(log.text[0], 'x'); /* its beginning, and not the one before it */
    assert_true(log.cut);
    free(log.text);
}

static void test_where_a_job_of_slurm_writes(void **state)
{
    (void)state;
    static const char batch[] =
        "JobId=82 JobName=train\n   UserId=ann(1000)\n   BatchHost=gpu-1\n   StdErr=/fsx/ann/82.err\n"
        "   StdIn=/dev/null\n   StdOut=/fsx/ann/my run/82.out\n   Power=\n\nJobId=83 JobName=b\n   StdOut=/b\n";
    struct job_log log = {0};
    assert_int_equal(slurm_parse_job_log(batch, &log), 0);
    assert_string_equal(log.node, "gpu-1");
    assert_string_equal(log.path, "/fsx/ann/my run/82.out");
    struct job_log none = {0};
    assert_int_equal(slurm_parse_job_log("JobId=84 JobName=x StdOut=/etc/shadow\n   BatchHost=gpu-2\n", &none),
                     STATUS_NOT_FOUND);
    struct job_log hostile = {0};
    assert_int_equal(
        slurm_parse_job_log("JobId=85 JobName=a\n   StdOut=/etc/passwd\n   StdOut=/home/b/85.out\n", &hostile), 0);
    assert_string_equal(hostile.path, "/home/b/85.out");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_asked_is_read_once_and_stays_for_who_comes_late),
        cmocka_unit_test(test_what_failed_says_why),
        cmocka_unit_test(test_a_reader_on_its_own_thread),
        cmocka_unit_test(test_what_a_container_wrote_becomes_harmless_lines),
        cmocka_unit_test(test_the_times_of_lines_are_taken_off_and_say_what_is_new),
        cmocka_unit_test(test_the_newest_of_long_lines_are_shown),
        cmocka_unit_test(test_where_a_job_of_slurm_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
