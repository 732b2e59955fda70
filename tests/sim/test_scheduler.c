/* Stories of the scheduler's side: people's hands in it, and days on which it does not answer. */
#include "server/service/cluster/cluster.h"
#include "tests/sim/sim_world.h"

#define OFF_THE_BUS 79

static void a_external_drain_is_left_alone(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 41, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    fake_scheduler_by_hand(&sim.scheduler, "gpu-1", false, "swapping a fan");
    sim_run(&sim, MS_PER_MIN);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, MS_PER_HOUR);
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_int_equal(reading.decision.gates[GATE_OWNER].result, GATE_RESULT_FAILED);
    assert_int_equal(sim.provider.reboots, 0);
    assert_string_equal(fake_scheduler_find(&sim.scheduler, "gpu-1")->reason, "swapping a fan");
    fake_scheduler_resume_by_hand(&sim.scheduler, "gpu-1"); /* the gate opens */
    sim_run(&sim, 10 * MS_PER_S);
    assert_int_equal(sim_read(&sim, "gpu-1").decision.action, ACTION_REBOOT);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    sim_close(&sim);
}

static struct service_cluster_view describe(struct sim *sim)
{
    struct service_cluster_view view;
    struct problem problem;
    assert_int_equal(service_cluster_describe(&sim->service, SIM_CLUSTER, &view, &problem), 0);
    return view;
}

static void assert_attention(struct sim *sim, const char *node, const char *reason)
{
    struct service_cluster_view view = describe(sim);
    assert_int_equal(view.attention_total, node[0] != '\0');
    assert_int_equal(view.attention_count, node[0] != '\0');
    if (node[0] != '\0') {
        assert_string_equal(view.attention[0].node.name, node);
        assert_string_equal(view.attention[0].node.reason, reason);
    }
    service_cluster_view_free(&view);
}

static void a_external_drain_is_shown_until_it_is_over(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 52, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    assert_attention(&sim, "", "");
    fake_scheduler_by_hand(&sim.scheduler, "gpu-2", false, "disk swap");
    sim_run(&sim, 10 * MS_PER_S);
    assert_attention(&sim, "gpu-2", "held in Slurm by alice: disk swap");
    assert_int_equal(sim_state(&sim, "gpu-2"), NODE_STATE_READY);
    fake_scheduler_by_hand(&sim.scheduler, "gpu-2", true, "a new board");
    sim_run(&sim, 10 * MS_PER_S);
    assert_attention(&sim, "gpu-2", "held in Slurm by alice: a new board");
    sim.scheduler.down = true; /* what was seen last stands, over a restart too */
    sim_crash(&sim);
    sim_run(&sim, 2 * MS_PER_MIN);
    assert_attention(&sim, "gpu-2", "held in Slurm by alice: a new board");
    sim.scheduler.down = false;
    fake_scheduler_resume_by_hand(&sim.scheduler, "gpu-2");
    sim_run(&sim, 10 * MS_PER_S);
    assert_attention(&sim, "", "");
    sim_close(&sim);
}

static struct service_scheduler_status shown(struct sim *sim)
{
    struct service_cluster_view view = describe(sim);
    struct service_scheduler_status status = view.scheduler;
    service_cluster_view_free(&view);
    return status;
}

static void a_scheduler_that_is_down_is_shown(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 55, true);
    assert_int_equal(sim.service.schedulers[0] == NULL, false);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    struct service_scheduler_status up = shown(&sim), status;
    assert_int_equal(up.state, SCHEDULER_STATE_UP);
    assert_in_range(up.since, SIM_T0, clock_wall_ms(&sim.clock));
    sim_run(&sim, MS_PER_MIN);
    status = shown(&sim);
    assert_int_equal(status.since, up.since);
    int64_t away = clock_wall_ms(&sim.clock);
    sim.scheduler.down = true;
    struct reconcile_stats stats;
    do
        sim_tick(&sim, INT64_MAX);
    while (reconcile_stats(sim.reconcile, &stats), stats.scheduler_errors == 0);
    assert_int_equal(stats.scheduler_errors, 1); /* one failed look is no outage */
    assert_int_equal(shown(&sim).state, SCHEDULER_STATE_UP);
    sim_run(&sim, MS_PER_HOUR);
    status = shown(&sim);
    assert_int_equal(status.state, SCHEDULER_STATE_DOWN);
    assert_in_range(status.since, away, away + sim.settings.observe_interval_ms);
    assert_true(status.error[0] != '\0');
    sim.scheduler.down = false;
    sim_run(&sim, 10 * MS_PER_S);
    status = shown(&sim);
    assert_int_equal(status.state, SCHEDULER_STATE_UP);
    assert_true(status.since > away + MS_PER_HOUR);
    assert_string_equal(status.error, "");
    sim_crash(&sim);
    assert_int_equal(shown(&sim).state, SCHEDULER_STATE_UNKNOWN);
    sim_close(&sim);
}

/* It is written when it changes and at no other time. */
static void a_external_drain_is_written_once(void **state)
{
    struct sim sim;
    struct db_stats before, after;
    (void)state;
    sim_open(&sim, 53, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    fake_scheduler_by_hand(&sim.scheduler, "gpu-2", false, "disk swap");
    sim_run(&sim, MS_PER_MIN);
    db_stats(sim.service.db, &before);
    sim_run(&sim, MS_PER_MIN);
    db_stats(sim.service.db, &after);
    assert_true(after.writes - before.writes <= 2); /* housekeeping */
    sim_close(&sim);
}

static void a_silent_agent_is_shown_until_it_speaks(void **state)
{
    struct sim sim;
    char expected[REASON_MAX_BYTES], at[CLOCK_TEXT_MAX];
    (void)state;
    sim_open(&sim, 54, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    fake_provider_of_node(&sim.provider, "gpu-3")->muted = true;
    struct fleet_view live;
    assert_int_equal(fleet_get(sim.service.fleet, sim_read(&sim, "gpu-3").row.id, &live), 0);
    sim_run(&sim, 2 * MS_PER_MIN);
    snprintf(expected, sizeof(expected), "agent not seen since %s", clock_format(live.last_heartbeat_at, at));
    assert_attention(&sim, "gpu-3", expected);
    sim_crash(&sim);
    sim_run(&sim, 2 * MS_PER_MIN);
    assert_attention(&sim, "gpu-3", expected);
    fake_provider_of_node(&sim.provider, "gpu-3")->muted = false;
    sim_run(&sim, MS_PER_MIN);
    assert_attention(&sim, "", "");
    sim_close(&sim);
}

static void a_node_whose_daemon_is_dead_is_shown(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 56, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    assert_attention(&sim, "", "");
    snprintf(sim.provider.no_daemon, sizeof(sim.provider.no_daemon), "gpu-3");
    sim_run(&sim, MS_PER_MIN);
    assert_attention(&sim, "gpu-3", "Slurm gets no answer from its daemon on the node");
    assert_int_equal(sim_read(&sim, "gpu-3").row.health, HEALTH_UNHEALTHY);
    assert_int_equal(sim_events(&sim, "gpu-3", EVENT_KIND_NODE_HEALTH, "healthy -> unhealthy"), 1);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_read(&sim, "gpu-3").row.health, HEALTH_UNHEALTHY);
    assert_int_equal(sim.provider.reboots, 0); /* its agent is well: no fault of the machine */
    sim.provider.no_daemon[0] = '\0';
    sim_run(&sim, MS_PER_MIN);
    assert_attention(&sim, "", "");
    assert_int_equal(sim_read(&sim, "gpu-3").row.health, HEALTH_HEALTHY);
    sim_close(&sim);
}

/* The person is faster than the snapshot: only the mark itself finds out. */
static void a_drain_at_the_last_moment_cancels(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 42, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    fake_scheduler_by_hand(&sim.scheduler, "gpu-1", false, "swapping a fan");
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, MS_PER_MIN);
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_int_equal(reading.operation.state, OPERATION_STATE_CANCELLED);
    assert_non_null(strstr(reading.operation.error, "swapping a fan"));
    assert_int_equal(reading.row.state, NODE_STATE_HELD);
    assert_int_equal(sim.provider.reboots, 0);
    assert_string_equal(fake_scheduler_find(&sim.scheduler, "gpu-1")->reason, "swapping a fan");
    fake_scheduler_resume_by_hand(&sim.scheduler, "gpu-1");
    sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, MS_PER_MIN);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    sim_close(&sim);
}

static void a_drain_during_the_repair_is_kept(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 43, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_VERIFYING, 10 * MS_PER_MIN);
    fake_scheduler_by_hand(&sim.scheduler, "gpu-1", false, "mine now");
    sim_until(&sim, "gpu-1", NODE_STATE_HELD, 10 * MS_PER_MIN);
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_int_equal(reading.operation.state, OPERATION_STATE_SUCCEEDED);
    assert_non_null(strstr(reading.row.reason, "mine now"));
    sim_run(&sim, MS_PER_HOUR);
    assert_string_equal(fake_scheduler_find(&sim.scheduler, "gpu-1")->reason, "mine now");
    fake_scheduler_resume_by_hand(&sim.scheduler, "gpu-1");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    sim_close(&sim);
}

static void an_operators_request_is_carried_out(void **state)
{
    static const struct {
        const char *reason;
        int reboots, launches;
    } requests[] = {{"Action:Reboot", 1, 4}, {"Action:Replace", 0, 5}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        struct sim sim;
        sim_open(&sim, 44, true);
        sim_create(&sim, 4, NODE_RECOVERY_NONE); /* a person may at any time */
        struct fake_scheduler_node *there = fake_scheduler_find(&sim.scheduler, "gpu-1");
        there->jobs = 1;
        fake_scheduler_by_hand(&sim.scheduler, "gpu-1", true, requests[i].reason);
        sim_run(&sim, 5 * MS_PER_MIN);
        struct sim_reading reading = sim_read(&sim, "gpu-1");
        assert_string_equal(reading.operation.actor, "slurm:alice");
        assert_int_equal(reading.decision.rule, RULE_OPERATOR_REQUEST);
        assert_int_equal(there->jobs, 1); /* a request lets jobs finish */
        there->jobs = 0;
        sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
        sim_run(&sim, MS_PER_HOUR);
        assert_int_equal(sim.provider.reboots, requests[i].reboots);
        assert_int_equal(sim.provider.launches, requests[i].launches);
        assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATOR_REQUEST, "slurm:alice"), 1);
        fake_scheduler_by_hand(&sim.scheduler, "gpu-1", true, requests[i].reason); /* and the same request again */
        sim_until(&sim, "gpu-1", NODE_STATE_VERIFYING, MS_PER_MIN);
        sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
        sim_run(&sim, MS_PER_HOUR);
        assert_int_equal(sim.provider.reboots + sim.provider.launches, requests[i].reboots + requests[i].launches + 1);
        sim_close(&sim);
    }
}

static void a_request_for_a_held_node_is_carried_out(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 45, true);
    sim_create(&sim, 4, NODE_RECOVERY_NONE);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    fake_scheduler_by_hand(&sim.scheduler, "gpu-1", true, "Action:Replace");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.launches, 5);
    sim_close(&sim);
}

static void a_near_miss_is_told_once(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 46, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    fake_scheduler_by_hand(&sim.scheduler, "gpu-1", true, "action:replace");
    sim_run(&sim, MS_PER_HOUR);
    sim_crash(&sim);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_NEAR_MISS, "action:replace"), 1);
    fake_scheduler_by_hand(&sim.scheduler, "gpu-1", true, "Action: Replace");
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_NEAR_MISS, NULL), 2);
    assert_int_equal(sim.provider.launches, 4);
    const struct fake_scheduler_node *seen = fake_scheduler_find(&sim.scheduler, "gpu-1");
    assert_true(text_starts_with(seen->reason, "Action: Replace (holdfast: "));
    assert_non_null(strstr(seen->reason, ", use Action:Reboot or Action:Replace, state=fail)"));
    /* The words are right, the state is not: that is what has to be said. */
    fake_scheduler_by_hand(&sim.scheduler, "gpu-2", false, "Action:Replace");
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(
        sim_events(&sim, "gpu-2", EVENT_KIND_NEAR_MISS, "counts in the states fail and down only: make gpu-2 fail"), 1);
    assert_int_equal(seen->annotations, 2); /* each text once, also after the crash */
    sim_close(&sim);
}

static void a_persons_undrain_lifts_our_hold(void **state)
{
    (void)state;
    for (int crash = 0; crash < 2; crash++) {
        struct sim sim;
        sim_open(&sim, 47, true);
        sim_create(&sim, 4, NODE_RECOVERY_NONE);
        sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
        sim_run(&sim, MS_PER_MIN);
        struct fake_scheduler_node *there = fake_scheduler_find(&sim.scheduler, "gpu-1");
        assert_true(text_starts_with(there->reason, "holdfast: "));
        if (crash)
            sim_kill(&sim);
        fake_scheduler_resume_by_hand(&sim.scheduler, "gpu-1");
        if (crash)
            sim_boot(&sim);
        sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_MIN);
        sim_run(&sim, MS_PER_HOUR);
        assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
        assert_int_equal(sim_read(&sim, "gpu-1").row.health, HEALTH_HEALTHY);
        assert_false(there->out);
        sim_close(&sim);
    }
}

static void a_hold_is_repeated_until_it_is_there(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 48, true);
    sim_create(&sim, 4, NODE_RECOVERY_NONE);
    sim.scheduler.down = true;
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    sim_crash(&sim);
    sim_run(&sim, MS_PER_MIN);
    assert_false(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    sim.scheduler.down = false;
    sim_run(&sim, MS_PER_MIN);
    assert_true(text_starts_with(fake_scheduler_find(&sim.scheduler, "gpu-1")->reason, "holdfast: "));
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    sim_close(&sim);
}

/* However long it is away, at whatever step, the repair waits and goes on. */
static void a_repair_waits_for_the_scheduler(void **state)
{
    static const enum node_state at[] = {NODE_STATE_READY, NODE_STATE_REPAIRING, NODE_STATE_VERIFYING};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(at); i++) {
        struct sim sim;
        sim_open(&sim, 49, true);
        sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
        fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs = 1;
        fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs_are_stuck = true;
        if (at[i] == NODE_STATE_READY)
            sim.scheduler.down = true;
        sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
        if (at[i] != NODE_STATE_READY)
            sim_until(&sim, "gpu-1", at[i], 30 * MS_PER_MIN);
        sim.scheduler.down = true;
        sim_run(&sim, 6 * MS_PER_HOUR);
        assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_SCHEDULER_DOWN, NULL), 1);
        assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_OPERATION_FAILED, NULL), 0);
        sim.scheduler.down = false;
        sim_until(&sim, "gpu-1", NODE_STATE_READY, 30 * MS_PER_MIN);
        assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_SCHEDULER_BACK, NULL), 1);
        assert_int_equal(sim.provider.reboots, 1);
        sim_close(&sim);
    }
}

/* A crash in the middle of such a wait does not turn it into a failure either. */
static void waiting_survives_a_restart(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 50, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim.scheduler.down = true;
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, 3 * MS_PER_HOUR);
    sim_crash(&sim);
    sim_run(&sim, 3 * MS_PER_HOUR);
    sim.scheduler.down = false;
    sim_crash(&sim);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 30 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_OPERATION_FAILED, NULL), 0);
    sim_close(&sim);
}

static void a_node_that_the_scheduler_does_not_know_is_said_so(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 51, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    snprintf(fake_scheduler_find(&sim.scheduler, "gpu-1")->name, NODE_NAME_MAX_BYTES, "renamed");
    sim_run(&sim, MS_PER_MIN);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_FAILED, MS_PER_HOUR);
    struct sim_reading failed = sim_read(&sim, "gpu-1");
    assert_non_null(strstr(failed.operation.error, "does not know the node"));
    assert_int_equal(sim.provider.reboots, 0);
    sim_close(&sim);
}

/* --- what the scheduler gives up by itself -------------------------------------------------------- */
#define REBOOTED "Node unexpectedly rebooted"

static int count_releases(struct sim *sim, const char *node)
{
    return sim_events(sim, node, EVENT_KIND_OPERATION_SUCCEEDED, "release succeeded");
}

static void a_node_that_is_back_is_given_back(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 61, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    fake_scheduler_give_up(&sim.scheduler, "gpu-1", REBOOTED);
    sim_until(&sim, "gpu-1", NODE_STATE_VERIFYING, MS_PER_MIN);
    assert_true(fake_scheduler_find(&sim.scheduler, "gpu-1")->out); /* not before the gate */
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    struct sim_reading back = sim_read(&sim, "gpu-1");
    assert_false(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    assert_string_equal(back.operation.actor, "policy");
    assert_string_equal(back.operation.code, POLICY_CODE_ABSENCE);
    assert_string_equal(back.operation.reason, "Slurm took it out by itself (" REBOOTED "), and reaches it again");
    assert_int_equal(sim.provider.reboots, 0);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(count_releases(&sim, "gpu-1"), 1);
    sim_close(&sim);
}

static void one_that_hpd_is_killed_over_is_given_back_once(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 62, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    int resumes = fake_scheduler_find(&sim.scheduler, "gpu-1")->resumes;
    fake_scheduler_give_up(&sim.scheduler, "gpu-1", "Not responding");
    sim_until(&sim, "gpu-1", NODE_STATE_VERIFYING, MS_PER_MIN);
    sim_crash(&sim);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    sim_crash(&sim);
    sim_run(&sim, MS_PER_HOUR);
    assert_false(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    assert_int_equal(fake_scheduler_find(&sim.scheduler, "gpu-1")->resumes, resumes + 1);
    assert_int_equal(count_releases(&sim, "gpu-1"), 1);
    sim_close(&sim);
}

static void the_third_time_in_a_day_is_for_a_person(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 63, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    for (int i = 0; i < 2; i++) {
        sim_run(&sim, MS_PER_HOUR);
        fake_scheduler_give_up(&sim.scheduler, "gpu-1", REBOOTED);
        sim_until(&sim, "gpu-1", NODE_STATE_VERIFYING, MS_PER_MIN);
        sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    }
    sim_run(&sim, MS_PER_HOUR);
    fake_scheduler_give_up(&sim.scheduler, "gpu-1", REBOOTED);
    sim_run(&sim, MS_PER_HOUR);
    assert_true(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    assert_attention(&sim, "gpu-1",
                     "Slurm took it out by itself (" REBOOTED "); 3 times within 24 h, so a person has to look");
    fake_scheduler_resume_by_hand(&sim.scheduler, "gpu-1");
    sim_run(&sim, MS_PER_MIN);
    assert_attention(&sim, "", "");
    sim_run(&sim, 24 * MS_PER_HOUR); /* a quiet day later it is new */
    fake_scheduler_give_up(&sim.scheduler, "gpu-1", REBOOTED);
    sim_until(&sim, "gpu-1", NODE_STATE_VERIFYING, MS_PER_MIN);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_false(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    sim_close(&sim);
}

static void where_nothing_is_to_be_done_it_is_told(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 64, true);
    sim_create(&sim, 4, NODE_RECOVERY_NONE);
    sim_run(&sim, MS_PER_MIN);
    int resumes = fake_scheduler_find(&sim.scheduler, "gpu-1")->resumes;
    fake_scheduler_give_up(&sim.scheduler, "gpu-1", REBOOTED);
    sim_run(&sim, MS_PER_HOUR);
    assert_true(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    assert_attention(&sim, "gpu-1",
                     "Slurm took it out by itself (" REBOOTED "); NodeRecovery None leaves that to a person");
    assert_int_equal(fake_scheduler_find(&sim.scheduler, "gpu-1")->resumes, resumes);
    sim_close(&sim);
}

static void a_mode_that_does_not_act_tells_it(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 67, true);
    for (int fault = 0; fault < FAULT_CLASS_COUNT; fault++)
        sim.settings.policy.modes[fault] = REPAIR_MODE_OBSERVE;
    sim_crash(&sim); /* with these settings */
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    fake_scheduler_give_up(&sim.scheduler, "gpu-1", REBOOTED);
    sim_run(&sim, MS_PER_HOUR);
    assert_true(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    assert_attention(&sim, "gpu-1",
                     "Slurm took it out by itself (" REBOOTED
                     "); the policy's mode for the class host leaves that to a person");
    sim_close(&sim);
}

static void a_fault_of_it_is_repaired_instead(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 65, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    fake_scheduler_give_up(&sim.scheduler, "gpu-1", REBOOTED);
    sim_until(&sim, "gpu-1", NODE_STATE_VERIFYING, MS_PER_MIN);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, 10 * MS_PER_MIN);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 1);
    assert_false(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    sim_close(&sim);
}

static void one_that_goes_away_again_is_rebooted(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 68, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    fake_scheduler_give_up(&sim.scheduler, "gpu-1", REBOOTED);
    sim_until(&sim, "gpu-1", NODE_STATE_VERIFYING, MS_PER_MIN);
    fake_provider_of_node(&sim.provider, "gpu-1")->muted = true; /* agent and node daemon both */
    sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, MS_PER_HOUR);
    fake_provider_of_node(&sim.provider, "gpu-1")->muted = false;
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 1);
    assert_false(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    sim_close(&sim);
}

static void a_person_who_takes_it_meanwhile_keeps_it(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 66, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    fake_scheduler_give_up(&sim.scheduler, "gpu-1", REBOOTED);
    sim_until(&sim, "gpu-1", NODE_STATE_VERIFYING, MS_PER_MIN);
    fake_scheduler_by_hand(&sim.scheduler, "gpu-1", false, "why did it restart?");
    sim_run(&sim, MS_PER_HOUR);
    assert_string_equal(fake_scheduler_find(&sim.scheduler, "gpu-1")->reason, "why did it restart?");
    sim_close(&sim);
}

/* --- where nodes live --------------------------------------------------------------------------- */
#define TOLD(sim, node) sim_events(sim, node, EVENT_KIND_SCHEDULER_ADDRESS, NULL)
static void set_address(struct sim *sim, const char *address)
{
    struct fake_scheduler_node *node = fake_scheduler_find(&sim->scheduler, "gpu-1");
    snprintf(node->address, sizeof(node->address), "%s", address);
}

static void replace(struct sim *sim)
{
    int64_t launched = sim->provider.launches;
    fake_scheduler_by_hand(&sim->scheduler, "gpu-1", true, "Action:Replace");
    sim_run(sim, 10 * MS_PER_S);
    sim_until(sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim->provider.launches, launched + 1);
}

/* Of any machine before, by a scheduler that reads its file again; also after hpd was killed. */
static void a_forgotten_address_is_told_again(void **state)
{
    struct sim sim;
    char first[ADDRESS_MAX_BYTES], second[ADDRESS_MAX_BYTES], third[ADDRESS_MAX_BYTES];
    (void)state;
    sim_open(&sim, 61, true);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    const struct fake_scheduler_node *node = fake_scheduler_find(&sim.scheduler, "gpu-1");
    memcpy(first, node->address, sizeof(first));
    replace(&sim);
    memcpy(second, node->address, sizeof(second));
    replace(&sim);
    memcpy(third, node->address, sizeof(third));
    assert_string_not_equal(first, third);
    const char *const addresses[] = {first, second};
    for (int i = 0; i < 4; i++) {
        if (i == 2)
            sim_crash(&sim);
        set_address(&sim, addresses[i % 2]);
        sim_run(&sim, MS_PER_MIN);
        assert_string_equal(fake_scheduler_find(&sim.scheduler, "gpu-1")->address, third);
        assert_int_equal(TOLD(&sim, "gpu-1"), i + 1);
    }
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_SCHEDULER_ADDRESS, third), 4);
    assert_int_equal(TOLD(&sim, "gpu-2"), 0);
    sim_close(&sim);
}

static void an_address_that_people_gave_stays(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 62, true);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    replace(&sim);
    int moves = fake_scheduler_find(&sim.scheduler, "gpu-1")->moves;
    set_address(&sim, "gpu-1.example.org");
    sim_run(&sim, 5 * MS_PER_MIN);
    assert_string_equal(fake_scheduler_find(&sim.scheduler, "gpu-1")->address, "gpu-1.example.org");
    assert_int_equal(fake_scheduler_find(&sim.scheduler, "gpu-1")->moves, moves);
    assert_int_equal(TOLD(&sim, "gpu-1"), 0);
    sim_close(&sim);
}

/* Somebody who sets it back at every look is not fought at every look. */
static void an_address_that_does_not_last_is_told_ever_more_rarely(void **state)
{
    struct sim sim;
    char first[ADDRESS_MAX_BYTES];
    (void)state;
    sim_open(&sim, 63, true);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    memcpy(first, fake_scheduler_find(&sim.scheduler, "gpu-1")->address, sizeof(first));
    replace(&sim);
    int64_t looks = sim.scheduler.observed;
    for (int i = 0; i < 300; i++) {
        set_address(&sim, first);
        sim_run(&sim, MS_PER_S);
    }
    looks = sim.scheduler.observed - looks;
    assert_in_range(TOLD(&sim, "gpu-1"), 3, 9);
    assert_true(looks > 40);
    sim_run(&sim, 10 * MS_PER_MIN); /* it lasts: the next time it is told at once */
    int told = TOLD(&sim, "gpu-1");
    set_address(&sim, first);
    sim_run(&sim, 20 * MS_PER_S);
    assert_int_equal(TOLD(&sim, "gpu-1"), told + 1);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_external_drain_is_left_alone),
        cmocka_unit_test(a_external_drain_is_shown_until_it_is_over),
        cmocka_unit_test(a_external_drain_is_written_once),
        cmocka_unit_test(a_scheduler_that_is_down_is_shown),
        cmocka_unit_test(a_silent_agent_is_shown_until_it_speaks),
        cmocka_unit_test(a_node_whose_daemon_is_dead_is_shown),
        cmocka_unit_test(a_drain_at_the_last_moment_cancels),
        cmocka_unit_test(a_drain_during_the_repair_is_kept),
        cmocka_unit_test(an_operators_request_is_carried_out),
        cmocka_unit_test(a_request_for_a_held_node_is_carried_out),
        cmocka_unit_test(a_near_miss_is_told_once),
        cmocka_unit_test(a_persons_undrain_lifts_our_hold),
        cmocka_unit_test(a_hold_is_repeated_until_it_is_there),
        cmocka_unit_test(a_repair_waits_for_the_scheduler),
        cmocka_unit_test(waiting_survives_a_restart),
        cmocka_unit_test(a_node_that_the_scheduler_does_not_know_is_said_so),
        cmocka_unit_test(a_node_that_is_back_is_given_back),
        cmocka_unit_test(one_that_hpd_is_killed_over_is_given_back_once),
        cmocka_unit_test(the_third_time_in_a_day_is_for_a_person),
        cmocka_unit_test(where_nothing_is_to_be_done_it_is_told),
        cmocka_unit_test(a_mode_that_does_not_act_tells_it),
        cmocka_unit_test(a_fault_of_it_is_repaired_instead),
        cmocka_unit_test(one_that_goes_away_again_is_rebooted),
        cmocka_unit_test(a_person_who_takes_it_meanwhile_keeps_it),
        cmocka_unit_test(a_forgotten_address_is_told_again),
        cmocka_unit_test(an_address_that_people_gave_stays),
        cmocka_unit_test(an_address_that_does_not_last_is_told_ever_more_rarely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
