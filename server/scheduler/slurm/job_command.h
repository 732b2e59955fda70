/* What a person asks of a batch job: to begin anew, to wait, to go on, to have another size. */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_JOB_COMMAND_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_JOB_COMMAND_H

#include "model/job_command.h"
#include "server/scheduler/scheduler.h"

/* The vtable's command. */
int slurm_job_command(struct scheduler *s, const struct job_command *command, char *ret_error);

struct slurm_job_now {
    enum cluster_job_state state;
    bool held; /* until it is released */
    int64_t restarts, nodes, tasks, cpus;
};
/* Reads what squeue printed by SLURM_JOB_NOW_FORMAT. Pure. NOT_FOUND: nothing; CONFLICT: several jobs; BACKEND: no such line. */
#define SLURM_JOB_NOW_FORMAT "State:24,RestartCnt:12,PriorityLong:16,NumNodes:16,NumTasks:16,NumCPUs:16"
int slurm_parse_job_now(char *text, struct slurm_job_now *ret_now);

#endif
