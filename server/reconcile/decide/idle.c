/*
 * Idle nodes are checked in the background, so that a spare is known to be good before it is needed: with housekeeping, one node
 * of a group at a time, by the quick profile, and the same node not again before `checks.idleEvery` is over. Off unless that is said.
 *
 * A node must have been seen idle in several looks in a row: work that waits in the scheduler would have taken it. What a run finds
 * is judged as any other's is.
 */
#include "base/sm.h"
#include "db/cluster.h"
#include "db/deep.h"
#include "db/node.h"
#include "db/operation.h"
#include "server/live/fleet.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/decide/claim.h"

#include <inttypes.h>
#include <stdio.h>

#define IDLE_LOOKS_MIN 5  /* a look is a housekeeping */
#define CANDIDATES_MAX 32 /* of one group in one look, whose last run has to be read */

static bool may_be_checked(const struct reconcile *r, const struct rnode *node)
{
    return node->tally.idle && reconcile_node_has_scheduler(node) && node->health == HEALTH_HEALTHY &&
           reconcile_claim(r, node, POLICY_ACT_TEST) == POLICY_CLAIM_NONE && !node->marked && node->incident == NULL;
}

/* Counts the looks; false while one of the group is under test. */
static bool look_at_all(const struct reconcile *r, struct rgroup *group)
{
    bool none = true;
    for (struct rnode *node = group->first; node != NULL; node = node->group_next) {
        if (!may_be_checked(r, node))
            node->idle_looks = 0;
        else if (node->idle_looks < IDLE_LOOKS_MIN)
            node->idle_looks++;
        none = none && (node->op == NULL || node->op->kind != OPERATION_KIND_CHECK);
    }
    return none;
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

static int begin(struct turn *turn, struct rnode *node, const struct node *row)
{
    char key[KEY_MAX_BYTES], checks[DEEP_CHECKS_MAX_BYTES];
    snprintf(key, sizeof(key), "idle-check/%" PRId64 "/%" PRId64, node->id, turn->now);
    deep_checks_text(SM_BIT(DEEP_CHECK_STRESS), checks);
    const struct new_operation check = {.kind = OPERATION_KIND_CHECK,
                                        .urgency = URGENCY_AFTER_JOBS,
                                        .key = key,
                                        .code = checks,
                                        .reason = "idle: checked in the background",
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

/* The one that was tested longest ago, as far as is known; NULL: none is due. */
static struct rnode *oldest_due(const struct rgroup *group, int64_t before)
{
    struct rnode *oldest = NULL;
    for (struct rnode *node = group->first; node != NULL; node = node->group_next)
        if (node->idle_looks >= IDLE_LOOKS_MIN && node->checked_at <= before &&
            (oldest == NULL || node->checked_at < oldest->checked_at))
            oldest = node;
    return oldest;
}

/* It costs a read of the store to know when a node was last checked; what is known stays known until a restart. */
static int check_group(struct turn *turn, struct rgroup *group)
{
    const int64_t before = turn->now - group->settings.check_idle_ms;
    struct rnode *node;
    for (int left = CANDIDATES_MAX; left > 0 && (node = oldest_due(group, before)) != NULL; left--) {
        struct node row;
        bool is_so = false;
        const struct db_deep_filter newest = {.node_id = node->id, .limit = 1};
        int status = db_deep_run_list(turn->tx, &newest, take_run, &node->checked_at);
        if (status >= 0 && node->checked_at > before)
            continue;
        node->idle_looks = 0; /* under test, or not to be tested now: it begins anew, and the others are looked at */
        if (status >= 0)
            status = is_free(turn, node, &row, &is_so);
        if (status < 0 || is_so)
            return status < 0 ? status : begin(turn, node, &row);
    }
    return 0;
}

static int tidy(struct turn *turn)
{
    int status = 0;
    for (struct rgroup *group = turn->r->groups; group != NULL && status == 0; group = group->next)
        if (group->settings.check_idle_ms > 0 && group->cluster->state == CLUSTER_STATE_IN_SERVICE &&
            look_at_all(turn->r, group) && group->idle > 0)
            status = check_group(turn, group);
    return status;
}

const struct part part_idle = {.tidy = tidy};
