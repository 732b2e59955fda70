/* Whether slurmctld's process is there, on the machine where Slurm's programs run. */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_PROCESS_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_PROCESS_H

#include "server/scheduler/slurm/command.h"

#include <stdbool.h>

/* The value of SLURM_CONF there. */
const char *slurm_conf_there(const struct slurm_call *call);
/* False as well where that cannot be found out. */
bool slurm_controller_runs(const struct slurm_call *call);

#endif
