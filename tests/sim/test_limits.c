/* Stories of many nodes: the budget, the breaker, a rack that goes dark, agents that fall silent. */
#include "server/service/cluster/cluster.h"
#include "server/service/node/node.h"
#include "tests/sim/sim_world.h"

#define OFF_THE_BUS 79
#define DOUBLE_BIT 48
#define NOT_REMAPPED 64

/* More evidence than a decision is shown is counted: nothing is left out without a word. */
static void evidence_that_is_left_out_is_counted(void **state)
{
    struct sim sim;
    struct reconcile_stats stats;
    (void)state;
    sim_open(&sim, 41, true);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    for (int i = 0; i < 256; i++)
        sim_verdict(&sim, "gpu-1", NOT_REMAPPED, SEVERITY_WARN);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.evidence_left_out, 0);
    for (int i = 0; i < 257; i++)
        sim_verdict(&sim, "gpu-2", NOT_REMAPPED, SEVERITY_WARN);
    sim_verdict(&sim, "gpu-2", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    reconcile_stats(sim.reconcile, &stats);
    assert_true(stats.evidence_left_out > 0);
    sim_close(&sim);
}

static const char *name_of(int i)
{
    static char names[FAKE_NODES_MAX + 1][NODE_NAME_MAX_BYTES];
    snprintf(names[i], sizeof(names[i]), "gpu-%d", i);
    return names[i];
}

static int repairs_at_work(struct sim *sim)
{
    return sim_count_state(sim, NODE_STATE_REPAIRING);
}

static void the_budget_takes_them_in_turn(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 21, true);
    sim_create(&sim, 40, NODE_RECOVERY_AUTOMATIC); /* 5 % are two nodes */
    for (int i = 1; i <= 6; i++)
        sim_verdict(&sim, name_of(i), OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    assert_int_equal(repairs_at_work(&sim), 2);
    assert_int_equal(sim_count_state(&sim, NODE_STATE_HELD), 4);
    assert_int_equal(sim_count_state(&sim, NODE_STATE_READY), 34);
    sim_run(&sim, 10 * MS_PER_S);
    for (int i = 1; i <= 6; i++)
        assert_true(fake_scheduler_find(&sim.scheduler, name_of(i))->out); /* held ones take no work either */
    sim_until_all_ready(&sim, MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 6);
    sim_close(&sim);
}

static void a_class_has_a_budget_of_its_own(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 121, true);
    sim.settings.policy.budget_percent = 50;
    sim.settings.policy.breaker_min = 20;
    sim.settings.policy.class_budget_max[FAULT_CLASS_GPU] = 1;
    sim_crash(&sim);
    sim_create(&sim, 10, NODE_RECOVERY_AUTOMATIC);
    for (int i = 1; i <= 3; i++)
        sim_verdict(&sim, name_of(i), OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_verdict(&sim, name_of(4), DOUBLE_BIT, SEVERITY_CRITICAL);
    sim_verdict(&sim, name_of(5), DOUBLE_BIT, SEVERITY_CRITICAL);
    sim_settle(&sim);
    assert_int_equal(repairs_at_work(&sim), 3); /* one of the lost GPUs, and both of the others */
    assert_int_equal(sim_read(&sim, name_of(3)).decision.rule, RULE_CLASS_BUDGET_HOLD);
    sim_crash(&sim); /* who is in repair for what is known again */
    sim_settle(&sim);
    assert_int_equal(repairs_at_work(&sim), 3);
    sim_until_all_ready(&sim, MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 5);
    sim_close(&sim);
}

/* Repairs by themselves wait; a person's does not, and makes room for the others. */
static void too_few_that_are_healthy_wait_for_a_person(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    sim_open(&sim, 122, true);
    sim.settings.policy.budget_percent = 100;
    sim.settings.policy.breaker_min = 20;
    sim.settings.policy.min_healthy_count = 8;
    sim_crash(&sim);
    sim_create(&sim, 10, NODE_RECOVERY_AUTOMATIC);
    for (int i = 1; i <= 3; i++)
        sim_verdict(&sim, name_of(i), OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 0);
    assert_int_equal(sim_read(&sim, name_of(1)).decision.rule, RULE_MIN_HEALTHY_HOLD);
    assert_non_null(strstr(sim_read(&sim, name_of(1)).decision.sentence, "only 7 of the 10"));
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, name_of(2), OPERATION_KIND_REBOOT,
                                          URGENCY_NOW, "", "", &op, &problem),
                     0);
    sim_until_all_ready(&sim, MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 3);
    sim_close(&sim);
}

/* Nothing begins in working hours, but what the site calls urgent; then one after the other, also over a restart. */
static void repairs_wait_for_their_hours(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 125, true);
    sim_crash(&sim);
    sim_create(&sim, 6, NODE_RECOVERY_AUTOMATIC);
    struct policy_settings *policy = &sim.settings.policy;
    int64_t now = clock_wall_ms(&sim.clock), minute = now / MS_PER_MIN % 1440;
    policy->budget_percent = 100;
    policy->breaker_min = 20;
    policy->spacing_ms = 10 * MS_PER_MIN;
    policy->any_time[FAULT_CLASS_GPU] = 1;
    policy->not_during.count = 1;
    policy->not_during.windows[0] =
        (struct policy_window){.from = (int16_t)minute, .until = (int16_t)((minute + 120) % 1440), .days = 0x7F};
    sim_crash(&sim);
    sim_run(&sim, MS_PER_MIN);
    sim_verdict(&sim, "gpu-1", DOUBLE_BIT, SEVERITY_CRITICAL);
    sim_verdict(&sim, "gpu-2", DOUBLE_BIT, SEVERITY_CRITICAL);
    sim_verdict(&sim, "gpu-3", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(sim_read(&sim, "gpu-1").decision.rule, RULE_WINDOW_HOLD);
    assert_int_equal(sim_read(&sim, "gpu-3").row.state, NODE_STATE_READY);
    sim_run(&sim, 61 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 2);
    sim_crash(&sim); /* it knows when the last one began */
    sim_run(&sim, 2 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 2);
    sim_until_all_ready(&sim, MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 3);
    sim_close(&sim);
}

static int held_by(struct sim *sim, enum decision_rule rule)
{
    int count = 0;
    for (int i = 1; i <= sim->nodes; i++) {
        struct sim_reading reading = sim_read(sim, name_of(i));
        count += reading.row.state == NODE_STATE_HELD && reading.decision.rule == rule;
    }
    return count;
}

/* One asks, and the machines of the others are not given up before it has got one. */
static void without_capacity_nobody_is_downed(void **state)
{
    struct sim sim;
    struct reconcile_stats stats;
    (void)state;
    sim_open(&sim, 123, true);
    sim.settings.policy.budget_percent = 100;
    sim.settings.policy.breaker_min = 20;
    sim_crash(&sim);
    sim_create(&sim, 6, NODE_RECOVERY_AUTOMATIC);
    sim.provider.full = true;
    sim_verdict(&sim, name_of(1), NOT_REMAPPED, SEVERITY_CRITICAL);
    sim_run(&sim, 30 * MS_PER_S);
    sim_verdict(&sim, name_of(2), NOT_REMAPPED, SEVERITY_CRITICAL);
    sim_verdict(&sim, name_of(3), NOT_REMAPPED, SEVERITY_CRITICAL);
    sim_verdict(&sim, name_of(4), OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(held_by(&sim, RULE_CAPACITY_HOLD), 2);
    assert_int_equal(sim_read(&sim, name_of(4)).row.state, NODE_STATE_READY); /* a reboot needs nobody's machine */
    sim_crash(&sim);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(held_by(&sim, RULE_CAPACITY_HOLD), 2);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_INSTANCE_TERMINATED, NULL), 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_CAPACITY_SHORT, NULL), 1);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.short_groups, 1);
    sim.provider.full = false;
    sim_until_all_ready(&sim, 3 * MS_PER_HOUR);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.short_groups, 0);
    assert_int_equal(sim.provider.launches, 6 + 3);
    sim_close(&sim);
}

/* An image that does not come up: after three machines no more are fed to it; one is tried in a while, and the first that comes up
 * ends it. */
static void a_bad_image_stops_the_replacements(void **state)
{
    struct sim sim;
    struct reconcile_stats stats;
    (void)state;
    sim_open(&sim, 124, true);
    sim.settings.policy.budget_percent = 50;
    sim.settings.policy.breaker_min = 20;
    sim_crash(&sim);
    sim_create(&sim, 8, NODE_RECOVERY_AUTOMATIC);
    sim.provider.failed_to_provision = true;
    for (int i = 1; i <= 3; i++) {
        sim_verdict(&sim, name_of(i), NOT_REMAPPED, SEVERITY_CRITICAL);
        sim_run(&sim, 5 * MS_PER_MIN);
    }
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_GROUP_PROTECTED, "3 new machines"), 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_GROUP_PROTECTED, "the last (join: "), 1);
    for (int i = 4; i <= 6; i++)
        sim_verdict(&sim, name_of(i), NOT_REMAPPED, SEVERITY_CRITICAL);
    sim_settle(&sim);
    int launches = sim.provider.launches;
    assert_true(held_by(&sim, RULE_PROTECTED_HOLD) >= 2); /* one of them may be the one that is tried */
    sim_crash(&sim);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_true(sim.provider.launches <= launches + 1);
    assert_true(held_by(&sim, RULE_PROTECTED_HOLD) >= 2);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.protected_groups, 1);
    sim.provider.failed_to_provision = false;
    sim_run(&sim, 4 * MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_GROUP_UNPROTECTED, NULL), 1);
    assert_int_equal(held_by(&sim, RULE_PROTECTED_HOLD), 0);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.protected_groups, 0);
    sim_close(&sim);
}

static void resume(struct sim *sim, const char *reason)
{
    struct problem problem;
    struct instance_group group;
    assert_int_equal(service_group_resume(&sim->service, &sim_admin, SIM_CLUSTER, "gpu", reason, &group, &problem), 0);
    assert_int_equal(group.breaker_opened_at, 0);
    assert_int_equal(group.machine_capacity.protected_at, 0);
    sim_settle(sim);
}

/* The image was fixed: nobody has to wait for the try that would tell. One that does not come up then is the first again. */
static void a_person_ends_the_protection(void **state)
{
    struct sim sim;
    struct reconcile_stats stats;
    (void)state;
    sim_open(&sim, 125, true);
    sim.settings.policy.budget_percent = 50;
    sim.settings.policy.breaker_min = 20;
    sim_crash(&sim);
    sim_create(&sim, 8, NODE_RECOVERY_AUTOMATIC);
    sim.provider.failed_to_provision = true;
    for (int i = 1; i <= 3; i++) {
        sim_verdict(&sim, name_of(i), NOT_REMAPPED, SEVERITY_CRITICAL);
        sim_run(&sim, 5 * MS_PER_MIN);
    }
    sim_run(&sim, 30 * MS_PER_MIN);
    for (int i = 4; i <= 6; i++)
        sim_verdict(&sim, name_of(i), NOT_REMAPPED, SEVERITY_CRITICAL);
    sim_settle(&sim);
    assert_true(held_by(&sim, RULE_PROTECTED_HOLD) >= 2);
    sim.provider.failed_to_provision = false;
    resume(&sim, "image 1.4.1 boots");
    assert_int_equal(held_by(&sim, RULE_PROTECTED_HOLD), 0);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_GROUP_UNPROTECTED, "token:admin ended the protection"), 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_GROUP_UNPROTECTED, "image 1.4.1 boots"), 1);
    resume(&sim, ""); /* once more is nothing more */
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_GROUP_UNPROTECTED, NULL), 1);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.protected_groups, 0);
    sim_crash(&sim);
    sim.provider.failed_to_provision = true;
    sim_verdict(&sim, name_of(7), NOT_REMAPPED, SEVERITY_CRITICAL);
    sim_run(&sim, 90 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_GROUP_PROTECTED, NULL), 1);
    sim_close(&sim);
}

/* Eight nodes failed at once and a person knows why: what failed until then is repaired by the budget, and does not open it again,
 * also after a restart; five new ones, more than the limit, do. */
static void a_person_closes_the_breaker(void **state)
{
    struct sim sim;
    struct reconcile_stats stats;
    (void)state;
    sim_open(&sim, 23, true);
    sim_create(&sim, 20, NODE_RECOVERY_AUTOMATIC); /* the limit is four */
    for (int i = 1; i <= 8; i++)
        sim_verdict(&sim, name_of(i), OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_BREAKER_OPENED, NULL), 1);
    assert_int_equal(repairs_at_work(&sim), 0);
    resume(&sim, "");
    assert_int_equal(repairs_at_work(&sim), 1); /* 5 % of 20 */
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.open_breakers, 0);
    sim_crash(&sim);
    sim_run(&sim, MS_PER_MIN);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.open_breakers, 0);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_BREAKER_OPENED, NULL), 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_BREAKER_CLOSED, "token:admin closed the breaker"), 1);
    for (int i = 9; i <= 13; i++)
        sim_verdict(&sim, name_of(i), OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_BREAKER_OPENED, NULL), 2);
    resume(&sim, "");
    sim_until_all_ready(&sim, 4 * MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 13);
    sim_close(&sim);
}

static void a_dark_rack_holds_and_is_not_replayed(void **state)
{
    struct sim sim;
    struct reconcile_stats stats;
    (void)state;
    sim_open(&sim, 22, true);
    sim_create(&sim, 20, NODE_RECOVERY_AUTOMATIC); /* the limit is four */
    for (int i = 1; i <= 8; i++)
        sim_verdict(&sim, name_of(i), OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    assert_int_equal(repairs_at_work(&sim), 0);
    assert_int_equal(sim_count_state(&sim, NODE_STATE_HELD), 8);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_BREAKER_OPENED, NULL), 1);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.open_breakers, 1);
    sim_run(&sim, 10 * MS_PER_MIN);
    sim_crash(&sim); /* a restart does not close it, nor begin anything */
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 0);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_BREAKER_OPENED, NULL), 1);
    /* Three nodes come back by themselves: their machines were rebooted by a person. */
    for (int i = 1; i <= 3; i++) {
        struct fake_instance *instance = fake_provider_of_node(&sim.provider, name_of(i));
        id_uuid(&sim.ids, instance->boot_id);
        instance->seq = 0;
    }
    sim_until_all_ready(&sim, 2 * MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_BREAKER_CLOSED, NULL), 1);
    assert_int_equal(sim.provider.reboots, 5);
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.open_breakers, 0);
    sim_close(&sim);
}

/* Xid 63 is a warning whose repair waits for the jobs: a whole row of them within minutes is no fault of each. */
static void warnings_that_ask_for_repairs_open_the_breaker(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 27, true);
    sim_create(&sim, 20, NODE_RECOVERY_AUTOMATIC); /* the limit is four */
    for (int i = 1; i <= 8; i++)
        sim_verdict(&sim, name_of(i), 63, SEVERITY_WARN);
    sim_settle(&sim);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_BREAKER_OPENED, NULL), 1);
    assert_int_equal(repairs_at_work(&sim), 0);
    sim_close(&sim);
}

/* A job that crashes its way through the fleet: each node sees its third Xid 8 of the day, one node after the other. */
static void rates_open_the_breaker(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 28, true);
    sim_create(&sim, 20, NODE_RECOVERY_AUTOMATIC);
    for (int round = 0; round < 3; round++) {
        for (int i = 1; i <= 8; i++)
            sim_verdict(&sim, name_of(i), 8, SEVERITY_WARN);
        sim_run(&sim, 2 * MS_PER_MIN);
    }
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_BREAKER_OPENED, NULL), 1);
    assert_true(sim.provider.reboots <= 4);
    sim_close(&sim);
}

/* Three nodes fail and are repaired, two more follow: five of twenty are too many, whoever counted them. */
static void fail_around_a_restart(int xid, int rounds, bool restart)
{
    struct sim sim;
    sim_open(&sim, 29, true);
    sim_create(&sim, 20, NODE_RECOVERY_AUTOMATIC); /* the limit is four */
    for (int round = 1; round < rounds; round++) {
        for (int i = 1; i <= 5; i++)
            sim_verdict(&sim, name_of(i), xid, SEVERITY_WARN);
        sim_run(&sim, 2 * MS_PER_MIN);
    }
    for (int i = 1; i <= 3; i++)
        sim_verdict(&sim, name_of(i), xid, SEVERITY_WARN);
    sim_until_all_ready(&sim, 12 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 3);
    if (restart)
        sim_crash(&sim);
    for (int i = 4; i <= 5; i++)
        sim_verdict(&sim, name_of(i), xid, SEVERITY_WARN);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_BREAKER_OPENED, NULL), 1);
    sim_close(&sim);
}

static void a_restart_remembers_warnings_that_ask_for_repairs(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++)
        fail_around_a_restart(63, 1, restart == 1);
}

static void a_restart_remembers_rates(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++)
        fail_around_a_restart(8, 3, restart == 1);
}

static void a_silent_agent_is_a_finding_not_health(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 23, false); /* nobody else can say whether the node lives */
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    struct fake_instance *instance = fake_provider_of_node(&sim.provider, "gpu-1");
    instance->muted = true;
    sim_run(&sim, 2 * MS_PER_MIN);
    assert_int_equal(sim_read(&sim, "gpu-1").row.health, HEALTH_UNKNOWN);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_AGENT_SILENT, NULL), 1);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    assert_int_equal(sim.provider.reboots, 0);
    instance->muted = false;
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_read(&sim, "gpu-1").row.health, HEALTH_HEALTHY);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_AGENT_BACK, NULL), 1);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_AGENT_SILENT, NULL), 1);
    sim_close(&sim);
}

static void what_nobody_hears_is_rebooted(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 24, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    struct fake_instance *instance = fake_provider_of_node(&sim.provider, "gpu-1");
    instance->muted = true; /* agent and node daemon both */
    sim_run(&sim, 9 * MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    sim_run(&sim, 2 * MS_PER_MIN);
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_int_equal(reading.decision.rule, RULE_UNREACHABLE);
    assert_int_equal(sim.provider.reboots, 1);
    instance->muted = false;
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    sim_close(&sim);
}

static void a_rack_that_vanishes_is_not_rebooted(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 25, true);
    sim_create(&sim, 20, NODE_RECOVERY_AUTOMATIC);
    for (int i = 1; i <= 8; i++)
        fake_provider_of_node(&sim.provider, name_of(i))->muted = true;
    sim_run(&sim, 20 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 0);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_BREAKER_OPENED, NULL), 1);
    for (int i = 1; i <= 8; i++)
        fake_provider_of_node(&sim.provider, name_of(i))->muted = false;
    sim_until_all_ready(&sim, MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 0);
    /* It has been settled since they came back, not since the last verdict, which there never was. */
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_BREAKER_CLOSED, NULL), 0);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_BREAKER_CLOSED, NULL), 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_BREAKER_OPENED, NULL), 1);
    sim_close(&sim);
}

static void a_restart_looks_like_no_silence(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 26, true);
    sim_create(&sim, 10, NODE_RECOVERY_AUTOMATIC);
    sim_kill(&sim);
    clock_fake_advance(&sim.clock, 2 * MS_PER_HOUR); /* hpd was away, the agents were not */
    sim_boot(&sim);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_AGENT_SILENT, NULL), 0);
    assert_int_equal(sim_count_state(&sim, NODE_STATE_READY), 10);
    sim_close(&sim);
}

/* Launches of a large cluster take their time; a repair elsewhere does not wait for them. */
static void repairs_go_before_launches(void **state)
{
    struct sim sim;
    struct cluster cluster;
    struct problem problem = {0};
    (void)state;
    sim_open(&sim, 28, true);
    sim.settings.steps_in_flight_max = 4;
    sim_crash(&sim);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    struct service_group_spec group = {.name = "cpu", .instance_type = "test", .provider = "fake"};
    group.instance_count = 300;
    struct service_cluster_spec spec = {.name = "east", .groups = &group, .group_count = 1};
    spec.orchestrator = ORCHESTRATOR_NONE;
    assert_int_equal(service_cluster_create(&sim.service, &sim_admin, &spec, &cluster, &problem), 0);
    for (int i = 0; i < 8; i++)
        (void)reconcile_run_once(sim.reconcile, &sim.next_ms);
    int launches = sim.provider.launches;
    assert_true(launches < 100); /* many still wait */
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    for (int turns = 0; sim.provider.reboots == 0; turns++) {
        assert_true(turns < 20);
        (void)reconcile_run_once(sim.reconcile, &sim.next_ms);
    }
    assert_true(sim.provider.launches < 200);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    sim_run(&sim, 5 * MS_PER_MIN);
    assert_int_equal(sim.provider.launches, 304);
    sim_close(&sim);
}

/* More held nodes than are marked at once: all of them are out of scheduling soon. */
static void many_holds_are_marked_in_turn(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 29, true);
    sim_create(&sim, 40, NODE_RECOVERY_NONE);
    for (int i = 1; i <= 30; i++)
        sim_verdict(&sim, name_of(i), OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, 10 * MS_PER_S);
    for (int i = 1; i <= 30; i++)
        assert_true(text_starts_with(fake_scheduler_find(&sim.scheduler, name_of(i))->reason, "holdfast: xid.79"));
    sim_close(&sim);
}

/* The same three reboots as the attempt ledger allows, then machines, then a person. */
static void a_slot_that_eats_machines_ends_with_a_person(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 27, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    for (int i = 0; i < 20 && sim_state(&sim, "gpu-1") == NODE_STATE_READY; i++) {
        sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
        sim_run(&sim, MS_PER_HOUR);
    }
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_int_equal(reading.decision.action, ACTION_SUPPORT);
    assert_int_equal(reading.row.state, NODE_STATE_HELD);
    assert_int_equal(sim.provider.launches, 4 + 2);
    assert_non_null(strstr(fake_scheduler_find(&sim.scheduler, "gpu-1")->reason, "a person has to look"));
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_budget_takes_them_in_turn),
        cmocka_unit_test(a_class_has_a_budget_of_its_own),
        cmocka_unit_test(too_few_that_are_healthy_wait_for_a_person),
        cmocka_unit_test(repairs_wait_for_their_hours),
        cmocka_unit_test(without_capacity_nobody_is_downed),
        cmocka_unit_test(a_bad_image_stops_the_replacements),
        cmocka_unit_test(a_dark_rack_holds_and_is_not_replayed),
        cmocka_unit_test(a_person_ends_the_protection),
        cmocka_unit_test(a_person_closes_the_breaker),
        cmocka_unit_test(warnings_that_ask_for_repairs_open_the_breaker),
        cmocka_unit_test(rates_open_the_breaker),
        cmocka_unit_test(a_restart_remembers_warnings_that_ask_for_repairs),
        cmocka_unit_test(a_restart_remembers_rates),
        cmocka_unit_test(a_silent_agent_is_a_finding_not_health),
        cmocka_unit_test(what_nobody_hears_is_rebooted),
        cmocka_unit_test(a_rack_that_vanishes_is_not_rebooted),
        cmocka_unit_test(a_restart_looks_like_no_silence),
        cmocka_unit_test(evidence_that_is_left_out_is_counted),
        cmocka_unit_test(repairs_go_before_launches),
        cmocka_unit_test(many_holds_are_marked_in_turn),
        cmocka_unit_test(a_slot_that_eats_machines_ends_with_a_person),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
