/* How many nodes of a group nobody hears. */
#ifndef HOLDFAST_SERVER_RECONCILE_DECIDE_SILENT_H
#define HOLDFAST_SERVER_RECONCILE_DECIDE_SILENT_H

#include "policy/policy.h"

#include <stdint.h>

struct reconcile;
struct rgroup;

/* Gone for so long that the breaker counts them, beside those of the present snapshot: a dark row of racks counts as a whole. */
int64_t reconcile_count_lost(const struct reconcile *r, const struct rgroup *group, int64_t now);
/* Of which heartbeats are missing now; none while nobody in the group has been silent for long, when nothing is decided by it. */
void reconcile_count_missed(const struct reconcile *r, struct rgroup *group, int64_t now,
                            struct policy_missed *ret_missed);

#endif
