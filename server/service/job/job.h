/*
 * A cluster's jobs, for people and for srun's --auto-resume: what the scheduler shows, what the store remembers of their starts and
 * attempts, and what all of it says of their time.
 */
#ifndef HOLDFAST_SERVER_SERVICE_JOB_H
#define HOLDFAST_SERVER_SERVICE_JOB_H

#include "model/attempt.h"
#include "model/job_command.h"
#include "model/job_log.h"
#include "server/service/service.h"

/* Node-milliseconds over a job's whole life (job_life.h). Times are milliseconds. */
struct job_goodput {
    int64_t allocated_ms, productive_ms, lost_ms;
    int64_t lost_max_ms; /* lost_ms, and what may be lost beside: nobody tells */
    int64_t waited_ms;   /* wall time between its starts */
    int64_t starts_unseen;
    bool by_runs; /* counted from its starts, as it tells of no attempts */
    bool asked;   /* it was told to checkpoint in one that was cut short */
};
struct attempt_cost { /* of wall time */
    int64_t productive_ms, lost_ms;
    enum attempt_state
        state; /* as it stands now: what waited waits no more, and what ran with its job is over with it */
};
struct service_job {
    const struct cluster_job *job;
    const struct job_goodput *goodput; /* NULL: it told of no attempts, and nothing happened to it */
};
struct run_cost { /* of wall time, in milliseconds */
    int64_t lost_max_ms;
    int64_t waited_ms; /* from its end to the next start */
    bool cut;          /* it ended by no doing of its own */
};
/* Rows are struct service_job, newest first, below before_id ("": all): what the scheduler's last snapshot has, and what it has forgotten
 * since of those whose starts are kept (job_run.c). UNAVAILABLE when the snapshot is too old. */
int service_job_list(struct service *s, const char *cluster, const char *before_id, int limit, db_row_fn fn, void *arg,
                     struct problem *ret_problem);
/* Of the cluster's running jobs whose starts are kept, together; ret_jobs: how many these are. What they lost counts as allocated. */
int service_job_goodput(struct service *s, const char *cluster, struct job_goodput *ret_goodput, int64_t *ret_jobs,
                        struct problem *ret_problem);
struct service_job_readers { /* of one job, and of what was seen and done on its nodes while it had them */
    int (*job)(const struct service_job *job, void *arg);
    int (*fault)(const char *node, const struct verdict *verdict, void *arg);
    int (*repair)(const char *node, const struct operation *operation, void *arg);
    int (*run)(const struct job_run *run, const struct run_cost *cost, void *arg); /* oldest first; NULL: none asks */
    int (*signal)(const struct job_signalled *signalled, void *arg);               /* oldest first; NULL: none asks */
    int (*attempt)(const struct job_attempt *attempt, const struct attempt_cost *cost, void *arg); /* oldest first */
    void *arg;
};
int service_job_get(struct service *s, const char *cluster, const char *id, const struct service_job_readers *readers,
                    struct problem *ret_problem);
/* That job as service_job_get has it; its texts are gone, what is left of it are words and numbers. */
int service_job_find(struct service *s, const char *cluster, const char *id, struct cluster_job *ret_job,
                     struct problem *ret_problem);
/* Keeps what is told of an attempt (job, restart, step, attempt, state, nodes, exit_code, reason, progress_at) and answers whether its
 * nodes are at fault: fn gets each that is. NOT_FOUND for what the scheduler's last snapshot shows to be untrue. */
typedef void (*service_broken_fn)(const char *node, const char *state, const char *why, void *arg);
int service_job_diagnose(struct service *s, const char *cluster, const struct job_attempt *attempt,
                         service_broken_fn fn, void *arg, enum resume_action *ret_action, struct problem *ret_problem);

/* Keeps a command for a job; it is carried out soon after. CONFLICT for a job that does not take it, and for one that is over. size: of
 * SCALE; INVALID outside the job's bounds. */
int service_job_command(struct service *s, const struct actor *actor, const char *cluster, const char *job,
                        enum job_command_kind kind, int64_t size, struct job_command *ret_command,
                        struct problem *ret_problem);
/* Asks for the last lines that a rank of a job wrote. *ret_is_read false: they are being read, ask again soon. Caller frees
 * ret_log->text. */
struct service_job_log_ask {
    int64_t rank, lines;
    bool previous;                 /* of the container before the present one */
    char after[JOB_LOG_STAMP_MAX]; /* only later lines; "": all */
};
int service_job_log(struct service *s, const struct actor *actor, const char *cluster, const char *job,
                    const struct service_job_log_ask *asked, bool *ret_is_read, struct job_log *ret_log,
                    struct problem *ret_problem);
/* For whoever carries them out: rows are struct job_command of this scheduler, oldest first; any thread. */
int service_job_commands(struct service *s, const char *scheduler, db_row_fn fn, void *arg);
/* It is carried out (refusal NULL), or never can be: the timeline says why. */
int service_job_command_end(struct service *s, const struct job_command *command, const char *refusal);

/* The last attempt at that step in the job's starts before this one, whose runs and futile go on counting; {0}: there was none. */
int service_job_earlier(struct service *s, const char *cluster, const struct job_attempt *attempt,
                        struct job_attempt *ret_earlier, struct problem *ret_problem);

#endif
