/*
 * Nodes under deep health checks, as people who know HyperPod find them in Slurm: a reservation, a partition, a feature.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_QUARANTINE_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_QUARANTINE_H

#include "server/scheduler/slurm/command.h"

#define SLURM_QUARANTINE_RESERVATION "hyperpod-deep-health-check"
#define SLURM_QUARANTINE_PARTITION "hyperpod-system-maintenance"
#define SLURM_QUARANTINE_FEATURE "SageMakerDeepHealthCheck:InProgress"
#define SLURM_QUARANTINE_NODES_MAX 2048   /* of a reservation or a partition that we change: its list is one argument */
#define SLURM_QUARANTINE_FEATURES_MAX 512 /* bytes of a node's list */

/* Of its vtable. */
int slurm_quarantine(struct scheduler *s, struct scheduler_quarantine *quarantine, char *ret_error);

/* The nodes that one line of "scontrol -o show partition|reservation" lists; text_list_free frees them. BACKEND: it lists none
 * that can be read. */
int slurm_parse_members(const char *line, char ***ret_names, size_t *ret_count);

struct slurm_features {
    char name[NODE_NAME_MAX_BYTES];
    char available[SLURM_QUARANTINE_FEATURES_MAX], active[SLURM_QUARANTINE_FEATURES_MAX]; /* "": none */
};
/* Of one line of "scontrol -o show node". BACKEND: it is no such line. */
int slurm_parse_features(const char *line, struct slurm_features *ret_features);
/* A list "a,b" without a word, and without what is empty. Caller frees. */
char *slurm_list_without(const char *list, const char *word);

#endif
