/* Where nodes are: the domains of failures that they share with others. */
#ifndef HOLDFAST_SERVER_RECONCILE_WORLD_TOPOLOGY_H
#define HOLDFAST_SERVER_RECONCILE_WORLD_TOPOLOGY_H

#include "model/incident.h"

struct node;
struct rcall;
struct rcluster;
struct reconcile;
struct rnode;

/* The number of a domain; 0 for none. */
uint32_t reconcile_domain(struct reconcile *r, const struct rcluster *cluster, enum topology_level level,
                          const char *name);
const char *reconcile_domain_name(const struct reconcile *r, uint32_t domain);
/* Where its row says it is. */
void reconcile_node_place(struct reconcile *r, struct rnode *node, const struct node *row);
/* Where the scheduler says nodes are. */
void reconcile_places_take(struct reconcile *r, const struct rcall *call);

#endif
