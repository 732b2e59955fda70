/* What is done to the nodes of whole groups through the AWS API: UpdateClusterSoftware, StartClusterHealthCheck. */
#include "api/aws/operation.h"
#include "api/aws/software_input.h"
#include "server/service/cluster/cluster.h"
#include "server/service/node/check.h"

int aws_update_cluster_software(struct aws_call *call, json_t **ret_output)
{
    char ref[AWS_CLUSTER_REF_MAX];
    struct problem problem;
    struct cluster cluster;
    AUTO(software_input) struct software_input input = {.group_count = 0};

    int status = aws_cluster_ref(call, ref);
    if (status < 0)
        return status;
    if (software_input_read(call->input, &input, &problem) < 0 ||
        service_cluster_update_software(call->service, &call->actor, ref, &input.how, input.groups, input.group_count,
                                        &cluster, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    *ret_output = json_object();
    aws_put_cluster_arn(call, *ret_output, &cluster);
    return 0;
}

int aws_start_cluster_health_check(struct aws_call *call, json_t **ret_output)
{
    char ref[AWS_CLUSTER_REF_MAX];
    struct problem problem;
    const struct service_check_how how = {.profile = DEEP_PROFILE_DEEP, .urgency = URGENCY_AFTER_JOBS};
    struct service_check_result result;
    AUTO(check_input) struct check_input input = {.count = 0};

    int status = aws_cluster_ref(call, ref);
    if (status < 0)
        return status;
    check_input_read(json_object_get(call->input, "DeepHealthCheckConfigurations"), &input);
    status =
        service_cluster_check(call->service, &call->actor, ref, input.requests, input.count, &how, &result, &problem);
    if (status == 0) {
        *ret_output = json_object();
        aws_put_cluster_arn(call, *ret_output, &result.cluster);
    }
    service_check_result_free(&result);
    return status < 0 ? aws_refuse_problem(call, &problem) : 0;
}
