/* May this node be acted on now? (policy/claim.h) */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_CLAIM_H
#define HOLDFAST_SERVER_RECONCILE_BASE_CLAIM_H

#include "policy/claim.h"

struct node;
struct rcluster;
struct reconcile;
struct rnode;
struct turn;

/* As the loop remembers it. */
struct policy_claims reconcile_claims(const struct reconcile *r, const struct rnode *node);
enum policy_claim reconcile_claim(const struct reconcile *r, const struct rnode *node, enum policy_act act);
/* Inside a transaction, as the store says it; row is the node's. NOT_FOUND: the cluster is gone. */
int turn_claim(struct turn *turn, const struct rnode *node, const struct node *row, enum policy_act act,
               enum policy_claim *ret_claim);
int turn_is_paused(struct turn *turn, const struct rcluster *cluster, bool *ret_paused);

#endif
