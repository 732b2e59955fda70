/*
 * Nodes that are as they are for the same reason, as one line: "30 nodes: agent not seen since 18:06". Pure: JSON in, lines out.
 */
#ifndef HOLDFAST_CLI_NODE_GROUPS_H
#define HOLDFAST_CLI_NODE_GROUPS_H

#include "base/json.h"

struct node_group {
    char *key;   /* what they have in common */
    char *words; /* "agent not seen since 18:06 CET", "failed: …" */
    const json_t *first;
    char **names;
    size_t count;
    int64_t since_ms; /* of the one that is so for the longest; 0: not known */
};

struct node_groups {
    struct node_group *groups;
    size_t count;
};

/* Of those nodes that wait for a person, as the server says, or of the others, in the order in which they come. skip: names of nodes to leave
 * out, may be NULL. */
void node_groups_make(const json_t *nodes, bool waiting, const json_t *skip, struct node_groups *ret_groups);
void node_groups_free(struct node_groups *groups);
/* "gpu-[1-4]", "gpu-7". Caller frees. */
char *node_group_names(const struct node_group *group);

#endif
