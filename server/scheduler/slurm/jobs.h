/*
 * A node's jobs, what they are asked for, and their end.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_JOBS_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_JOBS_H

#include "server/scheduler/scheduler.h"

/* The vtable's jobs, signal, evict and cancel. */
int slurm_jobs(struct scheduler *s, const char *node, struct scheduler_job **ret_jobs, size_t *ret_count,
               char *ret_error);
int slurm_signal(struct scheduler *s, const char *node, enum job_signal signal, struct scheduler_job *jobs,
                 size_t count, char *ret_error);
int slurm_evict(struct scheduler *s, const char *node, const char *reason, char *ret_error);
int slurm_cancel(struct scheduler *s, const char *job, const char *name, char *ret_error);

#endif
