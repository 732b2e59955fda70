/*
 * Slurm forgets a job minutes after its end, and where it ran before it was requeued at once. So of a job that tells of attempts, or
 * that something happened to (job_start.c), each start is kept: begun by its first attempt, filled from what the scheduler shows, and ended when the scheduler shows it as over, begun
 * anew, or no longer.
 */
#include "server/service/job/job_run.h"

#include "base/text.h"
#include "db/attempt.h"
#include "db/job_run.h"
#include "server/service/job/job_start.h"
#include "server/service/private.h"
#include "server/service/scheduler/scheduler.h"

#include <string.h>

const struct cluster_job *job_run_find(const struct job_snapshot *snapshot, const char *job)
{
    for (size_t i = 0; i < snapshot->count; i++)
        if (strcmp(snapshot->jobs[i].id, job) == 0)
            return &snapshot->jobs[i];
    return NULL;
}

int job_run_begin(struct db_tx *tx, const struct job_attempt *attempt, int64_t rows_max)
{
    struct job_attempt old;
    int status = db_attempt_get(tx, attempt, &old);
    if (status == STATUS_NOT_FOUND) {
        status = db_attempt_prune(tx, attempt->cluster_id, rows_max);
        return status != 0 ? status : db_job_run_limit(tx, attempt->cluster_id, rows_max);
    }
    if (status == 0 && attempt->step == ATTEMPT_STEP_NONE)
        return db_attempt_forget(tx, attempt->cluster_id, attempt->job, attempt->restart, attempt->step);
    if (status == 0)
        status = db_attempt_forget(tx, attempt->cluster_id, attempt->job, -1, 0);
    return status != 0 ? status : db_job_run_forget(tx, attempt->cluster_id, attempt->job);
}

static bool is_same_start(const struct job_run *run, const struct cluster_job *job)
{
    return job->restarts == run->restart && job->started_at > 0 && job->state != CLUSTER_JOB_PENDING;
}

void job_run_fill(struct job_run *run, const struct cluster_job *job)
{
    text_copy_cut(run->name, sizeof(run->name), job->name);
    text_copy_cut(run->user, sizeof(run->user), job->user);
    text_copy_cut(run->account, sizeof(run->account), job->account);
    text_copy_cut(run->partition, sizeof(run->partition), job->partition);
    run->state = job->state;
    run->cpus = job->cpus;
    run->gpus = job->gpus;
    run->submitted_at = job->submitted_at;
    run->started_at = job->started_at;
    run->node_count = job->node_count > run->node_count ? job->node_count : run->node_count;
}

/* Written when it says something new: a step that runs tells of itself every few seconds. */
int job_run_tell(struct db_tx *tx, const struct job_attempt *attempt, const struct cluster_job *job)
{
    struct job_run run = {.cluster_id = attempt->cluster_id,
                          .restart = attempt->restart,
                          .node_count = attempt->node_count,
                          .started_at = attempt->started_at};
    int status = db_job_run_get(tx, attempt->cluster_id, attempt->job, attempt->restart, &run);
    if (status != 0 && status != STATUS_NOT_FOUND)
        return status;
    bool shown = job != NULL && is_same_start(&run, job);
    bool goes_on = run.ended_at == 0 || attempt->state == ATTEMPT_STATE_ENDED || (shown && !job_is_on(job));
    if (status == 0 && goes_on && strcmp(run.nodes, attempt->nodes) == 0 &&
        (!shown || run.state != CLUSTER_JOB_UNKNOWN))
        return 0;
    text_copy_cut(run.job, sizeof(run.job), attempt->job);
    text_copy_cut(run.nodes, sizeof(run.nodes), attempt->nodes);
    if (!goes_on) { /* what it ended as was an older snapshot's, and the next one fills it anew */
        run.ended_at = run.evicted_at = 0;
        run.state = CLUSTER_JOB_UNKNOWN;
        run.why[0] = '\0';
    }
    if (shown)
        job_run_fill(&run, job);
    return db_job_run_put(tx, &run);
}

/* --- with each snapshot ------------------------------------------------------------------------------- */

struct open_runs {
    const struct job_snapshot *snapshot;
    struct job_start_finding *found; /* NULL: no start is new */
    struct job_run **runs;
    size_t count;
};

static bool needs_look(const struct job_run *run, const struct job_snapshot *snapshot)
{
    const struct cluster_job *job = job_run_find(snapshot, run->job);
    if (job == NULL)
        return run->started_at < snapshot->at;
    return !is_same_start(run, job) || !job_is_on(job) || run->state == CLUSTER_JOB_UNKNOWN;
}

static int take_open(const void *row, void *arg)
{
    struct open_runs *open = arg;
    if (!needs_look(row, open->snapshot))
        return 0;
    open->runs = own_realloc(open->runs, open->count + 1, sizeof(*open->runs));
    open->runs[open->count] = own_calloc(1, sizeof(**open->runs));
    *open->runs[open->count++] = *(const struct job_run *)row;
    return 0;
}

static int last_seen(const void *row, void *arg)
{
    const struct job_attempt *attempt = row;
    struct job_run *run = arg;
    if (attempt->restart == run->restart && attempt->seen_at > run->ended_at)
        run->ended_at = attempt->seen_at;
    return 0;
}

/* What tells of attempts was seen last by them, what does not runs till we ended it, or was found to be over: so late at most. */
static int find_end(struct db_tx *tx, struct job_run *run, const struct cluster_job *job, int64_t snapshot_at)
{
    run->ended_at = run->started_at;
    int status = db_attempt_list(tx, run->cluster_id, run->job, last_seen, run);
    bool begun = job != NULL && job->started_at > run->started_at && job->started_at < snapshot_at;
    if (run->ended_at == run->started_at)
        run->ended_at = run->evicted_at > 0 ? run->evicted_at : begun ? job->started_at : snapshot_at;
    run->state = job == NULL ? CLUSTER_JOB_UNKNOWN : CLUSTER_JOB_REQUEUED;
    return status;
}

static int follow_run(struct db_tx *tx, struct job_run *run, const struct job_snapshot *snapshot)
{
    int status = 0;
    const struct cluster_job *job = job_run_find(snapshot, run->job);
    if (job != NULL && is_same_start(run, job)) {
        job_run_fill(run, job);
        run->ended_at = job_is_on(job) ? 0 : job->ends_at;
    } else {
        status = find_end(tx, run, job, snapshot->at);
    }
    if (run->ended_at != 0)
        job_start_tell_end(run, job, snapshot);
    return status != 0 ? status : db_job_run_put(tx, run);
}

static void forget_open(struct open_runs *open)
{
    for (size_t i = 0; i < open->count; i++)
        free(open->runs[i]);
    free(TAKE(open->runs));
    open->count = 0;
}

/* New starts and ends together: nobody is to see a job in two starts at once. */
static int follow(struct db_tx *tx, void *arg)
{
    struct open_runs *open = arg;
    forget_open(open);
    int status = job_start_keep_found(tx, open->found);
    if (status == 0)
        status = db_job_run_open(tx, open->snapshot->scheduler, take_open, open);
    for (size_t i = 0; i < open->count && status == 0; i++) {
        struct job_run run = *open->runs[i];
        status = follow_run(tx, &run, open->snapshot);
    }
    return status;
}

int service_job_follow(struct service *s, const struct job_snapshot *before, const struct job_snapshot *snapshot)
{
    struct open_runs open = {.snapshot = snapshot, .found = job_start_look(before, snapshot)};
    struct db_tx *tx = NULL;
    int status = 0;
    if (open.found == NULL) { /* most snapshots have nothing that would have to be written */
        status = db_read_begin(s->db, &tx);
        if (status == 0)
            status = db_job_run_open(tx, snapshot->scheduler, take_open, &open);
        db_read_end(s->db, tx);
    }
    if (status == 0 && (open.found != NULL || open.count > 0))
        status = db_write(s->db, "job-follow", follow, &open);
    forget_open(&open);
    job_start_finding_free(open.found);
    return status;
}
