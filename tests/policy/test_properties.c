/*
 * What must hold for every snapshot, tried on thousands of made-up ones. The generator is seeded, so a failure names
 * its seed and comes again.
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
    struct policy_repair repairs[REPAIRS_MAX];
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

static void make_node(struct world *w, size_t i)
{
    static const enum node_state states[] = {NODE_STATE_READY,     NODE_STATE_READY,     NODE_STATE_HELD,
                                             NODE_STATE_VERIFYING, NODE_STATE_REPAIRING, NODE_STATE_FAILED};
    struct world_node *n = &w->nodes[i];
    struct policy_node *p = &w->plain[i];
    snprintf(n->name, sizeof(n->name), "gpu-%zu", i);
    snprintf(n->instance, sizeof(n->instance), "i-%zu", i);
    snprintf(n->boot, sizeof(n->boot), "b-%zu", i);
    *p = (struct policy_node){.id = (int64_t)i + 1, .name = n->name, .instance_id = n->instance, .boot_id = n->boot};
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
    p->wish = chance(w, 5) ? POLICY_WISH_REPLACE : POLICY_WISH_NONE;
    p->verdict_count = (size_t)below(w, VERDICTS_MAX + 1);
    for (size_t k = 0; k < p->verdict_count; k++) {
        make_verdict(w, n, &n->verdicts[k], (int64_t)(i * VERDICTS_MAX + k) + 1);
        n->refs[k] = &n->verdicts[k];
    }
    p->verdicts = n->refs;
    p->repair_count = (size_t)below(w, REPAIRS_MAX + 1);
    for (size_t k = 0; k < p->repair_count; k++) {
        n->repairs[k] = (struct policy_repair){.kind = chance(w, 70) ? OPERATION_KIND_REBOOT : OPERATION_KIND_REPLACE,
                                               .instance_id = chance(w, 80) ? n->instance : "i-other",
                                               .device = devices[below(w, ARRAY_LEN(devices))],
                                               .code = codes[below(w, ARRAY_LEN(codes))],
                                               .at = NOW - below(w, 15000 * MINUTE),
                                               .succeeded = chance(w, 80),
                                               .by_person = chance(w, 20)};
        n->repairs[k].no_return = !n->repairs[k].succeeded && chance(w, 50);
    }
    p->repairs = n->repairs;
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
    w->snapshot.nodes = w->plain;
    w->snapshot.node_count = count;
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
    fail_msg("a decision for a node that is not there");
    return NULL;
}

typedef void (*check_fn)(struct world *w, const struct policy_plan *plan, uint64_t seed);

static void for_each_world(bool only_applications, check_fn check)
{
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct world *w = make_world(seed, only_applications);
        struct policy_plan plan;
        policy_decide(&w->snapshot, &plan);
        check(w, &plan, seed);
        policy_plan_free(&plan);
        free(w);
    }
}

static void assert_same_plan(const struct policy_plan *a, const struct policy_plan *b, uint64_t seed)
{
    if (a->count != b->count || a->breaker_opens != b->breaker_opens || a->breaker_closes != b->breaker_closes ||
        memcmp(a->decisions, b->decisions, a->count * sizeof(a->decisions[0])) != 0)
        fail_msg("seed %llu: two plans differ", (unsigned long long)seed);
}

static void check_deterministic(struct world *w, const struct policy_plan *plan, uint64_t seed)
{
    struct policy_plan again;
    policy_decide(&w->snapshot, &again);
    assert_same_plan(plan, &again, seed);
    policy_plan_free(&again);
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

static void check_order_does_not_matter(struct world *w, const struct policy_plan *plan, uint64_t seed)
{
    for (size_t i = 0; i < w->snapshot.node_count; i++) {
        shuffle(w, w->nodes[i].refs, w->plain[i].verdict_count, sizeof(w->nodes[i].refs[0]));
        shuffle(w, w->nodes[i].repairs, w->plain[i].repair_count, sizeof(w->nodes[i].repairs[0]));
    }
    shuffle(w, w->plain, w->snapshot.node_count, sizeof(w->plain[0]));
    struct policy_plan other;
    policy_decide(&w->snapshot, &other);
    assert_same_plan(plan, &other, seed);
    policy_plan_free(&other);
}

static void check_limits(struct world *w, const struct policy_plan *plan, uint64_t seed)
{
    const struct policy_group *group = &w->snapshot.group;
    int64_t repairs = 0, limit = group->desired * w->snapshot.settings.budget_percent / 100;
    bool open = (group->breaker_opened_at > 0 || plan->breaker_opens) && !plan->breaker_closes;
    for (size_t i = 0; i < plan->count; i++) {
        const struct decision *d = &plan->decisions[i];
        if (!is_repair(d) || is_request(d))
            continue;
        repairs++;
        if (open)
            fail_msg("seed %llu: a repair while the breaker is open", (unsigned long long)seed);
    }
    limit = limit < 1 ? 1 : limit;
    if (repairs > 0 && group->in_repair + repairs > limit)
        fail_msg("seed %llu: %lld repairs beside %lld, at most %lld", (unsigned long long)seed, (long long)repairs,
                 (long long)group->in_repair, (long long)limit);
    assert_false(plan->breaker_opens && plan->breaker_closes);
}

static void check_one_decision_per_node(struct world *w, const struct policy_plan *plan, uint64_t seed)
{
    for (size_t i = 0; i < plan->count; i++) {
        node_of(w, plan->decisions[i].node_id);
        for (size_t k = i + 1; k < plan->count; k++)
            if (plan->decisions[i].node_id == plan->decisions[k].node_id)
                fail_msg("seed %llu: two decisions for one node", (unsigned long long)seed);
    }
}

static void check_hands_off(struct world *w, const struct policy_plan *plan, uint64_t seed)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct decision *d = &plan->decisions[i];
        const struct policy_node *node = node_of(w, d->node_id);
        bool takes_away = is_repair(d) || d->action == ACTION_HOLD || d->action == ACTION_SUPPORT;
        if (is_repair(d) && node->has_active_operation)
            fail_msg("seed %llu: a repair beside an operation", (unsigned long long)seed);
        if (is_request(d) || !takes_away)
            continue;
        if (node->opted_out || node->foreign_drain || w->snapshot.group.recovery == NODE_RECOVERY_NONE ||
            node->state == NODE_STATE_FAILED || node->state == NODE_STATE_REPAIRING)
            fail_msg("seed %llu: %s on a node that is not ours to touch", (unsigned long long)seed,
                     action_text(d->action));
    }
}

/* Every decision explains itself. */
static void check_told(struct world *w, const struct policy_plan *plan, uint64_t seed)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct decision *d = &plan->decisions[i];
        if (d->rule[0] == '\0' || d->sentence[0] == '\0' || d->table_version[0] == '\0' || d->at != NOW)
            fail_msg("seed %llu: an untold decision", (unsigned long long)seed);
        if (d->action == ACTION_HOLD && (d->retry_at <= NOW || d->refused_why[0] == '\0'))
            fail_msg("seed %llu: a hold without a time or a reason", (unsigned long long)seed);
        bool failed = false;
        for (int gate = 0; gate < GATE_COUNT; gate++)
            failed |= d->gates[gate].result == GATE_RESULT_FAILED;
        if (failed && is_repair(d))
            fail_msg("seed %llu: a repair behind a failed gate", (unsigned long long)seed);
        assert_non_null(node_of(w, d->node_id));
    }
}

/* A machine that did not come back from a reboot is replaced, or shown to a person, whatever it was rebooted for. */
static bool may_be_lost(const struct policy_node *node)
{
    for (size_t i = 0; i < node->repair_count; i++)
        if (node->repairs[i].no_return)
            return true;
    return false;
}

static void check_applications(struct world *w, const struct policy_plan *plan, uint64_t seed)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct decision *d = &plan->decisions[i];
        bool quiet = d->action == ACTION_NONE || d->action == ACTION_WATCH;
        bool waits = d->action == ACTION_HOLD || d->action == ACTION_MARK;
        bool rated = strcmp(d->code, "xid.8") == 0 || strcmp(d->code, "xid.32") == 0;
        bool replaces = d->action == ACTION_REPLACE || (waits && d->refused == ACTION_REPLACE);
        if (!quiet && !(rated && !replaces) && !is_request(d) && strcmp(d->code, "unreachable") != 0 &&
            !may_be_lost(node_of(w, d->node_id)))
            fail_msg("seed %llu: %s for %s on node %lld of %zu", (unsigned long long)seed, action_text(d->action),
                     d->code, (long long)d->node_id, w->snapshot.node_count);
    }
}

/* Each node decided alone in an empty, closed group says the same, but for what the limits held back. */
static void check_nodes_are_alone(struct world *w, const struct policy_plan *plan, uint64_t seed)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct decision *d = &plan->decisions[i];
        struct policy_snapshot alone = w->snapshot;
        alone.nodes = node_of(w, d->node_id);
        alone.node_count = 1;
        alone.group.in_repair = alone.group.failed_recently = alone.group.breaker_opened_at = 0;
        struct policy_plan one;
        policy_decide(&alone, &one);
        assert_int_equal(one.count, 1);
        enum action wanted = d->action == ACTION_HOLD ? d->refused : d->action;
        if (one.decisions[0].action != wanted || strcmp(one.decisions[0].code, d->code) != 0)
            fail_msg("seed %llu: node %lld depends on its neighbours", (unsigned long long)seed, (long long)d->node_id);
        policy_plan_free(&one);
    }
}

#define PROPERTY(name, only_applications)                \
    static void name(void **state)                       \
    {                                                    \
        (void)state;                                     \
        for_each_world(only_applications, check_##name); \
    }
PROPERTY(deterministic, false)
PROPERTY(order_does_not_matter, false)
PROPERTY(limits, false)
PROPERTY(one_decision_per_node, false)
PROPERTY(hands_off, false)
PROPERTY(told, false)
PROPERTY(applications, true)
PROPERTY(nodes_are_alone, false)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deterministic), cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(limits),        cmocka_unit_test(one_decision_per_node),
        cmocka_unit_test(hands_off),     cmocka_unit_test(told),
        cmocka_unit_test(applications),  cmocka_unit_test(nodes_are_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
