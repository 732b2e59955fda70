/* What Prometheus gets: the last run of each check, on the loopback only, and nothing for clients that misbehave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/node/metric_help.h"
#include "agents/node/metrics.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/status.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 60000

static int call(const struct metrics *metrics)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)metrics_port(metrics))};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

/* Until the other side hangs up. */
static char *hear_all(struct metrics *metrics, int fd)
{
    struct text text = {0};
    char data[4096];
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
    for (;;) {
        struct pollfd one = {.fd = fd, .events = POLLIN};
        metrics_turn(metrics);
        assert_true(clock_mono_ms(clock_system()) < until);
        if (poll(&one, 1, 10) <= 0)
            continue;
        ssize_t n = read(fd, data, sizeof(data));
        if (n <= 0)
            break;
        text_add_bytes(&text, data, (size_t)n);
    }
    close(fd);
    return text_take(&text);
}

static char *ask(struct metrics *metrics, const char *request)
{
    int fd = call(metrics);
    assert_int_equal(write(fd, request, strlen(request)), strlen(request));
    return hear_all(metrics, fd);
}

static void measure(const struct check_context *context, struct check_out *out)
{
    (void)context;
    check_value(out, "holdfast_b", "", 2);
    check_value(out, "holdfast_a", "gpu=\"0\"", 0.5);
    check_found(out, "a.b", "", 1, "found");
}

static void test_what_is_told(void **state)
{
    struct metrics *metrics = NULL;
    const struct check check = {.name = "probe", .run = measure};
    const struct check_context context = {.root = "", .memory = ""};
    struct check_report report;
    (void)state;
    assert_int_equal(metrics_open("127.0.0.1:0", &metrics), 0);
    report_of(&check, &context, &report);
    for (int i = 0; i < 2; i++)
        metrics_note(metrics, &check, &report); /* the later in place of the earlier */
    report_free(&report);
    autofree char *all = ask(metrics, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(text_starts_with(all, "HTTP/1.1 200 OK\r\n"));
    const char *body = strstr(all, "\r\n\r\n") + 4;
    assert_string_equal(body, "# HELP holdfast_check_result How the last run of a check ended; 1 for what it was\n"
                              "# TYPE holdfast_check_result gauge\n"
                              "holdfast_check_result{check=\"probe\",result=\"found\"} 1\n"
                              "# HELP holdfast_check_found Findings of the last run of a check\n"
                              "# TYPE holdfast_check_found gauge\n"
                              "holdfast_check_found{check=\"probe\"} 1\n"
                              "# HELP holdfast_a Measured by a check\n# TYPE holdfast_a untyped\n"
                              "holdfast_a{gpu=\"0\"} 0.5\n"
                              "# HELP holdfast_b Measured by a check\n# TYPE holdfast_b untyped\nholdfast_b 2\n");
    autofree char *other = ask(metrics, "GET / HTTP/1.1\r\n\r\n");
    assert_true(text_starts_with(other, "HTTP/1.1 404 "));
    autofree char *post = ask(metrics, "POST /metrics HTTP/1.1\r\n\r\n");
    assert_true(text_starts_with(post, "HTTP/1.1 404 "));
    metrics_free(metrics);
}

/* Each name of a metric in the sources of the checks. */
static void look_through(const char *path)
{
    autofree char *text = NULL;
    size_t len;
    assert_int_equal(file_read(path, 1 << 20, &text, &len), 0);
    for (const char *at = text; (at = strstr(at, "\"holdfast_")) != NULL;) {
        char name[CHECK_METRIC_MAX_BYTES];
        at++;
        assert_int_equal(text_copy_bytes(name, sizeof(name), at, strcspn(at, "\"{")), 0);
        if (metric_help(name) == NULL)
            fail_msg("%s: %s has no row in agents/node/metric_help.c", path, name);
    }
}

static void test_each_measurement_has_help(void **state)
{
    (void)state;
    DIR *dir = opendir("agents/checks");
    int files = 0;
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        autofree char *path = own_printf("agents/checks/%s", entry->d_name);
        const char *end = strrchr(path, '.');
        if (end != NULL && (strcmp(end, ".c") == 0 || strcmp(end, ".h") == 0)) {
            look_through(path);
            files++;
        }
    }
    closedir(dir);
    assert_true(files > 20);
    assert_string_equal(metric_help("DCGM_FI_DEV_GPU_TEMP")->type, "gauge");
    assert_string_equal(metric_help("node_amazonefa_rdma_read_bytes")->type, "untyped");
    assert_null(metric_help(""));
    assert_null(metric_help("holdfast_nothing"));
}

static bool is_named(const char *name, void *arg)
{
    return text_equal(name, arg);
}

/* A site takes its program away: what it measured last is not what is. */
static void test_what_is_gone_is_not_told(void **state)
{
    struct metrics *metrics = NULL;
    const struct check checks[] = {{.name = "one", .run = measure}, {.name = "two", .run = measure}};
    const struct check_context context = {.root = "", .memory = ""};
    AUTO(text) struct text body = {0};
    char kept[] = "two";
    (void)state;
    assert_int_equal(metrics_open("127.0.0.1:0", &metrics), 0);
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        struct check_report report;
        report_of(&checks[i], &context, &report);
        metrics_note(metrics, &checks[i], &report);
        report_free(&report);
    }
    metrics_forget(metrics, is_named, kept);
    metrics_write(metrics, &body);
    assert_null(strstr(text_get(&body), "one"));
    assert_non_null(strstr(text_get(&body), "holdfast_check_found{check=\"two\"} 1\n"));
    metrics_free(metrics);
}

static void test_clients_that_misbehave(void **state)
{
    struct metrics *metrics = NULL;
    char large[8192];
    int silent[METRICS_CLIENTS_MAX];
    (void)state;
    assert_int_equal(metrics_open("127.0.0.1:0", &metrics), 0);
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    autofree char *nothing = ask(metrics, large);
    assert_string_equal(nothing, "");
    for (size_t i = 0; i < METRICS_CLIENTS_MAX; i++)
        silent[i] = call(metrics);
    metrics_turn(metrics);
    struct pollfd fds[METRICS_FDS_MAX];
    assert_int_equal(metrics_fds(metrics, fds), METRICS_CLIENTS_MAX); /* and no more */
    assert_true(metrics_due_ms(metrics) < INT64_MAX);
    autofree char *late = ask(metrics, "GET /metrics HTTP/1.1\r\n\r\n"); /* once the silent ones were given up */
    assert_true(text_starts_with(late, "HTTP/1.1 200 OK\r\n"));
    for (size_t i = 0; i < METRICS_CLIENTS_MAX; i++)
        close(silent[i]);
    metrics_free(metrics);
}

static void test_the_loopback_only(void **state)
{
    static const char *const bad[] = {"",           "9101",         ":9101",           "[]:9101",
                                      "127.0.0.1",  "127.0.0.1:",   "127.0.0.1:99999", "localhost:9101",
                                      "127.1:9101", "127.0.0.1:-1", "127.0.0.1:9x",    "[::1]9101:127.0.0.1",
                                      "::1:9101",   "[::1:9101",    "[127.0.0.1]:9101"};
    struct metrics *metrics = NULL, *same = NULL;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(metrics_open(bad[i], &metrics), STATUS_INVALID);
    assert_int_equal(metrics_open("127.0.0.1:0", &metrics), 0);
    autofree char *taken = own_printf("127.0.0.1:%d", metrics_port(metrics));
    assert_int_equal(metrics_open(taken, &same), STATUS_IO);
    metrics_free(metrics);
    assert_int_equal(metrics_open("0.0.0.0:0", &metrics), 0); /* for a Prometheus elsewhere, where a person says so */
    assert_true(metrics_port(metrics) > 0);
    metrics_free(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_told),
        cmocka_unit_test(test_what_is_gone_is_not_told),
        cmocka_unit_test(test_each_measurement_has_help),
        cmocka_unit_test(test_clients_that_misbehave),
        cmocka_unit_test(test_the_loopback_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
