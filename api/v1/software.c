/* Another image for the nodes of whole groups, batch by batch. The body is the model's. */
#include "api/aws/model.h"
#include "api/aws/software_input.h"
#include "api/v1/spec.h"
#include "api/v1/v1.h"
#include "server/service/cluster/cluster.h"

/* The body as a document of the model, without the cluster's name, which is in the path. False: it has answered. */
static bool read_body(struct api_call *call, enum aws_shape_id shape, json_t **ret_input)
{
    auto_json json_t *body = NULL;

    if (api_json(call, &body) != 0)
        return false;
    if (!json_is_object(body)) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "The body must be an object.");
        return false;
    }
    return api_model_input(call, shape, body, ret_input);
}

void api_cluster_update_software(struct api_call *call)
{
    struct problem problem;
    struct cluster cluster;
    auto_json json_t *document = NULL;
    AUTO(software_input) struct software_input input = {.group_count = 0};
    if (!read_body(call, AWS_SHAPE_UpdateClusterSoftwareRequest, &document))
        return;
    if (software_input_read(document, &input, &problem) < 0 ||
        service_cluster_update_software(call->service, &call->actor, call->params[0], &input.how, input.groups,
                                        input.group_count, &cluster, &problem) < 0)
        api_problem(call, &problem);
    else
        api_reply_cluster(call, 202, cluster.name, &cluster);
}
