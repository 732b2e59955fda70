/*
 * What a job made of its time. Pure: rows and now go in.
 *
 *     an attempt    began ──────────── of use until ─── ended ─────── the next one began
 *                   └── productive ──┘└───────────── lost ──────────┘
 *
 * An attempt that ended well, or runs, was of use to its end. Of use until: its last progress where that is known; else when its node was
 * seen to be broken; else its end, as nobody knows what its program kept. After a requeue lost has the wait in the queue, too.
 *
 * Of a job that tells of no attempts only its starts are known, so its loss is known between two numbers. What is lost for certain is the
 * wait between two starts. At most all of a start is lost, too, that was cut short by a requeue or a node; where it was asked to
 * checkpoint, what came after that, if it heeded it. What is productive is the rest: so much at least.
 *
 * Steps that ran side by side count once, and where one was productive nothing is lost. Allocated is each start of the job from begin to
 * end with all the nodes that it asked for.
 */
#ifndef HOLDFAST_SERVER_SERVICE_JOB_LIFE_H
#define HOLDFAST_SERVER_SERVICE_JOB_LIFE_H

#include "model/attempt.h"
#include "server/service/job/job.h"

struct life_attempt {
    int64_t restart, step, nodes;
    int64_t from, useful, to, seen; /* useful 0: to its end; to 0: it runs */
    enum attempt_state state;
    bool well; /* it ended so */
    struct attempt_cost cost;
};

struct life_run {
    int64_t restart, nodes, from, to; /* to 0: it goes on */
    bool cut;                         /* it ended by no doing of its own */
    int64_t asked;                    /* to checkpoint, last; 0: it was not */
    struct run_cost cost;
};

struct job_life {
    struct life_attempt *attempts;
    struct life_run *runs;
    size_t attempt_count, run_count;
    bool waits; /* to be started again */
};

/* Both in the order of the store. */
void job_life_add_attempt(struct job_life *life, const struct job_attempt *attempt);
void job_life_add_run(struct job_life *life, const struct job_run *run);
/* After the runs. */
void job_life_add_signal(struct job_life *life, const struct job_signalled *signalled);
/* Fills the cost of each attempt and run, too. */
void job_life_recount(struct job_life *life, int64_t now_ms, struct job_goodput *ret_goodput);
void job_life_free(struct job_life *life);
static inline void auto_job_life_cleanup(struct job_life *life)
{
    job_life_free(life);
}

#endif
