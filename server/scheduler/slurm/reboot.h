/* A reboot by Slurm itself: its RebootProgram, which slurmd runs on the node as soon as no job is there. */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_REBOOT_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_REBOOT_H

#include "server/scheduler/scheduler.h"

/* As in struct scheduler_reboots_ops: UNAVAILABLE: nothing was done; TIMEOUT: it may have been. */
int slurm_reboot(struct scheduler *s, const char *node, char *ret_error);

#endif
