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

struct provision_part {
    struct rgroup *group;
    size_t victims, members;      /* chosen in this turn, in the order of the groups */
    bool blind;                   /* who works is not known: the others wait for the scheduler's picture */
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
    struct provision_part *parts;
    struct provision_plan plan;
    struct rnode *victims[PROVISION_NODES_MAX];
    struct rnode **members; /* a batch is chosen as a whole */
    size_t victim_count, member_count;
    struct provision_change changes[OPERATION_KINDS_OF_CLUSTER];
    int64_t revision; /* of the cluster, when it is written */
    bool takes_down;  /* a creation that failed: nobody's jobs are waited for */
    bool outdated;    /* the store holds something newer: nothing was done */
};

/* The next cluster that moves, with what becomes of it; NULL: none does. */
struct provision *reconcile_provision_plan(struct reconcile *r, int64_t now);
/* Inside the transaction; after it; and when it can not be written. */
int reconcile_provision_write(struct turn *turn);
void reconcile_provision_done(struct turn *turn);
/* Last of all: what is no more. */
void reconcile_provision_reap(struct turn *turn);
void reconcile_provision_park(struct turn *turn);
void reconcile_provision_free(struct provision *provision);
/* When a cluster is looked at again; 0: when something happens. */
int64_t reconcile_provision_due(const struct reconcile *r, int64_t now);

#endif
