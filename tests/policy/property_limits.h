/* Laws of a group's limits for test_properties.c: budgets, healthy nodes, hours and spacing, and successors. */
#ifndef HOLDFAST_TESTS_POLICY_PROPERTY_LIMITS_H
#define HOLDFAST_TESTS_POLICY_PROPERTY_LIMITS_H

#include "tests/policy/premises.h"
#include "tests/policy/property.h"
#include "tests/policy/property_caution.h"

static inline int64_t share_of(int64_t desired, int percent, int max)
{
    int64_t share = desired * percent / 100;
    share = share < 1 ? 1 : share;
    return max > 0 && share > max ? max : share;
}

static inline const char *check_never_more_than_the_class_has(struct world *w, const struct policy_plan *plan)
{
    const struct policy_settings *settings = &w->snapshot.settings;
    for (int fault = 0; fault < FAULT_CLASS_COUNT; fault++) {
        int64_t repairs = 0;
        for (size_t i = 0; i < plan->count; i++)
            repairs += is_repair(&plan->decisions[i]) && !is_request(&plan->decisions[i]) &&
                       plan->decisions[i].fault == (enum fault_class)fault;
        int64_t share = share_of(w->snapshot.group.desired, settings->class_budget_percent[fault],
                                 settings->class_budget_max[fault]);
        met(PREMISE_CLASS_USED_UP, w->snapshot.group.in_repair_of[fault] + repairs == share && repairs > 0 &&
                                       any_held(plan, RULE_CLASS_BUDGET_HOLD));
        if (repairs > 0 && w->snapshot.group.in_repair_of[fault] + repairs > share)
            return "more repairs than the class of fault has room for";
    }
    return NULL;
}

/* In service and without a fault, whatever the plan does about the others. */
static inline int64_t healthy_then(const struct world *w, const struct policy_plan *plan)
{
    int64_t healthy = w->snapshot.group.healthy_elsewhere;
    for (size_t i = 0; i < w->snapshot.node_count; i++) {
        const struct policy_node *node = &w->plain[i];
        const struct decision *d = decision_of(plan, node->id);
        enum health health = policy_health(&w->snapshot, node);
        bool serves = node->state == NODE_STATE_READY && (d == NULL || d->action <= ACTION_WATCH);
        healthy += serves && (health == HEALTH_HEALTHY || health == HEALTH_DEGRADED);
    }
    return healthy;
}

static inline const char *check_never_under_the_minimum(struct world *w, const struct policy_plan *plan)
{
    const struct policy_settings *settings = &w->snapshot.settings;
    int64_t healthy = healthy_then(w, plan);
    bool enough = healthy >= settings->min_healthy_count &&
                  healthy * 100 >= w->snapshot.group.desired * settings->min_healthy_percent;
    bool one_more = healthy <= settings->min_healthy_count ||
                    (healthy - 1) * 100 < w->snapshot.group.desired * settings->min_healthy_percent;
    met(PREMISE_MINIMUM_MISSED, !enough && any_held(plan, RULE_MIN_HEALTHY_HOLD));
    for (size_t i = 0; i < plan->count; i++)
        if (is_repair(&plan->decisions[i]) && !is_request(&plan->decisions[i]) &&
            !met(PREMISE_MINIMUM_REACHED, enough && one_more) && !enough)
            return "a repair although too few are healthy";
    return NULL;
}

static inline const char *check_hours_and_spacing(struct world *w, const struct policy_plan *plan)
{
    const struct policy_settings *settings = &w->snapshot.settings;
    int64_t last = w->snapshot.group.last_repair_at;
    bool soon = last > 0 && NOW - last < settings->spacing_ms;
    int repairs = 0;
    met(PREMISE_HOURS_CLOSED, policy_windows_hold(&settings->not_during, NOW) && any_held(plan, RULE_WINDOW_HOLD));
    met(PREMISE_SPACED, settings->spacing_ms > 0 && any_held(plan, RULE_SPACING_HOLD));
    for (size_t i = 0; i < plan->count; i++) {
        const struct decision *d = &plan->decisions[i];
        if (!is_repair(d) || is_request(d))
            continue;
        repairs++;
        if (policy_windows_hold(&settings->not_during, NOW) && d->fault != FAULT_CLASS_GPU)
            return "a repair in hours in which there are none";
        if (settings->spacing_ms > 0 && (soon || repairs > 1))
            return "a repair too soon after another";
    }
    return NULL;
}

/* While new machines do not come up, or cannot be had: none, or after the pause a single one. */
static inline const char *check_nothing_is_replaced_without_a_successor(struct world *w, const struct policy_plan *plan)
{
    const struct policy_settings *settings = &w->snapshot.settings;
    const struct policy_group *group = &w->snapshot.group;
    int64_t replaced = 0, asked = 0;
    for (size_t i = 0; i < plan->count; i++) {
        replaced += plan->decisions[i].action == ACTION_REPLACE && !is_request(&plan->decisions[i]);
        asked += plan->decisions[i].action == ACTION_REPLACE && is_request(&plan->decisions[i]);
    }
    bool protected = group->machine_capacity.protected_at > 0;
    bool short_now = group->machine_capacity.short_times > 0 && settings->without_replacement != POLICY_WITHOUT_REPLACE;
    int64_t from = protected ? group->machine_capacity.failed_at + settings->protect_pause_ms : 0;
    if (short_now && group->machine_capacity.short_until > from)
        from = group->machine_capacity.short_until;
    met(PREMISE_NO_SUCCESSOR,
        (protected || short_now) && (any_held(plan, RULE_PROTECTED_HOLD) || any_held(plan, RULE_CAPACITY_HOLD)));
    met(PREMISE_ONE_TRIED, (protected || short_now) && replaced == 1);
    if ((protected || short_now) && replaced > 0 && (NOW < from || group->replacing + asked + replaced > 1))
        return "a replacement that gets no machine, or not the only one that is tried";
    return NULL;
}

static inline const char *check_never_more_than_the_budget(struct world *w, const struct policy_plan *plan)
{
    const struct policy_group *group = &w->snapshot.group;
    int64_t repairs = 0,
            limit = share_of(group->desired, w->snapshot.settings.budget_percent, w->snapshot.settings.budget_max);
    bool open = (group->breaker_opened_at > 0 || plan->breaker_opens) && !plan->breaker_closes;
    for (size_t i = 0; i < plan->count; i++)
        repairs += is_repair(&plan->decisions[i]) && !is_request(&plan->decisions[i]);
    met(PREMISE_BREAKER_OPEN, open && any_held(plan, RULE_BREAKER_HOLD));
    met(PREMISE_BUDGET_USED_UP, repairs > 0 && group->in_repair + repairs == limit);
    met(PREMISE_BUDGET_EXCEEDED, group->in_repair + repairs >= limit && any_held(plan, RULE_BUDGET_HOLD));
    if (repairs > 0 && open)
        return "a repair while the breaker is open";
    if (repairs > 0 && group->in_repair + repairs > limit)
        return "more repairs than the budget has room for";
    return plan->breaker_opens && plan->breaker_closes ? "the breaker opens and closes at once" : NULL;
}

#endif
