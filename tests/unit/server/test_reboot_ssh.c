/*
 * Reboots over SSH against a real sshd (tests/support/sshd-lab): the command runs once and only in the boot that is to end; what fails
 * before has done nothing, and what breaks off after may have. Skipped where sshd is not installed.
 */
#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/reboot/ssh.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LAB "tests/support/sshd-lab"
#define BOOT "8d0a4f7e-1111-4222-8333-444455556666"

static char dir[] = "/tmp/holdfast-reboot-ssh-XXXXXX";
static bool started;
static char key[96], known_hosts[96], boot_file[96], done_file[96], user[64];
static char error[REBOOT_ERROR_MAX];
static int port;

static int lab(const char *verb)
{
    const char *const argv[] = {LAB, verb, dir, NULL};
    struct child_options how = {.timeout_ms = 60000, .out_bytes_max = 4096};
    struct child_result result = {0};
    int status = child_run(argv, &how, &result);
    int code = status != 0 ? -1 : result.exit_code;
    child_result_free(&result);
    return code;
}

static void write_text(const char *path, const char *text)
{
    assert_int_equal(file_write(path, text, strlen(text), 0600), 0);
}

static int start(void **state)
{
    const struct passwd *us = getpwuid(geteuid());
    (void)state;
    if (access("/usr/sbin/sshd", X_OK) != 0 || us == NULL)
        return 0;
    if (mkdtemp(dir) == NULL || lab("start") != 0)
        return -1;
    started = true;
    snprintf(user, sizeof(user), "%s", us->pw_name);
    snprintf(key, sizeof(key), "%s/key", dir);
    snprintf(known_hosts, sizeof(known_hosts), "%s/known_hosts", dir);
    snprintf(boot_file, sizeof(boot_file), "%s/boot_id", dir);
    snprintf(done_file, sizeof(done_file), "%s/done", dir);
    autofree char *file = own_printf("%s/port", dir), *text = NULL;
    if (file_read(file, 16, &text, NULL) != 0)
        return -1;
    int64_t number;
    text[strcspn(text, "\n")] = '\0';
    if (text_parse_i64(text, 1, UINT16_MAX, &number) != 0)
        return -1;
    port = (int)number;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    if (!started)
        return 0;
    lab("stop");
    return file_remove_tree(dir);
}

static int each(void **state)
{
    (void)state;
    if (!started)
        return 0;
    autofree char *text = own_printf("%s\n", BOOT);
    write_text(boot_file, text);
    (void)unlink(done_file);
    error[0] = '\0';
    return 0;
}

static struct reboot_ssh_options options(const char *command)
{
    return (struct reboot_ssh_options){.address = "%a",
                                       .port = port,
                                       .user = user,
                                       .key_file = key,
                                       .known_hosts = known_hosts,
                                       .command = command,
                                       .boot_id_file = boot_file,
                                       .timeout_ms = 10000};
}

static int reboot_with(const struct reboot_ssh_options *how, const char *boot_id)
{
    const struct reboot_target target = {.node = "n-1",
                                         .instance_id = "i-1",
                                         .ref = "",
                                         .address = "127.0.0.1",
                                         .bmc = "",
                                         .boot_id = boot_id,
                                         .key = "o/1"};
    struct reboot_driver driver = reboot_ssh_new(how);
    int status = driver.ops->reboot(driver.self, &target, REBOOT_METHOD_SSH, error);
    driver.ops->free(driver.self);
    return status;
}

/* What the command below left: how often it ran. */
static size_t runs(void)
{
    autofree char *text = NULL;
    size_t len = 0;
    return file_read(done_file, 4096, &text, &len) == 0 ? len : 0;
}

static void the_command_runs_in_the_boot_that_is_to_end(void **state)
{
    (void)state;
    if (!started)
        skip();
    autofree char *command = own_printf("printf x >>%s", done_file);
    const struct reboot_ssh_options how = options(command);
    assert_int_equal(reboot_with(&how, BOOT), 0);
    assert_int_equal(runs(), 1);
}

static void another_boot_is_left_alone(void **state)
{
    (void)state;
    if (!started)
        skip();
    autofree char *command = own_printf("printf x >>%s", done_file);
    const struct reboot_ssh_options how = options(command);
    write_text(boot_file, "0a0a0a0a-1111-4222-8333-444455556666\n");
    assert_int_equal(reboot_with(&how, BOOT), STATUS_CONFLICT);
    assert_non_null(strstr(error, "127.0.0.1 runs the boot 0a0a0a0a-"));
    assert_int_equal(reboot_with(&how, ""), STATUS_INVALID);
    (void)unlink(boot_file);
    assert_int_equal(reboot_with(&how, BOOT), STATUS_BACKEND);
    assert_int_equal(runs(), 0);
}

/* The guard runs on the machine, too: between the two commands it may have rebooted. */
static void a_boot_that_ends_between_the_commands_is_not_ended_twice(void **state)
{
    (void)state;
    if (!started)
        skip();
    autofree char *fifo = own_printf("%s/fifo", dir), *command = own_printf("printf x >>%s", done_file);
    struct reboot_ssh_options how = options(command);
    how.boot_id_file = fifo;
    assert_int_equal(mkfifo(fifo, 0600), 0);
    pid_t writer = fork();
    if (writer == 0) { /* each reader gets one line, the second another one */
        for (int i = 0; i < 2; i++) {
            int fd = open(fifo, O_WRONLY);
            const char *line = i == 0 ? BOOT "\n" : "other\n";
            if (fd < 0 || write(fd, line, strlen(line)) < 0)
                _exit(1);
            close(fd);
            poll(NULL, 0, 200); /* the first reader has seen the end of it by then */
        }
        _exit(0);
    }
    assert_true(writer > 0);
    assert_int_equal(reboot_with(&how, BOOT), STATUS_BACKEND);
    assert_non_null(strstr(error, "it has another boot"));
    assert_int_equal(runs(), 0);
    kill(writer, SIGKILL);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
}

static void a_command_that_fails_says_why(void **state)
{
    (void)state;
    if (!started)
        skip();
    const struct reboot_ssh_options how =
        options("echo first >&2; echo 'Interactive authentication required.' >&2; exit 4");
    assert_int_equal(reboot_with(&how, BOOT), STATUS_BACKEND);
    assert_string_equal(error, "127.0.0.1: the command ended with exit code 4: Interactive authentication required.");
}

static void what_breaks_off_may_have_been_done(void **state)
{
    (void)state;
    if (!started)
        skip();
    struct reboot_ssh_options how = options("sleep 5");
    how.timeout_ms = 1500;
    assert_int_equal(reboot_with(&how, BOOT), STATUS_TIMEOUT);
    how = options("kill -KILL $PPID");
    int status = reboot_with(&how, BOOT);
    assert_true(status == STATUS_TIMEOUT || status == STATUS_BACKEND);
}

static void who_is_not_known_is_not_asked(void **state)
{
    (void)state;
    if (!started)
        skip();
    autofree char *command = own_printf("printf x >>%s", done_file), *empty = own_printf("%s/empty", dir);
    struct reboot_ssh_options how = options(command);
    write_text(empty, "");
    how.known_hosts = empty;
    assert_int_equal(reboot_with(&how, BOOT), STATUS_DENIED);
    how = options(command);
    how.port = 1;
    assert_int_equal(reboot_with(&how, BOOT), STATUS_UNAVAILABLE);
    how = options(command);
    how.address = "%a; id";
    assert_int_not_equal(reboot_with(&how, BOOT), 0);
    assert_int_equal(runs(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_command_runs_in_the_boot_that_is_to_end, each),
        cmocka_unit_test_setup(another_boot_is_left_alone, each),
        cmocka_unit_test_setup(a_boot_that_ends_between_the_commands_is_not_ended_twice, each),
        cmocka_unit_test_setup(a_command_that_fails_says_why, each),
        cmocka_unit_test_setup(what_breaks_off_may_have_been_done, each),
        cmocka_unit_test_setup(who_is_not_known_is_not_asked, each),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
