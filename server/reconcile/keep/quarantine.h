/* Nodes that are set apart in the scheduler while they are tested: what the loop knows of reconcile/keep/quarantine.c. */
#ifndef HOLDFAST_SERVER_RECONCILE_QUARANTINE_H
#define HOLDFAST_SERVER_RECONCILE_QUARANTINE_H

#include "server/reconcile/private.h"

/* Somebody is to be set apart, or given back. */
void reconcile_quarantine_poke(struct scheduler_link *link);

#endif
