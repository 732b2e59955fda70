/* Stories of deep health checks: a node takes no work while it is tested, and is given back as it was, or not at all. */
#include "base/sm.h"
#include "server/service/node/check.h"
#include "server/service/node/node.h"
#include "tests/sim/sim_cluster.h"

static void open_world(struct sim *sim, uint64_t seed, enum sim_deep deep, int nodes)
{
    sim_open(sim, seed, true);
    sim->deep = deep;
    sim_create(sim, nodes, NODE_RECOVERY_AUTOMATIC);
}

/* Asks for gpu-1; the id of the run goes to ret_uid. */
static void start_as(struct sim *sim, enum deep_profile profile, enum urgency urgency, char ret_uid[ID_UUID_MAX])
{
    static const char *const nodes[] = {"gpu-1"};
    struct problem problem = {0};
    struct service_check_result result;
    const struct service_check_request request = {.nodes = nodes, .node_count = 1, .checks = SM_BIT(DEEP_CHECK_STRESS)};
    const struct service_check_how how = {.profile = profile, .urgency = urgency};
    if (service_cluster_check(&sim->service, &sim_admin, SIM_CLUSTER, &request, 1, &how, &result, &problem) != 0 ||
        result.count != 1 || result.nodes[0].uid[0] == '\0')
        sim_fail(sim, "gpu-1", "%s", problem.detail);
    snprintf(ret_uid, ID_UUID_MAX, "%s", result.nodes[0].uid);
    service_check_result_free(&result);
}

static void start(struct sim *sim, char ret_uid[ID_UUID_MAX])
{
    start_as(sim, DEEP_PROFILE_DEEP, URGENCY_AFTER_JOBS, ret_uid);
}

static int count_row(const void *row, void *arg)
{
    (void)row;
    (*(int *)arg)++;
    return 0;
}

static struct deep_run run_of(struct sim *sim, const char *uid, int *ret_tests)
{
    struct deep_run run;
    struct problem problem = {0};
    *ret_tests = 0;
    if (service_check_describe(&sim->service, uid, &run, count_row, ret_tests, &problem) != 0)
        sim_fail(sim, "gpu-1", "%s", problem.detail);
    return run;
}

static struct deep_run until_ended(struct sim *sim, const char *uid, int64_t at_most_ms)
{
    int tests;
    int64_t until = clock_wall_ms(&sim->clock) + at_most_ms;
    for (;;) {
        struct deep_run run = run_of(sim, uid, &tests);
        if (deep_state_is_final(run.state))
            return run;
        if (clock_wall_ms(&sim->clock) >= until)
            sim_fail(sim, "gpu-1", "the check does not end: %s", deep_state_text(run.state));
        sim_tick(sim, until);
    }
}

static struct fake_instance *machine(struct sim *sim)
{
    return fake_provider_of_node(&sim->provider, "gpu-1");
}

static const struct fake_scheduler_node *there(struct sim *sim)
{
    return fake_scheduler_find(&sim->scheduler, "gpu-1");
}

static void a_node_is_tested_and_given_back(void **state)
{
    static const enum sim_deep ways[] = {SIM_DEEP_PASSES, SIM_DEEP_SKIPS};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        struct sim sim;
        char uid[ID_UUID_MAX];
        int tests;
        open_world(&sim, 301, ways[i], 2);
        start(&sim, uid);
        assert_int_equal(run_of(&sim, uid, &tests).state, DEEP_STATE_WAITING);
        sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, MS_PER_MIN);
        sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
        const struct deep_run run = run_of(&sim, uid, &tests);
        assert_int_equal(run.state, ways[i] == SIM_DEEP_PASSES ? DEEP_STATE_PASSED : DEEP_STATE_SKIPPED);
        assert_int_equal(tests, 1);
        assert_string_equal(run.instance_id, machine(&sim)->id);
        assert_int_equal(machine(&sim)->deep_runs, 1);
        assert_int_equal(there(&sim)->marks, 1);
        assert_int_equal(there(&sim)->resumes, 2); /* of its launch, and now */
        assert_int_equal(there(&sim)->quarantines, 1);
        assert_false(there(&sim)->out || there(&sim)->quarantine);
        assert_int_equal(sim_read(&sim, "gpu-1").operation.state, OPERATION_STATE_SUCCEEDED);
        assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DEEP_CHECK, NULL), 2);
        assert_int_equal(fake_scheduler_find(&sim.scheduler, "gpu-2")->marks, 0);
        sim_close(&sim);
    }
}

/* No agent offers it: the node is left as it is, and nothing is called passed. */
static void a_check_that_no_agent_has_fails_untouched(void **state)
{
    struct sim sim;
    char uid[ID_UUID_MAX];
    int tests;
    (void)state;
    open_world(&sim, 302, SIM_DEEP_NOT_OFFERED, 2);
    start(&sim, uid);
    sim_run(&sim, MS_PER_MIN);
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_int_equal(reading.operation.kind, OPERATION_KIND_CHECK);
    assert_int_equal(reading.operation.state, OPERATION_STATE_FAILED);
    assert_non_null(strstr(reading.operation.error, "instance-stress"));
    assert_int_equal(reading.row.state, NODE_STATE_READY);
    assert_int_equal(run_of(&sim, uid, &tests).state, DEEP_STATE_SKIPPED);
    assert_non_null(strstr(run_of(&sim, uid, &tests).detail, "instance-stress"));
    assert_int_equal(there(&sim)->marks, 0);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_FAILED, "offers no check"), 1);
    sim_close(&sim);
}

/* What failed is evidence: rebooted first, and back only when the test that failed passes. */
static void a_node_that_fails_is_repaired(void **state)
{
    struct sim sim;
    char uid[ID_UUID_MAX];
    (void)state;
    open_world(&sim, 303, SIM_DEEP_FAILS, 4);
    start(&sim, uid);
    const struct deep_run run = until_ended(&sim, uid, MS_PER_HOUR);
    assert_int_equal(run.state, DEEP_STATE_FAILED);
    assert_string_equal(run.detail, "HARDWARE_CHECK: because");
    sim.deep = SIM_DEEP_PASSES;
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(machine(&sim)->deep_runs, 2);
    assert_int_equal(sim_read(&sim, "gpu-1").operation.kind, OPERATION_KIND_REBOOT);
    assert_string_equal(sim_read(&sim, "gpu-1").operation.code, "deep.hardware-check");
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_FAILED, "HARDWARE_CHECK: because"), 1);
    assert_int_equal(there(&sim)->evictions, 0);

    sim.deep = SIM_DEEP_FAILS;
    sim_run(&sim, MS_PER_HOUR);
    start(&sim, uid);
    (void)until_ended(&sim, uid, MS_PER_HOUR);
    sim.deep = SIM_DEEP_PASSES;
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(sim_read(&sim, "gpu-1").operation.kind, OPERATION_KIND_REPLACE);
    assert_int_equal(machine(&sim)->deep_runs, 1); /* of the new one */
    sim_close(&sim);
}

/* Test, reboot, test, another machine, test: what never passes never takes work again, and ends with a person. */
static void a_slot_that_never_passes_ends_with_a_person(void **state)
{
    struct sim sim;
    char uid[ID_UUID_MAX];
    (void)state;
    open_world(&sim, 304, SIM_DEEP_FAILS, 4);
    const int before = there(&sim)->resumes;
    start(&sim, uid);
    (void)until_ended(&sim, uid, MS_PER_HOUR);
    sim_run(&sim, 2 * MS_PER_HOUR);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DECISION, "(replaces-exhausted)"), 1);
    assert_int_equal(there(&sim)->resumes, before);
    sim_close(&sim);
}

static int count_fault(const void *row, void *arg)
{
    const struct verdict *verdict = row;
    if (strcmp(verdict->code, "deep.hardware-check") != 0)
        return 0;
    int *counts = arg;
    counts[verdict->node_fault ? 1 : 0]++;
    return 0;
}

/* What the site calls no fault does not count as one for the breaker either. */
static void the_site_says_what_a_failure_means(void **state)
{
    const struct fault_override wanted = {.code = "deep.hardware-check",
                                          .instance_type = "",
                                          .action = ACTION_CLASS_WATCH,
                                          .again = ACTION_CLASS_WATCH,
                                          .why = "the test is being tried out"};
    struct sim sim;
    char uid[ID_UUID_MAX];
    int counts[2] = {0, 0};
    const char *wrong = NULL;
    struct problem problem = {0};
    struct fault_overrides *overrides = fault_overrides_new("0123456789abcdef");
    (void)state;
    assert_int_equal(fault_overrides_add(overrides, &wanted, &wrong), 0);
    open_world(&sim, 311, SIM_DEEP_FAILS, 2);
    atomic_store(&sim.service.fault_overrides, overrides);
    start(&sim, uid);
    assert_int_equal(until_ended(&sim, uid, MS_PER_HOUR).state, DEEP_STATE_FAILED);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 0);
    assert_int_equal(
        service_verdict_list(&sim.service, SIM_CLUSTER, "gpu-1", -1, 0, 100, count_fault, counts, &problem), 0);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 0);
    sim_close(&sim);
    fault_overrides_free(overrides);
}

static void without_recovery_a_node_that_fails_stays_out(void **state)
{
    struct sim sim;
    char uid[ID_UUID_MAX];
    (void)state;
    sim_open(&sim, 304, true);
    sim.deep = SIM_DEEP_FAILS;
    sim_create(&sim, 2, NODE_RECOVERY_NONE);
    start(&sim, uid);
    (void)until_ended(&sim, uid, MS_PER_HOUR);
    sim_run(&sim, 2 * MS_PER_HOUR);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    assert_true(there(&sim)->out);
    assert_int_equal(sim.provider.reboots, 0);
    sim_close(&sim);
}

static void a_busy_node_is_left_to_its_jobs(void **state)
{
    struct sim sim;
    char uid[ID_UUID_MAX];
    (void)state;
    open_world(&sim, 305, SIM_DEEP_PASSES, 2);
    fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs = 2;
    start(&sim, uid);
    const struct deep_run run = until_ended(&sim, uid, sim.settings.check_wait_ms + MS_PER_MIN);
    assert_int_equal(run.state, DEEP_STATE_SKIPPED);
    assert_non_null(strstr(run.detail, "still busy after 10m"));
    assert_int_equal(there(&sim)->jobs, 2);
    assert_int_equal(there(&sim)->evictions, 0);
    assert_false(there(&sim)->out || there(&sim)->quarantine); /* as it was */
    assert_int_equal(machine(&sim)->deep_runs, 0);
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_int_equal(reading.row.state, NODE_STATE_READY);
    assert_int_equal(reading.operation.state, OPERATION_STATE_CANCELLED);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_CANCELLED, "its jobs were left alone"), 1);
    sim_close(&sim);
}

static void a_busy_node_whose_jobs_end_is_tested(void **state)
{
    struct sim sim;
    char uid[ID_UUID_MAX];
    (void)state;
    open_world(&sim, 306, SIM_DEEP_PASSES, 2);
    fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs = 2;
    start(&sim, uid);
    sim_run(&sim, sim.settings.check_wait_ms / 2);
    fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs = 0;
    assert_int_equal(until_ended(&sim, uid, MS_PER_HOUR).state, DEEP_STATE_PASSED);
    assert_int_equal(there(&sim)->evictions, 0);
    sim_close(&sim);
}

static void a_pressing_check_requeues_jobs(void **state)
{
    struct sim sim;
    char uid[ID_UUID_MAX];
    (void)state;
    open_world(&sim, 307, SIM_DEEP_PASSES, 2);
    fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs = 2;
    start_as(&sim, DEEP_PROFILE_QUICK, URGENCY_NOW, uid);
    assert_int_equal(until_ended(&sim, uid, MS_PER_HOUR).state, DEEP_STATE_PASSED);
    assert_int_equal(there(&sim)->evictions, 1);
    sim_close(&sim);
}

static void a_cancelled_check_gives_the_node_back(void **state)
{
    struct sim sim;
    char uid[ID_UUID_MAX], key[KEY_MAX_BYTES];
    struct operation operation;
    struct problem problem = {0};
    (void)state;
    open_world(&sim, 308, SIM_DEEP_STALLS, 2);
    start(&sim, uid);
    for (int i = 0; machine(&sim)->deep_runs == 0; i++) {
        assert_true(i < 10000);
        sim_tick(&sim, INT64_MAX);
    }
    assert_true(there(&sim)->quarantine);
    assert_int_equal(service_operation_cancel(&sim.service, &sim_admin, uid, &operation, &problem), 0);
    assert_int_equal(until_ended(&sim, uid, MS_PER_MIN).state, DEEP_STATE_CANCELLED);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_MIN);
    assert_false(there(&sim)->out || there(&sim)->quarantine);
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_int_equal(
        agent_tasks_key(fleet_agent_tasks(sim.service.fleet), reading.row.id, reading.instance.instance_id, key),
        AGENT_TASK_NONE);
    struct deep_report report = {.final = true};
    snprintf(report.key, sizeof(report.key), "%s", uid); /* what the agent still says is stale: it stops */
    assert_int_equal(service_agent_report_check(&sim.service, reading.row.id, &report, &problem), STATUS_STALE);
    sim_close(&sim);
}

/* A machine that dies while it is tested is the policy's once the test is cancelled: as soon as if it had never been tested, at whatever
 * moment of its silence that is. */
static void a_node_that_dies_under_test_is_repaired_once_that_is_cancelled(void **state)
{
    (void)state;
    for (int seconds = 0; seconds < 900; seconds += 45) {
        struct sim sim;
        char uid[ID_UUID_MAX];
        struct operation operation;
        struct problem problem = {0};
        open_world(&sim, 311 + (uint64_t)seconds, SIM_DEEP_STALLS, 2);
        start(&sim, uid);
        for (int i = 0; machine(&sim)->deep_runs == 0; i++) {
            assert_true(i < 10000);
            sim_tick(&sim, INT64_MAX);
        }
        machine(&sim)->muted = true;
        sim_run(&sim, seconds * MS_PER_S);
        assert_int_equal(service_operation_cancel(&sim.service, &sim_admin, uid, &operation, &problem), 0);
        until_ended(&sim, uid, MS_PER_MIN);
        sim_run(&sim, 30 * MS_PER_MIN);
        if (sim.provider.reboots != 1)
            sim_fail(&sim, "gpu-1", "cancelled %d s after it died: %d reboots", seconds, sim.provider.reboots);
        sim_close(&sim);
    }
}

/* A scheduler that had not saved that the node was given back shows the hold of the check again: nobody else would end it. */
static void the_hold_of_a_check_that_is_over_is_ended(void **state)
{
    static const char *const words[] = {"holdfast: deep health checks", "holdfast: in the words of another release"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        struct sim sim;
        char uid[ID_UUID_MAX];
        struct operation operation;
        struct problem problem = {0};
        open_world(&sim, 309, SIM_DEEP_STALLS, 2);
        start(&sim, uid);
        for (int k = 0; machine(&sim)->deep_runs == 0; k++) {
            assert_true(k < 10000);
            sim_tick(&sim, INT64_MAX);
        }
        const struct fake_scheduler_node saved = *there(&sim);
        assert_string_equal(saved.reason, words[0]);
        assert_int_equal(service_operation_cancel(&sim.service, &sim_admin, uid, &operation, &problem), 0);
        sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_MIN);
        struct fake_scheduler_node *node = fake_scheduler_find(&sim.scheduler, "gpu-1");
        *node = saved;
        snprintf(node->reason, sizeof(node->reason), "%s", words[i]);
        sim_run(&sim, 10 * MS_PER_MIN);
        assert_false(there(&sim)->out);
        assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
        sim_close(&sim);
    }
}

static void time_is_limited(void **state)
{
    (void)state;
    for (int profile = DEEP_PROFILE_QUICK; profile <= DEEP_PROFILE_DEEP; profile++) {
        struct sim sim;
        char uid[ID_UUID_MAX];
        open_world(&sim, 309, SIM_DEEP_STALLS, 2);
        start_as(&sim, (enum deep_profile)profile, URGENCY_AFTER_JOBS, uid);
        int64_t limit = profile == DEEP_PROFILE_QUICK ? sim.settings.check_quick_ms : sim.settings.check_deep_ms;
        sim_until(&sim, "gpu-1", NODE_STATE_FAILED, limit + 5 * MS_PER_MIN);
        assert_int_equal(until_ended(&sim, uid, 0).state, DEEP_STATE_CANCELLED);
        assert_true(there(&sim)->out); /* nobody knows how it is */
        sim_close(&sim);
    }
}

/* Dead before every turn once: tested once, told once, and given back. */
static void a_crash_tests_nothing_twice(void **state)
{
    uint64_t all = 0;
    (void)state;
    for (uint64_t die = 0; die <= all; die++) {
        struct sim sim;
        char uid[ID_UUID_MAX];
        int tests;
        open_world(&sim, 310, SIM_DEEP_PASSES, 2);
        uint64_t begun = sim.turns;
        sim.die_before_turn = die == 0 ? 0 : begun + die;
        start(&sim, uid);
        sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, MS_PER_HOUR);
        sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
        if (die == 0)
            all = sim.turns - begun;
        if (machine(&sim)->deep_runs != 1 || sim_events(&sim, "gpu-1", EVENT_KIND_DEEP_CHECK, NULL) != 2 ||
            run_of(&sim, uid, &tests).state != DEEP_STATE_PASSED || there(&sim)->out || there(&sim)->quarantine ||
            there(&sim)->quarantines != 1)
            sim_fail(&sim, "gpu-1", "died before turn %" PRIu64, die);
        sim_close(&sim);
    }
}

static void the_newest_runs_of_a_node_are_kept(void **state)
{
    struct sim sim;
    char uid[ID_UUID_MAX], first[ID_UUID_MAX];
    int count = 0;
    struct problem problem;
    (void)state;
    open_world(&sim, 311, SIM_DEEP_PASSES, 2);
    start(&sim, first);
    (void)until_ended(&sim, first, MS_PER_HOUR);
    for (int i = 0; i < DEEP_RUNS_KEPT; i++) {
        sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
        start(&sim, uid);
        (void)until_ended(&sim, uid, MS_PER_HOUR);
    }
    assert_int_equal(service_check_list(&sim.service, SIM_CLUSTER, "gpu-1", 0, 0, count_row, &count, &problem), 0);
    assert_int_equal(count, DEEP_RUNS_KEPT);
    struct deep_run run;
    assert_int_equal(service_check_describe(&sim.service, first, &run, count_row, &count, &problem), STATUS_NOT_FOUND);
    sim_close(&sim);
}

/* --- on new machines ----------------------------------------------------------------------------- */

#define ON_START "{\"checksOnStart\":[\"instance-stress\",\"instance-connectivity\"]}"

static struct deep_run launch_run(struct sim *sim)
{
    int tests;
    return run_of(sim, sim_read(sim, "gpu-1").operation.uid, &tests);
}

static void a_new_machine_is_tested_before_it_takes_work(void **state)
{
    struct sim sim;
    struct operation operation;
    struct problem problem = {0};
    (void)state;
    sim_open(&sim, 312, true);
    sim.spec = ON_START;
    sim.deep = SIM_DEEP_PASSES;
    sim_create(&sim, 1, NODE_RECOVERY_AUTOMATIC);
    const struct deep_run run = launch_run(&sim);
    assert_int_equal(run.state, DEEP_STATE_PASSED);
    assert_int_equal(run.profile, DEEP_PROFILE_DEEP);
    assert_int_equal(run.checks, SM_BIT(DEEP_CHECK_STRESS)); /* what else the group wants is said to be missing */
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DEEP_CHECK, "offers no check \"instance-connectivity\""), 1);
    assert_int_equal(machine(&sim)->deep_runs, 1);
    sim_verdict(&sim, "gpu-1", 79, SEVERITY_CRITICAL); /* a reboot: the same machine */
    sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, MS_PER_HOUR);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    assert_int_equal(machine(&sim)->deep_runs, 1);
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_REPLACE,
                                          URGENCY_NOW, "because", "", &operation, &problem),
                     0);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    assert_int_equal(machine(&sim)->deep_runs, 1); /* of the new one */
    assert_int_equal(launch_run(&sim).state, DEEP_STATE_PASSED);
    sim_close(&sim);
}

static void a_new_machine_that_fails_takes_no_work(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 313, true);
    sim.spec = ON_START;
    sim.deep = SIM_DEEP_FAILS;
    sim_ask(&sim, 1, NODE_RECOVERY_AUTOMATIC);
    sim_until(&sim, "gpu-1", NODE_STATE_FAILED, MS_PER_HOUR);
    assert_int_equal(launch_run(&sim).state, DEEP_STATE_FAILED);
    assert_non_null(strstr(sim_read(&sim, "gpu-1").operation.error, "check: HARDWARE_CHECK: because"));
    assert_int_equal(there(&sim)->resumes, 0);
    assert_int_equal(there(&sim)->quarantines, 1);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_true(there(&sim)->out); /* held, and only then released from quarantine */
    assert_false(there(&sim)->quarantine);
    sim_close(&sim);
}

/* It came up, and Slurm gave it work before anybody could say no. */
static void a_new_machine_that_has_work_is_left_to_it(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 316, true);
    sim.spec = ON_START;
    sim.deep = SIM_DEEP_PASSES;
    sim_ask(&sim, 1, NODE_RECOVERY_AUTOMATIC);
    for (int i = 0; there(&sim)->marks == 0; i++) {
        assert_true(i < 10000);
        fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs = 1;
        sim_tick(&sim, INT64_MAX);
    }
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    assert_int_equal(launch_run(&sim).state, DEEP_STATE_SKIPPED);
    assert_non_null(strstr(launch_run(&sim).detail, "not touched"));
    assert_int_equal(there(&sim)->jobs, 1);
    assert_int_equal(there(&sim)->evictions, 0);
    assert_int_equal(machine(&sim)->deep_runs, 0);
    assert_false(there(&sim)->out || there(&sim)->quarantine);
    sim_close(&sim);
}

/* A person had set it apart before: that stays. */
static void what_there_was_before_stays(void **state)
{
    struct sim sim;
    char uid[ID_UUID_MAX];
    (void)state;
    open_world(&sim, 317, SIM_DEEP_PASSES, 2);
    fake_scheduler_find(&sim.scheduler, "gpu-1")->theirs = fake_scheduler_find(&sim.scheduler, "gpu-1")->quarantine =
        true;
    start(&sim, uid);
    assert_int_equal(until_ended(&sim, uid, MS_PER_HOUR).state, DEEP_STATE_PASSED);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    assert_true(there(&sim)->quarantine);
    assert_false(there(&sim)->out);
    sim_close(&sim);
}

static void an_agent_without_checks_holds_nothing_up(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 314, true);
    sim.spec = ON_START;
    sim_create(&sim, 1, NODE_RECOVERY_AUTOMATIC);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DEEP_CHECK, "offers no check"), 1);
    sim_close(&sim);
}

/* Dead before every turn of a launch once. */
static void a_crash_tests_no_new_machine_twice(void **state)
{
    uint64_t all = 0;
    (void)state;
    for (uint64_t die = 0; die <= all; die++) {
        struct sim sim;
        sim_open(&sim, 315, true);
        sim.spec = ON_START;
        sim.deep = SIM_DEEP_PASSES;
        sim.die_before_turn = die;
        sim_create(&sim, 1, NODE_RECOVERY_AUTOMATIC);
        if (die == 0)
            all = sim.turns;
        if (machine(&sim)->deep_runs != 1 || launch_run(&sim).state != DEEP_STATE_PASSED ||
            sim_events(&sim, "gpu-1", EVENT_KIND_DEEP_CHECK, "offers no check") != 1)
            sim_fail(&sim, "gpu-1", "died before turn %" PRIu64, die);
        sim_close(&sim);
    }
}

/* --- spares -------------------------------------------------------------------------------------- */

/* Asks for deep checks of the first nodes that need a spare; the ids of the runs go to ret_uids. */
static void start_sparing(struct sim *sim, size_t count, char ret_uids[][ID_UUID_MAX])
{
    static const char *const nodes[] = {"gpu-1", "gpu-2", "gpu-3"};
    struct problem problem = {0};
    struct service_check_result result;
    const struct service_check_request request = {
        .nodes = nodes, .node_count = count, .checks = SM_BIT(DEEP_CHECK_STRESS)};
    const struct service_check_how how = {
        .profile = DEEP_PROFILE_DEEP, .urgency = URGENCY_AFTER_JOBS, .needs_spare = true};
    if (service_cluster_check(&sim->service, &sim_admin, SIM_CLUSTER, &request, 1, &how, &result, &problem) != 0)
        sim_fail(sim, "gpu-1", "%s", problem.detail);
    assert_int_equal(result.count, count);
    for (size_t i = 0; i < count; i++)
        snprintf(ret_uids[i], ID_UUID_MAX, "%s", result.nodes[i].uid);
    if (count == 1 && ret_uids[0][0] == '\0')
        assert_non_null(strstr(result.nodes[0].why, "needs a spare"));
    service_check_result_free(&result);
}

/* All are asked for, and one is always left for work. */
static void deep_checks_leave_a_spare(void **state)
{
    struct sim sim;
    char uids[3][ID_UUID_MAX];
    int tests, most = 0;
    (void)state;
    open_world(&sim, 320, SIM_DEEP_PASSES, 3);
    start_sparing(&sim, 3, uids);
    for (int i = 0; !deep_state_is_final(run_of(&sim, uids[0], &tests).state) ||
                    !deep_state_is_final(run_of(&sim, uids[1], &tests).state) ||
                    !deep_state_is_final(run_of(&sim, uids[2], &tests).state);
         i++) {
        assert_true(i < 10000);
        sim_tick(&sim, INT64_MAX);
        int taken = sim_count_state(&sim, NODE_STATE_REPAIRING);
        most = taken > most ? taken : most;
    }
    assert_int_equal(most, 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(run_of(&sim, uids[i], &tests).state, DEEP_STATE_PASSED);
    sim_close(&sim);
}

static void without_a_spare_a_deep_check_is_skipped(void **state)
{
    struct sim sim;
    char uid[1][ID_UUID_MAX];
    (void)state;
    open_world(&sim, 321, SIM_DEEP_PASSES, 2);
    fake_scheduler_find(&sim.scheduler, "gpu-2")->jobs = 1;
    sim_run(&sim, MS_PER_MIN); /* it is seen */
    start_sparing(&sim, 1, uid);
    const struct deep_run run = until_ended(&sim, uid[0], sim.settings.check_wait_ms + MS_PER_MIN);
    assert_int_equal(run.state, DEEP_STATE_SKIPPED);
    assert_non_null(strstr(run.detail, "there is no spare"));
    assert_int_equal(there(&sim)->marks, 0);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    sim_close(&sim);
    open_world(&sim, 322, SIM_DEEP_PASSES, 1);
    start_sparing(&sim, 1, uid);
    assert_string_equal(uid[0], "");
    sim_close(&sim);
}

/* Nobody knows how it is, which is not that it is bad. */
static void a_node_under_test_is_not_called_unhealthy(void **state)
{
    struct sim sim;
    char uid[ID_UUID_MAX];
    (void)state;
    open_world(&sim, 323, SIM_DEEP_STALLS, 2);
    start(&sim, uid);
    sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, MS_PER_MIN);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_read(&sim, "gpu-1").row.health, HEALTH_UNKNOWN);
    sim_verdict(&sim, "gpu-1", 79, SEVERITY_CRITICAL);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_read(&sim, "gpu-1").row.health, HEALTH_UNHEALTHY);
    sim_close(&sim);
}

/* The machine that was to be the cure is ill: that is evidence like any other, and the next one is tried. */
static void a_replacement_that_fails_its_test_is_the_policys(void **state)
{
    struct sim sim;
    struct operation operation;
    struct problem problem = {0};
    (void)state;
    sim_open(&sim, 324, true);
    sim.spec = ON_START;
    sim.deep = SIM_DEEP_PASSES;
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim.deep = SIM_DEEP_FAILS;
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_REPLACE,
                                          URGENCY_NOW, "because", "", &operation, &problem),
                     0);
    while (sim_events(&sim, "gpu-1", EVENT_KIND_DEEP_CHECK, "deep health check failed") == 0)
        sim_tick(&sim, INT64_MAX);
    sim.deep = SIM_DEEP_PASSES;
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    assert_string_equal(sim_read(&sim, "gpu-1").operation.code, "deep.hardware-check");
    assert_string_equal(sim_read(&sim, "gpu-1").operation.actor, "policy");
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deep_checks_leave_a_spare),
        cmocka_unit_test(without_a_spare_a_deep_check_is_skipped),
        cmocka_unit_test(a_node_under_test_is_not_called_unhealthy),
        cmocka_unit_test(a_replacement_that_fails_its_test_is_the_policys),
        cmocka_unit_test(a_node_is_tested_and_given_back),
        cmocka_unit_test(a_check_that_no_agent_has_fails_untouched),
        cmocka_unit_test(a_node_that_fails_is_repaired),
        cmocka_unit_test(a_slot_that_never_passes_ends_with_a_person),
        cmocka_unit_test(the_site_says_what_a_failure_means),
        cmocka_unit_test(without_recovery_a_node_that_fails_stays_out),
        cmocka_unit_test(a_busy_node_is_left_to_its_jobs),
        cmocka_unit_test(a_busy_node_whose_jobs_end_is_tested),
        cmocka_unit_test(a_pressing_check_requeues_jobs),
        cmocka_unit_test(a_cancelled_check_gives_the_node_back),
        cmocka_unit_test(a_node_that_dies_under_test_is_repaired_once_that_is_cancelled),
        cmocka_unit_test(the_hold_of_a_check_that_is_over_is_ended),
        cmocka_unit_test(time_is_limited),
        cmocka_unit_test(a_crash_tests_nothing_twice),
        cmocka_unit_test(the_newest_runs_of_a_node_are_kept),
        cmocka_unit_test(a_new_machine_is_tested_before_it_takes_work),
        cmocka_unit_test(a_new_machine_that_fails_takes_no_work),
        cmocka_unit_test(a_new_machine_that_has_work_is_left_to_it),
        cmocka_unit_test(what_there_was_before_stays),
        cmocka_unit_test(an_agent_without_checks_holds_nothing_up),
        cmocka_unit_test(a_crash_tests_no_new_machine_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
