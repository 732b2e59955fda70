/* The operation of a change of a whole cluster. */
#ifndef HOLDFAST_SERVER_RECONCILE_CLUSTER_CHANGE_H
#define HOLDFAST_SERVER_RECONCILE_CLUSTER_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

struct operation;
struct provision;
struct rcluster;
struct turn;

/* How far the operations of the cluster's changes are by the plan; true when something of it is to be written. */
bool reconcile_changes_plan(struct provision *p, int64_t now);
/* Inside the transaction, and after it. */
int reconcile_changes_write(struct turn *turn);
void reconcile_changes_done(const struct turn *turn);

#endif
