/*
 * What the node objects of a scheduler carry: labels and taints that people want on the nodes of a group, and labels by which people and
 * schedulers choose nodes. The caller says what is wanted of all nodes; the backend looks at those that may have changed, and answers.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_LABELS_H
#define HOLDFAST_SERVER_SCHEDULER_LABELS_H

#include "model/group_spec.h"
#include "model/model.h"

struct labels_group {
    int64_t id; /* the caller's */
    char cluster[NAME_MAX_BYTES], name[NAME_MAX_BYTES];
    struct kubernetes_spec wanted; /* owned */
};

/* Deep health checks of a node's machine. */
enum labels_test { LABELS_TEST_NONE, LABELS_TEST_RUNNING, LABELS_TEST_PASSED, LABELS_TEST_FAILED };

struct labels_node {
    int64_t id; /* the caller's */
    char name[NODE_NAME_MAX_BYTES];
    size_t group;
    char domains[TOPOLOGY_LEVEL_COUNT][TOPOLOGY_NAME_MAX_BYTES]; /* "": not known */
    enum labels_test test;
    uint64_t known;  /* number, as it was answered last; 0: look at it */
    uint64_t number; /* answered: of what is wanted and what the node has; 0: it is not there, or was not looked at */
    bool looked;     /* answered: number is another one, and what follows is answered, too */
    char *current;   /* of wanted, what the node has: as kubernetes_spec_write; "": nothing; owned */
    char conflict[REASON_MAX_BYTES]; /* what somebody else has set; "": nothing */
};

struct scheduler_labels {
    struct labels_group *groups;
    size_t group_count;
    struct labels_node *nodes;
    size_t count;
    size_t left; /* answered: nodes that wait for the next call */
};
void scheduler_labels_free(struct scheduler_labels *labels); /* accepts NULL */

#endif
