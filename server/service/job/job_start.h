/* The starts of any job that something happened to: a requeue, a node that failed under it, a signal or an eviction of ours. */
#ifndef HOLDFAST_SERVER_SERVICE_JOB_START_H
#define HOLDFAST_SERVER_SERVICE_JOB_START_H

#include "model/attempt.h"
#include "model/job.h"
#include "server/service/job/job.h"

/* Keeps the start that the job is in, if it is in one and that is not kept yet. */
int job_start_keep(struct db_tx *tx, int64_t cluster_id, const struct cluster_job *job);
/* What this snapshot has that the one before (NULL: none since hpd began) had not; NULL: nothing. Both snapshots outlive it. */
struct job_start_finding;
struct job_start_finding *job_start_look(const struct job_snapshot *before, const struct job_snapshot *snapshot);
void job_start_finding_free(struct job_start_finding *finding); /* accepts NULL */
/* Keeps it; may be run again. NULL: nothing. */
int job_start_keep_found(struct db_tx *tx, struct job_start_finding *finding);
/* Says in run->why why it ended as it did. */
void job_start_tell_end(struct job_run *run, const struct cluster_job *job, const struct job_snapshot *snapshot);

#endif
