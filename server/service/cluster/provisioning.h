/*
 * A file beside the lifecycle scripts of the controller group that says what the groups of a cluster are to its scheduler
 * (model/role_file.h): found, and put into the groups' specs, where it counts where nothing is asked for.
 */
#ifndef HOLDFAST_SERVER_SERVICE_PROVISIONING_H
#define HOLDFAST_SERVER_SERVICE_PROVISIONING_H

#include "server/service/cluster/cluster.h"
#include "server/service/service.h"

/* The groups that a request describes, with what the file says in their specs, and what is to be told of it. */
struct provisioned {
    struct service_group_spec
        *groups;              /* as many as the request has; what they point to is the request's, but for specs */
    struct group_spec *specs; /* owned, of the groups */
    size_t count;
    char told[SENTENCE_MAX_BYTES];   /* "": nothing */
    char warned[SENTENCE_MAX_BYTES]; /* what of the file has no effect; "": nothing */
};
struct provisioning_request {
    const char *cluster;             /* that is changed; NULL: a new one */
    enum orchestrator orchestrator;  /* of a new one */
    const struct cluster_spec *spec; /* may be NULL */
    const struct service_group_spec *groups;
    size_t group_count;
    const char *const *groups_to_delete;
    size_t delete_count;
    bool merge, dry_run;
};
/* Reads files of this machine, so it is done before the transaction. INVALID with a problem, which an existing cluster's timeline
 * has, too. */
int provisioning_find(struct service *s, const struct provisioning_request *request,
                      struct provisioned *ret_provisioned, struct problem *problem);
int provisioning_tell(struct db_tx *tx, const struct cluster *cluster, const struct provisioned *provisioned);
void provisioned_free(struct provisioned *provisioned); /* the contents */

static inline void auto_provisioned_cleanup(struct provisioned *provisioned)
{
    provisioned_free(provisioned);
}

#endif
