/* Where the scheduler was told that nodes live: what the loop knows of reconcile/keep/address.c. */
#ifndef HOLDFAST_SERVER_RECONCILE_KEEP_ADDRESS_H
#define HOLDFAST_SERVER_RECONCILE_KEEP_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

struct rcall;
struct reconcile;
struct rnode;
struct work;

/* What the snapshot that was asked for at seq shows of a node of which the scheduler was told something, and of its machine's name;
 * "": it does not say. */
void reconcile_address_see(struct reconcile *r, struct rnode *node, const char *shown, const char *host, uint64_t seq);
/* Its agent has spoken by now: whether it told how its machine is called is looked at with the next snapshot. */
void reconcile_address_heard(struct rnode *node);
/* The call is to tell where a machine of people's lives, if the scheduler shows where one before it did;
 * false: none is known. */
bool work_address_ask(struct work *w, struct rcall *call);
/* What came of that, or of a call that told it because a provider said so. */
void work_address_told(struct work *w, const struct rcall *call);
/* No machine fills the slot any more. */
void work_address_leave(struct work *w);

#endif
