/* Read from what was done to the slot alone: what an agent says it has run is not evidence that the server needs. */
#include "policy/policy.h"

static enum step_state state_of(const struct operation *op, enum step_kind kind)
{
    for (int i = 0; i < op->step_count; i++)
        if (op->steps[i].kind == kind)
            return op->steps[i].state;
    return STEP_STATE_WAITING; /* it has none, which is as if it had not come to it */
}

enum policy_scripts policy_scripts_after(const struct operation *op)
{
    enum step_state prepare = state_of(op, STEP_KIND_PREPARE);
    if (prepare == STEP_STATE_DONE)
        return POLICY_SCRIPTS_BEHIND;
    if (state_of(op, STEP_KIND_LAUNCH) != STEP_STATE_DONE)
        return POLICY_SCRIPTS_UNKNOWN; /* the same machine as before */
    return prepare == STEP_STATE_SKIPPED ? POLICY_SCRIPTS_BEHIND : POLICY_SCRIPTS_AHEAD;
}
