/*
 * Prometheus's HTTP service discovery: each node with an instance is a target. What a person gives as the port is whose exporter it is:
 * hp-agent's own metrics, or an exporter of the site. The state is a __meta label: a label of the series that changes would begin a new
 * series with each repair.
 */
#include "api/call.h"
#include "api/render.h"
#include "api/v1/v1.h"
#include "server/service/node/node.h"

#include <stdio.h>
#include <string.h>

#define AGENT_PORT 9101 /* of hp-agent's --metrics in all examples */

struct targets {
    int64_t port;
    json_t *groups;
};

static int target_row(const void *row, void *arg)
{
    const struct db_node_row *node = row;
    struct targets *targets = arg;
    const char *host = node->instance.address;
    if (node->instance.id == 0)
        return 0;
    if (host[0] == '\0') /* its agent told none: the site's DNS knows the name, or nobody does */
        host = node->node.name;
    bool v6 = strchr(host, ':') != NULL;
    autofree char *target = own_printf("%s%s%s:%lld", v6 ? "[" : "", host, v6 ? "]" : "", (long long)targets->port);
    json_t *labels = json_object(), *list = json_array(), *group = json_object();
    json_put_text(labels, "cluster", node->cluster);
    json_put_text(labels, "group", node->group);
    json_put_text(labels, "node", node->node.name);
    json_put_text(labels, "__meta_holdfast_state", node_state_text(node->node.state));
    json_put_text(labels, "__meta_holdfast_health", health_text(node->node.health));
    json_put_text(labels, "__meta_holdfast_instance_id", node->instance.instance_id);
    json_put_text(labels, "__meta_holdfast_instance_type", node->instance_type);
    json_array_append_new(list, json_string(target));
    json_put(group, "targets", list);
    json_put(group, "labels", labels);
    json_array_append_new(targets->groups, group);
    return 0;
}

void api_discovery_list_prometheus_targets(struct api_call *call)
{
    struct problem problem;
    char cluster[NAME_MAX_BYTES] = "";
    struct targets targets = {.port = AGENT_PORT};
    const struct api_query query[] = {
        {.name = "cluster",
         .type = API_QUERY_TEXT,
         .target = cluster,
         .size = sizeof cluster,
         .rule = "a cluster's name"},
        {.name = "port", .type = API_QUERY_I64, .target = &targets.port, .min = 1, .max = UINT16_MAX},
    };
    if (api_query(call, query, ARRAY_LEN(query)) != 0)
        return;
    targets.groups = json_array();
    if (service_node_list(call->service, cluster[0] != '\0' ? cluster : NULL, NULL, -1, -1, NULL, 0, target_row,
                          &targets, &problem) != 0) {
        json_decref(targets.groups);
        api_problem(call, &problem);
        return;
    }
    api_reply_json(call, 200, targets.groups);
}
