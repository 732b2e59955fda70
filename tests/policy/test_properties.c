/*
 * What must hold for every snapshot, tried on thousands of made-up ones. The generator is seeded, so a failure names its seed and
 * comes again; what fails is made as small as it can be and printed as a golden case.
 *
 *     PROPERTY_SEEDS=1000000 build/tests/policy/test_properties      tries more than make check does
 *     PROPERTY_FROM=2000 PROPERTY_SEEDS=3000 build/tests/policy/test_properties   a part of them
 *     PROPERTY_SEED=4711 build/tests/policy/test_properties          tries one
 *     PROPERTY_PREMISES=1 build/tests/policy/test_properties         shows how often what each is about happened
 */
#include "model/alternatives.h"
#include "tests/policy/premises.h"
#include "tests/policy/property.h"
#include "tests/policy/property_broken.h"
#include "tests/policy/property_caution.h"
#include "tests/policy/property_limits.h"

/* --- the properties --------------------------------------------------------------------------------------------- */

static bool is_same_plan(const struct policy_plan *a, const struct policy_plan *b)
{
    return a->count == b->count && a->breaker_opens == b->breaker_opens && a->breaker_closes == b->breaker_closes &&
           memcmp(a->decisions, b->decisions, a->count * sizeof(a->decisions[0])) == 0;
}

static const char *check_same_input_same_plan(struct world *w, const struct policy_plan *plan)
{
    struct policy_plan again;
    world_decide(&w->snapshot, &again);
    bool same = is_same_plan(plan, &again);
    policy_plan_free(&again);
    return same ? NULL : "the same input gives another plan";
}

static void shuffle(struct world *w, void *base, size_t count, size_t size)
{
    char spare[sizeof(struct policy_node)];
    for (size_t i = count; i > 1; i--) {
        char *a = (char *)base + (i - 1) * size, *b = (char *)base + (size_t)below(w, (int64_t)i) * size;
        memcpy(spare, a, size);
        memmove(a, b, size);
        memcpy(b, spare, size);
    }
}

static const char *check_order_is_irrelevant(struct world *w, const struct policy_plan *plan)
{
    for (size_t i = 0; i < w->snapshot.node_count; i++) {
        met(PREMISE_REORDERED, w->plain[i].verdict_count > 1 && w->plain[i].repair_count > 1);
        shuffle(w, w->nodes[i].refs, w->plain[i].verdict_count, sizeof(w->nodes[i].refs[0]));
        shuffle(w, w->nodes[i].repairs, w->plain[i].repair_count, sizeof(w->nodes[i].repairs[0]));
    }
    shuffle(w, w->plain, w->snapshot.node_count, sizeof(w->plain[0]));
    struct policy_plan other;
    world_decide(&w->snapshot, &other);
    bool same = is_same_plan(plan, &other);
    policy_plan_free(&other);
    return same ? NULL : "the order of the input matters";
}

/* Whether it repairs, or would but for a gate or a limit. */
static bool wants_repair(const struct decision *d)
{
    return !is_request(d) && (is_repair(d) || d->refused == ACTION_REBOOT || d->refused == ACTION_REPLACE) &&
           (is_repair(d) || d->action == ACTION_HOLD || d->action == ACTION_MARK || d->action == ACTION_WATCH);
}

/* It waits for a person, not for a time. */
static bool is_approval(const struct decision *d)
{
    return d->rule == RULE_APPROVAL_NEEDED || d->rule == RULE_APPROVAL_REJECTED || d->rule == RULE_APPROVAL_EXPIRED;
}

static const char *check_one_decision_per_node(struct world *w, const struct policy_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (node_of(w, plan->decisions[i].node_id) == NULL)
            return "a decision for a node that is not there";
        if (decision_of(plan, plan->decisions[i].node_id) != &plan->decisions[i])
            return "two decisions for one node";
    }
    return NULL;
}

static const struct verdict *verdict_of(const struct policy_node *node, int64_t id)
{
    for (size_t i = 0; i < node->verdict_count; i++)
        if (node->verdicts[i]->id == id)
            return node->verdicts[i];
    return NULL;
}

/* Silence is its own evidence, where the scheduler was asked, too. */
static bool is_unheard(const struct world *w, const struct policy_node *node)
{
    bool away = node->switched_off || node->maintenance || node->reserved;
    return node->last_heartbeat_at > 0 && node->scheduler_known && !node->scheduler_responding && !away &&
           NOW - node->last_heartbeat_at >= w->snapshot.settings.unreachable_after_ms;
}

/* So is a piece that was replaced away, where the site has it replaced again. */
static bool has_known_piece(const struct world *w, const struct policy_node *node)
{
    bool known = false;
    for (size_t i = 0; i < node->repair_count; i++)
        known |= node->repairs[i].same_piece && node->repairs[i].kind == OPERATION_KIND_REPLACE &&
                 !node->repairs[i].by_person;
    return known && w->snapshot.settings.recurring == POLICY_RECURRING_REPLACE;
}

static const char *check_no_repair_without_evidence_of_this_boot(struct world *w, const struct policy_plan *plan)
{
    for (size_t i = 0; i < w->snapshot.node_count; i++) {
        const struct policy_node *node = &w->plain[i];
        size_t older = 0;
        for (size_t k = 0; k < node->verdict_count; k++)
            older += !is_of_this_boot(node, node->verdicts[k]);
        const struct decision *d = decision_of(plan, node->id);
        met(PREMISE_ONLY_OLDER, older > 0 && older == node->verdict_count && d != NULL);
        if (d == NULL || !is_repair(d) || is_request(d))
            continue;
        met(PREMISE_OTHER_BOOT, older > 0 && d->evidence_count > 0);
        bool unheard = strcmp(d->code, "unreachable") == 0;
        if (unheard && !met(PREMISE_ITS_OWN_EVIDENCE, is_unheard(w, node)))
            return "a repair of a node that is heard";
        if (d->evidence_count == 0 && !unheard && !met(PREMISE_KNOWN_PIECE, has_known_piece(w, node)))
            return "a repair without evidence";
        for (int k = 0; k < d->evidence_count && k < DECISION_EVIDENCE_MAX; k++) {
            const struct verdict *v = verdict_of(node, d->evidence[k]);
            if (v == NULL || !is_of_this_boot(node, v))
                return "a repair for evidence of another boot, machine or node";
        }
    }
    return NULL;
}

static const char *check_no_repair_of_what_others_hold(struct world *w, const struct policy_plan *plan)
{
    bool marked = w->snapshot.group.recovery == NODE_RECOVERY_NONE;
    for (size_t i = 0; i < w->snapshot.node_count; i++) {
        const struct policy_node *node = &w->plain[i];
        const struct decision *d = decision_of(plan, node->id);
        bool fault = has_fault(w, node),
             downed = node->state == NODE_STATE_FAILED || node->state == NODE_STATE_REPAIRING;
        met(PREMISE_OPTED_OUT, fault && node->opted_out);
        met(PREMISE_PAUSED, fault && node->paused_why[0] != '\0');
        met(PREMISE_EXTERNAL_DRAIN, fault && node->external_drain);
        met(PREMISE_RECOVERY_NONE, fault && marked);
        met(PREMISE_DOWNED, fault && downed);
        bool takes_away =
            d != NULL && !is_request(d) && (is_repair(d) || d->action == ACTION_HOLD || d->action == ACTION_SUPPORT);
        if (takes_away && (node->opted_out || node->paused_why[0] != '\0' || node->external_drain || marked || downed))
            return "a node is taken that is not ours to touch";
    }
    return NULL;
}

static const char *check_one_repair_per_node(struct world *w, const struct policy_plan *plan)
{
    for (size_t i = 0; i < w->snapshot.node_count; i++) {
        const struct policy_node *node = &w->plain[i];
        const struct decision *d = decision_of(plan, node->id);
        met(PREMISE_BUSY, node->has_active_operation && has_fault(w, node));
        met(PREMISE_REQUEST_BUSY, node->has_active_operation && node->request != POLICY_REQUEST_NONE);
        if (node->has_active_operation && d != NULL && is_repair(d))
            return "a repair beside an operation";
    }
    return NULL;
}

/* Which of a node's two GPUs a name means; the name itself where its hardware is not known. */
static const char *piece_of(const struct policy_node *node, const char *device)
{
    static const char *const names[][3] = {{"0000:19:00", "gpu0", "GPU-a"}, {"0000:b9:00", "gpu1", "GPU-b"}};
    for (size_t i = 0; i < ARRAY_LEN(names) && node->hardware_count > 0; i++)
        for (size_t k = 0; k < ARRAY_LEN(names[i]); k++)
            if (strcmp(names[i][k], device) == 0)
                return names[i][0];
    return device;
}

/* Our own of the last seven days: reboots of this machine for this device, or of this slot's replacements. */
static int attempts(const struct policy_node *node, enum operation_kind kind, const char *device, bool *ret_alias)
{
    int count = 0;
    *ret_alias = false;
    for (size_t i = 0; i < node->repair_count; i++) {
        const struct policy_repair *repair = &node->repairs[i];
        bool here = strcmp(repair->instance_id, node->instance_id) == 0 || repair->same_piece;
        bool counts = kind == OPERATION_KIND_REPLACE
                          ? repair->node == NULL
                          : here && strcmp(piece_of(node, repair->device), piece_of(node, device)) == 0;
        if (repair->kind != kind || repair->by_person || NOW - repair->at > 7 * 24 * 60 * MINUTE || !counts)
            continue;
        count++;
        *ret_alias |= strcmp(repair->device, device) != 0;
    }
    return count;
}

static const char *check_attempts_are_bounded(struct world *w, const struct policy_plan *plan)
{
    const struct policy_settings *settings = &w->snapshot.settings;
    for (size_t i = 0; i < plan->count; i++) {
        const struct decision *d = &plan->decisions[i];
        const struct policy_node *node = node_of(w, d->node_id);
        bool alias, ignored;
        int resets = attempts(node, OPERATION_KIND_RESET, d->device, &ignored);
        int reboots = attempts(node, OPERATION_KIND_REBOOT, d->device, &alias);
        int replaces = attempts(node, OPERATION_KIND_REPLACE, d->device, &ignored);
        bool gone = reboots >= settings->reboots_max && reboots > 0 && wants_repair(d);
        if (is_request(d))
            continue;
        met(PREMISE_LAST_RESET, d->action == ACTION_RESET && resets == settings->resets_max - 1);
        met(PREMISE_RESETS_GONE, resets > 0 && resets >= settings->resets_max && d->action == ACTION_REBOOT);
        met(PREMISE_LAST_REBOOT, d->action == ACTION_REBOOT && reboots == settings->reboots_max - 1);
        met(PREMISE_REBOOTS_GONE, gone && d->action == ACTION_REPLACE);
        met(PREMISE_REBOOTS_OF_ALIAS, gone && alias);
        met(PREMISE_LAST_REPLACE, d->action == ACTION_REPLACE && replaces == settings->replaces_max - 1);
        met(PREMISE_REPLACES_GONE, replaces > 0 && replaces >= settings->replaces_max && d->action == ACTION_SUPPORT);
        if (d->action == ACTION_RESET && (resets >= settings->resets_max || !node->can_reset || d->device[0] == '\0'))
            return "one reset too many for a device, or one that nobody offers";
        if (node->resumes_elsewhere && fault_class_of(d->code) != FAULT_CLASS_APPLICATION &&
            (d->action == ACTION_RESET || (d->action == ACTION_REBOOT && d->rule != RULE_REBOOT_FOR_NOW)))
            return "a node that is always replaced is reset or rebooted";
        if (d->action == ACTION_REBOOT && reboots >= settings->reboots_max)
            return "one reboot too many for a device";
        if (d->action == ACTION_REPLACE && replaces >= settings->replaces_max)
            return "one replacement too many for a slot";
    }
    return NULL;
}

static const char *check_modes_are_kept(struct world *w, const struct policy_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct decision *d = &plan->decisions[i];
        enum repair_mode mode = w->snapshot.settings.modes[d->fault];
        bool takes_away = is_repair(d) || d->action == ACTION_HOLD || d->action == ACTION_SUPPORT;
        bool would = d->refused == ACTION_REBOOT || d->refused == ACTION_REPLACE;
        if (is_request(d))
            continue;
        met(PREMISE_OBSERVED, mode == REPAIR_MODE_OBSERVE && would && d->rule == RULE_MODE_OBSERVE);
        met(PREMISE_RECOMMENDED, mode == REPAIR_MODE_RECOMMEND && would && d->rule == RULE_MODE_RECOMMEND);
        if (takes_away && (mode == REPAIR_MODE_OBSERVE || mode == REPAIR_MODE_RECOMMEND))
            return "a node is taken for a fault of which only is said what would be done";
    }
    return NULL;
}

/* Of one device any code is the same trouble; an approval to a replacement is one to the reboot in its stead. */
static bool is_asked(const struct policy_node *node, const struct decision *d, enum action action)
{
    const struct policy_approval *asked = &node->approval;
    return asked->action == action && strcmp(asked->device, d->device) == 0 &&
           (d->device[0] != '\0' || strcmp(asked->code, d->code) == 0);
}

static const char *check_nothing_without_a_yes(struct world *w, const struct policy_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct decision *d = &plan->decisions[i];
        const struct policy_node *node = node_of(w, d->node_id);
        const struct policy_approval *asked = &node->approval;
        if (is_request(d) || w->snapshot.settings.modes[d->fault] != REPAIR_MODE_APPROVE)
            continue;
        bool yes = asked->state == APPROVAL_STATE_APPROVED, in_time = NOW < asked->expires_at;
        enum action wanted = is_repair(d) && d->rule != RULE_REBOOT_FOR_NOW ? d->action : d->refused;
        bool same = asked->action != ACTION_NONE && is_asked(node, d, wanted);
        bool waits = d->action == ACTION_HOLD && is_approval(d);
        met(PREMISE_NO_YES, waits);
        met(PREMISE_YES_FOR_OTHERS, waits && yes && in_time && !same);
        met(PREMISE_YES_RAN_OUT, waits && yes && !in_time && same);
        met(PREMISE_SAID_NO, waits && asked->state == APPROVAL_STATE_REJECTED && same);
        if (is_repair(d) && !met(PREMISE_YES, yes && in_time && same))
            return "a repair without a person's approval for just this";
    }
    return NULL;
}

/* Whatever is weaker or stronger has its reason, too, and none is told twice. */
static bool are_alternatives_told(const struct decision *d)
{
    struct alternative told[ALTERNATIVES_MAX];
    size_t count = decision_alternatives(d, told);
    unsigned seen = 1U << (d->action == ACTION_NONE ? ACTION_WATCH : d->action);
    for (size_t i = 0; i < count; i++) {
        if (told[i].why[0] == '\0' || (i > 0 && (seen & 1U << told[i].action) != 0))
            return false;
        seen |= 1U << told[i].action;
    }
    const unsigned all = 1U << ACTION_WATCH | 1U << ACTION_REBOOT | 1U << ACTION_REPLACE | 1U << ACTION_SUPPORT;
    return (seen & all) == all;
}

static const char *check_decision_told(const struct decision *d)
{
    bool failed = false;
    for (int gate = 0; gate < GATE_COUNT; gate++)
        failed |= d->gates[gate].result == GATE_RESULT_FAILED;
    if (d->rule == RULE_NONE || d->sentence[0] == '\0' || d->table_version[0] == '\0' || d->at != NOW)
        return "an untold decision";
    if (!is_repair(d) && d->refused_why[0] == '\0')
        return "nothing is done, and it is not said why not";
    if (!are_alternatives_told(d))
        return "an alternative without a reason, or told twice";
    bool asks = is_approval(d); /* waits for a person, not for a time */
    met(PREMISE_HELD, d->action == ACTION_HOLD && !asks);
    met(PREMISE_QUIET, d->evidence_count > 0 && (d->action == ACTION_NONE || d->action == ACTION_WATCH));
    if (d->action == ACTION_HOLD && !asks && d->retry_at <= NOW)
        return "a hold without a time";
    bool less = d->rule == RULE_REBOOT_FOR_NOW; /* what stood behind the gate was more */
    return failed && is_repair(d) && !less ? "a repair behind a failed gate" : NULL;
}

/* Who is judged and has something open, or is silent, is not passed over. */
static const char *check_every_non_action_is_explained(struct world *w, const struct policy_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const char *wrong = check_decision_told(&plan->decisions[i]);
        if (wrong != NULL)
            return wrong;
    }
    for (size_t i = 0; i < w->snapshot.node_count; i++) {
        const struct policy_node *node = &w->plain[i];
        bool judged =
            (node->state == NODE_STATE_READY || node->state == NODE_STATE_HELD) && !node->has_active_operation;
        bool silent =
            node->last_heartbeat_at > 0 && NOW - node->last_heartbeat_at >= w->snapshot.settings.silent_after_ms;
        met(PREMISE_SILENT, judged && silent);
        if (judged && (node->verdict_count > 0 || silent) && decision_of(plan, node->id) == NULL)
            return "open evidence or silence, and no word about it";
    }
    return NULL;
}

/* How far up the ladder: what is held, marked or done without counts as what it is held back from. */
static int rung(const struct decision *d)
{
    static const int rungs[] = {[ACTION_NONE] = 0,  [ACTION_WATCH] = 0,  [ACTION_MARK] = 0,    [ACTION_HOLD] = 0,
                                [ACTION_RESET] = 1, [ACTION_REBOOT] = 2, [ACTION_REPLACE] = 3, [ACTION_SUPPORT] = 4};
    bool kept = d->action == ACTION_HOLD || d->action == ACTION_MARK || d->rule == RULE_REBOOT_FOR_NOW ||
                d->rule == RULE_ENOUGH_ARE_OUT || d->rule == RULE_SHARED_BY_MANY;
    return rungs[kept ? d->refused : d->action];
}

/* Leaves of what a node shows what is of this device; the pieces of one node are weighed against each other, and another's turn
 * may come. */
static void leave_only(const struct world_node *n, struct policy_node *node, const char *device,
                       const struct verdict **refs)
{
    size_t count = 0;
    for (size_t i = 0; i < node->verdict_count; i++)
        if (strcmp(piece_of(node, n->refs[i]->device), piece_of(node, device)) == 0)
            refs[count++] = n->refs[i];
    node->verdicts = refs;
    node->verdict_count = count;
}

static int rung_of(const struct world *w, int64_t node_id)
{
    struct policy_plan plan;
    world_decide(&w->snapshot, &plan);
    const struct decision *d = decision_of(&plan, node_id);
    int at = d == NULL ? -1 : rung(d);
    policy_plan_free(&plan);
    return at;
}

/* One more attempt in the ledger never leads to less for its device. That a lemon is a person's is the site's word in place of a
 * reboot, and no rung: what comes back after one goes on from there. */
static const char *check_escalation_is_monotone(struct world *w, const struct policy_plan *plan)
{
    static const enum operation_kind kinds[] = {OPERATION_KIND_RESET, OPERATION_KIND_REBOOT, OPERATION_KIND_REPLACE};
    w->snapshot.settings.lemon_score = 0;
    for (size_t i = 0; i < w->snapshot.node_count; i++) {
        struct policy_node *node = &w->plain[i], whole = *node;
        const struct verdict *refs[VERDICTS_MAX];
        const struct decision *d = decision_of(plan, node->id);
        if (d == NULL || is_request(d))
            continue;
        leave_only(&w->nodes[i], node, d->device, refs);
        int before = rung_of(w, node->id);
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
            w->nodes[i].repairs[node->repair_count++] = (struct policy_repair){.kind = kinds[k],
                                                                               .instance_id = node->instance_id,
                                                                               .new_instance = "",
                                                                               .error = "",
                                                                               .finished_at = NOW - 2 * MINUTE,
                                                                               .device = d->device,
                                                                               .code = d->code,
                                                                               .at = NOW - 3 * MINUTE,
                                                                               .succeeded = true};
            int after = rung_of(w, node->id);
            node->repair_count--;
            met(PREMISE_RESET_TO_MORE, before == 1 && after == 2);
            met(PREMISE_REBOOT_TO_MORE, before == 2 && after == 3);
            met(PREMISE_REPLACE_TO_MORE, before == 3 && after == 4);
            if (after < before)
                return "one more attempt leads to less";
        }
        *node = whole;
    }
    return NULL;
}

/* A machine that did not come back from a reboot, or has a known piece, is replaced or shown to a person whatever is seen now. */
static bool has_past(const struct policy_node *node)
{
    for (size_t i = 0; i < node->repair_count; i++)
        if (node->repairs[i].no_return || node->repairs[i].same_piece)
            return true;
    return false;
}

static const char *check_applications_cost_no_node(struct world *w, const struct policy_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct decision *d = &plan->decisions[i];
        bool quiet = d->action == ACTION_NONE || d->action == ACTION_WATCH;
        bool waits = d->action == ACTION_HOLD || d->action == ACTION_MARK;
        bool rated = strcmp(d->code, "xid.8") == 0;
        bool lost = strcmp(d->code, "unreachable") == 0;
        met(PREMISE_PROGRAM_REBOOTS, rated && d->action == ACTION_REBOOT);
        bool replaces = d->action == ACTION_REPLACE || (waits && d->refused == ACTION_REPLACE);
        if (!quiet && !(rated && !replaces) && !is_request(d) && !lost && !has_past(node_of(w, d->node_id)))
            return "a program's fault costs its node";
    }
    return NULL;
}

/* What the limits of a group say, which see all of its nodes. */
static bool is_of_the_limits(const struct decision *d)
{
    static const enum decision_rule rules[] = {
        RULE_BREAKER_HOLD,   RULE_MIN_HEALTHY_HOLD, RULE_CLASS_BUDGET_HOLD, RULE_BUDGET_HOLD, RULE_CAPACITY_HOLD,
        RULE_SPARES_HOLD,    RULE_PROTECTED_HOLD,   RULE_REBOOT_FOR_NOW,    RULE_WINDOW_HOLD, RULE_SPACING_HOLD,
        RULE_SHARED_BY_MANY, RULE_ENOUGH_ARE_OUT,   RULE_MANY_SILENT};
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (d->rule == rules[i])
            return true;
    return false;
}

/* Each node decided alone in an empty, closed group says the same, but for what the limits held back. */
static const char *check_nodes_are_alone(struct world *w, const struct policy_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct decision *d = &plan->decisions[i];
        struct policy_snapshot alone = w->snapshot;
        alone.nodes = node_of(w, d->node_id);
        alone.node_count = 1;
        alone.group.in_repair = alone.group.failed_recently = alone.group.breaker_opened_at = 0;
        memset(alone.group.in_repair_of, 0, sizeof(alone.group.in_repair_of));
        alone.group.machine_capacity = (struct machine_capacity){0};
        alone.group.last_repair_at = alone.settings.not_during.count = 0;
        alone.settings.spares_min = 0;
        alone.group.healthy_elsewhere = alone.group.desired;
        alone.group.missed = (struct policy_missed){0};
        alone.settings.min_healthy_percent = alone.settings.min_healthy_count = 0;
        struct policy_plan one;
        world_decide(&alone, &one);
        bool limited = is_of_the_limits(d);
        bool same = one.count == 1 && one.decisions[0].action == (limited ? d->refused : d->action) &&
                    strcmp(one.decisions[0].code, d->code) == 0;
        policy_plan_free(&one);
        if (!same)
            return "a node depends on its neighbours";
    }
    return NULL;
}

static size_t laws_tried;
#define PROPERTY(name, only_applications)                \
    static void name(void **state)                       \
    {                                                    \
        (void)state;                                     \
        laws_tried++;                                    \
        for_each_world(only_applications, check_##name); \
    }
PROPERTY(never_more_than_the_budget, false)
PROPERTY(never_more_than_the_class_has, false)
PROPERTY(never_under_the_minimum, false)
PROPERTY(nothing_is_replaced_without_a_successor, false)
PROPERTY(hours_and_spacing, false)
PROPERTY(no_repair_without_evidence_of_this_boot, false)
PROPERTY(no_repair_of_what_others_hold, false)
PROPERTY(nobody_is_repaired_under_maintenance, false)
PROPERTY(silence_alone_ends_nothing_where_most_is_silent, false)
PROPERTY(a_persons_turn_is_not_ended_by_a_boot, false)
PROPERTY(no_repair_under_a_persons_hands, false)
PROPERTY(what_lasts_is_not_watched_for_ever, false)
PROPERTY(one_repair_per_node, false)
PROPERTY(attempts_are_bounded, false)
PROPERTY(modes_are_kept, false)
PROPERTY(nothing_without_a_yes, false)
PROPERTY(escalation_is_monotone, false)
PROPERTY(same_input_same_plan, false)
PROPERTY(order_is_irrelevant, false)
PROPERTY(every_non_action_is_explained, false)
PROPERTY(one_decision_per_node, false)
PROPERTY(nodes_are_alone, false)
PROPERTY(applications_cost_no_node, true)

/* One world alone need not hold them all. */
static void none_is_vacuous(void **state)
{
    static const char *const premises[] = {
#define X(SYMBOL, text) text,
        PREMISE_LIST(X)
#undef X
    };
    (void)state;
    if (getenv("PROPERTY_SEED") != NULL)
        skip();
    size_t never = 0;
    for (int i = 0; i < PREMISE_COUNT; i++) {
        if (getenv("PROPERTY_PREMISES") != NULL)
            print_message("%8zu  %s\n", met_times[i], premises[i]);
        if (met_times[i] == 0)
            print_error("never: %s\n", premises[i]);
        never += met_times[i] == 0;
    }
    assert_int_equal(never, 0);
}

/* Each law fails under a policy that breaks it: it is no law that holds whatever is decided. */
static void each_law_can_fail(void **state)
{
    static const struct {
        const char *name;
        check_fn check;
        void (*broken)(const struct policy_snapshot *snapshot, struct policy_plan *plan);
        bool only_applications;
    } laws[] = {
#define LAW(name, broken) {#name, check_##name, broken_##broken, false}
        LAW(never_more_than_the_budget, does_what_it_refused),
        LAW(never_more_than_the_class_has, does_what_it_refused),
        LAW(never_under_the_minimum, does_what_it_refused),
        LAW(nothing_is_replaced_without_a_successor, does_what_it_refused),
        LAW(hours_and_spacing, does_what_it_refused),
        LAW(no_repair_without_evidence_of_this_boot, forges_evidence),
        LAW(no_repair_of_what_others_hold, does_what_it_refused),
        LAW(nobody_is_repaired_under_maintenance, does_what_it_refused),
        LAW(silence_alone_ends_nothing_where_most_is_silent, does_what_it_refused),
        LAW(a_persons_turn_is_not_ended_by_a_boot, only_watches),
        LAW(no_repair_under_a_persons_hands, does_what_it_refused),
        LAW(what_lasts_is_not_watched_for_ever, only_watches),
        LAW(one_repair_per_node, does_what_it_refused),
        LAW(attempts_are_bounded, does_what_it_refused),
        LAW(modes_are_kept, does_what_it_refused),
        LAW(nothing_without_a_yes, does_what_it_refused),
        LAW(escalation_is_monotone, forgets_attempts),
        LAW(same_input_same_plan, changes_its_mind),
        LAW(order_is_irrelevant, goes_by_order),
        LAW(every_non_action_is_explained, says_nothing),
        LAW(one_decision_per_node, says_it_twice),
        LAW(nodes_are_alone, looks_at_neighbours),
        {"applications_cost_no_node", check_applications_cost_no_node, broken_replaces_everything, true},
#undef LAW
    };
    (void)state;
    if (getenv("PROPERTY_SEED") != NULL)
        skip();
    size_t deaf = 0;
    for (size_t i = 0; i < ARRAY_LEN(laws); i++)
        if (!broken_is_caught(laws[i].only_applications, laws[i].check, laws[i].broken)) {
            print_error("holds whatever is decided: %s\n", laws[i].name);
            deaf++;
        }
    assert_int_equal(deaf, 0);
    assert_int_equal(ARRAY_LEN(laws), laws_tried);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_more_than_the_budget),
        cmocka_unit_test(never_more_than_the_class_has),
        cmocka_unit_test(never_under_the_minimum),
        cmocka_unit_test(nothing_is_replaced_without_a_successor),
        cmocka_unit_test(hours_and_spacing),
        cmocka_unit_test(no_repair_without_evidence_of_this_boot),
        cmocka_unit_test(no_repair_of_what_others_hold),
        cmocka_unit_test(nobody_is_repaired_under_maintenance),
        cmocka_unit_test(silence_alone_ends_nothing_where_most_is_silent),
        cmocka_unit_test(a_persons_turn_is_not_ended_by_a_boot),
        cmocka_unit_test(no_repair_under_a_persons_hands),
        cmocka_unit_test(what_lasts_is_not_watched_for_ever),
        cmocka_unit_test(one_repair_per_node),
        cmocka_unit_test(attempts_are_bounded),
        cmocka_unit_test(modes_are_kept),
        cmocka_unit_test(nothing_without_a_yes),
        cmocka_unit_test(escalation_is_monotone),
        cmocka_unit_test(same_input_same_plan),
        cmocka_unit_test(order_is_irrelevant),
        cmocka_unit_test(every_non_action_is_explained),
        cmocka_unit_test(one_decision_per_node),
        cmocka_unit_test(nodes_are_alone),
        cmocka_unit_test(applications_cost_no_node),
        cmocka_unit_test(none_is_vacuous),
        cmocka_unit_test(each_law_can_fail), /* last: it counts premises of policies that are none */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
