/*
 * Laws of caution for test_properties.c: who works on a machine is left alone, silence is doubted where most are silent, and a person's turn
 * is that person's.
 */
#ifndef HOLDFAST_TESTS_POLICY_PROPERTY_CAUTION_H
#define HOLDFAST_TESTS_POLICY_PROPERTY_CAUTION_H

#include "tests/policy/premises.h"
#include "tests/policy/property.h"

static inline bool is_held(const struct decision *d, enum decision_rule rule)
{
    return d->action == ACTION_HOLD && d->rule == rule;
}

static inline bool any_held(const struct policy_plan *plan, enum decision_rule rule)
{
    for (size_t i = 0; i < plan->count; i++)
        if (is_held(&plan->decisions[i], rule))
            return true;
    return false;
}

static inline bool is_of_this_boot(const struct policy_node *node, const struct verdict *v)
{
    return v->state == VERDICT_STATE_OPEN && strcmp(v->instance_id, node->instance_id) == 0 &&
           strcmp(v->boot_id, node->boot_id) == 0;
}

/* Something of this boot that by itself is a fault of the node. */
static inline bool has_fault(const struct world *w, const struct policy_node *node)
{
    for (size_t i = 0; i < node->verdict_count; i++)
        if (is_of_this_boot(node, node->verdicts[i]) && policy_is_node_fault(&w->snapshot.faults, node->verdicts[i]))
            return true;
    return false;
}

static inline bool takes_machine(const struct decision *d)
{
    return d != NULL && is_repair(d) && !is_request(d);
}

static inline const char *check_nobody_is_repaired_under_maintenance(struct world *w, const struct policy_plan *plan)
{
    for (size_t i = 0; i < w->snapshot.node_count; i++) {
        const struct policy_node *node = &w->plain[i];
        const struct decision *d = decision_of(plan, node->id);
        bool silent = node->last_heartbeat_at > 0 && !node->scheduler_responding &&
                      NOW - node->last_heartbeat_at >= w->snapshot.settings.unreachable_after_ms;
        met(PREMISE_MAINTENANCE, node->maintenance && has_fault(w, node));
        met(PREMISE_KEPT, (node->reserved || node->switched_off) && silent);
        if (node->maintenance && takes_machine(d))
            return "a node is repaired while people work on it";
        bool kept = node->maintenance || node->reserved || node->switched_off;
        if (kept && takes_machine(d) && strcmp(d->code, "unreachable") == 0)
            return "a node is repaired for its silence, and the scheduler says why it is silent";
    }
    return NULL;
}

static inline const char *check_silence_alone_ends_nothing_where_most_is_silent(struct world *w,
                                                                                const struct policy_plan *plan)
{
    int64_t silent = 0;
    for (size_t i = 0; i < w->snapshot.node_count; i++) {
        const struct policy_node *node = &w->plain[i];
        bool counts = (node->state == NODE_STATE_READY || node->state == NODE_STATE_HELD) && !node->switched_off &&
                      !node->maintenance && !node->external_drain && !node->has_active_operation;
        silent += counts && node->last_heartbeat_at > 0 &&
                  NOW - node->last_heartbeat_at >= w->snapshot.settings.silent_after_ms;
    }
    silent = silent > w->snapshot.group.missed.all ? silent : w->snapshot.group.missed.all;
    bool most = silent > 1 && silent * 2 > w->snapshot.group.desired;
    met(PREMISE_MOST_SILENT, most && any_held(plan, RULE_MANY_SILENT));
    for (size_t i = 0; most && i < plan->count; i++)
        if (takes_machine(&plan->decisions[i]) && strcmp(plan->decisions[i].code, "unreachable") == 0)
            return "a machine is repaired for its silence while most of its group is silent";
    return NULL;
}

/* In no table is there a repair for it, and a boot repairs nothing. */
static inline bool waits_for_person(const struct policy_node *node)
{
    for (size_t i = 0; i < node->verdict_count; i++) {
        const struct verdict *v = node->verdicts[i];
        if (v->state == VERDICT_STATE_OPEN && strcmp(v->code, "xid.78") == 0 &&
            strcmp(v->instance_id, node->instance_id) == 0 && strcmp(v->boot_id, node->boot_id) != 0)
            return true;
    }
    return false;
}

static inline const char *check_a_persons_turn_is_not_ended_by_a_boot(struct world *w, const struct policy_plan *plan)
{
    for (size_t i = 0; i < w->snapshot.node_count; i++) {
        const struct policy_node *node = &w->plain[i];
        const struct decision *d = decision_of(plan, node->id);
        bool judged =
            (node->state == NODE_STATE_READY || node->state == NODE_STATE_HELD) && !node->has_active_operation;
        bool theirs = node->opted_out || node->paused_why[0] != '\0' || node->external_drain || node->maintenance;
        enum repair_mode mode = w->snapshot.settings.modes[fault_class_of("xid.78")];
        bool acts = mode == REPAIR_MODE_ACT || mode == REPAIR_MODE_APPROVE;
        bool waits = node->person_hold != NULL || (waits_for_person(node) && acts);
        met(PREMISE_PERSON_HOLD, judged && node->person_hold != NULL && !has_fault(w, node));
        met(PREMISE_PERSON_BOOT, judged && waits_for_person(node));
        if (!judged || theirs || !waits)
            continue;
        if (d == NULL)
            return "a person's turn, and no word about it";
        /* Of what the site only wants to hear; another fault of the node covers no turn of a person. */
        bool said =
            !(waits_for_person(node) && acts) && (d->rule == RULE_MODE_OBSERVE || d->rule == RULE_MODE_RECOMMEND);
        if (d->action <= ACTION_WATCH && !said)
            return "a person's turn is over, and nobody ended it";
    }
    return NULL;
}

/* Somebody may be at work on it: what was there when it was left to a person asks for no repair. */
static inline const char *check_no_repair_under_a_persons_hands(struct world *w, const struct policy_plan *plan)
{
    for (size_t i = 0; i < w->snapshot.node_count; i++) {
        const struct policy_node *node = &w->plain[i];
        const struct decision *d = decision_of(plan, node->id);
        bool newer = false, asked = node->request != POLICY_REQUEST_NONE;
        for (size_t k = 0; node->person_hold != NULL && k < node->verdict_count; k++)
            newer = newer || node->verdicts[k]->received_at > node->person_hold->at;
        if (node->person_hold == NULL || newer || asked || d == NULL)
            continue;
        met(PREMISE_PERSON_OLDER, has_fault(w, node) && node->state == NODE_STATE_HELD);
        if (action_is_repair(d->action) || d->action == ACTION_HOLD)
            return "a repair for what was there when a person took the machine in hand";
    }
    return NULL;
}

/* Seen for as long as its row allows, and nothing of its device takes it back. */
static inline bool has_lasted(const struct world *w, const struct policy_node *node)
{
    bool lasted = false;
    for (size_t i = 0; i < node->verdict_count; i++) {
        const struct verdict *v = node->verdicts[i];
        const struct fault_row *row = fault_find(v->code);
        if (strcmp(v->code, "xid.154") == 0)
            return false; /* the driver's word stands above what it covers */
        lasted = lasted || (is_of_this_boot(node, v) && row != NULL && row->action == ACTION_CLASS_WATCH &&
                            row->lasts_ms > 0 && w->snapshot.now_ms - v->received_at >= row->lasts_ms);
    }
    return lasted;
}

static inline const char *check_what_lasts_is_not_watched_for_ever(struct world *w, const struct policy_plan *plan)
{
    for (size_t i = 0; i < w->snapshot.node_count; i++) {
        const struct policy_node *node = &w->plain[i];
        const struct decision *d = decision_of(plan, node->id);
        bool heard = node->last_heartbeat_at > 0 &&
                     w->snapshot.now_ms - node->last_heartbeat_at < w->snapshot.settings.silent_after_ms;
        bool judged =
            (node->state == NODE_STATE_READY || node->state == NODE_STATE_HELD) && !node->has_active_operation;
        if (!judged || !heard || !met(PREMISE_LASTED, has_lasted(w, node)))
            continue;
        if (d == NULL)
            return "what has lasted is not decided on";
        if (d->rule == RULE_WATCH || d->rule == RULE_UNKNOWN_CODE || d->rule == RULE_APPLICATION_FAULT ||
            d->rule == RULE_NO_ACTION)
            return "what has lasted as long as its row allows is only watched";
    }
    return NULL;
}

#endif
