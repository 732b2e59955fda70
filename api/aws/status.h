/*
 * What the AWS API calls the states of clusters, groups and nodes. One place, as their clients act on these words.
 *
 *      node          no instance   launching   running          rebooting       lost      terminating   terminated
 *      pending       Pending       Pending     Pending          Pending         Pending   Pending       Pending
 *      starting      Pending       Pending     Pending          Pending         Pending   Pending       Pending
 *      verifying     Pending       Pending     Pending          Pending         Failure   ShuttingDown  Pending
 *      ready         Failure       Pending     Running          SystemUpdating  Failure   ShuttingDown  Failure
 *      held          Failure       Pending     Running          SystemUpdating  Failure   ShuttingDown  Failure
 *      repairing     Pending       Pending     SystemUpdating   SystemUpdating  Pending   ShuttingDown  Pending
 *      failed        Failure       Failure     Failure          Failure         Failure   ShuttingDown  Failure
 *      deleting      ShuttingDown in every case
 *      deleted       NotFound in every case
 *
 * A held node is Running, as HyperPod's own faulty nodes are that nothing is done to: the machine runs, and Message says
 * why it gets no work. While deep health checks are at work on a node, also on a new machine, it is DeepHealthCheckInProgress,
 * while a software update is SystemUpdating, whatever the table says, but for nodes that are failed, deleting or deleted.
 *
 * Clusters and groups have HyperPod's states under our names (model/cluster_state.h); a group in service is Degraded while
 * one of its nodes has failed or is unhealthy.
 */
#ifndef HOLDFAST_API_AWS_STATUS_H
#define HOLDFAST_API_AWS_STATUS_H

#include "server/service/cluster/cluster.h"

const char *aws_cluster_status(enum cluster_state state);
const char *aws_group_status(const struct instance_group *group, const struct cluster_counts *counts);
const char *aws_instance_status(const struct db_node_row *row);
/* Why it is not simply running; "" when it is. */
const char *aws_instance_message(const struct node *node);

#endif
