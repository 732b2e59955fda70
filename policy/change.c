/*
 * When a change of a whole cluster is over, and how: by the plan that policy_provision made, so that the operation people
 * watch ends in the moment in which the cluster is where it was to go, or was given up.
 *
 * A creation is over when the cluster is in service. So is an update, when nodes have not still to come or to go; of a continuous
 * cluster that includes what group_arrives takes for enough: a minimum, or that each node was tried. What was taken back has
 * failed, and is over when all is as it was before.
 */
#include "policy/provision.h"

#include "base/text.h"

#include <stdio.h>

static int64_t came_up(const struct provision_group *g)
{
    return g->slots[SLOT_SERVING] + g->slots[SLOT_BROKEN];
}

static int64_t alive(const struct provision_group *g)
{
    return came_up(g) + g->slots[SLOT_STARTING] + g->slots[SLOT_UNPROVISIONED];
}

static bool is_enough(const struct provision_group *g, const struct provision_group_plan *p)
{
    bool tried = p->min_count == 0 && g->slots[SLOT_STARTING] == 0;
    return tried || came_up(g) >= (p->min_count > 0 ? p->min_count : p->desired);
}

static bool has_arrived(const struct provision_group *g, const struct provision_group_plan *p)
{
    if (p->state == GROUP_STATE_FAILED)
        return alive(g) + g->slots[SLOT_LEAVING] == 0;
    bool at_rest = p->state == GROUP_STATE_IN_SERVICE || p->state == GROUP_STATE_DEGRADED ||
                   p->state == GROUP_STATE_SYSTEM_UPDATING;
    return at_rest && alive(g) == p->desired && g->slots[SLOT_LEAVING] == 0 && is_enough(g, p);
}

static bool all_arrived(const struct provision_snapshot *s, const struct provision_plan *plan)
{
    for (size_t i = 0; i < s->group_count; i++)
        if (!plan->groups[i].forget && !has_arrived(&s->groups[i], &plan->groups[i]))
            return false;
    return true;
}

/* Creations and updates. */
static void find_failure(const struct provision_snapshot *s, const struct provision_plan *plan,
                         char ret_failure[SENTENCE_MAX_BYTES])
{
    bool back = s->state == CLUSTER_STATE_ROLLING_BACK && plan->state == CLUSTER_STATE_IN_SERVICE;
    for (size_t i = 0; i < plan->group_count; i++)
        if (plan->groups[i].gave_up)
            text_copy_cut(ret_failure, SENTENCE_MAX_BYTES, plan->groups[i].failure);
    if (!back && plan->state != CLUSTER_STATE_ROLLING_BACK && plan->state != CLUSTER_STATE_FAILED)
        return;
    const char *why = plan->failure[0] != '\0' ? plan->failure : "none of its groups came up";
    snprintf(ret_failure, SENTENCE_MAX_BYTES, "%.*s%s", TEXT_FIT(why, 400),
             back ? "; the cluster was taken back to what it was" : "");
}

static bool software_is_over(const struct provision_snapshot *s, const struct provision_plan *plan,
                             char ret_failure[SENTENCE_MAX_BYTES])
{
    for (size_t i = 0; i < s->group_count; i++) {
        const struct provision_group_plan *p = &plan->groups[i];
        const struct rollout *r = &p->rollout;
        if (s->groups[i].rollout == NULL || p->state == GROUP_STATE_DELETING || p->state == GROUP_STATE_FAILED)
            continue;
        if (r->state == ROLLOUT_STATE_ROLLED_BACK)
            snprintf(ret_failure, SENTENCE_MAX_BYTES, "%.*s; the group %s was taken back to what it ran",
                     TEXT_FIT(r->failure, 400), s->groups[i].name);
        else if (r->state == ROLLOUT_STATE_ROLLING_BACK || r->state == ROLLOUT_STATE_FAILED)
            text_copy_cut(ret_failure, SENTENCE_MAX_BYTES, r->failure);
    }
    return plan->state != CLUSTER_STATE_SYSTEM_UPDATING;
}

bool policy_change_is_over(const struct provision_snapshot *s, const struct provision_plan *plan,
                           enum operation_kind kind, char ret_failure[SENTENCE_MAX_BYTES])
{
    bool at_rest = plan->state == CLUSTER_STATE_IN_SERVICE || plan->state == CLUSTER_STATE_SYSTEM_UPDATING;
    ret_failure[0] = '\0';
    switch (kind) {
    case OPERATION_KIND_DELETE_CLUSTER:
        return plan->gone;
    case OPERATION_KIND_UPDATE_SOFTWARE:
        return software_is_over(s, plan, ret_failure);
    case OPERATION_KIND_UPDATE_CLUSTER:
        find_failure(s, plan, ret_failure);
        return plan->state == CLUSTER_STATE_FAILED || (at_rest && all_arrived(s, plan));
    default:
        find_failure(s, plan, ret_failure);
        return at_rest || plan->state == CLUSTER_STATE_FAILED;
    }
}
