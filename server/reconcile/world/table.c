/*
 * What comes into the tables in memory and goes: clusters, groups, nodes and their operations; who is out of service.
 *
 * Everything here is a copy of what the store says, kept so that no verdict costs a look at the whole fleet. Counts
 * (in repair, failing lately, never ready) are kept up as things change, never by counting.
 */
#include "server/reconcile/world/table.h"
#include "base/map.h"
#include "server/reconcile/base/address.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/due.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/operation.h"
#include "server/reconcile/base/queue.h"
#include "server/reconcile/world/capacity.h"
#include "server/reconcile/world/recount.h"
#include "server/reconcile/world/topology.h"

static void group_link(struct rgroup *group, struct rnode *node)
{
    node->group_next = group->first;
    if (group->first != NULL)
        group->first->group_prev = node;
    group->first = node;
}

static void group_unlink(struct rnode *node)
{
    node->group->suspects -= node->suspected_at > 0;
    if (node->group_prev != NULL)
        node->group_prev->group_next = node->group_next;
    else
        node->group->first = node->group_next;
    if (node->group_next != NULL)
        node->group_next->group_prev = node->group_prev;
}

struct rnode *reconcile_node_add(struct reconcile *r, struct rgroup *group, const struct node *row)
{
    struct rnode *node = own_calloc(1, sizeof(*node));
    node->id = row->id;
    node->group = group;
    node->name = own_strdup(row->name);
    node->state = NODE_STATE_PENDING;
    node->opted_out = row->opted_out;
    node->has_instance = row->instance_row != 0;
    node->marked = row->cordoned; /* before we went down: schedulable now, it was given back by a person */
    node->was_ready = row->served;
    node->launch_tries = (uint8_t)row->launch_tries;
    node->launch_failed =
        !row->served && row->launch_tries > 0 && row->state != NODE_STATE_HELD && row->state != NODE_STATE_REPAIRING;
    reconcile_node_place(r, node, row);
    node->tally.slot = SLOT_KIND_COUNT; /* not counted yet */
    group_link(group, node);
    idmap_put(&r->nodes, node);
    if (reconcile_node_has_scheduler(node))
        map_set(reconcile_link(node)->nodes, node->name, node);
    reconcile_node_set(r, node, row->state, row->health);
    return node;
}

static void out_link(struct reconcile *r, struct rnode *node)
{
    struct rgroup *group = node->group;
    node->out_prev = NULL;
    node->out_next = group->out;
    if (group->out != NULL)
        group->out->out_prev = node;
    group->out = node;
    r->stats.held_nodes++;
}

static void out_unlink(struct reconcile *r, struct rnode *node)
{
    if (node->out_prev != NULL)
        node->out_prev->out_next = node->out_next;
    else
        node->group->out = node->out_next;
    if (node->out_next != NULL)
        node->out_next->out_prev = node->out_prev;
    node->out_prev = node->out_next = NULL;
    r->stats.held_nodes--;
}

void reconcile_node_set(struct reconcile *r, struct rnode *node, enum node_state state, enum health health)
{
    bool was_out = reconcile_node_is_out(node);
    node->state = (uint8_t)state;
    node->health = (uint8_t)health;
    if (!was_out && reconcile_node_is_out(node))
        out_link(r, node);
    if (was_out && !reconcile_node_is_out(node))
        out_unlink(r, node);
    if (!reconcile_node_is_out(node))
        node->marked = node->hold_refused = false;
    node->was_ready = node->was_ready || state == NODE_STATE_READY;
    reconcile_node_recount(node);
}

/* --- operations -------------------------------------------------------------------------------- */
static void count_repair(struct rgroup *group, const struct rop *op, int64_t by)
{
    if (!operation_is_repair(op->kind))
        return;
    group->in_repair += by;
    group->replacing += op->kind == OPERATION_KIND_REPLACE ? by : 0;
    group->in_repair_of[op->fault] += by;
}

struct rop *reconcile_operation_add(struct reconcile *r, struct rnode *node, int64_t id, enum operation_kind kind,
                                    enum fault_class fault, int64_t created_at)
{
    struct rop *op = own_calloc(1, sizeof(*op));
    int count;
    op->id = id;
    op->kind = kind;
    op->fault = fault;
    op->step = operation_steps(kind, &count)[0];
    node->op = op;
    r->stats.active_operations++;
    count_repair(node->group, op, 1);
    if (operation_is_repair(kind) && created_at > node->group->last_repair_at)
        node->group->last_repair_at = created_at;
    reconcile_node_recount(node);
    reconcile_operation_poke(r, node);
    return op;
}

void reconcile_operation_drop(struct reconcile *r, struct rnode *node)
{
    struct rop *op = TAKE(node->op);
    if (op == NULL)
        return;
    r->stats.active_operations--;
    count_repair(node->group, op, -1);
    if (operation_is_repair(op->kind))
        reconcile_group_look(r, node->group, ROOM_LOOK_MAX);
    reconcile_call_free(op->result);
    free(op);
    reconcile_node_recount(node);
}

/* --- the end of things ------------------------------------------------------------------------- */
void reconcile_node_remove(struct reconcile *r, struct rnode *node)
{
    struct rgroup *group = node->group;
    idmap_remove(&r->nodes, node->id);
    if (reconcile_node_is_out(node))
        out_unlink(r, node);
    reconcile_operation_drop(r, node);
    reconcile_node_uncount(node);
    group_unlink(node);
    group->failed_recently -= node->failing_at != 0;
    struct scheduler_link *link = reconcile_link(node);
    if (link != NULL && map_get(link->nodes, node->name) == node)
        map_remove(link->nodes, node->name);
    free(node->name);
    free(node->reason);
    free(node->reason_user);
    reconcile_address_free(node->address);
    free(node);
}

static void group_free(struct reconcile *r, struct rgroup *group)
{
    while (group->first != NULL)
        reconcile_node_remove(r, group->first);
    r->stats.open_breakers -= group->breaker_opened_at > 0;
    reconcile_group_machine_capacity(r, group, &(struct machine_capacity){0});
    free(group->failing);
    free(group->alike);
    idqueue_free(&group->silent);
    idqueue_free(&group->victims);
    free(group);
}

/* Its agents speak for nobody any more. */
static void group_forget(struct reconcile *r, struct rgroup *group)
{
    for (const struct rnode *node = group->first; node != NULL; node = node->group_next)
        fleet_remove(r->service->fleet, node->id);
    group_free(r, group);
}

void reconcile_group_remove(struct reconcile *r, struct rgroup *group)
{
    for (struct rgroup **at = &r->groups; *at != NULL; at = &(*at)->next)
        if (*at == group) {
            *at = group->next;
            break;
        }
    group->cluster->dirty = true;
    group_forget(r, group);
}

void reconcile_cluster_remove(struct reconcile *r, struct rcluster *cluster)
{
    parts_gone(r, cluster);
    for (struct rgroup **at = &r->groups; *at != NULL;) {
        struct rgroup *group = *at;
        if (group->cluster != cluster) {
            at = &group->next;
            continue;
        }
        *at = group->next;
        group_forget(r, group);
    }
    for (struct rcluster **at = &r->clusters; *at != NULL; at = &(*at)->next)
        if (*at == cluster) {
            *at = cluster->next;
            break;
        }
    if (cluster->link != NULL)
        cluster->link->clusters--;
    free(cluster);
}

void reconcile_table_free(struct reconcile *r)
{
    while (r->groups != NULL) {
        struct rgroup *group = r->groups;
        r->groups = group->next;
        group_free(r, group);
    }
    idmap_free(&r->nodes);
    while (r->clusters != NULL) {
        struct rcluster *cluster = r->clusters;
        r->clusters = cluster->next;
        free(cluster);
    }
    for (int look = LOOK_NOT; look < LOOK_COUNT; look++)
        idqueue_free(&r->looks[look]);
    for (int class = 0; class < OPERATION_CLASSES; class ++) {
        idqueue_free(&r->ready[class]);
        idqueue_free(&r->slotless[class]);
    }
    due_free(&r->due);
}
