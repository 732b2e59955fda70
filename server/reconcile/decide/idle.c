/*
 * Idle nodes are checked in the background, so that a spare is known to be good before it is needed: with housekeeping, one node
 * of a group at a time, by the quick profile, and the same node not again before `checks.idleEvery` is over. Off unless that is said.
 *
 * A node that somebody suspects (policy/suspicion.c) is checked before any other, as soon as it is idle and whether or not the others are,
 * once for each suspicion: that is the first answer to it. A run that passes ends the suspicion.
 *
 * A node must have been seen idle in several looks in a row: work that waits in the scheduler would have taken it. What a run finds
 * is judged as any other's is.
 */
#include "server/reconcile/decide/idle.h"
#include "base/sm.h"
#include "db/cluster.h"
#include "db/deep.h"
#include "db/node.h"
#include "db/operation.h"
#include "server/live/fleet.h"
#include "server/reconcile/base/claim.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"

#include <inttypes.h>
#include <stdio.h>

#define IDLE_LOOKS_MIN 5  /* a look is a housekeeping */
#define CANDIDATES_MAX 32 /* of one group in one look, whose last run has to be read */

static bool may_be_checked(const struct reconcile *r, const struct rnode *node)
{
    bool well = node->health == HEALTH_HEALTHY || (node->suspected_at > 0 && node->health == HEALTH_DEGRADED);
    return node->tally.idle && reconcile_node_has_scheduler(node) && well &&
           reconcile_claim(r, node, POLICY_ACT_TEST) == POLICY_CLAIM_NONE && !node->marked && node->incident == NULL;
}

/* As many as it has with this one. */
static int looks_of(const struct reconcile *r, const struct rnode *node)
{
    return !may_be_checked(r, node) ? 0 : node->idle_looks < IDLE_LOOKS_MIN ? node->idle_looks + 1 : IDLE_LOOKS_MIN;
}

static bool is_under_test(const struct rgroup *group)
{
    for (const struct rnode *node = group->first; node != NULL; node = node->group_next)
        if (node->op != NULL && node->op->kind == OPERATION_KIND_CHECK)
            return true;
    return false;
}

static int take_run(const void *row, void *arg)
{
    *(int64_t *)arg = ((const struct deep_run *)row)->created_at;
    return 1;
}

/* What other turns, or people, did to it in the meantime counts. */
static int is_free(struct turn *turn, const struct rnode *node, struct node *ret_row, bool *ret_free)
{
    struct operation active;
    struct fleet_view live;
    *ret_free = false;
    int status = db_operation_active(turn->tx, node->id, &active);
    if (status != STATUS_NOT_FOUND)
        return status;
    status = db_node_get_row(turn->tx, node->id, ret_row);
    if (status == STATUS_NOT_FOUND)
        return 0; /* it is gone, and the loop will hear of it */
    enum policy_claim claim = POLICY_CLAIM_NONE;
    if (status == 0)
        status = turn_claim(turn, node, ret_row, POLICY_ACT_TEST, &claim);
    *ret_free = status == 0 && ret_row->state == NODE_STATE_READY && claim == POLICY_CLAIM_NONE &&
                fleet_get(turn->r->service->fleet, node->id, &live) == 0 && !live.silent &&
                (live.checks & FLEET_CHECK_DEEP(DEEP_CHECK_STRESS)) != 0;
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static bool is_suspected(const struct rnode *node)
{
    return node->suspected_at > node->checked_at;
}

void reconcile_suspected(struct reconcile *r, struct rnode *node, int64_t at)
{
    (void)r;
    if ((node->suspected_at > 0) != (at > 0))
        node->group->suspects += at > 0 ? 1 : -1;
    node->suspected_at = at;
}

static int begin(struct turn *turn, struct rnode *node, const struct node *row)
{
    char key[KEY_MAX_BYTES], checks[DEEP_CHECKS_MAX_BYTES];
    snprintf(key, sizeof(key), "idle-check/%" PRId64 "/%" PRId64, node->id, turn->now);
    deep_checks_text(SM_BIT(DEEP_CHECK_STRESS), checks);
    const struct new_operation check = {.kind = OPERATION_KIND_CHECK,
                                        .urgency = URGENCY_AFTER_JOBS,
                                        .key = key,
                                        .code = checks,
                                        .reason = is_suspected(node) ? "somebody suspects it: checked between jobs"
                                                                     : "idle: checked in the background",
                                        .cause = OPERATION_CAUSE_UPKEEP,
                                        .actor = ACTOR_POLICY};
    struct deep_run run = {.cluster_id = row->cluster_id,
                           .node_id = node->id,
                           .profile = DEEP_PROFILE_QUICK,
                           .checks = SM_BIT(DEEP_CHECK_STRESS),
                           .state = DEEP_STATE_WAITING,
                           .created_at = turn->now};
    int status = turn_operation_new(turn, node, row, &check, &run.operation_id);
    return status != 0 ? status : db_deep_run_insert(turn->tx, &run);
}

/* What is to be remembered after the commit. */
struct looked {
    struct rgroup *group;
    struct {
        struct rnode *node;
        int64_t checked_at;
        bool again; /* under test, or not to be tested now: it begins anew, and the others are looked at */
    } nodes[CANDIDATES_MAX];
    int count;
};

static void remember(struct reconcile *r, struct rnode *none, const void *data)
{
    const struct looked *looked = data;
    (void)none;
    for (struct rnode *node = looked->group->first; node != NULL; node = node->group_next)
        node->idle_looks = (uint8_t)looks_of(r, node);
    for (int i = 0; i < looked->count; i++) {
        looked->nodes[i].node->checked_at = looked->nodes[i].checked_at;
        if (looked->nodes[i].again)
            looked->nodes[i].node->idle_looks = 0;
    }
}

static bool was_looked_at(const struct looked *looked, const struct rnode *node)
{
    for (int i = 0; i < looked->count; i++)
        if (looked->nodes[i].node == node)
            return true;
    return false;
}

/* The one that was tested longest ago, as far as is known; NULL: none is due. */
static struct rnode *oldest_due(const struct reconcile *r, const struct looked *looked, int64_t before)
{
    struct rnode *oldest = NULL;
    for (struct rnode *node = looked->group->first; node != NULL; node = node->group_next) {
        bool due = is_suspected(node) || (before > 0 && node->checked_at <= before);
        bool first = oldest == NULL || (is_suspected(node) && !is_suspected(oldest)) ||
                     (is_suspected(node) == is_suspected(oldest) && node->checked_at < oldest->checked_at);
        if (due && first && looks_of(r, node) == IDLE_LOOKS_MIN && !was_looked_at(looked, node))
            oldest = node;
    }
    return oldest;
}

/* It costs a read of the store to know when a node was last checked; what is known stays known until a restart. */
static int check_group(struct turn *turn, struct looked *looked)
{
    const int64_t every = looked->group->settings.check_idle_ms, before = every > 0 ? turn->now - every : 0;
    struct rnode *node;
    while (looked->count < CANDIDATES_MAX && (node = oldest_due(turn->r, looked, before)) != NULL) {
        struct node row;
        bool is_so = false;
        int64_t checked_at = node->checked_at;
        const struct db_deep_filter newest = {.node_id = node->id, .limit = 1};
        int status = db_deep_run_list(turn->tx, &newest, take_run, &checked_at);
        bool again = status < 0 || node->suspected_at > checked_at || (before > 0 && checked_at <= before);
        looked->nodes[looked->count].node = node;
        looked->nodes[looked->count].checked_at = checked_at;
        looked->nodes[looked->count++].again = again;
        if (!again)
            continue;
        if (status >= 0)
            status = is_free(turn, node, &row, &is_so);
        if (status < 0 || is_so)
            return status < 0 ? status : begin(turn, node, &row);
    }
    return 0;
}

static int look_at_group(struct turn *turn, struct rgroup *group)
{
    struct looked looked = {.group = group};
    int status = group->idle > 0 && !is_under_test(group) ? check_group(turn, &looked) : 0;
    if (status == 0)
        turn_after(turn, NULL, remember, &looked, sizeof(looked));
    return status;
}

static int tidy(struct turn *turn)
{
    int status = 0;
    for (struct rgroup *group = turn->r->groups; group != NULL && status == 0; group = group->next)
        if ((group->settings.check_idle_ms > 0 || group->suspects > 0) &&
            group->cluster->state == CLUSTER_STATE_IN_SERVICE)
            status = look_at_group(turn, group);
    return status;
}

const struct part part_idle = {.tidy = tidy};
