/* Stories of one repair: what a node goes through from a kernel line to service, and why. */
#include "server/service/node/node.h"
#include "tests/sim/sim_world.h"
#include "tests/support/recovery.h"

/* One commit lies between the verdict and the drain: what is decided takes its first step with it. */
static void the_turn_that_decides_also_begins(void **state)
{
    struct sim sim;
    int64_t next;
    (void)state;
    sim_open(&sim, 90, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    sim_verdict(&sim, "gpu-1", 79, SEVERITY_CRITICAL);
    (void)reconcile_run_once(sim.reconcile, &next);
    const struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_int_equal(reading.row.state, NODE_STATE_REPAIRING);
    assert_int_equal(reading.operation.state, OPERATION_STATE_RUNNING);
    assert_true(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    sim_until_all_ready(&sim, MS_PER_HOUR);
    sim_close(&sim);
}

#define OFF_THE_BUS 79 /* the table asks for a reboot, and for another machine when it comes again */
#define PROGRAM_FAULT 31

static void a_new_cluster_comes_into_service(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 1, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    struct sim_reading reading = sim_read(&sim, "gpu-2");
    assert_int_equal(reading.cluster.state, CLUSTER_STATE_IN_SERVICE);
    assert_int_equal(reading.row.health, HEALTH_HEALTHY);
    assert_int_equal(reading.instance.state, INSTANCE_STATE_RUNNING);
    assert_int_equal(sim.provider.launches, 4);
    char address[ADDRESS_MAX_BYTES];
    snprintf(address, sizeof(address), "%s.fake:6818", reading.instance.instance_id);
    assert_string_equal(fake_scheduler_find(&sim.scheduler, "gpu-2")->address, address);
    struct reconcile_stats stats;
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.active_operations, 0);
    assert_int_equal(stats.operations_succeeded, 4);
    sim_close(&sim);
}

static void a_lost_gpu_is_rebooted_then_replaced(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 2, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    struct sim_reading before = sim_read(&sim, "gpu-1");
    fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs = 2;
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    struct sim_reading decided = sim_read(&sim, "gpu-1");
    assert_int_equal(decided.decision.action, ACTION_REBOOT);
    assert_int_equal(decided.decision.operation_id, decided.operation.id);
    assert_int_equal(decided.row.state, NODE_STATE_REPAIRING);
    assert_int_equal(decided.row.health, HEALTH_UNHEALTHY);
    assert_string_equal(fake_scheduler_find(&sim.scheduler, "gpu-1")->reason, "Action:Reboot");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    struct sim_reading after = sim_read(&sim, "gpu-1");
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(sim.provider.launches, 4);
    assert_int_equal(fake_scheduler_find(&sim.scheduler, "gpu-1")->evictions, 1);
    assert_false(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    assert_string_equal(after.instance.instance_id, before.instance.instance_id);
    assert_string_not_equal(after.instance.boot_id, before.instance.boot_id);
    assert_int_equal(after.row.health, HEALTH_HEALTHY);
    assert_string_equal(after.operation.old_boot, before.instance.boot_id);

    sim_run(&sim, MS_PER_HOUR);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    decided = sim_read(&sim, "gpu-1");
    assert_int_equal(decided.decision.action, ACTION_REPLACE);
    assert_int_equal(decided.decision.rule, RULE_REPEAT_AFTER_REBOOT);
    assert_int_equal(decided.decision.refused, ACTION_REBOOT);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    after = sim_read(&sim, "gpu-1");
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(sim.provider.launches, 5);
    assert_int_equal(sim.provider.terminations, 1);
    assert_string_not_equal(after.instance.instance_id, before.instance.instance_id);
    assert_string_equal(after.operation.old_instance, before.instance.instance_id);
    assert_string_equal(after.operation.new_instance, after.instance.instance_id);
    assert_string_equal(after.row.name, "gpu-1");
    sim_close(&sim);
}

static void decisions_are_fast_and_not_repeated(void **state)
{
    struct sim sim;
    struct reconcile_stats stats;
    (void)state;
    sim_open(&sim, 3, true);
    sim_create(&sim, 4, NODE_RECOVERY_NONE);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    sim_run(&sim, MS_PER_HOUR);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.decisions, 1);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DECISION, NULL), 1);
    uint64_t counted = 0;
    for (size_t i = 0; i < ARRAY_LEN(stats.decision_us); i++)
        counted += stats.decision_us[i];
    assert_int_equal(counted, 1);
    assert_int_equal(stats.decision_us[0], 1); /* no time passed on the fake clock */
    sim_close(&sim);
}

static uint64_t counted(const struct durations *durations)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < DURATION_BUCKETS; i++)
        sum += durations->count[i];
    return sum;
}

/* Seen at one moment, stored 40 s later, decided at once, and in service again; then once more within the week. */
static void a_repair_is_counted_from_the_fault_to_service(void **state)
{
    struct sim sim;
    struct reconcile_stats stats;
    (void)state;
    sim_open(&sim, 6, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_HOUR);
    struct fake_instance *instance = fake_provider_of_node(&sim.provider, "gpu-1");
    instance->muted = true;
    int64_t seen_at = clock_wall_ms(&sim.clock);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, 40 * MS_PER_S);
    instance->muted = false;
    sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, MS_PER_MIN);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 20 * MS_PER_MIN);
    int64_t took_ms = clock_wall_ms(&sim.clock) - seen_at;
    sim_settle(&sim);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(counted(&stats.detected), 1);
    assert_in_range(stats.detected.sum_ms, 40 * MS_PER_S, 100 * MS_PER_S);
    assert_int_equal(counted(&stats.durations.to_service[OPERATION_KIND_REBOOT]), 1);
    assert_in_range(stats.durations.to_service[OPERATION_KIND_REBOOT].sum_ms, took_ms - MS_PER_MIN, took_ms);
    assert_true(stats.durations.to_service[OPERATION_KIND_REBOOT].sum_ms >= stats.detected.sum_ms);
    assert_int_equal(stats.durations.begun[OPERATION_KIND_REBOOT], 1);
    assert_int_equal(stats.durations.repeated[OPERATION_KIND_REBOOT], 0);

    sim_run(&sim, MS_PER_HOUR);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 20 * MS_PER_MIN);
    sim_verdict(&sim, "gpu-2", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.durations.begun[OPERATION_KIND_REPLACE], 1);
    assert_int_equal(stats.durations.repeated[OPERATION_KIND_REPLACE], 1);
    assert_int_equal(counted(&stats.durations.to_service[OPERATION_KIND_REPLACE]), 1);
    assert_int_equal(stats.durations.begun[OPERATION_KIND_REBOOT], 2);
    assert_int_equal(stats.durations.repeated[OPERATION_KIND_REBOOT], 0);
    assert_int_equal(counted(&stats.detected), 3);
    assert_int_equal(stats.durations.refused, 0);
    sim_close(&sim);
}

static void a_programs_fault_costs_no_node(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 4, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    for (int i = 0; i < 20; i++) {
        sim_verdict(&sim, "gpu-1", PROGRAM_FAULT, SEVERITY_WARN);
        sim_run(&sim, MS_PER_MIN);
    }
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    assert_int_equal(fake_scheduler_find(&sim.scheduler, "gpu-1")->marks, 0);
    assert_int_equal(sim.provider.reboots, 0);
    assert_true(sim_events(&sim, "gpu-1", EVENT_KIND_DECISION, NULL) > 0);
    sim_close(&sim);
}

static void recovery_none_only_marks(void **state)
{
    struct sim sim;
    struct cluster cluster;
    struct problem problem;
    (void)state;
    sim_open(&sim, 5, true);
    sim_create(&sim, 4, NODE_RECOVERY_NONE);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, MS_PER_MIN);
    struct sim_reading held = sim_read(&sim, "gpu-1");
    assert_int_equal(held.row.state, NODE_STATE_HELD);
    assert_int_equal(held.decision.action, ACTION_MARK);
    struct fake_scheduler_node *there = fake_scheduler_find(&sim.scheduler, "gpu-1");
    assert_true(there->out && !there->failed);
    assert_true(text_starts_with(there->reason, "holdfast: xid.79"));
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_SCHEDULER_MARK, "taken out of scheduling: xid.79"), 1);
    sim_run(&sim, MS_PER_DAY);
    assert_int_equal(sim.provider.reboots, 0);
    assert_int_equal(there->marks, 1);
    assert_int_equal(
        change_recovery(&sim.service, &sim_admin, SIM_CLUSTER, NODE_RECOVERY_AUTOMATIC, 0, &cluster, &problem), 0);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    assert_false(there->out);
    sim_close(&sim);
}

static void without_a_scheduler_its_steps_are_skipped(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 6, false);
    sim_create(&sim, 3, NODE_RECOVERY_AUTOMATIC);
    sim_verdict(&sim, "gpu-3", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    sim_until(&sim, "gpu-3", NODE_STATE_READY, 10 * MS_PER_MIN);
    struct sim_reading after = sim_read(&sim, "gpu-3");
    assert_int_equal(after.operation.steps[0].state, STEP_STATE_SKIPPED);
    assert_int_equal(after.operation.steps[2].state, STEP_STATE_DONE);
    assert_int_equal(sim.provider.reboots, 1);
    sim_close(&sim);
}

/* --- jobs -------------------------------------------------------------------------------------- */

static void contained_faults_let_jobs_finish(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    sim_open(&sim, 7, true);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    struct fake_scheduler_node *there = fake_scheduler_find(&sim.scheduler, "gpu-1");
    there->jobs = 2;
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_REBOOT,
                                          URGENCY_AFTER_JOBS, "", "", &op, &problem),
                     0);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 0);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_JOBS, "100 (alice), 101 (alice)"), 1);
    there->jobs = 1;
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 0);
    there->jobs = 0;
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(there->evictions, 0);
    sim_close(&sim);
}

static void jobs_have_to_go_at_the_deadline(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    sim_open(&sim, 8, true);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    struct fake_scheduler_node *there = fake_scheduler_find(&sim.scheduler, "gpu-1");
    there->jobs = 1;
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_REBOOT,
                                          URGENCY_AFTER_JOBS, "", "", &op, &problem),
                     0);
    sim_run(&sim, sim.settings.policy.drain_deadline_ms[FAULT_CLASS_NONE] - MS_PER_MIN);
    assert_int_equal(there->evictions, 0);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 20 * MS_PER_MIN);
    assert_int_equal(there->evictions, 1);
    sim_close(&sim);
}

/* The policy of the GPU's faults, which Xid 79 is: jobs are asked by USR1 and have ten minutes. */
static struct fake_scheduler_node *begin_asking(struct sim *sim, uint64_t seed)
{
    sim_open(sim, seed, true);
    sim->settings.policy.jobs[FAULT_CLASS_GPU] = JOBS_RULE_SIGNAL;
    sim->settings.policy.job_signal[FAULT_CLASS_GPU] = JOB_SIGNAL_USR2;
    sim_crash(sim); /* with these settings */
    sim_create(sim, 2, NODE_RECOVERY_AUTOMATIC);
    struct fake_scheduler_node *there = fake_scheduler_find(&sim->scheduler, "gpu-1");
    there->jobs = 2;
    return there;
}

static void jobs_are_asked_for_a_checkpoint_once(void **state)
{
    struct sim sim;
    (void)state;
    struct fake_scheduler_node *there = begin_asking(&sim, 90);
    sim_verdict(&sim, "gpu-1", 79, SEVERITY_CRITICAL);
    sim_run(&sim, 9 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 0);
    assert_int_equal(there->signals[0], 1);
    assert_int_equal(there->signals[1], 1);
    assert_int_equal(there->signal, JOB_SIGNAL_USR2);
    assert_int_equal(there->evictions, 0);
    assert_int_equal(fake_scheduler_find(&sim.scheduler, "gpu-2")->marks, 0);
    assert_int_equal(
        sim_events(&sim, "gpu-1", EVENT_KIND_JOBS, "asked to checkpoint by USR2: 100 (alice), 101 (alice)"), 1);
    const struct operation op = sim_read(&sim, "gpu-1").operation;
    assert_non_null(strstr(op.steps[1].detail, "waits for 100 (alice), 101 (alice) to end, until "));
    assert_non_null(strstr(op.steps[1].detail, " at most; asked to checkpoint by USR2"));
    there->jobs = 0; /* they wrote it, and ended */
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(there->evictions, 0);
    assert_int_equal(sim.provider.reboots, 1);
    sim_close(&sim);
}

static void jobs_that_were_asked_have_to_go_in_time(void **state)
{
    struct sim sim;
    (void)state;
    struct fake_scheduler_node *there = begin_asking(&sim, 91);
    sim_verdict(&sim, "gpu-1", 79, SEVERITY_CRITICAL);
    sim_run(&sim, 9 * MS_PER_MIN);
    assert_int_equal(there->evictions, 0);
    sim_run(&sim, 2 * MS_PER_MIN);
    assert_int_equal(there->evictions, 1);
    assert_int_equal(there->signals[0], 1);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    sim_close(&sim);
}

static void jobs_that_cannot_be_asked_are_waited_for(void **state)
{
    struct sim sim;
    (void)state;
    struct fake_scheduler_node *there = begin_asking(&sim, 92);
    there->jobs_cannot_be_asked = true;
    sim_verdict(&sim, "gpu-1", 79, SEVERITY_CRITICAL);
    sim_run(&sim, 9 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_JOBS, "could not be asked to checkpoint: 100 (alice)"), 1);
    assert_int_equal(there->evictions, 0);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(there->evictions, 1);
    sim_close(&sim);
}

static void stuck_jobs_do_not_stop_a_repair(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 9, true);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    struct fake_scheduler_node *there = fake_scheduler_find(&sim.scheduler, "gpu-1");
    there->jobs = 1;
    there->jobs_are_stuck = true;
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, sim.settings.evict_deadline_ms - MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 0);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 20 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_JOBS, "did not end in time; the repair goes on"), 1);
    sim_close(&sim);
}

/* --- repairs that do not go well --------------------------------------------------------------- */

static void a_machine_that_does_not_come_up_is_replaced(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 10, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    fake_provider_of_node(&sim.provider, "gpu-1")->hangs = true;
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 2 * MS_PER_HOUR);
    struct sim_reading after = sim_read(&sim, "gpu-1");
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(sim.provider.launches, 5);
    assert_int_equal(after.decision.rule, RULE_REBOOT_FAILED);
    assert_int_equal(after.decision.action, ACTION_REPLACE);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_FAILED, "join"), 1);
    sim_close(&sim);
}

static void a_vanished_instance_is_replaced_without_waiting(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 11, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    fake_provider_of_node(&sim.provider, "gpu-1")->gone = true;
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    struct sim_reading after = sim_read(&sim, "gpu-1");
    assert_int_equal(after.decision.rule, RULE_REBOOT_FAILED);
    assert_int_equal(sim.provider.reboots, 0);
    assert_int_equal(sim.provider.launches, 5);
    sim_close(&sim);
}

/* The reboot was given up, and then the machine came: it goes through the return gate as any other. */
static void a_machine_that_comes_up_late_is_taken_back(void **state)
{
    struct sim sim;
    struct cluster cluster;
    struct problem problem;
    (void)state;
    sim_open(&sim, 19, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    struct fake_instance *instance = fake_provider_of_node(&sim.provider, "gpu-1");
    instance->hangs = true;
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, MS_PER_MIN);
    assert_int_equal(change_recovery(&sim.service, &sim_admin, SIM_CLUSTER, NODE_RECOVERY_NONE, 0, &cluster, &problem),
                     0);
    sim_until(&sim, "gpu-1", NODE_STATE_HELD, 2 * MS_PER_HOUR);
    sim_run(&sim, MS_PER_HOUR);
    struct sim_reading waiting = sim_read(&sim, "gpu-1");
    assert_int_equal(waiting.decision.action, ACTION_MARK);
    assert_int_equal(waiting.decision.refused, ACTION_REPLACE);
    assert_int_equal(waiting.row.health, HEALTH_UNHEALTHY);
    instance->up_at = clock_wall_ms(&sim.clock);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(sim.provider.launches, 4);
    sim_close(&sim);
}

static void a_person_is_told_when_the_new_machine_is_dead_too(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    sim_open(&sim, 12, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim.provider.failed_to_provision = true;
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_REPLACE,
                                          URGENCY_NOW, "", "", &op, &problem),
                     0);
    sim_until(&sim, "gpu-1", NODE_STATE_FAILED, 2 * MS_PER_HOUR);
    struct sim_reading failed = sim_read(&sim, "gpu-1");
    assert_non_null(strstr(failed.row.reason, "replace or release"));
    assert_int_equal(failed.operation.state, OPERATION_STATE_FAILED);
    sim_run(&sim, MS_PER_MIN);
    assert_true(text_starts_with(fake_scheduler_find(&sim.scheduler, "gpu-1")->reason, "holdfast: "));
    sim_run(&sim, MS_PER_DAY);
    assert_int_equal(sim.provider.launches, 5); /* our own mark is no request */
    sim.provider.failed_to_provision = false;
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_REPLACE,
                                          URGENCY_NOW, "", "", &op, &problem),
                     0);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    sim_close(&sim);
}

static void a_relapse_at_the_gate_goes_to_the_policy(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 13, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_VERIFYING, 10 * MS_PER_MIN);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_FAILED, "verify"), 1);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    struct sim_reading after = sim_read(&sim, "gpu-1");
    assert_int_equal(after.decision.action, ACTION_REPLACE);
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(sim.provider.launches, 5);
    sim_close(&sim);
}

static void capacity_is_waited_for(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    sim_open(&sim, 14, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim.provider.full = true;
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_REPLACE,
                                          URGENCY_NOW, "", "", &op, &problem),
                     0);
    sim_run(&sim, 10 * MS_PER_MIN);
    struct sim_reading waiting = sim_read(&sim, "gpu-1");
    assert_int_equal(waiting.row.state, NODE_STATE_STARTING);
    assert_int_equal(waiting.operation.steps[3].attempts, 3); /* at once, after two minutes and after four more */
    assert_non_null(strstr(waiting.operation.steps[3].detail, "waits for capacity"));
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_CAPACITY_SHORT, "no capacity"), 1);
    sim_run(&sim, MS_PER_HOUR); /* longer than any call is tried: it is no failure of the repair */
    assert_int_equal(sim_read(&sim, "gpu-1").row.state, NODE_STATE_STARTING);
    sim_crash(&sim); /* a restart asks no sooner */
    int attempts = sim_read(&sim, "gpu-1").operation.steps[3].attempts;
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_read(&sim, "gpu-1").operation.steps[3].attempts, attempts);
    sim.provider.full = false;
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR + 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.launches, 5);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_CAPACITY_SHORT, NULL), 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_CAPACITY_BACK, NULL), 1);
    sim_close(&sim);
}

/* The new boot fails before the loop has even seen that it came up. */
static void a_fault_at_the_first_breath_counts(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 15, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    assert_int_equal(sim.provider.reboots, 1);
    clock_fake_advance(&sim.clock, sim.provider.boot_ms + 1);
    sim_daemons(&sim);
    sim_agents(&sim);                                                          /* the new boot is announced … */
    int reported = sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL); /* … and fails */
    assert_true(sim.spool[reported].acked);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_FAILED, "verify"), 1);
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(sim.provider.launches, 5);
    sim_close(&sim);
}

static void an_instance_that_vanishes_while_it_is_waited_for(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 16, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    struct fake_instance *instance = fake_provider_of_node(&sim.provider, "gpu-1");
    instance->hangs = true;
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    instance->gone = true; /* the provider took it away instead of booting it */
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_FAILED, "no longer knows"), 1);
    assert_int_equal(sim.provider.launches, 5);
    sim_close(&sim);
}

/* Chatter must not push out what matters: the node would be given back although it is broken. */
static void critical_evidence_is_not_drowned(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 17, true);
    sim_create(&sim, 2, NODE_RECOVERY_NONE);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, MS_PER_MIN);
    for (int i = 0; i < 600; i++)
        sim_verdict(&sim, "gpu-1", PROGRAM_FAULT, SEVERITY_WARN);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    assert_int_equal(sim_read(&sim, "gpu-1").row.health, HEALTH_UNHEALTHY);
    assert_string_equal(sim_read(&sim, "gpu-1").decision.code, "xid.79");
    sim_close(&sim);
}

static void lost_replies_have_no_second_effect(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sim sim;
        sim_open(&sim, seed, true);
        sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
        sim.outcome.random = seed;
        sim.outcome.lost_percent = 60;
        sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
        sim_until(&sim, "gpu-1", NODE_STATE_READY, 2 * MS_PER_HOUR);
        assert_int_equal(sim.provider.reboots, 1);
        sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
        sim_settle(&sim);
        sim_until(&sim, "gpu-1", NODE_STATE_READY, 2 * MS_PER_HOUR);
        assert_int_equal(sim.provider.reboots, 1);
        assert_int_equal(sim.provider.launches, 5);
        assert_int_equal(sim.provider.terminations, 1);
        sim_close(&sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_turn_that_decides_also_begins),
        cmocka_unit_test(a_new_cluster_comes_into_service),
        cmocka_unit_test(a_lost_gpu_is_rebooted_then_replaced),
        cmocka_unit_test(decisions_are_fast_and_not_repeated),
        cmocka_unit_test(a_repair_is_counted_from_the_fault_to_service),
        cmocka_unit_test(a_programs_fault_costs_no_node),
        cmocka_unit_test(recovery_none_only_marks),
        cmocka_unit_test(without_a_scheduler_its_steps_are_skipped),
        cmocka_unit_test(contained_faults_let_jobs_finish),
        cmocka_unit_test(jobs_have_to_go_at_the_deadline),
        cmocka_unit_test(jobs_are_asked_for_a_checkpoint_once),
        cmocka_unit_test(jobs_that_were_asked_have_to_go_in_time),
        cmocka_unit_test(jobs_that_cannot_be_asked_are_waited_for),
        cmocka_unit_test(stuck_jobs_do_not_stop_a_repair),
        cmocka_unit_test(a_machine_that_does_not_come_up_is_replaced),
        cmocka_unit_test(a_vanished_instance_is_replaced_without_waiting),
        cmocka_unit_test(a_machine_that_comes_up_late_is_taken_back),
        cmocka_unit_test(a_person_is_told_when_the_new_machine_is_dead_too),
        cmocka_unit_test(a_relapse_at_the_gate_goes_to_the_policy),
        cmocka_unit_test(capacity_is_waited_for),
        cmocka_unit_test(a_fault_at_the_first_breath_counts),
        cmocka_unit_test(an_instance_that_vanishes_while_it_is_waited_for),
        cmocka_unit_test(critical_evidence_is_not_drowned),
        cmocka_unit_test(lost_replies_have_no_second_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
