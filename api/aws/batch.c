/*
 * BatchRebootClusterNodes, BatchReplaceClusterNodes and BatchDeleteClusterNodes: nodes by id and by logical id, each an
 * operation of its own, each with its own answer. Like their model they do not wait for jobs: who wants that uses the
 * REST API.
 *
 * SDKs repeat a request whose answer was lost, under the same invocation id. Such a repeat answers the operations that the
 * first try started, instead of calling the nodes busy.
 */
#include "api/aws/operation.h"
#include "base/id.h"
#include "base/own.h"
#include "base/status.h"
#include "server/service/access/access.h"
#include "server/service/cluster/cluster.h"
#include "server/service/node/node.h"

#include <stdio.h>
#include <string.h>

static const char *error_code(enum problem_code code)
{
    switch (code) {
    case PROBLEM_NOT_FOUND:
        return "InstanceIdNotFound";
    case PROBLEM_OPERATION_ACTIVE:
        return "InstanceIdInUse";
    case PROBLEM_CONFLICT:
    case PROBLEM_KEY_REUSED:
        return "InvalidInstanceStatus";
    default:
        return "InternalServerError";
    }
}

struct batch {
    struct aws_call *call;
    const char *cluster;
    enum operation_kind kind;
};

static int operate(const struct batch *batch, const char *node, struct problem *ret_problem)
{
    char key[ID_SHA256_HEX_MAX];
    struct operation operation;

    aws_repeat_key(batch->call, node, key);
    service_audit_about(batch->cluster, node);
    return service_node_operate(batch->call->service, &batch->call->actor, batch->cluster, node, batch->kind,
                                URGENCY_NOW, "", key, &operation, ret_problem);
}

/* member is the input's list, and id what one of its items is called among the failed. */
static void each(const struct batch *batch, const char *member, const char *id, json_t *successful, json_t *failed)
{
    const json_t *list = json_object_get(batch->call->input, member);
    bool by_instance = strcmp(id, "NodeId") == 0;
    size_t i;
    json_t *item;

    json_array_foreach(list, i, item)
    {
        const char *name = json_string_value(item);
        char ref[AWS_NODE_REF_MAX];
        struct problem problem = {.detail = ""};
        aws_instance_ref(name, ref);
        if (strlen(name) >= NODE_NAME_MAX_BYTES) { /* longer than any name here */
            problem.code = PROBLEM_NOT_FOUND;
            snprintf(problem.detail, sizeof problem.detail, "There is no node with a name that long.");
        } else if (operate(batch, by_instance ? ref : name, &problem) == 0) {
            json_array_append(successful, item);
            continue;
        }
        json_t *error = json_object();
        json_put_text(error, id, name);
        json_put_text(error, "ErrorCode", error_code(problem.code));
        json_put_text(error, "Message", problem.detail);
        json_array_append_new(failed, error);
    }
}

/* Lists that would be empty are left out: the model wants at least one among the successful. */
static void put_list(json_t *json, const char *member, json_t *list)
{
    if (json_array_size(list) > 0)
        json_put(json, member, list);
    else
        json_decref(list);
}

static int ignore(const void *row, void *arg)
{
    (void)row;
    (void)arg;
    return 0;
}

/* A cluster that is not there is the whole call's error, and not that of each node. */
static int exists(struct aws_call *call, const char *cluster)
{
    struct problem problem;
    struct db_node_search search = {.group_contains = "", .limit = 1};

    if (service_node_search(call->service, cluster, &search, NULL, ignore, NULL, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    return 0;
}

static int find_cluster(struct aws_call *call, char ret_ref[AWS_CLUSTER_REF_MAX])
{
    if (json_object_get(call->input, "NodeIds") == NULL && json_object_get(call->input, "NodeLogicalIds") == NULL)
        return aws_refuse(call, AWS_ERROR_VALIDATION, "At least one of NodeIds and NodeLogicalIds must be given");
    int status = aws_cluster_ref(call, ret_ref);
    return status < 0 ? status : exists(call, ret_ref);
}

static int batch(struct aws_call *call, enum operation_kind kind, json_t **ret_output)
{
    char cluster[AWS_CLUSTER_REF_MAX];
    const struct batch work = {call, cluster, kind};

    int status = find_cluster(call, cluster);
    if (status < 0)
        return status;
    json_t *done = json_array(), *failed = json_array(), *done_logical = json_array(), *failed_logical = json_array();
    each(&work, "NodeIds", "NodeId", done, failed);
    each(&work, "NodeLogicalIds", "NodeLogicalId", done_logical, failed_logical);
    *ret_output = json_object();
    put_list(*ret_output, "Successful", done);
    put_list(*ret_output, "Failed", failed);
    put_list(*ret_output, "FailedNodeLogicalIds", failed_logical);
    put_list(*ret_output, "SuccessfulNodeLogicalIds", done_logical);
    return 0;
}

int aws_batch_reboot_cluster_nodes(struct aws_call *call, json_t **ret_output)
{
    return batch(call, OPERATION_KIND_REBOOT, ret_output);
}

int aws_batch_replace_cluster_nodes(struct aws_call *call, json_t **ret_output)
{
    return batch(call, OPERATION_KIND_REPLACE, ret_output);
}

/* --- away ----------------------------------------------------------------------------------------------------------- */

#define DELETE_WITH_LOGICAL_MAX 50 /* ids of both kinds, when there are logical ones: HyperPod's bound */

static const char *delete_code(enum problem_code code)
{
    switch (code) {
    case PROBLEM_NOT_FOUND:
        return "NodeIdNotFound";
    case PROBLEM_OPERATION_ACTIVE:
        return "NodeIdInUse";
    default:
        return "InvalidNodeStatus";
    }
}

/* What became of one list: its items stand from first on. */
static void put_removed(json_t *output, const json_t *list, const char *id, const struct service_removal *first)
{
    bool by_instance = strcmp(id, "NodeId") == 0;
    json_t *done = json_array(), *failed = json_array();

    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *item = json_array_get(list, i);
        if (first[i].status == 0)
            json_array_append(done, item);
        else
            json_array_append_new(failed,
                                  json_pack("{s:O, s:s, s:s}", id, item, "Code", delete_code(first[i].problem.code),
                                            "Message", first[i].problem.detail));
    }
    put_list(output, by_instance ? "Failed" : "FailedNodeLogicalIds", failed);
    put_list(output, by_instance ? "Successful" : "SuccessfulNodeLogicalIds", done);
}

/* Safe to repeat as it is: what is on its way out is no error. */
int aws_batch_delete_cluster_nodes(struct aws_call *call, json_t **ret_output)
{
    const json_t *ids = json_object_get(call->input, "NodeIds");
    const json_t *logical = json_object_get(call->input, "NodeLogicalIds");
    size_t id_count = json_array_size(ids), count = id_count + json_array_size(logical);
    autofree struct service_removal *removals = own_calloc(count + 1, sizeof *removals);
    autofree char(*refs)[AWS_NODE_REF_MAX] = own_calloc(id_count + 1, sizeof *refs);
    char cluster[AWS_CLUSTER_REF_MAX];
    struct problem problem;

    int status = find_cluster(call, cluster);
    if (status < 0)
        return status;
    if (id_count < count && count > DELETE_WITH_LOGICAL_MAX)
        return aws_refuse(
            call, AWS_ERROR_VALIDATION,
            "NodeIds and NodeLogicalIds have %zu items together; with NodeLogicalIds at most %d are possible", count,
            DELETE_WITH_LOGICAL_MAX);
    for (size_t i = 0; i < count; i++) {
        if (i < id_count)
            aws_instance_ref(json_string_value(json_array_get(ids, i)), refs[i]);
        removals[i].node = i < id_count ? refs[i] : json_string_value(json_array_get(logical, i - id_count));
    }
    if (service_nodes_remove(call->service, &call->actor, cluster, removals, count, URGENCY_NOW, "", &problem) < 0)
        return aws_refuse_problem(call, &problem);
    *ret_output = json_object();
    put_removed(*ret_output, ids, "NodeId", removals);
    put_removed(*ret_output, logical, "NodeLogicalId", removals + id_count);
    return 0;
}
