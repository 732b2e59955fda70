/*
 * A cluster that moves: the policy's word, and what of it was chosen from memory before the transaction, so that inside it
 * only the store is touched.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_CLUSTER_PROVISION_H
#define HOLDFAST_SERVER_RECONCILE_CLUSTER_PROVISION_H

#include "policy/provision.h"

struct rcluster;
struct reconcile;
struct rgroup;
struct rnode;
struct turn;

#define PROVISION_NODES_MAX 64 /* nodes of a cluster that are taken in one turn: keeps its transaction short */

struct group_part {
    struct rgroup *group;
    size_t victims, members;      /* chosen in this turn, in the order of the groups */
    bool blind;                   /* who works is not known: the others wait for the scheduler's snapshot */
    bool shrinks;                 /* the first of its victims: it is told */
    char why[SENTENCE_MAX_BYTES]; /* what went wrong with a member of its batch */
};

/* What is to be written of the operation of a change. */
struct provision_change {
    bool writes, ends, failed;
    struct operation_progress progress;
    char failure[SENTENCE_MAX_BYTES]; /* news of what has gone wrong; "": none */
};

struct provision {
    struct rcluster *cluster;
    struct provision_snapshot snapshot;
    struct provision_group *groups;
    struct group_part *parts;
    struct provision_plan plan;
    struct rnode *victims[PROVISION_NODES_MAX];
    struct rnode **members; /* a batch is chosen as a whole */
    size_t victim_count, member_count;
    struct provision_change changes[OPERATION_KINDS_OF_CLUSTER];
    int64_t revision; /* of the cluster, when it is written */
    bool takes_down;  /* a creation that failed: nobody's jobs are waited for */
    bool outdated;    /* the store holds something newer: nothing was done */
};

#endif
