/*
 * AttachClusterNodeVolume, DetachClusterNodeVolume, AttachClusterNodeNetworkInterface. No provider that this server has can do
 * any of them, so they are refused, with the provider's name, once it is clear that there is such a node.
 */
#include "api/aws/operation.h"
#include "base/status.h"
#include "server/service/node/node.h"

static int refuse_for_node(struct aws_call *call, const char *cluster, const char *what)
{
    char ref[AWS_NODE_REF_MAX];
    const char *node_id = aws_text(call, "NodeId");
    struct problem problem;
    struct service_node_view view;

    aws_instance_ref(node_id, ref);
    if (service_node_describe(call->service, cluster, ref, &view, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    return aws_refuse(call, AWS_ERROR_VALIDATION,
                      "%s is of the group \"%s\", whose instances come from the provider \"%s\", and that cannot %s: "
                      "nothing was done",
                      node_id, view.row.group, view.row.provider, what);
}

static int refuse_volume(struct aws_call *call, const char *what)
{
    char cluster[AWS_CLUSTER_REF_MAX];
    int status = aws_cluster_arn_ref(call, cluster);

    return status < 0 ? status : refuse_for_node(call, cluster, what);
}

int aws_attach_cluster_node_volume(struct aws_call *call, json_t **ret_output)
{
    (void)ret_output;
    return refuse_volume(call, "attach volumes");
}

int aws_detach_cluster_node_volume(struct aws_call *call, json_t **ret_output)
{
    (void)ret_output;
    return refuse_volume(call, "detach volumes");
}

int aws_attach_cluster_node_network_interface(struct aws_call *call, json_t **ret_output)
{
    char cluster[AWS_CLUSTER_REF_MAX];
    int status = aws_cluster_ref(call, cluster);

    (void)ret_output;
    return status < 0 ? status : refuse_for_node(call, cluster, "attach network interfaces");
}
