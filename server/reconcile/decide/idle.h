/* Checks between jobs: of idle nodes in the background, and first of those that somebody suspects. */
#ifndef HOLDFAST_SERVER_RECONCILE_DECIDE_IDLE_H
#define HOLDFAST_SERVER_RECONCILE_DECIDE_IDLE_H

#include <stdint.h>

struct reconcile;
struct rnode;

/* When the newest suspicion of the node came; 0: there is none. */
void reconcile_suspected(struct reconcile *r, struct rnode *node, int64_t at);

#endif
