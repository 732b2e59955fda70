/*
 * The scheduler's jobs and figures, beside what it is observed for; and the jobs of ours that nobody is left to end.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_OBSERVE_JOB_SNAPSHOT_H
#define HOLDFAST_SERVER_RECONCILE_OBSERVE_JOB_SNAPSHOT_H

struct rcall;
struct reconcile;

/* Takes what was just observed out of the call, for a survey, if one is due. */
void reconcile_job_snapshot(struct reconcile *r, struct rcall *observed);
/* What came of it. */
void reconcile_job_snapshot_take(struct reconcile *r, struct rcall *call);
/* And of the end of a job that it found to wait for nobody. */
void reconcile_cancel_take(const struct rcall *call);

#endif
