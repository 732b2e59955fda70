/* Priorities, shares and limits that the scheduler shall go by: what the loop knows of reconcile/keep/govern.c. */
#ifndef HOLDFAST_SERVER_RECONCILE_KEEP_GOVERN_H
#define HOLDFAST_SERVER_RECONCILE_KEEP_GOVERN_H

struct scheduler_link;

/* Somebody may have asked for something else. */
void reconcile_govern_poke(struct scheduler_link *link);

#endif
