/* The scheduler's nodes and partitions, where they are ours to write: what the loop knows of reconcile/keep/manage.c. */
#ifndef HOLDFAST_SERVER_RECONCILE_KEEP_MANAGE_H
#define HOLDFAST_SERVER_RECONCILE_KEEP_MANAGE_H

struct rcall;

void reconcile_manage_heard(const struct rcall *call); /* where an instance lives */

#endif
