/* Counts the repairs that the policy begins, and those that follow another one. */
#ifndef HOLDFAST_SERVER_RECONCILE_DECIDE_BEGUN_H
#define HOLDFAST_SERVER_RECONCILE_DECIDE_BEGUN_H

#include "server/reconcile/decide/decide.h"

struct turn;

/* Counted after the commit. The item is as it was read before the repair. */
void reconcile_count_begun(struct turn *turn, const struct decide_item *item, enum operation_kind kind);

#endif
