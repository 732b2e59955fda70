/*
 * The loop's tables as every part reads them: what is found in them, what is to be looked at, and who failed lately. What comes into
 * them and goes is world/table.c.
 */
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/due.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/operation.h"
#include "server/reconcile/base/queue.h"

#define US_PER_MS 1000

int64_t reconcile_now(const struct reconcile *r)
{
    return clock_wall_ms(r->service->clock);
}

/* The clock by which the service stamps verdicts. */
int64_t reconcile_now_us(const struct reconcile *r)
{
    if (r->service->clock != clock_system())
        return clock_mono_ms(r->service->clock) * US_PER_MS;
    return clock_stopwatch_us();
}

void reconcile_unrecorded(struct reconcile *r, bool something)
{
    int64_t since = r->stats.unrecorded_since;
    if (something == (since != 0))
        return;
    pthread_mutex_lock(&r->stats_mutex);
    r->stats.unrecorded_since = r->published.unrecorded_since = something ? clock_mono_ms(r->service->clock) : 0;
    pthread_mutex_unlock(&r->stats_mutex);
}

/* --- what is found ------------------------------------------------------------------------------ */
struct rcluster *reconcile_cluster_find(const struct reconcile *r, int64_t id)
{
    for (struct rcluster *cluster = r->clusters; cluster != NULL; cluster = cluster->next)
        if (cluster->id == id)
            return cluster;
    return NULL;
}

struct rgroup *reconcile_group_find(const struct reconcile *r, int64_t id)
{
    for (struct rgroup *group = r->groups; group != NULL; group = group->next)
        if (group->id == id)
            return group;
    return NULL;
}

struct rnode *reconcile_node_find(const struct reconcile *r, int64_t id)
{
    return idmap_get(&r->nodes, id);
}

bool reconcile_node_has_scheduler(const struct rnode *node)
{
    return node->group->cluster->link != NULL && !node->group->off_scheduler;
}

bool reconcile_node_is_out(const struct rnode *node)
{
    return node->state == NODE_STATE_HELD || node->state == NODE_STATE_FAILED;
}

/* --- what is to be looked at -------------------------------------------------------------------- */
void reconcile_node_look(struct reconcile *r, struct rnode *node, enum look look)
{
    if (node->look >= look)
        return;
    node->look = (uint8_t)look;
    idqueue_push(&r->looks[look], node->id);
}

void reconcile_node_dirty(struct reconcile *r, struct rnode *node)
{
    reconcile_node_look(r, node, LOOK_SOON);
}

size_t reconcile_looks_waiting(const struct reconcile *r)
{
    size_t count = 0;
    for (int look = LOOK_NOT; look < LOOK_COUNT; look++)
        count += r->looks[look].count;
    return count;
}

void reconcile_node_later(struct reconcile *r, struct rnode *node)
{
    reconcile_node_look(r, node, LOOK_LATER);
}

void reconcile_node_due(struct reconcile *r, struct rnode *node, int64_t at)
{
    if (at <= 0 || (node->due_at > 0 && node->due_at <= at))
        return;
    node->due_at = at;
    due_push(&r->due, at, DUE_NODE, node->id);
}

int reconcile_operation_class(enum operation_kind kind)
{
    return kind == OPERATION_KIND_LAUNCH ? 1 : 0;
}

bool reconcile_operation_waits(const struct rnode *node)
{
    return (node->op->in_flight && node->op->result == NULL) || node->hold_call;
}

void reconcile_operation_poke(struct reconcile *r, struct rnode *node)
{
    if (node->op == NULL || node->op->ready || reconcile_operation_waits(node))
        return;
    node->op->ready = true;
    idqueue_push(&r->ready[reconcile_operation_class(node->op->kind)], node->id);
}

/* --- groups ------------------------------------------------------------------------------------ */
void reconcile_group_look(struct reconcile *r, struct rgroup *group, int max)
{
    int looked = 0;
    for (struct rnode *node = group->out; node != NULL && (max == 0 || looked < max); node = node->out_next)
        if (node->state == NODE_STATE_HELD && node->op == NULL) {
            reconcile_node_later(r, node);
            looked++;
        }
}

void reconcile_group_look_unwell(struct reconcile *r, struct rgroup *group)
{
    int64_t left = group->unwell;
    for (struct rnode *node = group->first; node != NULL && left > 0; node = node->group_next)
        if (node->tally.unwell) {
            reconcile_node_later(r, node);
            left--;
        }
}

static void failing_push(struct rgroup *group, int64_t at, int64_t node_id)
{
    if (group->failing_tail == group->failing_capacity && group->failing_head > 0) {
        for (size_t i = group->failing_head; i < group->failing_tail; i++)
            group->failing[i - group->failing_head] = group->failing[i];
        group->failing_tail -= group->failing_head;
        group->failing_head = 0;
    }
    if (group->failing_tail == group->failing_capacity) {
        group->failing_capacity = group->failing_capacity == 0 ? 16 : group->failing_capacity * 2;
        group->failing = own_realloc(group->failing, group->failing_capacity, sizeof(*group->failing));
    }
    group->failing[group->failing_tail++] = (struct failing){at, node_id};
}

void reconcile_group_breaker(struct reconcile *r, struct rgroup *group, int64_t opened_at)
{
    r->stats.open_breakers += (opened_at > 0) - (group->breaker_opened_at > 0);
    group->breaker_opened_at = opened_at;
    if (opened_at == 0)
        reconcile_group_look(r, group, 0);
}

int64_t reconcile_group_counted_since(const struct rgroup *group, int64_t now)
{
    return policy_breaker_since(&group->settings.policy, now, group->row.breaker_closed_at);
}

void reconcile_group_failing(struct reconcile *r, struct rnode *node, int64_t at)
{
    struct rgroup *group = node->group;
    if (at <= node->failing_at || at <= reconcile_group_counted_since(group, reconcile_now(r)))
        return;
    if (node->failing_at == 0)
        group->failed_recently++;
    node->failing_at = at;
    failing_push(group, at, node->id);
}

void reconcile_group_expire(struct reconcile *r, struct rgroup *group, int64_t now)
{
    int64_t since = reconcile_group_counted_since(group, now);
    while (group->failing_head < group->failing_tail && group->failing[group->failing_head].at <= since) {
        struct failing entry = group->failing[group->failing_head++];
        struct rnode *node = reconcile_node_find(r, entry.node_id);
        if (node != NULL && node->failing_at == entry.at) {
            node->failing_at = 0;
            group->failed_recently--;
        }
    }
}
