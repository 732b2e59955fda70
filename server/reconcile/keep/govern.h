/* Priorities, shares and limits that the scheduler shall go by: what the loop knows of reconcile/keep/govern.c. */
#ifndef HOLDFAST_SERVER_RECONCILE_GOVERN_H
#define HOLDFAST_SERVER_RECONCILE_GOVERN_H

#include "server/reconcile/private.h"

/* Somebody may have asked for something else. */
void reconcile_govern_poke(struct scheduler_link *link);

#endif
