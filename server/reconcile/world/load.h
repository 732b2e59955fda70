/* The store into memory: all of it, at the start. */
#ifndef HOLDFAST_SERVER_RECONCILE_WORLD_LOAD_H
#define HOLDFAST_SERVER_RECONCILE_WORLD_LOAD_H

struct db_tx;
struct operation;
struct rcluster;
struct reconcile;

/* Rows are struct cluster, instance_group, rollout, db_node_row and operation; arg is the loop. */
int reconcile_load_cluster(const void *row, void *arg);
int reconcile_load_group(const void *row, void *arg);
int reconcile_load_rollout(const void *row, void *arg);
/* A node of a group that is not known is left out. */
int reconcile_load_node(const void *row, void *arg);
int reconcile_load_operation(const void *row, void *arg);
/* Once for each group that is new. */
int reconcile_load_roles(struct reconcile *r, struct db_tx *tx);
/* All clusters and groups; those that are no more go. */
int reconcile_list_clusters(struct reconcile *r, struct db_tx *tx);
/* In one transaction of a reader. */
int reconcile_with_reader(struct reconcile *r, int (*fn)(struct reconcile *r, struct db_tx *tx));
/* The operation of a change of the whole cluster that is in the store. */
void reconcile_change_load(struct rcluster *cluster, const struct operation *row);

#endif
