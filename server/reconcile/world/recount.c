/*
 * How many nodes of a group are what. Each node remembers how it is counted; when anything about it changes it is taken out
 * of the counts and put in anew, so that no question about a group ever walks over its nodes.
 */
#include "server/reconcile/world/recount.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/operation.h"

uint64_t reconcile_image(const char *image_id, const char *release)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (const char *c = image_id; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001B3);
    hash = (hash ^ UINT64_C(0x1F)) * UINT64_C(0x100000001B3);
    for (const char *c = release; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001B3);
    return hash == 0 ? 1 : hash;
}

/* --- what a node counts as --------------------------------------------------------------------- */
/* A fault found before it was ever in service, in a cluster in which nothing is repaired unless a person asks. */
static bool waits_for_person(const struct rnode *node)
{
    return node->state == NODE_STATE_HELD && node->op == NULL && node->group->cluster->recovery == NODE_RECOVERY_NONE;
}

static enum slot_kind slot_of(const struct rnode *node)
{
    if (node->state == NODE_STATE_DELETED)
        return SLOT_GONE;
    if (node->state == NODE_STATE_DELETING)
        return SLOT_LEAVING;
    if (node->was_ready)
        return node->state == NODE_STATE_FAILED ? SLOT_BROKEN : SLOT_SERVING;
    bool unprovisioned = node->launch_failed || node->state == NODE_STATE_FAILED || waits_for_person(node);
    return unprovisioned ? SLOT_UNPROVISIONED : SLOT_STARTING;
}

/* A node whose launch fails has no image to be rid of: its next try takes the wanted one. */
static bool is_outdated(const struct rnode *node, enum slot_kind slot)
{
    return node->image != 0 && node->image != node->group->image && !node->opted_out &&
           (slot == SLOT_SERVING || slot == SLOT_BROKEN || slot == SLOT_STARTING || waits_for_person(node));
}

static enum member member_of(const struct rnode *node, enum slot_kind slot)
{
    if (!node->member || slot == SLOT_LEAVING || slot == SLOT_GONE)
        return MEMBER_NOT;
    bool ill = node->op != NULL && node->health == HEALTH_UNHEALTHY && operation_is_repair(node->op->kind);
    if (ill || (node->op == NULL && reconcile_node_is_out(node)))
        return MEMBER_BAD;
    return node->op == NULL && node->state == NODE_STATE_READY ? MEMBER_DONE : MEMBER_AT_WORK;
}

/* A scheduler that has not been seen says nothing of it. */
static bool is_free(const struct rnode *node)
{
    bool well = node->health == HEALTH_HEALTHY || node->health == HEALTH_DEGRADED;
    bool scheduled = reconcile_node_has_scheduler(node);
    return well && node->op == NULL && (!scheduled || (node->seen_seq > 0 && node->schedulable && !node->busy));
}

static struct tally tally_of(const struct rnode *node)
{
    enum slot_kind slot = slot_of(node);
    bool outdated = is_outdated(node, slot);
    bool free_to_go = node->op == NULL && (node->state == NODE_STATE_READY || reconcile_node_is_out(node));
    return (struct tally){.slot = (uint8_t)slot,
                          .member = (uint8_t)member_of(node, slot),
                          .ready = node->state == NODE_STATE_READY,
                          .healthy = node->state == NODE_STATE_READY &&
                                     (node->health == HEALTH_HEALTHY || node->health == HEALTH_DEGRADED),
                          .idle = node->state == NODE_STATE_READY && is_free(node),
                          .unwell = node->health != HEALTH_HEALTHY || node->state != NODE_STATE_READY || node->downed,
                          .outdated = outdated,
                          .updatable = outdated && free_to_go};
}

/* --- counting ---------------------------------------------------------------------------------- */
static void count(struct rgroup *group, const struct tally *tally, int64_t by)
{
    if (tally->slot == SLOT_KIND_COUNT)
        return;
    group->slots[tally->slot] += by;
    group->ready += tally->ready ? by : 0;
    group->healthy += tally->healthy ? by : 0;
    group->idle += tally->idle ? by : 0;
    group->unwell += tally->unwell ? by : 0;
    group->outdated += tally->outdated ? by : 0;
    group->updatable += tally->updatable ? by : 0;
    group->members += tally->member != MEMBER_NOT ? by : 0;
    group->members_done += tally->member == MEMBER_DONE ? by : 0;
    group->members_bad += tally->member == MEMBER_BAD ? by : 0;
}

static bool same(const struct tally *a, const struct tally *b)
{
    return a->slot == b->slot && a->member == b->member && a->ready == b->ready && a->healthy == b->healthy &&
           a->outdated == b->outdated && a->updatable == b->updatable;
}

void reconcile_node_recount(struct rnode *node)
{
    struct rgroup *group = node->group;
    const struct tally tally = tally_of(node);
    if (same(&tally, &node->tally)) {
        group->idle += (tally.idle ? 1 : 0) - (node->tally.idle ? 1 : 0);
        group->unwell += (tally.unwell ? 1 : 0) - (node->tally.unwell ? 1 : 0);
        node->tally = tally; /* jobs come and go: that moves no cluster */
        return;
    }
    count(group, &node->tally, -1);
    count(group, &tally, 1);
    node->tally = tally;
    if (group->unprovisioned == node && tally.slot != SLOT_UNPROVISIONED)
        group->unprovisioned = NULL;
    group->cluster->dirty = true;
}

void reconcile_node_uncount(struct rnode *node)
{
    struct rgroup *group = node->group;
    count(group, &node->tally, -1);
    node->tally.slot = SLOT_KIND_COUNT;
    if (group->unprovisioned == node)
        group->unprovisioned = NULL;
    group->cluster->dirty = true;
}

void reconcile_group_recount(struct rgroup *group, bool members)
{
    for (struct rnode *node = group->first; node != NULL; node = node->group_next) {
        node->member = node->member && members;
        reconcile_node_recount(node);
    }
    group->cluster->dirty = true;
}

void reconcile_node_unprovisioned(struct rnode *node)
{
    if (node->was_ready || (node->state != NODE_STATE_FAILED && node->state != NODE_STATE_PENDING))
        return;
    node->launch_failed = true;
    if (node->group->unprovisioned == node)
        node->group->unprovisioned = NULL; /* it may have another cause now */
    reconcile_node_recount(node);
    node->group->cluster->dirty = true;
}
