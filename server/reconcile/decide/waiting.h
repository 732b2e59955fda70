/* Operations that wait for the jobs of their node, weighed against what is seen meanwhile. */
#ifndef HOLDFAST_SERVER_RECONCILE_DECIDE_WAITING_H
#define HOLDFAST_SERVER_RECONCILE_DECIDE_WAITING_H

#include <stddef.h>
#include <stdint.h>

struct decide_item;
struct policy_snapshot;
struct turn;

/* Asks the policy once more about those of the items, all of one group, whose operation waits. */
void reconcile_waiting_decide(const struct policy_snapshot *snapshot, struct decide_item *items, size_t count);
/* Inside the transaction. */
int reconcile_waiting_apply(struct turn *turn, const struct decide_item *item);

#endif
