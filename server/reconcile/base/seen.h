/* What the newest snapshot of its scheduler says of a node, and whether it may be believed. */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_SEEN_H
#define HOLDFAST_SERVER_RECONCILE_BASE_SEEN_H

#include <stdbool.h>

struct reconcile;
struct rnode;

/* The snapshot is young enough to be believed, and holds the node as it is after our own last change. */
bool reconcile_sees(const struct reconcile *r, const struct rnode *node);
/* It has a snapshot that is younger than all we did, and the node is not in it. */
bool reconcile_unknown_there(const struct rnode *node);
/* Someone else took it out of scheduling. */
bool reconcile_external_drain(const struct rnode *node);
bool reconcile_reason_is_ours(const struct rnode *node);

#endif
