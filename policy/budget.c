/*
 * How many nodes of a group may be in repair at once, of all and of each class of fault, and how many have to be healthy before
 * anything more is taken in hand.
 *
 * Shares are of the desired size, as people count: a group that lost half of its nodes has not got a smaller minimum by that.
 * Healthy is who is in service, is heard, and shows no fault of the node; who is in repair, or is held for one, is not.
 * People's own repairs take room and need none.
 */
#include "policy/evaluate.h"

#include "base/text.h"

#include <inttypes.h>

enum fault_class policy_repair_class(const char *code)
{
    if (code == NULL || code[0] == '\0')
        return FAULT_CLASS_NONE;
    enum fault_class fault = fault_class_of(code);
    return fault == FAULT_CLASS_APPLICATION ? FAULT_CLASS_GPU : fault; /* only its rate can have led to a repair */
}

/* In service, heard, and nothing is against it. */
static bool is_healthy(const struct policy_snapshot *snapshot, const struct policy_node *node)
{
    enum health health = node->state == NODE_STATE_READY ? policy_health(snapshot, node) : HEALTH_UNKNOWN;
    return health == HEALTH_HEALTHY || health == HEALTH_DEGRADED;
}

int64_t policy_least_healthy(const struct policy_settings *settings, int64_t desired)
{
    int64_t share = (desired * settings->min_healthy_percent + 99) / 100;
    return policy_at_least(settings->min_healthy_count, share);
}

static int64_t least_healthy(const struct policy_snapshot *snapshot)
{
    return policy_least_healthy(&snapshot->settings, snapshot->group.desired);
}

static void count_healthy(const struct policy_snapshot *snapshot, const struct policy_node *node, int64_t by,
                          struct room *room)
{
    if (!is_healthy(snapshot, node))
        return;
    room->healthy += by;
    room->idle += node->idle ? by : 0;
}

void policy_room(const struct policy_snapshot *snapshot, const struct candidate *candidates, size_t count,
                 struct room *ret_room)
{
    struct room room = {
        .in_repair = snapshot->group.in_repair, .healthy = snapshot->group.healthy_elsewhere, .missed.all = -1};
    memcpy(room.in_repair_of, snapshot->group.in_repair_of, sizeof(room.in_repair_of));
    room.idle = snapshot->group.idle_elsewhere;
    room.replacing = snapshot->group.replacing;
    room.last_repair_at = snapshot->group.last_repair_at;
    bool counts = least_healthy(snapshot) > 0 || snapshot->settings.spares_min > 0;
    for (size_t i = 0; counts && i < snapshot->node_count; i++)
        count_healthy(snapshot, &snapshot->nodes[i], 1, &room);
    for (size_t i = 0; i < count; i++) {
        room.in_repair += candidates[i].requested ? 1 : 0;
        room.last_repair_at = candidates[i].requested ? snapshot->now_ms : room.last_repair_at;
        room.replacing += candidates[i].requested && candidates[i].decision.action == ACTION_REPLACE ? 1 : 0;
        if (counts && candidates[i].decision.action > ACTION_WATCH)
            count_healthy(snapshot, candidates[i].node, -1, &room);
    }
    *ret_room = room;
}

static bool enough_are_healthy(const struct policy_snapshot *snapshot, const struct room *room,
                               struct decision *decision)
{
    char detail[REASON_MAX_BYTES], why[REASON_MAX_BYTES];
    int64_t least = least_healthy(snapshot);
    if (least == 0)
        return true;
    policy_say(detail, sizeof(detail), "%" PRId64 " of %" PRId64 " healthy, at least %" PRId64 " have to be",
               room->healthy, snapshot->group.desired, least);
    decision->group.healthy = room->healthy;
    policy_gate(decision, GATE_MIN_HEALTHY, room->healthy >= least ? GATE_RESULT_PASSED : GATE_RESULT_FAILED, detail);
    if (room->healthy >= least)
        return true;
    policy_say(why, sizeof(why),
               "only %" PRId64 " of the %" PRId64 " nodes that the group shall have are healthy, and at least %" PRId64
               " have to be before one more is repaired without a person",
               room->healthy, snapshot->group.desired, least);
    policy_hold(decision, RULE_MIN_HEALTHY_HOLD, why, snapshot->now_ms + POLICY_HOLD_RETRY_MS);
    return false;
}

/* At least one node, however small the share is. */
static int64_t most(const struct policy_snapshot *snapshot, int percent, int max)
{
    int64_t limit = policy_at_least(1, snapshot->group.desired * percent / 100);
    return max > 0 && limit > max ? max : limit;
}

static bool class_has_room(const struct policy_snapshot *snapshot, const struct room *room, struct decision *decision)
{
    const struct policy_settings *settings = &snapshot->settings;
    enum fault_class fault = policy_repair_class(decision->code);
    char detail[REASON_MAX_BYTES], why[REASON_MAX_BYTES];
    if (settings->class_budget_percent[fault] >= 100 && settings->class_budget_max[fault] == 0)
        return true;
    int64_t limit = most(snapshot, settings->class_budget_percent[fault], settings->class_budget_max[fault]);
    bool fits = room->in_repair_of[fault] < limit;
    policy_say(detail, sizeof(detail), "%" PRId64 " in repair for %s faults, at most %" PRId64,
               room->in_repair_of[fault], fault_class_text(fault), limit);
    decision->group.in_repair_alike = room->in_repair_of[fault];
    policy_gate(decision, GATE_CLASS_BUDGET, fits ? GATE_RESULT_PASSED : GATE_RESULT_FAILED, detail);
    if (fits)
        return true;
    policy_say(why, sizeof(why),
               "no more than %" PRId64 " of the group may be in repair for %s faults; it is taken in turn", limit,
               fault_class_text(fault));
    policy_hold(decision, RULE_CLASS_BUDGET_HOLD, why, snapshot->now_ms + POLICY_HOLD_RETRY_MS);
    return false;
}

static bool group_has_room(const struct policy_snapshot *snapshot, const struct room *room, struct decision *decision)
{
    char detail[REASON_MAX_BYTES];
    int64_t limit = most(snapshot, snapshot->settings.budget_percent, snapshot->settings.budget_max);
    bool fits = room->in_repair < limit;
    policy_say(detail, sizeof(detail), "%" PRId64 " in repair, at most %" PRId64 " of %" PRId64, room->in_repair, limit,
               snapshot->group.desired);
    decision->group.in_repair = room->in_repair;
    policy_gate(decision, GATE_BUDGET, fits ? GATE_RESULT_PASSED : GATE_RESULT_FAILED, detail);
    if (!fits)
        policy_hold(decision, RULE_BUDGET_HOLD, "the group has no room for another repair now; it is taken in turn",
                    snapshot->now_ms + POLICY_HOLD_RETRY_MS);
    return fits;
}

bool policy_room_lets(const struct policy_snapshot *snapshot, struct room *room, struct decision *decision)
{
    if (!enough_are_healthy(snapshot, room, decision) || !class_has_room(snapshot, room, decision) ||
        !group_has_room(snapshot, room, decision))
        return false;
    room->in_repair++;
    room->last_repair_at = snapshot->now_ms;
    room->replacing += decision->action == ACTION_REPLACE;
    room->in_repair_of[policy_repair_class(decision->code)]++;
    return true;
}
