/*
 * Nodes through the AWS API: ListClusterNodes, DescribeClusterNode. A slot's name is the NodeLogicalId, which stays when
 * the instance is replaced; the instance's id is the NodeId.
 */
#include "server/service/node/node.h"
#include "api/aws/cluster_document.h"
#include "api/aws/operation.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- list ---------------------------------------------------------------------------------------------------------- */

struct listing {
    struct aws_page *page;
    const struct service *service;
    bool by_name, logical_ids;
};

static int list_row(const void *arg_row, void *arg)
{
    const struct db_node_row *row = arg_row;
    struct listing *listing = arg;
    char key[AWS_TOKEN_KEY_MAX];

    if (!aws_page_wants(listing->page))
        return 0;
    json_t *json = json_object();
    json_put_text(json, "InstanceGroupName", row->group);
    json_put(json, "InstanceId", json_string(row->instance.instance_id)); /* promised, so "" when there is none yet */
    if (listing->logical_ids)
        json_put_text(json, "NodeLogicalId", row->node.name);
    json_put(json, "InstanceType", json_string(node_type_of(row)));
    json_put(json, "LaunchTime", node_launch_time(row));
    json_put(json, "InstanceStatus", node_status_output(row));
    node_put_release(json, row);
    node_put_common(json, listing->service, row);
    snprintf(key, sizeof key, "%" PRId64, row->node.id);
    aws_page_add(listing->page, json, listing->by_name ? row->node.name : key);
    return 0;
}

static int read_cursor(struct db_node_search *search, const struct aws_page *page)
{
    search->has_cursor = page->has_cursor;
    if (!page->has_cursor)
        return 0;
    if (search->by_name)
        return text_copy(search->cursor_name, sizeof search->cursor_name, page->cursor);
    return text_parse_i64(page->cursor, 1, INT64_MAX, &search->cursor_id);
}

/* Creation is that of the slot: a node that is replaced keeps its place in the list and is never seen twice. */
int aws_list_cluster_nodes(struct aws_call *call, json_t **ret_output)
{
    char ref[AWS_CLUSTER_REF_MAX];
    struct problem problem;
    AUTO(aws_page) struct aws_page page = {.items = NULL};
    struct db_node_search search = {.group_contains = aws_text(call, "InstanceGroupNameContains"),
                                    .created_after = aws_time_ms(call, "CreationTimeAfter"),
                                    .created_before = aws_time_ms(call, "CreationTimeBefore"),
                                    .filled_only = !aws_flag(call, "IncludeNodeLogicalIds"),
                                    .by_name = strcmp(aws_text(call, "SortBy"), "NAME") == 0,
                                    .descending = aws_descending(call, false)};
    int status = aws_cluster_ref(call, ref);
    if (status == 0)
        status = aws_page_begin(call, ref, &page);
    if (status < 0)
        return status;
    if (read_cursor(&search, &page) < 0)
        return aws_refuse(call, AWS_ERROR_VALIDATION, "NextToken is not one that ListClusterNodes gave");
    search.limit = (int)page.limit + 1;
    struct listing listing = {&page, call->service, search.by_name, !search.filled_only};
    if (service_node_search(call->service, ref, &search, NULL, list_row, &listing, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    *ret_output = aws_page_output(&page, "ClusterNodeSummaries");
    return 0;
}

/* --- describe ------------------------------------------------------------------------------------------------------ */

int aws_describe_cluster_node(struct aws_call *call, json_t **ret_output)
{
    const char *node_id = aws_text(call, "NodeId"), *logical_id = aws_text(call, "NodeLogicalId");
    char cluster[AWS_CLUSTER_REF_MAX], node[AWS_NODE_REF_MAX];
    struct problem problem;
    struct service_node_view view;
    AUTO(group_spec) struct group_spec spec = {0};
    AUTO(kubernetes_spec) struct kubernetes_spec carried = {0};

    if ((node_id[0] == '\0') == (logical_id[0] == '\0'))
        return aws_refuse(call, AWS_ERROR_VALIDATION, "Exactly one of NodeId and NodeLogicalId must be given");
    int status = aws_cluster_ref(call, cluster);
    if (status < 0)
        return status;
    aws_instance_ref(node_id, node);
    if (service_node_describe(call->service, cluster, node_id[0] != '\0' ? node : logical_id, &view, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    if (service_node_spec(call->service, &view.row.node, &spec, &carried, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    *ret_output = json_object();
    json_put(*ret_output, "NodeDetails", node_output(call->service, &view, &spec, &carried));
    return 0;
}
