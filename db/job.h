/* The jobs that an operation asked to checkpoint, and all that asked one job. */
#ifndef HOLDFAST_DB_JOB_H
#define HOLDFAST_DB_JOB_H

#include "db/db.h"
#include "model/jobs.h"

/* SENDING, unless this operation, or another one that is active, has asked the job: EXISTS. */
int db_operation_job_ask(struct db_tx *tx, int64_t operation_id, const struct operation_job *job);
int db_operation_job_answer(struct db_tx *tx, int64_t operation_id, const char *job, enum job_asked asked);
/* What is SENDING becomes UNKNOWN: so many. */
int db_operation_job_unknown(struct db_tx *tx, int64_t operation_id, int64_t *ret_count);
/* Nothing of what is SENDING was sent: it may be asked again. */
int db_operation_job_unsent(struct db_tx *tx, int64_t operation_id);
/* Rows are struct operation_job, by the job's id. */
int db_operation_job_list(struct db_tx *tx, int64_t operation_id, db_row_fn fn, void *arg);
/* Rows are struct job_signalled, oldest first. */
int db_job_signalled(struct db_tx *tx, int64_t cluster_id, const char *job, db_row_fn fn, void *arg);

#endif
