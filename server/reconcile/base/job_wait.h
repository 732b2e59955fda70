/* How long an operation waits for the jobs of its node. */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_JOB_WAIT_H
#define HOLDFAST_SERVER_RECONCILE_BASE_JOB_WAIT_H

#include "model/model.h"

struct loop_settings;
struct rnode;

/* A check that is not pressing never costs a job: a node that stays busy is left out. */
bool reconcile_spares_jobs(const struct operation *op);
int64_t reconcile_job_wait_ms(const struct operation *op, const struct loop_settings *settings);
/* The node's operation has taken it out of scheduling, or is about to, and its jobs may still go on. */
bool reconcile_waits_for_jobs(const struct rnode *node);

#endif
