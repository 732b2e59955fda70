/* Texts of the enums of model.h, and what its verdicts say. */
#include "model/model.h"

ENUM_DEFINE(orchestrator, ORCHESTRATOR_LIST)

static const char *const titles[] = {
#define X(SYMBOL, text, title) title,
    ORCHESTRATOR_LIST(X)
#undef X
};

const char *orchestrator_title(enum orchestrator orchestrator)
{
    return titles[orchestrator];
}

ENUM_DEFINE(scheduler_state, SCHEDULER_STATE_LIST)
ENUM_DEFINE(verdict_state, VERDICT_STATE_LIST)
ENUM_DEFINE(attention, ATTENTION_LIST)
ENUM_DEFINE(report_kind, REPORT_KIND_LIST)
ENUM_DEFINE(gate, GATE_LIST)
ENUM_DEFINE(gate_result, GATE_RESULT_LIST)
ENUM_DEFINE(event_level, EVENT_LEVEL_LIST)
ENUM_DEFINE(event_kind, EVENT_KIND_LIST)
ENUM_DEFINE(role, ROLE_LIST)
ENUM_DEFINE(token_kind, TOKEN_KIND_LIST)
ENUM_DEFINE(audit_outcome, AUDIT_OUTCOME_LIST)

bool node_is_out(const struct node *node)
{
    return node->state == NODE_STATE_HELD || node->state == NODE_STATE_FAILED;
}

void node_move(struct node *node, enum node_state to, int64_t now_ms)
{
    int state = (int)node->state;
    if (node->state == to)
        return;
    sm_move(&node_state_machine, &state, (int)to);
    node->state = to;
    node->state_since = now_ms;
    node->served = node->served || to == NODE_STATE_READY;
    node->cordoned = node->cordoned && node_is_out(node);
    node->attention = ATTENTION_NONE;
}

bool node_waits_for_person(const struct node *node, enum node_recovery recovery, bool paused)
{
    const enum attention attention = node->attention;
    if (node->opted_out)
        return false;
    if (node->state == NODE_STATE_FAILED)
        return true;
    if (node->state == NODE_STATE_HELD)
        return recovery == NODE_RECOVERY_NONE || attention == ATTENTION_DECIDED ||
               (node->person_hold != 0 && node->person_hold_row == node->instance_row);
    if (paused && (attention == ATTENTION_DECIDED || attention == ATTENTION_DOWNED))
        return false;
    return node->state == NODE_STATE_READY && attention != ATTENTION_NONE && attention != ATTENTION_HELD;
}

const char *node_domain(const struct node *node, enum topology_level level)
{
    return level == TOPOLOGY_LEVEL_ZONE ? node->zone : node->topology[level];
}

bool operation_is_outweighed(const struct operation *operation)
{
    return operation->cancel_asked && strcmp(operation->cancelled_by, ACTOR_POLICY) == 0;
}
