/* What follows from the policy's plan, inside the transaction. */
#ifndef HOLDFAST_SERVER_RECONCILE_DECIDE_APPLY_H
#define HOLDFAST_SERVER_RECONCILE_DECIDE_APPLY_H

#include <stdbool.h>
#include <stdint.h>

struct decide_item;
struct reconcile;
struct turn;

/* Inside the transaction. */
int reconcile_apply(struct turn *turn);
/* Nothing of the item needs the store: most looks at evidence that costs no node end so. */
bool reconcile_item_is_quiet(const struct reconcile *r, const struct decide_item *item, int64_t now);

#endif
