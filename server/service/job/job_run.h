/* The starts of jobs that tell of attempts, as the store keeps them beside what the scheduler shows. */
#ifndef HOLDFAST_SERVER_SERVICE_JOB_RUN_H
#define HOLDFAST_SERVER_SERVICE_JOB_RUN_H

#include "model/attempt.h"
#include "model/job.h"
#include "server/service/job/job.h"

#define JOB_RUNS_MAX 20000 /* attempts of one cluster that are kept, and starts of its jobs */

/* NULL: the scheduler does not show it. */
const struct cluster_job *job_run_find(const struct job_snapshot *snapshot, const char *job);
/* Makes way for a new attempt of that key: what another job of the same number left goes, and what was told of longest ago where there
 * are too many. */
int job_run_begin(struct db_tx *tx, const struct job_attempt *attempt, int64_t rows_max);
/* The start of the job that this attempt belongs to goes on. job may be NULL. */
int job_run_tell(struct db_tx *tx, const struct job_attempt *attempt, const struct cluster_job *job);
/* What the scheduler shows of it, but where it runs. */
void job_run_fill(struct job_run *run, const struct cluster_job *job);

#endif
