/* What weak findings the nodes of a group have: many nodes with the same one are one case of the group, also when each is decided on by itself. */
#ifndef HOLDFAST_SERVER_RECONCILE_DECIDE_ALIKE_H
#define HOLDFAST_SERVER_RECONCILE_DECIDE_ALIKE_H

#include "policy/policy.h"

struct decide_item;
struct reconcile;
struct rgroup;

/* Those of the nodes that are not decided on now. Caller frees. */
struct policy_alike *reconcile_alike_elsewhere(struct reconcile *r, struct rgroup *group, size_t *ret_count);
/* What the plan says of the nodes that were. */
void reconcile_alike_take(struct rgroup *group, const struct decide_item *items, size_t count,
                          const struct policy_plan *plan);

/* What many share is known now: those that were left to a person for it before are looked at again. */
void reconcile_alike_tell(struct reconcile *r, const struct rgroup *group, const struct policy_plan *plan);

#endif
