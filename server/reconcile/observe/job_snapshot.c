/*
 * The scheduler's jobs and figures, for people and graphs: nothing is decided by them. Every job_snapshot_interval_ms a good look at the
 * nodes is handed on to a job snapshot, which asks for the rest; whoever reads meanwhile gets the last snapshot. One that could not be had, and
 * one that nothing followed, is shown no longer.
 */
#include "server/reconcile/observe/job_snapshot.h"
#include "base/log.h"
#include "base/text.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/service/scheduler/scheduler.h"

#define SNAPSHOT_AGE_INTERVALS 4
#define SNAPSHOT_AGE_MIN_MS (30 * MS_PER_S) /* a slow Slurm is no absent one */

void reconcile_job_snapshot(struct reconcile *r, struct rcall *observed)
{
    int64_t now = reconcile_now(r), interval_ms = observed->link->job_snapshot_interval_ms;
    struct scheduler_link *link = observed->link;
    if (link->driver.ops->jobs == NULL || interval_ms == 0 || link->job_snapshot_running || now < link->job_snapshot_at)
        return;
    struct rcall *call = reconcile_call_new(CALL_JOB_SNAPSHOT, 0, 0);
    reconcile_call_to(call, link);
    call->observation = observed->observation;
    observed->observation = (struct scheduler_observation){0};
    link->job_snapshot_running = true;
    link->job_snapshot_at = now + interval_ms;
    reconcile_call_send(r, call);
}

/* Nobody else ends them. Asked again for as long as a snapshot has them. */
static void cancel_left(struct reconcile *r, struct scheduler_link *link, const struct job_snapshot *snapshot)
{
    autofree struct job_waiter *waiters = NULL;
    size_t count = 0;
    if (link->driver.ops->jobs == NULL || link->driver.ops->jobs->cancel == NULL)
        return;
    int status = service_job_waiters(r->deps.service, link->followed, snapshot, &waiters, &count);
    if (status != 0)
        log_warn("jobs that wait for nobody could not be told of, they are with the next job snapshot status=%s",
                 status_text(status));
    for (size_t i = 0; i < count; i++) {
        struct rcall *call = reconcile_call_new(CALL_CANCEL, 0, 0);
        reconcile_call_to(call, link);
        text_copy_cut(call->key, sizeof(call->key), waiters[i].id);
        text_copy_cut(call->reason, sizeof(call->reason), waiters[i].name);
        reconcile_call_send(r, call);
    }
}

static void take_cancelled(const struct rcall *call)
{
    if (call->status != 0)
        log_warn("a job that waits for nobody could not be cancelled, it is with the next job snapshot job=%s: %s",
                 call->key, call->error);
}

static void take_snapshot(struct reconcile *r, struct rcall *call)
{
    struct scheduler_link *link = call->link;
    int64_t every_ms = link->job_snapshot_interval_ms > link->observe_interval_ms ? link->job_snapshot_interval_ms
                                                                                  : link->observe_interval_ms;
    int64_t age_max = SNAPSHOT_AGE_INTERVALS * every_ms;
    link->job_snapshot_running = false;
    if (call->status == 0) {
        text_copy_cut(call->snapshot->scheduler, sizeof(call->snapshot->scheduler), link->name);
        cancel_left(r, link, call->snapshot);
    }
    int kept = call->status == 0 ? service_job_follow(r->deps.service, link->followed, call->snapshot) : 0;
    if (call->status == 0 && kept == 0) {
        job_snapshot_free(link->followed);
        link->followed = job_snapshot_use(call->snapshot);
    }
    if (kept != 0)
        log_warn("the ends of jobs could not be kept, they are with the next job snapshot status=%s",
                 status_text(kept));
    int followed = call->status == 0 ? service_discovery_follow(r->deps.service, link->shown, call->snapshot) : 0;
    if (followed != 0)
        log_warn(
            "how groups and what they are made of differ could not be told, it is with the next job snapshot status=%s",
            status_text(followed));
    if (call->status == 0)
        call->snapshot->stale_at = call->snapshot->at + (age_max > SNAPSHOT_AGE_MIN_MS ? age_max : SNAPSHOT_AGE_MIN_MS);
    else
        r->stats.scheduler_errors++;
    service_scheduler_show(link->shown, TAKE(call->snapshot),
                           call->status == 0        ? ""
                           : call->error[0] != '\0' ? call->error
                                                    : status_meaning(call->status));
}

static enum part_take take(struct reconcile *r, struct rcall *call)
{
    if (call->kind != CALL_JOB_SNAPSHOT && call->kind != CALL_CANCEL)
        return PART_TAKE_NOT_MINE;
    if (call->kind == CALL_JOB_SNAPSHOT)
        take_snapshot(r, call);
    else
        take_cancelled(call);
    return PART_TAKE_DONE;
}

const struct part part_job_snapshot = {.take = take};
