/* The starts of jobs that tell of attempts, or that were requeued, evicted or signalled: kept when the scheduler has long forgotten them. */
#ifndef HOLDFAST_DB_JOB_RUN_H
#define HOLDFAST_DB_JOB_RUN_H

#include "db/db.h"
#include "model/attempt.h"

/* Inserts it, or takes the place of the one with the same cluster, job and restart. */
int db_job_run_put(struct db_tx *tx, const struct job_run *run);
/* NOT_FOUND when there is none. */
int db_job_run_get(struct db_tx *tx, int64_t cluster_id, const char *job, int64_t restart, struct job_run *ret_run);
/* Rows are struct job_run, of one job, oldest first; or of all ("") of the cluster, job by job. */
int db_job_run_list(struct db_tx *tx, int64_t cluster_id, const char *job, db_row_fn fn, void *arg);
/* Those that go on, of all clusters under a scheduler. */
int db_job_run_open(struct db_tx *tx, const char *scheduler, db_row_fn fn, void *arg);
/* The jobs of the cluster that have one that goes on, each once and so many at most. A row is the job's id. */
int db_job_run_running(struct db_tx *tx, int64_t cluster_id, int64_t jobs_max, db_row_fn fn, void *arg);
/* All of a job: its number was given to another one. */
int db_job_run_forget(struct db_tx *tx, int64_t cluster_id, const char *job);
/* Those that ended before; what goes on is kept. */
int db_job_run_prune(struct db_tx *tx, int64_t ended_before);
/* The oldest of the cluster, until there is room for one more among so many. */
int db_job_run_limit(struct db_tx *tx, int64_t cluster_id, int64_t rows_max);

#endif
