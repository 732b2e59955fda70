/*
 * Made-up snapshots for test_properties.c: a generator with a seed, and what makes a world that fails as small as it can be and
 * prints it as a golden case.
 */
#ifndef HOLDFAST_TESTS_POLICY_PROPERTY_H
#define HOLDFAST_TESTS_POLICY_PROPERTY_H

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
#define WORLDS 6000
#define MINUTE INT64_C(60000)

struct world_node {
    struct policy_person_hold hold; /* at 0: none */
    char name[16], instance[16], boot[16];
    struct verdict verdicts[VERDICTS_MAX];
    const struct verdict *refs[VERDICTS_MAX];
    struct policy_repair repairs[REPAIRS_MAX + 1]; /* one more than is made, for what a property adds */
    bool elsewhere[REPAIRS_MAX + 1];               /* of an earlier instance */
    bool brought[REPAIRS_MAX + 1];                 /* the replacement brought the instance that is there */
    struct hardware hardware[3];
    int asked; /* which verdict the approval is for; -1: none */
};

struct world {
    uint64_t state;
    struct world_node nodes[NODES_MAX];
    struct policy_node plain[NODES_MAX];
    struct policy_snapshot snapshot;
    bool only_applications;
};

static inline uint64_t draw(struct world *w)
{
    w->state ^= w->state << 13;
    w->state ^= w->state >> 7;
    w->state ^= w->state << 17;
    return w->state;
}

static inline int64_t below(struct world *w, int64_t limit)
{
    return (int64_t)(draw(w) % (uint64_t)limit);
}

static inline bool chance(struct world *w, int percent)
{
    return below(w, 100) < percent;
}

/* By place, by index and by identity: of a node that told its hardware the last three are the second GPU. */
static const char *const devices[] = {"0000:19:00", "", "0000:b9:00", "gpu1", "GPU-b"};
/* Programs alone. The last has a rate that may end in a reboot, the others have none that ends in a repair. */
static const char *const application_codes[] = {"xid.13", "xid.31", "xid.43", "xid.68", "xid.137",
                                                "xid.45", "xid.11", "xid.8",  "xid.8"};
static const char *const codes[] = {"xid.79",
                                    "xid.48",
                                    "xid.63",
                                    "xid.64",
                                    "xid.31",
                                    "xid.45",
                                    "xid.8",
                                    "xid.119",
                                    "xid.74",
                                    "xid.154",
                                    "xid.163",
                                    "sxid.20034",
                                    "xid.162",
                                    "xid.78",
                                    "xid.999",
                                    "xid.95",
                                    "net.link.down",
                                    "net.ib.missing",
                                    "node.disk.failing",
                                    "node.memory.less",
                                    "node.mount.hung"};
static const char *const driver_words[] = {"0x0 (None)", "0x1 (GPU Reset Required)", "0x2 (Node Reboot Required)",
                                           "0x4 (Drain and Reset)", "0x9 (New)"};

static inline void make_verdict(struct world *w, struct world_node *n, struct verdict *v, int64_t id)
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

static inline void make_hardware(struct world_node *n, struct policy_node *p)
{
    static const struct {
        enum hardware_kind kind;
        const char *identity, *serial, *location;
    } pieces[] = {{HARDWARE_KIND_CHASSIS, "CHASSIS-1", "S-1", ""},
                  {HARDWARE_KIND_GPU, "GPU-a", "S-a", "0000:19:00"},
                  {HARDWARE_KIND_GPU, "GPU-b", "S-b", "0000:b9:00"}};
    p->hardware_count = ARRAY_LEN(pieces);
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        n->hardware[i] = (struct hardware){.kind = pieces[i].kind, .first_at = 1, .last_at = NOW, .present = true};
        text_copy_cut(n->hardware[i].identity, sizeof(n->hardware[i].identity), pieces[i].identity);
        text_copy_cut(n->hardware[i].serial, sizeof(n->hardware[i].serial), pieces[i].serial);
        text_copy_cut(n->hardware[i].location, sizeof(n->hardware[i].location), pieces[i].location);
    }
}

/* A question that was asked, in half of the worlds for something that the node shows now. */
static inline void make_approval(struct world *w, struct world_node *n, struct policy_node *p)
{
    const struct verdict *seen = p->verdict_count > 0 ? &n->verdicts[below(w, (int64_t)p->verdict_count)] : NULL;
    static const enum action asked[] = {ACTION_REBOOT, ACTION_REBOOT, ACTION_REBOOT, ACTION_REPLACE, ACTION_RESET};
    bool real = seen != NULL && chance(w, 80);
    p->approval = (struct policy_approval){.state = (enum approval_state)below(w, APPROVAL_STATE_DONE + 1),
                                           .action = asked[below(w, ARRAY_LEN(asked))],
                                           .code = real ? NULL : codes[below(w, ARRAY_LEN(codes))],
                                           .device = real ? NULL : devices[below(w, ARRAY_LEN(devices))],
                                           .by = "anna",
                                           .reason = "",
                                           .at = NOW - below(w, 300 * MINUTE),
                                           .expires_at = NOW - 60 * MINUTE + below(w, 240 * MINUTE)};
    n->asked = real ? (int)(seen - n->verdicts) : -1;
    if (real && chance(w, 60))
        p->approval.state = APPROVAL_STATE_APPROVED;
}

static inline void make_repairs(struct world *w, struct world_node *n, struct policy_node *p)
{
    static const enum operation_kind kinds[] = {OPERATION_KIND_REBOOT, OPERATION_KIND_REBOOT, OPERATION_KIND_REBOOT,
                                                OPERATION_KIND_RESET, OPERATION_KIND_REPLACE};
    p->repair_count = (size_t)below(w, REPAIRS_MAX + 1);
    for (size_t k = 0; k < p->repair_count; k++) {
        n->elsewhere[k] = chance(w, 20);
        n->repairs[k] = (struct policy_repair){.kind = kinds[below(w, ARRAY_LEN(kinds))],
                                               .device = devices[below(w, ARRAY_LEN(devices))],
                                               .code = codes[below(w, ARRAY_LEN(codes))],
                                               .at = NOW - below(w, 15000 * MINUTE),
                                               .succeeded = chance(w, 80),
                                               .by_person = chance(w, 20)};
        struct policy_repair *repair = &n->repairs[k];
        repair->no_return = !repair->succeeded && repair->kind != OPERATION_KIND_RESET && chance(w, 50);
        repair->not_cleared = repair->no_return || (!repair->succeeded && chance(w, 50));
        repair->error = repair->succeeded ? "" : "verify: it did not come back";
        repair->finished_at = chance(w, 80) ? repair->at + below(w, NOW - repair->at) : 0;
        n->brought[k] = repair->kind == OPERATION_KIND_REPLACE && chance(w, 60);
        repair->same_piece = n->elsewhere[k] && !w->only_applications && chance(w, 70);
        repair->node = repair->same_piece && chance(w, 50) ? "gpu-elsewhere" : NULL;
    }
}

/* What some nodes wait for. */
static const struct policy_incident dark_rack = {
    .id = 1, .level = TOPOLOGY_LEVEL_RACK, .domain = "r1", .started_at = NOW - 20 * MINUTE, .nodes = 4};

static inline void make_node(struct world *w, size_t i)
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
    p->idle = chance(w, 30);
    p->can_reset = chance(w, 60);
    p->resumes_elsewhere = chance(w, 10);
    p->has_active_operation = p->state == NODE_STATE_REPAIRING || chance(w, 10);
    p->last_heartbeat_at = chance(w, 10) ? 0 : NOW - (chance(w, 15) ? below(w, 30 * MINUTE) : 1000);
    p->has_scheduler = chance(w, 95);
    p->scheduler_known = p->has_scheduler && chance(w, 90);
    p->scheduler_responding = chance(w, 60);
    p->switched_off = p->scheduler_known && !p->scheduler_responding && chance(w, 20);
    p->maintenance = p->scheduler_known && chance(w, 5);
    p->reserved = p->scheduler_known && chance(w, 5);
    p->external_drain = chance(w, 10);
    p->scheduler_reason = "a person's words";
    p->incident = chance(w, 10) ? &dark_rack : NULL;
    p->request = chance(w, 5) ? POLICY_REQUEST_REPLACE : chance(w, 5) ? POLICY_REQUEST_REBOOT : POLICY_REQUEST_NONE;
    p->verdict_count = chance(w, 15) ? 0 : (size_t)below(w, VERDICTS_MAX + 1);
    for (size_t k = 0; k < p->verdict_count; k++)
        make_verdict(w, n, &n->verdicts[k], (int64_t)(i * VERDICTS_MAX + k) + 1);
    make_repairs(w, n, p);
    n->asked = -1;
    if (!w->only_applications && chance(w, 6))
        n->hold = (struct policy_person_hold){
            .code = codes[below(w, ARRAY_LEN(codes))], .device = "", .at = NOW - 1 - below(w, 2000 * MINUTE)};
    if (chance(w, 60))
        make_hardware(n, p);
    if (chance(w, 50))
        make_approval(w, n, p);
}

static inline void wire_repair(struct world_node *n, size_t k)
{
    n->repairs[k].instance_id = n->elsewhere[k] ? "i-other" : n->instance;
    n->repairs[k].new_instance = n->brought[k]                                  ? n->instance
                                 : n->repairs[k].kind == OPERATION_KIND_REPLACE ? "i-new"
                                                                                : "";
}

/* The pointers of a world that was made, copied or made smaller. */
static inline void wire(struct world *w)
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
            wire_repair(n, k);
        p->hardware = n->hardware;
        p->person_hold = n->hold.at > 0 ? &n->hold : NULL;
        if (n->asked >= 0) {
            p->approval.code = n->verdicts[n->asked].code;
            p->approval.device = n->verdicts[n->asked].device;
        }
    }
}

static inline struct world *copy_world(const struct world *from)
{
    struct world *w = own_calloc(1, sizeof(*w));
    *w = *from;
    wire(w);
    return w;
}

/* Limits that a site may have said beside those that everybody has. */
static inline void make_limits(struct world *w)
{
    struct policy_settings *settings = &w->snapshot.settings;
    struct policy_group *group = &w->snapshot.group;
    settings->budget_percent = (int)below(w, 40);
    settings->budget_max = chance(w, 30) ? 1 + (int)below(w, 4) : 0;
    for (int fault = 0; fault < FAULT_CLASS_COUNT; fault++) {
        settings->class_budget_percent[fault] = chance(w, 30) ? (int)below(w, 30) : 100;
        settings->class_budget_max[fault] = chance(w, 30) ? 1 + (int)below(w, 3) : 0;
        group->in_repair_of[fault] = chance(w, 20) ? below(w, 3) : 0;
        group->in_repair += group->in_repair_of[fault];
    }
    settings->min_healthy_percent = chance(w, 20) ? (int)below(w, 100) : 0;
    settings->min_healthy_count = chance(w, 20) ? (int)below(w, 10) : 0;
    group->healthy_elsewhere = below(w, group->desired);
    group->idle_elsewhere = below(w, 4);
    if (chance(w, 30))
        settings->not_during.count = 1;
    settings->not_during.windows[0] = (struct policy_window){
        .from = (int16_t)below(w, 1440), .until = (int16_t)below(w, 1440), .days = (uint8_t)below(w, 128)};
    settings->any_time[FAULT_CLASS_GPU] = chance(w, 50);
    settings->spacing_ms = chance(w, 20) ? 1 + below(w, 30 * MINUTE) : 0;
    group->last_repair_at = chance(w, 50) ? NOW - below(w, 40 * MINUTE) : 0;
    group->replacing = below(w, group->in_repair + 1);
    settings->spares_min = chance(w, 20) ? 1 + (int)below(w, 3) : 0;
    settings->without_replacement = (int)below(w, 3);
    if (chance(w, 30))
        group->machine_capacity.short_times = 1 + below(w, 5);
    group->machine_capacity.short_until = NOW + 5 * MINUTE - below(w, 10 * MINUTE);
    if (chance(w, 30))
        group->machine_capacity.protected_at = NOW - below(w, 100 * MINUTE);
    group->machine_capacity.failed_at = NOW - below(w, 60 * MINUTE);
}

/* How far repairs go, how often, and what a past is worth. */
static inline void make_tolerance(struct world *w)
{
    struct policy_settings *settings = &w->snapshot.settings;
    for (int fault = 0; fault < FAULT_CLASS_COUNT; fault++)
        settings->modes[fault] = chance(w, 50) ? REPAIR_MODE_ACT : (enum repair_mode)below(w, REPAIR_MODE_ACT + 1);
    settings->resets_max = chance(w, 30) ? (int)below(w, 4) : settings->resets_max;
    settings->reboots_max = chance(w, 30) ? (int)below(w, 4) : settings->reboots_max;
    settings->replaces_max = chance(w, 30) ? (int)below(w, 4) : settings->replaces_max;
    settings->recurring = (int)below(w, POLICY_RECURRING_REPLACE + 1);
    settings->lemon_action = (int)below(w, POLICY_LEMON_PERSON + 1);
    settings->lemon_score = w->only_applications || chance(w, 60) ? 0 : 50 + (int)below(w, 300);
    settings->notice_lead_ms = chance(w, 30) ? below(w, 3000 * MINUTE) : settings->notice_lead_ms;
    settings->probation_ms = chance(w, 30) ? below(w, 15000 * MINUTE) : settings->probation_ms;
}

static inline struct world *make_world(uint64_t seed, bool only_applications)
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
    if (chance(w, 50))
        make_limits(w);
    if (chance(w, 60))
        make_tolerance(w);
    w->snapshot.group.missed.all = chance(w, 20) ? below(w, w->snapshot.group.desired + 1) : 0;
    w->snapshot.group.failed_recently = chance(w, 30) ? below(w, 60) : 0;
    w->snapshot.group.breaker_opened_at = chance(w, 30) ? NOW - below(w, 60 * MINUTE) : 0;
    w->snapshot.group.breaker_settled_since = chance(w, 50) ? NOW - below(w, 30 * MINUTE) : 0;
    w->snapshot.node_count = count;
    wire(w);
    const char *paused = chance(w, 5) ? "alice paused the cluster" : "";
    for (size_t i = 0; i < count; i++)
        w->plain[i].paused_why = paused;
    return w;
}

static inline bool is_repair(const struct decision *d)
{
    return action_is_repair(d->action);
}

static inline bool is_request(const struct decision *d)
{
    return d->rule == RULE_OPERATOR_REQUEST;
}

static inline const struct policy_node *node_of(const struct world *w, int64_t id)
{
    for (size_t i = 0; i < w->snapshot.node_count; i++)
        if (w->plain[i].id == id)
            return &w->plain[i];
    return NULL;
}

static inline const struct decision *decision_of(const struct policy_plan *plan, int64_t node_id)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->decisions[i].node_id == node_id)
            return &plan->decisions[i];
    return NULL;
}

/* --- trying, making smaller, printing --------------------------------------------------------------------------- */

/* What is wrong with the plan; NULL: nothing. It may change the world, which is its own copy. */
typedef const char *(*check_fn)(struct world *w, const struct policy_plan *plan);

/* NULL: the policy as it is. Else what property_broken.h makes of its plan. */
static void (*world_broken_by)(const struct policy_snapshot *snapshot, struct policy_plan *plan);

static inline void world_decide(const struct policy_snapshot *snapshot, struct policy_plan *ret_plan)
{
    policy_decide(snapshot, ret_plan);
    if (world_broken_by != NULL)
        world_broken_by(snapshot, ret_plan);
}

static inline const char *try_world(const struct world *from, check_fn check)
{
    struct world *w = copy_world(from);
    struct policy_plan plan;
    world_decide(&w->snapshot, &plan);
    const char *wrong = check(w, &plan);
    policy_plan_free(&plan);
    free(w);
    return wrong;
}

static inline void remove_node(struct world *w, size_t at)
{
    size_t left = --w->snapshot.node_count - at;
    memmove(&w->nodes[at], &w->nodes[at + 1], left * sizeof(w->nodes[0]));
    memmove(&w->plain[at], &w->plain[at + 1], left * sizeof(w->plain[0]));
}

static inline void remove_verdict(struct world *w, size_t node, size_t at)
{
    size_t left = --w->plain[node].verdict_count - at;
    memmove(&w->nodes[node].verdicts[at], &w->nodes[node].verdicts[at + 1], left * sizeof(struct verdict));
    if (w->nodes[node].asked >= (int)at) {
        w->nodes[node].asked = -1;
        w->plain[node].approval = (struct policy_approval){.action = ACTION_NONE};
    }
}

static inline void remove_repair(struct world *w, size_t node, size_t at)
{
    size_t left = --w->plain[node].repair_count - at;
    memmove(&w->nodes[node].repairs[at], &w->nodes[node].repairs[at + 1], left * sizeof(struct policy_repair));
    memmove(&w->nodes[node].elsewhere[at], &w->nodes[node].elsewhere[at + 1], left * sizeof(bool));
    memmove(&w->nodes[node].brought[at], &w->nodes[node].brought[at + 1], left * sizeof(bool));
}

/* Leaves out the number-th of all nodes, verdicts and repairs. False: there are not so many. */
static inline bool leave_out(struct world *w, size_t number)
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

static inline struct world *make_smaller(struct world *w, check_fn check)
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

static inline void print_time(const char *name, int64_t at)
{
    print_error(" %s=%lldms", name, (long long)(at - NOW));
}

static inline void print_node(const struct world_node *n, const struct policy_node *p)
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
                : p->switched_off         ? "off"
                : p->maintenance          ? "maintenance"
                : p->reserved             ? "reserved"
                                          : "deaf",
                p->opted_out               ? " opted_out"
                : p->paused_why[0] != '\0' ? " paused"
                                           : "",
                p->has_active_operation ? " busy" : "", p->external_drain ? " drain=\"a person's words\"" : "");
    print_error("%s", p->resumes_elsewhere ? " resumes_elsewhere" : "");
    if (p->incident != NULL)
        print_error(" rack=%s", p->incident->domain);
    if (p->person_hold != NULL) {
        print_error(" held_for=%s", p->person_hold->code);
        print_time("held_at", p->person_hold->at);
    }
    print_error("%s\n", p->request == POLICY_REQUEST_REPLACE  ? " request=replace"
                        : p->request == POLICY_REQUEST_REBOOT ? " request=reboot"
                                                              : "");
    if (p->approval.action != ACTION_NONE)
        print_error("  # %s of a %s for %s on %s until %lldms\n", approval_state_text(p->approval.state),
                    action_text(p->approval.action), p->approval.code, p->approval.device,
                    (long long)(p->approval.expires_at - NOW));
    for (size_t k = 0; k < p->hardware_count; k++)
        print_error("  # has %s %s at %s\n", hardware_kind_text(n->hardware[k].kind), n->hardware[k].identity,
                    n->hardware[k].location);
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
        if (r->finished_at > 0)
            print_time("finished", r->finished_at);
        print_error("%s%s%s\n", r->not_cleared ? " not_cleared" : "", r->same_piece ? " same_piece" : "",
                    r->node != NULL ? " of another slot" : "");
    }
}

/* As a golden case: what is missing is the story, and what the policy should say. */
static inline void print_world(const struct world *w, uint64_t seed, const char *wrong)
{
    const struct policy_group *group = &w->snapshot.group;
    print_error("story: %s\nsource: PROPERTY_SEED=%llu, made smaller\ngroup: desired=%lld recovery=%s in_repair=%lld "
                "failed=%lld",
                wrong, (unsigned long long)seed, (long long)group->desired, node_recovery_text(group->recovery),
                (long long)group->in_repair, (long long)group->failed_recently);
    if (group->breaker_opened_at > 0)
        print_time("opened", group->breaker_opened_at);
    if (group->breaker_settled_since > 0)
        print_time("settled", group->breaker_settled_since);
    print_error("\n");
    for (int fault = 0; fault < FAULT_CLASS_COUNT; fault++)
        if (w->snapshot.settings.modes[fault] != REPAIR_MODE_ACT)
            print_error("# mode of %s: %s\n", fault_class_text((enum fault_class)fault),
                        repair_mode_text(w->snapshot.settings.modes[fault]));
    for (size_t i = 0; i < w->snapshot.node_count; i++)
        print_node(&w->nodes[i], &w->plain[i]);
    print_error("expect\n");
}

static inline uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    int64_t number = 0;
    return text != NULL && text_parse_i64(text, 1, INT64_MAX, &number) == 0 ? (uint64_t)number : otherwise;
}

static inline void for_each_world(bool only_applications, check_fn check)
{
    uint64_t from = number_of("PROPERTY_SEED", number_of("PROPERTY_FROM", 1)),
             to = number_of("PROPERTY_SEED", number_of("PROPERTY_SEEDS", WORLDS));
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

#endif
