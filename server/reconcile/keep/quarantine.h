/* Nodes that are set apart in the scheduler while they are tested: what the loop knows of reconcile/keep/quarantine.c. */
#ifndef HOLDFAST_SERVER_RECONCILE_QUARANTINE_H
#define HOLDFAST_SERVER_RECONCILE_QUARANTINE_H

#include "server/reconcile/private.h"

struct quarantine_loop *reconcile_quarantine_new(void);
void reconcile_quarantine_free(struct quarantine_loop *loop);
/* Somebody is to be set apart, or given back. */
void reconcile_quarantine_poke(struct scheduler_link *link);
/* Asks the scheduler when it is due; true when it did something. */
bool reconcile_quarantine(struct reconcile *r, struct scheduler_link *link, int64_t now);
void reconcile_quarantine_take(struct reconcile *r, struct rcall *call);
/* 0: when the answer comes, or when somebody is to be. */
int64_t reconcile_quarantine_due(const struct scheduler_link *link, int64_t now);

#endif
