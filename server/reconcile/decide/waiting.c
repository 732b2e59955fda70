/*
 * Operations that wait for the jobs of their node, weighed against what is seen meanwhile.
 *
 * A drain may wait for days, up to the date that a provider names. Its node is decided on when the operation ends, so without a look here a
 * GPU that is lost meanwhile, or a machine that hangs, would wait for that date, too. The policy is asked as though the operation did not
 * exist: what it would begin now, by all its gates, and how long that would wait. Where that is shorter, a repair that the policy began is
 * cancelled and the node, which stays out of service, is decided on anew. What a person asked for goes on, and its jobs have the shorter
 * time. A check is cancelled for whatever takes the node out of service: before it begins, its node is at work.
 */
#include "server/reconcile/decide/waiting.h"
#include "base/text.h"
#include "db/operation.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/job_wait.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/decide/decide.h"

#include <stdio.h>
#include <string.h>

/* A date is the same however often it is asked for, but the drain for it began some time after it was decided: that is not shorter. */
#define SHORTER_BY_MS MS_PER_MIN

static const struct operation_step *drain_of(const struct operation *op)
{
    for (int i = 0; i < op->step_count; i++)
        if (op->steps[i].kind == STEP_KIND_DRAIN)
            return &op->steps[i];
    return NULL;
}

/* It may still give the jobs less time. */
static bool is_waiting(const struct operation *op)
{
    const struct operation_step *drain = drain_of(op);
    bool active = op->state == OPERATION_STATE_PENDING || op->state == OPERATION_STATE_RUNNING;
    return active && !op->cancel_asked && op->urgency != URGENCY_NOW && drain != NULL &&
           (drain->state == STEP_STATE_WAITING || drain->state == STEP_STATE_RUNNING);
}

static bool is_weighed(const struct decide_item *item)
{
    return reconcile_waits_for_jobs(item->node) && item->last_operation.id == item->node->op->id &&
           is_waiting(&item->last_operation);
}

static int64_t began_at(const struct operation *op, int64_t now)
{
    int64_t at = drain_of(op)->started_at;
    return at > 0 ? at : now;
}

static int64_t wait_of(const struct decision *d, const struct loop_settings *settings)
{
    if (d->urgency == URGENCY_NOW)
        return 0;
    return d->job_wait_ms > 0 ? d->job_wait_ms : settings->policy.drain_deadline_ms[FAULT_CLASS_NONE];
}

static bool is_shorter(const struct operation *op, const struct decision *d, const struct loop_settings *settings,
                       int64_t now)
{
    /* A date is nearer with each look. It is the same date as long as the drain has not begun. */
    bool same_date = drain_of(op)->started_at == 0 && d->urgency != URGENCY_NOW;
    int64_t since = same_date ? op->created_at : began_at(op, now);
    return wait_of(d, settings) + SHORTER_BY_MS < since + reconcile_job_wait_ms(op, settings) - now;
}

/* --- what would be decided ------------------------------------------------------------------------------------ */

static struct policy_node without_operation(const struct policy_node *node)
{
    struct policy_node view = *node;
    view.state = NODE_STATE_HELD;
    view.has_active_operation = view.under_test = false;
    return view;
}

/* It is decided on elsewhere: here it takes no place that an operation left out has. */
static struct policy_node without_repair(const struct policy_node *node)
{
    struct policy_node view = *node;
    view.opted_out = true;
    view.request = POLICY_REQUEST_NONE;
    return view;
}

/* It would not be in repair; what it takes then is asked of the limits anew. */
static void leave_out(struct policy_group *group, const struct rop *op)
{
    if (!operation_is_repair(op->kind))
        return;
    group->in_repair--;
    group->replacing -= op->kind == OPERATION_KIND_REPLACE;
    group->in_repair_of[op->fault]--;
}

static bool is_new(const struct decide_item *item, const struct decision *d)
{
    if (d->evidence_count == 0)
        return true; /* its agent is not seen */
    for (size_t i = 0; i < item->verdict_count; i++)
        for (int k = 0; k < d->evidence_count && k < DECISION_EVIDENCE_MAX; k++)
            if (item->verdicts[i].id == d->evidence[k] &&
                item->verdicts[i].received_at > item->last_operation.created_at)
                return true;
    return false;
}

static void take(struct decide_item *item, const struct decision *d, int64_t now)
{
    const struct operation *op = &item->last_operation;
    item->weigh_at = d->retry_at;
    bool check = reconcile_spares_jobs(op), repair = action_is_repair(d->action);
    bool gives_way = check ? d->action > ACTION_WATCH && is_new(item, d)
                           : repair && is_shorter(op, d, &item->node->group->settings, now);
    if (!gives_way)
        return;
    item->instead = own_calloc(1, sizeof(*item->instead));
    *item->instead = *d;
}

static int by_node(const void *key, const void *element)
{
    int64_t id = *(const int64_t *)key, other = ((const struct decide_item *)element)->node->id;
    return id < other ? -1 : id > other;
}

void reconcile_waiting_decide(const struct policy_snapshot *snapshot, struct decide_item *items, size_t count)
{
    size_t weighed = 0;
    for (size_t i = 0; i < count; i++)
        weighed += is_weighed(&items[i]);
    if (weighed == 0)
        return;
    struct policy_snapshot instead = *snapshot;
    autofree struct policy_node *views = own_calloc(count, sizeof(*views));
    for (size_t i = 0; i < count; i++) {
        bool is = is_weighed(&items[i]);
        views[i] = is ? without_operation(&snapshot->nodes[i]) : without_repair(&snapshot->nodes[i]);
        if (is)
            leave_out(&instead.group, items[i].node->op);
    }
    instead.nodes = views;
    struct policy_plan plan;
    policy_decide(&instead, &plan);
    for (size_t i = 0; i < plan.count; i++) {
        const struct decision *d = &plan.decisions[i];
        struct decide_item *item = bsearch(&d->node_id, items, count, sizeof(*items), by_node);
        if (item != NULL && is_weighed(item))
            take(item, d, snapshot->now_ms);
    }
    policy_plan_free(&plan);
}

/* --- what follows --------------------------------------------------------------------------------------------- */

static void poke(struct reconcile *r, struct rnode *node, const void *data)
{
    (void)data;
    reconcile_operation_poke(r, node);
}

static int cancel(struct turn *turn, struct operation *op, const struct decision *instead)
{
    op->cancel_asked = true;
    text_copy_cut(op->cancelled_by, sizeof(op->cancelled_by), ACTOR_POLICY);
    bool check = reconcile_spares_jobs(op), known = instead->code[0] != '\0', on = known && instead->device[0] != '\0';
    snprintf(op->error, sizeof(op->error), "%s%s%s%s%s",
             check ? "the node has a new fault" : "replaced by a more urgent repair",
             !known  ? ""
             : check ? ", "
                     : ": ",
             instead->code, on ? " on " : "", on ? instead->device : "");
    return db_operation_update(turn->tx, op);
}

/* Jobs may have less time without a newer fault, too: a setting was changed, or another fault hurries the same repair. */
static int shorten(struct turn *turn, const struct decide_item *item, struct operation *op, int64_t wait_ms)
{
    char until[CLOCK_TEXT_MAX];
    const char *code = item->instead->code;
    autofree char *why = is_new(item, item->instead) && code[0] != '\0'
                             ? own_printf("a newer fault (%s) shortens the wait for jobs", code)
                             : own_strdup("the wait for jobs is shorter now");
    int64_t since_began = turn->now - began_at(op, turn->now);
    op->job_wait_ms = since_began + wait_ms > 0 ? since_began + wait_ms : 1;
    int status = db_operation_update(turn->tx, op);
    clock_format(turn->now + wait_ms, until);
    return status != 0 ? status
                       : turn_event(turn, EVENT_LEVEL_WARN, EVENT_KIND_JOBS, item->node, op,
                                    "%s: they may run until %s", why, until);
}

int reconcile_waiting_apply(struct turn *turn, const struct decide_item *item)
{
    struct rnode *node = item->node;
    struct operation op;
    if (item->instead == NULL)
        return 0;
    int status = db_operation_active(turn->tx, node->id, &op);
    if (status != 0)
        return status == STATUS_NOT_FOUND ? 0 : status;
    if (op.id != item->last_operation.id || !is_waiting(&op))
        return 0;
    bool ours = operation_is_repair(op.kind) && op.cause == OPERATION_CAUSE_FAULT;
    if (ours || reconcile_spares_jobs(&op))
        status = cancel(turn, &op, item->instead);
    else
        status = shorten(turn, item, &op, wait_of(item->instead, &node->group->settings));
    if (status == 0)
        turn_after(turn, node, poke, NULL, 0);
    return status;
}
