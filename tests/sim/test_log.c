/* What an operator finds in hpd's log after a repair, an outage and a flood; and that nothing stands there that is not on disk. */
#include "tests/sim/sim_world.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#define OFF_THE_BUS 79
#define LOG_BYTES_MAX (256 * 1024)

struct capture {
    int saved, ends[2];
    char text[LOG_BYTES_MAX];
};

/* A pipe, because a limit on files must not limit it. */
static void capture_begin(struct capture *capture)
{
    assert_int_equal(pipe2(capture->ends, O_NONBLOCK), 0);
    assert_true(fcntl(capture->ends[1], F_SETPIPE_SZ, LOG_BYTES_MAX) > 0);
    capture->saved = dup(STDERR_FILENO);
    assert_true(dup2(capture->ends[1], STDERR_FILENO) >= 0);
    log_set_level(LOG_LEVEL_INFO);
}

static void capture_end(struct capture *capture)
{
    log_set_level(LOG_LEVEL_ERROR + 1);
    assert_true(dup2(capture->saved, STDERR_FILENO) >= 0);
    close(capture->saved);
    ssize_t len = read(capture->ends[0], capture->text, sizeof(capture->text) - 1);
    capture->text[len > 0 ? len : 0] = '\0';
    close(capture->ends[0]);
    close(capture->ends[1]);
}

static int lines_with(const struct capture *capture, const char *level, const char *part)
{
    int count = 0;
    for (const char *at = capture->text; *at != '\0';) {
        const char *end = strchr(at, '\n');
        assert_non_null(end);
        autofree char *line = own_printf("%.*s", (int)(end - at), at);
        count += strstr(line, level) != NULL && strstr(line, part) != NULL;
        at = end + 1;
    }
    return count;
}

static void a_repair_is_logged(void **state)
{
    static struct capture capture;
    struct sim sim;
    (void)state;
    sim_open(&sim, 81, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    capture_begin(&capture);
    sim_verdict(&sim, "gpu-1", 31, SEVERITY_WARN); /* asks for nothing */
    sim_run(&sim, MS_PER_MIN);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, 20 * MS_PER_MIN);
    capture_end(&capture);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    assert_int_equal(lines_with(&capture, " warn ", "event=decision cluster=west group="), 1);
    assert_int_equal(lines_with(&capture, " info ", "event=operation-started"), 1);
    assert_int_equal(lines_with(&capture, " info ", "event=operation-succeeded"), 1);
    assert_int_equal(lines_with(&capture, "", "node=gpu-1"), 3);
    assert_int_equal(lines_with(&capture, "", ""), 3);
    sim_close(&sim);
}

static void an_outage_of_the_scheduler_is_logged(void **state)
{
    static struct capture capture;
    struct sim sim;
    (void)state;
    sim_open(&sim, 82, true);
    sim_create(&sim, 4, NODE_RECOVERY_NONE);
    sim_run(&sim, MS_PER_MIN);
    capture_begin(&capture);
    sim.scheduler.down = true;
    sim_run(&sim, 10 * MS_PER_MIN);
    sim.scheduler.down = false;
    sim_run(&sim, MS_PER_MIN);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, MS_PER_MIN);
    capture_end(&capture);
    assert_int_equal(lines_with(&capture, " error ", "event=scheduler-down cluster=west"), 1);
    assert_int_equal(lines_with(&capture, " info ", "event=scheduler-back"), 1);
    assert_int_equal(lines_with(&capture, " warn ", "ready -> held"), 1);
    sim_close(&sim);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void nothing_is_logged_that_is_not_on_disk(void **state)
{
    static struct capture full, after;
    struct sim sim;
    (void)state;
    sim_open(&sim, 83, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    (void)signal(SIGXFSZ, SIG_IGN);
    capture_begin(&full);
    limit_files(0);
    sim.check = false;
    sim_run(&sim, 2 * MS_PER_MIN);
    limit_files(RLIM_INFINITY);
    capture_end(&full);
    capture_begin(&after);
    sim_run(&sim, MS_PER_MIN);
    capture_end(&after);
    assert_true(lines_with(&full, " error ", "the store takes no writes") > 0);
    assert_int_equal(lines_with(&full, "", "event="), 0);
    assert_int_equal(lines_with(&after, " warn ", "event=decision"), 1);
    sim_close(&sim);
}

/* A hundred machines are made at once: some of it is logged, and how much is not. */
static void a_flood_is_counted(void **state)
{
    static struct capture capture;
    struct sim sim;
    (void)state;
    sim_open(&sim, 84, false);
    capture_begin(&capture);
    sim_create(&sim, 100, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    capture_end(&capture);
    int64_t told = lines_with(&capture, " info ", "event=operation-"), left_out = 0, count;
    for (const char *at = capture.text; (at = strstr(at, "at once; ")) != NULL;) {
        at += strlen("at once; ");
        autofree char *number = own_printf("%.*s", (int)strspn(at, "0123456789"), at);
        assert_int_equal(text_parse_i64(number, 1, INT32_MAX, &count), 0);
        left_out += count;
    }
    assert_true(left_out > 0);
    assert_int_equal(told + left_out, 201); /* each begins and ends, and the creation ends */
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_repair_is_logged),
        cmocka_unit_test(an_outage_of_the_scheduler_is_logged),
        cmocka_unit_test(nothing_is_logged_that_is_not_on_disk),
        cmocka_unit_test(a_flood_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
