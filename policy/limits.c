/*
 * The group's limits, asked last and for all nodes at once: breaker, then how many are healthy and how many in repair.
 *
 * The breaker stays open while the nodes that opened it are gone. It opens when more nodes fail within its window than any ordinary day explains (a switch, a rack, a wrong
 * detector), and closes itself when that has been over for a while. While it is open nothing is lost and nothing is
 * stored up for replay: what is still wrong when it closes is seen again, and repaired at the pace of the budget.
 */
#include "policy/evaluate.h"

#include "base/own.h"
#include "base/text.h"

#include <inttypes.h>

struct breaker {
    bool open, opens, closes, over;
    int64_t failing, limit;
};

int64_t policy_breaker_since(const struct policy_settings *settings, int64_t now, int64_t closed_at)
{
    return policy_at_least(closed_at, now - settings->breaker_window_ms);
}

static int64_t counted_since(const struct policy_snapshot *snapshot)
{
    return policy_breaker_since(&snapshot->settings, snapshot->now_ms, snapshot->group.breaker_closed_at);
}

int64_t policy_breaker_lost_since(const struct policy_settings *settings, int64_t now, int64_t opened_at,
                                  int64_t closed_at)
{
    int64_t since = policy_breaker_since(settings, now, closed_at);
    int64_t opened = policy_breaker_since(settings, opened_at, closed_at);
    return opened_at > 0 && opened < since ? opened : since;
}

static bool is_counted_already(const struct policy_snapshot *snapshot, const struct policy_node *node)
{
    int64_t since = counted_since(snapshot);
    for (size_t i = 0; i < node->verdict_count; i++)
        if (node->verdicts[i]->state != VERDICT_STATE_STALE && node->verdicts[i]->received_at >= since &&
            policy_is_failing(&snapshot->faults, node->verdicts[i]))
            return true;
    return false;
}

bool policy_counts_as_lost(const struct policy_settings *settings, int64_t since, int64_t now, int64_t heard_at,
                           int64_t no_return_at)
{
    int64_t lost_at = heard_at + settings->unreachable_after_ms;
    return now >= lost_at && policy_at_least(no_return_at, lost_at) > since;
}

static int64_t no_return_at(const struct policy_node *node)
{
    int64_t at = 0;
    for (size_t i = 0; i < node->repair_count; i++)
        if (node->repairs[i].no_return && node->repairs[i].finished_at > at)
            at = node->repairs[i].finished_at;
    return at;
}

/* Nodes that vanish leave no verdicts, and have to count too; those of one incident count with it. */
static bool is_lost(const struct policy_snapshot *snapshot, const struct policy_node *node)
{
    const struct policy_group *group = &snapshot->group;
    bool in_service = node->state == NODE_STATE_READY || node->state == NODE_STATE_HELD;
    int64_t since = policy_breaker_lost_since(&snapshot->settings, snapshot->now_ms, group->breaker_opened_at,
                                              group->breaker_closed_at);
    return in_service && !node->external_drain && policy_silence(snapshot, node) == SILENCE_UNREACHABLE &&
           policy_counts_as_lost(&snapshot->settings, since, snapshot->now_ms, node->last_heartbeat_at,
                                 no_return_at(node)) &&
           node->incident == NULL && !is_counted_already(snapshot, node);
}

static int64_t count_lost(const struct policy_snapshot *snapshot)
{
    int64_t lost = 0;
    for (size_t i = 0; i < snapshot->node_count; i++)
        lost += is_lost(snapshot, &snapshot->nodes[i]);
    return lost;
}

int64_t policy_at_least(int64_t floor, int64_t value)
{
    return value < floor ? floor : value;
}

int64_t policy_breaker_limit(const struct policy_settings *settings, int64_t desired)
{
    return policy_at_least(settings->breaker_min, desired * settings->breaker_percent / 100);
}

static struct breaker read_breaker(const struct policy_snapshot *snapshot)
{
    const struct policy_settings *settings = &snapshot->settings;
    const struct policy_group *group = &snapshot->group;
    struct breaker breaker = {.failing = group->failed_recently + group->incidents + count_lost(snapshot),
                              .limit = policy_breaker_limit(settings, group->desired)};
    bool over = breaker.failing > breaker.limit;
    bool was_open = group->breaker_opened_at > 0;
    bool settled = group->breaker_settled_since > 0 &&
                   snapshot->now_ms - group->breaker_settled_since >= settings->breaker_close_after_ms;
    breaker.over = over;
    breaker.opens = over && !was_open;
    breaker.closes = was_open && !over && settled;
    breaker.open = (was_open || breaker.opens) && !breaker.closes;
    return breaker;
}

static void tell_breaker(const struct policy_snapshot *snapshot, const struct breaker *breaker,
                         struct policy_plan *plan)
{
    char window[POLICY_SPAN_MAX], settled[POLICY_SPAN_MAX];
    policy_span(snapshot->settings.breaker_window_ms, window);
    policy_span(snapshot->settings.breaker_close_after_ms, settled);
    plan->breaker_opens = breaker->opens;
    plan->breaker_closes = breaker->closes;
    plan->breaker_over = breaker->over;
    if (breaker->opens)
        policy_say(plan->breaker_why, sizeof(plan->breaker_why),
                   "%" PRId64 " of %" PRId64 " nodes of %s failed within %s, more than %" PRId64
                   ": repairs wait until the count has been back under the limit for %s",
                   breaker->failing, snapshot->group.desired, snapshot->group.name, window, breaker->limit, settled);
    else if (breaker->closes)
        policy_say(plan->breaker_why, sizeof(plan->breaker_why),
                   "no more than %" PRId64
                   " nodes of %s failed within %s for %s: repairs go on, as far as they are still needed",
                   breaker->limit, snapshot->group.name, window, settled);
}

void policy_hold(struct decision *decision, enum decision_rule rule, const char *why, int64_t retry_at)
{
    policy_refuse(decision, decision->action, why);
    policy_add(decision, "It waits: %s.", why);
    policy_rule(decision, ACTION_HOLD, rule);
    decision->retry_at = retry_at;
}

static bool breaker_lets(const struct policy_snapshot *snapshot, const struct breaker *breaker,
                         struct decision *decision)
{
    char detail[REASON_MAX_BYTES], why[REASON_MAX_BYTES], window[POLICY_SPAN_MAX], settled[POLICY_SPAN_MAX];
    policy_span(snapshot->settings.breaker_window_ms, window);
    policy_span(snapshot->settings.breaker_close_after_ms, settled);
    policy_say(detail, sizeof(detail), "%s: %" PRId64 " of %" PRId64 " nodes failed within %s, the limit is %" PRId64,
               breaker->open ? "open" : "closed", breaker->failing, snapshot->group.desired, window, breaker->limit);
    decision->group.desired = snapshot->group.desired;
    decision->group.failing = breaker->failing;
    policy_gate(decision, GATE_BREAKER, breaker->open ? GATE_RESULT_FAILED : GATE_RESULT_PASSED, detail);
    if (!breaker->open)
        return true;
    int64_t settled_since = snapshot->group.breaker_settled_since;
    int64_t closes_at = settled_since + snapshot->settings.breaker_close_after_ms;
    bool settling = settled_since > 0 && breaker->failing <= breaker->limit && closes_at > snapshot->now_ms;
    policy_say(
        why, sizeof(why),
        "the group's breaker is open, as too many nodes fail at once for a fault of each; it closes when no more than "
        "%" PRId64 " have failed within %s, for %s",
        breaker->limit, window, settled);
    policy_hold(decision, RULE_BREAKER_HOLD, why, settling ? closes_at : snapshot->now_ms + POLICY_HOLD_RETRY_MS);
    return false;
}

/* While nothing can take its place. */
static void do_without(const struct policy_snapshot *snapshot, struct room *room, const struct lack *lack,
                       struct candidate *candidate)
{
    struct decision *decision = &candidate->decision;
    if (snapshot->settings.without_replacement != POLICY_WITHOUT_REBOOT || !candidate->may_reboot) {
        policy_hold(decision, lack->rule, lack->why, lack->retry_at);
    } else if (policy_room_lets(snapshot, room, decision)) {
        room->replacing--;
        policy_refuse(decision, ACTION_REPLACE, lack->why);
        policy_add(decision, "It is rebooted instead: %s.", lack->why);
        policy_rule(decision, ACTION_REBOOT, RULE_REBOOT_FOR_NOW);
    }
}

static void ask_limits(const struct policy_snapshot *snapshot, const struct breaker *breaker, struct room *room,
                       struct candidate *candidate)
{
    struct lack lack;
    if (!breaker_lets(snapshot, breaker, &candidate->decision) ||
        !policy_silence_lets(snapshot, &room->missed, candidate) ||
        !policy_pace_lets(snapshot, room, &candidate->decision))
        return;
    policy_lack(snapshot, room, &candidate->decision, &lack);
    if (lack.rule != RULE_NONE)
        do_without(snapshot, room, &lack, candidate);
    else
        (void)policy_room_lets(snapshot, room, &candidate->decision);
}

/* Worst first: severity, then whether jobs hang on it now, then the oldest evidence, then name. */
static int by_need(const void *left, const void *right)
{
    const struct candidate *a = *(const struct candidate *const *)left, *b = *(const struct candidate *const *)right;
    bool a_critical = a->severity == SEVERITY_CRITICAL, b_critical = b->severity == SEVERITY_CRITICAL;
    if (a_critical != b_critical)
        return a_critical ? -1 : 1;
    if (a->decision.urgency != b->decision.urgency)
        return a->decision.urgency == URGENCY_NOW ? -1 : 1;
    if (a->since != b->since)
        return a->since < b->since ? -1 : 1;
    int order = strcmp(a->node->name, b->node->name);
    if (order != 0)
        return order;
    return a->node->id < b->node->id ? -1 : a->node->id > b->node->id;
}

void policy_limit(const struct policy_snapshot *snapshot, struct candidate *candidates, size_t count,
                  struct policy_plan *plan)
{
    struct breaker breaker = read_breaker(snapshot);
    const char *bad_image;
    policy_hold_image(snapshot, candidates, count, &bad_image);
    policy_share_lasting(snapshot, candidates, count);
    tell_breaker(snapshot, &breaker, plan);
    struct room room;
    policy_room(snapshot, candidates, count, &room);
    room.bad_image = bad_image;
    autofree const struct candidate **queue = own_calloc(count, sizeof(struct candidate *));
    size_t waiting = 0;
    for (size_t i = 0; i < count; i++)
        if (candidates[i].limited)
            queue[waiting++] = &candidates[i];
    qsort(queue, waiting, sizeof(*queue), by_need);
    for (size_t i = 0; i < waiting; i++)
        ask_limits(snapshot, &breaker, &room, &candidates[queue[i] - candidates]);
    policy_limit_lasting(snapshot, candidates, count);
}
