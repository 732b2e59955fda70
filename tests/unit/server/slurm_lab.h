/* A real Slurm of three nodes and a driver that speaks to it, for the tests of slurm_live.h. */
#ifndef HOLDFAST_TESTS_UNIT_SERVER_SLURM_LAB_H
#define HOLDFAST_TESTS_UNIT_SERVER_SLURM_LAB_H

#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/slurm.h"
#include "tests/support/scheduler_owner.h"

#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LAB "tests/support/slurm-lab"
#define SSHD_LAB "tests/support/sshd-lab"
#define TIMEOUT_MS 90000 /* a loaded machine is slow; who is well waits for none of it */
#define POLL_US 100000
#define OUT_BYTES_MAX (1024 * 1024)

static char dir[] = "/tmp/holdfast-slurm-XXXXXX";
enum way_kind { WAY_HERE, WAY_SSH, WAY_REST, WAY_REST_SOCKET };

static bool started;
static struct {
    enum way_kind kind;
    char user[64], key[64], known_hosts[64], url[80], token[64];
    struct ssh_options ssh;
    struct slurm_rest_options rest;
} way;
static struct scheduler_driver slurm;
static char error[SCHEDULER_ERROR_MAX];

static int run(const char *const argv[], char **ret_out)
{
    struct child_options options = {.timeout_ms = 60000, .out_bytes_max = OUT_BYTES_MAX};
    struct child_result result = {0};
    if (child_run(argv, &options, &result) != 0)
        return -1;
    if (result.exit_code != 0)
        print_message("%s %s: %d %s\n", argv[0], argv[1], result.exit_code, result.err);
    if (ret_out != NULL)
        *ret_out = TAKE(result.out);
    int code = result.exit_code;
    child_result_free(&result);
    return code;
}

#define RUN(...) assert_int_equal(run((const char *[]){__VA_ARGS__, NULL}, NULL), 0)
#define OK(call)                                             \
    do {                                                     \
        int ok_status = (call);                              \
        if (ok_status != 0)                                  \
            fail_msg("%s: %d, %s", #call, ok_status, error); \
    } while (0)

/* Submits; extra may be NULL. Returns the job's id. */
static char *submit(const char *nodes, const char *extra)
{
    char *out = NULL;
    autofree char *where = own_printf("--nodelist=%s", nodes);
    assert_int_equal(run((const char *[]){"sbatch", "--parsable", "-o", "/dev/null", where, "--wrap", "sleep 600",
                                          extra == NULL ? "--ntasks=1" : extra, NULL},
                         &out),
                     0);
    out[strcspn(out, "\n;")] = '\0';
    return out;
}

static char *job_state(const char *id)
{
    char *out = NULL;
    assert_int_equal(run((const char *[]){"squeue", "-h", "-t", "all", "-j", id, "-o", "%T", NULL}, &out), 0);
    out[strcspn(out, "\n")] = '\0';
    return out;
}

static bool job_is(const char *id, const char *want)
{
    autofree char *is = job_state(id);
    return strcmp(is, want) == 0;
}

#define AWAIT(condition)                                          \
    do {                                                          \
        int64_t end = clock_mono_ms(clock_system()) + TIMEOUT_MS; \
        while (!(condition)) {                                    \
            if (clock_mono_ms(clock_system()) > end)              \
                fail_msg("timed out: %s", #condition);            \
            usleep(POLL_US);                                      \
        }                                                         \
    } while (0)

static struct scheduler_node seen(const char *name)
{
    struct scheduler_observation observation = {0};
    struct scheduler_node node = {0};
    OK(slurm.ops->observe(slurm.self, &observation, error));
    assert_true(observation.at_ms > 0);
    assert_int_equal(observation.count, 3);
    for (size_t i = 0; i < observation.count; i++)
        if (strcmp(observation.nodes[i].name, name) == 0)
            node = observation.nodes[i];
    scheduler_observation_free(&observation);
    assert_string_equal(node.name, name);
    return node;
}

static bool in_service(const char *name)
{
    struct scheduler_node node = seen(name);
    return node.schedulable && node.responding;
}

/* Resumes until it holds: in the first second of its life "slurmd -b" reports a boot with each registration, and a
 * resume asks for one. */
static void bring_back(const char *name, const char *reason)
{
    for (int64_t end = clock_mono_ms(clock_system()) + TIMEOUT_MS; !in_service(name); usleep(POLL_US)) {
        int status = uncordon_as(&slurm, name, reason, error);
        if (status != 0 || clock_mono_ms(clock_system()) > end)
            fail_msg("%s does not come back: %d, %s", name, status, error);
    }
}

static size_t job_count(const char *node)
{
    autofree struct scheduler_job *jobs = NULL;
    size_t count = 0;
    OK(slurm.ops->workloads(slurm.self, node, &jobs, &count, error));
    return count;
}

static int mark(const char *node, const char *reason, const char *replaceable)
{
    return cordon_as(&slurm, node, reason, replaceable, error);
}

static int resume(const char *node, const char *reason)
{
    return uncordon_as(&slurm, node, reason, error);
}

static const struct passwd *us(void)
{
    const struct passwd *entry = getpwuid(geteuid());
    if (entry != NULL)
        snprintf(way.user, sizeof(way.user), "%s", entry->pw_name);
    return entry;
}

static int open_rest(void)
{
    autofree char *port_file = own_printf("%s/rest.port", dir), *port = NULL;
    size_t len;
    if (us() == NULL || file_read(port_file, 16, &port, &len) != 0)
        return -1;
    port[strcspn(port, "\n")] = '\0';
    if (way.kind == WAY_REST_SOCKET)
        snprintf(way.url, sizeof(way.url), "unix:%s/rest.socket", dir);
    else
        snprintf(way.url, sizeof(way.url), "http://127.0.0.1:%s", port);
    snprintf(way.token, sizeof(way.token), "%s/rest.token", dir);
    way.rest = (struct slurm_rest_options){.url = way.url, .user = way.user, .token_file = way.token};
    return 0;
}

static int open_ssh(void)
{
    autofree char *sshd = own_printf("%s/sshd", dir), *port_file = own_printf("%s/port", sshd);
    autofree char *port = NULL;
    int64_t number;
    size_t len;
    if (run((const char *[]){SSHD_LAB, "start", sshd, NULL}, NULL) != 0 || file_read(port_file, 16, &port, &len) != 0)
        return -1;
    port[strcspn(port, "\n")] = '\0';
    if (us() == NULL || text_parse_i64(port, 1, UINT16_MAX, &number) != 0)
        return -1;
    snprintf(way.key, sizeof(way.key), "%s/key", sshd);
    snprintf(way.known_hosts, sizeof(way.known_hosts), "%s/known_hosts", sshd);
    way.ssh = (struct ssh_options){.host = "127.0.0.1",
                                   .user = way.user,
                                   .port = (int)number,
                                   .key_file = way.key,
                                   .known_hosts = way.known_hosts};
    return 0;
}

static int new_driver(int64_t timeout_ms, struct scheduler_driver *ret_driver)
{
    autofree char *conf = own_printf("%s/slurm.conf", dir);
    struct slurm_options options = {.conf = conf,
                                    .timeout_ms = timeout_ms,
                                    .ssh = way.kind == WAY_SSH ? &way.ssh : NULL,
                                    .rest = way.rest.url != NULL ? &way.rest : NULL};
    return slurm_new(&options, ret_driver);
}

static int start_lab(void **state)
{
    (void)state;
    if (access("/usr/sbin/slurmctld", X_OK) != 0 || access("/usr/sbin/munged", X_OK) != 0 ||
        (way.kind == WAY_SSH && access("/usr/sbin/sshd", X_OK) != 0) ||
        (way.kind >= WAY_REST && access("/usr/sbin/slurmrestd", X_OK) != 0))
        return 0;
    snprintf(dir, sizeof(dir), "/tmp/holdfast-slurm-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    setenv("LAB_SLURMD_TIMEOUT", "4", 1);
    if (run((const char *[]){LAB, "start", dir, "--nodes", "gpu-[1-3]", way.kind >= WAY_REST ? "--rest" : NULL, NULL},
            NULL) != 0)
        return -1;
    started = true;
    if ((way.kind == WAY_SSH && open_ssh() != 0) || (way.kind >= WAY_REST && open_rest() != 0))
        return -1;
    autofree char *conf = own_printf("%s/slurm.conf", dir);
    setenv("SLURM_CONF", conf, 1);
    return new_driver(TIMEOUT_MS, &slurm);
}

static int stop_lab(void **state)
{
    (void)state;
    if (slurm.self != NULL)
        slurm.ops->free(slurm.self);
    slurm = (struct scheduler_driver){0};
    if (!started)
        return 0;
    started = false;
    autofree char *sshd = own_printf("%s/sshd", dir);
    if (way.kind == WAY_SSH)
        run((const char *[]){SSHD_LAB, "stop", sshd, NULL}, NULL);
    run((const char *[]){LAB, "stop", dir, NULL}, NULL);
    return file_remove_tree(dir);
}

static int need_lab(void **state)
{
    (void)state;
    if (!started)
        skip();
    return 0;
}

/* Whatever a test left behind when it failed must not fail the next. */
static int restore(void **state)
{
    (void)state;
    if (!started)
        return 0;
    static const char *const nodes[] = {"gpu-1", "gpu-2", "gpu-3"};
    static const char *const states[] = {"--state=RUNNING", "--state=PENDING", "--state=SUSPENDED"};
    struct scheduler_observation observation = {0};
    if (slurm.ops->observe(slurm.self, &observation, error) != 0)
        return -1;
    for (size_t i = 0; i < observation.count; i++) {
        autofree char *name = own_printf("NodeName=%s", observation.nodes[i].name);
        if (observation.nodes[i].reason[0] != '\0')
            run((const char *[]){"scontrol", "update", name, "State=RESUME", NULL}, NULL);
    }
    scheduler_observation_free(&observation);
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        run((const char *[]){"scancel", states[i], NULL}, NULL); /* one at a time, since 24.05 */
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
        run((const char *[]){LAB, "begin", dir, nodes[i], NULL}, NULL);
    return 0;
}

#endif
