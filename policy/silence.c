/*
 * Nobody hears the node: what that is worth.
 *
 * Silence is a finding of its own, never health. It becomes a fault only when two witnesses agree for long: the agent
 * and the scheduler; one that switched the node off itself bears no witness. A node that was not heard since the control
 * plane started is not judged at all, so that a restart of hpd can never look like the loss of a fleet.
 */
#include "policy/evaluate.h"

enum silence policy_silence(const struct policy_snapshot *snapshot, const struct policy_node *node)
{
    const struct policy_settings *settings = &snapshot->settings;
    if (node->last_heartbeat_at <= 0)
        return SILENCE_NONE;
    int64_t silent_ms = snapshot->now_ms - node->last_heartbeat_at;
    if (silent_ms < settings->silent_after_ms)
        return SILENCE_NONE;
    bool unheard = node->scheduler_known && !node->scheduler_responding && !node->switched_off;
    return unheard && silent_ms >= settings->unreachable_after_ms ? SILENCE_UNREACHABLE : SILENCE_NO_VERDICT;
}
