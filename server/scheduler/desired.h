/*
 * The nodes and partitions that a scheduler shall have, where its configuration is ours to write (Slurm's slurm.conf), and what
 * came of it: a backend that finds the file as somebody else left it says so, and does what the strategy says.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_DESIRED_H
#define HOLDFAST_SERVER_SCHEDULER_DESIRED_H

#include "model/group_spec.h"
#include "model/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DESIRED_NODES_MAX 100000
#define DESIRED_SAID_MAX 512

struct desired_node {
    char name[NODE_NAME_MAX_BYTES];
    char address[ADDRESS_MAX_BYTES]; /* "": what its name resolves to */
    char instance_type[NAME_MAX_BYTES];
    char partition[NAME_MAX_BYTES];     /* besides the one of all nodes; "": none */
    char leaf[TOPOLOGY_NAME_MAX_BYTES]; /* the switch it is behind, "": not known */
};

struct scheduler_desired {
    struct desired_node *nodes; /* owned */
    size_t count;
    enum desired_strategy strategy;

    /* answered */
    char drift[DESIRED_SAID_MAX]; /* how the file differs from what was written; "": it does not */
    char done[DESIRED_SAID_MAX];  /* what was written and how it was brought into force; "": nothing had to be */
};
void scheduler_desired_free(struct scheduler_desired *desired); /* accepts NULL */

#endif
