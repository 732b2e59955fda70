/* One turn of the loop: its transaction, and what comes after it. */
#ifndef HOLDFAST_SERVER_RECONCILE_TURN_H
#define HOLDFAST_SERVER_RECONCILE_TURN_H

#include <stdbool.h>

struct reconcile;

/* One transaction with all that the parts have; false when there was nothing, or the store refused. */
bool reconcile_turn(struct reconcile *r);

#endif
