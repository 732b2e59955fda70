/*
 * The gates of one node, in order: whose evidence, whose node, one operation at a time, NodeRecovery, the ledger, the mode of the
 * fault's class.
 * The first that fails ends the walk; the group's limits (limits.c) come after all of these.
 */
#include "policy/evaluate.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

#define REASON_TOLD_MAX 101 /* of a person's no: the sentence around it has to fit beside it */

void policy_tell_fresh(const struct policy_node *node, const struct folded *folded, struct decision *decision)
{
    char time[POLICY_TIME_MAX], detail[REASON_MAX_BYTES], older[64] = "";
    if (folded->stale_count + folded->cleared_by_reset_count > 0)
        snprintf(older, sizeof(older), "; %zu older left aside", folded->stale_count + folded->cleared_by_reset_count);
    policy_say(detail, sizeof(detail), "of instance %s and its boot of %s%s", text_or_empty(node->instance_id),
               policy_time(node->boot_at, time), older);
    policy_gate(decision, GATE_FRESH, GATE_RESULT_PASSED, detail);
}

static enum policy_claim claim_on(const struct policy_node *node)
{
    const struct policy_claims claims = {.opted_out = node->opted_out,
                                         .paused = text_or_empty(node->paused_why)[0] != '\0',
                                         .external_drain = node->external_drain,
                                         .at_work = node->has_active_operation,
                                         .maintenance = node->maintenance};
    return policy_claim(POLICY_ACT_REPAIR, &claims);
}

static bool owner_lets(const struct policy_node *node, const struct policy_outcome *outcome, struct decision *decision)
{
    char why[REASON_MAX_BYTES];
    enum decision_rule rule = RULE_OPTED_OUT;
    const char *reason = text_or_empty(node->scheduler_reason)[0] != '\0' ? node->scheduler_reason : "no reason given";
    switch (claim_on(node)) {
    case POLICY_CLAIM_OPTED_OUT:
        policy_say(why, sizeof(why), "a person took this node out of automatic repair");
        break;
    case POLICY_CLAIM_PAUSED:
        rule = RULE_PAUSED;
        policy_say(why, sizeof(why), "%s", node->paused_why);
        break;
    case POLICY_CLAIM_EXTERNAL_DRAIN:
        rule = RULE_EXTERNAL_DRAIN;
        policy_say(why, sizeof(why), "somebody else holds it in the scheduler (%.*s)", TEXT_FIT(reason, 120));
        break;
    case POLICY_CLAIM_MAINTENANCE:
        rule = RULE_MAINTENANCE;
        policy_say(why, sizeof(why), "the scheduler has it in a maintenance, in which people may work on it");
        break;
    case POLICY_CLAIM_AT_WORK: /* the next gate's */
    case POLICY_CLAIM_NONE:
        policy_gate(decision, GATE_OWNER, GATE_RESULT_PASSED, "nobody else holds it");
        return true;
    }
    policy_gate(decision, GATE_OWNER, GATE_RESULT_FAILED, why);
    policy_rule(decision, ACTION_WATCH, rule);
    policy_add(decision, "Left alone: %s.", why);
    policy_refuse(decision, outcome->action, why);
    return false;
}

static bool idle_lets(const struct policy_node *node, const struct policy_outcome *outcome, struct decision *decision)
{
    if (claim_on(node) != POLICY_CLAIM_AT_WORK) {
        policy_gate(decision, GATE_ONE_OPERATION, GATE_RESULT_PASSED, "no other operation");
        return true;
    }
    policy_gate(decision, GATE_ONE_OPERATION, GATE_RESULT_FAILED, "an operation is still at its return gate");
    policy_rule(decision, ACTION_WATCH, RULE_ONE_OPERATION);
    policy_add(decision, "Left to the operation that is at work on the node.");
    policy_refuse(decision, outcome->action, "the operation at work sees the same evidence and ends first");
    return false;
}

static bool recovery_lets(const struct policy_snapshot *snapshot, const struct policy_outcome *outcome,
                          struct decision *decision)
{
    if (snapshot->group.recovery == NODE_RECOVERY_AUTOMATIC) {
        policy_gate(decision, GATE_RECOVERY, GATE_RESULT_PASSED, "NodeRecovery is Automatic");
        return true;
    }
    policy_gate(decision, GATE_RECOVERY, GATE_RESULT_FAILED, "NodeRecovery is None");
    policy_rule(decision, ACTION_MARK, RULE_RECOVERY_NONE);
    policy_add(decision, "Not repaired: the cluster's NodeRecovery is None.");
    policy_refuse(decision, outcome->action, "NodeRecovery is None: the cluster's owner repairs by hand");
    return false;
}

static void tell_attempts(const struct policy_snapshot *snapshot, const struct ledger *ledger,
                          const struct policy_outcome *outcome, struct decision *decision)
{
    char span[POLICY_SPAN_MAX], others[96] = "", resets[48] = "", detail[REASON_MAX_BYTES];
    if (outcome->action == ACTION_RESET || ledger->resets > 0)
        snprintf(resets, sizeof(resets), "%d of %d resets and ", ledger->resets, snapshot->settings.resets_max);
    if (ledger->by_people + ledger->elsewhere > 0)
        snprintf(others, sizeof(others), " (not counted: %d by people, %d of earlier instances)", ledger->by_people,
                 ledger->elsewhere);
    policy_say(detail, sizeof(detail), "%s%d of %d reboots for it, %d of %d replacements of the slot in %s%s", resets,
               ledger->reboots, snapshot->settings.reboots_max, ledger->replaces, snapshot->settings.replaces_max,
               policy_span(snapshot->settings.repeat_window_ms, span), others);
    policy_gate(decision, GATE_ATTEMPTS, outcome->attempts_used ? GATE_RESULT_FAILED : GATE_RESULT_PASSED, detail);
}

/* --- the mode ------------------------------------------------------------------------------------------------- */

static const char *doing(enum action action)
{
    return action == ACTION_RESET     ? "reset"
           : action == ACTION_REBOOT  ? "rebooted"
           : action == ACTION_REPLACE ? "replaced"
           : action == ACTION_SUPPORT ? "held for a person"
                                      : "held";
}

static const char *noun(enum action action)
{
    return action == ACTION_REPLACE ? "replacement" : action == ACTION_RESET ? "reset" : "reboot";
}

/* Nothing is done to the node: what would have been is stored. */
static void only_say(const struct policy_outcome *outcome, enum repair_mode mode, struct decision *decision)
{
    char why[REASON_MAX_BYTES];
    const char *fault = fault_class_text(decision->fault);
    policy_say(why, sizeof(why), "the mode of %s faults is %s", fault, repair_mode_text(mode));
    policy_gate(decision, GATE_MODE, GATE_RESULT_FAILED, why);
    policy_rule(decision, ACTION_WATCH, mode == REPAIR_MODE_OBSERVE ? RULE_MODE_OBSERVE : RULE_MODE_RECOMMEND);
    policy_add(decision, "%s: the node would be %s, but %s.",
               mode == REPAIR_MODE_OBSERVE ? "Only observed" : "Recommended", doing(outcome->action), why);
    policy_refuse(decision, outcome->action, why);
}

/* Something was seen since a person answered, or the time for an answer ran out. */
static bool is_new_since(const struct policy_snapshot *snapshot, const struct policy_node *node, int64_t at)
{
    if (policy_silence(snapshot, node) == SILENCE_UNREACHABLE)
        return node->last_heartbeat_at > at;
    for (size_t i = 0; i < node->verdict_count; i++)
        if (node->verdicts[i]->received_at > at && policy_is_node_fault(&snapshot->faults, node->verdicts[i]))
            return true;
    return false;
}

static void wait_for_word(const struct policy_outcome *outcome, enum decision_rule rule, const char *why,
                          int64_t retry_at, struct decision *decision)
{
    policy_gate(decision, GATE_MODE, GATE_RESULT_FAILED, why);
    policy_rule(decision, ACTION_HOLD, rule);
    policy_add(decision, "It waits: %s.", why);
    policy_refuse(decision, outcome->action, why);
    decision->retry_at = retry_at;
}

/* A repair needs an approval for just this; a hold needs none, as it is a person's turn then anyway. */
bool policy_approval_is_for(enum action asked_action, const char *asked_code, const char *asked_device,
                            enum action action, const char *code, const char *device)
{
    return asked_action == action && text_equal(text_or_empty(asked_device), text_or_empty(device)) &&
           (text_or_empty(device)[0] != '\0' || text_equal(text_or_empty(asked_code), text_or_empty(code)));
}

static bool approval_lets(const struct policy_snapshot *snapshot, const struct policy_node *node,
                          const struct policy_outcome *outcome, struct decision *decision)
{
    const struct policy_approval *approval = &node->approval;
    bool same = policy_approval_is_for(approval->action, approval->code, approval->device, outcome->action,
                                       decision->code, decision->device);
    bool in_time = snapshot->now_ms < approval->expires_at;
    char time[POLICY_TIME_MAX], why[REASON_MAX_BYTES];
    if (same && approval->state == APPROVAL_STATE_APPROVED && in_time) {
        policy_say(why, sizeof(why), "%s approved it at %s", text_or_empty(approval->by),
                   policy_time(approval->at, time));
        policy_gate(decision, GATE_MODE, GATE_RESULT_PASSED, why);
        return true;
    }
    bool rejected = same && approval->state == APPROVAL_STATE_REJECTED;
    bool waiting = same && approval->state == APPROVAL_STATE_ASKED;
    bool expired = same && (approval->state == APPROVAL_STATE_EXPIRED ||
                            ((waiting || approval->state == APPROVAL_STATE_APPROVED) && !in_time));
    int64_t answered_at = in_time ? approval->at : approval->expires_at;
    bool stands = (rejected || expired) && !is_new_since(snapshot, node, rejected ? approval->at : answered_at);
    if (stands && rejected) {
        char words[REASON_TOLD_MAX];
        text_copy_cut(words, sizeof(words), text_or_empty(approval->reason));
        bool told = words[0] != '\0';
        policy_say(why, sizeof(why), "%s rejected the %s at %s%s%s%s, and nothing new was seen since",
                   text_or_empty(approval->by), noun(outcome->action), policy_time(approval->at, time),
                   told ? " (" : "", words, told ? ")" : "");
        wait_for_word(outcome, RULE_APPROVAL_REJECTED, why, 0, decision);
    } else if (stands) {
        if (text_or_empty(approval->by)[0] != '\0')
            policy_say(
                why, sizeof(why),
                "the approval of %s to the %s ran out at %s before it could begin, and nothing new was seen since",
                approval->by, noun(outcome->action), policy_time(answered_at, time));
        else
            policy_say(why, sizeof(why), "nobody approved the %s until %s, and nothing new was seen since",
                       noun(outcome->action), policy_time(answered_at, time));
        wait_for_word(outcome, RULE_APPROVAL_EXPIRED, why, 0, decision);
    } else {
        policy_say(why, sizeof(why), "the %s needs a person's approval (the mode of %s faults is approve)",
                   noun(outcome->action), fault_class_text(decision->fault));
        wait_for_word(outcome, RULE_APPROVAL_NEEDED, why, waiting && in_time ? approval->expires_at : 0, decision);
    }
    return false;
}

static bool mode_lets(const struct policy_snapshot *snapshot, const struct policy_node *node,
                      const struct policy_outcome *outcome, struct decision *decision)
{
    enum repair_mode mode = snapshot->settings.modes[decision->fault];
    bool repairs = action_is_repair(outcome->action);
    if (mode == REPAIR_MODE_OBSERVE || mode == REPAIR_MODE_RECOMMEND) {
        only_say(outcome, mode, decision);
        return false;
    }
    if (mode == REPAIR_MODE_APPROVE && repairs)
        return approval_lets(snapshot, node, outcome, decision);
    policy_gate(decision, GATE_MODE, GATE_RESULT_PASSED, repair_mode_text(mode));
    return true;
}

/* What a switch or a rack does to its nodes is no node's fault: a repair does not end it, and a new machine would fare no better. */
static void ask_incident(const struct policy_snapshot *snapshot, struct candidate *candidate,
                         struct policy_outcome *outcome)
{
    const struct policy_incident *incident = candidate->node->incident;
    struct decision *decision = &candidate->decision;
    char detail[REASON_MAX_BYTES], time[POLICY_TIME_MAX];
    if (!candidate->shared)
        return;
    if (incident == NULL) {
        policy_say(detail, sizeof(detail), "fewer than %d nodes of what it shares have it",
                   snapshot->settings.incident_nodes);
        policy_gate(decision, GATE_INCIDENT, GATE_RESULT_PASSED, detail);
        return;
    }
    const char *title = topology_level_title(incident->level);
    if (candidate->node->person_hold != NULL &&
        outcome->action == ACTION_SUPPORT) { /* the person's turn goes on when the place is back */
        policy_gate(decision, GATE_INCIDENT, GATE_RESULT_NOT_ASKED, "the node is held for a person in any case");
        policy_add(decision, "It is one of %" PRId64 " nodes of the %s %s with incident %" PRId64 ".", incident->nodes,
                   title, incident->domain, incident->id);
        return;
    }
    policy_say(detail, sizeof(detail), "%s incident %" PRId64 " of the %s %s, %" PRId64 " nodes",
               incident_cause_text(incident->cause), incident->id, title, incident->domain, incident->nodes);
    policy_gate(decision, GATE_INCIDENT, GATE_RESULT_FAILED, detail);
    policy_add(decision,
               "It is one of %" PRId64
               " nodes of the %s %s that have failed since %s: one incident, for which the node waits.",
               incident->nodes, title, incident->domain, policy_time(incident->started_at, time));
    outcome->refused = outcome->action;
    outcome->action = ACTION_HOLD;
    outcome->rule = RULE_INCIDENT_HOLD;
    text_copy_cut(outcome->refused_why, sizeof(outcome->refused_why),
                  "what takes many nodes of one place at once is one incident, and repairs one by one do not end it");
}

/* Walks the gates up to the limits, which see all nodes at once. */
void policy_pass_gates(const struct policy_snapshot *snapshot, const struct policy_outcome *outcome,
                       const struct ledger *ledger, struct candidate *candidate)
{
    struct decision *decision = &candidate->decision;
    if (!owner_lets(candidate->node, outcome, decision) || !idle_lets(candidate->node, outcome, decision) ||
        !recovery_lets(snapshot, outcome, decision))
        return;
    tell_attempts(snapshot, ledger, outcome, decision);
    struct policy_outcome may = *outcome;
    ask_incident(snapshot, candidate, &may);
    if (!mode_lets(snapshot, candidate->node, &may, decision))
        return;
    policy_rule(decision, may.action, may.rule);
    policy_refuse(decision, may.refused, may.refused_why);
    if (may.action == ACTION_HOLD)
        decision->retry_at = snapshot->now_ms + POLICY_HOLD_RETRY_MS;
    candidate->may_reboot = may.action == ACTION_REPLACE && decision->evidence_count > 0 && ledger->no_return == NULL &&
                            ledger->reboots < snapshot->settings.reboots_max;
    candidate->limited = action_is_repair(may.action);
}
