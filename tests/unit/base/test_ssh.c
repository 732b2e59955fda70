/*
 * Commands over SSH against a real sshd (tests/support/sshd-lab): output, exit codes, limits, deadlines, connections used
 * again, host keys that are unknown or others, keys that nobody lets in, an agent. Skipped where sshd is not installed.
 */
#include "base/ssh.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define LAB "tests/support/sshd-lab"
#define TIMEOUT_MS 30000
#define OUT_MAX 65536

static char dir[] = "/tmp/holdfast-ssh-XXXXXX";
static bool started;
static char key[64], known_hosts[64], user[64];
static struct ssh_options options;
static char error[SSH_ERROR_MAX];
static int64_t agent_pid; /* 0: none */

static int run_here(const char *const argv[], char **ret_out)
{
    struct child_options how = {.timeout_ms = 60000, .out_bytes_max = OUT_MAX};
    struct child_result result = {0};
    if (child_run(argv, &how, &result) != 0)
        return -1;
    if (result.exit_code != 0)
        print_message("%s: %d %s\n", argv[0], result.exit_code, result.err);
    if (ret_out != NULL)
        *ret_out = TAKE(result.out);
    int code = result.exit_code;
    child_result_free(&result);
    return code;
}
#define RUN(...) assert_int_equal(run_here((const char *[]){__VA_ARGS__, NULL}, NULL), 0)

static int read_port(void)
{
    autofree char *file = own_printf("%s/port", dir), *text = NULL;
    size_t len;
    int64_t port;
    if (file_read(file, 16, &text, &len) != 0)
        return -1;
    text[strcspn(text, "\n")] = '\0';
    return text_parse_i64(text, 1, UINT16_MAX, &port) == 0 ? (int)port : -1;
}

static int start_lab(void **state)
{
    (void)state;
    const struct passwd *us = getpwuid(geteuid());
    if (access("/usr/sbin/sshd", X_OK) != 0 || us == NULL)
        return 0;
    if (mkdtemp(dir) == NULL || run_here((const char *[]){LAB, "start", dir, NULL}, NULL) != 0)
        return -1;
    started = true;
    snprintf(user, sizeof(user), "%s", us->pw_name);
    snprintf(key, sizeof(key), "%s/key", dir);
    snprintf(known_hosts, sizeof(known_hosts), "%s/known_hosts", dir);
    options = (struct ssh_options){
        .host = "127.0.0.1", .user = user, .port = read_port(), .key_file = key, .known_hosts = known_hosts};
    return 0;
}

static int stop_lab(void **state)
{
    (void)state;
    if (!started)
        return 0;
    if (agent_pid > 0)
        kill((pid_t)agent_pid, SIGTERM);
    run_here((const char *[]){LAB, "stop", dir, NULL}, NULL);
    return file_remove_tree(dir);
}

static void need_lab(void)
{
    if (!started)
        skip();
}

/* The exit code, or a status; what it said in *ret_out. */
static int say(struct ssh *ssh, const char *command, char **ret_out)
{
    struct child_result result = {0};
    int status = ssh_run(ssh, command, TIMEOUT_MS, OUT_MAX, &result, error);
    if (status == 0 && ret_out != NULL)
        *ret_out = TAKE(result.out);
    int code = result.exit_code;
    child_result_free(&result);
    return status != 0 ? status : code;
}

static void test_output_and_exit_code(void **state)
{
    (void)state;
    need_lab();
    struct ssh *ssh = ssh_new(&options);
    struct child_result result = {0};
    assert_int_equal(ssh_run(ssh, "printf out; printf err >&2; exit 7", TIMEOUT_MS, OUT_MAX, &result, error), 0);
    assert_string_equal(error, "");
    assert_int_equal(result.exit_code, 7);
    assert_string_equal(result.out, "out");
    assert_string_equal(result.err, "err");
    assert_false(result.out_cut);
    child_result_free(&result);
    assert_int_equal(say(ssh, "kill -TERM $$", NULL), 128);
    ssh_free(ssh);
}

static void test_words_arrive_as_they_are(void **state)
{
    (void)state;
    need_lab();
    struct ssh *ssh = ssh_new(&options);
    const char *const argv[] = {"printf", "%s|", "a b", "it's", "$(id)`id`", "\\n\"*", "", "-x;y\nz", NULL};
    autofree char *command = ssh_quote(argv), *out = NULL;
    assert_int_equal(say(ssh, command, &out), 0);
    assert_string_equal(out, "a b|it's|$(id)`id`|\\n\"*||-x;y\nz|");
    ssh_free(ssh);
}

static void test_connections_are_used_again(void **state)
{
    (void)state;
    need_lab();
    struct ssh *ssh = ssh_new(&options);
    char *first = NULL, *second = NULL;
    assert_int_equal(say(ssh, "echo $SSH_CONNECTION", &first), 0);
    assert_int_equal(say(ssh, "echo $SSH_CONNECTION", &second), 0);
    assert_string_equal(first, second);
    free(TAKE(second));
    /* sshd's process of this session goes: the next command has a new one, and nobody notices */
    assert_int_equal(say(ssh, "kill -KILL $PPID", NULL) < 0, 1);
    assert_int_equal(say(ssh, "echo $SSH_CONNECTION", &second), 0);
    assert_string_not_equal(first, second);
    free(first);
    free(second);
    ssh_free(ssh);
}

static void test_a_server_that_started_anew(void **state)
{
    (void)state;
    need_lab();
    struct ssh *ssh = ssh_new(&options);
    assert_int_equal(say(ssh, "true", NULL), 0);
    RUN(LAB, "stop", dir);
    assert_int_equal(say(ssh, "true", NULL), STATUS_UNAVAILABLE);
    assert_non_null(strstr(error, "127.0.0.1 port"));
    RUN(LAB, "start", dir);
    options.port = read_port();
    ssh_free(ssh);
    ssh = ssh_new(&options);
    assert_int_equal(say(ssh, "true", NULL), 0);
    ssh_free(ssh);
}

static void test_limits(void **state)
{
    (void)state;
    need_lab();
    struct ssh *ssh = ssh_new(&options);
    struct child_result result = {0};
    assert_int_equal(ssh_run(ssh, "head -c 300000 /dev/zero | tr '\\0' x; head -c 9000 /dev/zero | tr '\\0' y >&2",
                             TIMEOUT_MS, 1000, &result, error),
                     0);
    assert_true(result.out_cut);
    assert_int_equal(result.out_len, 1000);
    assert_int_equal(strlen(result.err), CHILD_ERR_BYTES_MAX - 1);
    child_result_free(&result);
    int64_t before = clock_mono_ms(clock_system());
    assert_int_equal(ssh_run(ssh, "sleep 20", 700, OUT_MAX, &result, error), STATUS_TIMEOUT);
    assert_true(clock_mono_ms(clock_system()) - before < 15000);
    before = clock_mono_ms(clock_system());
    assert_int_equal(ssh_run(ssh, "timeout 20 yes", 700, 1000, &result, error), STATUS_TIMEOUT); /* never pauses */
    assert_true(clock_mono_ms(clock_system()) - before < 15000);
    assert_int_equal(say(ssh, "true", NULL), 0);
    ssh_free(ssh);
}

static void refused(struct ssh_options changed, int status, const char *says)
{
    struct ssh *ssh = ssh_new(&changed);
    int got = say(ssh, "true", NULL);
    if (got != status || strstr(error, says) == NULL)
        fail_msg("%d \"%s\" instead of %d \"%s\"", got, error, status, says);
    ssh_free(ssh);
}

static void test_host_keys(void **state)
{
    (void)state;
    need_lab();
    autofree char *empty = own_printf("%s/empty", dir), *other = own_printf("%s/other", dir),
                  *ecdsa = own_printf("%s/only-ecdsa", dir), *missing = own_printf("%s/missing", dir);
    autofree char *make =
        own_printf("cd %s && : >empty && printf '[127.0.0.1]:%d %%s\\n' \"$(cut -d' ' -f1,2 key.pub)\" >other"
                   " && printf '[127.0.0.1]:%d %%s\\n' \"$(cut -d' ' -f1,2 host-ecdsa.pub)\" >only-ecdsa",
                   dir, options.port, options.port);
    autofree char *print = NULL;
    RUN("sh", "-c", make);
    autofree char *host_key = own_printf("%s/host-ed25519.pub", dir);
    assert_int_equal(run_here((const char *[]){"ssh-keygen", "-l", "-f", host_key, NULL}, &print), 0);
    char *sha = strstr(print, "SHA256:");
    assert_non_null(sha);
    sha[strcspn(sha, " ")] = '\0';
    struct ssh_options changed = options;
    changed.known_hosts = empty;
    refused(changed, STATUS_DENIED, sha); /* as ssh-keygen writes it, so that it can be compared */
    refused(changed, STATUS_DENIED, "ssh-keyscan");
    changed.known_hosts = other;
    refused(changed, STATUS_DENIED, "another one");
    changed.known_hosts = missing;
    refused(changed, STATUS_IO, "cannot be read");
    changed.known_hosts = ecdsa; /* the kind that the server would not show first */
    struct ssh *ssh = ssh_new(&changed);
    if (say(ssh, "true", NULL) != 0)
        fail_msg("%s", error);
    ssh_free(ssh);
}

static void test_who_is_let_in(void **state)
{
    (void)state;
    need_lab();
    autofree char *stranger = own_printf("%s/stranger", dir), *missing = own_printf("%s/missing", dir);
    RUN("ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", stranger);
    struct ssh_options changed = options;
    changed.key_file = stranger;
    refused(changed, STATUS_DENIED, "our key");
    assert_int_equal(chmod(stranger, 0644), 0);
    refused(changed, STATUS_DENIED, "chmod 600");
    changed.key_file = missing;
    refused(changed, STATUS_IO, "cannot be read");
    changed = options;
    changed.user = "nobody-of-this-name";
    refused(changed, STATUS_DENIED, "our key");
    changed = options;
    changed.port = 1;
    refused(changed, STATUS_UNAVAILABLE, "port 1");
    changed.host = "no-such-host.invalid";
    refused(changed, STATUS_UNAVAILABLE, "cannot be found");
}

static void test_agent(void **state)
{
    (void)state;
    need_lab();
    autofree char *socket = own_printf("%s/agent", dir), *out = NULL, *pid = NULL;
    autofree char *start = own_printf("ssh-agent -a %s | sed -n 's/.*SSH_AGENT_PID=\\([0-9]*\\);.*/\\1/p'", socket);
    autofree char *add = own_printf("SSH_AUTH_SOCK=%s ssh-add -q %s", socket, key);
    struct ssh_options changed = options;
    changed.key_file = NULL;
    changed.agent = socket;
    refused(changed, STATUS_UNAVAILABLE, "agent");
    assert_int_equal(run_here((const char *[]){"sh", "-c", start, NULL}, &pid), 0);
    pid[strcspn(pid, "\n")] = '\0';
    assert_int_equal(text_parse_i64(pid, 2, INT32_MAX, &agent_pid), 0);
    refused(changed, STATUS_DENIED, "no key of the agent"); /* it has none yet */
    RUN("sh", "-c", add);
    struct ssh *ssh = ssh_new(&changed);
    assert_int_equal(say(ssh, "echo yes", &out), 0);
    assert_string_equal(out, "yes\n");
    ssh_free(ssh);
}

#define THREADS 6
static void *many(void *arg)
{
    struct ssh *ssh = arg;
    for (int i = 0; i < 5; i++) {
        struct child_result result = {0};
        char told[SSH_ERROR_MAX];
        if (ssh_run(ssh, "echo x", TIMEOUT_MS, OUT_MAX, &result, told) != 0 || strcmp(result.out, "x\n") != 0)
            return arg;
        child_result_free(&result);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    need_lab();
    struct ssh *ssh = ssh_new(&options);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, many, ssh), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *went = NULL;
        pthread_join(threads[i], &went);
        assert_null(went);
    }
    ssh_free(ssh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_and_exit_code),
        cmocka_unit_test(test_words_arrive_as_they_are),
        cmocka_unit_test(test_connections_are_used_again),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_host_keys),
        cmocka_unit_test(test_who_is_let_in),
        cmocka_unit_test(test_agent),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_a_server_that_started_anew),
    };
    return cmocka_run_group_tests(tests, start_lab, stop_lab);
}
