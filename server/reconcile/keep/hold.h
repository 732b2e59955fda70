/*
 * Marks in the scheduler without an operation: of nodes that are out of service, and a word behind a reason that is nearly a request.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_KEEP_HOLD_H
#define HOLDFAST_SERVER_RECONCILE_KEEP_HOLD_H

struct reconcile;
struct rnode;

/* Sends what is missing in the scheduler for a node that is out of service; notes a person's undrain. */
void reconcile_hold_check(struct reconcile *r, struct rnode *node);
/* Takes a node out again that was put back into service during its repair. */
void reconcile_hold_keep(struct reconcile *r, struct rnode *node);
void reconcile_annotate_send(struct reconcile *r, const struct rnode *node);

#endif
