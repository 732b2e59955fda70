/*
 * What a scheduler has, as its last snapshot showed it: nodes, the partitions and features that they are chosen by, and whose each node
 * is. Groups are made of them (nodesFrom). All calls fail with UNAVAILABLE where nothing is known now, and with
 * NOT_FOUND where there is no such scheduler; ret_problem says why. scheduler "": the only one there is.
 */
#ifndef HOLDFAST_SERVER_SERVICE_DISCOVERY_H
#define HOLDFAST_SERVER_SERVICE_DISCOVERY_H

#include "server/service/service.h"

/* Row of a list; texts are borrowed for the call. */
struct discovered_node {
    const struct job_node *node;
    const char *cluster, *group; /* whose it is; "": nobody's */
};
struct discovery_filter {
    struct node_source source;
    bool unassigned;        /* only those that are nobody's */
    const char *after_name; /* "" starts */
    int limit;              /* 0: all */
};
/* In the order of their names. Rows are struct discovered_node. */
int service_discovery_nodes(struct service *s, const char *scheduler, const struct discovery_filter *filter,
                            db_row_fn fn, void *arg, struct problem *ret_problem);

/* How many nodes the scheduler has, and how many of them are nobody's. */
int service_discovery_count(struct service *s, const char *scheduler, size_t *ret_count, size_t *ret_unassigned,
                            struct problem *ret_problem);

/* The nodes of a partition, or those with a feature. */
struct discovered_part {
    char *name;
    char *nodes, *unassigned; /* host lists */
    size_t count, unassigned_count;
    char **others; /* the features of a partition's nodes, the partitions of a feature's; in order */
    size_t other_count;
};
struct discovery {
    int64_t at; /* when the scheduler was asked, ms */
    size_t node_count, unassigned_count;
    struct discovered_part *partitions, *features; /* by name */
    size_t partition_count, feature_count;
};
int service_discovery(struct service *s, const char *scheduler, struct discovery *ret_discovery,
                      struct problem *ret_problem);
void service_discovery_free(struct discovery *discovery); /* the contents */

/* The names of the nodes of a source, in order, for text_list_free. INVALID when there are none, or more than a group may have. */
int service_discovery_take(struct service *s, const char *scheduler, const struct node_source *source,
                           char ***ret_names, size_t *ret_count, struct problem *ret_problem);

#endif
