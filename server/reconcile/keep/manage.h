/* The scheduler's nodes and partitions, where they are ours to write: what the loop knows of reconcile/keep/manage.c. */
#ifndef HOLDFAST_SERVER_RECONCILE_MANAGE_H
#define HOLDFAST_SERVER_RECONCILE_MANAGE_H

#include "server/reconcile/private.h"

void reconcile_manage_heard(const struct rcall *call); /* where an instance lives */

#endif
