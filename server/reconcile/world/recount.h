/* How many nodes of each group are what, kept up as things change. */
#ifndef HOLDFAST_SERVER_RECONCILE_WORLD_RECOUNT_H
#define HOLDFAST_SERVER_RECONCILE_WORLD_RECOUNT_H

#include <stdbool.h>
#include <stdint.h>

struct rgroup;
struct rnode;

/* After anything about the node changed: it is counted anew in its group. */
void reconcile_node_recount(struct rnode *node);
/* It is counted no more. */
void reconcile_node_uncount(struct rnode *node);
/* After the group wants another image, or another batch of its rollout is at work: members says whether its members stay. */
void reconcile_group_recount(struct rgroup *group, bool members);
/* A number for what an instance is launched from; never 0. */
uint64_t reconcile_image(const char *image_id, const char *release);
/* An operation on a node that was never in service did not succeed. */
void reconcile_node_unprovisioned(struct rnode *node);

#endif
