/* A cluster as the loop remembers it. */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_CLUSTER_H
#define HOLDFAST_SERVER_RECONCILE_BASE_CLUSTER_H

#include "model/model.h"

struct reconcile;
struct scheduler_link;

/* The open operation of a change of a whole cluster; id 0: there is none. */
struct rchange {
    int64_t id;
    bool begun;  /* it is RUNNING */
    bool failed; /* something has gone wrong with it already */
    struct operation_progress progress;
    int64_t told_at; /* when its progress was written last */
};

struct rcluster {
    struct rcluster *next;
    int64_t id, revision;
    char name[NAME_MAX_BYTES];
    enum cluster_state state;
    enum node_recovery recovery;
    bool paused;                       /* a person holds all of it … */
    char paused_why[REASON_MAX_BYTES]; /* … who, and why */
    struct scheduler_link *link;       /* NULL: it has no scheduler */
    enum orchestrator orchestrator;
    enum provisioning provisioning;
    char failure[SENTENCE_MAX_BYTES];
    bool dirty;                                         /* something changed that may move it or a group of it */
    bool listed;                                        /* found in the store by the present resync */
    int64_t look_at;                                    /* when time alone may move it; 0: never */
    struct rchange changes[OPERATION_KINDS_OF_CLUSTER]; /* by kind, from OPERATION_KIND_FIRST_OF_CLUSTER on */
};

struct rcluster *reconcile_cluster_find(const struct reconcile *r, int64_t id);

#endif
