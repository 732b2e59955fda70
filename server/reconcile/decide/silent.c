/*
 * Silence is judged by the whole group: who is gone counts for the breaker, and who has only missed some heartbeats says whether it may be
 * our own ears. The second is a walk over the group, so it is made only where somebody has been silent for long, and once a second.
 */
#include "server/reconcile/decide/silent.h"
#include "policy/policy.h"
#include "server/live/fleet.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/queue.h"
#include "server/reconcile/base/seen.h"
#include "server/service/service.h"

#define MISSED_LOOK_MS 1000

static bool is_in_service(const struct rnode *node)
{
    return node->op == NULL && (node->state == NODE_STATE_READY || node->state == NODE_STATE_HELD);
}

/* Nobody has said why it may be silent. */
static bool is_expected(const struct reconcile *r, const struct rnode *node)
{
    bool known = reconcile_node_has_scheduler(node) && reconcile_sees(r, node);
    return !known || (!node->switched_off && !node->maintenance && !reconcile_external_drain(node));
}

static const struct rnode *silent_at(const struct reconcile *r, const struct rgroup *group, size_t at)
{
    return reconcile_node_find(r, group->silent.ids[(group->silent.head + at) % group->silent.capacity]);
}

int64_t reconcile_count_lost(const struct reconcile *r, const struct rgroup *group, int64_t now)
{
    const struct policy_settings *policy = &group->settings.policy;
    int64_t lost = 0;
    int64_t since = policy_breaker_lost_since(policy, now, group->breaker_opened_at, group->row.breaker_closed_at);
    for (size_t i = 0; i < group->silent.count; i++) {
        const struct rnode *node = silent_at(r, group, i);
        bool counts = node != NULL && !node->in_batch && node->lost && node->failing_at == 0 &&
                      node->incident == NULL && is_in_service(node);
        lost += counts && policy_counts_as_lost(policy, since, now, node->silent_since, node->no_return_at) &&
                reconcile_node_has_scheduler(node) && reconcile_sees(r, node) && !node->responding &&
                is_expected(r, node);
    }
    return lost;
}

static bool any_for_long(const struct reconcile *r, const struct rgroup *group, int64_t now)
{
    for (size_t i = 0; i < group->silent.count; i++) {
        const struct rnode *node = silent_at(r, group, i);
        if (node != NULL && node->silent_since > 0 &&
            now - node->silent_since >= group->settings.policy.unreachable_after_ms)
            return true;
    }
    return false;
}

void reconcile_count_missed(const struct reconcile *r, struct rgroup *group, int64_t now,
                            struct policy_missed *ret_missed)
{
    const struct policy_settings *policy = &group->settings.policy;
    *ret_missed = (struct policy_missed){0};
    if (!any_for_long(r, group, now))
        return;
    if (group->missed_at == 0 || now < group->missed_at || now - group->missed_at >= MISSED_LOOK_MS) {
        int64_t since = reconcile_group_counted_since(group, now);
        group->missed_at = now;
        group->missed = (struct policy_missed){0};
        for (const struct rnode *node = group->first; node != NULL; node = node->group_next) {
            struct fleet_view live;
            bool late = is_in_service(node) && is_expected(r, node) &&
                        fleet_get(r->service->fleet, node->id, &live) == 0 &&
                        policy_is_late(policy, live.last_heartbeat_at, now);
            group->missed.all += late;
            group->missed.lately += late && live.last_heartbeat_at >= since;
        }
    }
    *ret_missed = group->missed;
}
