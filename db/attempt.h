/* Attempts at steps of jobs that live on when nodes break. */
#ifndef HOLDFAST_DB_ATTEMPT_H
#define HOLDFAST_DB_ATTEMPT_H

#include "db/db.h"
#include "model/attempt.h"

/* The one with the same cluster, job, restart, step and number. */
int db_attempt_get(struct db_tx *tx, const struct job_attempt *key, struct job_attempt *ret_attempt);
/* The last one of that step in the job's starts before key->restart. */
int db_attempt_get_earlier(struct db_tx *tx, const struct job_attempt *key, struct job_attempt *ret_attempt);
/* Inserts it, or takes the place of the one with the same key. */
int db_attempt_put(struct db_tx *tx, const struct job_attempt *attempt);
/* Rows are struct job_attempt, oldest first. */
int db_attempt_list(struct db_tx *tx, int64_t cluster_id, const char *job, db_row_fn fn, void *arg);
/* All of a job (restart -1), or of one step of one of its starts. */
int db_attempt_forget(struct db_tx *tx, int64_t cluster_id, const char *job, int64_t restart, int64_t step);
/* Those of all clusters that nobody told of since then. */
int db_attempt_forget_old(struct db_tx *tx, int64_t seen_before);
/* Makes room for one more of so many of a cluster: those that were told of longest ago go. */
int db_attempt_prune(struct db_tx *tx, int64_t cluster_id, int64_t rows_max);
/* Those that somebody told of since then are to make way; so many of this job are there. Who was asked before stays so. */
int db_attempt_ask_stop(struct db_tx *tx, int64_t cluster_id, const char *job, int64_t seen_since, int64_t now_ms,
                        int64_t *ret_count);
/* Rows are struct job_attempt: those that ran, or waited for other nodes, at some time from since to until. */
int db_attempt_list_within(struct db_tx *tx, int64_t cluster_id, int64_t since, int64_t until, db_row_fn fn, void *arg);
/* Whether anybody told of any since then. */
int db_attempt_any(struct db_tx *tx, int64_t cluster_id, int64_t seen_since, bool *ret_any);

#endif
