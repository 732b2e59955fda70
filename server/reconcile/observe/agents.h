/* Agents that are not seen, and those that are again. */
#ifndef HOLDFAST_SERVER_RECONCILE_OBSERVE_AGENTS_H
#define HOLDFAST_SERVER_RECONCILE_OBSERVE_AGENTS_H

#include <stdbool.h>
#include <stdint.h>

struct reconcile;
struct rgroup;
struct rnode;

/* Whether hpd was there to hear agents then, and had been for a while: what it hears first after a pause has happened at any time before. */
bool reconcile_heard_at(const struct reconcile *r, int64_t at);
/* When a silent node counts as lost, and with it all silent nodes of its group are looked at. */
int64_t reconcile_lost_at(const struct rnode *node);
void reconcile_group_silent(struct reconcile *r, struct rgroup *group);
void reconcile_agent_changed(struct reconcile *r, struct rnode *node);

#endif
