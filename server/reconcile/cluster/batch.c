/*
 * Which nodes: those that go when a group shrinks, and those that are next in a software update.
 *
 * Both walk over a group, which happens once for each shrinking and once for each batch. Victims are chosen together and
 * then taken a few in a turn; each is looked at again when its turn comes, because much may have happened to it meanwhile.
 */
#include "server/reconcile/cluster/batch.h"
#include "db/operation.h"
#include "server/reconcile/base/claim.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/queue.h"
#include "server/reconcile/base/seen.h"
#include "server/reconcile/cluster/provision.h"
#include "server/reconcile/world/recount.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- who goes ---------------------------------------------------------------------------------- */
static enum victim_rank rank_of(const struct reconcile *r, const struct rnode *node)
{
    if (node->opted_out)
        return VICTIM_OPTED_OUT;
    if (node->tally.slot == SLOT_UNPROVISIONED)
        return VICTIM_UNPROVISIONED;
    if (node->tally.slot == SLOT_STARTING)
        return VICTIM_STARTING;
    if (reconcile_node_is_out(node) || node->health == HEALTH_UNHEALTHY)
        return VICTIM_OUT;
    bool busy = reconcile_node_has_scheduler(node) && (!reconcile_sees(r, node) || node->busy);
    return busy ? VICTIM_BUSY : VICTIM_IDLE;
}

static bool is_alive(const struct rnode *node)
{
    return node->tally.slot < SLOT_LEAVING;
}

/* Who works is not known: only nodes that never did may go. Whoever has no scheduler has nothing to wait for. */
static bool is_blind(const struct reconcile *r, const struct rgroup *group)
{
    const struct scheduler_link *link = group->cluster->link;
    if (!reconcile_link_is_configured(link))
        return false;
    return link->down || link->observed_at == 0 || reconcile_now(r) - link->observed_at > reconcile_link_age_max(link);
}

static void order_victims(struct reconcile *r, struct rgroup *group, int64_t goes, bool blind)
{
    size_t capacity = 1, count = 0;
    for (int kind = 0; kind < SLOT_LEAVING; kind++)
        capacity += (size_t)group->slots[kind];
    autofree struct victim *victims = own_calloc(capacity, sizeof(*victims));
    for (const struct rnode *node = group->first; node != NULL; node = node->group_next)
        if (is_alive(node) && !(blind && node->was_ready))
            victims[count++] = (struct victim){node->id, rank_of(r, node)};
    policy_order_victims(victims, count);
    idqueue_free(&group->victims);
    for (size_t i = 0; i < count && (int64_t)i < goes; i++)
        idqueue_push(&group->victims, victims[i].node_id);
}

void reconcile_choose_victims(struct reconcile *r, struct provision *p, size_t at)
{
    struct group_part *part = &p->parts[at];
    struct rgroup *group = part->group;
    int64_t goes = p->plan.groups[at].remove, id;
    int64_t size = p->plan.groups[at].state == GROUP_STATE_DELETING ? 0 : p->plan.groups[at].desired;
    if (goes == 0)
        idqueue_free(&group->victims); /* whoever is left in it was chosen by what was then */
    if (goes > 0 && (group->victims.count == 0 || group->victims_desired != size)) {
        part->blind = !p->takes_down && is_blind(r, group);
        order_victims(r, group, goes, part->blind);
        group->victims_desired = size;
        part->shrinks = group->victims.count > 0;
    }
    while (goes > 0 && p->victim_count < PROVISION_NODES_MAX && idqueue_pop(&group->victims, &id)) {
        struct rnode *node = reconcile_node_find(r, id);
        if (node == NULL || !is_alive(node))
            continue;
        p->victims[p->victim_count++] = node;
        part->victims++;
        goes--;
    }
}

void reconcile_victims_put_back(struct provision *p)
{
    size_t end = p->victim_count;
    for (size_t at = p->plan.group_count; at-- > 0;) {
        struct group_part *part = &p->parts[at];
        for (size_t i = 0; i < part->victims; i++)
            idqueue_push_front(&part->group->victims, p->victims[--end]->id);
        if (part->shrinks)
            idqueue_free(&part->group->victims); /* that it shrinks was not told: they are chosen anew */
    }
}

/* --- who is updated ---------------------------------------------------------------------------- */
static bool may_be_updated(const struct reconcile *r, const struct rnode *node)
{
    return node->tally.updatable && reconcile_claim(r, node, POLICY_ACT_UPDATE) == POLICY_CLAIM_NONE;
}

int64_t reconcile_batch_room(struct reconcile *r, struct rgroup *group)
{
    int64_t room = 0;
    if (group->updatable == 0 || reconcile_now(r) < group->batch_look_at)
        return 0;
    for (const struct rnode *node = group->first; node != NULL; node = node->group_next)
        room += may_be_updated(r, node);
    group->batch_look_at = room == 0 ? reconcile_now(r) + reconcile_group_observe_interval(group) : 0;
    return room;
}

void reconcile_choose_members(struct reconcile *r, struct provision *p, size_t at)
{
    struct group_part *part = &p->parts[at];
    int64_t left = p->plan.groups[at].batch_size;
    if (left == 0)
        return;
    p->members = own_realloc(p->members, p->member_count + (size_t)left, sizeof(struct rnode *));
    for (struct rnode *node = part->group->first; node != NULL && left > 0; node = node->group_next) {
        if (!may_be_updated(r, node))
            continue;
        p->members[p->member_count++] = node;
        part->members++;
        left--;
    }
}

void reconcile_member_key(const struct rnode *node, const struct rollout *rollout, char ret_key[KEY_MAX_BYTES])
{
    const char *way = rollout->state == ROLLOUT_STATE_ROLLING_BACK ? "back" : "to";
    snprintf(ret_key, KEY_MAX_BYTES, "update/%" PRId64 "/%" PRId64 "/%s/%" PRId64 "/%" PRId64, rollout->group_id,
             rollout->created_at, way, rollout->batch, node->id);
}

const struct rnode *reconcile_bad_member(const struct rgroup *group)
{
    for (const struct rnode *node = group->first; node != NULL; node = node->group_next)
        if (node->tally.member == MEMBER_BAD)
            return node;
    return NULL;
}

static int load_members(struct db_tx *tx, struct rgroup *group)
{
    for (struct rnode *node = group->first; node != NULL; node = node->group_next) {
        char key[KEY_MAX_BYTES];
        struct operation op;
        reconcile_member_key(node, &group->rollout, key);
        int status = db_operation_by_key(tx, key, &op);
        if (status != 0 && status != STATUS_NOT_FOUND)
            return status;
        node->member = status == 0 && op.state != OPERATION_STATE_CANCELLED;
        reconcile_node_recount(node);
    }
    return 0;
}

int reconcile_members_load(struct reconcile *r, struct db_tx *tx)
{
    int status = 0;
    for (struct rgroup *group = r->groups; group != NULL && status == 0; group = group->next)
        if (group->has_rollout && group->rollout.batch > 0)
            status = load_members(tx, group);
    return status;
}
