/*
 * BatchAddClusterNodes: more nodes for up to five groups, each group with its own answer, each new slot named at once by the
 * logical id that it keeps. The client token makes a repeat answer what the first try made.
 */
#include "api/aws/cluster_document.h"
#include "api/aws/operation.h"
#include "api/aws/status.h"
#include "base/own.h"
#include "base/status.h"
#include "server/service/cluster/cluster.h"

#include <stdlib.h>
#include <string.h>

static const char *error_code(enum addition_error error)
{
    switch (error) {
    case ADDITION_ERROR_GROUP_NOT_FOUND:
        return "InstanceGroupNotFound";
    case ADDITION_ERROR_ZONES:
        return "IncompatibleAvailabilityZones";
    case ADDITION_ERROR_INSTANCE_TYPES:
        return "IncompatibleInstanceTypes";
    case ADDITION_ERROR_GROUP_STATE:
    case ADDITION_ERROR_NONE:
        break;
    }
    return "InvalidInstanceGroupStatus";
}

/* Points into the input. */
static const char **texts_of(const json_t *item, const char *member, size_t *ret_count)
{
    const json_t *list = json_object_get(item, member);
    const char **texts;

    *ret_count = json_array_size(list);
    texts = own_calloc(*ret_count + 1, sizeof *texts);
    for (size_t i = 0; i < *ret_count; i++)
        texts[i] = json_string_value(json_array_get(list, i));
    return texts;
}

static json_t *render_added(const struct service_added_node *node)
{
    const struct db_node_row row = {.node = node->row, .instance = node->instance};
    json_t *json = json_object();

    json_put_text(json, "NodeLogicalId", node->node);
    json_put_text(json, "InstanceGroupName", node->group);
    json_put_text(json, "Status", node->row.id != 0 ? aws_instance_status(&row) : "NotFound");
    if (node->zone[0] != '\0' && zone_is_the_models(node->zone))
        json_put(json, "AvailabilityZones", json_pack("[s]", node->zone));
    if (node->instance_type[0] != '\0')
        json_put(json, "InstanceTypes", json_pack("[s]", node->instance_type));
    return json;
}

static void put_copy(json_t *json, const char *member, const json_t *from)
{
    json_t *value = json_object_get(from, member);

    if (json_is_array(value))
        json_put(json, member, json_incref(value));
}

static json_t *render_result(const struct aws_call *call, const struct service_addition_result *result)
{
    const json_t *items = json_object_get(call->input, "NodesToAdd");
    json_t *json = json_object(), *done = json_array(), *failed = json_array();

    for (size_t i = 0; i < result->node_count; i++)
        json_array_append_new(done, render_added(&result->nodes[i]));
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        if (result->refused[i].error == ADDITION_ERROR_NONE)
            continue;
        json_t *error = json_pack("{s:O, s:s, s:I}", "InstanceGroupName", json_object_get(item, "InstanceGroupName"),
                                  "ErrorCode", error_code(result->refused[i].error), "FailedCount",
                                  (json_int_t)json_number_value(json_object_get(item, "IncrementTargetCountBy")));
        put_copy(error, "AvailabilityZones", item);
        put_copy(error, "InstanceTypes", item);
        json_put_text(error, "Message", result->refused[i].why);
        json_array_append_new(failed, error);
    }
    json_put(json, "Successful", done);
    json_put(json, "Failed", failed);
    return json;
}

int aws_batch_add_cluster_nodes(struct aws_call *call, json_t **ret_output)
{
    const json_t *items = json_object_get(call->input, "NodesToAdd");
    size_t count = json_array_size(items); /* at most SERVICE_ADDITION_GROUPS_MAX: the model's limit as well */
    struct service_addition additions[SERVICE_ADDITION_GROUPS_MAX] = {{.count = 0}};
    struct service_addition_result result;
    char ref[AWS_CLUSTER_REF_MAX];
    struct problem problem;

    int status = aws_cluster_ref(call, ref);
    if (status < 0)
        return status;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(items, i);
        struct service_addition *addition = &additions[i];
        text_copy_cut(addition->group, sizeof addition->group,
                      json_string_value(json_object_get(item, "InstanceGroupName")));
        addition->count = (int64_t)json_number_value(json_object_get(item, "IncrementTargetCountBy"));
        addition->zones = texts_of(item, "AvailabilityZones", &addition->zone_count);
        addition->instance_types = texts_of(item, "InstanceTypes", &addition->type_count);
    }
    status = service_nodes_add(call->service, &call->actor, ref, aws_text(call, "ClientToken"), additions, count,
                               &result, &problem);
    for (size_t i = 0; i < count; i++) {
        free((void *)(uintptr_t)additions[i].zones);
        free((void *)(uintptr_t)additions[i].instance_types);
    }
    if (status < 0)
        return aws_refuse_problem(call, &problem);
    *ret_output = render_result(call, &result);
    service_addition_result_free(&result);
    return 0;
}
