/*
 * Nobody hears the node: what that is worth.
 *
 * Silence is a finding of its own, never health. It becomes a fault only when two witnesses agree for long: the agent
 * and the scheduler; one that switched the node off itself, has it in a maintenance or
 * keeps it for somebody bears no witness. A node that was not heard since the control
 * plane started is not judged at all, so that a restart of hpd can never look like the loss of a fleet.
 */
#include "policy/evaluate.h"

#include "base/text.h"

#include <inttypes.h>

enum silence policy_silence(const struct policy_snapshot *snapshot, const struct policy_node *node)
{
    const struct policy_settings *settings = &snapshot->settings;
    if (node->last_heartbeat_at <= 0)
        return SILENCE_NONE;
    int64_t silent_ms = snapshot->now_ms - node->last_heartbeat_at;
    if (silent_ms < settings->silent_after_ms)
        return SILENCE_NONE;
    bool away = node->switched_off || node->maintenance || node->reserved;
    bool unheard = node->scheduler_known && !node->scheduler_responding && !away;
    return unheard && silent_ms >= settings->unreachable_after_ms ? SILENCE_UNREACHABLE : SILENCE_NO_VERDICT;
}

bool policy_is_late(const struct policy_settings *settings, int64_t heard_at, int64_t now)
{
    return heard_at > 0 && now - heard_at >= settings->silent_after_ms / 2;
}

/* In service, and nobody has said why it may be silent. */
static bool is_missed(const struct policy_snapshot *snapshot, const struct policy_node *node)
{
    bool in_service = node->state == NODE_STATE_READY || node->state == NODE_STATE_HELD;
    bool known = node->switched_off || node->maintenance || node->external_drain || node->has_active_operation;
    return in_service && !known && policy_is_late(&snapshot->settings, node->last_heartbeat_at, snapshot->now_ms);
}

static void count_missed(const struct policy_snapshot *snapshot, struct policy_missed *ret_missed)
{
    const struct policy_group *group = &snapshot->group;
    int64_t since = policy_breaker_since(&snapshot->settings, snapshot->now_ms, group->breaker_closed_at);
    struct policy_missed missed = {0};
    for (size_t i = 0; i < snapshot->node_count; i++) {
        const struct policy_node *node = &snapshot->nodes[i];
        bool counts = is_missed(snapshot, node);
        missed.all += counts;
        missed.lately += counts && node->last_heartbeat_at >= since;
    }
    ret_missed->all = missed.all > group->missed.all ? missed.all : group->missed.all;
    ret_missed->lately = missed.lately > group->missed.lately ? missed.lately : group->missed.lately;
}

/* Where most of a group is silent, or more than the breaker allows has fallen silent of late, what hears them is in doubt: silence alone
 * costs no machine then. The breaker itself would only see it when the last of them has been silent for long. */
bool policy_silence_lets(const struct policy_snapshot *snapshot, struct policy_missed *missed,
                         struct candidate *candidate)
{
    struct decision *decision = &candidate->decision;
    const struct policy_settings *settings = &snapshot->settings;
    int64_t desired = snapshot->group.desired, limit = policy_breaker_limit(settings, desired);
    char why[REASON_MAX_BYTES];
    if (!candidate->silent)
        return true;
    if (missed->all < 0)
        count_missed(snapshot, missed);
    bool most = missed->all > 1 && missed->all * 2 > desired;
    if (!most && missed->lately <= limit)
        return true;
    policy_say(why, sizeof(why),
               "%" PRId64 " of %" PRId64 " nodes of %s are not seen now, so the network or hpd may be the cause",
               most ? missed->all : missed->lately, desired, snapshot->group.name);
    policy_gate(decision, GATE_INCIDENT, GATE_RESULT_FAILED, why);
    policy_hold(decision, RULE_MANY_SILENT, why, snapshot->now_ms + POLICY_HOLD_RETRY_MS);
    return false;
}
