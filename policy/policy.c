/* From a snapshot to a plan: each node by itself, then the group's limits over all. */
#include "policy/evaluate.h"

#include "base/own.h"
#include "base/text.h"

/* Decisions come out by name, whatever order the nodes came in. */
static int by_name(const void *left, const void *right)
{
    const struct policy_node *a = *(const struct policy_node *const *)left;
    const struct policy_node *b = *(const struct policy_node *const *)right;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : (a->id < b->id ? -1 : a->id > b->id);
}

static void note_alike(const struct candidate *candidate, struct policy_plan *plan)
{
    struct policy_alike *alike = &plan->alike[plan->alike_count++];
    *alike = (struct policy_alike){.node_id = candidate->node->id,
                                   .shown_at = candidate->shown_at,
                                   .weak = candidate->weak || candidate->held,
                                   .lacking = candidate->lacking,
                                   .watched = candidate->watched,
                                   .told = candidate->decision.rule == RULE_SHARED_BY_MANY};
    text_copy_cut(alike->image, sizeof(alike->image), text_or_empty(candidate->node->image));
    text_copy_cut(alike->code, sizeof(alike->code), candidate->decision.code);
}

void policy_decide(const struct policy_snapshot *snapshot, struct policy_plan *ret_plan)
{
    struct policy_plan plan = {0};
    size_t count = snapshot->node_count;
    autofree const struct policy_node **nodes = own_calloc(count, sizeof(*nodes));
    autofree struct candidate *candidates = own_calloc(count, sizeof(*candidates));
    for (size_t i = 0; i < count; i++)
        nodes[i] = &snapshot->nodes[i];
    qsort(nodes, count, sizeof(*nodes), by_name);

    size_t present = 0;
    for (size_t i = 0; i < count; i++) {
        policy_evaluate(snapshot, nodes[i], &candidates[present]);
        present += candidates[present].present ? 1 : 0;
    }
    policy_tell_shared(snapshot, candidates, present);
    policy_limit(snapshot, candidates, present, &plan);
    plan.decisions = own_calloc(present, sizeof(*plan.decisions));
    plan.count = present;
    plan.alike = own_calloc(present, sizeof(*plan.alike));
    for (size_t i = 0; i < present; i++) {
        plan.decisions[i] = candidates[i].decision;
        if (candidates[i].weak || candidates[i].held || candidates[i].lacking || candidates[i].watched)
            note_alike(&candidates[i], &plan);
    }
    *ret_plan = plan;
}

void policy_plan_free(struct policy_plan *plan)
{
    if (plan == NULL)
        return;
    free(plan->decisions);
    free(plan->alike);
    *plan = (struct policy_plan){0};
}
