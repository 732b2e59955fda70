/*
 * The provider of a site's executables, with real scripts that record their calls: what they get and what their answers mean, and a hpd
 * that is killed while they run. This program is its own "hpd provider-call".
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/provider/command/command.h"

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MS 60000
#define ID "i-0123456789abcdef0"
#define RECORD_MAX 65536
#define KILLS 12

struct world {
    char dir[64], self[PATH_MAX];
    struct provider_driver driver;
    char error[PROVIDER_ERROR_MAX];
};

static char *path_of(const struct world *w, const char *name)
{
    return own_printf("%s/%s", w->dir, name);
}

static void write_script(const struct world *w, const char *name, const char *body)
{
    autofree char *path = own_printf("%s/site/%s", w->dir, name), *text = own_printf("#!/bin/sh\n%s\n", body);
    assert_int_equal(file_write(path, text, strlen(text), 0700), 0);
}

static int open_driver(struct world *w, int64_t timeout_ms)
{
    autofree char *site = path_of(w, "site"), *state = path_of(w, "state"), *record = path_of(w, "record");
    autofree char *variable = own_printf("RECORD=%s", record);
    const char *const variables[] = {variable, NULL};
    const struct command_options options = {.name = "site",
                                            .directory = site,
                                            .state_dir = state,
                                            .self_path = w->self,
                                            .variables = variables,
                                            .timeout_ms = timeout_ms};
    return command_new(&options, &w->driver, w->error);
}

static int setup(void **state)
{
    struct world *w = own_calloc(1, sizeof(*w));
    static const char *const actions[] = {"launch", "describe", "reboot", "terminate"};
    snprintf(w->dir, sizeof(w->dir), "/tmp/holdfast-command-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    assert_true(readlink("/proc/self/exe", w->self, sizeof(w->self) - 1) > 0);
    autofree char *site = path_of(w, "site");
    assert_int_equal(mkdir(site, 0700), 0);
    for (size_t i = 0; i < ARRAY_LEN(actions); i++)
        write_script(w, actions[i], "exit 0");
    assert_int_equal(open_driver(w, WAIT_MS), 0);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    w->driver.ops->free(w->driver.self);
    int status = file_remove_tree(w->dir);
    free(w);
    return status;
}

static int launch(struct world *w, const char *key, struct provider_instance *ret_instance)
{
    const struct provider_launch request = {.key = key,
                                            .instance_id = ID,
                                            .cluster = "west",
                                            .group = "gpu",
                                            .node = "gpu-1",
                                            .instance_type = "",
                                            .image_id = "",
                                            .release = "",
                                            .zone = "",
                                            .server_url = "http://127.0.0.1:1",
                                            .fingerprint = "",
                                            .enrollment_token = "hfe_secret"};
    return w->driver.ops->launch(w->driver.self, &request, ret_instance, w->error);
}

static const struct provider_target *target(const char *ref)
{
    static struct provider_target at;
    at = (struct provider_target){.instance_id = ID, .ref = ref, .launch_key = "launch/1"};
    return &at;
}

static char *record_of(const struct world *w)
{
    autofree char *path = path_of(w, "record");
    char *data = NULL;
    size_t len;
    return file_read(path, RECORD_MAX, &data, &len) == 0 ? data : own_strdup("");
}

static int lines_of(const struct world *w)
{
    int lines = 0;
    autofree char *record = record_of(w);
    for (const char *c = record; *c != '\0'; c++)
        lines += *c == '\n';
    return lines;
}

static void test_a_machine_names_itself(void **state)
{
    struct world *w = *state;
    struct provider_instance made;
    write_script(
        w, "launch",
        "cat >> $RECORD; echo >> $RECORD; echo '{\"ref\":\"m/7\",\"state\":\"running\",\"address\":\"10.0.0.7\"}'");
    assert_int_equal(launch(w, "launch/1", &made), 0);
    assert_string_equal(made.ref, "m/7");
    assert_string_equal(made.address, "10.0.0.7");
    assert_int_equal(made.state, PROVIDER_INSTANCE_RUNNING);
    autofree char *record = record_of(w);
    static const char *const sent[] = {"\"version\": 1", "\"action\": \"launch\"", "\"key\": \"launch/1\"", ID,
                                       "hfe_secret",     "\"node\": \"gpu-1\""};
    for (size_t i = 0; i < ARRAY_LEN(sent); i++)
        assert_non_null(strstr(record, sent[i]));
    assert_null(strstr(record, "zone"));
    /* the same key: the same machine, and nothing is run */
    made = (struct provider_instance){.ref = ""};
    assert_int_equal(launch(w, "launch/1", &made), 0);
    assert_string_equal(made.ref, "m/7");
    assert_int_equal(lines_of(w), 1);
    assert_int_equal(launch(w, "launch/2", &made), 0);
    assert_int_equal(lines_of(w), 2);
}

/* The answer to the launch was lost: what ends the machine has its id all the same. */
static void test_a_lost_answer_is_found(void **state)
{
    struct world *w = *state;
    struct provider_instance made;
    write_script(w, "launch", "echo '{\"ref\":\"m/7\"}'");
    write_script(w, "terminate", "cat >> $RECORD; echo >> $RECORD");
    assert_int_equal(launch(w, "launch/1", &made), 0);
    assert_int_equal(w->driver.ops->terminate(w->driver.self, target(""), "terminate/1", w->error), 0);
    autofree char *record = record_of(w);
    assert_non_null(strstr(record, "\"ref\": \"m/7\""));
    assert_non_null(strstr(record, "\"key\": \"terminate/1\""));
}

static void test_exit_codes_have_a_meaning(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *body;
        int status;
        const char *error;
    } runs[] = {
        {"echo first >&2; echo 'quota of 4 is used up' >&2; exit 3", STATUS_FULL, "quota of 4 is used up"},
        {"echo later >&2; exit 4", STATUS_UNAVAILABLE, "later"},
        {"printf 'a\\377b\\n' >&2; exit 4", STATUS_UNAVAILABLE, "b"},
        {"printf '{}\\000'", STATUS_BACKEND, "cannot be read"},
        {"echo 'no such flavor' >&2; exit 5", STATUS_DENIED, "no such flavor"},
        {"exit 1", STATUS_BACKEND, "exit code 1"},
        {"kill -9 $$", STATUS_BACKEND, "exit code 137"},
        {"exit 6", STATUS_BACKEND, "exit code 6"},
        {"echo '{\"reff\":\"m\"}'", STATUS_BACKEND, "reff"},
        {"echo '{\"ref\":\"a b\"}'", STATUS_BACKEND, "without blanks"},
        {"echo '{\"state\":\"up\"}'", STATUS_BACKEND, "pending, running or gone"},
        {"head -c 100000 /dev/zero | tr '\\0' x", STATUS_BACKEND, "too long"},
        {"printf '{\"ref\":\"\\377\"}'", STATUS_BACKEND, "cannot be read"},
    };
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        struct provider_instance made;
        write_script(w, "launch", runs[i].body);
        int status = launch(w, "launch/1", &made); /* one key: what was not done is run again */
        if (status != runs[i].status || strstr(w->error, runs[i].error) == NULL || strstr(w->error, "first") != NULL)
            fail_msg("%s: %s, %s", runs[i].body, status_text(status), w->error);
    }
}

static void test_what_is_gone_is_gone(void **state)
{
    struct world *w = *state;
    struct provider_instance seen;
    write_script(w, "describe", "exit 6");
    write_script(w, "reboot", "echo 'not here' >&2; exit 6");
    write_script(w, "terminate", "exit 6");
    assert_int_equal(w->driver.ops->describe(w->driver.self, target("m/7"), &seen, w->error), 0);
    assert_int_equal(seen.state, PROVIDER_INSTANCE_GONE);
    assert_int_equal(w->driver.ops->reboot(w->driver.self, target("m/7"), "reboot/1", w->error), STATUS_NOT_FOUND);
    assert_int_equal(w->driver.ops->terminate(w->driver.self, target("m/7"), "terminate/1", w->error), 0);
    write_script(w, "describe", "echo '{\"state\":\"running\",\"trouble\":\"fan 3 stands\"}'");
    assert_int_equal(w->driver.ops->describe(w->driver.self, target("m/7"), &seen, w->error), 0);
    assert_string_equal(seen.trouble, "fan 3 stands");
    write_script(w, "describe", "echo '{}'");
    assert_int_equal(w->driver.ops->describe(w->driver.self, target("m/7"), &seen, w->error), STATUS_BACKEND);
}

static void test_the_environment_is_small(void **state)
{
    struct world *w = *state;
    write_script(w, "reboot", "env | sort | cut -d= -f1 | tr '\\n' ' ' >&2; exit 4");
    assert_int_equal(setenv("HOLDFAST_SECRET", "x", 1), 0);
    assert_int_equal(w->driver.ops->reboot(w->driver.self, target("m/7"), "reboot/1", w->error), STATUS_UNAVAILABLE);
    assert_string_equal(w->error, "HOLDFAST_DIRECTORY HOLDFAST_PROVIDER LANG PATH PWD RECORD");
}

static void test_a_deadline_ends_all_of_it(void **state)
{
    struct world *w = *state;
    w->driver.ops->free(w->driver.self);
    assert_int_equal(open_driver(w, 1000), 0);
    write_script(w, "reboot", "sleep 1000 & sleep 1000");
    assert_int_equal(w->driver.ops->reboot(w->driver.self, target("m/7"), "reboot/1", w->error), STATUS_TIMEOUT);
    assert_non_null(strstr(w->error, "did not end in time"));
}

static void test_missing_executables_are_said(void **state)
{
    struct world *w = *state;
    struct provider_driver kept = w->driver;
    autofree char *path = path_of(w, "site/reboot");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(open_driver(w, 1000), STATUS_INVALID);
    assert_non_null(strstr(w->error, "site/reboot is missing"));
    w->driver = kept;
}

/* A hpd that begins the call and is killed in the middle, at another point each time. */
static void begin_and_die(struct world *w, int (*call)(struct world *w, const char *key), const char *key,
                          int64_t after_us)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)call(w, key);
        _exit(0);
    }
    const struct timespec pause = {.tv_sec = after_us / 1000000, .tv_nsec = after_us % 1000000 * 1000};
    (void)nanosleep(&pause, NULL);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int do_launch(struct world *w, const char *key)
{
    struct provider_instance made;
    return launch(w, key, &made);
}

static int do_reboot(struct world *w, const char *key)
{
    return w->driver.ops->reboot(w->driver.self, target("m/7"), key, w->error);
}

static int do_terminate(struct world *w, const char *key)
{
    return w->driver.ops->terminate(w->driver.self, target("m/7"), key, w->error);
}

static void test_killed_at_each_call_nothing_is_done_twice(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *name;
        int (*call)(struct world *w, const char *key);
    } calls[] = {{"launch", do_launch}, {"reboot", do_reboot}, {"terminate", do_terminate}};
    int expected = 0;
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        write_script(w, calls[i].name, "echo $$ >> $RECORD; sleep 0.05");
        for (int kill_at = 0; kill_at < KILLS; kill_at++) {
            autofree char *key = own_printf("%s/%d", calls[i].name, kill_at);
            begin_and_die(w, calls[i].call, key, (int64_t)kill_at * kill_at * 600);
            begin_and_die(w, calls[i].call, key, (int64_t)kill_at * 3000);
            int status = calls[i].call(w, key);
            if (status != 0)
                fail_msg("%s: %s, %s", key, status_text(status), w->error);
            expected++;
            if (lines_of(w) != expected)
                fail_msg("%s was done %d times", key, lines_of(w) - expected + 1);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && text_equal(argv[1], "provider-call"))
        return command_call_main(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_machine_names_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_lost_answer_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(test_exit_codes_have_a_meaning, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_gone_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_environment_is_small, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_deadline_ends_all_of_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_missing_executables_are_said, setup, teardown),
        cmocka_unit_test_setup_teardown(test_killed_at_each_call_nothing_is_done_twice, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
