/* Critical evidence that no decision has looked at: how old the oldest is, and whether any was forgotten. */
#ifndef HOLDFAST_SERVER_RECONCILE_DECIDE_UNDECIDED_H
#define HOLDFAST_SERVER_RECONCILE_DECIDE_UNDECIDED_H

#include <stdbool.h>
#include <stdint.h>

struct decide_item;
struct reconcile;
struct rnode;

/* Critical evidence about the node came at this time (reconcile_now_us). */
void reconcile_undecided_came(struct reconcile *r, struct rnode *node, int64_t received_us);
/* The turn that looked at the item is stored. True when the node had critical evidence that waited, since *ret_received_us. */
bool reconcile_undecided_looked(const struct decide_item *item, int64_t *ret_received_us);
/* Shows how old the oldest is, at once: what follows in the turn may hang. */
void reconcile_undecided_publish(struct reconcile *r);
#endif
