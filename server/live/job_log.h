/*
 * Logs of jobs that people ask for, between the API, which asks and never waits, and the threads that read them at the schedulers
 * (reconcile/job/log.c). In memory: who asked asks again until the answer is there. Thread-safe.
 */
#ifndef HOLDFAST_SERVER_JOB_LOG_H
#define HOLDFAST_SERVER_JOB_LOG_H

#include "model/job_log.h"

#define JOB_LOG_ERROR_MAX 256

struct job_logs;
struct job_logs *job_logs_new(void);
void job_logs_free(struct job_logs *logs); /* accepts NULL */

/* --- who asks --- */

enum job_log_state {
    JOB_LOG_ASKED, /* it will be read soon */
    JOB_LOG_READ,
};
/* What was read of it since it was last handed out, or within the last two seconds; else it is read anew. Caller frees ret_log->text. UNSUPPORTED:
 * nobody reads logs there. FULL: too much waits. Else what the reader said, with ret_error. */
int job_logs_ask(struct job_logs *logs, const struct job_log_ask *ask, int64_t now_ms, enum job_log_state *ret_state,
                 struct job_log *ret_log, char ret_error[JOB_LOG_ERROR_MAX]);

/* --- who reads --- */

/* From now on logs of this scheduler are read. */
void job_logs_serve(struct job_logs *logs, const char *scheduler);
/* Waits for the next one that is asked for there. False: nobody asks any more, hpd ends. */
bool job_logs_next(struct job_logs *logs, const char *scheduler, struct job_log_ask *ret_ask);
/* What came of it. Takes log->text; log may be NULL where status is not 0. */
void job_logs_answer(struct job_logs *logs, const struct job_log_ask *ask, int status, struct job_log *log,
                     const char *error, int64_t now_ms);
void job_logs_stop(struct job_logs *logs);

#endif
