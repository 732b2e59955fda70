/*
 * The policy is asked as hpd asks it: about the nodes with something new, group by group, and again when a decision says so.
 * What follows is what the reconcile loop does: a repair, a node that is held, a person who is called.
 */
#include "policy/next.h"
#include "simulate/world.h"

#include "base/own.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_TEXT 24
#define PASSED_AFTER_MS INT64_C(3600000) /* ours: what a file system or a link does to one job is over within an hour */

/* A node as the policy sees it, with all that its pointers point to. */
struct view {
    char name[NUMBER_TEXT], machine[NUMBER_TEXT], boot[NUMBER_TEXT], place[2 * NUMBER_TEXT];
    struct policy_incident incident;
    struct verdict *verdicts;
    const struct verdict *refs[NOTES_MAX];
    struct policy_repair repairs[REPAIRS_MAX];
    char machines[REPAIRS_MAX][NUMBER_TEXT], successors[REPAIRS_MAX][NUMBER_TEXT], devices[REPAIRS_MAX][NUMBER_TEXT];
};

static const char *code_of(const struct world *w, int class)
{
    return class == NONE || w->scenario->faults[class].code[0] == '\0' ? "unreachable"
                                                                       : w->scenario->faults[class].code;
}

static void view_verdict(const struct world *w, const struct trouble *trouble, const struct note *note,
                         struct verdict *ret_verdict)
{
    struct fault_judgement judgement;
    ret_verdict->id = note->id;
    snprintf(ret_verdict->key, sizeof(ret_verdict->key), "%" PRId64, note->id);
    snprintf(ret_verdict->instance_id, sizeof(ret_verdict->instance_id), "i-%" PRId64, note->machine);
    snprintf(ret_verdict->boot_id, sizeof(ret_verdict->boot_id), "%" PRId64, note->boot);
    snprintf(ret_verdict->device, sizeof(ret_verdict->device), "gpu%d", trouble->device);
    text_copy_cut(ret_verdict->source, sizeof(ret_verdict->source), "kmsg");
    text_copy_cut(ret_verdict->code, sizeof(ret_verdict->code), code_of(w, note->class));
    fault_judge(ret_verdict->source, ret_verdict->code, "", &judgement);
    ret_verdict->severity = judgement.row != NULL ? judgement.row->severity : SEVERITY_WARN;
    /* A finding that may last is over when its fault has passed; one that only another machine cures does not pass. */
    bool passes = judgement.row != NULL && judgement.row->lasts_ms > 0 && trouble->hard != note->class;
    ret_verdict->state = passes && w->now - note->at > PASSED_AFTER_MS ? VERDICT_STATE_RESOLVED : VERDICT_STATE_OPEN;
    ret_verdict->count = 1;
    ret_verdict->first_at = ret_verdict->last_at = ret_verdict->received_at = note->at;
}

static void view_past(const struct world *w, const struct trouble *trouble, struct view *view)
{
    for (int i = 0; i < trouble->repair_count; i++) {
        const struct repair_done *done = &trouble->repairs[i];
        snprintf(view->machines[i], NUMBER_TEXT, "i-%" PRId64, done->machine);
        if (done->kind == OPERATION_KIND_REPLACE)
            snprintf(view->successors[i], NUMBER_TEXT, "i-%" PRId64, done->successor);
        if (done->class != NONE && w->scenario->faults[done->class].code[0] != '\0')
            snprintf(view->devices[i], NUMBER_TEXT, "gpu%d", done->device);
        view->repairs[i] = (struct policy_repair){.kind = done->kind,
                                                  .instance_id = view->machines[i],
                                                  .device = view->devices[i],
                                                  .code = code_of(w, done->class),
                                                  .new_instance = view->successors[i],
                                                  .at = done->at,
                                                  .finished_at = done->finished_at,
                                                  .succeeded = done->succeeded,
                                                  .by_person = done->by_person,
                                                  .no_return = i == 0 && done->no_return,
                                                  .error = ""};
    }
}

static const struct policy_incident *view_incident(struct world *w, int32_t node, struct view *view)
{
    int at = fleet_shared(w, node);
    if (at == NONE)
        return NULL;
    const struct policy_shared *shared = &w->shared[at];
    snprintf(view->place, sizeof(view->place), "%s-%u", topology_level_text(shared->level), shared->domain);
    view->incident = (struct policy_incident){.id = at + 1,
                                              .level = shared->level,
                                              .domain = view->place,
                                              .cause = shared->cause,
                                              .started_at = shared->first_at,
                                              .nodes = (int64_t)shared->count};
    return &view->incident;
}

static struct policy_node see(struct world *w, int32_t node, struct view *view)
{
    const struct machine *machine = &w->machines[node];
    const struct trouble *trouble = fleet_trouble(w, node);
    snprintf(view->name, NUMBER_TEXT, "node-%06d", node + 1);
    snprintf(view->machine, NUMBER_TEXT, "i-%" PRId64, trouble->machine);
    snprintf(view->boot, NUMBER_TEXT, "%" PRId64, trouble->boot);
    view->verdicts = own_calloc((size_t)trouble->note_count + 1, sizeof(*view->verdicts));
    for (int i = 0; i < trouble->note_count; i++) {
        view_verdict(w, trouble, &trouble->notes[i], &view->verdicts[i]);
        view->refs[i] = &view->verdicts[i];
    }
    view_past(w, trouble, view);
    return (struct policy_node){.id = node + 1,
                                .name = view->name,
                                .state = (enum node_state)machine->state,
                                .instance_id = view->machine,
                                .boot_id = view->boot,
                                .boot_at = trouble->boot_at,
                                .can_reset = world_number(w, SIMULATE_RESETS) > 0,
                                .has_active_operation = trouble->has_op,
                                .idle = machine->pool_at != NONE,
                                .last_heartbeat_at = machine->silent ? trouble->silent_since : w->now,
                                .has_scheduler = true,
                                .scheduler_known = true,
                                .scheduler_responding = !machine->unheard,
                                .scheduler_reason = "",
                                .incident = view_incident(w, node, view),
                                .approval = trouble->approval,
                                .request_by = "",
                                .verdicts = view->refs,
                                .verdict_count = (size_t)trouble->note_count,
                                .repairs = view->repairs,
                                .repair_count = (size_t)trouble->repair_count};
}

/* --- what follows --------------------------------------------------------------------------------------------------- */

static void look_again(struct world *w, int32_t node, int64_t at)
{
    struct trouble *trouble = fleet_trouble(w, node);
    world_at(w, at > w->now ? at : w->now + 1, HAPPENS_LOOK, node, ++trouble->look_ticket);
}

void decide_call_person(struct world *w, int32_t node)
{
    struct trouble *trouble = fleet_trouble(w, node);
    if (trouble->waits_for_person)
        return;
    trouble->waits_for_person = true;
    w->out->people++;
    world_at(w, w->now + world_about(w, world_number(w, SIMULATE_PERSON)), HAPPENS_PERSON, node, 0);
}

static void hold(struct world *w, int32_t node)
{
    if (w->machines[node].state != NODE_STATE_HELD)
        w->out->held++;
    fleet_state(w, node, NODE_STATE_HELD);
    node_leave(w, node);
}

static int class_of(const struct world *w, int32_t node, const char *code)
{
    const struct trouble *trouble = w->machines[node].trouble;
    for (int i = trouble->note_count - 1; i >= 0; i--)
        if (strcmp(code_of(w, trouble->notes[i].class), code) == 0)
            return trouble->notes[i].class;
    return NONE;
}

/* --- what waits for an approval ------------------------------------------------------------------------------------------- */

static void ask_person(struct world *w, int32_t node, const struct decision *decision)
{
    struct trouble *trouble = fleet_trouble(w, node);
    const struct policy_approval *asked = &trouble->approval;
    bool waits = asked->state == APPROVAL_STATE_ASKED && w->now < asked->expires_at;
    if (waits && policy_approval_is_for(asked->action, asked->code, asked->device, decision->refused, decision->code,
                                        decision->device))
        return;
    text_copy_cut(trouble->approval_code, sizeof(trouble->approval_code), decision->code);
    text_copy_cut(trouble->approval_device, sizeof(trouble->approval_device), decision->device);
    trouble->approval =
        (struct policy_approval){.state = APPROVAL_STATE_ASKED,
                                 .action = decision->refused,
                                 .code = trouble->approval_code,
                                 .device = trouble->approval_device,
                                 .by = "a person",
                                 .at = w->now,
                                 .expires_at = w->now + fleet_group(w, node)->rules.approval_expires_ms};
    w->out->approvals_asked++;
    world_at(w, w->now + world_about(w, world_number(w, SIMULATE_APPROVE)), HAPPENS_ANSWER, node,
             ++trouble->answer_ticket);
    look_again(w, node, trouble->approval.expires_at);
}

void decide_answer(struct world *w, int32_t node)
{
    struct policy_approval *approval = &fleet_trouble(w, node)->approval;
    if (approval->state != APPROVAL_STATE_ASKED || w->now >= approval->expires_at)
        return;
    approval->state = APPROVAL_STATE_APPROVED;
    approval->at = w->now;
    fleet_dirty(w, node);
}

/* What the mode lets nobody but a person do, and what a person has not answered in time. */
static void follow_mode(struct world *w, int32_t node, const struct decision *decision)
{
    if (decision->rule == RULE_APPROVAL_NEEDED) {
        ask_person(w, node, decision);
    } else if (decision->rule == RULE_APPROVAL_EXPIRED) {
        decide_call_person(w, node);
    } else if (decision->rule == RULE_MODE_OBSERVE || decision->rule == RULE_MODE_RECOMMEND) {
        w->out->only_said += !fleet_trouble(w, node)->waits_for_person;
        decide_call_person(w, node);
    }
}

static void count_rule(struct world *w, const struct decision *decision)
{
    struct simulate_outcome *out = w->out;
    w->out->decisions++;
    for (size_t i = 0; i < out->rule_count; i++)
        if (out->rules[i].rule == decision->rule && out->rules[i].action == decision->action) {
            out->rules[i].count++;
            return;
        }
    if (out->rule_count == SIMULATE_RULES_MAX)
        return;
    struct simulate_rule *rule = &out->rules[out->rule_count++];
    rule->rule = decision->rule;
    rule->action = decision->action;
    rule->count = 1;
}

static bool is_made_lemon(const struct world *w, int32_t node)
{
    for (int32_t i = 0; i < w->lemon_count; i++)
        if (w->lemons[i] == node)
            return true;
    return false;
}

/* Of each machine once: it is replaced, or a person is called. */
static void count_lemon(struct world *w, int32_t node, const struct decision *decision)
{
    bool taken = decision->action == ACTION_REPLACE ||
                 (decision->action == ACTION_SUPPORT && !fleet_trouble(w, node)->waits_for_person);
    if (decision->rule != RULE_LEMON || !taken)
        return;
    w->out->lemons++;
    w->out->lemons_sound += !is_made_lemon(w, node);
}

static int64_t drain_of(struct world *w, int32_t node, const struct decision *decision)
{
    if (decision->urgency == URGENCY_NOW)
        return 0;
    return decision->job_wait_ms > 0 ? decision->job_wait_ms
                                     : fleet_group(w, node)->rules.policy.drain_deadline_ms[FAULT_CLASS_NONE];
}

static void follow(struct world *w, int32_t node, const struct decision *decision)
{
    count_rule(w, decision);
    count_lemon(w, node, decision);
    switch (decision->action) {
    case ACTION_RESET:
        repair_begin(w, node, OPERATION_KIND_RESET, drain_of(w, node, decision), class_of(w, node, decision->code));
        return;
    case ACTION_REBOOT:
        repair_begin(w, node, OPERATION_KIND_REBOOT, drain_of(w, node, decision), class_of(w, node, decision->code));
        return;
    case ACTION_REPLACE:
        repair_begin(w, node, OPERATION_KIND_REPLACE, drain_of(w, node, decision), class_of(w, node, decision->code));
        return;
    case ACTION_HOLD:
        hold(w, node);
        break;
    case ACTION_MARK:
    case ACTION_SUPPORT:
        hold(w, node);
        decide_call_person(w, node);
        break;
    default:
        break;
    }
    follow_mode(w, node, decision);
    if (decision->retry_at > 0)
        look_again(w, node, decision->retry_at);
}

/* Through the return gate, as a release is. What failed without leaving evidence is a person's, as is a node that nobody hears. */
static void return_if_clear(struct world *w, int32_t node, const struct decision *decision)
{
    const struct trouble *trouble = w->machines[node].trouble;
    int64_t look_at;
    struct policy_standing standing = {.now_ms = w->now,
                                       .state = (enum node_state)w->machines[node].state,
                                       .cluster = CLUSTER_STATE_IN_SERVICE,
                                       .group = GROUP_STATE_IN_SERVICE,
                                       .claims = {.at_work = trouble->has_op},
                                       .was_ready = true,
                                       .clear = decision == NULL || decision->action <= ACTION_WATCH,
                                       .seen = true,
                                       .heard = true};
    if (trouble->waits_for_person || policy_next(&standing, &look_at) != POLICY_NEXT_BRING_BACK)
        return;
    standing.heard = !w->machines[node].silent;
    bool failed =
        trouble->repair_count > 0 && !trouble->repairs[0].succeeded && trouble->repairs[0].at >= trouble->boot_at;
    if (failed || policy_next(&standing, &look_at) != POLICY_NEXT_BRING_BACK)
        decide_call_person(w, node);
    else
        repair_begin(w, node, OPERATION_KIND_RELEASE, 0, NONE);
}

void decide_person(struct world *w, int32_t node)
{
    struct trouble *trouble = fleet_trouble(w, node);
    trouble->waits_for_person = false;
    bool fine = w->machines[node].state == NODE_STATE_READY && !w->machines[node].silent && trouble->broken_since == 0;
    if (trouble->has_op || fine)
        return;
    repair_remember(trouble, &(struct repair_done){.kind = OPERATION_KIND_REPLACE,
                                                   .machine = trouble->machine,
                                                   .successor = w->machine_number + 1,
                                                   .at = w->now,
                                                   .finished_at = w->now,
                                                   .class = NONE,
                                                   .succeeded = true,
                                                   .by_person = true});
    trouble->note_count = 0;
    trouble->provision_failed = false;
    w->out->by_people++;
    fleet_boot(w, node, true);
    if (!w->machines[node].out)
        trouble->broken_since = 0; /* it was in service all the time, for what that was worth */
    const enum node_state state = (enum node_state)w->machines[node].state;
    if ((state == NODE_STATE_HELD || state == NODE_STATE_FAILED) && !w->machines[node].silent)
        repair_begin(w, node, OPERATION_KIND_RELEASE, 0, NONE);
    else if (w->machines[node].silent)
        decide_call_person(w, node); /* the rack is dark: the person comes again */
}

/* --- one group ------------------------------------------------------------------------------------------------------ */

static void expire(struct world *w, struct group *group)
{
    while (group->count > 0) {
        const struct failing *oldest = &group->failing[group->head];
        if (oldest->at > w->now - group->rules.policy.breaker_window_ms)
            return;
        struct trouble *trouble = w->machines[oldest->node].trouble;
        if (trouble->failing_at == oldest->at) { /* it did not fail again since */
            trouble->failing_at = 0;
            group->failed_recently--;
        }
        group->head = (group->head + 1) % group->capacity;
        group->count--;
    }
}

/* Nodes that nobody hears, beyond those of this snapshot and of dark racks. */
static int64_t count_lost_elsewhere(struct world *w, const struct group *group)
{
    const struct policy_settings *settings = &group->rules.policy;
    int64_t lost = 0;
    for (size_t i = 0; i < group->silent_count; i++) {
        const struct machine *machine = &w->machines[group->silent[i]];
        const struct trouble *trouble = machine->trouble;
        lost += !machine->asked && machine->unheard && trouble->failing_at == 0 &&
                policy_counts_as_lost(settings, policy_breaker_since(settings, w->now, 0), w->now,
                                      trouble->silent_since, 0) &&
                fleet_shared(w, group->silent[i]) == NONE &&
                (machine->state == NODE_STATE_READY || machine->state == NODE_STATE_HELD);
    }
    return lost;
}

/* Incidents that have taken nodes of the group lately; each counts once. */
static int64_t count_incidents(struct world *w, const struct group *group)
{
    int64_t count = 0;
    int last = NONE;
    for (size_t i = 0; i < group->silent_count; i++) {
        int at = fleet_shared(w, group->silent[i]);
        bool counts =
            at != NONE && at != last && w->now - w->shared[at].first_at < group->rules.policy.breaker_window_ms;
        for (size_t k = 0; counts && k < i; k++)
            counts = fleet_shared(w, group->silent[k]) != at;
        count += counts;
        last = at;
    }
    return count;
}

static struct policy_group see_group(struct world *w, struct group *group)
{
    expire(w, group);
    if (group->failed_recently > policy_breaker_limit(&group->rules.policy, group->desired))
        group->settled_since = 0;
    else if (group->settled_since == 0)
        group->settled_since = w->now;
    struct policy_group seen = {.cluster = SIMULATE_CLUSTER,
                                .name = group->name,
                                .recovery = world_number(w, SIMULATE_AUTOMATIC) != 0 ? NODE_RECOVERY_AUTOMATIC
                                                                                     : NODE_RECOVERY_NONE,
                                .desired = group->desired,
                                .in_repair = group->in_repair,
                                .replacing = group->replacing,
                                .machine_capacity = group->machine_capacity,
                                .idle_elsewhere = group->idle,
                                .failed_recently = group->failed_recently + count_lost_elsewhere(w, group),
                                .breaker_opened_at = group->breaker_opened_at,
                                .breaker_settled_since = group->settled_since,
                                .last_repair_at = group->last_repair_at,
                                .healthy_elsewhere = group->desired - group->out,
                                .incidents = count_incidents(w, group)};
    memcpy(seen.in_repair_of, group->in_repair_of, sizeof(seen.in_repair_of));
    return seen;
}

static void decide_group(struct world *w, struct group *group, const int32_t *nodes, size_t count)
{
    autofree struct view *views = own_calloc(count, sizeof(*views));
    autofree struct policy_node *seen = own_calloc(count, sizeof(*seen));
    autofree const struct decision **said = own_calloc(count, sizeof(struct decision *));
    for (size_t i = 0; i < count; i++)
        seen[i] = see(w, nodes[i], &views[i]);
    for (size_t i = 0; i < count; i++)
        w->machines[nodes[i]].asked = true;
    struct policy_snapshot snapshot = {.now_ms = w->now,
                                       .settings = group->rules.policy,
                                       .group = see_group(w, group),
                                       .nodes = seen,
                                       .node_count = count};
    for (size_t i = 0; i < count; i++) {
        snapshot.group.healthy_elsewhere -= !w->machines[nodes[i]].out;
        snapshot.group.idle_elsewhere -= seen[i].idle;
    }
    struct policy_plan plan;
    policy_decide(&snapshot, &plan);
    for (size_t i = 0; i < count; i++)
        w->machines[nodes[i]].asked = false;
    if (plan.breaker_opens) {
        w->out->breaker_opened++;
        group->breaker_opened_at = w->now;
    }
    if (plan.breaker_closes)
        group->breaker_opened_at = 0;
    if (plan.breaker_over)
        group->settled_since = 0;               /* by silence and incidents, too */
    for (size_t i = 0, d = 0; i < count; i++) { /* both are by name, which is by number here */
        while (d < plan.count && plan.decisions[d].node_id < seen[i].id)
            d++;
        if (d < plan.count && plan.decisions[d].node_id == seen[i].id)
            said[i] = &plan.decisions[d];
    }
    for (size_t i = 0; i < count; i++) {
        if (said[i] != NULL && !seen[i].has_active_operation)
            follow(w, nodes[i], said[i]);
        return_if_clear(w, nodes[i], said[i]);
        free(views[i].verdicts);
    }
    policy_plan_free(&plan);
}

static int by_number(const void *a, const void *b)
{
    return *(const int32_t *)a < *(const int32_t *)b ? -1 : *(const int32_t *)a > *(const int32_t *)b;
}

void decide_dirty(struct world *w)
{
    size_t count = (size_t)w->dirty_count;
    autofree int32_t *nodes = own_calloc(count, sizeof(*nodes));
    memcpy(nodes, w->dirty, count * sizeof(*nodes));
    w->dirty_count = 0;
    for (size_t i = 0; i < count; i++)
        w->machines[nodes[i]].dirty = false;
    qsort(nodes, count, sizeof(*nodes), by_number); /* groups are runs of numbers */
    for (size_t from = 0, to; from < count; from = to) {
        struct group *group = fleet_group(w, nodes[from]);
        for (to = from; to < count && fleet_group(w, nodes[to]) == group;)
            to++;
        decide_group(w, group, nodes + from, to - from);
    }
}
