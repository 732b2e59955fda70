/* Agents that are not seen, and those that are again. */
#ifndef HOLDFAST_SERVER_RECONCILE_OBSERVE_AGENTS_H
#define HOLDFAST_SERVER_RECONCILE_OBSERVE_AGENTS_H

#include <stdint.h>

struct reconcile;
struct rgroup;
struct rnode;

/* When a silent node counts as lost, and with it all silent nodes of its group are looked at. */
int64_t reconcile_lost_at(const struct rnode *node);
void reconcile_group_silent(struct reconcile *r, struct rgroup *group);
void reconcile_agent_changed(struct reconcile *r, struct rnode *node);

#endif
