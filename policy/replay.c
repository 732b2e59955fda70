/*
 * The snapshot of one node at one recorded decision: evidence, attempts, people's holds and the group's numbers as they were stored.
 */
#include "policy/replay.h"

#include "base/own.h"
#include "base/text.h"
#include "policy/evaluate.h"

ENUM_DEFINE(replay_result, REPLAY_RESULT_LIST)

static int64_t known_or(int64_t number, int64_t otherwise)
{
    return number >= 0 ? number : otherwise;
}

static void take_group(const struct policy_replay *replay, struct policy_group *group)
{
    const struct decision *d = replay->decision;
    bool open = d->gates[GATE_BREAKER].result == GATE_RESULT_FAILED;
    *group = (struct policy_group){
        .cluster = replay->cluster,
        .name = replay->group,
        .recovery = d->gates[GATE_RECOVERY].result == GATE_RESULT_FAILED ? NODE_RECOVERY_NONE : NODE_RECOVERY_AUTOMATIC,
        .desired = known_or(d->group.desired, replay->desired),
        .in_repair = known_or(d->group.in_repair, 0),
        .healthy_elsewhere = known_or(d->group.healthy, replay->desired),
        .failed_recently = known_or(d->group.failing, 0),
        .breaker_opened_at = open ? d->at - 1 : 0,
    };
    group->in_repair_of[policy_repair_class(d->code)] = known_or(d->group.in_repair_alike, 0);
}

/* Nobody heard it: for as long as the policy of then waits, as it is decided at once when that is over. */
static void take_silence(const struct policy_replay *replay, struct policy_node *node)
{
    const struct decision *d = replay->decision;
    bool lost = policy_repair_class(d->code) == FAULT_CLASS_UNREACHABLE;
    node->last_heartbeat_at = d->at;
    if (!lost && d->rule != RULE_NO_VERDICT)
        return;
    node->last_heartbeat_at -= lost ? replay->then->unreachable_after_ms : replay->then->silent_after_ms;
    node->scheduler_responding = !lost;
}

/* Its words are not needed: only whether there was one is weighed. */
static const struct policy_incident *incident_of(const struct decision *decision)
{
    static const struct policy_incident some = {.domain = ""};
    return decision->gates[GATE_INCIDENT].result == GATE_RESULT_FAILED ? &some : NULL;
}

/* The recorded word says it where a reset was considered. */
static bool could_reset(const struct decision *d)
{
    static const enum decision_rule rules[] = {RULE_RESETS_NOT_ALLOWED, RULE_RESET_FAILED, RULE_RESETS_EXHAUSTED,
                                               RULE_REPEAT_AFTER_RESET};
    bool could = d->action == ACTION_RESET || d->refused == ACTION_RESET;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        could = could || d->rule == rules[i];
    return could;
}

static void take_node(const struct policy_replay *replay, struct policy_node *node)
{
    const struct decision *d = replay->decision;
    const struct verdict *lead = replay->verdict_count > 0 ? &replay->verdicts[0] : NULL;
    bool fresh =
        lead != NULL && (d->gates[GATE_FRESH].result != GATE_RESULT_FAILED || d->rule == RULE_CLEARED_BY_RESET);
    *node = (struct policy_node){
        .id = d->node_id,
        .name = replay->node,
        .state = d->rule == RULE_ONE_OPERATION ? NODE_STATE_VERIFYING : NODE_STATE_READY,
        .instance_id = fresh ? lead->instance_id : "",
        .boot_id = fresh ? lead->boot_id : "",
        .boot_at = lead != NULL ? lead->first_at : d->at,
        .opted_out = d->rule == RULE_OPTED_OUT,
        .paused_why = d->rule == RULE_PAUSED ? "the cluster was paused" : "",
        .can_reset = could_reset(d),
        .resumes_elsewhere = d->rule == RULE_AUTO_RESUME_REPLACES,
        .has_active_operation = d->rule == RULE_ONE_OPERATION,
        .has_scheduler = true,
        .scheduler_known = true,
        .scheduler_responding = true,
        .external_drain = d->rule == RULE_EXTERNAL_DRAIN,
        .scheduler_reason = "",
        .request_by = "",
        .incident = incident_of(d),
    };
    take_silence(replay, node);
}

/* As they were then: open, and not seen any further. */
static size_t take_verdicts(const struct policy_replay *replay, struct verdict *verdicts, const struct verdict **refs)
{
    for (size_t i = 0; i < replay->verdict_count; i++) {
        verdicts[i] = replay->verdicts[i];
        verdicts[i].state = VERDICT_STATE_OPEN;
        refs[i] = &verdicts[i];
    }
    return replay->verdict_count;
}

/* What failed was the machine, and not who was asked to reboot or to give one. */
static bool is_not_cleared(const struct operation *op)
{
    for (int i = 0; op->state == OPERATION_STATE_FAILED && i < op->step_count; i++) {
        enum step_kind kind = op->steps[i].kind;
        if (op->steps[i].state == STEP_STATE_FAILED)
            return kind == STEP_KIND_JOIN || kind == STEP_KIND_CHECK || kind == STEP_KIND_VERIFY;
    }
    return false;
}

struct policy_repair policy_replay_repair(const struct operation *op)
{
    return (struct policy_repair){
        .kind = op->kind,
        .instance_id = op->old_instance,
        .new_instance = op->new_instance,
        .device = op->device,
        .code = op->code,
        .at = op->started_at > 0 ? op->started_at : op->created_at,
        .finished_at = op->finished_at,
        .cleared_by_reset_at = op->cleared_by_reset_at,
        .boot_id = op->old_boot,
        .succeeded = op->state == OPERATION_STATE_SUCCEEDED,
        .not_cleared = is_not_cleared(op),
        .by_person = op->cause == OPERATION_CAUSE_PERSON,
        .error = op->error,
    };
}

static size_t take_repairs(const struct policy_replay *replay, struct policy_repair *repairs)
{
    size_t count = 0;
    for (size_t i = 0; i < replay->repair_count; i++)
        if (replay->repairs[i].at < replay->decision->at)
            repairs[count++] = replay->repairs[i];
    return count;
}

static void decide(struct policy_snapshot *snapshot, const struct policy_settings *settings,
                   struct decision *ret_decision)
{
    struct policy_plan plan;
    snapshot->settings = *settings;
    policy_decide(snapshot, &plan);
    *ret_decision = (struct decision){.node_id = snapshot->nodes[0].id, .at = snapshot->now_ms};
    if (plan.count > 0)
        *ret_decision = plan.decisions[0];
    policy_plan_free(&plan);
}

static bool is_same(const struct decision *a, const struct decision *b)
{
    return a->action == b->action && a->urgency == b->urgency && a->rule == b->rule &&
           (a->action != ACTION_HOLD || a->refused == b->refused);
}

/* What becomes of the jobs before a repair: of both policies, as what was recorded may be from before it was. */
static bool treats_jobs_alike(const struct decision *a, const struct decision *b)
{
    return !action_is_repair(a->action) || (a->job_signal == b->job_signal && a->job_wait_ms == b->job_wait_ms);
}

enum replay_result policy_replay(const struct policy_replay *replay, struct decision *ret_other)
{
    autofree struct verdict *verdicts = own_calloc(replay->verdict_count + 1, sizeof(*verdicts));
    autofree const struct verdict **refs = own_calloc(replay->verdict_count + 1, sizeof(*refs));
    autofree struct policy_repair *repairs = own_calloc(replay->repair_count + 1, sizeof(*repairs));
    struct policy_node node;
    struct policy_snapshot snapshot = {
        .now_ms = replay->decision->at, .faults = replay->faults, .nodes = &node, .node_count = 1};
    struct decision then;
    take_group(replay, &snapshot.group);
    take_node(replay, &node);
    node.verdicts = refs;
    node.verdict_count = take_verdicts(replay, verdicts, refs);
    node.repairs = repairs;
    node.repair_count = take_repairs(replay, repairs);
    decide(&snapshot, replay->then, &then);
    decide(&snapshot, replay->other, ret_other);
    if (!is_same(&then, replay->decision))
        return REPLAY_RESULT_UNKNOWN;
    return is_same(&then, ret_other) && treats_jobs_alike(&then, ret_other) ? REPLAY_RESULT_SAME
                                                                            : REPLAY_RESULT_DIFFERS;
}
