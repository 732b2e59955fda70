/* A law for worlds at rest: what the loop remembers of the store is what the store says, so that no wake was lost. All of it is read again
 * as after a start, and nothing of it may differ from what was remembered before. */
#ifndef HOLDFAST_TESTS_SIM_SIM_MEMORY_H
#define HOLDFAST_TESTS_SIM_SIM_MEMORY_H

#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/world/load.h"
#include "server/reconcile/world/resync.h"
#include "tests/sim/sim_world.h"

SIM_FN void sim_memory_cluster(const struct rcluster *cluster, struct text *text)
{
    text_printf(text, "cluster %s revision %" PRId64 " %s recovery %d paused %d (%s) provisioning %d\n", cluster->name,
                cluster->revision, cluster_state_text(cluster->state), (int)cluster->recovery, cluster->paused,
                cluster->paused_why, (int)cluster->provisioning);
    for (int i = 0; i < OPERATION_KINDS_OF_CLUSTER; i++)
        if (cluster->changes[i].id != 0)
            text_printf(text, "cluster %s change %d is operation %" PRId64 "\n", cluster->name, i,
                        cluster->changes[i].id);
}

SIM_FN void sim_memory_node(const struct rnode *node, struct text *text)
{
    text_printf(text, "node %s %s health %d opted out %d instance %d image %" PRIx64 " operation %" PRId64 "\n",
                node->name, node_state_text((enum node_state)node->state), node->health, node->opted_out,
                node->has_instance, node->image, node->op == NULL ? 0 : node->op->id);
}

SIM_FN void sim_memory_group(const struct rgroup *group, struct text *text)
{
    const struct instance_group *row = &group->row;
    text_printf(text, "group %s %s desired %" PRId64 " min %" PRId64 " before %" PRId64 " image %" PRIx64, group->name,
                group_state_text(row->state), row->desired, row->min_count, row->previous_desired, group->image);
    text_printf(text, " breaker %" PRId64 " protected %" PRId64 " rollout %d %d batch %" PRId64 "\n",
                group->breaker_opened_at, row->machine_capacity.protected_at, group->has_rollout,
                (int)group->rollout.state, group->rollout.batch);
    for (const struct rnode *node = group->first; node != NULL; node = node->group_next)
        sim_memory_node(node, text);
}

SIM_FN void sim_memory(const struct reconcile *r, struct text *text)
{
    text_clear(text);
    for (const struct rcluster *cluster = r->clusters; cluster != NULL; cluster = cluster->next)
        sim_memory_cluster(cluster, text);
    for (const struct rgroup *group = r->groups; group != NULL; group = group->next)
        sim_memory_group(group, text);
}

/* After sim_run. While the store takes no writes nothing is at rest. */
SIM_FN void sim_check_memory(struct sim *sim)
{
    struct reconcile *r = sim->reconcile;
    struct text before = {0}, after = {0};
    if (r->paused_until > clock_wall_ms(&sim->clock))
        return;
    if (reconcile_is_behind(r))
        sim_fail(sim, NULL, "what changed is not read although nothing is left to do");
    sim_memory(r, &before);
    parts_wake(r, SERVICE_WAKE_ALL, 0);
    while (reconcile_resync(r))
        continue;
    sim_memory(r, &after);
    if (strcmp(text_get(&before), text_get(&after)) != 0)
        sim_fail(sim, NULL, "a wake was lost; remembered:\n%sin the store:\n%s", text_get(&before), text_get(&after));
    text_free(&before);
    text_free(&after);
}

#endif
