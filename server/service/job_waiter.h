/*
 * Jobs that wait for nodes for another one (srun --auto-resume's, see hp-auto-resume(8)), and whose job is over. Whoever made one ends it
 * with its own job, unless it was killed before it could: then Slurm forgets what it waits for and gives it nodes, for nobody.
 */
#ifndef HOLDFAST_SERVER_SERVICE_JOB_WAITER_H
#define HOLDFAST_SERVER_SERVICE_JOB_WAITER_H

#include "server/service/service.h"

struct job_waiter {
    char id[JOB_ID_MAX_BYTES], name[NAME_MAX_BYTES];
    char job[JOB_ID_MAX_BYTES]; /* for which it waits */
};

/*
 * Those that are to be cancelled, each told in the timeline of the clusters that know its job from attempts; what no cluster knows is
 * nobody's to cancel. Two pictures must say the same, as a job that is begun again is away for a moment. before may be NULL: then there
 * are none. Caller frees *ret_waiters.
 */
int service_job_waiters(struct service *s, const struct job_picture *before, const struct job_picture *picture,
                        struct job_waiter **ret_waiters, size_t *ret_count);

#endif
