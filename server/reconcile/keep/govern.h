/* Priorities, shares and limits that the scheduler shall go by: what the loop knows of reconcile/keep/govern.c. */
#ifndef HOLDFAST_SERVER_RECONCILE_GOVERN_H
#define HOLDFAST_SERVER_RECONCILE_GOVERN_H

#include "server/reconcile/private.h"

struct govern *reconcile_govern_new(void);
void reconcile_govern_free(struct govern *govern);
/* Somebody may have asked for something else. */
void reconcile_govern_poke(struct scheduler_link *link);
/* Asks the scheduler when it is due; true when it did something. */
bool reconcile_govern(struct reconcile *r, struct scheduler_link *link, int64_t now);
void reconcile_govern_take(struct reconcile *r, struct rcall *call);
/* 0: when the answer comes. */
int64_t reconcile_govern_due(const struct scheduler_link *link, int64_t now);

#endif
