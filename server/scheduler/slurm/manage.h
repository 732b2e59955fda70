/* Slurm's nodes and partitions as Holdfast's: the files are written, brought into force, seen to hold, or taken back. */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_MANAGE_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_MANAGE_H

#include "server/scheduler/slurm/slurm.h"

struct slurm_manage; /* what the adapter keeps of it */

/* Copies what it needs. */
struct slurm_manage *slurm_manage_new(const struct slurm_manage_options *options);
void slurm_manage_free(struct slurm_manage *manage); /* accepts NULL */

/* The vtable's. */
int slurm_configure(struct scheduler *s, struct scheduler_desired *desired, char *ret_error);

#endif
