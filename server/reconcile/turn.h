/* One turn of the loop: its transaction, and what comes after it. */
#ifndef HOLDFAST_SERVER_RECONCILE_TURN_H
#define HOLDFAST_SERVER_RECONCILE_TURN_H

#include <stdbool.h>

struct decide_batch;
struct reconcile;

/* One transaction with all that follows from the batch (or NULL) and from what is ready; false when
 * there was nothing, or the store refused. */
bool reconcile_turn(struct reconcile *r, struct decide_batch *batch);

#endif
