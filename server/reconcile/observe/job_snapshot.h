/*
 * The scheduler's jobs and figures, beside what it is observed for; and the jobs of ours that nobody is left to end.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_OBSERVE_JOB_SNAPSHOT_H
#define HOLDFAST_SERVER_RECONCILE_OBSERVE_JOB_SNAPSHOT_H

struct rcall;
struct reconcile;

/* Takes what was just observed out of the call, for a job snapshot, if one is due. */
void reconcile_job_snapshot(struct reconcile *r, struct rcall *observed);

#endif
