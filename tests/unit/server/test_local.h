/*
 * A local provider with tiny services for its tests. The test program is its own supervisor: called with "machine DIR"
 * it becomes one, as hpd does. Whatever a test leaves running is ended, and counted as a failure, by the teardown.
 */
#ifndef HOLDFAST_TESTS_UNIT_SERVER_TEST_LOCAL_H
#define HOLDFAST_TESTS_UNIT_SERVER_TEST_LOCAL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/provider/lab/local.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_MS 60000 /* for what surely comes, on the slowest machine */
#define BOOT_DELAY_MS 10

/* Says that a machine booted, leaves a daemon behind that cleared its environment and left its session, and stays. */
#define SCRIPT_BOOTS "echo $$ >>{dir}/boots; exec sleep 1000"
#define SCRIPT_DAEMON                                                                                               \
    "(env -i PATH=\"$PATH\" setsid sh -c 'echo $$ >{dir}/daemon.new; mv {dir}/daemon.new {dir}/daemon; exec sleep " \
    "1000' &) ; "                                                                                                   \
    "echo $$ >>{dir}/boots; exec sleep 1000"

struct local_world {
    char dir[PATH_MAX], self[PATH_MAX];
    struct provider_driver driver;
    char error[PROVIDER_ERROR_MAX];
};

static inline int64_t world_now(void)
{
    return clock_mono_ms(clock_system());
}

static inline void world_open_with(struct local_world *w, const char *self, const char *script)
{
    char sh[] = "sh", dash_c[] = "-c", first[] = "{firstStart:first}";
    autofree char *body = own_strdup(script);
    const struct local_service services[] = {{.name = "boots", .argv = {sh, dash_c, body, first}}};
    const struct local_options options = {.dir = w->dir,
                                          .self_path = self,
                                          .services = services,
                                          .service_count = ARRAY_LEN(services),
                                          .boot_delay_ms = BOOT_DELAY_MS};
    assert_int_equal(local_new(&options, &w->driver), 0);
}

static inline void world_open(struct local_world *w, const char *script)
{
    world_open_with(w, w->self, script);
}

static inline void world_close(struct local_world *w)
{
    if (w->driver.self != NULL)
        w->driver.ops->free(w->driver.self);
    w->driver = (struct provider_driver){0};
}

static inline int world_setup(void **state)
{
    struct local_world *w = own_calloc(1, sizeof(*w));
    text_copy(w->dir, sizeof(w->dir), "/tmp/holdfast-local.XXXXXX");
    ssize_t len = readlink("/proc/self/exe", w->self, sizeof(w->self) - 1);
    *state = w;
    return len > 0 && mkdtemp(w->dir) != NULL ? 0 : -1;
}

static inline char *world_path(const struct local_world *w, const char *id, const char *name)
{
    return own_printf("%s/%s/%s", w->dir, id, name);
}

/* The file's content, "" when there is none. */
static inline char *world_read(const struct local_world *w, const char *id, const char *name)
{
    autofree char *path = world_path(w, id, name);
    char *data = NULL;
    return file_read(path, 1 << 20, &data, NULL) == 0 ? data : own_strdup("");
}

static inline bool world_has(const struct local_world *w, const char *id, const char *name)
{
    autofree char *path = world_path(w, id, name);
    return file_exists(path);
}

static inline size_t world_lines(const struct local_world *w, const char *id, const char *name)
{
    autofree char *data = world_read(w, id, name);
    size_t lines = 0;
    for (const char *c = data; *c != '\0'; c++)
        lines += *c == '\n';
    return lines;
}

static inline bool process_lives(pid_t pid)
{
    uint64_t ticks;
    return pid > 0 && child_start_time(pid, &ticks) == 0 && child_alive(pid, ticks);
}

/* Processes of the instance that can be seen by their environment. */
static inline size_t world_count_processes(const struct local_world *w, const char *id)
{
    autofree char *assignment = own_printf("HOLDFAST_INSTANCE_DIR=%s/%s", w->dir, id);
    DIR *proc = opendir("/proc");
    size_t count = 0;
    for (const struct dirent *entry; proc != NULL && (entry = readdir(proc)) != NULL;) {
        autofree char *path = own_printf("/proc/%.20s/environ", entry->d_name), *data = NULL;
        size_t len = 0;
        if (file_read(path, 1 << 21, &data, &len) == 0 && memmem(data, len, assignment, strlen(assignment) + 1) != NULL)
            count++;
    }
    closedir(proc);
    return count;
}

static inline pid_t world_pid(const struct local_world *w, const char *id, const char *name)
{
    autofree char *data = world_read(w, id, name);
    return (pid_t)strtol(data, NULL, 10);
}

/* So many or more: a service that is started again and again may have got further by the time that we look. */
static inline void world_wait_lines(const struct local_world *w, const char *id, const char *name, size_t lines)
{
    for (int64_t until = world_now() + WAIT_MS; world_lines(w, id, name) < lines && world_now() < until;)
        poll(NULL, 0, 10);
    assert_true(world_lines(w, id, name) >= lines);
}

static inline void world_wait_boots(const struct local_world *w, const char *id, size_t boots)
{
    world_wait_lines(w, id, "boots", boots);
    assert_int_equal(world_lines(w, id, "boots"), boots);
}

static inline void world_wait_gone(pid_t pid)
{
    for (int64_t until = world_now() + WAIT_MS; process_lives(pid) && world_now() < until;)
        poll(NULL, 0, 10);
    assert_false(process_lives(pid));
}

static inline pid_t world_wait_daemon(const struct local_world *w, const char *id)
{
    for (int64_t until = world_now() + WAIT_MS; !world_has(w, id, "daemon") && world_now() < until;)
        poll(NULL, 0, 10);
    pid_t pid = world_pid(w, id, "daemon");
    assert_true(process_lives(pid));
    return pid;
}

static inline void world_wait_recorded(const struct local_world *w, const char *id, pid_t pid)
{
    autofree char *wanted = own_printf("\n%ld ", (long)pid);
    for (int64_t until = world_now() + WAIT_MS; world_now() < until; poll(NULL, 0, 10)) {
        autofree char *record = world_read(w, id, "processes");
        if (strstr(record, wanted) != NULL)
            return;
    }
    fail_msg("process %ld was never recorded", (long)pid);
}

/* As a power cut of the supervisor alone. */
static inline void world_kill_supervisor(const struct local_world *w, const char *id)
{
    pid_t pid = world_pid(w, id, "machine.pid");
    assert_true(process_lives(pid));
    assert_int_equal(kill(pid, SIGKILL), 0);
    world_wait_gone(pid);
}

static inline struct provider_launch world_request(const char *key, const char *id)
{
    return (struct provider_launch){.key = key,
                                    .instance_id = id,
                                    .cluster = "demo",
                                    .group = "workers",
                                    .node = "gpu-1",
                                    .instance_type = "local",
                                    .server_url = "http://127.0.0.1:8700",
                                    .fingerprint = "",
                                    .enrollment_token = "hfe_secret"};
}

/* hpd repeats what was not done in time, under the same key; so do these, on a machine that is slow enough. */
static inline bool world_again(int status, int64_t until)
{
    return (status == STATUS_UNAVAILABLE || status == STATUS_TIMEOUT) && world_now() < until;
}

static inline int world_try_launch(struct local_world *w, const char *key, const char *id,
                                   struct provider_instance *ret_instance, char *ret_error)
{
    const struct provider_launch request = world_request(key, id);
    int64_t until = world_now() + WAIT_MS;
    int status;
    do
        status = w->driver.ops->launch(w->driver.self, &request, ret_instance, ret_error);
    while (world_again(status, until));
    return status;
}

static inline int world_try_reboot(struct local_world *w, const char *id, const char *key, char *ret_error)
{
    int64_t until = world_now() + WAIT_MS;
    int status;
    do
        status = w->driver.ops->reboot(w->driver.self, &(struct provider_target){.instance_id = id}, key, ret_error);
    while (world_again(status, until));
    return status;
}

static inline int world_try_terminate(struct local_world *w, const char *id, const char *key, char *ret_error)
{
    int64_t until = world_now() + WAIT_MS;
    int status;
    do
        status = w->driver.ops->terminate(w->driver.self, &(struct provider_target){.instance_id = id}, key, ret_error);
    while (world_again(status, until));
    return status;
}

static inline void world_launch(struct local_world *w, const char *key, const char *id)
{
    struct provider_instance instance;
    int status = world_try_launch(w, key, id, &instance, w->error);
    if (status != 0)
        print_error("%s\n", w->error);
    assert_int_equal(status, 0);
    assert_string_equal(instance.ref, id);
    assert_int_equal(instance.state, PROVIDER_INSTANCE_RUNNING);
    assert_string_equal(instance.address, "127.0.0.1");
}

static inline enum provider_instance_state world_describe(struct local_world *w, const char *id)
{
    struct provider_instance instance;
    assert_int_equal(
        w->driver.ops->describe(w->driver.self, &(struct provider_target){.instance_id = id}, &instance, w->error), 0);
    return instance.state;
}

/* A machine that is on its way is pending. */
static inline void world_wait_running(struct local_world *w, const char *id)
{
    enum provider_instance_state state = PROVIDER_INSTANCE_PENDING;
    for (int64_t until = world_now() + WAIT_MS; state == PROVIDER_INSTANCE_PENDING && world_now() < until;)
        state = world_describe(w, id);
    assert_int_equal(state, PROVIDER_INSTANCE_RUNNING);
}

static inline void world_reboot(struct local_world *w, const char *id, const char *key)
{
    int status = world_try_reboot(w, id, key, w->error);
    if (status != 0)
        print_error("%s\n", w->error);
    assert_int_equal(status, 0);
}

static inline void world_terminate(struct local_world *w, const char *id, const char *key)
{
    int status = world_try_terminate(w, id, key, w->error);
    if (status != 0)
        print_error("%s\n", w->error);
    assert_int_equal(status, 0);
}

/* Ends every machine; what lives on after that is a failure of the provider, whatever the test found. */
static inline int world_teardown(void **state)
{
    struct local_world *w = *state;
    size_t left = 0;
    world_close(w);
    world_open(w, SCRIPT_BOOTS);
    DIR *dir = opendir(w->dir);
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != 'i')
            continue;
        left += world_try_terminate(w, entry->d_name, "teardown", w->error) != 0;
        left += world_count_processes(w, entry->d_name);
        left += process_lives(world_pid(w, entry->d_name, "daemon"));
    }
    if (dir != NULL)
        closedir(dir);
    world_close(w);
    file_remove_tree(w->dir);
    free(w);
    return left == 0 ? 0 : -1;
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

#endif
