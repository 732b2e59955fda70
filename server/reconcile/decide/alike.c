/*
 * The weak findings of a group's nodes, as they were decided on last. Twelve disks that answer slowly are the store's behind them, whether their
 * nodes are looked at in one turn or in twelve. The list is memory: at the start each node is looked at, and it is whole again.
 */
#include "server/reconcile/decide/alike.h"

#include "base/own.h"
#include "base/text.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/decide/decide.h"

#include <stdlib.h>

struct policy_alike *reconcile_alike_elsewhere(struct reconcile *r, struct rgroup *group, size_t *ret_count)
{
    struct policy_alike *elsewhere = own_calloc(group->alike_count + 1, sizeof(*elsewhere));
    size_t kept = 0, count = 0;
    for (size_t i = 0; i < group->alike_count; i++) {
        const struct rnode *node = reconcile_node_find(r, group->alike[i].node_id);
        if (node == NULL || node->group != group)
            continue; /* it is gone */
        group->alike[kept++] = group->alike[i];
        if (!node->in_batch)
            elsewhere[count++] = group->alike[i];
    }
    group->alike_count = kept;
    *ret_count = count;
    return elsewhere;
}

static int by_node(const void *left, const void *right)
{
    int64_t a = ((const struct policy_alike *)left)->node_id, b = ((const struct policy_alike *)right)->node_id;
    return a < b ? -1 : a > b;
}

static bool is_decided(const struct decide_item *items, size_t count, int64_t node_id)
{
    for (size_t low = 0, high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        int64_t id = items[middle].node->id;
        if (id == node_id)
            return true;
        if (id < node_id)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* Items stand in the order of their nodes. */
void reconcile_alike_take(struct rgroup *group, const struct decide_item *items, size_t count,
                          const struct policy_plan *plan)
{
    size_t kept = 0;
    for (size_t i = 0; i < group->alike_count; i++)
        if (!is_decided(items, count, group->alike[i].node_id))
            group->alike[kept++] = group->alike[i];
    group->alike_count = kept;
    if (plan->alike_count == 0)
        return;
    group->alike = own_realloc(group->alike, kept + plan->alike_count, sizeof(*group->alike));
    for (size_t i = 0; i < plan->alike_count; i++)
        group->alike[kept++] = plan->alike[i];
    group->alike_count = kept;
    qsort(group->alike, kept, sizeof(*group->alike), by_node);
}

/* Known for many now: those that are held for it, or show it and do not know yet, belong to the case, and those of an image that is at
 * fault are held. */
static bool is_shared(const struct policy_plan *plan, const struct rnode *node, const struct policy_alike *alike)
{
    bool waits = node->state == NODE_STATE_HELD || (alike->watched && !alike->told);
    for (size_t i = 0; i < plan->count; i++) {
        enum decision_rule rule = plan->decisions[i].rule;
        bool concerns =
            (rule == RULE_SHARED_BY_MANY && waits) || (rule == RULE_IMAGE_HOLD && node->state == NODE_STATE_READY);
        if (concerns && text_equal(plan->decisions[i].code, alike->code))
            return true;
    }
    return false;
}

void reconcile_alike_tell(struct reconcile *r, const struct rgroup *group, const struct policy_plan *plan)
{
    for (size_t i = 0; i < group->alike_count; i++) {
        struct rnode *node = reconcile_node_find(r, group->alike[i].node_id);
        if (node != NULL && !node->in_batch && is_shared(plan, node, &group->alike[i]))
            reconcile_node_dirty(r, node);
    }
}
