/* HyperPod's words for what schedules a cluster: the one place of this API that knows which of our kinds is which of its own. */
#ifndef HOLDFAST_API_AWS_ORCHESTRATOR_H
#define HOLDFAST_API_AWS_ORCHESTRATOR_H

#include "base/json.h"
#include "server/service/cluster/cluster.h"

/* What a request for a cluster comes to. names_slurm: its Orchestrator is Slurm; else there is none, and the cluster gets the kind of the
 * first scheduler that this hpd drives. A kind that is not driven is refused by the use case. */
enum orchestrator aws_orchestrator(const struct service *s, bool names_slurm);
/* Orchestrator.Eks: the scheduler that hpd's configuration has under this ARN. INVALID with a problem: there is none. */
int aws_orchestrator_of_eks(const struct service *s, const char *arn, enum orchestrator *ret_orchestrator,
                            const char **ret_scheduler, struct problem *ret_problem);
/* Whether the cluster's scheduler is the one of this ARN. */
bool aws_orchestrator_is_eks(const struct service *s, const struct cluster *cluster, const char *arn);
/* Whether Orchestrator.Slurm and a group's SlurmConfig may be said of such a cluster. */
bool aws_orchestrator_is_slurm(enum orchestrator orchestrator);
/* The first scheduler of this kind in hpd's configuration, as a cluster of HyperPod's has no name for it; "": there is none. */
const char *aws_orchestrator_scheduler(const struct service *s, enum orchestrator orchestrator);
/* Orchestrator into a document, which may have the parts of it that the cluster's spec keeps. */
void aws_orchestrator_put(json_t *json, const struct service *s, const struct cluster *cluster);

#endif
