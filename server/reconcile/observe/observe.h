/* Snapshots of each scheduler's nodes, and what is known of a node by them. */
#ifndef HOLDFAST_SERVER_RECONCILE_OBSERVE_OBSERVE_H
#define HOLDFAST_SERVER_RECONCILE_OBSERVE_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

struct reconcile;
struct rnode;

/* An effect (base/effect.h): the node's scheduler is looked at at once. */
void reconcile_observe_now(struct reconcile *r, struct rnode *node, const void *data);
/* The snapshot is young enough to be believed, and holds the node as it is after our own last change. */
bool reconcile_sees(const struct reconcile *r, const struct rnode *node);
/* It has a snapshot that is younger than all we did, and the node is not in it. */
bool reconcile_unknown_there(const struct rnode *node);
/* Someone else took it out of scheduling. */
bool reconcile_external_drain(const struct rnode *node);
bool reconcile_reason_is_ours(const struct rnode *node);

#endif
