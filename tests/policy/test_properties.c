/*
 * What must hold for every snapshot, tried on thousands of made-up ones. The generator is seeded, so a failure names its seed and
 * comes again; what fails is made as small as it can be and printed as a golden case.
 *
 *     PROPERTY_SEEDS=1000000 build/tests/policy/test_properties      tries more than make check does
 *     PROPERTY_SEED=4711 build/tests/policy/test_properties          tries one
 */
#include "base/own.h"
#include "base/text.h"
#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>

#define NOW INT64_C(1795176000000)
#define NODES_MAX 12
#define VERDICTS_MAX 6
#define REPAIRS_MAX 3
#define WORLDS 3000
#define MINUTE INT64_C(60000)

struct world_node {
    char name[16], instance[16], boot[16];
    struct verdict verdicts[VERDICTS_MAX];
    const struct verdict *refs[VERDICTS_MAX];
    struct policy_repair repairs[REPAIRS_MAX + 1]; /* one more than is made, for what a property adds */
    bool elsewhere[REPAIRS_MAX + 1];               /* of an earlier instance */
};

struct world {
    uint64_t state;
    struct world_node nodes[NODES_MAX];
    struct policy_node plain[NODES_MAX];
    struct policy_snapshot snapshot;
    bool only_applications;
};

static uint64_t draw(struct world *w)
{
    w->state ^= w->state << 13;
    w->state ^= w->state >> 7;
    w->state ^= w->state << 17;
    return w->state;
}

static int64_t below(struct world *w, int64_t limit)
{
    return (int64_t)(draw(w) % (uint64_t)limit);
}

static bool chance(struct world *w, int percent)
{
    return below(w, 100) < percent;
}

static const char *const devices[] = {"0000:19:00", "0000:b9:00", ""};
/* Programs alone. The last two have a rate that may end in a reboot, the others have none that ends in a repair. */
static const char *const application_codes[] = {"xid.13", "xid.31", "xid.43", "xid.68", "xid.137",
                                                "xid.45", "xid.11", "xid.8",  "xid.32"};
static const char *const codes[] = {"xid.79",  "xid.48",     "xid.63",  "xid.64", "xid.31",
                                    "xid.45",  "xid.8",      "xid.119", "xid.74", "xid.154",
                                    "xid.163", "sxid.20034", "xid.162", "xid.78", "xid.999"};
static const char *const driver_words[] = {"0x0 (None)", "0x1 (GPU Reset Required)", "0x2 (Node Reboot Required)",
                                           "0x4 (Drain and Reset)", "0x9 (New)"};

static void make_verdict(struct world *w, struct world_node *n, struct verdict *v, int64_t id)
{
    const char *code = w->only_applications ? application_codes[below(w, ARRAY_LEN(application_codes))]
                                            : codes[below(w, ARRAY_LEN(codes))];
    *v = (struct verdict){
        .id = id, .count = 1 + below(w, 5), .severity = SEVERITY_CRITICAL, .state = VERDICT_STATE_OPEN};
    text_copy_cut(v->code, sizeof(v->code), code);
    text_copy_cut(v->source, sizeof(v->source), "kmsg");
    text_copy_cut(v->device, sizeof(v->device), devices[below(w, ARRAY_LEN(devices))]);
    text_copy_cut(v->instance_id, sizeof(v->instance_id), chance(w, 10) ? "i-other" : n->instance);
    text_copy_cut(v->boot_id, sizeof(v->boot_id), chance(w, 10) ? "b-other" : n->boot);
    v->first_at = NOW - below(w, 600 * MINUTE);
    v->last_at = v->first_at + below(w, 2 * MINUTE);
    v->received_at = v->last_at;
    if (strcmp(code, "xid.154") == 0)
        snprintf(v->raw_line, sizeof(v->raw_line),
                 "NVRM: Xid (PCI:0000:b9:00): 154, GPU recovery action changed from 0x0 (None) to %s",
                 driver_words[below(w, ARRAY_LEN(driver_words))]);
}

static void make_repairs(struct world *w, struct world_node *n, struct policy_node *p)
{
    p->repair_count = (size_t)below(w, REPAIRS_MAX + 1);
    for (size_t k = 0; k < p->repair_count; k++) {
        n->elsewhere[k] = chance(w, 20);
        n->repairs[k] = (struct policy_repair){.kind = chance(w, 70) ? OPERATION_KIND_REBOOT : OPERATION_KIND_REPLACE,
                                               .device = devices[below(w, ARRAY_LEN(devices))],
                                               .code = codes[below(w, ARRAY_LEN(codes))],
                                               .at = NOW - below(w, 15000 * MINUTE),
                                               .succeeded = chance(w, 80),
                                               .by_person = chance(w, 20)};
        n->repairs[k].no_return = !n->repairs[k].succeeded && chance(w, 50);
    }
}

/* What some nodes wait for. */
static const struct policy_incident dark_rack = {
    .id = 1, .level = TOPOLOGY_LEVEL_RACK, .domain = "r1", .started_at = NOW - 20 * MINUTE, .nodes = 4};

static void make_node(struct world *w, size_t i)
{
    static const enum node_state states[] = {NODE_STATE_READY,     NODE_STATE_READY,     NODE_STATE_HELD,
                                             NODE_STATE_VERIFYING, NODE_STATE_REPAIRING, NODE_STATE_FAILED};
    struct world_node *n = &w->nodes[i];
    struct policy_node *p = &w->plain[i];
    snprintf(n->name, sizeof(n->name), "gpu-%zu", i);
    snprintf(n->instance, sizeof(n->instance), "i-%zu", i);
    snprintf(n->boot, sizeof(n->boot), "b-%zu", i);
    *p = (struct policy_node){.id = (int64_t)i + 1};
    p->state = states[below(w, ARRAY_LEN(states))];
    p->boot_at = NOW - below(w, 2000 * MINUTE);
    p->opted_out = chance(w, 10);
    p->has_active_operation = p->state == NODE_STATE_REPAIRING || chance(w, 10);
    p->last_heartbeat_at = chance(w, 10) ? 0 : NOW - (chance(w, 15) ? below(w, 30 * MINUTE) : 1000);
    p->has_scheduler = chance(w, 95);
    p->scheduler_known = p->has_scheduler && chance(w, 90);
    p->scheduler_responding = chance(w, 60);
    p->foreign_drain = chance(w, 10);
    p->scheduler_reason = "a person's words";
    p->incident = chance(w, 10) ? &dark_rack : NULL;
    p->wish = chance(w, 5) ? POLICY_WISH_REPLACE : POLICY_WISH_NONE;
    p->verdict_count = (size_t)below(w, VERDICTS_MAX + 1);
    for (size_t k = 0; k < p->verdict_count; k++)
        make_verdict(w, n, &n->verdicts[k], (int64_t)(i * VERDICTS_MAX + k) + 1);
    make_repairs(w, n, p);
}

/* The pointers of a world that was made, copied or made smaller. */
static void wire(struct world *w)
{
    w->snapshot.nodes = w->plain;
    for (size_t i = 0; i < w->snapshot.node_count; i++) {
        struct world_node *n = &w->nodes[i];
        struct policy_node *p = &w->plain[i];
        p->name = n->name;
        p->instance_id = n->instance;
        p->boot_id = n->boot;
        p->verdicts = n->refs;
        p->repairs = n->repairs;
        for (size_t k = 0; k < p->verdict_count; k++)
            n->refs[k] = &n->verdicts[k];
        for (size_t k = 0; k < p->repair_count; k++)
            n->repairs[k].instance_id = n->elsewhere[k] ? "i-other" : n->instance;
    }
}

static struct world *copy_world(const struct world *from)
{
    struct world *w = own_calloc(1, sizeof(*w));
    *w = *from;
    wire(w);
    return w;
}

static struct world *make_world(uint64_t seed, bool only_applications)
{
    struct world *w = own_calloc(1, sizeof(*w));
    w->state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    w->only_applications = only_applications;
    size_t count = 1 + (size_t)below(w, NODES_MAX);
    for (size_t i = 0; i < count; i++)
        make_node(w, i);
    w->snapshot.now_ms = NOW;
    policy_settings_default(&w->snapshot.settings);
    w->snapshot.group = (struct policy_group){.cluster = "c", .name = "g", .desired = 4 + below(w, 200)};
    w->snapshot.group.recovery = chance(w, 20) ? NODE_RECOVERY_NONE : NODE_RECOVERY_AUTOMATIC;
    w->snapshot.group.in_repair = below(w, 4);
    w->snapshot.group.failed_recently = chance(w, 30) ? below(w, 60) : 0;
    w->snapshot.group.breaker_opened_at = chance(w, 30) ? NOW - below(w, 60 * MINUTE) : 0;
    w->snapshot.group.breaker_calm_since = chance(w, 50) ? NOW - below(w, 30 * MINUTE) : 0;
    w->snapshot.node_count = count;
    wire(w);
    return w;
}

static bool is_repair(const struct decision *d)
{
    return d->action == ACTION_REBOOT || d->action == ACTION_REPLACE;
}

static bool is_request(const struct decision *d)
{
    return strcmp(d->rule, "operator-request") == 0;
}

static const struct policy_node *node_of(const struct world *w, int64_t id)
{
    for (size_t i = 0; i < w->snapshot.node_count; i++)
        if (w->plain[i].id == id)
            return &w->plain[i];
    return NULL;
}

static const struct decision *decision_of(const struct policy_plan *plan, int64_t node_id)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->decisions[i].node_id == node_id)
            return &plan->decisions[i];
    return NULL;
}

/* --- trying, making smaller, printing --------------------------------------------------------------------------- */

/* What is wrong with the plan; NULL: nothing. It may change the world, which is its own copy. */
typedef const char *(*check_fn)(struct world *w, const struct policy_plan *plan);

static const char *try_world(const struct world *from, check_fn check)
{
    struct world *w = copy_world(from);
    struct policy_plan plan;
    policy_decide(&w->snapshot, &plan);
    const char *wrong = check(w, &plan);
    policy_plan_free(&plan);
    free(w);
    return wrong;
}

static void remove_node(struct world *w, size_t at)
{
    size_t left = --w->snapshot.node_count - at;
    memmove(&w->nodes[at], &w->nodes[at + 1], left * sizeof(w->nodes[0]));
    memmove(&w->plain[at], &w->plain[at + 1], left * sizeof(w->plain[0]));
}

static void remove_verdict(struct world *w, size_t node, size_t at)
{
    size_t left = --w->plain[node].verdict_count - at;
    memmove(&w->nodes[node].verdicts[at], &w->nodes[node].verdicts[at + 1], left * sizeof(struct verdict));
}

static void remove_repair(struct world *w, size_t node, size_t at)
{
    size_t left = --w->plain[node].repair_count - at;
    memmove(&w->nodes[node].repairs[at], &w->nodes[node].repairs[at + 1], left * sizeof(struct policy_repair));
    memmove(&w->nodes[node].elsewhere[at], &w->nodes[node].elsewhere[at + 1], left * sizeof(bool));
}

/* Leaves out the number-th of all nodes, verdicts and repairs. False: there are not so many. */
static bool leave_out(struct world *w, size_t number)
{
    for (size_t i = 0; i < w->snapshot.node_count; i++) {
        if (number-- == 0)
            return remove_node(w, i), true;
        for (size_t k = 0; k < w->plain[i].verdict_count; k++)
            if (number-- == 0)
                return remove_verdict(w, i, k), true;
        for (size_t k = 0; k < w->plain[i].repair_count; k++)
            if (number-- == 0)
                return remove_repair(w, i, k), true;
    }
    return false;
}

static struct world *make_smaller(struct world *w, check_fn check)
{
    for (size_t number = 0;;) {
        struct world *less = copy_world(w);
        bool any = leave_out(less, number);
        wire(less);
        bool fails = any && try_world(less, check) != NULL;
        if (fails) {
            free(w);
            w = less;
            number = 0;
            continue;
        }
        free(less);
        if (!any)
            return w;
        number++;
    }
}

static void print_time(const char *name, int64_t at)
{
    print_error(" %s=%lldms", name, (long long)(at - NOW));
}

static void print_node(const struct world_node *n, const struct policy_node *p)
{
    print_error("node %s instance=%s boot=%s state=%s", n->name, n->instance, n->boot,
                sm_text(&node_state_machine, (int)p->state));
    print_time("boot_at", p->boot_at);
    if (p->last_heartbeat_at > 0)
        print_time("heartbeat", p->last_heartbeat_at);
    print_error("%s scheduler=%s%s%s%s", p->last_heartbeat_at > 0 ? "" : " heartbeat=never",
                !p->has_scheduler         ? "none"
                : !p->scheduler_known     ? "unknown"
                : p->scheduler_responding ? "hears"
                                          : "deaf",
                p->opted_out ? " opted_out" : "", p->has_active_operation ? " busy" : "",
                p->foreign_drain ? " drain=\"a person's words\"" : "");
    if (p->incident != NULL)
        print_error(" rack=%s", p->incident->domain);
    print_error("%s\n", p->wish == POLICY_WISH_REPLACE ? " wish=replace" : "");
    for (size_t k = 0; k < p->verdict_count; k++) {
        const struct verdict *v = &n->verdicts[k];
        print_error("  verdict %s %s instance=%s boot=%s count=%lld", v->code, v->device[0] != '\0' ? v->device : "-",
                    v->instance_id, v->boot_id, (long long)v->count);
        print_time("at", v->first_at);
        print_time("until", v->last_at);
        print_error(v->raw_line[0] != '\0' ? "\n  line %s\n" : "\n", v->raw_line);
    }
    for (size_t k = 0; k < p->repair_count; k++) {
        const struct policy_repair *r = &n->repairs[k];
        print_error("  repair %s %s %s instance=%s%s%s", operation_kind_text(r->kind),
                    r->device[0] != '\0' ? r->device : "-", r->code, r->instance_id, r->by_person ? " by_person" : "",
                    r->no_return    ? " no_return"
                    : !r->succeeded ? " failed"
                                    : "");
        print_time("at", r->at);
        print_error("\n");
    }
}

/* As a golden case: what is missing is the story, and what the policy should say. */
static void print_world(const struct world *w, uint64_t seed, const char *wrong)
{
    const struct policy_group *group = &w->snapshot.group;
    print_error("story: %s\nsource: PROPERTY_SEED=%llu, made smaller\ngroup: desired=%lld recovery=%s in_repair=%lld "
                "failed=%lld",
                wrong, (unsigned long long)seed, (long long)group->desired, node_recovery_text(group->recovery),
                (long long)group->in_repair, (long long)group->failed_recently);
    if (group->breaker_opened_at > 0)
        print_time("opened", group->breaker_opened_at);
    if (group->breaker_calm_since > 0)
        print_time("calm", group->breaker_calm_since);
    print_error("\n");
    for (size_t i = 0; i < w->snapshot.node_count; i++)
        print_node(&w->nodes[i], &w->plain[i]);
    print_error("expect\n");
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    int64_t number = 0;
    return text != NULL && text_parse_i64(text, 1, INT64_MAX, &number) == 0 ? (uint64_t)number : otherwise;
}

static void for_each_world(bool only_applications, check_fn check)
{
    uint64_t from = number_of("PROPERTY_SEED", 1), to = number_of("PROPERTY_SEED", number_of("PROPERTY_SEEDS", WORLDS));
    for (uint64_t seed = from; seed <= to; seed++) {
        struct world *w = make_world(seed, only_applications);
        const char *wrong = try_world(w, check);
        if (wrong != NULL) {
            w = make_smaller(w, check);
            print_world(w, seed, wrong);
        }
        free(w);
        if (wrong != NULL)
            fail_msg("seed %llu: %s", (unsigned long long)seed, wrong);
    }
}

/* --- the properties --------------------------------------------------------------------------------------------- */

static bool is_same_plan(const struct policy_plan *a, const struct policy_plan *b)
{
    return a->count == b->count && a->breaker_opens == b->breaker_opens && a->breaker_closes == b->breaker_closes &&
           memcmp(a->decisions, b->decisions, a->count * sizeof(a->decisions[0])) == 0;
}

static const char *check_same_input_same_plan(struct world *w, const struct policy_plan *plan)
{
    struct policy_plan again;
    policy_decide(&w->snapshot, &again);
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
        shuffle(w, w->nodes[i].refs, w->plain[i].verdict_count, sizeof(w->nodes[i].refs[0]));
        shuffle(w, w->nodes[i].repairs, w->plain[i].repair_count, sizeof(w->nodes[i].repairs[0]));
    }
    shuffle(w, w->plain, w->snapshot.node_count, sizeof(w->plain[0]));
    struct policy_plan other;
    policy_decide(&w->snapshot, &other);
    bool same = is_same_plan(plan, &other);
    policy_plan_free(&other);
    return same ? NULL : "the order of the input matters";
}

static const char *check_never_more_than_the_budget(struct world *w, const struct policy_plan *plan)
{
    const struct policy_group *group = &w->snapshot.group;
    int64_t repairs = 0, limit = group->desired * w->snapshot.settings.budget_percent / 100;
    bool open = (group->breaker_opened_at > 0 || plan->breaker_opens) && !plan->breaker_closes;
    for (size_t i = 0; i < plan->count; i++)
        repairs += is_repair(&plan->decisions[i]) && !is_request(&plan->decisions[i]);
    limit = limit < 1 ? 1 : limit;
    if (repairs > 0 && open)
        return "a repair while the breaker is open";
    if (repairs > 0 && group->in_repair + repairs > limit)
        return "more repairs than the budget has room for";
    return plan->breaker_opens && plan->breaker_closes ? "the breaker opens and closes at once" : NULL;
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

/* What nobody hears, and what did not come back from a reboot, is its own evidence. */
static const char *check_no_repair_without_evidence_of_this_boot(struct world *w, const struct policy_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct decision *d = &plan->decisions[i];
        const struct policy_node *node = node_of(w, d->node_id);
        if (!is_repair(d) || is_request(d) || strcmp(d->code, "unreachable") == 0)
            continue;
        if (d->evidence_count == 0)
            return "a repair without evidence";
        for (int k = 0; k < d->evidence_count && k < DECISION_EVIDENCE_MAX; k++) {
            const struct verdict *v = verdict_of(node, d->evidence[k]);
            if (v == NULL || v->state != VERDICT_STATE_OPEN || strcmp(v->instance_id, node->instance_id) != 0 ||
                strcmp(v->boot_id, node->boot_id) != 0)
                return "a repair for evidence of another boot, machine or node";
        }
    }
    return NULL;
}

static const char *check_no_repair_of_what_others_hold(struct world *w, const struct policy_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct decision *d = &plan->decisions[i];
        const struct policy_node *node = node_of(w, d->node_id);
        bool takes_away = is_repair(d) || d->action == ACTION_HOLD || d->action == ACTION_SUPPORT;
        if (is_repair(d) && node->has_active_operation)
            return "a repair beside an operation";
        if (takes_away && !is_request(d) &&
            (node->opted_out || node->foreign_drain || w->snapshot.group.recovery == NODE_RECOVERY_NONE ||
             node->state == NODE_STATE_FAILED || node->state == NODE_STATE_REPAIRING))
            return "a node is taken that is not ours to touch";
    }
    return NULL;
}

static const char *check_decision_told(const struct decision *d)
{
    bool failed = false;
    for (int gate = 0; gate < GATE_COUNT; gate++)
        failed |= d->gates[gate].result == GATE_RESULT_FAILED;
    if (d->rule[0] == '\0' || d->sentence[0] == '\0' || d->table_version[0] == '\0' || d->at != NOW)
        return "an untold decision";
    if (!is_repair(d) && d->refused_why[0] == '\0')
        return "nothing is done, and it is not said why not";
    if (d->action == ACTION_HOLD && d->retry_at <= NOW)
        return "a hold without a time";
    return failed && is_repair(d) ? "a repair behind a failed gate" : NULL;
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
        if (judged && (node->verdict_count > 0 || silent) && decision_of(plan, node->id) == NULL)
            return "open evidence or silence, and no word about it";
    }
    return NULL;
}

/* How far up the ladder: what is held or marked counts as what it is held back from. */
static int rung(const struct decision *d)
{
    static const int rungs[] = {[ACTION_NONE] = 0,   [ACTION_WATCH] = 0,   [ACTION_MARK] = 0,   [ACTION_HOLD] = 0,
                                [ACTION_REBOOT] = 1, [ACTION_REPLACE] = 2, [ACTION_SUPPORT] = 3};
    bool kept = d->action == ACTION_HOLD || d->action == ACTION_MARK;
    return rungs[kept ? d->refused : d->action];
}

/* One more attempt in the ledger never leads to less. */
static const char *check_escalation_is_monotone(struct world *w, const struct policy_plan *plan)
{
    for (size_t i = 0; i < w->snapshot.node_count; i++) {
        struct policy_node *node = &w->plain[i];
        const struct decision *d = decision_of(plan, node->id);
        if (d == NULL || is_request(d))
            continue;
        const char *device = d->device;
        for (int kind = OPERATION_KIND_REBOOT; kind <= OPERATION_KIND_REPLACE; kind++) {
            w->nodes[i].repairs[node->repair_count++] = (struct policy_repair){.kind = (enum operation_kind)kind,
                                                                               .instance_id = node->instance_id,
                                                                               .device = device,
                                                                               .code = d->code,
                                                                               .at = NOW - 3 * MINUTE,
                                                                               .succeeded = true};
            struct policy_plan more;
            policy_decide(&w->snapshot, &more);
            const struct decision *then = decision_of(&more, node->id);
            bool less = then == NULL || rung(then) < rung(d);
            policy_plan_free(&more);
            node->repair_count--;
            if (less)
                return "one more attempt leads to less";
        }
    }
    return NULL;
}

/* A machine that did not come back from a reboot is replaced, or shown to a person, whatever it was rebooted for. */
static bool may_be_lost(const struct policy_node *node)
{
    for (size_t i = 0; i < node->repair_count; i++)
        if (node->repairs[i].no_return)
            return true;
    return false;
}

static const char *check_applications_cost_no_node(struct world *w, const struct policy_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct decision *d = &plan->decisions[i];
        bool quiet = d->action == ACTION_NONE || d->action == ACTION_WATCH;
        bool waits = d->action == ACTION_HOLD || d->action == ACTION_MARK;
        bool rated = strcmp(d->code, "xid.8") == 0 || strcmp(d->code, "xid.32") == 0;
        bool lost = strcmp(d->code, "unreachable") == 0;
        bool replaces = d->action == ACTION_REPLACE || (waits && d->refused == ACTION_REPLACE);
        if (!quiet && !(rated && !replaces) && !is_request(d) && !lost && !may_be_lost(node_of(w, d->node_id)))
            return "a program's fault costs its node";
    }
    return NULL;
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
        struct policy_plan one;
        policy_decide(&alone, &one);
        bool limited = strcmp(d->rule, "budget-hold") == 0 || strcmp(d->rule, "breaker-hold") == 0;
        bool same = one.count == 1 && one.decisions[0].action == (limited ? d->refused : d->action) &&
                    strcmp(one.decisions[0].code, d->code) == 0;
        policy_plan_free(&one);
        if (!same)
            return "a node depends on its neighbours";
    }
    return NULL;
}

#define PROPERTY(name, only_applications)                \
    static void name(void **state)                       \
    {                                                    \
        (void)state;                                     \
        for_each_world(only_applications, check_##name); \
    }
PROPERTY(never_more_than_the_budget, false)
PROPERTY(no_repair_without_evidence_of_this_boot, false)
PROPERTY(no_repair_of_what_others_hold, false)
PROPERTY(escalation_is_monotone, false)
PROPERTY(same_input_same_plan, false)
PROPERTY(order_is_irrelevant, false)
PROPERTY(every_non_action_is_explained, false)
PROPERTY(one_decision_per_node, false)
PROPERTY(nodes_are_alone, false)
PROPERTY(applications_cost_no_node, true)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_more_than_the_budget),
        cmocka_unit_test(no_repair_without_evidence_of_this_boot),
        cmocka_unit_test(no_repair_of_what_others_hold),
        cmocka_unit_test(escalation_is_monotone),
        cmocka_unit_test(same_input_same_plan),
        cmocka_unit_test(order_is_irrelevant),
        cmocka_unit_test(every_non_action_is_explained),
        cmocka_unit_test(one_decision_per_node),
        cmocka_unit_test(nodes_are_alone),
        cmocka_unit_test(applications_cost_no_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
