/* Slurm's topology: which switch or block each node is behind. */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_TOPOLOGY_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_TOPOLOGY_H

#include "server/scheduler/scheduler.h"

#define SLURM_PLACES_MAX 100000

/* Adds what one line of "scontrol -o show topology" says to *places (owned by the caller), at most SLURM_PLACES_MAX in all. Lines
 * that say nothing of single nodes (switches of switches, blocks of blocks) add nothing. STATUS_BACKEND: it cannot be read. */
int slurm_parse_places(const char *line, struct scheduler_place **places, size_t *count);

/* The vtable's. */
int slurm_places(struct scheduler *s, struct scheduler_place **ret_places, size_t *ret_count, char *ret_error);

#endif
