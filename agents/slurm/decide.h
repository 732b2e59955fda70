/* What follows when an attempt has failed. Pure: what is known goes in, what to do and why comes out. */
#ifndef HOLDFAST_AGENTS_SLURM_DECIDE_H
#define HOLDFAST_AGENTS_SLURM_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESUME_WHY_MAX 256
#define RESUME_FUTILE_MAX 3 /* attempts in a row without progress; NVRx stops after as many */

enum resume_next {
    RESUME_END,     /* as srun ended */
    RESUME_AGAIN,   /* the same step on the same nodes */
    RESUME_REPLACE, /* the job loses its broken nodes, gets others, and the step runs again */
    RESUME_REQUEUE, /* Slurm lets nothing of this job be changed: all of it begins anew */
};

struct resume_facts {
    bool fault;                     /* hpd: a node of the job is broken */
    bool stopped;                   /* the step did not fail: we ended it for a repair */
    bool running;                   /* the job is still there */
    bool gres, batch, requeueable;  /* the job */
    bool batch_host_lost;           /* the node that the batch script runs on is one of the broken */
    bool newcomers_barred;          /* Slurm starts no step on a node that comes to the job now */
    bool merge_barred;              /* Slurm merges no other job into this one */
    size_t good_nodes;              /* that the job keeps */
    int64_t attempts, attempts_max; /* runs so far, and at most */
    int64_t crashes, crash_max;     /* of the program's own, this one included; that are followed by another run */
    int64_t futile;                 /* attempts without progress up to this one, in a row */
};

/* ret_why: a sentence for who waits for the job. */
enum resume_next resume_decide(const struct resume_facts *facts, char ret_why[RESUME_WHY_MAX]);
/* What was tried failed: the job is requeued where that may be. because: why it failed. */
enum resume_next resume_decide_otherwise(const struct resume_facts *facts, const char *because,
                                         char ret_why[RESUME_WHY_MAX]);

#endif
