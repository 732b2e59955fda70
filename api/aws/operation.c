/*
 * The operations of the AWS API: which are carried out, who may call them, and what all of them need.
 */
#include "api/aws/operation.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define MS_PER_SECOND 1000.0

typedef int (*aws_fn)(struct aws_call *call, json_t **ret_output);

static const aws_fn functions[AWS_OPERATION_COUNT] = {
    [AWS_OPERATION_ListClusters] = aws_list_clusters,
    [AWS_OPERATION_CreateCluster] = aws_create_cluster,
    [AWS_OPERATION_UpdateCluster] = aws_update_cluster,
    [AWS_OPERATION_UpdateClusterSoftware] = aws_update_cluster_software,
    [AWS_OPERATION_StartClusterHealthCheck] = aws_start_cluster_health_check,
    [AWS_OPERATION_BatchAddClusterNodes] = aws_batch_add_cluster_nodes,
    [AWS_OPERATION_BatchDeleteClusterNodes] = aws_batch_delete_cluster_nodes,
    [AWS_OPERATION_AttachClusterNodeVolume] = aws_attach_cluster_node_volume,
    [AWS_OPERATION_DetachClusterNodeVolume] = aws_detach_cluster_node_volume,
    [AWS_OPERATION_AttachClusterNodeNetworkInterface] = aws_attach_cluster_node_network_interface,
    [AWS_OPERATION_DescribeCluster] = aws_describe_cluster,
    [AWS_OPERATION_DeleteCluster] = aws_delete_cluster,
    [AWS_OPERATION_ListClusterNodes] = aws_list_cluster_nodes,
    [AWS_OPERATION_DescribeClusterNode] = aws_describe_cluster_node,
    [AWS_OPERATION_BatchRebootClusterNodes] = aws_batch_reboot_cluster_nodes,
    [AWS_OPERATION_BatchReplaceClusterNodes] = aws_batch_replace_cluster_nodes,
    [AWS_OPERATION_ListClusterEvents] = aws_list_cluster_events,
    [AWS_OPERATION_DescribeClusterEvent] = aws_describe_cluster_event,
    [AWS_OPERATION_CreateClusterSchedulerConfig] = aws_create_cluster_scheduler_config,
    [AWS_OPERATION_DescribeClusterSchedulerConfig] = aws_describe_cluster_scheduler_config,
    [AWS_OPERATION_UpdateClusterSchedulerConfig] = aws_update_cluster_scheduler_config,
    [AWS_OPERATION_DeleteClusterSchedulerConfig] = aws_delete_cluster_scheduler_config,
    [AWS_OPERATION_ListClusterSchedulerConfigs] = aws_list_cluster_scheduler_configs,
    [AWS_OPERATION_CreateComputeQuota] = aws_create_compute_quota,
    [AWS_OPERATION_DescribeComputeQuota] = aws_describe_compute_quota,
    [AWS_OPERATION_UpdateComputeQuota] = aws_update_compute_quota,
    [AWS_OPERATION_DeleteComputeQuota] = aws_delete_compute_quota,
    [AWS_OPERATION_ListComputeQuotas] = aws_list_compute_quotas,
    [AWS_OPERATION_AddTags] = aws_add_tags,
    [AWS_OPERATION_ListTags] = aws_list_tags,
    [AWS_OPERATION_DeleteTags] = aws_delete_tags,
};

bool aws_is_carried_out(enum aws_operation_id id)
{
    return functions[id] != NULL;
}

enum role aws_operation_role(const struct aws_operation *operation)
{
    static const struct {
        const char *prefix;
        enum role role;
    } roles[] = {{"List", ROLE_VIEWER},     {"Describe", ROLE_VIEWER}, {"Search", ROLE_VIEWER},
                 {"Batch", ROLE_OPERATOR},  {"Update", ROLE_OPERATOR}, {"Start", ROLE_OPERATOR},
                 {"Attach", ROLE_OPERATOR}, {"Detach", ROLE_OPERATOR}, {"AddTags", ROLE_OPERATOR}};

    for (size_t i = 0; i < ARRAY_LEN(roles); i++)
        if (text_starts_with(operation->name, roles[i].prefix))
            return roles[i].role;
    return ROLE_ADMIN;
}

int aws_refuse(struct aws_call *call, enum aws_error error, const char *fmt, ...)
{
    va_list ap;

    call->error = error;
    va_start(ap, fmt);
    autofree char *message = own_vprintf(fmt, ap);
    va_end(ap);
    text_copy_cut(call->message, sizeof(call->message), message);
    return STATUS_INVALID;
}

int aws_refuse_problem(struct aws_call *call, const struct problem *problem)
{
    return aws_refuse(call, aws_error_of_problem(problem->code, call->operation), "%s", problem->detail);
}

int aws_permit(struct aws_call *call)
{
    const struct aws_operation *operation = call->operation;
    enum role needed = aws_operation_role(operation);

    if (call->actor.role < needed)
        return aws_refuse(call, AWS_ERROR_ACCESS_DENIED, "%s needs the role \"%s\"; \"%s\" has the role \"%s\"",
                          operation->name, role_text(needed), call->actor.name, role_text(call->actor.role));
    return 0;
}

int aws_perform(struct aws_call *call, json_t **ret_output)
{
    return functions[call->operation->id](call, ret_output);
}

void aws_repeat_key(const struct aws_call *call, const char *of, char ret_key[ID_SHA256_HEX_MAX])
{
    ret_key[0] = '\0';
    if (call->invocation[0] == '\0')
        return;
    autofree char *text = own_printf("%s\n%s\n%s\n%s\n%s", call->actor.name, call->operation->name, call->invocation,
                                     aws_text(call, "ClusterName"), of);
    id_sha256_hex(text, strlen(text), ret_key);
}

/* --- the input's members -------------------------------------------------------------------------------------------- */

const char *aws_text(const struct aws_call *call, const char *member)
{
    const char *text = json_string_value(json_object_get(call->input, member));

    return text != NULL ? text : "";
}

int64_t aws_number(const struct aws_call *call, const char *member, int64_t absent)
{
    const json_t *number = json_object_get(call->input, member);

    return json_is_number(number) ? (int64_t)json_number_value(number) : absent;
}

/* The model lets times through up to the year 9999, so this cannot overflow. */
int64_t aws_time_ms(const struct aws_call *call, const char *member)
{
    return (int64_t)(json_number_value(json_object_get(call->input, member)) * MS_PER_SECOND);
}

bool aws_flag(const struct aws_call *call, const char *member)
{
    return json_is_true(json_object_get(call->input, member));
}

bool aws_descending(const struct aws_call *call, bool otherwise)
{
    const char *order = aws_text(call, "SortOrder");

    return order[0] == '\0' ? otherwise : strcmp(order, "Descending") == 0;
}

/* --- names ---------------------------------------------------------------------------------------------------------- */

/* The pattern of a scheduler configuration's ARN has a region of 9 to 16 characters, the only one that says so. Ours may be any
 * text a client is configured with, and is not read when an ARN comes back: where it does not fit, this stands for it. */
#define REGION_MIN 9
#define REGION_MAX 16
#define REGION_THAT_FITS "hp-local-1"

void aws_arn(const struct aws_call *call, const char *kind, const char *uid, char ret_arn[AWS_ARN_MAX])
{
    size_t len = strlen(call->region);
    bool fits = strcmp(kind, "cluster-scheduler-config") != 0 || (len >= REGION_MIN && len <= REGION_MAX);

    snprintf(ret_arn, AWS_ARN_MAX, "arn:aws:sagemaker:%s:" AWS_ACCOUNT ":%s/%s", fits ? call->region : REGION_THAT_FITS,
             kind, uid);
}

void aws_cluster_arn(const struct aws_call *call, const struct cluster *cluster, char ret_arn[AWS_ARN_MAX])
{
    aws_arn(call, "cluster", cluster->uid, ret_arn);
}

void aws_put_cluster_arn(const struct aws_call *call, json_t *json, const struct cluster *cluster)
{
    char arn[AWS_ARN_MAX];

    aws_cluster_arn(call, cluster, arn);
    json_put_text(json, "ClusterArn", arn);
}

/* Whatever region it was read in: a cluster here is seen from every region that a client may be configured with. */
static int cluster_ref(struct aws_call *call, const char *given, char ret_ref[AWS_CLUSTER_REF_MAX])
{
    const char *id = strstr(given, ":" AWS_ACCOUNT ":cluster/");

    if (strchr(given, ':') == NULL) {
        snprintf(ret_ref, AWS_CLUSTER_REF_MAX, "%s", given);
        return 0;
    }
    if (id == NULL)
        return aws_refuse(call, AWS_ERROR_RESOURCE_NOT_FOUND, "%s is of another account; the one here is " AWS_ACCOUNT,
                          given);
    snprintf(ret_ref, AWS_CLUSTER_REF_MAX, SERVICE_CLUSTER_ID_PREFIX "%s", strrchr(id, '/') + 1);
    return 0;
}

int aws_cluster_ref(struct aws_call *call, char ret_ref[AWS_CLUSTER_REF_MAX])
{
    return cluster_ref(call, aws_text(call, "ClusterName"), ret_ref);
}

int aws_cluster_arn_ref(struct aws_call *call, char ret_ref[AWS_CLUSTER_REF_MAX])
{
    return cluster_ref(call, aws_text(call, "ClusterArn"), ret_ref);
}

void aws_instance_ref(const char *node_id, char ret_ref[AWS_NODE_REF_MAX])
{
    snprintf(ret_ref, AWS_NODE_REF_MAX, SERVICE_INSTANCE_PREFIX "%s", node_id);
}
