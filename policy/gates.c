/*
 * The gates of one node, in order: whose evidence, whose node, one operation at a time, the cluster's mode, the ledger.
 * The first that fails ends the walk; the group's limits (limits.c) come after all of these.
 */
#include "policy/think.h"

#include "base/text.h"

#include <stdio.h>

static const char *plain(const char *text)
{
    return text == NULL ? "" : text;
}

void policy_tell_fresh(const struct policy_node *node, const struct folded *folded, struct decision *decision)
{
    char time[POLICY_TIME_MAX], detail[REASON_MAX_BYTES], older[64] = "";
    if (folded->stale_count > 0)
        snprintf(older, sizeof(older), "; %zu older left aside", folded->stale_count);
    policy_say(detail, sizeof(detail), "of instance %s and its boot of %s%s", plain(node->instance_id),
               policy_time(node->boot_at, time), older);
    policy_gate(decision, GATE_FRESH, GATE_RESULT_PASSED, detail);
}

static bool owner_lets(const struct policy_node *node, const struct policy_outcome *outcome, struct decision *decision)
{
    char why[REASON_MAX_BYTES];
    const char *rule = "opted-out";
    if (node->opted_out) {
        policy_say(why, sizeof(why), "a person took this node out of automatic repair");
    } else if (node->foreign_drain) {
        rule = "foreign-drain";
        policy_say(why, sizeof(why), "somebody else holds it in the scheduler (%.120s)",
                   plain(node->scheduler_reason)[0] != '\0' ? node->scheduler_reason : "no reason given");
    } else {
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
    if (!node->has_active_operation) {
        policy_gate(decision, GATE_ONE_OPERATION, GATE_RESULT_PASSED, "no other operation");
        return true;
    }
    policy_gate(decision, GATE_ONE_OPERATION, GATE_RESULT_FAILED, "an operation is still at its return gate");
    policy_rule(decision, ACTION_WATCH, "one-operation");
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
    policy_rule(decision, ACTION_MARK, "recovery-none");
    policy_add(decision, "Marked only, as the cluster's NodeRecovery is None.");
    policy_refuse(decision, outcome->action, "NodeRecovery is None: the cluster's owner repairs by hand");
    return false;
}

static void tell_attempts(const struct policy_snapshot *snapshot, const struct ledger *ledger,
                          const struct policy_outcome *outcome, struct decision *decision)
{
    char span[POLICY_SPAN_MAX], others[96] = "", detail[REASON_MAX_BYTES];
    if (ledger->by_people + ledger->elsewhere > 0)
        snprintf(others, sizeof(others), " (not counted: %d by people, %d of earlier instances)", ledger->by_people,
                 ledger->elsewhere);
    policy_say(detail, sizeof(detail), "%d of %d reboots for it, %d of %d replacements of the slot in %s%s",
               ledger->reboots, snapshot->settings.reboots_max, ledger->replaces, snapshot->settings.replaces_max,
               policy_span(snapshot->settings.repeat_window_ms, span), others);
    policy_gate(decision, GATE_ATTEMPTS, outcome->attempts_used ? GATE_RESULT_FAILED : GATE_RESULT_PASSED, detail);
}

/* Walks the gates up to the limits, which see all nodes at once. */
void policy_pass_gates(const struct policy_snapshot *snapshot, const struct policy_outcome *outcome,
                       const struct ledger *ledger, struct thought *thought)
{
    struct decision *decision = &thought->decision;
    if (!owner_lets(thought->node, outcome, decision) || !idle_lets(thought->node, outcome, decision) ||
        !recovery_lets(snapshot, outcome, decision))
        return;
    tell_attempts(snapshot, ledger, outcome, decision);
    policy_rule(decision, outcome->action, outcome->rule);
    policy_refuse(decision, outcome->refused, outcome->refused_why);
    thought->limited = outcome->action == ACTION_REBOOT || outcome->action == ACTION_REPLACE;
}
