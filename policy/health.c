/*
 * A node's health, read from the same folded evidence as its decision, so that the two never contradict.
 *
 * Nodes in repair and nodes whose repair gave up count as unhealthy whatever the evidence says: a machine that is being
 * rebooted, or that did not come back from it, serves nobody. One that is only tested is not: until it is, nobody knows. "Unknown" is for nodes on which nobody has looked, never a
 * friendly word for healthy. A node in service that is down in its scheduler is unhealthy though its agent is well: no job can run there.
 */
#include "policy/evaluate.h"

static bool asks_for_repair(const struct finding *finding)
{
    return finding->action >= ACTION_CLASS_RESET;
}

bool policy_is_node_fault(const struct fault_scope *faults, const struct verdict *verdict)
{
    struct fault_judgement judgement;
    bool told = verdict->node_fault || verdict->severity == SEVERITY_CRITICAL;
    if (told && (faults == NULL || !fault_is_overridden(faults->overrides, verdict->code)))
        return true;
    fault_judge_in(faults, verdict->source, verdict->code, verdict->raw_line, &judgement);
    /* What the agent and its table say counts only where the site says nothing. */
    return judgement.action >= ACTION_CLASS_RESET || (told && !judgement.by_site);
}

bool policy_is_failing(const struct fault_scope *faults, const struct verdict *verdict)
{
    return !fault_has_trait(verdict->code, FAULT_TRAIT_PLANNED) && policy_is_node_fault(faults, verdict);
}

static enum health from_evidence(const struct policy_snapshot *snapshot, const struct folded *folded)
{
    enum health health = HEALTH_HEALTHY;
    for (size_t i = 0; i < folded->count; i++) {
        const struct incident *incident = &folded->incidents[i];
        if (asks_for_repair(&incident->lead) && incident->lead.severity == SEVERITY_CRITICAL)
            return HEALTH_UNHEALTHY;
        bool recent = incident->watched_at >= snapshot->now_ms - POLICY_WATCH_MEMORY_MS;
        if (asks_for_repair(&incident->lead) || (incident->lead.action == ACTION_CLASS_WATCH && recent))
            health = HEALTH_DEGRADED;
    }
    return health;
}

/* Not by somebody who is at work on it, or keeps it switched off. */
static bool is_down(const struct policy_node *node)
{
    bool known = node->switched_off || node->maintenance || node->reserved || node->external_drain;
    return node->state == NODE_STATE_READY && node->scheduler_known && node->scheduler_down && !known &&
           !node->has_active_operation;
}

enum health policy_health(const struct policy_snapshot *snapshot, const struct policy_node *node)
{
    switch (node->state) {
    case NODE_STATE_PENDING:
    case NODE_STATE_STARTING:
    case NODE_STATE_DELETING:
    case NODE_STATE_DELETED:
        return HEALTH_UNKNOWN;
    case NODE_STATE_REPAIRING:
        if (node->under_test)
            break;
        return HEALTH_UNHEALTHY;
    case NODE_STATE_FAILED:
        return HEALTH_UNHEALTHY;
    case NODE_STATE_VERIFYING:
    case NODE_STATE_READY:
    case NODE_STATE_HELD:
    case NODE_STATE_COUNT:
        break;
    }
    struct folded folded;
    policy_fold(snapshot, node, &folded);
    enum health health = from_evidence(snapshot, &folded);
    policy_folded_free(&folded);
    if (health == HEALTH_UNHEALTHY)
        return health;
    enum silence silence = policy_silence(snapshot, node);
    struct ledger ledger;
    policy_ledger(snapshot, node, "", &ledger);
    if (silence == SILENCE_UNREACHABLE || ledger.no_return != NULL)
        return HEALTH_UNHEALTHY;
    if (silence == SILENCE_NO_VERDICT || node->last_heartbeat_at <= 0)
        return HEALTH_UNKNOWN;
    if (is_down(node))
        return HEALTH_UNHEALTHY;
    /* Alive and quiet, but not yet through the return gate. */
    bool unproven = node->state == NODE_STATE_VERIFYING || node->state == NODE_STATE_REPAIRING;
    return unproven && health == HEALTH_HEALTHY ? HEALTH_UNKNOWN : health;
}
