/*
 * The steps that talk to the scheduler: mark, drain, resume.
 *
 * A mark or a resume that the scheduler refuses with CONFLICT is judged by the next picture, not by the error's text: does
 * someone else hold the node, or was our own view too old? What a person holds is left to that person.
 */
#include "server/reconcile_step.h"

#include <stdio.h>

#define JOBS_NAMED_MAX 8 /* jobs listed by name in an event; the rest is counted */

static int64_t backend_deadline(const struct work *w)
{
    return w->node->group->settings.backend_deadline_ms;
}

static bool is_deletion(const struct work *w)
{
    return w->op.kind == OPERATION_KIND_DELETE;
}

static enum step_result skip_without_scheduler(struct work *w)
{
    if (work_has_scheduler(w))
        return STEP_GO_ON;
    work_say(w, "the cluster has no scheduler");
    return STEP_SKIP;
}

/* Waits for a picture that is younger than all we did. */
static enum step_result wait_for_picture(struct work *w)
{
    w->r->observe_now = true;
    work_due(w, w->now + w->node->group->settings.observe_interval_ms);
    return STEP_WAIT;
}

static void say_foreign(struct work *w)
{
    const struct rnode *node = w->node;
    work_say(w, "%s holds the node in the scheduler (%.120s)",
             node->reason_user != NULL ? node->reason_user : "someone",
             node->reason != NULL ? node->reason : "no reason given");
}

/* --- mark -------------------------------------------------------------------------------------- */
static enum step_result mark_enter(struct work *w)
{
    return skip_without_scheduler(w);
}

static bool is_request(uint8_t request)
{
    return request == SCHEDULER_REQUEST_REBOOT || request == SCHEDULER_REQUEST_REPLACE;
}

static enum step_result mark_run(struct work *w)
{
    const struct rnode *node = w->node;
    if (w->r->deps.slurm.ops == NULL) {
        work_say(w, "this hpd has no slurm section in its configuration");
        return STEP_SKIP; /* only a deletion comes here */
    }
    if (reconcile_unknown_there(w->r, node)) {
        work_say(w, "the scheduler does not know the node: add it there, or create the cluster without one");
        return is_deletion(w) ? STEP_SKIP : STEP_RETRY;
    }
    if (!reconcile_sees(w->r, node))
        return wait_for_picture(w);
    if (reconcile_foreign_drain(node)) {
        say_foreign(w);
        return is_deletion(w) ? STEP_SKIP : STEP_CANCEL;
    }
    w->call = work_scheduler_call(w, CALL_MARK);
    text_copy_cut(w->call->reason, sizeof(w->call->reason), reconcile_mark_reason(w->op.kind));
    if (node->reason != NULL && (reconcile_reason_is_ours(node) || is_request(node->request)))
        text_copy_cut(w->call->replaceable, sizeof(w->call->replaceable), node->reason);
    return STEP_CALL;
}

static enum step_result mark_answer(struct work *w, const struct rcall *call)
{
    if (call->status == 0) {
        work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_SCHEDULER_MARK, "taken out of scheduling: %s", call->reason);
        if (w->op.kind == OPERATION_KIND_CHECK)
            work_apart_ask(w);
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

/* --- drain ------------------------------------------------------------------------------------- */
/* A check that is not pressing never costs a job: a node that stays busy is left out. */
static bool spares_jobs(const struct work *w)
{
    return w->op.kind == OPERATION_KIND_CHECK && w->op.urgency != URGENCY_NOW;
}

static int64_t evict_at(const struct work *w)
{
    const struct reconcile_settings *settings = &w->node->group->settings;
    bool now = w->op.urgency == URGENCY_NOW;
    return w->step->started_at + (now ? 0 : spares_jobs(w) ? settings->check_wait_ms : settings->drain_deadline_ms);
}

/* The same way back as a person's cancel has, with another reason. */
static enum step_result leave_out(struct work *w)
{
    char span[CLOCK_TEXT_MAX];
    clock_format_duration(w->node->group->settings.check_wait_ms, span);
    autofree char *why = own_printf("the node was still busy after %s; its jobs were left alone", span);
    text_copy_cut(w->op.error, sizeof(w->op.error), why);
    w->op.cancel_asked = true;
    work_operation_store(w);
    return STEP_GO_ON;
}

static enum step_result drain_enter(struct work *w)
{
    w->step->deadline_at = evict_at(w) + w->node->group->settings.evict_deadline_ms;
    enum step_result result = skip_without_scheduler(w);
    if (result == STEP_GO_ON)
        work_did(w, db_operation_step_update(w->turn->tx, w->op.id, w->step));
    else
        w->step->deadline_at = 0;
    return result;
}

static void list_jobs(const struct rcall *call, char *ret_text, size_t size)
{
    struct text text AUTO(text) = {0};
    size_t named = call->job_count < JOBS_NAMED_MAX ? call->job_count : JOBS_NAMED_MAX;
    for (size_t i = 0; i < named; i++)
        text_printf(&text, "%s%s (%s)", i > 0 ? ", " : "", call->jobs[i].id, call->jobs[i].user);
    if (call->job_count > named)
        text_printf(&text, " and %zu more", call->job_count - named);
    text_copy_cut(ret_text, size, text_get(&text));
}

static uint64_t jobs_hash(const struct rcall *call)
{
    uint64_t hash = call->job_count + 1;
    for (size_t i = 0; i < call->job_count; i++)
        for (const char *c = call->jobs[i].id; *c != '\0'; c++)
            hash = (hash ^ (uint64_t)(unsigned char)*c) * UINT64_C(0x100000001B3);
    return hash;
}

/* What stays after the jobs were told to go cannot be ended from here; the reboot or the new machine ends it. */
static bool gave_up_waiting(const struct work *w)
{
    return w->memo.evicted_at > 0 && w->now >= w->memo.evicted_at + w->node->group->settings.evict_deadline_ms;
}

static enum step_result drain_run(struct work *w)
{
    if (w->r->deps.slurm.ops == NULL) {
        work_say(w, "this hpd has no slurm section in its configuration");
        return STEP_SKIP;
    }
    bool evict = w->now >= evict_at(w) && w->memo.evicted_at == 0 && !spares_jobs(w);
    w->quiet = !evict;
    w->call = work_scheduler_call(w, evict ? CALL_EVICT : CALL_JOBS);
    text_copy_cut(w->call->reason, sizeof(w->call->reason), reconcile_mark_reason(w->op.kind));
    return STEP_CALL;
}

static enum step_result drain_error(struct work *w, const struct rcall *call)
{
    const struct reconcile_settings *settings = &w->node->group->settings;
    int64_t give_up_at = evict_at(w) + settings->evict_deadline_ms + settings->backend_deadline_ms;
    work_say_error(w, call);
    if (w->now < give_up_at)
        return STEP_RETRY;
    return is_deletion(w) ? STEP_SKIP : STEP_FAIL;
}

static void tell_jobs(struct work *w, const struct rcall *call)
{
    char jobs[SENTENCE_MAX_BYTES / 2], until[CLOCK_TEXT_MAX];
    uint64_t hash = jobs_hash(call);
    list_jobs(call, jobs, sizeof(jobs));
    bool evicted = w->memo.evicted_at > 0;
    clock_format(evicted ? w->memo.evicted_at + w->node->group->settings.evict_deadline_ms : evict_at(w), until);
    work_say(w, "%s %s, until %s at most", evicted ? "waits for the end of" : "lets finish", jobs, until);
    if (call->kind == CALL_EVICT)
        work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_JOBS, "requeued or ended at once: %s", jobs);
    else if (hash != w->memo.jobs_hash && !evicted)
        work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_JOBS, "jobs may finish until %s: %s", until, jobs);
    w->memo.jobs_hash = hash;
}

static enum step_result drain_answer(struct work *w, const struct rcall *call)
{
    const struct reconcile_settings *settings = &w->node->group->settings;
    if (call->status != 0)
        return drain_error(w, call);
    w->memo.failures = 0;
    if (call->job_count == 0) {
        work_say(w, "no jobs on the node");
        return STEP_DONE;
    }
    if (spares_jobs(w) && w->now >= evict_at(w))
        return leave_out(w);
    if (call->kind == CALL_EVICT)
        w->memo.evicted_at = w->now;
    tell_jobs(w, call);
    if (gave_up_waiting(w)) {
        work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_JOBS, "%zu jobs do not go; going on without them", call->job_count);
        return STEP_DONE;
    }
    int64_t pause = w->memo.evicted_at > 0 ? settings->retry_min_ms : settings->observe_interval_ms;
    work_due(w, w->now + pause);
    if (w->memo.evicted_at == 0)
        work_due(w, evict_at(w));
    return STEP_WAIT;
}

const struct step_ops step_drain = {
    .enter = drain_enter,
    .run = drain_run,
    .answer = drain_answer,
    .asks_scheduler = true,
};

/* --- resume ------------------------------------------------------------------------------------ */
static enum step_result resume_enter(struct work *w)
{
    return skip_without_scheduler(w);
}

static enum step_result resume_judge(struct work *w)
{
    if (!reconcile_sees(w->r, w->node))
        return wait_for_picture(w);
    if (w->node->schedulable) {
        work_say(w, "a person had put it back into service");
        return STEP_DONE;
    }
    if (reconcile_foreign_drain(w->node)) {
        say_foreign(w);
        text_copy_cut(w->held_because, sizeof(w->held_because), w->detail);
        return STEP_SKIP;
    }
    w->memo.conflict = false;
    work_say(w, "the scheduler refused, though nobody else holds the node");
    return STEP_RETRY;
}

static enum step_result resume_run(struct work *w)
{
    if (!work_is_back(w, w->step->started_at))
        return STEP_WAIT;
    if (w->memo.conflict)
        return resume_judge(w);
    w->call = work_scheduler_call(w, CALL_RESUME);
    if (reconcile_mark_request(w->op.kind) != SCHEDULER_REQUEST_NONE)
        text_copy_cut(w->call->reason, sizeof(w->call->reason), reconcile_mark_reason(w->op.kind));
    return STEP_CALL;
}

static enum step_result resume_answer(struct work *w, const struct rcall *call)
{
    if (call->status == 0) {
        work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_SCHEDULER_RESUME, "back in service");
        return STEP_DONE;
    }
    if (call->status == STATUS_CONFLICT) {
        w->memo.conflict = true;
        return wait_for_picture(w);
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
