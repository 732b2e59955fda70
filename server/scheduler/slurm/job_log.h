/* Where a job of Slurm writes to. Slurm itself keeps nothing of it. */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_JOB_LOG_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_JOB_LOG_H

#include "server/scheduler/scheduler.h"

int slurm_job_log(struct scheduler *s, const struct job_log_ask *ask, struct job_log *ret_log, char *ret_error);
/* Reads what "scontrol show job" printed. Pure. NOT_FOUND: it names no file. */
int slurm_parse_job_log(const char *text, struct job_log *ret_log);

#endif
