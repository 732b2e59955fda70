/*
 * provisioning_parameters.json, HyperPod's older way to say what the groups of a cluster are to Slurm: a file beside the lifecycle
 * scripts of the controller group. provisioning_file.c reads its text, and is pure; provisioning.c finds it and puts what it says
 * into the groups' specs, where it counts where nothing is asked for.
 */
#ifndef HOLDFAST_SERVER_SERVICE_PROVISIONING_H
#define HOLDFAST_SERVER_SERVICE_PROVISIONING_H

#include "server/service/cluster/cluster.h"
#include "server/service/service.h"

#define PROVISIONING_FILE "provisioning_parameters.json"
#define PROVISIONING_BYTES_MAX 65536
#define PROVISIONING_WORKERS_MAX 100 /* as many groups as a cluster may have */
#define PROVISIONING_ERROR_MAX 384
#define PROVISIONING_IGNORED_MAX 384

struct provisioning_worker {
    char group[NAME_MAX_BYTES], partition[NAME_MAX_BYTES];
};
struct provisioning_file {
    char controller[NAME_MAX_BYTES], login[NAME_MAX_BYTES]; /* groups; login "": none */
    struct provisioning_worker workers[PROVISIONING_WORKERS_MAX];
    size_t count;
    char ignored[PROVISIONING_IGNORED_MAX]; /* members without effect here, "fsx_dns_name, fsx_mountname"; "": none */
};

/* INVALID or TOO_LARGE, and a sentence that names the line or the member. */
int provisioning_file_parse(const char *data, size_t len, struct provisioning_file *ret_file,
                            char ret_error[PROVISIONING_ERROR_MAX]);

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
