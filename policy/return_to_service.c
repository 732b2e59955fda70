/*
 * Nodes that the scheduler took out by itself and hears again. Slurm waits then for a person's "resume"; the return gate is the
 * better witness, unless the node does it again and again. These returns to service are what the row of POLICY_CODE_ABSENCE counts: an agent sees
 * that the machine has restarted, but not whether somebody had asked for it, so none reports that code.
 */
#include "policy/policy.h"

int64_t policy_absence_window_ms(void)
{
    return fault_find(POLICY_CODE_ABSENCE)->rate_window_ms;
}

int64_t policy_absence_limit(void)
{
    return fault_find(POLICY_CODE_ABSENCE)->rate_count;
}

enum policy_return_to_service policy_return_to_service(const struct policy_absence *absence)
{
    if (absence->claim != POLICY_CLAIM_NONE || absence->recovery != NODE_RECOVERY_AUTOMATIC ||
        absence->mode != REPAIR_MODE_ACT)
        return POLICY_RETURN_TO_SERVICE_MANUAL;
    if (absence->earlier + 1 >= policy_absence_limit())
        return POLICY_RETURN_TO_SERVICE_SERIES;
    return absence->heard ? POLICY_RETURN_TO_SERVICE_NOW : POLICY_RETURN_TO_SERVICE_UNHEARD;
}
