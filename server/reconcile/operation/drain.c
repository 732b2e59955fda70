/*
 * The step that waits for a node's jobs: they may end, or are asked to checkpoint first, or give way at once; always for a finite
 * time, after which they are requeued or ended. Which it is was decided with the repair (policy/jobs.c). Nothing is done to the
 * other nodes of a job that runs on several, but a job is asked, requeued and ended as a whole.
 */
#include "base/text.h"
#include "db/attempt.h"
#include "db/job.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/job_wait.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/operation/operate.h"
#include "server/reconcile/operation/step.h"
#include "server/service/scheduler/scheduler.h"

#include <inttypes.h>
#include <stdio.h>

#define TOLD_MS \
    (2 *        \
     MS_PER_MIN) /* an attempt that was told of so lately has somebody who watches over it (every minute at least) */
#define JOBS_NAMED_MAX 8 /* jobs listed by name in an event; the rest is counted */

static bool is_deletion(const struct work *w)
{
    return w->op.kind == OPERATION_KIND_DELETE;
}

static bool spares_jobs(const struct work *w)
{
    return reconcile_spares_jobs(&w->op);
}

static int64_t evict_at(const struct work *w)
{
    return w->step->started_at + reconcile_job_wait_ms(&w->op, &w->node->group->settings);
}

/* Jobs may be protected from eviction: that is respected as long as eviction may take. */
static bool has_budgets(const struct work *w)
{
    const struct scheduler_link *link = reconcile_link(w->node);
    return link != NULL && link->driver.ops != NULL && link->driver.ops->budgets != NULL;
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
    const struct loop_settings *settings = &w->node->group->settings;
    w->step->deadline_at =
        evict_at(w) + settings->resume_deadline_ms + (has_budgets(w) ? 2 : 1) * settings->evict_deadline_ms;
    enum step_result result = work_needs_scheduler(w);
    if (result == STEP_GO_ON)
        work_step_store(w, w->step);
    else
        w->step->deadline_at = 0;
    return result;
}

static bool all_jobs(const struct scheduler_job *job)
{
    (void)job;
    return true;
}

static bool was_sent(const struct scheduler_job *job)
{
    return job->answer == 0;
}

static bool was_not_sent(const struct scheduler_job *job)
{
    return job->answer != 0;
}

/* How many there are of this kind, the first of them by name. */
static size_t list_jobs(const struct rcall *call, bool (*is_meant)(const struct scheduler_job *), char *ret_text,
                        size_t size)
{
    struct text text AUTO(text) = {0};
    size_t count = 0;
    for (size_t i = 0; i < call->job_count; i++) {
        if (!is_meant(&call->jobs[i]))
            continue;
        if (count++ < JOBS_NAMED_MAX)
            text_printf(&text, "%s%s (%s)", count > 1 ? ", " : "", call->jobs[i].id, call->jobs[i].user);
    }
    if (count > JOBS_NAMED_MAX)
        text_printf(&text, " and %zu more", count - JOBS_NAMED_MAX);
    text_copy_cut(ret_text, size, text_get(&text));
    return count;
}

static uint64_t jobs_hash(const struct rcall *call)
{
    uint64_t hash = call->job_count + 1;
    for (size_t i = 0; i < call->job_count; i++)
        for (const char *c = call->jobs[i].id; *c != '\0'; c++)
            hash = (hash ^ (uint64_t)(unsigned char)*c) * UINT64_C(0x100000001B3);
    return hash;
}

static bool is_over(const struct work *w, int64_t since)
{
    return since > 0 && w->now >= since + w->node->group->settings.evict_deadline_ms;
}

static bool is_time_to_end(const struct work *w)
{
    return has_budgets(w) && w->scratch.ended_at == 0 && is_over(w, w->scratch.evicted_at);
}

/* What stays after the jobs were told to go cannot be ended from here; the reboot or the new machine ends it. */
static bool gave_up_waiting(const struct work *w)
{
    return is_over(w, has_budgets(w) ? w->scratch.ended_at : w->scratch.evicted_at);
}

/* --- jobs that live on without the node (srun --auto-resume) */

static bool is_time_to_evict(const struct work *w)
{
    return w->now >= evict_at(w) && w->scratch.evicted_at == 0 && !spares_jobs(w);
}

/* Whether there may be any: then the jobs are looked at before they are evicted. */
static bool may_live_on(struct work *w)
{
    bool any = false;
    if (w->scratch.lives_on_nobody || w->now >= evict_at(w) + w->node->group->settings.resume_deadline_ms)
        return false;
    work_did(w, db_attempt_any(w->turn->tx, w->op.cluster_id, w->now - TOLD_MS, &any));
    return any;
}

/* Asks their steps to make way. */
static bool is_left_by_living(struct work *w, const struct rcall *seen)
{
    int64_t asked = 0;
    for (size_t i = 0; i < seen->job_count; i++) {
        int64_t count = 0;
        work_did(
            w, db_attempt_ask_stop(w->turn->tx, w->op.cluster_id, seen->jobs[i].id, w->now - TOLD_MS, w->now, &count));
        asked += count > 0;
    }
    w->scratch.lives_on_nobody = asked == 0;
    if (asked > 0) {
        work_say(w, "waits for %" PRId64 " job%s to leave the node and live on without it", asked, text_plural(asked));
        work_due(w, w->now + w->node->group->settings.retry_min_ms);
    }
    return asked > 0;
}

static enum step_result drain_run(struct work *w)
{
    if (!reconcile_link_is_configured(reconcile_link(w->node))) {
        work_say(w, "%s", reconcile_link_lacks(reconcile_link(w->node)));
        return STEP_SKIP;
    }
    bool evict = is_time_to_evict(w) && !may_live_on(w);
    bool again = w->scratch.evicted_at > 0 && has_budgets(w), ends = is_time_to_end(w);
    w->quiet = !evict && !ends;
    w->call = work_scheduler_call(w, evict || again ? CALL_EVICT : CALL_WORKLOADS);
    w->call->ends = ends;
    reconcile_call_owner(w->call, reconcile_owner(w->op.kind));
    return STEP_CALL;
}

static enum step_result drain_error(struct work *w, const struct rcall *call)
{
    const struct loop_settings *settings = &w->node->group->settings;
    int64_t give_up_at = evict_at(w) + settings->evict_deadline_ms + settings->backend_deadline_ms;
    if (call->kind == CALL_SIGNAL)
        work_did(w, db_operation_job_unsent(w->turn->tx, w->op.id));
    work_say_error(w, call);
    if (is_deletion(w) && reconcile_link(w->node)->managed && call->kind == CALL_WORKLOADS &&
        call->status == STATUS_NOT_FOUND)
        return STEP_SKIP; /* it was never written, or Slurm did not take it: no job can be there */
    if (w->now < give_up_at)
        return STEP_RETRY;
    return is_deletion(w) ? STEP_SKIP : STEP_FAIL;
}

/* --- what is kept of it for their owners */

static void keep_asked(struct work *w, const struct rcall *call)
{
    char why[SERVICE_SCHEDULER_ERROR_MAX];
    AUTO(job_snapshot)
    struct job_snapshot *snapshot = service_scheduler_snapshot(reconcile_link(w->node)->shown, w->now, why);
    for (size_t i = 0; i < call->job_count; i++)
        work_did(w, service_job_signalled(w->turn->tx, snapshot, w->op.cluster_id, call->jobs[i].id));
}

static void keep_evicted(struct work *w, const struct rcall *call)
{
    char why[SERVICE_SCHEDULER_ERROR_MAX];
    AUTO(job_snapshot)
    struct job_snapshot *snapshot = service_scheduler_snapshot(reconcile_link(w->node)->shown, w->now, why);
    autofree char *because =
        own_printf("because of the %s of %s (%s%sasked for by %s)", operation_kind_text(w->op.kind), w->node->name,
                   w->op.code, w->op.code[0] != '\0' ? ", " : "", w->op.actor);
    for (size_t i = 0; i < call->job_count; i++)
        work_did(w, service_job_evicted(w->turn->tx, snapshot, w->op.cluster_id, call->jobs[i].id, w->now, because));
}

/* --- asking for a checkpoint */

struct asked {
    int sent, unknown;
};

static int count_asked(const void *row, void *arg)
{
    const struct operation_job *job = row;
    struct asked *asked = arg;
    asked->sent += job->asked == JOB_ASKED_SENT;
    asked->unknown += job->asked == JOB_ASKED_UNKNOWN;
    return 0;
}

/* "; asked to checkpoint by USR1" */
static const char *tell_asked(struct work *w, char *text, size_t size)
{
    struct asked asked = {0};
    text[0] = '\0';
    if (w->op.job_signal != JOB_SIGNAL_NONE)
        work_did(w, db_operation_job_list(w->turn->tx, w->op.id, count_asked, &asked));
    if (asked.sent + asked.unknown > 0)
        snprintf(text, size, "; %sasked to checkpoint by %s", asked.sent > 0 ? "" : "perhaps ",
                 job_signal_text(w->op.job_signal));
    return text;
}

static bool may_ask(const struct work *w)
{
    return w->op.job_signal != JOB_SIGNAL_NONE && w->scratch.evicted_at == 0 && w->now < evict_at(w) &&
           reconcile_link(w->node)->driver.ops->signals != NULL && work_may_call(w);
}

/* What was on its way when the process ended may have arrived: it is not sent again. */
static void forget_sending(struct work *w)
{
    int64_t count = 0;
    work_did(w, db_operation_job_unknown(w->turn->tx, w->op.id, &count));
    if (count > 0)
        work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_JOBS,
                   "whether %" PRId64 " jobs were asked to checkpoint is not known, as hpd stopped meanwhile; they are "
                   "not asked twice",
                   count);
}

/* Who runs here and was not asked yet: written down in the commit before the signal is sent. */
static bool ask_jobs(struct work *w, const struct rcall *seen)
{
    struct rcall *call = work_scheduler_call(w, CALL_SIGNAL);
    call->signal = w->op.job_signal;
    call->jobs = own_calloc(seen->job_count, sizeof(*call->jobs));
    forget_sending(w);
    for (size_t i = 0; i < seen->job_count; i++) {
        struct operation_job job = {.asked_at = w->now};
        if (!seen->jobs[i].may_be_asked)
            continue;
        text_copy_cut(job.job, sizeof(job.job), seen->jobs[i].id);
        text_copy_cut(job.user, sizeof(job.user), seen->jobs[i].user);
        int status = db_operation_job_ask(w->turn->tx, w->op.id, &job);
        if (status != STATUS_EXISTS && work_did(w, status))
            call->jobs[call->job_count++] = seen->jobs[i];
    }
    if (call->job_count > 0)
        w->call = call;
    else
        reconcile_call_free(call);
    return w->call != NULL;
}

static enum step_result signal_answer(struct work *w, const struct rcall *call)
{
    char jobs[SENTENCE_MAX_BYTES / 2];
    for (size_t i = 0; i < call->job_count; i++)
        work_did(w, db_operation_job_answer(w->turn->tx, w->op.id, call->jobs[i].id,
                                            call->jobs[i].answer == 0 ? JOB_ASKED_SENT : JOB_ASKED_FAILED));
    keep_asked(w, call);
    if (list_jobs(call, was_sent, jobs, sizeof(jobs)) > 0)
        work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_JOBS, "asked to checkpoint by %s: %s", job_signal_text(call->signal),
                   jobs);
    if (list_jobs(call, was_not_sent, jobs, sizeof(jobs)) > 0)
        work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_JOBS, "could not be asked to checkpoint: %s: %s", jobs, call->error);
    work_due(w, w->now + w->node->group->settings.retry_min_ms);
    return STEP_WAIT;
}

/* --- what is seen of them */

static void tell_jobs(struct work *w, const struct rcall *call)
{
    char jobs[SENTENCE_MAX_BYTES / 2], until[CLOCK_TEXT_MAX], asked[64];
    uint64_t hash = jobs_hash(call);
    list_jobs(call, all_jobs, jobs, sizeof(jobs));
    bool evicted = w->scratch.evicted_at > 0;
    clock_format(evicted ? w->scratch.evicted_at + w->node->group->settings.evict_deadline_ms : evict_at(w), until);
    work_say(w, "waits for %s to end, until %s at most%s", jobs, until, tell_asked(w, asked, sizeof(asked)));
    if (hash != w->scratch.jobs_hash && !evicted)
        work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_JOBS, "jobs may finish until %s: %s", until, jobs);
    w->scratch.jobs_hash = hash;
}

static void evicted(struct work *w, const struct rcall *call)
{
    char jobs[SENTENCE_MAX_BYTES / 2];
    list_jobs(call, all_jobs, jobs, sizeof(jobs));
    w->scratch.evicted_at = w->now;
    keep_evicted(w, call);
    work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_JOBS, "requeued or ended at once: %s", jobs);
}

static void protection_is_over(struct work *w, const struct rcall *call)
{
    char jobs[SENTENCE_MAX_BYTES / 2];
    list_jobs(call, all_jobs, jobs, sizeof(jobs));
    w->scratch.ended_at = w->now;
    work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_JOBS, "ended in spite of their disruption budget, after its time: %s",
               jobs);
}

static enum step_result drain_answer(struct work *w, const struct rcall *call)
{
    const struct loop_settings *settings = &w->node->group->settings;
    if (call->status != 0)
        return drain_error(w, call);
    w->scratch.failures = 0;
    if (call->kind == CALL_SIGNAL)
        return signal_answer(w, call);
    if (call->job_count == 0) {
        work_say(w, "no jobs on the node");
        return STEP_DONE;
    }
    if (spares_jobs(w) && w->now >= evict_at(w))
        return leave_out(w);
    if (is_time_to_evict(w) && call->kind == CALL_WORKLOADS && may_live_on(w))
        return is_left_by_living(w, call) ? STEP_WAIT : STEP_GO_ON;
    if (call->kind == CALL_EVICT && w->scratch.evicted_at == 0)
        evicted(w, call);
    if (call->ends)
        protection_is_over(w, call);
    tell_jobs(w, call);
    if (may_ask(w) && ask_jobs(w, call))
        return STEP_CALL;
    if (gave_up_waiting(w)) {
        work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_JOBS, "%zu job%s did not end in time; the repair goes on",
                   call->job_count, text_plural((int64_t)call->job_count));
        return STEP_DONE;
    }
    int64_t pause =
        w->scratch.evicted_at > 0 ? settings->retry_min_ms : reconcile_group_observe_interval(w->node->group);
    work_due(w, w->now + pause);
    if (w->scratch.evicted_at == 0)
        work_due(w, evict_at(w));
    return STEP_WAIT;
}

const struct step_ops step_drain = {
    .enter = drain_enter,
    .run = drain_run,
    .answer = drain_answer,
    .asks_scheduler = true,
};
