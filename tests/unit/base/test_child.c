/* Child processes: what they print, how they end, and that nothing of them is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SH(script) ((const char *const[]){"/bin/sh", "-c", (script), NULL})

static struct child_options usual(void)
{
    return (struct child_options){.timeout_ms = 20000, .out_bytes_max = 1 << 20};
}

static void test_output_and_exit_code(void **state)
{
    static const struct {
        const char *script, *out, *err;
        int exit_code;
    } cases[] = {
        {"printf hello", "hello", "", 0},
        {"printf out; printf err >&2; exit 7", "out", "err", 7},
        {":", "", "", 0},
        {"cat", "", "", 0}, /* stdin is empty, not ours */
        {"kill -9 $$", "", "", 128 + SIGKILL},
        {"kill -TERM $$", "", "", 128 + SIGTERM},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct child_options options = usual();
        struct child_result result;
        assert_int_equal(child_run(SH(cases[i].script), &options, &result), 0);
        assert_string_equal(result.out, cases[i].out);
        assert_int_equal(result.out_len, strlen(cases[i].out));
        assert_string_equal(result.err, cases[i].err);
        assert_int_equal(result.exit_code, cases[i].exit_code);
        assert_false(result.out_cut);
        child_result_free(&result);
    }
}

static void test_arguments_meet_no_shell(void **state)
{
    struct child_options options = usual();
    struct child_result result;
    (void)state;
    const char *const argv[] = {"printf", "%s|", "a b", "$HOME", "; exit 3", "", NULL};
    assert_int_equal(child_run(argv, &options, &result), 0);
    assert_string_equal(result.out, "a b|$HOME|; exit 3||");
    child_result_free(&result);
}

static void test_input_larger_than_a_pipe(void **state)
{
    size_t len = 700000;
    autofree char *input = own_calloc(len + 1, 1);
    struct child_options options = usual();
    struct child_result result;
    (void)state;
    memset(input, 'x', len);
    options.input = input;
    options.input_len = len;
    assert_int_equal(child_run(SH("cat"), &options, &result), 0);
    assert_int_equal(result.out_len, len);
    assert_memory_equal(result.out, input, len);
    child_result_free(&result);
}

static void test_input_that_nobody_reads(void **state)
{
    size_t len = 700000;
    autofree char *input = own_calloc(len, 1);
    struct child_options options = usual();
    struct child_result result;
    (void)state;
    options.input = input;
    options.input_len = len;
    /* no SIGPIPE reaches us: the test would die */
    assert_int_equal(child_run(SH("exec <&-; printf done"), &options, &result), 0);
    assert_string_equal(result.out, "done");
    child_result_free(&result);
}

static void test_output_is_limited(void **state)
{
    struct child_options options = usual();
    struct child_result result;
    (void)state;
    options.out_bytes_max = 1000;
    assert_int_equal(child_run(SH("head -c 300000 /dev/zero; head -c 9000 /dev/zero >&2; exit 5"), &options, &result),
                     0);
    assert_true(result.out_cut);
    assert_int_equal(result.out_len, 1000);
    assert_int_equal(result.exit_code, 5);
    child_result_free(&result);
    options.out_bytes_max = 9;
    assert_int_equal(child_run(SH("printf 123456789"), &options, &result), 0);
    assert_false(result.out_cut);
    child_result_free(&result);
}

/* Waits until all holders of the pipe's other end are gone. */
static bool ends_within(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char byte;
    return poll(&p, 1, ms) == 1 && read(fd, &byte, 1) == 0;
}

static void test_timeout_kills_the_whole_group(void **state)
{
    char fifo[] = "/tmp/holdfast-child-XXXXXX";
    struct child_options options = usual();
    struct child_result result;
    (void)state;
    assert_non_null(mkdtemp(fifo));
    autofree char *path = own_printf("%s/fifo", fifo);
    assert_int_equal(mknod(path, S_IFIFO | 0600, 0), 0);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    autofree char *script = own_printf("exec 9>%s; sleep 1000 & sleep 1000", path);
    options.timeout_ms = 300;
    int64_t start = clock_mono_ms(clock_system());
    assert_int_equal(child_run(SH(script), &options, &result), STATUS_TIMEOUT);
    assert_true(clock_mono_ms(clock_system()) - start < 10000);
    assert_true(ends_within(fd, 10000)); /* both sleeps are dead */
    close(fd);
    assert_int_equal(file_remove_tree(fifo), 0);
}

static void test_a_straggler_does_not_hold_us(void **state)
{
    struct child_options options = usual();
    struct child_result result;
    (void)state;
    int64_t start = clock_mono_ms(clock_system());
    assert_int_equal(child_run(SH("sleep 1000 & printf early"), &options, &result), 0);
    assert_string_equal(result.out, "early");
    assert_true(clock_mono_ms(clock_system()) - start < 15000);
    child_result_free(&result);
}

static void test_what_cannot_run(void **state)
{
    struct child_options options = usual();
    struct child_result result;
    (void)state;
    assert_int_equal(child_run((const char *const[]){"/no/such/program", NULL}, &options, &result), STATUS_NOT_FOUND);
    assert_int_equal(child_run((const char *const[]){"no-such-program-anywhere", NULL}, &options, &result),
                     STATUS_NOT_FOUND);
    assert_int_equal(child_run((const char *const[]){"/etc/passwd", NULL}, &options, &result), STATUS_IO);
    options.directory = "/no/such/directory";
    assert_int_equal(child_run(SH(":"), &options, &result), STATUS_NOT_FOUND);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child of ours is left, dead or alive */
    assert_int_equal(errno, ECHILD);
}

static void test_environment_and_directory(void **state)
{
    struct child_options options = usual();
    struct child_result result;
    char one[] = "ONE=1", *env[] = {one, NULL};
    (void)state;
    options.env = env;
    options.directory = "/usr";
    assert_int_equal(child_run((const char *const[]){"/usr/bin/env", NULL}, &options, &result), 0);
    assert_string_equal(result.out, "ONE=1\n");
    child_result_free(&result);
    assert_int_equal(child_run((const char *const[]){"/bin/pwd", NULL}, &options, &result), 0);
    assert_string_equal(result.out, "/usr\n");
    child_result_free(&result);
}

static void test_no_descriptor_and_no_mask_is_inherited(void **state)
{
    struct child_options options = usual();
    struct child_result result;
    sigset_t all, before;
    (void)state;
    int open_fd = open("/dev/null", O_RDONLY); /* without O_CLOEXEC on purpose */
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    signal(SIGINT, SIG_IGN);
    int status =
        child_run(SH("ls /proc/self/fd | tr '\\n' ' '; grep -E 'Sig(Blk|Ign)' /proc/self/status | grep -o '.......$' | "
                     "tr '\\n' ' '"),
                  &options, &result);
    signal(SIGINT, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(open_fd);
    assert_int_equal(status, 0);
    assert_string_equal(result.out, "0 1 2 3 0000000 0000000 ");
    child_result_free(&result);
}

static int count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static void test_no_descriptor_leaks(void **state)
{
    struct child_options options = usual();
    struct child_result result;
    (void)state;
    int before = count_fds();
    for (int i = 0; i < 5; i++) {
        assert_int_equal(child_run(SH("echo"), &options, &result), 0);
        child_result_free(&result);
        assert_int_equal(child_run((const char *const[]){"/none", NULL}, &options, &result), STATUS_NOT_FOUND);
    }
    assert_int_equal(count_fds(), before);
}

static void *run_some(void *arg)
{
    struct child_options options = usual();
    for (int i = 0; i < 8; i++) {
        struct child_result result;
        if (child_run(SH("cat; printf tail"),
                      &(struct child_options){
                          .input = "head", .input_len = 4, .timeout_ms = options.timeout_ms, .out_bytes_max = 100},
                      &result) != 0)
            return arg;
        bool right = strcmp(result.out, "headtail") == 0;
        child_result_free(&result);
        if (!right)
            return arg;
    }
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t threads[4];
    void *wrong;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_some, &state), 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

static void test_detached(void **state)
{
    char place[] = "/tmp/holdfast-child-XXXXXX";
    pid_t pid = -1;
    uint64_t ticks = 0;
    (void)state;
    assert_non_null(mkdtemp(place));
    autofree char *log = own_printf("%s/log", place), *fifo = own_printf("%s/fifo", place);
    assert_int_equal(mknod(fifo, S_IFIFO | 0600, 0), 0);
    int fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    /* It shows its session, says it is ready by opening the fifo, and lives until it is ended. */
    const char *const argv[] = {"/bin/sh", "-c", "ps -o pid=,sid= -p $$; exec 9>fifo; echo x >&9; exec sleep 1000",
                                NULL};
    assert_int_equal(child_spawn_detached(argv, NULL, place, log, -1, &pid), 0);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char byte[2];
    assert_int_equal(poll(&p, 1, 20000), 1);
    assert_int_equal(read(fd, byte, 2), 2);
    assert_int_equal(child_start_time(pid, &ticks), 0);
    assert_true(child_alive(pid, ticks));
    assert_false(child_alive(pid, ticks + 1));
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1); /* not ours */
    assert_int_equal(getsid(pid), pid);
    struct pollfd end = {.fd = pidfd_open(pid, 0), .events = POLLIN};
    kill(pid, SIGKILL);
    assert_int_equal(poll(&end, 1, 20000), 1);
    close(end.fd);
    assert_false(child_alive(pid, ticks)); /* gone, or a zombie that nobody reaped */
    close(fd);
    assert_int_equal(child_spawn_detached((const char *const[]){"/none", NULL}, NULL, NULL, log, -1, &pid),
                     STATUS_NOT_FOUND);
    assert_int_equal(child_spawn_detached(argv, NULL, place, "/no/such/dir/log", -1, &pid), STATUS_NOT_FOUND);
    assert_int_equal(file_remove_tree(place), 0);
}

static void test_detached_keeps_one_descriptor(void **state)
{
    const char *const argv[] = {"/bin/sh", "-c", "echo kept >&3; echo lost >&4", NULL};
    char data[64] = "";
    size_t len = 0;
    ssize_t n;
    pid_t pid;
    int fds[2];
    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(child_spawn_detached(argv, NULL, NULL, "/dev/null", fds[1], &pid), 0);
    close(fds[1]);
    while ((n = read(fds[0], data + len, sizeof(data) - 1 - len)) > 0)
        len += (size_t)n;
    close(fds[0]);
    assert_string_equal(data, "kept\n");
}

static void test_nobody_is_not_alive(void **state)
{
    uint64_t ticks;
    (void)state;
    assert_int_equal(child_start_time(1 << 30, &ticks), STATUS_NOT_FOUND);
    assert_false(child_alive(1 << 30, 1));
    assert_int_equal(child_start_time(getpid(), &ticks), 0);
    assert_true(child_alive(getpid(), ticks));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_and_exit_code),
        cmocka_unit_test(test_arguments_meet_no_shell),
        cmocka_unit_test(test_input_larger_than_a_pipe),
        cmocka_unit_test(test_input_that_nobody_reads),
        cmocka_unit_test(test_output_is_limited),
        cmocka_unit_test(test_timeout_kills_the_whole_group),
        cmocka_unit_test(test_a_straggler_does_not_hold_us),
        cmocka_unit_test(test_what_cannot_run),
        cmocka_unit_test(test_environment_and_directory),
        cmocka_unit_test(test_no_descriptor_and_no_mask_is_inherited),
        cmocka_unit_test(test_no_descriptor_leaks),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_detached),
        cmocka_unit_test(test_detached_keeps_one_descriptor),
        cmocka_unit_test(test_nobody_is_not_alive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
