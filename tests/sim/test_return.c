/* The return gate by fault: the checks that are named for it have to look; and hardware that comes back is known again. */
#include "tests/sim/sim_cluster.h"

#define OFF_THE_BUS 79
#define FOR_A_PERSON 78 /* no machine knows the remedy */
#define PROGRAM_FAULT 43
#define FINDINGS 70
#define REBOOTS 20

#include "base/text.h"
#include "db/operation.h"
#include "db/verdict.h"
#include "server/reconcile/base/node.h"
#include "server/service/node/node.h"

static void open_world(struct sim *sim, uint64_t seed)
{
    sim_open(sim, seed, true);
    sim->agents_tell_machine = true;
    sim->nvidia_has_run = true;
    sim->nvidia = CHECK_RESULT_OK;
    sim_create(sim, 4, NODE_RECOVERY_AUTOMATIC);
}

static void until_gate(struct sim *sim)
{
    sim_verdict(sim, "gpu-1", 79, SEVERITY_CRITICAL);
    sim_until(sim, "gpu-1", NODE_STATE_REPAIRING, MS_PER_HOUR);
    sim_until(sim, "gpu-1", NODE_STATE_VERIFYING, MS_PER_HOUR);
}

static const char *waits_for(struct sim *sim)
{
    static char detail[SENTENCE_MAX_BYTES];
    const struct operation op = sim_read(sim, "gpu-1").operation;
    detail[0] = '\0';
    for (int i = 0; i < op.step_count; i++)
        if (op.steps[i].kind == STEP_KIND_VERIFY)
            memcpy(detail, op.steps[i].detail, sizeof(detail));
    return detail;
}

static void a_check_has_to_look_first(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, 501);
    sim.nvidia_has_run = false;
    until_gate(&sim);
    sim_run(&sim, 5 * MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_VERIFYING);
    assert_non_null(strstr(waits_for(&sim), "waits for the check nvidia to look"));
    sim.nvidia_has_run = true;
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 1);
    sim_close(&sim);
}

/* A check found this in the present boot of the node's machine. */
static void find(struct sim *sim, const char *node, const char *check, const char *code)
{
    static uint64_t number;
    struct fake_instance *machine = fake_provider_of_node(&sim->provider, node);
    struct problem problem;
    bool acked = false;
    struct verdict verdict = {.severity = SEVERITY_WARN, .count = 1};
    verdict.first_at = verdict.last_at = clock_wall_ms(&sim->clock);
    snprintf(verdict.key, sizeof(verdict.key), "found-%d", (int)++number);
    snprintf(verdict.instance_id, sizeof(verdict.instance_id), "%s", machine->id);
    snprintf(verdict.boot_id, sizeof(verdict.boot_id), "%s", machine->boot_id);
    snprintf(verdict.source, sizeof(verdict.source), "%s", check);
    snprintf(verdict.code, sizeof(verdict.code), "%s", code);
    assert_int_equal(service_agent_verdicts(&sim->service, machine->node_row, &verdict, 1, clock_wall_ms(&sim->clock),
                                            sim_acked, &acked, &problem),
                     0);
    sim_settle(sim);
    assert_true(acked);
}

/* A launch has no fault behind it, and is proven all the same. */
static void a_new_machine_is_looked_at_first(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 507, true);
    sim.agents_tell_machine = true;
    sim.nvidia_has_run = false;
    sim_ask(&sim, 1, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, 8 * MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_VERIFYING);
    assert_non_null(strstr(waits_for(&sim), "waits for the check nvidia to look, which a new machine needs"));
    sim.nvidia_has_run = true;
    sim.nvidia = CHECK_RESULT_OK;
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 5 * MS_PER_MIN);
    sim_close(&sim);
}

/* It costs no node that works, as an update makes it so on all of them; a machine that begins with it is none that came up. */
static void a_new_machine_with_a_library_of_another_driver_takes_no_work(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 508, true);
    sim.agents_tell_machine = true;
    sim.nvidia_has_run = false;
    sim_ask(&sim, 1, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, 5 * MS_PER_MIN);
    find(&sim, "gpu-1", "nvidia", "nvidia.driver.mismatch");
    sim.nvidia_has_run = true;
    sim.nvidia = CHECK_RESULT_FOUND;
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_VERIFYING);
    assert_non_null(strstr(waits_for(&sim), "waits for the check nvidia, which finds nvidia.driver.mismatch"));
    sim_until(&sim, "gpu-1", NODE_STATE_FAILED, MS_PER_HOUR);
    assert_non_null(strstr(sim_read(&sim, "gpu-1").operation.error, "nvidia.driver.mismatch"));
    sim_close(&sim);
}

static void what_does_not_apply_passes(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, 502);
    sim.nvidia = CHECK_RESULT_NOT_APPLICABLE;
    until_gate(&sim);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 5 * MS_PER_MIN);
    sim_close(&sim);
}

/* Not knowing is no health: after the gate's limit a person is told what could not be found out. */
static void what_cannot_tell_fails(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, 503);
    sim.nvidia = CHECK_RESULT_UNKNOWN;
    until_gate(&sim);
    sim_run(&sim, 5 * MS_PER_MIN);
    assert_non_null(strstr(waits_for(&sim), "waits for the check nvidia, which cannot tell: because"));
    sim_until(&sim, "gpu-1", NODE_STATE_FAILED, MS_PER_HOUR);
    assert_non_null(strstr(sim_read(&sim, "gpu-1").operation.error, "nvidia"));
    sim_close(&sim);
}

/* An earlier agent tells of no checks; it is not waited for. */
static void an_earlier_agent_is_not_waited_for(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, 504);
    sim.agents_tell_machine = false;
    until_gate(&sim);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 5 * MS_PER_MIN);
    sim_close(&sim);
}

/* The provider gives the card again that was given up: the machine is tested before it takes work, and people are told. */
static void the_same_card_comes_back(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 505, true);
    sim.agents_tell_machine = true;
    sim.nvidia_has_run = true;
    sim.deep = SIM_DEEP_PASSES;
    sim.gpu = "GPU-7c1c0a0e-5a0b-4a53-9f6d-2f2f0f7a9b31";
    sim_create(&sim, 1, NODE_RECOVERY_AUTOMATIC);
    for (int i = 0; i < 2; i++) { /* a reboot, then another machine */
        sim_verdict(&sim, "gpu-1", 79, SEVERITY_CRITICAL);
        sim_run(&sim, MS_PER_HOUR);
    }
    assert_int_equal(sim_read(&sim, "gpu-1").operation.kind, OPERATION_KIND_REPLACE);
    assert_int_equal(
        sim_events(&sim, "gpu-1", EVENT_KIND_DEEP_CHECK, "is in this machine, which was given up for xid.79"), 1);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DEEP_CHECK, "HARDWARE_CHECK passed"), 1);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DECISION, "(recurring-hardware)"), 1);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    sim_close(&sim);
}

static int add_reboots(struct db_tx *tx, void *arg)
{
    const struct operation *replace = arg;
    int status = 0;
    for (int i = 0; i < REBOOTS && status == 0; i++) {
        struct operation op = *replace;
        op.id = 0;
        op.kind = OPERATION_KIND_REBOOT;
        op.state = OPERATION_STATE_SUCCEEDED;
        op.step_count = 0;
        op.finished_at = op.started_at = op.created_at;
        snprintf(op.uid, sizeof(op.uid), "newer-%d", i);
        snprintf(op.key, sizeof(op.key), "newer-%d", i);
        status = db_operation_insert(tx, &op);
    }
    return status;
}

/* Many newer repairs of its pieces do not hide that the machine was given up. */
static void newer_repairs_hide_no_card_that_was_given_up(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 506, true);
    sim.agents_tell_machine = true;
    sim.nvidia_has_run = true;
    sim.deep = SIM_DEEP_PASSES;
    sim.gpu = "GPU-7c1c0a0e-5a0b-4a53-9f6d-2f2f0f7a9b31";
    sim_create(&sim, 1, NODE_RECOVERY_AUTOMATIC);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, MS_PER_HOUR);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    struct operation replace = sim_read(&sim, "gpu-1").operation;
    assert_int_equal(replace.kind, OPERATION_KIND_REPLACE);
    assert_int_equal(db_write(sim.service.db, "test", add_reboots, &replace), 0);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(
        sim_events(&sim, "gpu-1", EVENT_KIND_DEEP_CHECK, "is in this machine, which was given up for xid.79"), 1);
    sim_close(&sim);
}

/* It died before it saved that the repair was over, and shows the repair's mark again, with its time; hpd died with it, or not. */
static void an_old_mark_is_no_request(void **state)
{
    (void)state;
    for (int dies = 0; dies < 2; dies++) {
        struct sim sim;
        sim_open(&sim, 67, true);
        sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
        sim_run(&sim, MS_PER_MIN);
        sim_verdict(&sim, "gpu-1", 79, SEVERITY_CRITICAL);
        struct fake_scheduler_node *node = fake_scheduler_find(&sim.scheduler, "gpu-1");
        for (int i = 0; i < 600 && !node->out; i++)
            sim_run(&sim, MS_PER_S / 2);
        assert_true(node->failed);
        assert_string_equal(node->reason, "Action:Reboot");
        const struct fake_scheduler_node saved = *node;
        sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
        assert_false(node->out);
        assert_int_equal(sim.provider.reboots, 1);
        node->out = node->failed = true;
        memcpy(node->reason, saved.reason, sizeof(node->reason));
        memcpy(node->user, saved.user, sizeof(node->user));
        node->reason_at = saved.reason_at;
        if (dies)
            sim_crash(&sim);
        sim_run(&sim, 10 * MS_PER_MIN);
        assert_int_equal(sim.provider.reboots, 1);
        assert_false(node->out); /* and it is not forgotten there */
        assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
        struct sim_reading back = sim_read(&sim, "gpu-1");
        assert_string_equal(back.operation.reason,
                            "Slurm came up again with the mark of the repair before (Action:Reboot), which is over");
        /* The same words of a person, later, are a request. */
        fake_scheduler_by_hand(&sim.scheduler, "gpu-1", true, "Action:Reboot");
        sim_run(&sim, 20 * MS_PER_MIN);
        assert_int_equal(sim.provider.reboots, 2);
        sim_close(&sim);
    }
}

static void assert_explained(struct sim *sim, const char *node, const char *words)
{
    struct service_explanation explanation;
    struct problem problem;
    assert_int_equal(service_node_explain(&sim->service, SIM_CLUSTER, node, &explanation, &problem), 0);
    if (strstr(explanation.text, words) == NULL)
        sim_fail(sim, node, "explain does not say \"%s\": %s", words, explanation.text);
    service_explanation_free(&explanation);
}

/* A machine on which the scheduler's daemon does not start: what is wrong is said within seconds, where people look first. */
static void a_daemon_that_never_came_is_told(void **state)
{
    static const char ended[] =
        "the scheduler has not heard slurmd on gpu-2: its service slurmd ended with exit code 1: "
        "Unable to initialize cgroup plugin";
    struct sim sim;
    (void)state;
    sim_open(&sim, 91, true);
    struct service_group_spec group = sim_spec("gpu", 3, 0);
    snprintf(sim.provider.no_daemon, sizeof(sim.provider.no_daemon), "gpu-2");
    sim_ask_cluster(&sim, PROVISIONING_CONTINUOUS, &group, 1);
    sim_until(&sim, "gpu-2", NODE_STATE_VERIFYING, 10 * MS_PER_MIN);
    sim_run(&sim, 20 * MS_PER_S);
    struct sim_reading reading = sim_read(&sim, "gpu-2");
    assert_string_equal(reading.row.reason, ended);
    assert_explained(&sim, "gpu-2", ended);
    sim_crash(&sim);
    sim_run(&sim, 20 * MS_PER_S);
    assert_string_equal(sim_read(&sim, "gpu-2").row.reason, ended);
    sim.provider.no_daemon[0] = '\0';
    sim_until(&sim, "gpu-2", NODE_STATE_READY, 5 * MS_PER_MIN);
    assert_string_equal(sim_read(&sim, "gpu-2").row.reason, "");
    sim_close(&sim);
}

/* Where nobody can look at the machine, the person who can is told how. */
static void a_daemon_that_is_not_heard_asks_for_a_look(void **state)
{
    static const char look[] = "the scheduler has not heard slurmd on gpu-1; run on the node: systemctl status slurmd";
    struct sim sim;
    (void)state;
    sim_open(&sim, 92, true);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    struct fake_instance *instance = fake_provider_of_node(&sim.provider, "gpu-1");
    sim_verdict(&sim, "gpu-1", 79, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_VERIFYING, 10 * MS_PER_MIN);
    sim.daemons_stay_away = true;
    sim_run(&sim, 20 * MS_PER_S);
    assert_false(instance->gone);
    assert_string_equal(sim_read(&sim, "gpu-1").row.reason, look);
    assert_explained(&sim, "gpu-1", look);
    sim.daemons_stay_away = false;
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 5 * MS_PER_MIN);
    sim_close(&sim);
}

/* --- a person's turn --------------------------------------------------------------------------- */
static void boots_by_itself(struct sim *sim, const char *node)
{
    struct fake_instance *instance = fake_provider_of_node(&sim->provider, node);
    id_uuid(&sim->ids, instance->boot_id);
    instance->seq = 0;
    sim_run(sim, 10 * MS_PER_MIN);
}

/* No boot and no death of hpd ends it; the person's word does. */
static void a_hold_for_a_person_outlives_boots(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    sim_open(&sim, 71, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_verdict(&sim, "gpu-1", FOR_A_PERSON, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_HELD, MS_PER_MIN);
    boots_by_itself(&sim, "gpu-1");
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    sim_crash(&sim);
    boots_by_itself(&sim, "gpu-1");
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    assert_true(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_RELEASE,
                                          URGENCY_NOW, "", "", &op, &problem),
                     0);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    sim_close(&sim);
}

/* Repairs are used up, so it is a person's although the new boot shows nothing. */
static void a_hold_of_used_up_repairs_outlives_boots(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 72, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    for (int i = 0; i < 12 && sim_read(&sim, "gpu-1").decision.rule != RULE_REPLACES_EXHAUSTED; i++) {
        sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
        sim_run(&sim, 30 * MS_PER_MIN);
    }
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    boots_by_itself(&sim, "gpu-1");
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    assert_int_equal(sim_read(&sim, "gpu-1").decision.rule, RULE_HOLD_STANDS);
    sim_crash(&sim);
    boots_by_itself(&sim, "gpu-1");
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    fake_scheduler_resume_by_hand(&sim.scheduler, "gpu-1");
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    sim_close(&sim);
}

/* The reboot is for the GPU, and another part of the same machine waits for a person: out of service it stays. */
static void a_repair_of_something_else_leaves_it_to_the_person(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    sim_open(&sim, 73, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_verdict(&sim, "gpu-1", FOR_A_PERSON, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_HELD, MS_PER_MIN);
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_REBOOT,
                                          URGENCY_NOW, "", "", &op, &problem),
                     0);
    for (int i = 0; i < 60; i++) {
        sim_run(&sim, 10 * MS_PER_S);
        assert_int_not_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
        assert_true(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    }
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_REPLACE,
                                          URGENCY_NOW, "", "", &op, &problem),
                     0);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 20 * MS_PER_MIN);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    sim_close(&sim);
}

static int count_for_person(const void *row, void *arg)
{
    *(int *)arg += text_equal(((const struct verdict *)row)->code, "xid.78") ? 1 : 0;
    return 0;
}

static int open_for_person(struct sim *sim, const char *node)
{
    struct db_tx *tx = NULL;
    int count = 0;
    const struct db_verdict_filter open = {.node_id = sim_read(sim, node).row.id, .state = VERDICT_STATE_OPEN};
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_int_equal(db_verdict_list(tx, &open, count_for_person, &count), 0);
    db_read_end(sim->service.db, tx);
    return count;
}

/* A reboot answers none of what is for a person, however many there are. */
static void a_reboot_resolves_nothing_of_a_persons(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    sim_open(&sim, 74, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    for (int i = 0; i < FINDINGS; i++)
        sim_verdict(&sim, "gpu-1", FOR_A_PERSON, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_HELD, MS_PER_MIN);
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_REBOOT,
                                          URGENCY_NOW, "", "", &op, &problem),
                     0);
    sim_run(&sim, 20 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    assert_int_equal(open_for_person(&sim, "gpu-1"), FINDINGS);
    sim_close(&sim);
}

/* Newer findings that cost no node do not hide what is for a person. */
static void newer_findings_hide_nothing_of_a_persons(void **state)
{
    const struct service_node_change out = {.says_out = true, .opted_out = true}; /* no decision holds it */
    struct node row;
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    sim_open(&sim, 75, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    assert_int_equal(service_node_update(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", &out, 0, &row, &problem), 0);
    sim_verdict(&sim, "gpu-1", FOR_A_PERSON, SEVERITY_WARN);
    sim_settle(&sim);
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_REBOOT,
                                          URGENCY_NOW, "", "", &op, &problem),
                     0);
    sim_until(&sim, "gpu-1", NODE_STATE_VERIFYING, MS_PER_HOUR);
    for (int i = 0; i < 2 * DECIDE_ROWS_MAX; i++) /* more than were once looked through */
        sim_verdict(&sim, "gpu-1", PROGRAM_FAULT, SEVERITY_WARN);
    for (int i = 0; i < 600 && sim_state(&sim, "gpu-1") == NODE_STATE_VERIFYING; i++)
        sim_run(&sim, MS_PER_S);
    assert_int_equal(open_for_person(&sim, "gpu-1"), 1);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    sim_close(&sim);
}

static bool is_at(struct sim *sim, const char *node, enum step_kind kind)
{
    struct sim_reading reading = sim_read(sim, node);
    for (int i = 0; i < reading.operation.step_count; i++)
        if (reading.operation.steps[i].kind == kind)
            return reading.operation.steps[i].state == STEP_STATE_RUNNING;
    return false;
}

/* The broken node would take jobs until it is rebooted. */
static void a_node_that_is_resumed_during_its_repair_is_taken_out_again(void **state)
{
    static const enum step_kind steps[] = {STEP_KIND_DRAIN, STEP_KIND_JOIN, STEP_KIND_VERIFY};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct sim sim;
        sim_open(&sim, 44 + i, true);
        sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
        struct fake_scheduler_node *there = fake_scheduler_find(&sim.scheduler, "gpu-1");
        there->jobs = steps[i] == STEP_KIND_DRAIN;
        there->jobs_are_stuck = there->jobs > 0;
        sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
        for (int at = 0; !is_at(&sim, "gpu-1", steps[i]); at++) {
            assert_true(at < 10000);
            sim_tick(&sim, INT64_MAX);
        }
        assert_true(there->out);
        fake_scheduler_resume_by_hand(&sim.scheduler, "gpu-1");
        sim_run(&sim, 15 * MS_PER_S);
        assert_true(there->out);
        assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_SCHEDULER_MARK, "put back into service during"), 1);
        there->jobs_are_stuck = false;
        sim_until(&sim, "gpu-1", NODE_STATE_READY, 20 * MS_PER_MIN);
        assert_false(there->out);
        assert_int_equal(sim.provider.reboots, 1);
        sim_close(&sim);
    }
}

/* A warning has the node looked at while Slurm is away, and when it is back. */
static void why_a_node_is_out_stands_while_slurm_is_away(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 91, true);
    sim_create(&sim, 4, NODE_RECOVERY_NONE);
    sim_run(&sim, MS_PER_MIN);
    fake_scheduler_give_up(&sim.scheduler, "gpu-1", "Node unexpectedly rebooted");
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_read(&sim, "gpu-1").row.attention, ATTENTION_DOWNED);
    for (int away = 1; away >= 0; away--) {
        sim.scheduler.down = away != 0;
        sim_run(&sim, 10 * MS_PER_MIN);
        sim_verdict(&sim, "gpu-1", 31, SEVERITY_WARN);
        sim_run(&sim, 10 * MS_PER_MIN);
        assert_int_equal(sim_read(&sim, "gpu-1").row.attention, ATTENTION_DOWNED);
    }
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newer_repairs_hide_no_card_that_was_given_up),
        cmocka_unit_test(a_reboot_resolves_nothing_of_a_persons),
        cmocka_unit_test(newer_findings_hide_nothing_of_a_persons),
        cmocka_unit_test(a_node_that_is_resumed_during_its_repair_is_taken_out_again),
        cmocka_unit_test(a_check_has_to_look_first),
        cmocka_unit_test(a_new_machine_is_looked_at_first),
        cmocka_unit_test(a_new_machine_with_a_library_of_another_driver_takes_no_work),
        cmocka_unit_test(what_does_not_apply_passes),
        cmocka_unit_test(what_cannot_tell_fails),
        cmocka_unit_test(an_earlier_agent_is_not_waited_for),
        cmocka_unit_test(the_same_card_comes_back),
        cmocka_unit_test(an_old_mark_is_no_request),
        cmocka_unit_test(a_daemon_that_never_came_is_told),
        cmocka_unit_test(a_daemon_that_is_not_heard_asks_for_a_look),
        cmocka_unit_test(why_a_node_is_out_stands_while_slurm_is_away),
        cmocka_unit_test(a_hold_for_a_person_outlives_boots),
        cmocka_unit_test(a_hold_of_used_up_repairs_outlives_boots),
        cmocka_unit_test(a_repair_of_something_else_leaves_it_to_the_person),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
