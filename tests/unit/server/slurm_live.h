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

#include "tests/support/scheduler_owner.h"
#include "tests/unit/server/slurm_lab.h"

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
    /* Whose request it was cannot be told from the text alone: only a caller who says so replaces it. */
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

static void test_external_drain(void **state)
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
    OK(mark("gpu-2", "Action:Replace", "Action:Replace")); /* down is not fail, so it is made so */
    struct scheduler_node node =
        seen("gpu-2"); /* NOT_RESPONDING too, right after a resume: slurmrestd has it between */
    assert_true(text_starts_with(node.state, "DOWN+") && strstr(node.state, "+FAIL") != NULL);
    OK(resume("gpu-2", "Action:Replace"));
    AWAIT(in_service("gpu-2"));
}

/* What docs/slurm-states.md says of a maintenance, and of a machine that Slurm found to have too little. */
static void test_maintenance_and_findings(void **state)
{
    need_lab(state);
    RUN("scontrol", "create", "reservation", "ReservationName=theirs", "StartTime=now", "Duration=60", "Flags=MAINT",
        "Users=root", "Nodes=gpu-2");
    AWAIT(!seen("gpu-2").schedulable);
    struct scheduler_node node = seen("gpu-2");
    assert_non_null(strstr(node.state, "MAINT"));
    assert_false(node.drained); /* it keeps work away, and it is no opt-out */
    OK(mark("gpu-2", "holdfast: a fault", NULL));
    assert_true(seen("gpu-2").drained);
    OK(resume("gpu-2", "holdfast: a fault"));
    assert_false(seen("gpu-2").drained);
    assert_false(seen("gpu-2").schedulable); /* the maintenance is theirs, and goes on */
    RUN("scontrol", "delete", "ReservationName=theirs");
    AWAIT(in_service("gpu-2"));

    RUN("scontrol", "update", "NodeName=gpu-2", "State=DRAIN",
        "Reason=Low RealMemory (reported:100 < 100.00% of configured:2048)");
    node = seen("gpu-2");
    assert_false(node.drained || node.schedulable || node.downed);
    assert_int_equal(node.request, SCHEDULER_REQUEST_NONE);
    assert_int_equal(resume("gpu-2", "holdfast: a fault"), STATUS_CONFLICT); /* it has too little still */
    assert_string_equal(seen("gpu-2").state, "IDLE+DRAIN");
    RUN("scontrol", "update", "NodeName=gpu-2", "State=RESUME");
    AWAIT(in_service("gpu-2"));
}

static void test_annotate(void **state)
{
    need_lab(state);
    static const char word[] = "alice";
    RUN("scontrol", "update", "NodeName=gpu-2", "State=DRAIN", "Reason=action:reboot \"gpu 3\" now");
    OK(slurm.ops->requests->annotate(slurm.self, "gpu-2", "action:reboot \"gpu 3\" now", word, error));
    OK(slurm.ops->requests->annotate(slurm.self, "gpu-2", "action:reboot \"gpu 3\" now", word,
                                     error)); /* again: once */
    assert_string_equal(
        seen("gpu-2").reason,
        "action:reboot \"gpu 3\" now (holdfast: alice, use Action:Reboot or Action:Replace, state=fail)");
    assert_string_equal(seen("gpu-2").state, "IDLE+DRAIN");
    assert_int_equal(seen("gpu-2").request, SCHEDULER_REQUEST_NEAR_MISS);
    assert_true(seen("gpu-2").drained); /* still that person's */
    assert_int_equal(mark("gpu-2", "holdfast: a fault", NULL), STATUS_CONFLICT);
    assert_int_equal(slurm.ops->requests->annotate(slurm.self, "gpu-2", "action:reboot", word, error), STATUS_CONFLICT);
    assert_int_equal(slurm.ops->requests->annotate(slurm.self, "gpu-2", "action:reboot ?", word, error),
                     STATUS_INVALID);
    char full[REASON_MAX_BYTES];
    memset(full, 'a', sizeof(full) - 1);
    full[sizeof(full) - 1] = '\0';
    assert_int_equal(slurm.ops->requests->annotate(slurm.self, "gpu-2", full, word, error), STATUS_TOO_LARGE);
    RUN("scontrol", "update", "NodeName=gpu-2", "State=RESUME");
    AWAIT(in_service("gpu-2"));
}

static void check_jobs(const char *both, const char *array, const char *once)
{
    autofree struct scheduler_job *jobs = NULL;
    size_t count = 0;
    OK(slurm.ops->workloads(slurm.self, "gpu-1", &jobs, &count, error));
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
    OK(evict_as(&slurm, "gpu-1", "Action:Replace", error));
    OK(evict_as(&slurm, "gpu-1", "Action:Replace", error));
    AWAIT(job_count("gpu-1") == 0 && !seen("gpu-1").busy);
    assert_true(job_is(both, "PENDING"));
    assert_true(job_is(array, "PENDING"));
    assert_true(job_is(once, "CANCELLED"));
    assert_true(job_is(other, "RUNNING")); /* not on that node */
    autofree char *told = NULL;
    size_t len;
    assert_int_equal(file_read(log, OUT_BYTES_MAX, &told, &len), 0);
    assert_non_null(strstr(told, "node gpu-1 is taken out for repair (Action:Replace): this job is cancelled"));
    OK(evict_as(&slurm, "gpu-1", "Action:Replace", error)); /* nobody there */
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
    OK(slurm.ops->signals->signal(slurm.self, "gpu-1", JOB_SIGNAL_USR1, asked, 2, error));
    assert_int_equal(asked[0].answer, 0);
    assert_int_equal(asked[1].answer, STATUS_NOT_FOUND); /* and no word of it to anybody else */
    AWAIT(was_told("step", "step\n"));
    OK(slurm.ops->signals->signal(slurm.self, "gpu-1", JOB_SIGNAL_B_USR1, asked, 1, error));
    AWAIT(was_told("batch", "batch\n"));
    assert_true(was_told("step", "step\n"));
    assert_true(job_is(id, "RUNNING"));
    assert_true(job_is(other, "RUNNING")); /* sleep would have died of it */
    assert_int_equal(slurm.ops->signals->signal(slurm.self, "gpu-9", JOB_SIGNAL_USR1, asked, 1, error),
                     STATUS_NOT_FOUND);
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
    OK(evict_as(&slurm, "gpu-2", "Action:Reboot", error)); /* the node of the part that does not lead */
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
    AWAIT(job_is(job, "PENDING") || job_is(job, "RUNNING")); /* Slurm requeued it, as its node had gone */
    RUN("scancel", job);
    AWAIT(job_count("gpu-3") == 0);
}

static void test_unexpected_reboot(void **state)
{
    need_lab(state);
    reboot("gpu-3", "DOWN");
    struct scheduler_node node = seen("gpu-3");
    /* Since 24.05 a node without accounting keeps the blank that the last resume left. */
    assert_true(strcmp(node.reason, "Node unexpectedly rebooted") == 0 || node.reason[0] == '\0');
    assert_true(!node.drained && !node.schedulable && node.responding); /* Slurm's finding, nobody's decision */
    assert_true(node.downed);
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
    assert_int_equal(slurm.ops->workloads(slurm.self, "gpu-9", &jobs, &count, error), STATUS_NOT_FOUND);
    assert_int_equal(evict_as(&slurm, "gpu-9", "x", error), STATUS_NOT_FOUND);
    static const char *const names[] = {"", "gpu-[1-2]", "ALL nodes", "-w", "gpu-1,gpu-2", "gpu-1\n"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(mark(names[i], "Action:Reboot", NULL), STATUS_INVALID);
        assert_int_equal(resume(names[i], NULL), STATUS_INVALID);
        assert_int_equal(slurm.ops->workloads(slurm.self, names[i], &jobs, &count, error), STATUS_INVALID);
        assert_int_equal(evict_as(&slurm, names[i], "x", error), STATUS_INVALID);
    }
    static const char *const reasons[] = {"holdfast: a\nb", "a\tb"};
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        assert_int_equal(mark("gpu-1", reasons[i], NULL), STATUS_INVALID);
    assert_int_equal(evict_as(&slurm, "gpu-1", "a\nb", error), STATUS_INVALID);
    assert_true(in_service("gpu-1"));
}

/* was: "", whatever is shown. */
static int update_address(const char *was, const char *address, struct scheduler_move *ret_move)
{
    char earlier[2][ADDRESS_MAX_BYTES] = {"127.0.0.9"};
    *ret_move = (struct scheduler_move){.was = was[0] == '\0' ? NULL : earlier, .was_count = was[0] == '\0' ? 0 : 2};
    text_copy_cut(earlier[1], sizeof(earlier[1]), was);
    text_copy_cut(ret_move->address, sizeof(ret_move->address), address);
    int status = slurm.ops->addresses->update(slurm.self, "gpu-1", ret_move, error);
    ret_move->was = NULL;
    return status;
}

/* By which an old mark is told from somebody's request. */
static void test_a_mark_says_when_it_was_made(void **state)
{
    need_lab(state);
    struct scheduler_observation snapshot;
    int64_t before = clock_wall_ms(clock_system()), at = 0;
    OK(mark("gpu-1", "Action:Reboot", NULL));
    OK(slurm.ops->observe(slurm.self, &snapshot, error));
    for (size_t i = 0; i < snapshot.count; i++)
        if (strcmp(snapshot.nodes[i].name, "gpu-1") == 0)
            at = snapshot.nodes[i].reason_at;
    scheduler_observation_free(&snapshot);
    assert_true(at >= before - MS_PER_S && at <= clock_wall_ms(clock_system()));
}

/* What a snapshot shows. */
static void assert_address(const char *expected)
{
    struct scheduler_observation snapshot;
    OK(slurm.ops->observe(slurm.self, &snapshot, error));
    for (size_t i = 0; i < snapshot.count; i++)
        if (strcmp(snapshot.nodes[i].name, "gpu-1") == 0)
            assert_string_equal(scheduler_word(&snapshot, snapshot.nodes[i].address), expected);
    scheduler_observation_free(&snapshot);
}

static void test_update_address(void **state)
{
    need_lab(state);
    struct scheduler_move move;
    OK(update_address("", "127.0.0.1", &move));
    OK(update_address("", "127.0.0.2:6818", &move));
    assert_true(move.holds);
    assert_string_equal(move.address, "127.0.0.2");
    assert_string_equal(move.before, "127.0.0.1");
    assert_address("127.0.0.2");
    OK(update_address("127.0.0.3", "127.0.0.4", &move)); /* people's own stays */
    assert_false(move.holds);
    assert_string_equal(move.before, "127.0.0.2");
    assert_address("127.0.0.2");
    OK(update_address("127.0.0.2", "127.0.0.1", &move));
    assert_true(move.holds);
    OK(update_address("127.0.0.3", "127.0.0.1", &move)); /* it is so already */
    assert_true(move.holds);
    assert_string_equal(move.before, "127.0.0.1");
    static const char *const bad[] = {"", "-x", "a b", "a,b", "host name:1", "$(x)"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(update_address("", bad[i], &move), STATUS_INVALID);
    AWAIT(in_service("gpu-1"));
}

/* Where the machine is called was. */
static struct scheduler_move call_machine(const char *was, const char *host)
{
    struct scheduler_move move = {.address = "127.0.0.1"};
    text_copy_cut(move.host, sizeof(move.host), host);
    text_copy_cut(move.host_was, sizeof(move.host_was), was);
    OK(slurm.ops->addresses->update(slurm.self, "gpu-1", &move, error));
    assert_true(move.holds);
    return move;
}

static void assert_host(const char *expected)
{
    struct scheduler_observation snapshot;
    OK(slurm.ops->observe(slurm.self, &snapshot, error));
    for (size_t i = 0; i < snapshot.count; i++)
        if (strcmp(snapshot.nodes[i].name, "gpu-1") == 0)
            assert_string_equal(scheduler_word(&snapshot, snapshot.nodes[i].host), expected);
    scheduler_observation_free(&snapshot);
}

static void test_another_machine_has_another_name(void **state)
{
    need_lab(state);
    assert_host("localhost");
    assert_true(call_machine("localhost", "ip-10-0-0-2").renamed);
    assert_host("ip-10-0-0-2");
    assert_false(call_machine("localhost", "ip-10-0-0-3").renamed); /* people's own stays */
    assert_false(call_machine("ip-10-0-0-2", "").renamed);
    assert_false(call_machine("ip-10-0-0-2", "a b").renamed);
    assert_false(call_machine("ip-10-0-0-2", "a,b").renamed);
    assert_host("ip-10-0-0-2");
    assert_true(call_machine("ip-10-0-0-2", "localhost").renamed);
    assert_host("localhost");
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
    assert_int_equal(cordon_as(&hasty, "gpu-1", "Action:Reboot", NULL, error), STATUS_TIMEOUT);
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
        cmocka_unit_test_teardown(test_external_drain, restore),
        cmocka_unit_test_teardown(test_operator_requests, restore),
        cmocka_unit_test_teardown(test_maintenance_and_findings, restore),
        cmocka_unit_test_teardown(test_annotate, restore),
        cmocka_unit_test_teardown(test_evict, restore),
        cmocka_unit_test_teardown(test_signal, restore),
        cmocka_unit_test_teardown(test_heterogeneous_job, restore),
        cmocka_unit_test_teardown(test_reboot, restore),
        cmocka_unit_test_teardown(test_unexpected_reboot, restore),
        cmocka_unit_test_teardown(test_silent_node, restore),
        cmocka_unit_test_teardown(test_wrong_arguments, restore),
        cmocka_unit_test_teardown(test_update_address, restore),
        cmocka_unit_test_teardown(test_another_machine_has_another_name, restore),
        cmocka_unit_test_teardown(test_a_mark_says_when_it_was_made, restore),
        cmocka_unit_test_teardown(test_slurmctld_is_down, restore),
    };
    return cmocka_run_group_tests(tests, start_lab, stop_lab);
}

#endif
