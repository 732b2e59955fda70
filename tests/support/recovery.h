/* A change that tests make often: whether a cluster's faults lead to repairs. */
#ifndef HOLDFAST_TESTS_SUPPORT_RECOVERY_H
#define HOLDFAST_TESTS_SUPPORT_RECOVERY_H

#include "server/service/cluster/cluster.h"
#include "server/service/service.h"

static inline int change_recovery(struct service *s, const struct actor *actor, const char *cluster,
                                  enum node_recovery recovery, int64_t if_revision, struct cluster *ret_cluster,
                                  struct problem *ret_problem)
{
    const struct service_cluster_change change = {
        .has_recovery = true, .recovery = recovery, .if_revision = if_revision};
    return service_cluster_update(s, actor, cluster, &change, ret_cluster, ret_problem);
}

#endif
