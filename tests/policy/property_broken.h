/*
 * Policies that break a law, for test_properties.c: a law that none of these fails says nothing. Each changes the plan of the real
 * policy in one way.
 */
#ifndef HOLDFAST_TESTS_POLICY_PROPERTY_BROKEN_H
#define HOLDFAST_TESTS_POLICY_PROPERTY_BROKEN_H

#include "tests/policy/property.h"

/* What was considered and not done is done: no limit, gate or person holds anything back. */
static inline void broken_does_what_it_refused(const struct policy_snapshot *snapshot, struct policy_plan *plan)
{
    (void)snapshot;
    for (size_t i = 0; i < plan->count; i++)
        if (!action_is_repair(plan->decisions[i].action) && action_is_repair(plan->decisions[i].refused))
            plan->decisions[i].action = plan->decisions[i].refused;
}

static inline void broken_only_watches(const struct policy_snapshot *snapshot, struct policy_plan *plan)
{
    (void)snapshot;
    for (size_t i = 0; i < plan->count; i++) {
        plan->decisions[i].action = ACTION_WATCH;
        plan->decisions[i].rule = RULE_WATCH;
    }
}

static inline void broken_replaces_everything(const struct policy_snapshot *snapshot, struct policy_plan *plan)
{
    (void)snapshot;
    for (size_t i = 0; i < plan->count; i++)
        plan->decisions[i].action = ACTION_REPLACE;
}

static inline void broken_forges_evidence(const struct policy_snapshot *snapshot, struct policy_plan *plan)
{
    (void)snapshot;
    for (size_t i = 0; i < plan->count; i++)
        plan->decisions[i].evidence[0] += 100000;
}

/* Who was repaired a moment ago is left alone. */
static inline void broken_forgets_attempts(const struct policy_snapshot *snapshot, struct policy_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        for (size_t n = 0; n < snapshot->node_count; n++) {
            const struct policy_node *node = &snapshot->nodes[n];
            for (size_t k = 0; k < node->repair_count && node->id == plan->decisions[i].node_id; k++)
                if (node->repairs[k].at == NOW - 3 * MINUTE)
                    plan->decisions[i].action = ACTION_NONE;
        }
}

static inline void broken_changes_its_mind(const struct policy_snapshot *snapshot, struct policy_plan *plan)
{
    static int64_t asked;
    (void)snapshot;
    asked++;
    for (size_t i = 0; i < plan->count; i++)
        plan->decisions[i].retry_at = asked;
}

static inline void broken_goes_by_order(const struct policy_snapshot *snapshot, struct policy_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        if (snapshot->node_count > 0 && plan->decisions[i].node_id == snapshot->nodes[0].id)
            plan->decisions[i].retry_at = NOW + 1;
}

static inline void broken_says_nothing(const struct policy_snapshot *snapshot, struct policy_plan *plan)
{
    (void)snapshot;
    for (size_t i = 0; i < plan->count; i++)
        plan->decisions[i].sentence[0] = '\0';
}

static inline void broken_says_it_twice(const struct policy_snapshot *snapshot, struct policy_plan *plan)
{
    (void)snapshot;
    if (plan->count > 1)
        plan->decisions[1].node_id = plan->decisions[0].node_id;
}

static inline void broken_looks_at_neighbours(const struct policy_snapshot *snapshot, struct policy_plan *plan)
{
    for (size_t i = 0; i < plan->count && snapshot->node_count > 1; i++)
        text_copy_cut(plan->decisions[i].code, sizeof(plan->decisions[i].code), "xid.1");
}

#define BROKEN_SEEDS 3000

/* Whether the law is broken in one of the worlds by this policy. */
static inline bool broken_is_caught(bool only_applications, check_fn check,
                                    void (*broken)(const struct policy_snapshot *, struct policy_plan *))
{
    bool caught = false;
    world_broken_by = broken;
    for (uint64_t seed = 1; seed <= BROKEN_SEEDS && !caught; seed++) {
        struct world *w = make_world(seed, only_applications);
        caught = try_world(w, check) != NULL;
        free(w);
    }
    world_broken_by = NULL;
    return caught;
}

#endif
