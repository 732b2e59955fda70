/* An operation waits for jobs, and something worse is seen of its node: the jobs have less time, however long it was to wait. */
#include "server/service/cluster/cluster.h"
#include "server/service/node/check.h"
#include "server/service/node/node.h"
#include "tests/sim/sim_cluster.h"

#define LOST 79       /* GPU has fallen off the bus: at once */
#define CONTAINED 94  /* the jobs end by themselves: after them */
#define FOR_PERSON 78 /* vGPU: no machine knows the remedy */
#define OF_A_PROGRAM 13

static struct fake_scheduler_node *there(struct sim *sim)
{
    return fake_scheduler_find(&sim->scheduler, "gpu-1");
}

static void open_busy(struct sim *sim, uint64_t seed)
{
    sim_open(sim, seed, true);
    sim->provider.says = true;
    sim_crash(sim); /* the next hpd has a provider that says what it plans */
    sim_create(sim, 4, NODE_RECOVERY_AUTOMATIC);
    there(sim)->jobs = 1;
}

static void notice(struct sim *sim, enum provider_notice_kind kind)
{
    struct provider_notice *notice = &sim->provider.notices[sim->provider.notice_count++];
    *notice = (struct provider_notice){.kind = kind, .due_at = clock_wall_ms(sim->provider.clock) + 9 * MS_PER_DAY};
    snprintf(notice->id, sizeof(notice->id), "event-%d", sim->provider.notice_count);
    snprintf(notice->instance_id, sizeof(notice->instance_id), "%s",
             fake_provider_of_node(&sim->provider, "gpu-1")->id);
    snprintf(notice->words, sizeof(notice->words), "planned work");
}

/* The machine goes in nine days, and its jobs have until then. */
static void announce(struct sim *sim, enum provider_notice_kind kind)
{
    notice(sim, kind);
    sim_run(sim, 2 * MS_PER_HOUR);
    assert_true(there(sim)->out);
    assert_int_equal(there(sim)->evictions, 0);
    assert_int_equal(sim_state(sim, "gpu-1"), NODE_STATE_REPAIRING);
}

/* So long it is never back in service: no job may begin on it. */
static void run_out(struct sim *sim, int64_t for_ms)
{
    const int resumes = there(sim)->resumes;
    for (int64_t at = 0; at < for_ms && there(sim)->evictions == 0; at += 10 * MS_PER_S) {
        sim_run(sim, 10 * MS_PER_S);
        assert_true(there(sim)->out);
        assert_int_equal(there(sim)->resumes, resumes);
    }
}

static void a_lost_gpu_does_not_wait_for_the_date(void **state)
{
    static const enum provider_notice_kind kinds[] = {PROVIDER_NOTICE_RETIREMENT, PROVIDER_NOTICE_REBOOT};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct sim sim;
        open_busy(&sim, 401 + i);
        announce(&sim, kinds[i]);
        sim_verdict(&sim, "gpu-1", LOST, SEVERITY_CRITICAL);
        run_out(&sim, 5 * MS_PER_MIN);
        assert_int_equal(there(&sim)->evictions, 1);
        assert_int_equal(
            sim_events(&sim, "gpu-1", EVENT_KIND_DECISION, "Jobs have less time because of xid.79 on 0000:b9:00."),
            1 - (int)i);
        assert_int_equal(
            sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_CANCELLED, "replaced by a more urgent repair: "), 1);
        sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
        assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_CANCELLED, NULL), 1);
        struct reconcile_stats stats;
        reconcile_stats(sim.reconcile, &stats);
        assert_int_equal(stats.durations.refused, 0); /* no person did */
        sim_close(&sim);
    }
}

/* The scheduler takes no mark, so the drain does not begin, and the date is nearer with each look. */
static void a_date_of_a_drain_that_has_not_begun_is_the_same_date(void **state)
{
    struct sim sim;
    (void)state;
    open_busy(&sim, 410);
    sim.scheduler.refuses = true;
    notice(&sim, PROVIDER_NOTICE_RETIREMENT);
    sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, 2 * MS_PER_HOUR);
    const int64_t id = sim_read(&sim, "gpu-1").operation.id;
    for (int i = 0; i < 5; i++) {
        sim_verdict(&sim, "gpu-1", OF_A_PROGRAM, SEVERITY_WARN); /* something to look at */
        sim_run(&sim, 2 * MS_PER_MIN);
    }
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_CANCELLED, NULL), 0);
    assert_int_equal(sim_read(&sim, "gpu-1").operation.id, id);
    sim_verdict(&sim, "gpu-1", LOST, SEVERITY_CRITICAL); /* a worse one counts at once all the same */
    sim_run(&sim, 5 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_CANCELLED, NULL), 1);
    sim.scheduler.refuses = false;
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_CANCELLED, NULL), 1);
    sim_close(&sim);
}

/* The group may have one node in repair, which is gpu-1. */
static void another_node_that_waits_for_a_place_does_not_take_it(void **state)
{
    struct sim sim;
    (void)state;
    open_busy(&sim, 411);
    announce(&sim, PROVIDER_NOTICE_RETIREMENT);
    sim_verdict(&sim, "gpu-2", LOST, SEVERITY_CRITICAL);
    sim_verdict(&sim, "gpu-1", LOST, SEVERITY_CRITICAL);
    run_out(&sim, 2 * MS_PER_HOUR);
    assert_int_equal(there(&sim)->evictions, 1);
    sim_close(&sim);
}

static void what_can_wait_for_jobs_waits_as_long_as_it_would_alone(void **state)
{
    struct sim sim;
    (void)state;
    open_busy(&sim, 403);
    announce(&sim, PROVIDER_NOTICE_RETIREMENT);
    sim_verdict(&sim, "gpu-1", CONTAINED, SEVERITY_CRITICAL);
    sim_crash(&sim);
    const int64_t drain_ms = sim.settings.policy.drain_deadline_ms[FAULT_CLASS_NONE];
    run_out(&sim, drain_ms - 10 * MS_PER_MIN);
    assert_int_equal(there(&sim)->evictions, 0);
    run_out(&sim, 20 * MS_PER_MIN);
    assert_int_equal(there(&sim)->evictions, 1);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_CANCELLED, NULL), 1);
    sim_close(&sim);
}

/* Nobody hears it: what it shall do until the date it cannot do any more. */
static void a_machine_that_hangs_does_not_wait_for_the_date(void **state)
{
    struct sim sim;
    (void)state;
    open_busy(&sim, 404);
    announce(&sim, PROVIDER_NOTICE_RETIREMENT);
    struct fake_instance *machine = fake_provider_of_node(&sim.provider, "gpu-1");
    machine->muted = true;
    there(&sim)->jobs_outlast_silence = true;
    sim_run(&sim, sim.settings.policy.unreachable_after_ms / 2);
    assert_false(machine->gone);
    sim_run(&sim, 2 * MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_AGENT_SILENT, NULL), 1);
    assert_true(sim.provider.reboots > 0 || machine->gone);
    sim_close(&sim);
}

/* What a person asked for stays what it is. */
static void a_persons_repair_goes_on_and_its_jobs_have_less_time(void **state)
{
    static const enum operation_kind kinds[] = {OPERATION_KIND_REBOOT, OPERATION_KIND_REPLACE};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct sim sim;
        struct problem problem = {0};
        struct operation op;
        open_busy(&sim, 405 + i);
        sim.settings.policy.drain_deadline_ms[FAULT_CLASS_NONE] = 3 * MS_PER_DAY;
        sim_crash(&sim);
        assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", kinds[i],
                                              URGENCY_AFTER_JOBS, "because", "mine", &op, &problem),
                         0);
        sim_run(&sim, MS_PER_HOUR);
        assert_true(there(&sim)->out);
        assert_int_equal(there(&sim)->evictions, 0);
        sim_verdict(&sim, "gpu-1", LOST, SEVERITY_CRITICAL);
        run_out(&sim, 5 * MS_PER_MIN);
        assert_int_equal(there(&sim)->evictions, 1);
        assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_JOBS,
                                    "a newer fault (xid.79) shortens the wait for jobs: they may run until "),
                         1);
        assert_int_equal(sim_read(&sim, "gpu-1").operation.id, op.id);
        sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
        assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_CANCELLED, NULL), 0);
        sim_close(&sim);
    }
}

/* The policy would not repair it now: what was begun goes on as it was. */
static void what_is_only_observed_changes_nothing(void **state)
{
    struct sim sim;
    (void)state;
    open_busy(&sim, 407);
    sim.settings.policy.modes[FAULT_CLASS_GPU] = REPAIR_MODE_OBSERVE;
    sim_crash(&sim);
    announce(&sim, PROVIDER_NOTICE_RETIREMENT);
    sim_verdict(&sim, "gpu-1", LOST, SEVERITY_CRITICAL);
    sim_run(&sim, 5 * MS_PER_HOUR);
    assert_int_equal(there(&sim)->evictions, 0);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_CANCELLED, NULL), 0);
    sim_close(&sim);
}

/* A check of gpu-1 that waits for days: for its jobs, or, where no other node is idle, before it begins. */
static void open_checking(struct sim *sim, uint64_t seed, bool others_are_idle)
{
    static const char *const nodes[] = {"gpu-1"};
    struct problem problem = {0};
    struct service_check_result result;
    const struct service_check_request request = {.nodes = nodes, .node_count = 1, .checks = SM_BIT(DEEP_CHECK_STRESS)};
    const struct service_check_how how = {
        .profile = DEEP_PROFILE_DEEP, .urgency = URGENCY_AFTER_JOBS, .needs_spare = !others_are_idle};
    open_busy(sim, seed);
    for (int i = 0; i < sim->scheduler.count; i++)
        sim->scheduler.nodes[i].jobs = &sim->scheduler.nodes[i] == there(sim) || !others_are_idle;
    sim->deep = SIM_DEEP_PASSES;
    sim->settings.check_wait_ms = 3 * MS_PER_DAY;
    sim_crash(sim);
    sim_run(sim, MS_PER_MIN);
    assert_int_equal(
        service_cluster_check(&sim->service, &sim_admin, SIM_CLUSTER, &request, 1, &how, &result, &problem), 0);
    service_check_result_free(&result);
    sim_run(sim, MS_PER_HOUR);
    assert_int_equal(there(sim)->out, others_are_idle);
}

/* Its node is at work meanwhile, and no repair is due: a person is. */
static void a_check_that_has_not_begun_hides_no_fault(void **state)
{
    struct sim sim;
    (void)state;
    open_checking(&sim, 409, false);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    sim_verdict(&sim, "gpu-1", FOR_PERSON, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_HELD, 5 * MS_PER_MIN);
    sim_run(&sim, MS_PER_MIN);
    assert_true(there(&sim)->out);
    assert_int_equal(
        sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_CANCELLED, "check cancelled: the node has a new fault, "), 1);
    sim_close(&sim);
}

static void a_check_gives_way_to_a_repair(void **state)
{
    struct sim sim;
    (void)state;
    open_checking(&sim, 408, true);
    sim_verdict(&sim, "gpu-1", LOST, SEVERITY_CRITICAL);
    run_out(&sim, 5 * MS_PER_MIN);
    assert_int_equal(there(&sim)->evictions, 1);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_CANCELLED,
                                "check cancelled: the node has a new fault, xid.79 on 0000:b9:00"),
                     1);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_gpu_does_not_wait_for_the_date),
        cmocka_unit_test(a_date_of_a_drain_that_has_not_begun_is_the_same_date),
        cmocka_unit_test(another_node_that_waits_for_a_place_does_not_take_it),
        cmocka_unit_test(what_can_wait_for_jobs_waits_as_long_as_it_would_alone),
        cmocka_unit_test(a_machine_that_hangs_does_not_wait_for_the_date),
        cmocka_unit_test(a_persons_repair_goes_on_and_its_jobs_have_less_time),
        cmocka_unit_test(what_is_only_observed_changes_nothing),
        cmocka_unit_test(a_check_gives_way_to_a_repair),
        cmocka_unit_test(a_check_that_has_not_begun_hides_no_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
