/* Incidents of many nodes: what vanishes together, or loses its links or power together. */
#ifndef HOLDFAST_SERVER_RECONCILE_DECIDE_INCIDENT_H
#define HOLDFAST_SERVER_RECONCILE_DECIDE_INCIDENT_H

#include <stdbool.h>
#include <stdint.h>

struct policy_incident;
struct policy_outage_signal;
struct reconcile;
struct rgroup;
struct rnode;

/* The newest of its verdicts that may be an outage signal of many nodes; at 0: there is none. */
void reconcile_node_signal(struct reconcile *r, struct rnode *node, const struct policy_outage_signal *signal);
/* Looks at all outage signals, when there is a reason to. */
int reconcile_incidents(struct reconcile *r, int64_t now); /* else nothing may be decided by them */
bool reconcile_incidents_due(const struct reconcile *r, int64_t now);
const struct policy_incident *reconcile_incident_of(const struct rnode *node);
/* That go on, have nodes of the group and began since then. */
int64_t reconcile_incidents_count(const struct reconcile *r, const struct rgroup *group, int64_t since);

#endif
