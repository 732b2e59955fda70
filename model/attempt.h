/*
 * The attempts at one step of a job that lives on when nodes break, as srun's --auto-resume tells of them; and what it is answered.
 *
 *      RUNNING ──► FAILED ──► WAITING ──► ENDED     there is no next one
 *         │           │          └─────► the next attempt's RUNNING
 *         │           └────────────────► either
 *         └────────────────────────────► ENDED
 */
#ifndef HOLDFAST_MODEL_ATTEMPT_H
#define HOLDFAST_MODEL_ATTEMPT_H

#include "model/limits.h"

#include "base/enum.h"
#include "model/job.h"

#include <stdint.h>

#define ATTEMPT_NODES_MAX_BYTES (16 * 1024) /* of a host list: thousands of nodes of a fragmented job */
#define ATTEMPT_EXIT_MAX 255
#define ATTEMPT_STEP_NONE (-1)
#define ATTEMPT_STEP_MAX INT64_C(0xFFFFFFFF)
#define ATTEMPT_NUMBER_MAX 1000 /* of attempts, and of a job's restarts */

#define ATTEMPT_STATE_LIST(X)                                                \
    X(RUNNING, "running")                                                    \
    X(FAILED, "failed")                                                      \
    X(WAITING, "waiting") /* for nodes that take the place of broken ones */ \
    X(ENDED, "ended")
enum attempt_state {
#define X(SYMBOL, text) ATTEMPT_STATE_##SYMBOL,
    ATTEMPT_STATE_LIST(X)
#undef X
};
ENUM_DECLARE(attempt_state);

/* HyperPod's words, and ours for "ask again". */
#define RESUME_ACTION_LIST(X)                                    \
    X(NONE, "NONE")           /* no node of the job is broken */ \
    X(RETRYSTEP, "RETRYSTEP") /* some are, and are named */      \
    X(WAIT, "WAIT")           /* not all nodes were heard since the step failed */
enum resume_action {
#define X(SYMBOL, text) RESUME_ACTION_##SYMBOL,
    RESUME_ACTION_LIST(X)
#undef X
};
ENUM_DECLARE(resume_action);

struct job_attempt {
    int64_t cluster_id;
    char job[JOB_ID_MAX_BYTES];
    int64_t restart, attempt; /* both from 0 */
    int64_t step;             /* the scheduler's number of its first attempt; ATTEMPT_STEP_NONE: it never became one */
    enum attempt_state state;
    enum resume_action action; /* answered last */
    char nodes[ATTEMPT_NODES_MAX_BYTES];
    char reason[REASON_MAX_BYTES]; /* what was wrong with its nodes, or why there is no next one */
    int64_t exit_code;
    int64_t started_at, ended_at; /* ended_at 0: it runs */
    int64_t seen_at;              /* it was told of last */
    int64_t stop_at;              /* it was to make way for a repair since then; 0: no */
    int64_t node_count;
    int64_t progress_at; /* its program showed progress last, as far as somebody can see that; 0: nobody can */
    int64_t fault_at;    /* the first of its broken nodes was seen to be unhealthy; 0: none was */
    int64_t waits_since; /* for other nodes; 0: it did not */
    int64_t runs,
        futile; /* of the step over all starts of the job: so far, and in a row without progress; as its supervisor counts */
};

/* One start of a job that tells of attempts, as the scheduler had it, or as the attempts say. */
struct job_run {
    int64_t cluster_id;
    char job[JOB_ID_MAX_BYTES];
    int64_t restart;
    char name[NAME_MAX_BYTES], user[NAME_MAX_BYTES], account[NAME_MAX_BYTES], partition[NAME_MAX_BYTES];
    enum cluster_job_state state; /* UNKNOWN: the scheduler has not shown it, or forgot it before its end was seen */
    char nodes[ATTEMPT_NODES_MAX_BYTES];
    int64_t node_count, cpus, gpus;
    int64_t submitted_at, started_at, ended_at; /* ended_at 0: it goes on */
    int64_t evicted_at;                         /* we requeued or ended it; 0: no */
    char why[SENTENCE_MAX_BYTES];               /* it ended; while it goes on, what we evict it for */
};
/* "" where nothing shows it. */
static inline const char *job_run_state_text(const struct job_run *run)
{
    return run->state == CLUSTER_JOB_UNKNOWN ? "" : cluster_job_state_text(run->state);
}

#endif
