/*
 * The steps that talk to the scheduler: mark and resume (drain: reconcile/operation/drain.c).
 *
 * A mark or a resume that the scheduler refuses with CONFLICT is judged by the next snapshot, not by the error's text: does
 * someone else hold the node, or was our own view too old? What a person holds is left to that person.
 */
#include "base/text.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/seen.h"
#include "server/reconcile/keep/quarantine.h"
#include "server/reconcile/observe/observe.h"
#include "server/reconcile/operation/end.h"
#include "server/reconcile/operation/operate.h"
#include "server/reconcile/operation/step.h"

static int64_t backend_deadline(const struct work *w)
{
    return w->node->group->settings.backend_deadline_ms;
}

static bool is_deletion(const struct work *w)
{
    return w->op.kind == OPERATION_KIND_DELETE;
}

enum step_result work_needs_scheduler(struct work *w)
{
    if (work_has_scheduler(w))
        return STEP_GO_ON;
    work_say(w, "the cluster has no scheduler");
    return STEP_SKIP;
}

/* Waits for a snapshot that is younger than all we did. */
static enum step_result wait_for_snapshot(struct work *w)
{
    turn_after(w->turn, w->node, reconcile_observe_now, NULL, 0);
    work_due(w, w->now + reconcile_group_observe_interval(w->node->group));
    return STEP_WAIT;
}

static void say_foreign(struct work *w)
{
    const struct rnode *node = w->node;
    const char *reason = node->reason != NULL ? node->reason : "no reason given";
    work_say(w, "%s holds the node in the scheduler (%.*s)", node->reason_user != NULL ? node->reason_user : "someone",
             TEXT_FIT(reason, 120));
}

/* --- mark -------------------------------------------------------------------------------------- */
static enum step_result mark_enter(struct work *w)
{
    return work_needs_scheduler(w);
}

static bool is_request(uint8_t request)
{
    return request == SCHEDULER_REQUEST_REBOOT || request == SCHEDULER_REQUEST_REPLACE;
}

static enum step_result mark_run(struct work *w)
{
    const struct rnode *node = w->node;
    if (!reconcile_link_is_configured(reconcile_link(w->node))) {
        work_say(w, "%s", reconcile_link_lacks(reconcile_link(w->node)));
        return STEP_SKIP; /* only a deletion comes here */
    }
    if (reconcile_unknown_there(node)) {
        work_say(w, "the scheduler does not know the node: add it there, or create the cluster without one");
        return is_deletion(w) ? STEP_SKIP : STEP_RETRY;
    }
    if (!reconcile_sees(w->r, node))
        return wait_for_snapshot(w);
    if (reconcile_external_drain(node)) {
        say_foreign(w);
        return is_deletion(w) ? STEP_SKIP : STEP_CANCEL;
    }
    w->call = work_scheduler_call(w, CALL_CORDON);
    reconcile_call_owner(w->call, reconcile_owner(w->op.kind));
    if (node->reason != NULL && (reconcile_reason_is_ours(node) || is_request(node->request)))
        text_copy_cut(w->call->seen, sizeof(w->call->seen), node->reason);
    return STEP_CALL;
}

static enum step_result mark_answer(struct work *w, const struct rcall *call)
{
    if (call->status == 0) {
        work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_SCHEDULER_MARK, "taken out of scheduling: %s", call->shown);
        if (w->op.kind == OPERATION_KIND_CHECK)
            work_quarantine_ask(w);
        return STEP_DONE;
    }
    work_say_error(w, call);
    if (is_deletion(w) && (call->status == STATUS_CONFLICT || reconcile_call_is_final(call->status)))
        return STEP_SKIP;
    return reconcile_call_is_final(call->status) ? STEP_FAIL : STEP_RETRY;
}

const struct step_ops step_mark = {
    .enter = mark_enter,
    .run = mark_run,
    .answer = mark_answer,
    .deadline_ms = backend_deadline,
    .asks_scheduler = true,
};

/* --- resume ------------------------------------------------------------------------------------ */
static enum step_result resume_enter(struct work *w)
{
    if (work_person_holds(w)) {
        work_say(w, "%s", w->held_because);
        return STEP_SKIP;
    }
    return work_needs_scheduler(w);
}

static enum step_result resume_judge(struct work *w)
{
    if (!reconcile_sees(w->r, w->node))
        return wait_for_snapshot(w);
    if (w->node->schedulable) {
        work_say(w, "a person had put it back into service");
        return STEP_DONE;
    }
    if (reconcile_external_drain(w->node)) {
        say_foreign(w);
        text_copy_cut(w->held_because, sizeof(w->held_because), w->detail);
        return STEP_SKIP;
    }
    w->scratch.conflict = false;
    work_say(w, "the scheduler refused, though nobody else holds the node");
    return STEP_RETRY;
}

static enum step_result resume_run(struct work *w)
{
    if (!work_is_back(w, w->step->started_at))
        return STEP_WAIT;
    if (w->scratch.conflict)
        return resume_judge(w);
    w->call = work_scheduler_call(w, CALL_UNCORDON);
    reconcile_call_owner(w->call, reconcile_owner(w->op.kind));
    w->call->any_owner = w->call->request == SCHEDULER_REQUEST_NONE;
    return STEP_CALL;
}

static enum step_result resume_answer(struct work *w, const struct rcall *call)
{
    if (call->status == 0) {
        work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_SCHEDULER_RESUME, "back in service");
        return STEP_DONE;
    }
    if (call->status == STATUS_CONFLICT) {
        w->scratch.conflict = true;
        return wait_for_snapshot(w);
    }
    work_say_error(w, call);
    return reconcile_call_is_final(call->status) ? STEP_FAIL : STEP_RETRY;
}

const struct step_ops step_resume = {
    .enter = resume_enter,
    .run = resume_run,
    .answer = resume_answer,
    .deadline_ms = backend_deadline,
    .asks_scheduler = true,
};
