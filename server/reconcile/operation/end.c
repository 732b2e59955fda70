/*
 * How operations end: they succeed, they fail and say what to do, or they are cancelled. Each end says where the node goes.
 *
 * A reset that failed, a reboot that did not bring its machine back, a fault that came back at the return gate, and a node that went away
 * there again after the scheduler had given it up, leave the node held, because the
 * policy has a next word; any other failure needs a person. A cancel takes our mark back when nothing else
 * is against the node, and leaves it held when something does.
 */
#include "server/reconcile/operation/end.h"
#include "base/text.h"
#include "db/deep.h"
#include "db/verdict.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/keep/quarantine.h"
#include "server/reconcile/operation/capacity.h"
#include "server/reconcile/operation/operate.h"
#include "server/reconcile/operation/return.h"
#include "server/reconcile/operation/step.h"
#include "server/reconcile/operation/task.h"

#include <string.h>

#define BRIEF_ERROR_MAX 97 /* of what failed, in the reason of a node: the advice has to fit behind it */

/* The end of an operation closes what of it was not done. */
static void steps_close_rest(struct work *w)
{
    for (int i = 0; i < w->op.step_count; i++) {
        struct operation_step *step = &w->op.steps[i];
        if (step->state != STEP_STATE_WAITING && step->state != STEP_STATE_RUNNING)
            continue;
        work_step_move(step, STEP_STATE_SKIPPED);
        step->finished_at = w->now;
        work_step_store(w, step);
    }
}

/* A step of deep health checks was begun on a new machine. */
static bool has_checked(const struct operation *op)
{
    for (int i = 0; i < op->step_count; i++)
        if (op->steps[i].kind == STEP_KIND_CHECK && op->steps[i].started_at > 0)
            return true;
    return false;
}

/* Was it in service, and if it never was, how often was that tried? */
static void count_tries(struct work *w, enum operation_state state)
{
    bool failed = state == OPERATION_STATE_FAILED || w->op.kind == OPERATION_KIND_LAUNCH;
    struct node row = w->row;
    if (state == OPERATION_STATE_SUCCEEDED && w->op.kind != OPERATION_KIND_DELETE) {
        row.served = true;
        row.launch_tries = 0;
    } else if (failed && !row.served && (row.state == NODE_STATE_FAILED || row.state == NODE_STATE_PENDING)) {
        row.launch_tries += row.launch_tries < UINT8_MAX;
    }
    if (row.served == w->row.served && row.launch_tries == w->row.launch_tries)
        return;
    w->row = row;
    work_did(w, turn_node_write(w->turn, w->node, &w->row));
}

static void count_end(struct reconcile *r, struct rnode *node, const void *data)
{
    const struct operation *op = data;
    (void)node;
    r->stats.durations.ended[op->kind][op->state]++;
    r->stats.durations.refused += op->cause == OPERATION_CAUSE_FAULT && operation_is_repair(op->kind) &&
                                  op->state == OPERATION_STATE_CANCELLED && op->cancelled_by[0] != '\0' &&
                                  !operation_is_outweighed(op);
    if (op->state == OPERATION_STATE_SUCCEEDED)
        durations_add(&r->stats.durations.operations[op->kind], op->finished_at - op->created_at);
    for (int i = 0; i < op->step_count; i++)
        if (op->steps[i].state == STEP_STATE_DONE)
            durations_add(&r->stats.durations.steps[op->steps[i].kind],
                          op->steps[i].finished_at - op->steps[i].started_at);
}

struct returned {
    enum operation_kind kind;
    int64_t ms;
};

static void count_returned(struct reconcile *r, struct rnode *node, const void *data)
{
    const struct returned *returned = data;
    (void)node;
    durations_add(&r->stats.durations.to_service[returned->kind], returned->ms);
}

/* From when the fault was first seen, or, where no agent saw it, was decided on. */
static void note_returned(struct work *w)
{
    struct decision decision;
    int status = db_decision_get_row(w->turn->tx, w->op.decision_id, &decision);
    int64_t since = status == 0 ? decision.at : w->op.created_at;
    for (int i = 0; status == 0 && i < decision.evidence_count && i < DECISION_EVIDENCE_MAX; i++) {
        struct verdict verdict;
        status = db_verdict_get_row(w->turn->tx, decision.evidence[i], &verdict);
        if (status == 0 && verdict.first_at < since)
            since = verdict.first_at;
        status = status == STATUS_NOT_FOUND ? 0 : status;
    }
    work_did(w, status == STATUS_NOT_FOUND ? 0 : status);
    const struct returned returned = {w->op.kind, w->now - since};
    turn_after(w->turn, w->node, count_returned, &returned, sizeof(returned));
}

/* --- ends -------------------------------------------------------------------------------------- */
void work_end(struct work *w, enum operation_state state, const char *error)
{
    /* Nothing was tested, and nobody stopped it. */
    bool nobody = w->op.cancelled_by[0] == '\0' || operation_is_outweighed(&w->op);
    bool left_out =
        (w->op.cancel_asked && nobody) || (state == OPERATION_STATE_FAILED && w->op.state == OPERATION_STATE_PENDING);
    steps_close_rest(w);
    if (w->op.kind == OPERATION_KIND_CHECK || has_checked(&w->op)) {
        work_did(w, db_deep_run_close(w->turn->tx, w->op.id, left_out ? DEEP_STATE_SKIPPED : DEEP_STATE_CANCELLED,
                                      error, w->now));
        work_quarantine_leave(w);
    }
    count_tries(w, state);
    int from = (int)w->op.state;
    sm_move(&operation_state_machine, &from, (int)state);
    w->op.state = state;
    w->op.finished_at = w->now;
    text_copy_cut(w->op.error, sizeof(w->op.error), error);
    work_operation_store(w);
    turn_after(w->turn, w->node, count_end, &w->op, sizeof(w->op));
    if (state == OPERATION_STATE_SUCCEEDED && operation_is_repair(w->op.kind) && w->held_because[0] == '\0' &&
        w->op.cause == OPERATION_CAUSE_FAULT)
        note_returned(w);
    struct effect *effect = turn_effect(w->turn, EFFECT_OPERATION_END, w->node);
    effect->u.operation.end = state;
    effect->u.operation.took = w->node->op->result;
    work_task_drop(w);
    /* What our own mark left in the scheduler is not a person's request. */
    bool marked = w->op.step_count > 0 && w->op.steps[0].kind == STEP_KIND_MARK &&
                  (w->op.steps[0].state == STEP_STATE_DONE || w->op.steps[0].attempts > 0);
    if (marked && (state != OPERATION_STATE_SUCCEEDED || w->held_because[0] != '\0'))
        effect->u.operation.leftover = (uint8_t)reconcile_owner(w->op.kind).request;
}

/* --- a person's turn --------------------------------------------------------------------------- */
/* It was begun by the policy for just what the node is held for. */
static bool is_for_the_cause(struct work *w)
{
    struct decision hold;
    int status = db_decision_get_row(w->turn->tx, w->row.person_hold, &hold);
    if (status == STATUS_NOT_FOUND)
        return true;
    work_did(w, status);
    return status == 0 && w->op.cause == OPERATION_CAUSE_FAULT && text_equal(w->op.code, hold.code) &&
           text_equal(w->op.device, hold.device);
}

static int find_for_person(const void *row, void *arg)
{
    return work_is_for_person(arg, row) ? 1 : 0;
}

bool work_person_holds(struct work *w)
{
    const struct db_verdict_filter open = {.node_id = w->node->id,
                                           .state = VERDICT_STATE_OPEN}; /* until one is found */
    bool asked =
        w->op.kind == OPERATION_KIND_REBOOT || w->op.kind == OPERATION_KIND_RESET || w->op.kind == OPERATION_KIND_CHECK;
    if (!asked || w->instance.id == 0)
        return false;
    bool held = w->row.person_hold != 0 && w->row.person_hold_row == w->row.instance_row && !is_for_the_cause(w);
    if (!held) {
        int found = db_verdict_list(w->turn->tx, &open, find_for_person, w);
        held = found > 0;
        work_did(w, found < 0 ? found : 0);
    }
    if (held && w->held_because[0] == '\0')
        text_copy_cut(w->held_because, sizeof(w->held_because),
                      "a person has to look, which no repair has answered; release the node when that is done");
    return held;
}

void work_end_succeeded(struct work *w)
{
    w->turn->muted = false;
    if (!work_person_holds(w))
        w->row.person_hold = 0;
    if (w->op.kind != OPERATION_KIND_DELETE) {
        bool held = w->held_because[0] != '\0';
        work_move(w, held ? NODE_STATE_HELD : NODE_STATE_READY, w->held_because);
    }
    work_end(w, OPERATION_STATE_SUCCEEDED, "");
    work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_OPERATION_SUCCEEDED, "%s succeeded%s%s", operation_kind_text(w->op.kind),
               w->held_because[0] != '\0' ? ", but the node is held: " : "", w->held_because);
    work_machine_capacity_came_up(w);
}

static const char *advice(const struct work *w, enum step_kind step)
{
    if (w->op.kind == OPERATION_KIND_REBOOT && step == STEP_KIND_JOIN && work_by_person(w))
        return "reboot the machine, then release the node";
    if (w->op.kind == OPERATION_KIND_REBOOT)
        return "replace the node, or repair it and release it";
    if (step == STEP_KIND_LAUNCH)
        return "see to what the provider says, then replace the node";
    if (step == STEP_KIND_JOIN || step == STEP_KIND_VERIFY)
        return "look at the instance, then replace or release the node";
    if (step == STEP_KIND_PREPARE)
        return "repair the script, then release or replace the node";
    if (step == STEP_KIND_CHECK)
        return "look at what the check found, then replace or release the node";
    if (step == STEP_KIND_RESUME)
        return "resume it in the scheduler, then release the node";
    return "see to the cause, then repeat or release the node";
}

static bool all_refused(const struct operation *op)
{
    for (int i = 0; i < op->try_count; i++)
        if (op->tries[i].outcome != REBOOT_OUTCOME_REFUSED)
            return false;
    return op->try_count > 0;
}

/* A machine that did not come back from our reboot, or a device from our reset, is the policy's to decide on, and so is one that went away again
 * while the scheduler's own finding was looked into; a relapse is, too. That a person did not
 * come to reboot it says nothing of the machine, and neither does that every method of its group was refused: nobody tried it. */
static bool policy_decides_next(const struct work *w, enum step_kind failed)
{
    if (w->row.state != NODE_STATE_REPAIRING && w->row.state != NODE_STATE_VERIFYING)
        return false;
    bool asked = work_by_person(w) && (failed == STEP_KIND_JOIN || w->op.try_count == 0);
    bool reboot = w->op.kind == OPERATION_KIND_REBOOT && w->op.cause == OPERATION_CAUSE_FAULT &&
                  (failed == STEP_KIND_REBOOT || failed == STEP_KIND_JOIN) && !asked && !all_refused(&w->op);
    bool reset = failed == STEP_KIND_RESET && w->op.cause == OPERATION_CAUSE_FAULT;
    bool gone_again = failed == STEP_KIND_VERIFY && work_is_absence(w);
    return reset || reboot || gone_again || w->relapsed;
}

void work_end_failed(struct work *w)
{
    enum step_kind failed = w->step->kind;
    autofree char *error = own_printf("%s: %s", step_kind_text(failed), w->detail);
    work_step_close(w, STEP_STATE_FAILED);
    char brief[BRIEF_ERROR_MAX]; /* whole in the event and in the operation */
    text_copy_cut(brief, sizeof(brief), error);
    bool cut = strlen(brief) < strlen(error);
    autofree char *reason =
        own_printf("%s failed at %s%s; %s", operation_kind_text(w->op.kind), brief, cut ? "…" : "", advice(w, failed));
    if (w->op.kind == OPERATION_KIND_DELETE)
        work_move(w, NODE_STATE_DELETING, reason);
    else
        work_move(w, policy_decides_next(w, failed) ? NODE_STATE_HELD : NODE_STATE_FAILED, reason);
    work_end(w, OPERATION_STATE_FAILED, error);
    work_event(w, EVENT_LEVEL_ERROR, EVENT_KIND_OPERATION_FAILED, "%s failed at %s", operation_kind_text(w->op.kind),
               error);
    work_machine_capacity_failed(w, failed);
}

void work_end_unbegun(struct work *w)
{
    char why[SENTENCE_MAX_BYTES];
    text_copy_cut(why, sizeof(why), w->detail);
    work_end(w, OPERATION_STATE_FAILED, why);
    work_event(w, EVENT_LEVEL_ERROR, EVENT_KIND_OPERATION_FAILED, "%s failed before it began: %s",
               operation_kind_text(w->op.kind), why);
    w->detail[0] = '\0';
}

void work_end_cancelled(struct work *w, enum node_state to, const char *why)
{
    char reason[REASON_MAX_BYTES];
    text_copy_cut(reason, sizeof(reason), to == NODE_STATE_READY ? "" : why);
    if (w->row.state == NODE_STATE_REPAIRING || w->row.state == NODE_STATE_VERIFYING) {
        work_move(w, NODE_STATE_HELD, why); /* the only way back into service leads through here */
        work_move(w, to, reason);
    }
    work_end(w, OPERATION_STATE_CANCELLED, why);
    work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_OPERATION_CANCELLED, "%s cancelled: %s", operation_kind_text(w->op.kind),
               why);
}

/* --- cancelling on request --------------------------------------------------------------------- */
bool work_cancel_applies(const struct work *w)
{
    return w->op.cancel_asked && w->op.kind != OPERATION_KIND_DELETE && !work_is_past_return(&w->op);
}

static bool mark_was_tried(const struct work *w)
{
    return w->op.steps[0].kind == STEP_KIND_MARK && w->op.steps[0].attempts > 0 && work_has_scheduler(w);
}

/* Who asked; or why it ends itself (a busy node that is not to be checked now), or gives way. Caller frees. */
static char *cancel_reason(const struct work *w)
{
    bool by_person = w->op.cancelled_by[0] != '\0' && !operation_is_outweighed(&w->op);
    return by_person ? own_printf("cancelled by %s", w->op.cancelled_by) : own_strdup(w->op.error);
}

/* Where the node goes: back into service when nothing is against it, after our mark was taken back. Where something worse is, it
 * stays out until that is decided on, whatever it is. */
enum step_result work_cancel_run(struct work *w)
{
    bool bad = work_open_critical(w, false) > 0 || w->op.kind == OPERATION_KIND_RELEASE ||
               operation_is_outweighed(&w->op) || work_person_holds(w);
    autofree char *why = cancel_reason(w);
    if (bad || !mark_was_tried(w)) {
        work_end_cancelled(w, bad ? NODE_STATE_HELD : NODE_STATE_READY, why);
        return STEP_WAIT;
    }
    if (w->scratch.undo_until == 0)
        w->scratch.undo_until = w->now + w->node->group->settings.backend_deadline_ms;
    if (w->now >= w->scratch.undo_until) {
        autofree char *kept = own_printf("%.*s, but its mark could not be taken back", TEXT_FIT(why, 300));
        work_end_cancelled(w, NODE_STATE_HELD, kept);
        return STEP_WAIT;
    }
    if (!work_is_back(w, w->scratch.undo_until - w->node->group->settings.backend_deadline_ms))
        return STEP_WAIT;
    w->scratch.undoing = true;
    w->quiet = true;
    w->call = work_scheduler_call(w, CALL_UNCORDON);
    reconcile_call_owner(w->call, reconcile_owner(w->op.kind));
    return STEP_CALL;
}

enum step_result work_cancel_answer(struct work *w, const struct rcall *call)
{
    w->scratch.undoing = false;
    autofree char *why = cancel_reason(w);
    if (call->status == 0) {
        work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_SCHEDULER_RESUME, "back in service: the mark was taken back");
        work_end_cancelled(w, NODE_STATE_READY, why);
        return STEP_WAIT;
    }
    if (call->status == STATUS_CONFLICT) {
        autofree char *kept = own_printf("%.*s; someone else holds the node in the scheduler", TEXT_FIT(why, 300));
        work_end_cancelled(w, NODE_STATE_HELD, kept);
        return STEP_WAIT;
    }
    work_due(w, w->now + w->node->group->settings.retry_min_ms);
    return STEP_WAIT;
}
