/* The scheduler's nodes and partitions, where they are ours to write: what the loop knows of reconcile/keep/manage.c. */
#ifndef HOLDFAST_SERVER_RECONCILE_MANAGE_H
#define HOLDFAST_SERVER_RECONCILE_MANAGE_H

#include "server/reconcile/private.h"

struct manage *reconcile_manage_new(void);
void reconcile_manage_free(struct manage *manage);
int64_t reconcile_manage_due(const struct scheduler_link *link); /* 0: not */
bool reconcile_manage(struct reconcile *r, struct scheduler_link *link, int64_t now);
void reconcile_manage_take(struct reconcile *r, struct rcall *call);
void reconcile_manage_heard(const struct rcall *call); /* where an instance lives */

#endif
