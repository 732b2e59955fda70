/* What is known of a node is known after a restart as well, however much was written about it meanwhile. */
#include "db/event.h"
#include "db/node.h"
#include "db/operation.h"
#include "server/service/node/node.h"
#include "tests/sim/sim_cluster.h"

#define OFF_THE_BUS 79
#define LATER_EVENTS 250
#define LATER_OPERATIONS 120

/* As a node has them that is held for days: checks, requests, changes of its hardware. */
static int insert_events(struct db_tx *tx, void *arg)
{
    const struct sim_reading *reading = arg;
    int status = 0;
    for (int i = 0; i < LATER_EVENTS && status == 0; i++) {
        struct event event = {.level = EVENT_LEVEL_INFO,
                              .kind = EVENT_KIND_NODE_HEALTH,
                              .cluster_id = reading->cluster.id,
                              .node_id = reading->row.id};
        text_copy_cut(event.cluster, sizeof(event.cluster), SIM_CLUSTER);
        text_copy_cut(event.node, sizeof(event.node), reading->node);
        text_copy_cut(event.message, sizeof(event.message), "something later");
        status = db_event_insert(tx, &event);
    }
    return status;
}

static void later_events(struct sim *sim, const char *node)
{
    struct sim_reading reading = sim_read(sim, node);
    assert_int_equal(db_write(sim->service.db, "later", insert_events, &reading), 0);
}

/* Reboots that did not help. */
static int insert_operations(struct db_tx *tx, void *arg)
{
    const struct sim_reading *reading = arg;
    int status = 0;
    for (int i = 0; i < LATER_OPERATIONS && status == 0; i++) {
        struct operation op = {.cluster_id = reading->cluster.id,
                               .node_id = reading->row.id,
                               .kind = OPERATION_KIND_REBOOT,
                               .state = OPERATION_STATE_FAILED,
                               .created_at = reading->row.state_since,
                               .finished_at = reading->row.state_since};
        snprintf(op.uid, sizeof(op.uid), "later-%d", i);
        snprintf(op.key, sizeof(op.key), "later/%d", i);
        status = db_operation_insert(tx, &op);
    }
    struct node row = reading->row;
    row.state = NODE_STATE_FAILED;
    text_copy_cut(row.reason, sizeof(row.reason), "replace failed at launch: no machine");
    return status == 0 ? db_node_update(tx, &row) : status;
}

static void hold(struct sim *sim, const char *node)
{
    sim_verdict(sim, node, OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(sim, MS_PER_MIN);
    assert_true(text_starts_with(fake_scheduler_find(&sim->scheduler, node)->reason, "holdfast: "));
}

static void assert_lifted(struct sim *sim, const char *node)
{
    struct fake_scheduler_node *there = fake_scheduler_find(&sim->scheduler, node);
    int marks = there->marks;
    sim_until(sim, node, NODE_STATE_READY, MS_PER_MIN);
    sim_run(sim, MS_PER_HOUR);
    assert_int_equal(sim_state(sim, node), NODE_STATE_READY);
    assert_int_equal(there->marks, marks);
    assert_false(there->out);
}

/* A person resumes the node while the server is down. */
static void a_lifted_hold_is_respected_after_many_events(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 61, true);
    sim_create(&sim, 4, NODE_RECOVERY_NONE);
    hold(&sim, "gpu-1");
    later_events(&sim, "gpu-1");
    sim_kill(&sim);
    fake_scheduler_resume_by_hand(&sim.scheduler, "gpu-1");
    sim_boot(&sim);
    assert_lifted(&sim, "gpu-1");
    sim_close(&sim);
}

/* The server is gone between the hold and the note of it, and finds it in the scheduler when it is back. */
static void a_hold_that_is_only_found_is_remembered(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 62, true);
    sim_create(&sim, 4, NODE_RECOVERY_NONE);
    sim_run(&sim, MS_PER_MIN);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    const struct fake_scheduler_node *there = fake_scheduler_find(&sim.scheduler, "gpu-1");
    for (int i = 0; i < 100 && !there->out; i++) {
        sim.outcome.die_after = sim.outcome.calls + 1;
        sim_run(&sim, MS_PER_S);
    }
    assert_true(there->out);
    sim.outcome.die_after = 0;
    sim_run(&sim, MS_PER_MIN);
    sim_kill(&sim);
    fake_scheduler_resume_by_hand(&sim.scheduler, "gpu-1");
    sim_boot(&sim);
    assert_lifted(&sim, "gpu-1");
    sim_close(&sim);
}

/* What was in service once is not taken for a machine that never came up: it would be launched again. */
static void what_was_in_service_is_known_after_many_operations(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 63, true);
    struct service_group_spec group = sim_spec("gpu", 4, 0);
    sim_ask_cluster(&sim, PROVISIONING_CONTINUOUS, &group, 1);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, 10 * MS_PER_MIN);
    sim_run(&sim, MS_PER_MIN);
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_int_equal(db_write(sim.service.db, "later", insert_operations, &reading), 0);
    sim_crash(&sim);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_FAILED);
    assert_int_equal(sim.provider.launches, 4);
    sim_close(&sim);
}

static void a_near_miss_is_told_once_after_many_events(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 64, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    fake_scheduler_by_hand(&sim.scheduler, "gpu-1", true, "action:replace");
    sim_run(&sim, MS_PER_MIN);
    later_events(&sim, "gpu-1");
    sim_kill(&sim);
    fake_scheduler_by_hand(&sim.scheduler, "gpu-1", true, "action:replace"); /* without our note */
    sim_boot(&sim);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_NEAR_MISS, NULL), 1);
    sim_close(&sim);
}

/* The step gets new time when the scheduler is back, also in the store: the next look reads the deadline there. */
static void a_step_has_time_when_the_scheduler_is_back(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 51, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_VERIFYING, 30 * MS_PER_MIN);
    sim.scheduler.down = true;
    sim_run(&sim, 6 * MS_PER_HOUR);
    sim.daemons_stay_away = true;
    sim.scheduler.down = false;
    sim_run(&sim, 5 * MS_PER_MIN);
    const struct operation op = sim_read(&sim, "gpu-1").operation;
    for (int i = 0; i < op.step_count; i++)
        if (op.steps[i].state == STEP_STATE_RUNNING)
            assert_true(op.steps[i].deadline_at > clock_wall_ms(&sim.clock));
    sim_crash(&sim);
    sim_run(&sim, MS_PER_MIN);
    sim.daemons_stay_away = false;
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 30 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_OPERATION_FAILED, NULL), 0);
    sim_close(&sim);
}

/* While hpd was away agents could not report: that is 5 minutes, and not another deadline. */
static void restarts_give_a_join_no_more_time(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    sim_open(&sim, 67, true);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    fake_provider_of_node(&sim.provider, "gpu-1")->hangs = true;
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_REBOOT,
                                          URGENCY_NOW, "", "", &op, &problem),
                     0);
    sim_run(&sim, sim.settings.join_deadline_ms - 2 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_FAILED, NULL), 0);
    for (int i = 0; i < 3; i++) {
        sim_crash(&sim);
        sim_run(&sim, MS_PER_MIN);
    }
    sim_run(&sim, 5 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_FAILED, NULL), 1);
    sim_close(&sim);
}

static bool is_at(struct sim *sim, const char *node, enum step_kind kind)
{
    const struct operation op = sim_read(sim, node).operation;
    for (int i = 0; i < op.step_count; i++)
        if (op.steps[i].kind == kind && op.steps[i].state == STEP_STATE_RUNNING)
            return true;
    return false;
}

/* The site was dark for longer than a join may take, with a machine in the middle of its reboot, and the network is back after hpd. */
static void an_outage_of_the_site_fails_no_join(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 68, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    for (int i = 0; i < 3600 && !is_at(&sim, "gpu-1", STEP_KIND_JOIN); i++)
        sim_run(&sim, MS_PER_S);
    assert_true(is_at(&sim, "gpu-1", STEP_KIND_JOIN));
    for (int i = 0; i < sim.provider.count; i++)
        sim.provider.instances[i].muted = true;
    sim_kill(&sim);
    clock_fake_advance(&sim.clock, sim.settings.join_deadline_ms + MS_PER_HOUR);
    sim_boot(&sim);
    sim_run(&sim, 4 * MS_PER_MIN);
    for (int i = 0; i < sim.provider.count; i++)
        sim.provider.instances[i].muted = false;
    sim_until_all_ready(&sim, 30 * MS_PER_MIN);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_FAILED, NULL), 0);
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(sim.provider.terminations, 0);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_has_time_when_the_scheduler_is_back),
        cmocka_unit_test(a_lifted_hold_is_respected_after_many_events),
        cmocka_unit_test(a_hold_that_is_only_found_is_remembered),
        cmocka_unit_test(what_was_in_service_is_known_after_many_operations),
        cmocka_unit_test(a_near_miss_is_told_once_after_many_events),
        cmocka_unit_test(restarts_give_a_join_no_more_time),
        cmocka_unit_test(an_outage_of_the_site_fails_no_join),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
