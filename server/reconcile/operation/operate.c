/*
 * One operation one step further, inside the turn's transaction.
 *
 * A step is stored as RUNNING, with its attempt counted, in the commit before its call is sent, and as DONE after the
 * call came back; so a crash anywhere leaves a step that is simply done again, under the same key. What went wrong is
 * retried with growing pauses until the step's deadline; then the operation has failed and says what to do.
 */
#include "server/reconcile/operation/operate.h"
#include "base/hash.h"
#include "base/text.h"
#include "db/node.h"
#include "db/operation.h"
#include "db/verdict.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/operation.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/operation/end.h"
#include "server/reconcile/operation/reboot.h"
#include "server/reconcile/operation/step.h"
#include "server/reconcile/world/recount.h"

#include <stdio.h>

#define AGENTS_BACK_MS (5 * MS_PER_MIN)
#define LAUNCHES_SHARE_PERCENT 75 /* of the calls at once: launches of a large cluster leave room for repairs */

const struct step_ops *step_ops_of(enum step_kind kind)
{
    static const struct step_ops *const table[] = {
        [STEP_KIND_MARK] = &step_mark,           [STEP_KIND_DRAIN] = &step_drain,   [STEP_KIND_REBOOT] = &step_reboot,
        [STEP_KIND_TERMINATE] = &step_terminate, [STEP_KIND_LAUNCH] = &step_launch, [STEP_KIND_JOIN] = &step_join,
        [STEP_KIND_PREPARE] = &step_prepare,     [STEP_KIND_VERIFY] = &step_verify, [STEP_KIND_RESUME] = &step_resume,
        [STEP_KIND_FORGET] = &step_forget,       [STEP_KIND_CHECK] = &step_check,   [STEP_KIND_RESET] = &step_reset,
    };
    return table[kind];
}

/* --- small services for the steps -------------------------------------------------------------- */
void work_say_error(struct work *w, const struct rcall *call)
{
    work_say(w, "%s: %s", status_text(call->status),
             call->error[0] != '\0' ? call->error : status_meaning(call->status));
}

void work_event(struct work *w, enum event_level level, enum event_kind kind, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *text = own_vprintf(fmt, ap);
    va_end(ap);
    if (w->status == 0)
        work_did(w, turn_event(w->turn, level, kind, w->node, &w->op, "%s", text));
}

void work_move(struct work *w, enum node_state to, const char *reason)
{
    if (w->status == 0)
        work_did(w, turn_node_move(w->turn, w->node, &w->row, to, reason));
}

struct critical_count {
    const struct work *w;
    bool this_boot;
    int64_t count;
};

/* As its agent says, unless the site says otherwise of the code. */
static bool is_critical(const struct work *w, const struct verdict *verdict)
{
    const struct fault_scope faults = {atomic_load(&w->r->service->fault_overrides), w->node->group->instance_type};
    struct fault_judgement judgement;
    if (!fault_is_overridden(faults.overrides, verdict->code))
        return verdict->severity == SEVERITY_CRITICAL;
    fault_judge_in(&faults, verdict->source, verdict->code, verdict->raw_line, &judgement);
    return judgement.severity == SEVERITY_CRITICAL;
}

bool work_is_for_person(const struct work *w, const struct verdict *verdict)
{
    const struct fault_scope faults = {atomic_load(&w->r->service->fault_overrides), w->node->group->instance_type};
    struct fault_judgement judgement;
    fault_judge_in(&faults, verdict->source, verdict->code, verdict->raw_line, &judgement);
    return judgement.action == ACTION_CLASS_SUPPORT && text_equal(verdict->instance_id, w->instance.instance_id);
}

static int count_critical(const void *row, void *arg)
{
    struct critical_count *c = arg;
    const struct verdict *verdict = row;
    bool same = text_equal(verdict->instance_id, c->w->instance.instance_id) &&
                text_equal(verdict->boot_id, c->w->instance.boot_id);
    if ((same || !c->this_boot) && is_critical(c->w, verdict))
        c->count++;
    return 0;
}

int64_t work_open_critical(struct work *w, bool this_boot)
{
    struct critical_count c = {.w = w, .this_boot = this_boot};
    const struct db_verdict_filter filter = {
        .node_id = w->node->id, .state = VERDICT_STATE_OPEN, .limit = DECIDE_ROWS_MAX, .critical_first = true};
    work_did(w, db_verdict_list(w->turn->tx, &filter, count_critical, &c));
    return c.count;
}

struct rcall *work_scheduler_call(struct work *w, enum call_kind kind)
{
    struct rcall *call = reconcile_call_new(kind, w->node->id, w->op.id);
    reconcile_call_to(call, reconcile_link(w->node));
    text_copy_cut(call->node, sizeof(call->node), w->node->name);
    return call;
}

/* NULL: it is not configured. */
static const struct provider_driver *find_provider(const struct work *w)
{
    for (size_t i = 0; i < w->r->deps.provider_count; i++)
        if (text_equal(w->r->deps.providers[i].ops->name, w->node->group->provider))
            return &w->r->deps.providers[i];
    return NULL;
}

bool work_by_person(const struct work *w)
{
    const struct provider_driver *provider = find_provider(w);
    return provider != NULL && provider->ops->by_person;
}

struct rcall *work_provider_call(struct work *w, enum call_kind kind, const struct instance *about)
{
    const struct rgroup *group = w->node->group;
    const struct provider_driver *provider = find_provider(w);
    if (provider == NULL) {
        work_say(w, "this hpd has no provider \"%s\": add it under providers in the configuration", group->provider);
        return NULL;
    }
    struct rcall *call = reconcile_call_new(kind, w->node->id, w->op.id);
    call->provider = *provider;
    text_copy_cut(call->instance_id, sizeof(call->instance_id), about->instance_id);
    text_copy_cut(call->provider_ref, sizeof(call->provider_ref), about->provider_ref);
    text_copy_cut(call->launch_key, sizeof(call->launch_key), about->launch_key);
    text_copy_cut(call->cluster, sizeof(call->cluster), group->cluster->name);
    text_copy_cut(call->group, sizeof(call->group), group->name);
    text_copy_cut(call->instance_type, sizeof(call->instance_type), group->instance_type);
    text_copy_cut(call->node, sizeof(call->node), w->node->name);
    text_copy_cut(call->server_url, sizeof(call->server_url), w->r->service->server_url);
    text_copy_cut(call->fingerprint, sizeof(call->fingerprint), w->r->service->fingerprint);
    return call;
}

void work_fleet(struct work *w, const struct instance *instance)
{
    struct effect *effect = turn_effect(w->turn, EFFECT_FLEET, w->node);
    struct fleet_slot *slot = &effect->u.fleet.slot;
    *slot = (struct fleet_slot){.node_id = w->node->id, .cluster_id = w->row.cluster_id, .group_id = w->row.group_id};
    if (instance == NULL)
        return;
    text_copy_cut(slot->instance_id, sizeof(slot->instance_id), instance->instance_id);
    effect->u.fleet.image = reconcile_image(instance->image_id, instance->release);
}

/* --- steps in the store ------------------------------------------------------------------------ */
void work_step_store(struct work *w, const struct operation_step *step)
{
    w->steps_changed |= UINT32_C(1) << (step - w->op.steps);
}

void work_operation_store(struct work *w)
{
    w->operation_changed = true;
}

/* Before the commit after which a call is sent: what is to be done stands there as begun. */
static void store_changes(struct work *w)
{
    for (int i = 0; i < w->op.step_count && w->status == 0; i++)
        if (w->steps_changed >> i & 1)
            work_did(w, db_operation_step_update(w->turn->tx, w->op.id, &w->op.steps[i]));
    if (w->operation_changed && w->status == 0)
        work_did(w, db_operation_update(w->turn->tx, &w->op));
}

static struct operation_step *current_step(struct operation *op)
{
    for (int i = 0; i < op->step_count; i++)
        if (op->steps[i].state == STEP_STATE_WAITING || op->steps[i].state == STEP_STATE_RUNNING)
            return &op->steps[i];
    return NULL;
}

bool work_is_past_return(const struct operation *op)
{
    for (int i = 0; i < op->step_count; i++)
        if (step_is_point_of_no_return(op->steps[i].kind) &&
            (op->steps[i].state == STEP_STATE_RUNNING || op->steps[i].state == STEP_STATE_DONE))
            return true;
    return false;
}

void work_step_move(struct operation_step *step, enum step_state to)
{
    int state = (int)step->state;
    sm_move(&step_state_machine, &state, (int)to);
    step->state = to;
}

void work_step_close(struct work *w, enum step_state to)
{
    struct operation_step *step = w->step;
    work_step_move(step, to);
    step->finished_at = w->now;
    step->retry_at = 0;
    text_copy_cut(step->detail, sizeof(step->detail), w->detail);
    work_step_store(w, step);
    if (to == STEP_STATE_DONE)
        work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_OPERATION_STEP, "%s %s%s%s", step_kind_text(step->kind),
                   step_state_text(to), w->detail[0] != '\0' ? ": " : "", w->detail);
    w->detail[0] = '\0';
    w->scratch = (struct rop_scratch){.addressed = w->scratch.addressed};
}

/* --- going on ---------------------------------------------------------------------------------- */
static int64_t pause_after(const struct work *w)
{
    const struct loop_settings *settings = &w->node->group->settings;
    int64_t pause = settings->retry_min_ms;
    for (int i = 1; i < w->scratch.failures && pause < settings->retry_max_ms; i++)
        pause *= 2;
    return pause < settings->retry_max_ms ? pause : settings->retry_max_ms;
}

static void tell_begin(struct work *w)
{
    const struct operation *op = &w->op;
    if (op->code[0] != '\0')
        work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_OPERATION_STARTED, "%s started by %s: %s%s%s",
                   operation_kind_text(op->kind), op->actor, op->code, op->device[0] != '\0' ? " on " : "", op->device);
    else
        work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_OPERATION_STARTED, "%s started by %s: %s",
                   operation_kind_text(op->kind), op->actor, op->reason);
}

/* Begins a pending operation: the node is taken in hand. False when it cannot be. */
static bool operation_begin(struct work *w)
{
    enum node_state to = w->op.kind == OPERATION_KIND_DELETE ? NODE_STATE_DELETING : NODE_STATE_REPAIRING;
    bool moves = w->op.kind != OPERATION_KIND_LAUNCH && w->op.kind != OPERATION_KIND_RELEASE;
    if (moves && w->row.state != to && !sm_may(&node_state_machine, (int)w->row.state, (int)to)) {
        autofree char *why = own_printf("a node that is %s cannot be taken for a %s", node_state_text(w->row.state),
                                        operation_kind_text(w->op.kind));
        work_end(w, OPERATION_STATE_CANCELLED, why);
        work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_OPERATION_CANCELLED, "%s cancelled: %s",
                   operation_kind_text(w->op.kind), why);
        return false;
    }
    enum step_result may = w->op.kind == OPERATION_KIND_CHECK ? work_may_check(w) : STEP_GO_ON;
    if (may == STEP_FAIL)
        work_end_unbegun(w);
    if (may != STEP_GO_ON)
        return false;
    w->op.state = OPERATION_STATE_RUNNING;
    w->op.started_at = w->now;
    work_operation_store(w);
    tell_begin(w);
    if (moves && w->row.state != to)
        work_move(w, to, w->op.reason);
    return w->status == 0;
}

static enum step_result step_begin(struct work *w, const struct step_ops *ops)
{
    work_step_move(w->step, STEP_STATE_RUNNING);
    w->step->started_at = w->now;
    int64_t limit_ms = ops->deadline_ms == NULL ? 0 : ops->deadline_ms(w);
    w->step->deadline_at = limit_ms == 0 ? 0 : w->now + limit_ms;
    work_step_store(w, w->step);
    return ops->enter == NULL ? STEP_GO_ON : ops->enter(w);
}

/* How long agents may take to report when hpd is back: after an outage of a site the network may come back later than hpd. A join that is
 * to be shorter is as short here, too. */
static int64_t agents_back_ms(const struct loop_settings *settings)
{
    int64_t back = settings->join_deadline_ms < AGENTS_BACK_MS ? settings->join_deadline_ms : AGENTS_BACK_MS;
    return back > settings->policy.silent_after_ms ? back : settings->policy.silent_after_ms;
}

/* The step gets at least the time of one call, or, where it waits for an agent, that of agents to report. It is stored: the next look reads the
 * row again. */
static void give_time(struct work *w)
{
    const struct loop_settings *settings = &w->node->group->settings;
    bool waits_for_agent = w->step->kind == STEP_KIND_JOIN;
    int64_t at_least = w->now + (waits_for_agent ? agents_back_ms(settings) : settings->backend_deadline_ms);
    if (w->step->deadline_at <= 0 || w->step->deadline_at >= at_least)
        return;
    w->step->deadline_at = at_least;
    work_step_store(w, w->step);
}

/* While the scheduler is away, its steps wait, and the time does not count. */
static bool scheduler_is_away(struct work *w, const struct step_ops *ops)
{
    bool goes_anyway = w->op.kind == OPERATION_KIND_DELETE &&
                       (w->op.urgency == URGENCY_NOW || w->node->group->cluster->state == CLUSTER_STATE_DELETING ||
                        !w->node->was_ready || !reconcile_link_is_configured(reconcile_link(w->node)));
    if (!ops->asks_scheduler || !work_has_scheduler(w) || goes_anyway)
        return false;
    if (!reconcile_link_is_usable(reconcile_link(w->node)) || reconcile_link(w->node)->observed_at == 0) {
        w->scratch.paused = true;
        return true;
    }
    if (w->scratch.paused)
        give_time(w);
    w->scratch.paused = false;
    return false;
}

/* While hpd was away nobody looked. */
static void step_came_up(struct work *w, const struct step_ops *ops)
{
    if (w->scratch.loaded && ops->deadline_ms != NULL)
        give_time(w);
    if (w->scratch.loaded)
        work_methods_came_up(w);
    w->scratch.loaded = false;
}

static enum step_result step_expired(struct work *w)
{
    const char *last = w->step->detail;
    char span[CLOCK_TEXT_MAX];
    clock_format_duration(w->now - w->step->started_at, span);
    work_say(w, "not done within %s%s%s", span, last[0] != '\0' ? "; last: " : "", last);
    bool optional = w->step->kind == STEP_KIND_MARK || w->step->kind == STEP_KIND_DRAIN;
    return w->op.kind == OPERATION_KIND_DELETE && optional ? STEP_SKIP : STEP_FAIL;
}

static enum step_result step_look(struct work *w, const struct step_ops *ops)
{
    if (w->step->state == STEP_STATE_WAITING) {
        enum step_result result = step_begin(w, ops);
        if (result != STEP_GO_ON)
            return result;
    }
    if (scheduler_is_away(w, ops)) {
        work_say(w, "%s", reconcile_link_lacks(reconcile_link(w->node)));
        return STEP_WAIT;
    }
    step_came_up(w, ops);
    if (w->step->deadline_at > 0 && w->now >= w->step->deadline_at && ops->deadline_ms != NULL)
        return step_expired(w);
    if (w->step->retry_at > w->now && w->scratch.failures > 0) {
        work_due(w, w->step->retry_at);
        return STEP_WAIT;
    }
    return ops->run(w);
}

/* Calls that may still be sent by this operation: to a scheduler (link) of its share, to a provider of the steps' own. Launches leave
 * a part of either to repairs. */
static int slots_left(const struct work *w, const struct scheduler_link *link)
{
    int most = w->node->group->settings.steps_in_flight_max;
    int left = link != NULL ? link->slots_left : w->turn->provider_slots_left;
    if (link != NULL)
        most = reconcile_link_share(w->r);
    int kept = w->op.kind == OPERATION_KIND_LAUNCH ? most - most * LAUNCHES_SHARE_PERCENT / 100 : 0;
    return (left < w->turn->slots_left ? left : w->turn->slots_left) - kept;
}

static const struct scheduler_link *link_of_call(const struct work *w)
{
    return w->call != NULL ? w->call->link : reconcile_link(w->node);
}

bool work_may_call(const struct work *w)
{
    return slots_left(w, link_of_call(w)) > 0;
}

static void step_send(struct work *w)
{
    struct scheduler_link *link = w->call->link;
    if (!work_may_call(w)) {
        w->waits_for_slot = true;
        w->waits_for_link = link != NULL && w->turn->slots_left > 0;
        reconcile_call_free(TAKE(w->call));
        return;
    }
    w->turn->slots_left--;
    if (link != NULL)
        link->slots_left--;
    else
        w->turn->provider_slots_left--;
    if (w->quiet)
        return;
    w->step->attempts++;
    w->step->retry_at = 0;
    work_step_store(w, w->step);
}

/* The scheduler says that our user lacks a right (DENIED); any other refusal has the step's deadline. A deletion goes on without the right,
 * but for the scheduler's own object of the machine. */
static bool lacks_right(const struct work *w, const struct rcall *call)
{
    switch (call->kind) {
    case CALL_CORDON:
    case CALL_WORKLOADS:
    case CALL_EVICT:
    case CALL_UNCORDON:
        return call->status == STATUS_DENIED && w->op.kind != OPERATION_KIND_DELETE;
    case CALL_TERMINATE:
        return call->status == STATUS_DENIED && call->by_scheduler;
    default:
        return false;
    }
}

/* The sentence without its digits: Slurm names the job that it was asked about. */
static uint64_t hash_right(const char *said)
{
    uint64_t hash = HASH_BASIS;
    for (; *said != '\0'; said++)
        if (*said < '0' || *said > '9')
            hash = hash_number(hash, (unsigned char)*said);
    return hash;
}

/* Only a person can give it: the step waits, its time does not count, and the timeline says once what is missing. */
static enum step_result await_right(struct work *w, const struct rcall *call)
{
    work_say(w, "waits for a right in the scheduler: %s", call->error);
    uint64_t right = hash_right(w->detail);
    if (right != w->scratch.right_hash && right != hash_right(w->step->detail))
        work_event(w, EVENT_LEVEL_ERROR, EVENT_KIND_OPERATION_STEP, "%s %s", step_kind_text(w->step->kind), w->detail);
    w->scratch.right_hash = right;
    if (w->scratch.failures == 0)
        w->scratch.failures = 1; /* it was said */
    give_time(w);
    return STEP_RETRY;
}

static void step_wait(struct work *w)
{
    if (w->detail[0] != '\0' && !text_equal(w->detail, w->step->detail)) {
        text_copy_cut(w->step->detail, sizeof(w->step->detail), w->detail);
        work_step_store(w, w->step);
    }
    w->detail[0] = '\0';
    if (step_ops_of(w->step->kind)->deadline_ms != NULL && w->step->deadline_at > 0 && !w->scratch.paused)
        work_due(w, w->step->deadline_at);
}

static void step_retry(struct work *w)
{
    w->scratch.failures++;
    w->step->retry_at = w->now + pause_after(w);
    if (w->scratch.failures == 1)
        work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_OPERATION_STEP, "%s does not succeed yet: %s",
                   step_kind_text(w->step->kind), w->detail);
    text_copy_cut(w->step->detail, sizeof(w->step->detail), w->detail);
    work_step_store(w, w->step);
    work_due(w, w->step->retry_at);
    step_wait(w);
}

/* False when the operation is at rest or at its end. */
static bool follow(struct work *w, enum step_result result)
{
    switch (result) {
    case STEP_GO_ON:
        return true;
    case STEP_DONE:
        work_step_close(w, STEP_STATE_DONE);
        return true;
    case STEP_SKIP:
        work_step_close(w, STEP_STATE_SKIPPED);
        return true;
    case STEP_WAIT:
        step_wait(w);
        return false;
    case STEP_CALL:
        step_send(w);
        return false;
    case STEP_RETRY:
        step_retry(w);
        return false;
    case STEP_FAIL:
        work_end_failed(w);
        return false;
    case STEP_CANCEL: {
        char why[SENTENCE_MAX_BYTES];
        text_copy_cut(why, sizeof(why), w->detail);
        work_end_cancelled(w, NODE_STATE_HELD, why);
        return false;
    }
    }
    return false;
}

static bool is_active(const struct operation *op)
{
    return op->state == OPERATION_STATE_PENDING || op->state == OPERATION_STATE_RUNNING;
}

static void advance(struct work *w)
{
    const struct rcall *answer = w->node->op->result;
    bool goes_on = w->op.state == OPERATION_STATE_RUNNING || work_cancel_applies(w) || operation_begin(w);
    while (goes_on && w->status == 0 && is_active(&w->op)) {
        w->step = current_step(&w->op);
        if (w->step == NULL) {
            work_end_succeeded(w);
            return;
        }
        enum step_result result;
        if (answer != NULL && w->scratch.undoing)
            result = work_cancel_answer(w, answer);
        else if (answer != NULL && lacks_right(w, answer))
            result = await_right(w, answer);
        else if (answer != NULL)
            result = step_ops_of(w->step->kind)->answer(w, answer);
        else if (work_cancel_applies(w))
            result = work_cancel_run(w);
        else
            result = step_look(w, step_ops_of(w->step->kind));
        answer = NULL;
        if (!is_active(&w->op))
            return; /* the cancel ended it */
        goes_on = follow(w, result);
    }
}

/* --- one operation ----------------------------------------------------------------------------- */
static void note_effect(struct work *w)
{
    struct effect *effect = turn_effect(w->turn, EFFECT_OPERATION, w->node);
    const struct operation_step *step = current_step(&w->op);
    effect->u.operation.step = step != NULL ? step->kind : STEP_KIND_RESUME;
    effect->u.operation.past_return = work_is_past_return(&w->op);
    effect->u.operation.due_at = w->due_at;
    effect->u.operation.scratch = w->scratch;
    effect->u.operation.waits_for_slot = w->waits_for_slot;
    effect->u.operation.waits_for_link = w->waits_for_link;
    effect->u.operation.took = w->node->op->result;
    effect->u.operation.call = TAKE(w->call);
}

static int work_load(struct work *w)
{
    int status = db_operation_get_row(w->turn->tx, w->node->op->id, &w->op);
    if (status == 0)
        status = db_node_get_row(w->turn->tx, w->node->id, &w->row);
    if (status == 0 && w->row.instance_row != 0)
        status = db_instance_get_row(w->turn->tx, w->row.instance_row, &w->instance);
    return status;
}

/* Whatever a repair was about: the whole cluster goes, and what it made is ended with the rest. */
static bool is_overtaken(const struct work *w)
{
    bool deleting = w->node->group->cluster->state == CLUSTER_STATE_DELETING || w->row.state == NODE_STATE_DELETING;
    return deleting && w->op.kind != OPERATION_KIND_DELETE;
}

static void end_overtaken(struct work *w)
{
    bool cluster_goes = w->node->group->cluster->state == CLUSTER_STATE_DELETING;
    const char *why = cluster_goes ? "the cluster is being deleted" : "the node is deleted";
    work_end(w, OPERATION_STATE_CANCELLED, why);
    work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_OPERATION_CANCELLED, "%s cancelled: %s", operation_kind_text(w->op.kind),
               why);
    if (w->row.state != NODE_STATE_DELETING)
        work_move(w, NODE_STATE_DELETING, why);
}

/* A launch that failed before is told of again only when it succeeds. */
static bool is_another_try(const struct work *w)
{
    return w->op.kind == OPERATION_KIND_LAUNCH && w->node->launch_failed;
}

int reconcile_operate(struct turn *turn, struct rnode *node)
{
    struct work w = {.turn = turn, .r = turn->r, .node = node, .now = turn->now, .scratch = node->op->scratch};
    int status = work_load(&w);
    if (status != 0 && status != STATUS_NOT_FOUND)
        return status;
    if (status == STATUS_NOT_FOUND || !is_active(&w.op)) {
        struct effect *effect = turn_effect(turn, EFFECT_OPERATION_END, node);
        effect->u.operation.end = OPERATION_STATE_CANCELLED;
        effect->u.operation.took = node->op->result;
        return 0;
    }
    if (is_overtaken(&w)) {
        end_overtaken(&w);
        store_changes(&w);
        return w.status;
    }
    turn->muted = is_another_try(&w);
    advance(&w);
    turn->muted = false;
    store_changes(&w);
    if (w.status != 0) {
        reconcile_call_free(w.call);
        return w.status;
    }
    if (is_active(&w.op))
        note_effect(&w);
    return 0;
}
