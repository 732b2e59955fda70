/*
 * Clusters, groups and nodes as documents in the model's spelling: what is asked for, and what is there.
 *
 * What has a column of its own in the store goes into the request's fields; all else goes into the spec of the cluster or of the
 * group (spec.h), and comes back from there. What this server cannot do is refused by name, not kept
 * (cluster_check.c); docs/aws-api.md says for each member which of these it is.
 */
#ifndef HOLDFAST_API_AWS_CLUSTER_DOCUMENT_H
#define HOLDFAST_API_AWS_CLUSTER_DOCUMENT_H

#include "api/aws/model.h"
#include "base/json.h"
#include "base/text.h"
#include "server/service/cluster/cluster.h"
#include "server/service/node/node.h"
#include "server/service/service.h"

/* The input of CreateCluster or UpdateCluster as the use cases take it. Points into the input, which outlives it. */
struct cluster_input {
    struct service_group_spec *groups;
    size_t group_count;
    struct group_spec *specs; /* of the groups */
    struct cluster_spec spec;
    bool names_slurm;    /* as Orchestrator */
    const char *eks_arn; /* of Orchestrator.Eks; NULL: it is not named */
    struct service_tag *tags;
    size_t tag_count;
    const char **groups_to_delete;
    size_t delete_count;
    const char *slurm_group; /* one that has a SlurmConfig; NULL: none has */
    char *notice;            /* what is kept without effect; NULL: nothing */
};
/* input fits the shape of operation's input. INVALID with a problem. */
int cluster_input_read(const struct aws_operation *operation, const json_t *input, struct cluster_input *ret_input,
                       struct problem *ret_problem);
void cluster_input_free(struct cluster_input *input); /* the contents; accepts half-built */
static inline void auto_cluster_input_cleanup(struct cluster_input *input)
{
    cluster_input_free(input);
}

/* Fills the problem and returns INVALID, so that a refusal is one line. */
int input_invalid(struct problem *problem, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Refuses what this server cannot do. */
int cluster_input_refuse(const json_t *input, struct problem *ret_problem);
/* Refuses what the shapes allow and this server cannot do, or what contradicts itself. */
int cluster_input_check(const json_t *input, struct problem *ret_problem);
/* Names of the members that are kept without effect, joined; NULL: none. Caller frees. */
char *cluster_input_notice(const json_t *input);

/* What DescribeCluster answers, but for the ARN, which depends on the caller's region. */
json_t *cluster_output(const struct service *s, const struct service_cluster_view *view);
/* What DescribeClusterNode answers; spec is the group's. */
json_t *node_output(const struct service *s, const struct service_node_view *view, const struct group_spec *spec,
                    const struct kubernetes_spec *carried);
/* The members that a node of a list shares with the one that is described. */
/* What each kind of answer about a node has: when its software was put there, and its name in the DNS. */
void node_put_common(json_t *json, const struct service *s, const struct db_node_row *row);
/* Where the configuration has no dnsDomain. */
#define AWS_DNS_DOMAIN "holdfast.internal"
void node_put_release(json_t *json, const struct db_node_row *row);
json_t *node_status_output(const struct db_node_row *row);
/* What the provider calls its machines when nobody named a type. */
const char *node_type_of(const struct db_node_row *row);
json_t *node_launch_time(const struct db_node_row *row);

/* True of what the model calls an availability zone; the configuration may call zones otherwise. */
bool zone_is_the_models(const char *zone);

#endif
