/*
 * The Slurm driver against a real Slurm (tests/support/slurm-lab) in a directory of its own: marks, jobs,
 * eviction, reboots, resumes, other people's drains, and a slurmctld that is not there. The same for each way to Slurm:
 * its programs run here (test_slurm_live.c), or over SSH by a real sshd (test_slurm_over_ssh.c, tests/support/sshd-lab), or a real
 * slurmrestd, over TCP and a Unix socket (test_slurm_over_rest.c, test_slurm_over_rest_socket.c).
 *
 * One cluster serves all tests, in order; each leaves its nodes in service. Skipped where Slurm, sshd or slurmrestd is not installed.
 */
#ifndef HOLDFAST_TESTS_UNIT_SERVER_SLURM_LIVE_H
#define HOLDFAST_TESTS_UNIT_SERVER_SLURM_LIVE_H

#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/slurm.h"

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
#define TIMEOUT_MS 20000
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
                fail_msg("waited in vain for: %s", #condition);   \
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
        int status = slurm.ops->resume(slurm.self, name, reason, error);
        if (status != 0 || clock_mono_ms(clock_system()) > end)
            fail_msg("%s does not come back: %d, %s", name, status, error);
    }
}

static size_t job_count(const char *node)
{
    autofree struct scheduler_job *jobs = NULL;
    size_t count = 0;
    OK(slurm.ops->jobs(slurm.self, node, &jobs, &count, error));
    return count;
}

static int mark(const char *node, const char *reason, const char *replaceable)
{
    return slurm.ops->mark(slurm.self, node, reason, replaceable, error);
}

static int resume(const char *node, const char *reason)
{
    return slurm.ops->resume(slurm.self, node, reason, error);
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
    struct scheduler_observation observation = {0};
    if (slurm.ops->observe(slurm.self, &observation, error) != 0)
        return -1;
    for (size_t i = 0; i < observation.count; i++) {
        autofree char *name = own_printf("NodeName=%s", observation.nodes[i].name);
        if (observation.nodes[i].reason[0] != '\0')
            run((const char *[]){"scontrol", "update", name, "State=RESUME", NULL}, NULL);
    }
    scheduler_observation_free(&observation);
    run((const char *[]){"scancel", "--state=RUNNING,PENDING,SUSPENDED", NULL}, NULL);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
        run((const char *[]){LAB, "begin", dir, nodes[i], NULL}, NULL);
    return 0;
}

static void test_observe(void **state)
{
    need_lab(state);
    for (int i = 1; i <= 3; i++) {
        char name[] = "gpu-?";
        name[4] = (char)('0' + i);
        struct scheduler_node node = seen(name);
        assert_string_equal(node.state, "IDLE");
        assert_string_equal(node.reason, "");
        assert_true(node.schedulable && node.responding && !node.drained && !node.busy);
        assert_int_equal(node.request, SCHEDULER_REQUEST_NONE);
    }
}

static void test_mark_and_resume(void **state)
{
    need_lab(state);
    OK(mark("gpu-1", "Action:Reboot", NULL));
    struct scheduler_node node = seen("gpu-1");
    assert_string_equal(node.state, "IDLE+FAIL");
    assert_string_equal(node.reason, "Action:Reboot");
    assert_true(node.reason_user[0] != '\0');
    assert_true(node.drained && !node.schedulable);
    assert_int_equal(node.request, SCHEDULER_REQUEST_REBOOT);
    OK(mark("gpu-1", "Action:Reboot", NULL));
    /* Whose wish it was cannot be told from the text alone: only a caller who says so replaces it. */
    assert_int_equal(mark("gpu-1", "Action:Replace", NULL), STATUS_CONFLICT);
    assert_int_equal(mark("gpu-1", "holdfast: waits", NULL), STATUS_CONFLICT);
    OK(mark("gpu-1", "Action:Replace", "Action:Reboot"));
    assert_int_equal(seen("gpu-1").request, SCHEDULER_REQUEST_REPLACE);
    assert_int_equal(resume("gpu-1", "Action:Reboot"), STATUS_CONFLICT);
    assert_int_equal(resume("gpu-1", "holdfast: waits"), STATUS_CONFLICT);
    OK(resume("gpu-1", "Action:Replace"));
    OK(resume("gpu-1", "Action:Replace"));
    AWAIT(in_service("gpu-1"));
    assert_string_equal(seen("gpu-1").reason, "");
}

static void test_hold(void **state)
{
    need_lab(state);
    const char *why = "holdfast: xid.79 on GPU 3 [0000:b9:00], 1 of 1 in repair; a=b it's \"c\"";
    OK(mark("gpu-1", why, NULL));
    struct scheduler_node node = seen("gpu-1");
    assert_string_equal(node.state, "IDLE+DRAIN");
    assert_string_equal(node.reason, why);
    assert_true(node.drained);
    assert_int_equal(node.request, SCHEDULER_REQUEST_NONE);
    OK(mark("gpu-1", "Action:Reboot", NULL)); /* a hold of ours may become a repair */
    assert_string_equal(seen("gpu-1").state, "IDLE+FAIL");
    OK(resume("gpu-1", NULL));
    AWAIT(in_service("gpu-1"));
}

static void test_foreign_drain(void **state)
{
    need_lab(state);
    RUN("scontrol", "update", "NodeName=gpu-2", "State=DRAIN", "Reason=alice: bench, Reason=Action:Reboot [x]");
    struct scheduler_node node = seen("gpu-2");
    assert_string_equal(node.reason, "alice: bench, Reason=Action:Reboot [x]");
    assert_true(node.drained);
    assert_int_equal(node.request, SCHEDULER_REQUEST_NONE);
    assert_int_equal(mark("gpu-2", "Action:Reboot", NULL), STATUS_CONFLICT);
    assert_non_null(strstr(error, "alice: bench"));
    assert_int_equal(mark("gpu-2", "Action:Reboot", "alice: bench"), STATUS_CONFLICT);
    assert_int_equal(resume("gpu-2", NULL), STATUS_CONFLICT);
    assert_int_equal(resume("gpu-2", "Action:Reboot"), STATUS_CONFLICT);
    assert_string_equal(seen("gpu-2").state, "IDLE+DRAIN");
    RUN("scontrol", "update", "NodeName=gpu-2", "State=RESUME");
    AWAIT(in_service("gpu-2"));
}

static void test_operator_requests(void **state)
{
    need_lab(state);
    static const struct {
        const char *state, *reason;
        enum scheduler_request request;
    } cases[] = {
        {"State=FAIL", "Reason=Action:Replace", SCHEDULER_REQUEST_REPLACE},
        {"State=DOWN", "Reason=Action:Reboot", SCHEDULER_REQUEST_REBOOT},
        {"State=DRAIN", "Reason=Action:Reboot", SCHEDULER_REQUEST_NEAR_MISS},
        {"State=FAIL", "Reason=action:replace", SCHEDULER_REQUEST_NEAR_MISS},
        {"State=FAIL", "Reason=Action: Reboot", SCHEDULER_REQUEST_NEAR_MISS},
        {"State=FAIL", "Reason=Action:Reboot.", SCHEDULER_REQUEST_NEAR_MISS},
        {"State=FAIL", "Reason=Action:Reboot ", SCHEDULER_REQUEST_NEAR_MISS},
        {"State=FAIL", "Reason=Action:Reboot\nReason=Action:Reboot", SCHEDULER_REQUEST_NEAR_MISS},
        {"State=FAIL", "Reason=fan broken", SCHEDULER_REQUEST_NONE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        RUN("scontrol", "update", "NodeName=gpu-2", cases[i].state, cases[i].reason);
        if (seen("gpu-2").request != cases[i].request)
            fail_msg("%s %s: %d", cases[i].state, cases[i].reason, seen("gpu-2").request);
        RUN("scontrol", "update", "NodeName=gpu-2", "State=RESUME");
    }
    RUN("scontrol", "update", "NodeName=gpu-2", "State=DOWN", "Reason=Action:Replace");
    OK(mark("gpu-2", "Action:Replace", "Action:Replace"));     /* down is not fail, so it is made so */
    assert_non_null(strstr(seen("gpu-2").state, "DOWN+FAIL")); /* and NOT_RESPONDING, right after a resume */
    OK(resume("gpu-2", "Action:Replace"));
    AWAIT(in_service("gpu-2"));
}

static void test_hint(void **state)
{
    need_lab(state);
    static const char word[] = " (holdfast: use Action:Reboot)";
    RUN("scontrol", "update", "NodeName=gpu-2", "State=DRAIN", "Reason=action:reboot \"gpu 3\" now");
    OK(slurm.ops->hint(slurm.self, "gpu-2", "action:reboot \"gpu 3\" now", word, error));
    OK(slurm.ops->hint(slurm.self, "gpu-2", "action:reboot \"gpu 3\" now", word, error)); /* again: once */
    assert_string_equal(seen("gpu-2").reason, "action:reboot \"gpu 3\" now (holdfast: use Action:Reboot)");
    assert_string_equal(seen("gpu-2").state, "IDLE+DRAIN");
    assert_int_equal(seen("gpu-2").request, SCHEDULER_REQUEST_NEAR_MISS);
    assert_true(seen("gpu-2").drained); /* still that person's */
    assert_int_equal(mark("gpu-2", "holdfast: a fault", NULL), STATUS_CONFLICT);
    assert_int_equal(slurm.ops->hint(slurm.self, "gpu-2", "action:reboot", word, error), STATUS_CONFLICT);
    assert_int_equal(slurm.ops->hint(slurm.self, "gpu-2", "action:reboot ?", word, error), STATUS_INVALID);
    char full[REASON_MAX_BYTES];
    memset(full, 'a', sizeof(full) - 1);
    full[sizeof(full) - 1] = '\0';
    assert_int_equal(slurm.ops->hint(slurm.self, "gpu-2", full, word, error), STATUS_TOO_LARGE);
    RUN("scontrol", "update", "NodeName=gpu-2", "State=RESUME");
    AWAIT(in_service("gpu-2"));
}

static void check_jobs(const char *both, const char *array, const char *once)
{
    autofree struct scheduler_job *jobs = NULL;
    size_t count = 0;
    OK(slurm.ops->jobs(slurm.self, "gpu-1", &jobs, &count, error));
    assert_int_equal(count, 4);
    autofree char *task = own_printf("%s_7", array);
    int found = 0;
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(jobs[i].state, "RUNNING");
        assert_true(jobs[i].user[0] != '\0');
        if (strcmp(jobs[i].id, both) == 0 || strcmp(jobs[i].id, task) == 0)
            found += jobs[i].requeueable ? 1 : 100;
        else if (strcmp(jobs[i].id, once) == 0)
            found += jobs[i].requeueable ? 100 : 1;
        else
            found += jobs[i].requeueable ? 100 : 1; /* the interactive one */
    }
    assert_int_equal(found, 4);
}

static void test_evict(void **state)
{
    need_lab(state);
    autofree char *both = submit("gpu-[1-2]", "--nodes=2"), *array = submit("gpu-1", "--array=7");
    autofree char *other = submit("gpu-2", "--array=8"), *once = submit("gpu-1", "--no-requeue");
    pid_t pid;
    autofree char *log = own_printf("%s/srun.out", dir);
    const char *const srun[] = {"srun", "--ntasks=1", "--nodelist=gpu-1", "sleep", "600", NULL};
    assert_int_equal(child_spawn_detached(srun, NULL, NULL, log, -1, &pid), 0);
    AWAIT(job_count("gpu-1") == 4 && job_count("gpu-2") == 2);
    check_jobs(both, array, once);
    OK(mark("gpu-1", "Action:Replace", NULL));
    assert_true(seen("gpu-1").busy);
    assert_int_equal(job_count("gpu-1"), 4); /* a mark alone ends nothing */
    OK(slurm.ops->evict(slurm.self, "gpu-1", "Action:Replace", error));
    OK(slurm.ops->evict(slurm.self, "gpu-1", "Action:Replace", error));
    AWAIT(job_count("gpu-1") == 0 && !seen("gpu-1").busy);
    assert_true(job_is(both, "PENDING"));
    assert_true(job_is(array, "PENDING"));
    assert_true(job_is(once, "CANCELLED"));
    assert_true(job_is(other, "RUNNING")); /* not on that node */
    autofree char *told = NULL;
    size_t len;
    assert_int_equal(file_read(log, OUT_BYTES_MAX, &told, &len), 0);
    assert_non_null(strstr(told, "node gpu-1 is taken out for repair (Action:Replace): this job is cancelled"));
    OK(slurm.ops->evict(slurm.self, "gpu-1", "Action:Replace", error)); /* nobody there */
    OK(resume("gpu-1", "Action:Replace"));
    AWAIT(job_is(both, "RUNNING") && job_is(array, "RUNNING"));
    RUN("scancel", both, array, other);
    AWAIT(job_count("gpu-1") == 0 && job_count("gpu-2") == 0);
}

/* A batch script and a step that each say who was signalled; both go on. */
static char *submit_listener(void)
{
    char *out = NULL;
    autofree char *batch = own_printf("%s/batch-told", dir), *step = own_printf("%s/step-told", dir);
    autofree char *script = own_printf("trap 'echo batch >> %s' USR1\n"
                                       "srun --ntasks=1 bash -c 'trap \"echo step >> %s\" USR1; touch %s/listens; "
                                       "while true; do sleep 0.2; done' &\n"
                                       "while true; do wait; sleep 0.2; done\n",
                                       batch, step, dir);
    assert_int_equal(
        run((const char *[]){"sbatch", "--parsable", "-o", "/dev/null", "--nodelist=gpu-1", "--wrap", script, NULL},
            &out),
        0);
    out[strcspn(out, "\n;")] = '\0';
    return out;
}

static bool was_told(const char *who, const char *want)
{
    autofree char *path = own_printf("%s/%s-told", dir, who);
    autofree char *told = NULL;
    size_t len;
    return file_read(path, OUT_BYTES_MAX, &told, &len) == 0 && strcmp(told, want) == 0;
}

static void test_signal(void **state)
{
    need_lab(state);
    autofree char *id = submit_listener(), *listens = own_printf("%s/listens", dir);
    autofree char *other = submit("gpu-1", "--ntasks=1");
    AWAIT(access(listens, F_OK) == 0 && job_count("gpu-1") == 2);
    struct scheduler_job asked[2] = {0};
    text_copy_cut(asked[0].id, sizeof(asked[0].id), id);
    text_copy_cut(asked[1].id, sizeof(asked[1].id), "999999");
    OK(slurm.ops->signal(slurm.self, "gpu-1", JOB_SIGNAL_USR1, asked, 2, error));
    assert_int_equal(asked[0].answer, 0);
    assert_int_equal(asked[1].answer, STATUS_NOT_FOUND); /* and no word of it to anybody else */
    AWAIT(was_told("step", "step\n"));
    OK(slurm.ops->signal(slurm.self, "gpu-1", JOB_SIGNAL_B_USR1, asked, 1, error));
    AWAIT(was_told("batch", "batch\n"));
    assert_true(was_told("step", "step\n"));
    assert_true(job_is(id, "RUNNING"));
    assert_true(job_is(other, "RUNNING")); /* sleep would have died of it */
    assert_int_equal(slurm.ops->signal(slurm.self, "gpu-9", JOB_SIGNAL_USR1, asked, 1, error), STATUS_NOT_FOUND);
    RUN("scancel", id, other);
    AWAIT(job_count("gpu-1") == 0);
}

static void test_heterogeneous_job(void **state)
{
    need_lab(state);
    char *out = NULL;
    assert_int_equal(run((const char *[]){"sbatch", "--parsable", "-n1", "-w", "gpu-1", "-o", "/dev/null", ":", "-n1",
                                          "-w", "gpu-2", "--wrap", "sleep 600", NULL},
                         &out),
                     0);
    autofree char *id = out;
    id[strcspn(id, "\n;")] = '\0';
    AWAIT(job_count("gpu-1") == 1 && job_count("gpu-2") == 1);
    OK(slurm.ops->evict(slurm.self, "gpu-2", "Action:Reboot", error)); /* the node of the part that does not lead */
    AWAIT(job_count("gpu-1") == 0 && job_count("gpu-2") == 0);
    RUN("scancel", id);
}

/* A reboot that slurmctld takes notice of: it compares times in seconds, and one within the second of the node's last
 * sign of life it does not see. */
static void reboot(const char *node, const char *becomes)
{
    for (int i = 0; i < 10; i++) {
        RUN(LAB, "end", dir, node);
        RUN(LAB, "begin", dir, node);
        for (int j = 0; j < 20; j++) {
            if (strcmp(seen(node).state, becomes) == 0)
                return;
            usleep(POLL_US);
        }
    }
    fail_msg("%s never became %s", node, becomes);
}

static void test_reboot(void **state)
{
    need_lab(state);
    autofree char *job = submit("gpu-3", NULL);
    AWAIT(job_is(job, "RUNNING"));
    OK(mark("gpu-3", "Action:Reboot", NULL));
    assert_string_equal(seen("gpu-3").state, "MIXED+FAIL");
    reboot("gpu-3", "DOWN+FAIL");
    assert_string_equal(seen("gpu-3").reason, "Action:Reboot"); /* not "Node unexpectedly rebooted": ours stays */
    OK(mark("gpu-3", "Action:Reboot", NULL));
    bring_back("gpu-3", "Action:Reboot");
    AWAIT(job_is(job, "PENDING") || job_is(job, "RUNNING")); /* Slurm requeued it: its node had gone */
    RUN("scancel", job);
    AWAIT(job_count("gpu-3") == 0);
}

static void test_unexpected_reboot(void **state)
{
    need_lab(state);
    reboot("gpu-3", "DOWN");
    struct scheduler_node node = seen("gpu-3");
    assert_string_equal(node.reason, "Node unexpectedly rebooted");
    assert_true(!node.drained && !node.schedulable && node.responding); /* Slurm's finding, nobody's decision */
    assert_true(node.given_up);
    bring_back("gpu-3", NULL);
    reboot("gpu-3", "DOWN");
    OK(mark("gpu-3", "holdfast: looking", NULL));
    assert_string_equal(seen("gpu-3").state, "DOWN+DRAIN");
    bring_back("gpu-3", "holdfast: looking");
}

static void test_silent_node(void **state)
{
    need_lab(state);
    RUN(LAB, "end", dir, "gpu-3");
    AWAIT(!seen("gpu-3").responding);
    assert_false(seen("gpu-3").drained);
    OK(mark("gpu-3", "Action:Replace", NULL));
    assert_true(seen("gpu-3").drained);
    RUN(LAB, "begin", dir, "gpu-3");
    AWAIT(seen("gpu-3").responding);
    bring_back("gpu-3", NULL);
}

static void test_wrong_arguments(void **state)
{
    need_lab(state);
    autofree struct scheduler_job *jobs = NULL;
    size_t count;
    assert_int_equal(mark("gpu-9", "Action:Reboot", NULL), STATUS_NOT_FOUND);
    assert_int_equal(resume("gpu-9", NULL), STATUS_NOT_FOUND);
    assert_int_equal(slurm.ops->jobs(slurm.self, "gpu-9", &jobs, &count, error), STATUS_NOT_FOUND);
    assert_int_equal(slurm.ops->evict(slurm.self, "gpu-9", "x", error), STATUS_NOT_FOUND);
    static const char *const names[] = {"", "gpu-[1-2]", "ALL nodes", "-w", "gpu-1,gpu-2", "gpu-1\n"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(mark(names[i], "Action:Reboot", NULL), STATUS_INVALID);
        assert_int_equal(resume(names[i], NULL), STATUS_INVALID);
        assert_int_equal(slurm.ops->jobs(slurm.self, names[i], &jobs, &count, error), STATUS_INVALID);
        assert_int_equal(slurm.ops->evict(slurm.self, names[i], "x", error), STATUS_INVALID);
    }
    static const char *const reasons[] = {"", "maintenance", "action:reboot", "holdfast: a\nb", "Action:Reboot "};
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        assert_int_equal(mark("gpu-1", reasons[i], NULL), STATUS_INVALID);
    assert_int_equal(slurm.ops->evict(slurm.self, "gpu-1", "a\nb", error), STATUS_INVALID);
    assert_true(in_service("gpu-1"));
}

/* was: "", whatever is shown. */
static int readdress(const char *was, const char *address, struct scheduler_move *ret_move)
{
    char earlier[2][ADDRESS_MAX_BYTES] = {"127.0.0.9"};
    *ret_move = (struct scheduler_move){.was = was[0] == '\0' ? NULL : earlier, .was_count = was[0] == '\0' ? 0 : 2};
    text_copy_cut(earlier[1], sizeof(earlier[1]), was);
    text_copy_cut(ret_move->address, sizeof(ret_move->address), address);
    int status = slurm.ops->readdress(slurm.self, "gpu-1", ret_move, error);
    ret_move->was = NULL;
    return status;
}

/* What a picture shows. */
static void assert_address(const char *expected)
{
    struct scheduler_observation picture;
    OK(slurm.ops->observe(slurm.self, &picture, error));
    for (size_t i = 0; i < picture.count; i++)
        if (strcmp(picture.nodes[i].name, "gpu-1") == 0)
            assert_string_equal(scheduler_word(&picture, picture.nodes[i].address), expected);
    scheduler_observation_free(&picture);
}

static void test_readdress(void **state)
{
    need_lab(state);
    struct scheduler_move move;
    OK(readdress("", "127.0.0.1", &move));
    OK(readdress("", "127.0.0.2:6818", &move));
    assert_true(move.holds);
    assert_string_equal(move.address, "127.0.0.2");
    assert_string_equal(move.before, "127.0.0.1");
    assert_address("127.0.0.2");
    OK(readdress("127.0.0.3", "127.0.0.4", &move)); /* people's own stays */
    assert_false(move.holds);
    assert_string_equal(move.before, "127.0.0.2");
    assert_address("127.0.0.2");
    OK(readdress("127.0.0.2", "127.0.0.1", &move));
    assert_true(move.holds);
    OK(readdress("127.0.0.3", "127.0.0.1", &move)); /* it is so already */
    assert_true(move.holds);
    assert_string_equal(move.before, "127.0.0.1");
    static const char *const bad[] = {"", "-x", "a b", "a,b", "host name:1", "$(x)"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(readdress("", bad[i], &move), STATUS_INVALID);
    AWAIT(in_service("gpu-1"));
}

static void test_slurmctld_is_down(void **state)
{
    need_lab(state);
    struct scheduler_driver hasty;
    struct scheduler_observation observation = {0};
    assert_int_equal(new_driver(1000, &hasty), 0);
    RUN(LAB, "end", dir, "slurmctld");
    int64_t before = clock_mono_ms(clock_system());
    assert_int_equal(hasty.ops->observe(hasty.self, &observation, error), STATUS_TIMEOUT);
    assert_int_equal(hasty.ops->mark(hasty.self, "gpu-1", "Action:Reboot", NULL, error), STATUS_TIMEOUT);
    assert_in_range(clock_mono_ms(clock_system()) - before, 1900, 6000);
    assert_non_null(strstr(error, "slurmctld"));
    assert_null(observation.nodes);
    RUN(LAB, "begin", dir, "slurmctld");
    AWAIT(hasty.ops->observe(hasty.self, &observation, error) == 0);
    assert_int_equal(observation.count, 3);
    scheduler_observation_free(&observation);
    hasty.ops->free(hasty.self);
}

static int slurm_live(enum way_kind kind)
{
    way.kind = kind;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_observe, restore),
        cmocka_unit_test_teardown(test_mark_and_resume, restore),
        cmocka_unit_test_teardown(test_hold, restore),
        cmocka_unit_test_teardown(test_foreign_drain, restore),
        cmocka_unit_test_teardown(test_operator_requests, restore),
        cmocka_unit_test_teardown(test_hint, restore),
        cmocka_unit_test_teardown(test_evict, restore),
        cmocka_unit_test_teardown(test_signal, restore),
        cmocka_unit_test_teardown(test_heterogeneous_job, restore),
        cmocka_unit_test_teardown(test_reboot, restore),
        cmocka_unit_test_teardown(test_unexpected_reboot, restore),
        cmocka_unit_test_teardown(test_silent_node, restore),
        cmocka_unit_test_teardown(test_wrong_arguments, restore),
        cmocka_unit_test_teardown(test_readdress, restore),
        cmocka_unit_test_teardown(test_slurmctld_is_down, restore),
    };
    return cmocka_run_group_tests(tests, start_lab, stop_lab);
}

#endif
