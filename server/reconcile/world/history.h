/* The history of nodes, stored in slices. */
#ifndef HOLDFAST_SERVER_RECONCILE_WORLD_HISTORY_H
#define HOLDFAST_SERVER_RECONCILE_WORLD_HISTORY_H

#include <stdint.h>

struct reconcile;

/* Due at r->history_at */
void reconcile_history(struct reconcile *r, int64_t now);

#endif
