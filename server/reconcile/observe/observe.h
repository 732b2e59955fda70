/* Snapshots of each scheduler's nodes, and what is known of a node by them. */
#ifndef HOLDFAST_SERVER_RECONCILE_OBSERVE_OBSERVE_H
#define HOLDFAST_SERVER_RECONCILE_OBSERVE_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

struct reconcile;
struct rnode;

/* An effect (base/effect.h): the node's scheduler is looked at at once. */
void reconcile_observe_now(struct reconcile *r, struct rnode *node, const void *data);

#endif
