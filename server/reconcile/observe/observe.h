/* Snapshots of each scheduler's nodes, agents that are not seen, and what is known of a node by both. */
#ifndef HOLDFAST_SERVER_RECONCILE_OBSERVE_OBSERVE_H
#define HOLDFAST_SERVER_RECONCILE_OBSERVE_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

struct rcall;
struct reconcile;
struct rgroup;
struct rnode;
struct scheduler_link;

void reconcile_observe_send(struct reconcile *r, struct scheduler_link *link);
void reconcile_observe_take(struct reconcile *r, struct rcall *call);
void reconcile_observe_soon(struct reconcile *r, struct scheduler_link *link);
void reconcile_sweep(struct reconcile *r);
/* When a silent node counts as lost, and with it all silent nodes of its group are looked at. */
int64_t reconcile_lost_at(const struct rnode *node);
void reconcile_group_silent(struct reconcile *r, struct rgroup *group);
void reconcile_agent_changed(struct reconcile *r, struct rnode *node);
/* The picture is young enough to be believed, and holds the node as it is after our own last change. */
bool reconcile_sees(const struct reconcile *r, const struct rnode *node);
/* It has a picture that is younger than all we did, and the node is not in it. */
bool reconcile_unknown_there(const struct rnode *node);
/* Someone else took it out of scheduling. */
bool reconcile_external_drain(const struct rnode *node);
bool reconcile_reason_is_ours(const struct rnode *node);

#endif
