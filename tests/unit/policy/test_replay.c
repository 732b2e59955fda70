/* A recorded decision under another policy: the same, another, or not to be told. */
#include "base/own.h"
#include "base/text.h"
#include "policy/replay.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define NOW INT64_C(1795176000000)
#define MINUTE INT64_C(60000)

static struct policy_settings settings, other;
static struct policy_group group;
static struct policy_node node;
static struct verdict verdict;
static const struct verdict *refs[1];
static struct policy_repair repairs[3];
static struct decision recorded, said;

static void begin(const char *code)
{
    policy_settings_default(&settings);
    other = settings;
    group = (struct policy_group){.cluster = "train", .name = "gpu", .desired = 64};
    verdict = (struct verdict){.id = 1,
                               .node_id = 7,
                               .severity = SEVERITY_CRITICAL,
                               .state = VERDICT_STATE_OPEN,
                               .count = 1,
                               .first_at = NOW - 5000,
                               .last_at = NOW - 5000,
                               .received_at = NOW - 5000};
    text_copy_cut(verdict.code, sizeof(verdict.code), code);
    text_copy_cut(verdict.source, sizeof(verdict.source), "kmsg");
    text_copy_cut(verdict.device, sizeof(verdict.device), "0000:b9:00");
    text_copy_cut(verdict.instance_id, sizeof(verdict.instance_id), "i-7");
    text_copy_cut(verdict.boot_id, sizeof(verdict.boot_id), "b-7");
    refs[0] = &verdict;
    node = (struct policy_node){.id = 7,
                                .name = "gpu-7",
                                .state = NODE_STATE_READY,
                                .instance_id = "i-7",
                                .boot_id = "b-7",
                                .boot_at = NOW - 60 * MINUTE,
                                .last_heartbeat_at = NOW - 1000,
                                .has_scheduler = true,
                                .scheduler_known = true,
                                .scheduler_responding = true,
                                .scheduler_reason = "ana",
                                .verdicts = refs,
                                .verdict_count = 1,
                                .repairs = repairs};
}

/* What the loop records. */
static void record(void)
{
    const struct policy_snapshot snapshot = {
        .now_ms = NOW, .settings = settings, .group = group, .nodes = &node, .node_count = 1};
    struct policy_plan plan;
    policy_decide(&snapshot, &plan);
    assert_int_equal(plan.count, 1);
    recorded = plan.decisions[0];
    policy_plan_free(&plan);
    verdict.state = VERDICT_STATE_RESOLVED; /* as it is by now */
}

static enum replay_result replay(void)
{
    const struct policy_replay again = {.decision = &recorded,
                                        .cluster = "train",
                                        .group = "gpu",
                                        .node = "gpu-7",
                                        .then = &settings,
                                        .other = &other,
                                        .verdicts = &verdict,
                                        .verdict_count = recorded.evidence_count > 0 ? 1 : 0,
                                        .repairs = repairs,
                                        .repair_count = node.repair_count,
                                        .desired = 1};
    return policy_replay(&again, &said);
}

static void assert_differs(enum action action, enum decision_rule rule)
{
    assert_int_equal(replay(), REPLAY_RESULT_DIFFERS);
    assert_string_equal(action_text(said.action), action_text(action));
    assert_string_equal(decision_rule_text(said.rule), decision_rule_text(rule));
}

static void attempts(void **state)
{
    (void)state;
    begin("xid.63");
    repairs[0] = (struct policy_repair){.kind = OPERATION_KIND_REBOOT,
                                        .instance_id = "i-7",
                                        .device = "0000:b9:00",
                                        .code = "xid.63",
                                        .at = NOW - 48 * 60 * MINUTE,
                                        .succeeded = true};
    node.repair_count = 1;
    record();
    assert_int_equal(recorded.action, ACTION_REBOOT);
    assert_int_equal(replay(), REPLAY_RESULT_SAME);
    other.reboots_max = 1;
    assert_differs(ACTION_REPLACE, RULE_REBOOTS_EXHAUSTED);
    other.repeat_window_ms = 24 * 60 * MINUTE;
    assert_differs(ACTION_REPLACE, RULE_REBOOTS_EXHAUSTED); /* two days old, that reboot weighs nearly as much */
    repairs[0].at = NOW - 25 * 24 * 60 * MINUTE;
    assert_int_equal(replay(), REPLAY_RESULT_SAME); /* 25 days old, it counts no more */
    repairs[0].at = NOW + MINUTE;                   /* what came after the decision says nothing about it */
    other = settings;
    other.reboots_max = 1;
    assert_int_equal(replay(), REPLAY_RESULT_SAME);
}

static void resets(void **state)
{
    (void)state;
    begin("xid.95");
    node.can_reset = true;
    record();
    assert_int_equal(recorded.action, ACTION_RESET);
    assert_int_equal(replay(), REPLAY_RESULT_SAME);
    other.resets_max = 0;
    assert_differs(ACTION_REBOOT, RULE_RESETS_NOT_ALLOWED);
    begin("xid.95");
    node.can_reset = true;
    settings.resets_max = 0;
    record();
    assert_int_equal(recorded.rule, RULE_RESETS_NOT_ALLOWED);
    other = settings;
    other.resets_max = 1;
    assert_differs(ACTION_RESET, RULE_TABLE_RESET);
    begin("xid.95"); /* of an agent that offers none */
    record();
    other.resets_max = 5;
    assert_int_equal(replay(), REPLAY_RESULT_SAME);
}

/* As the store has it: what a repair is on probation for is read from its end. */
static void probation(void **state)
{
    struct operation op = {.kind = OPERATION_KIND_REBOOT,
                           .state = OPERATION_STATE_SUCCEEDED,
                           .actor = "policy",
                           .cause = OPERATION_CAUSE_FAULT,
                           .old_instance = "i-7",
                           .device = "0000:19:00",
                           .code = "xid.79",
                           .created_at = NOW - 65 * MINUTE,
                           .started_at = NOW - 64 * MINUTE,
                           .finished_at = NOW - 59 * MINUTE};
    (void)state;
    begin("xid.79");
    repairs[0] = policy_replay_repair(&op);
    node.repair_count = 1;
    record();
    assert_int_equal(recorded.rule, RULE_PROBATION_FAILED);
    assert_int_equal(replay(), REPLAY_RESULT_SAME);
    other.probation_ms = 0;
    assert_int_equal(replay(), REPLAY_RESULT_DIFFERS);
    assert_int_equal(said.action, ACTION_REBOOT);
}

static void limits(void **state)
{
    (void)state;
    begin("xid.79");
    group.in_repair = 3;
    record();
    assert_int_equal(recorded.rule, RULE_BUDGET_HOLD);
    assert_int_equal(replay(), REPLAY_RESULT_SAME);
    other.budget_percent = 10;
    assert_differs(ACTION_REBOOT, RULE_TABLE_REBOOT);
    begin("xid.79");
    group.failed_recently = 13;
    record();
    assert_int_equal(recorded.rule, RULE_BREAKER_HOLD);
    assert_int_equal(replay(), REPLAY_RESULT_SAME);
    begin("xid.79");
    record();
    other.breaker_min = 0;
    other.breaker_percent = 0;
    assert_int_equal(replay(), REPLAY_RESULT_SAME); /* nobody had failed */
}

/* Nothing is read from what people read: other words lead to the same. */
static void texts_are_only_texts(void **state)
{
    struct operation op = {.kind = OPERATION_KIND_REPLACE,
                           .state = OPERATION_STATE_FAILED,
                           .actor = "policy",
                           .cause = OPERATION_CAUSE_FAULT,
                           .error = "verify: said the provider, which has none",
                           .step_count = 1};
    (void)state;
    begin("xid.79");
    group.in_repair = 3;
    group.failed_recently = 5;
    record();
    for (int gate = 0; gate < GATE_COUNT; gate++)
        text_copy_cut(recorded.gates[gate].detail, sizeof(recorded.gates[gate].detail),
                      "open: 99 of 98 in other words");
    assert_int_equal(recorded.rule, RULE_BUDGET_HOLD);
    assert_int_equal(replay(), REPLAY_RESULT_SAME);
    op.steps[0] = (struct operation_step){.kind = STEP_KIND_LAUNCH, .state = STEP_STATE_FAILED};
    assert_false(policy_replay_repair(&op).not_cleared);
    op.steps[0].kind = STEP_KIND_VERIFY;
    op.error[0] = '\0';
    assert_true(policy_replay_repair(&op).not_cleared);
}

/* A repair that treats the jobs otherwise is another one; of what is only held, nobody's jobs are touched. */
static void jobs(void **state)
{
    (void)state;
    begin("xid.63");
    record();
    assert_int_equal(replay(), REPLAY_RESULT_SAME);
    other.drain_deadline_ms[FAULT_CLASS_GPU_MEMORY] = 30 * MINUTE;
    other.drain_deadline_ms[FAULT_CLASS_GPU] = 30 * MINUTE;
    assert_int_equal(replay(), REPLAY_RESULT_DIFFERS);
    assert_int_equal(said.action, recorded.action);
    assert_int_equal(said.job_wait_ms, 30 * MINUTE);
    other = settings;
    for (int fault = 0; fault < FAULT_CLASS_COUNT; fault++)
        other.job_signal[fault] = JOB_SIGNAL_TERM; /* which none is asked by */
    assert_int_equal(replay(), REPLAY_RESULT_SAME);
    begin("xid.63");
    for (int fault = 0; fault < FAULT_CLASS_COUNT; fault++) {
        settings.jobs[fault] = other.jobs[fault] = JOBS_RULE_SIGNAL;
        other.job_signal[fault] = JOB_SIGNAL_TERM;
    }
    record();
    assert_int_equal(replay(), REPLAY_RESULT_DIFFERS);
}

static void modes(void **state)
{
    (void)state;
    begin("xid.79");
    record();
    for (int i = 0; i < FAULT_CLASS_COUNT; i++)
        other.modes[i] = REPAIR_MODE_OBSERVE;
    assert_differs(ACTION_WATCH, RULE_MODE_OBSERVE);
    for (int i = 0; i < FAULT_CLASS_COUNT; i++)
        other.modes[i] = REPAIR_MODE_APPROVE;
    assert_differs(ACTION_HOLD, RULE_APPROVAL_NEEDED);
}

static void silence(void **state)
{
    (void)state;
    begin("xid.79");
    node.verdict_count = 0;
    node.scheduler_responding = false;
    node.last_heartbeat_at = NOW - settings.unreachable_after_ms;
    record();
    assert_int_equal(recorded.rule, RULE_UNREACHABLE);
    assert_int_equal(replay(), REPLAY_RESULT_SAME);
    other.unreachable_after_ms *= 3;
    assert_differs(ACTION_WATCH, RULE_NO_VERDICT);
}

static void what_others_hold_stays_theirs(void **state)
{
    (void)state;
    begin("xid.79");
    node.external_drain = true;
    record();
    other.reboots_max = 0;
    assert_int_equal(replay(), REPLAY_RESULT_SAME);
}

static void what_is_not_stored_is_not_made_up(void **state)
{
    (void)state;
    begin("xid.79");
    record();
    recorded.action = ACTION_REPLACE; /* for something that the store does not have */
    assert_int_equal(replay(), REPLAY_RESULT_UNKNOWN);
    begin("xid.79");
    record();
    recorded.evidence_count = 0; /* its evidence was dropped */
    assert_int_equal(replay(), REPLAY_RESULT_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts),
        cmocka_unit_test(resets),
        cmocka_unit_test(probation),
        cmocka_unit_test(limits),
        cmocka_unit_test(texts_are_only_texts),
        cmocka_unit_test(jobs),
        cmocka_unit_test(modes),
        cmocka_unit_test(silence),
        cmocka_unit_test(what_others_hold_stays_theirs),
        cmocka_unit_test(what_is_not_stored_is_not_made_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
