/* Stories of people's operations: cancel at every step, release, opt out, delete. */
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/operation.h"
#include "server/service/cluster/cluster.h"
#include "server/service/node/node.h"
#include "tests/sim/sim_world.h"

#define OFF_THE_BUS 79

static void operate(struct sim *sim, const char *node, enum operation_kind kind, struct operation *ret_op)
{
    struct problem problem = {0};
    if (service_node_operate(&sim->service, &sim_admin, SIM_CLUSTER, node, kind, URGENCY_AFTER_JOBS, "because", "",
                             ret_op, &problem) != 0)
        sim_fail(sim, node, "%s", problem.detail);
}

/* The first turn in which the operation's step is at work. */
static bool reaches(struct sim *sim, const char *node, enum step_kind kind)
{
    struct sim_reading reading = sim_read(sim, node);
    for (int i = 0; i < reading.operation.step_count; i++)
        if (reading.operation.steps[i].kind == kind && reading.operation.steps[i].state == STEP_STATE_RUNNING)
            return true;
    return false;
}

static void cancel_story(enum operation_kind kind, enum step_kind at, bool crash)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    sim_open(&sim, 61, true);
    sim.spec = "{\"lifecycle\":{\"source\":\"file:///x\",\"onCreate\":\"a.sh\"},"
               "\"checksOnStart\":[\"instance-stress\"]}"; /* so that it comes to every step */
    sim.deep = SIM_DEEP_PASSES;
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs = at == STEP_KIND_DRAIN ? 1 : 0;
    operate(&sim, "gpu-1", kind, &op);
    for (int i = 0; !reaches(&sim, "gpu-1", at); i++) {
        if (i > 10000)
            sim_fail(&sim, "gpu-1", "it never comes to %s", step_kind_text(at));
        if (!reconcile_run_once(sim.reconcile, &sim.next_ms))
            sim_time(&sim, INT64_MAX);
    }
    int status = service_operation_cancel(&sim.service, &sim_admin, op.uid, &op, &problem);
    bool allowed = at == STEP_KIND_MARK || at == STEP_KIND_DRAIN;
    if (allowed != (status == 0))
        sim_fail(&sim, "gpu-1", "cancel at %s: %s", step_kind_text(at), status_text(status));
    if (crash)
        sim_crash(&sim);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    struct sim_reading after = sim_read(&sim, "gpu-1");
    assert_int_equal(after.operation.state, allowed ? OPERATION_STATE_CANCELLED : OPERATION_STATE_SUCCEEDED);
    assert_int_equal(sim.provider.reboots + sim.provider.terminations, allowed ? 0 : 1);
    assert_false(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    sim_close(&sim);
}

static void a_cancel_undoes_what_was_done(void **state)
{
    static const enum operation_kind kinds[] = {OPERATION_KIND_REBOOT, OPERATION_KIND_REPLACE};
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        int count;
        const enum step_kind *steps = operation_steps(kinds[k], &count);
        for (int i = 0; i < count; i++) {
            cancel_story(kinds[k], steps[i], false);
            cancel_story(kinds[k], steps[i], true);
        }
    }
}

/* The evidence is still there: back into service would be wrong, and so would be another repair. */
static void a_cancelled_repair_leaves_a_bad_node_held(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    sim_open(&sim, 62, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    struct fake_scheduler_node *there = fake_scheduler_find(&sim.scheduler, "gpu-1");
    there->jobs = 1;
    there->jobs_are_stuck = true;
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_int_equal(service_operation_cancel(&sim.service, &sim_admin, reading.operation.uid, &op, &problem), 0);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    assert_string_equal(there->reason, "holdfast: cancelled by token:admin");
    sim_crash(&sim);
    sim_run(&sim, MS_PER_DAY);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    assert_int_equal(sim.provider.reboots, 0);
    operate(&sim, "gpu-1", OPERATION_KIND_RELEASE, &op);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_false(there->out);
    assert_int_equal(sim_read(&sim, "gpu-1").row.health, HEALTH_HEALTHY);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 0);
    sim_close(&sim);
}

/* Its agent folds what comes within a minute onto one verdict, and knows of no release. */
static void what_fails_again_after_a_release_is_a_fault(void **state)
{
    struct sim sim;
    struct operation op;
    (void)state;
    sim_open(&sim, 71, true);
    sim_create(&sim, 4, NODE_RECOVERY_NONE);
    int at = sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_HELD, MS_PER_MIN);
    operate(&sim, "gpu-1", OPERATION_KIND_RELEASE, &op);
    sim_run(&sim, 5 * MS_PER_S);
    struct sim_verdict *spooled = &sim.spool[at];
    spooled->verdict.count++;
    spooled->verdict.last_at = clock_wall_ms(&sim.clock);
    spooled->acked = false;
    sim_agent_report(&sim, spooled);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    assert_int_equal(sim_read(&sim, "gpu-1").row.health, HEALTH_UNHEALTHY);
    sim_close(&sim);
}

/* Room in the budget comes and goes; that alone is no reason to begin again what a person stopped. */
static void a_cancel_outlasts_the_budget(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    sim_open(&sim, 67, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC); /* room for one */
    fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs = 1;
    fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs_are_stuck = true;
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_int_equal(service_operation_cancel(&sim.service, &sim_admin, reading.operation.uid, &op, &problem), 0);
    sim_until(&sim, "gpu-1", NODE_STATE_HELD, MS_PER_MIN);
    for (int i = 0; i < 2; i++) {
        sim_verdict(&sim, "gpu-2", OFF_THE_BUS, SEVERITY_CRITICAL); /* takes the room */
        sim_run(&sim, 30 * MS_PER_MIN);
        assert_int_equal(sim_state(&sim, "gpu-2"), NODE_STATE_READY);
    }
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    assert_string_equal(sim_read(&sim, "gpu-1").operation.uid, reading.operation.uid);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL); /* but new evidence is */
    sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, MS_PER_MIN);
    sim_close(&sim);
}

static void hands_off_means_hands_off(void **state)
{
    struct sim sim;
    struct node row;
    struct problem problem;
    const struct service_node_change mine = {.says_out = true, .opted_out = true}, yours = {.says_out = true};
    (void)state;
    sim_open(&sim, 63, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    assert_int_equal(service_node_update(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", &mine, 0, &row, &problem), 0);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, MS_PER_DAY);
    assert_int_equal(sim.provider.reboots, 0);
    assert_false(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    assert_int_equal(service_node_update(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", &yours, 0, &row, &problem), 0);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    sim_close(&sim);
}

static bool cluster_is_gone(struct sim *sim)
{
    struct cluster cluster;
    struct db_tx *tx = NULL;
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    int status = db_cluster_get(tx, SIM_CLUSTER, &cluster);
    db_read_end(sim->service.db, tx);
    return status == STATUS_NOT_FOUND;
}

static void delete_story(enum node_state at, bool scheduler_down, bool crash)
{
    struct sim sim;
    struct cluster cluster;
    struct problem problem;
    sim_open(&sim, 64, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    fake_scheduler_find(&sim.scheduler, "gpu-2")->jobs = 3;
    fake_scheduler_by_hand(&sim.scheduler, "gpu-3", false, "a person's drain does not stop it");
    if (at != NODE_STATE_READY) {
        sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
        sim_until(&sim, "gpu-1", at, 10 * MS_PER_MIN);
    }
    sim.scheduler.down = scheduler_down;
    assert_int_equal(service_cluster_delete(&sim.service, &sim_admin, SIM_CLUSTER, &cluster, &problem), 0);
    if (crash)
        sim_crash(&sim);
    sim_run(&sim, MS_PER_HOUR);
    if (!cluster_is_gone(&sim))
        sim_fail(&sim, NULL, "the cluster is still there");
    for (int i = 0; i < sim.provider.count; i++)
        assert_true(sim.provider.instances[i].gone);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_CLUSTER_DELETED, NULL), 1);
    struct reconcile_stats stats;
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.active_operations, 0);
    assert_int_equal(stats.held_nodes, 0);
    sim_close(&sim);
}

static void a_cluster_is_deleted_with_all_it_has(void **state)
{
    (void)state;
    delete_story(NODE_STATE_READY, false, false);
    delete_story(NODE_STATE_READY, true, false); /* a dead scheduler does not keep a cluster alive */
    delete_story(NODE_STATE_REPAIRING, false, false);
    delete_story(NODE_STATE_REPAIRING, false, true);
    delete_story(NODE_STATE_VERIFYING, false, true);
}

static void two_clusters_do_not_mix(void **state)
{
    struct sim sim;
    struct cluster cluster;
    struct problem problem = {0};
    (void)state;
    sim_open(&sim, 65, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    struct service_group_spec group = {.name = "cpu", .instance_type = "test", .provider = "fake", .instance_count = 3};
    struct service_cluster_spec spec = {.name = "east", .groups = &group, .group_count = 1};
    spec.orchestrator = ORCHESTRATOR_NONE;
    assert_int_equal(service_cluster_create(&sim.service, &sim_admin, &spec, &cluster, &problem), 0);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(service_cluster_delete(&sim.service, &sim_admin, "east", &cluster, &problem), 0);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim_count_state(&sim, NODE_STATE_READY), 4);
    assert_int_equal(sim.provider.terminations, 3);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, MS_PER_MIN);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    sim_close(&sim);
}

/* A repair that begins while a mark of the loop's own is on its way sends nothing before that is back, and goes on then, also where
 * the turn that stored it had no room for its first step. */
static void begin_beside_a_mark(bool no_room)
{
    struct sim sim;
    sim_open(&sim, 68, true);
    sim_create(&sim, 3, NODE_RECOVERY_AUTOMATIC);
    struct rnode *node = reconcile_node_find(sim.reconcile, sim_read(&sim, "gpu-1").row.id);
    sim_settle(&sim);
    node->hold_call = true;
    sim.reconcile->isolating = no_room ? 2 : 0;
    const int64_t calls = sim.outcome.calls;
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    for (int i = 0; i < 1000 && node->op == NULL; i++)
        (void)reconcile_run_once(sim.reconcile, &sim.next_ms);
    assert_non_null(node->op);
    for (int i = 0; i < 3; i++)
        (void)reconcile_run_once(sim.reconcile, &sim.next_ms);
    assert_int_equal(sim.outcome.calls, calls);
    node->hold_call = false;
    reconcile_operation_poke(sim.reconcile, node);
    sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, MS_PER_MIN);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    sim_close(&sim);
}

static void a_mark_on_its_way_holds_a_new_repair_up(void **state)
{
    (void)state;
    begin_beside_a_mark(false);
    begin_beside_a_mark(true);
}

static void a_missing_provider_is_said_so(void **state)
{
    struct sim sim;
    struct cluster cluster;
    struct problem problem = {0};
    (void)state;
    sim_open(&sim, 66, false);
    struct service_group_spec group = {.name = "gpu", .instance_type = "x", .provider = "cloud", .instance_count = 1};
    struct service_cluster_spec spec = {.name = SIM_CLUSTER, .groups = &group, .group_count = 1};
    spec.orchestrator = ORCHESTRATOR_NONE;
    assert_int_equal(service_cluster_create(&sim.service, &sim_admin, &spec, &cluster, &problem), 0);
    sim.nodes = 1;
    sim_run(&sim, MS_PER_MIN);
    struct sim_reading failed = sim_read(&sim, "gpu-1");
    assert_int_equal(failed.row.state, NODE_STATE_FAILED);
    assert_non_null(strstr(failed.operation.error, "no provider \"cloud\""));
    sim_close(&sim);
}

/* Deleting what cannot be deleted is tried again at a pace, says why each time, and stops nobody else. */
static void a_deletion_that_fails_is_tried_again_at_a_pace(void **state)
{
    struct sim sim;
    struct cluster cluster;
    struct problem problem = {0};
    (void)state;
    sim_open(&sim, 67, true);
    sim.settings.backend_deadline_ms = MS_PER_MIN;
    sim_crash(&sim);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    struct service_group_spec group = {.name = "far", .instance_type = "x", .provider = "cloud", .instance_count = 1};
    struct service_cluster_spec spec = {.name = "east", .groups = &group, .group_count = 1};
    spec.orchestrator = ORCHESTRATOR_NONE;
    assert_int_equal(service_cluster_create(&sim.service, &sim_admin, &spec, &cluster, &problem), 0);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(service_cluster_delete(&sim.service, &sim_admin, "east", &cluster, &problem), 0);
    sim_run(&sim, 10 * MS_PER_MIN);
    int tries = sim_events(&sim, "far-1", EVENT_KIND_OPERATION_FAILED, "delete failed");
    if (tries < 9 || tries > 11)
        sim_fail(&sim, NULL, "the deletion was tried %d times in ten minutes", tries);
    sim_run(&sim, 3 * MS_PER_HOUR);
    assert_true(sim_events(&sim, "far-1", EVENT_KIND_OPERATION_FAILED, "delete failed") > 100);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, MS_PER_MIN);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cancel_undoes_what_was_done),
        cmocka_unit_test(a_cancelled_repair_leaves_a_bad_node_held),
        cmocka_unit_test(what_fails_again_after_a_release_is_a_fault),
        cmocka_unit_test(a_cancel_outlasts_the_budget),
        cmocka_unit_test(hands_off_means_hands_off),
        cmocka_unit_test(a_cluster_is_deleted_with_all_it_has),
        cmocka_unit_test(two_clusters_do_not_mix),
        cmocka_unit_test(a_mark_on_its_way_holds_a_new_repair_up),
        cmocka_unit_test(a_missing_provider_is_said_so),
        cmocka_unit_test(a_deletion_that_fails_is_tried_again_at_a_pace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
