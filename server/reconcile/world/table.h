/* What comes into the loop's tables and goes, each with what is counted of it. */
#ifndef HOLDFAST_SERVER_RECONCILE_WORLD_TABLE_H
#define HOLDFAST_SERVER_RECONCILE_WORLD_TABLE_H

#include "model/model.h"
#include "policy/policy.h"

struct rcluster;
struct reconcile;
struct rgroup;
struct rnode;
struct rop;

struct rnode *reconcile_node_add(struct reconcile *r, struct rgroup *group, const struct node *row);
void reconcile_node_set(struct reconcile *r, struct rnode *node, enum node_state state, enum health health);
void reconcile_node_remove(struct reconcile *r, struct rnode *node);
/* Of a node. fault: what it is for, of a repair (policy_repair_class); created_at: when it was stored. */
struct rop *reconcile_operation_add(struct reconcile *r, struct rnode *node, int64_t id, enum operation_kind kind,
                                    enum fault_class fault, int64_t created_at);
void reconcile_operation_drop(struct reconcile *r, struct rnode *node);
void reconcile_group_remove(struct reconcile *r, struct rgroup *group);
void reconcile_cluster_remove(struct reconcile *r, struct rcluster *cluster);
/* Clusters, groups, nodes and their operations go. */
void reconcile_table_free(struct reconcile *r);

#endif
