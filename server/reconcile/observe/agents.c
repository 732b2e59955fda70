/*
 * Agents that are not seen: they are looked for once a second, and what follows from it is decided like everything else.
 *
 * Those of a group that vanish within a short time are looked at together, since one rack that fails is not many faults.
 */
#include "server/reconcile/observe/agents.h"
#include "base/own.h"
#include "server/live/fleet.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/job_wait.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/operation.h"

#define SWEEP_INTERVAL_MS 1000 /* silent agents are looked for so often */
#define SWEEP_GAP_MS 10000     /* a longer time between two of these: hpd or its machine stood still */
#define LOST_TOGETHER_MS 15000 /* nodes that vanish within this are judged together: one rack, not many faults */

struct agents_part {
    int64_t swept_at;         /* 0: never */
    int64_t no_silence_until; /* hpd did not run and heard no agent: none is silent before that */
    int64_t began_at;         /* of the first look */
};

static void start(struct reconcile *r)
{
    r->agents = own_calloc(1, sizeof(*r->agents));
}

static void end(struct reconcile *r)
{
    free(TAKE(r->agents));
}

/* Jobs that are waited for may hang on a machine that is gone. */
static bool silence_matters(const struct rnode *node)
{
    if (reconcile_waits_for_jobs(node))
        return true;
    return node->op == NULL && (node->state == NODE_STATE_READY || node->state == NODE_STATE_HELD ||
                                node->state == NODE_STATE_VERIFYING || node->state == NODE_STATE_FAILED);
}

static void fell_silent(int64_t node_id, int64_t last_heartbeat_at, void *arg)
{
    struct reconcile *r = arg;
    struct rnode *node = reconcile_node_find(r, node_id);
    if (node == NULL)
        return;
    int64_t now = reconcile_now(r);
    const struct policy_settings *policy = &r->deps.settings.policy;
    node->silent_since = last_heartbeat_at > 0 ? last_heartbeat_at : now - policy->silent_after_ms;
    node->lost = last_heartbeat_at > 0;
    r->signals_changed = true;
    if (!silence_matters(node))
        return; /* a machine that is being rebooted or made has nothing to say */
    node->notes |= NOTE_SILENT;
    idqueue_push(&node->group->silent, node->id);
    reconcile_node_dirty(r, node);
}

bool reconcile_heard_at(const struct reconcile *r, int64_t at)
{
    const struct agents_part *agents = r->agents;
    return agents->began_at > 0 && at > agents->began_at + r->deps.settings.policy.silent_after_ms &&
           at > agents->no_silence_until;
}

int64_t reconcile_lost_at(const struct rnode *node)
{
    int64_t at = node->silent_since + node->group->settings.policy.unreachable_after_ms;
    return (at + LOST_TOGETHER_MS - 1) / LOST_TOGETHER_MS * LOST_TOGETHER_MS;
}

void reconcile_group_silent(struct reconcile *r, struct rgroup *group)
{
    int64_t id;
    for (size_t left = group->silent.count; left > 0 && idqueue_pop(&group->silent, &id); left--) {
        struct rnode *node = reconcile_node_find(r, id);
        if (node == NULL || node->silent_since == 0)
            continue;
        reconcile_node_dirty(r, node);
        idqueue_push(&group->silent, id);
    }
}

static bool sweep(struct reconcile *r, int64_t now)
{
    struct agents_part *agents = r->agents;
    const int64_t silent_after_ms = r->deps.settings.policy.silent_after_ms;
    if (agents->swept_at == 0)
        agents->began_at = now;
    if (agents->swept_at > 0 && now - agents->swept_at > SWEEP_GAP_MS)
        agents->no_silence_until = now + silent_after_ms;
    agents->swept_at = now;
    if (now >= agents->no_silence_until)
        fleet_sweep(r->service->fleet, now, silent_after_ms, fell_silent, r);
    return false;
}

void reconcile_agent_changed(struct reconcile *r, struct rnode *node)
{
    struct fleet_view live;
    if (fleet_get(r->service->fleet, node->id, &live) == 0 && !live.silent) {
        node->notes &= (uint8_t)~NOTE_SILENT;
        node->silent_since = 0;
        if (node->incident != NULL)
            r->signals_changed = true;
    }
    reconcile_node_dirty(r, node);
    reconcile_operation_poke(r, node);
}

const struct part part_agents = {.start = start, .end = end, .run = sweep, .every_ms = SWEEP_INTERVAL_MS};
