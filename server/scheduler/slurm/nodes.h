/*
 * Nodes as Slurm has them, looked at and changed, whichever way there is to it.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_NODES_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_NODES_H

#include "server/scheduler/slurm/command.h"
#include "server/scheduler/slurm/parse.h"

/* The vtable's. */
int slurm_observe(struct scheduler *s, struct scheduler_observation *ret_observation, char *ret_error);

int slurm_look(struct slurm_call *call, const char *name, struct slurm_node *ret_node);

/* What is NULL stays as it is. */
struct slurm_node_change {
    const char *state; /* DRAIN, FAIL or RESUME */
    const char *reason;
    const char *address, *host;
};
int slurm_update_node(struct slurm_call *call, const char *node, const struct slurm_node_change *change);

#endif
