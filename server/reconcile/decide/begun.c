/*
 * A repair is a repeat where the policy had given the node back from another one within repeatWindow. Repairs that people asked for
 * count on neither side, and neither does what the node's hardware went through in another slot.
 */
#include "server/reconcile/decide/begun.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"

struct begun {
    enum operation_kind kind;
    bool repeated;
};

static void count(struct reconcile *r, struct rnode *node, const void *data)
{
    const struct begun *begun = data;
    (void)node;
    r->stats.durations.begun[begun->kind]++;
    r->stats.durations.repeated[begun->kind] += begun->repeated;
}

static bool was_repaired(const struct decide_item *item, int64_t now)
{
    int64_t since = now - item->node->group->settings.policy.repeat_window_ms;
    for (size_t i = 0; i < item->repair_count; i++) {
        const struct policy_repair *repair = &item->repairs[i];
        if (repair->succeeded && !repair->by_person && repair->node == NULL && repair->finished_at >= since)
            return true;
    }
    return false;
}

void reconcile_count_begun(struct turn *turn, const struct decide_item *item, enum operation_kind kind)
{
    const struct begun begun = {kind, was_repaired(item, turn->now)};
    turn_after(turn, item->node, count, &begun, sizeof(begun));
}
