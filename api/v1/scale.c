/* Nodes that are added to groups and removed from them, one request each. */
#include "api/audit.h"
#include "api/call.h"
#include "api/choose.h"
#include "api/render.h"
#include "api/v1/spec.h"
#include "api/v1/v1.h"
#include "server/service/cluster/cluster.h"

#include <stdio.h>

/* --- more ------------------------------------------------------------------------------------------ */

/* A list of texts, borrowed from json, in an array the caller frees; NULL when it holds something else. */
static const char **read_texts(const json_t *json, size_t *ret_count)
{
    size_t i;
    const json_t *text;
    const char **texts = own_calloc(json_array_size(json) + 1, sizeof *texts);
    json_array_foreach(json, i, text)
    {
        if (!json_is_string(text)) {
            free(texts);
            return NULL;
        }
        texts[i] = json_string_value(text);
    }
    *ret_count = json_array_size(json);
    return texts;
}

static void items_free(struct service_addition *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free((void *)(uintptr_t)items[i].zones);
        free((void *)(uintptr_t)items[i].instance_types);
    }
}

/* False: it has answered. */
static bool read_item(struct api_call *call, json_t *json, size_t at, struct service_addition *item)
{
    char error[JSON_ERROR_MAX];
    json_t *zones = NULL, *types = NULL;
    const struct json_field fields[] = {
        {.name = "group",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = item->group,
         .size = sizeof item->group,
         .min = 1},
        {.name = "count",
         .type = JSON_FIELD_I64,
         .required = true,
         .target = &item->count,
         .min = 1,
         .max = SERVICE_ADDITION_NODES_MAX},
        {.name = "zones", .type = JSON_FIELD_ARRAY, .target = &zones, .min = 1, .max = 16},
        {.name = "instanceTypes", .type = JSON_FIELD_ARRAY, .target = &types, .min = 1, .max = 16},
    };
    if (!json_is_object(json) || json_read(json, fields, ARRAY_LEN(fields), error) != 0) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "nodesToAdd[%zu] breaks a rule: %s.", at,
                           json_is_object(json) ? error : "it must be an object");
        return false;
    }
    item->zones = read_texts(zones, &item->zone_count);
    item->instance_types = read_texts(types, &item->type_count);
    if (item->zones != NULL && item->instance_types != NULL)
        return true;
    api_problem_printf(call, PROBLEM_INVALID_VALUE, "nodesToAdd[%zu]: zones and instanceTypes are lists of texts.", at);
    return false;
}

static json_t *render_added(const struct service_added_node *node)
{
    json_t *json = json_object();
    json_put_text(json, "name", node->node);
    json_put_text(json, "group", node->group);
    json_put_text(json, "zone", node->zone);
    json_put_text(json, "instanceType", node->instance_type);
    json_put_text(json, "state", node->row.id != 0 ? node_state_text(node->row.state) : "deleted");
    json_put_text(json, "instanceId", node->instance.instance_id);
    return json;
}

static json_t *render_result(const struct service_addition *items, size_t count,
                             const struct service_addition_result *result)
{
    json_t *nodes = json_array(), *refused = json_array();
    for (size_t i = 0; i < result->node_count; i++)
        json_array_append_new(nodes, render_added(&result->nodes[i]));
    for (size_t i = 0; i < count; i++)
        if (result->refused[i].error != ADDITION_ERROR_NONE)
            json_array_append_new(refused, json_pack("{s:s, s:s, s:s}", "group", items[i].group, "code",
                                                     addition_error_text(result->refused[i].error), "detail",
                                                     result->refused[i].why));
    return json_pack("{s:o, s:o}", "nodes", nodes, "refused", refused);
}

static void reply_added(struct api_call *call, const struct service_addition *items, size_t count,
                        const struct service_addition_result *result)
{
    char location[96];
    json_t *json = render_result(items, count, result), *operation = api_show_operation(call, result->operation);
    if (operation != NULL)
        json_put(json, "operation", operation);
    snprintf(location, sizeof location, "/v1/operations/%s", result->operation);
    audit_failures(call, json_object_get(json, "refused"));
    api_reply_resource(call, 202, json, operation != NULL ? location : NULL, 0);
}

void api_node_add(struct api_call *call)
{
    struct problem problem;
    char key[KEY_MAX_BYTES];
    struct service_addition items[SERVICE_ADDITION_GROUPS_MAX] = {0};
    struct service_addition_result result;
    json_t *list = NULL;
    auto_json json_t *body = NULL;
    const struct json_field fields[] = {{.name = "nodesToAdd",
                                         .type = JSON_FIELD_ARRAY,
                                         .required = true,
                                         .target = &list,
                                         .min = 1,
                                         .max = SERVICE_ADDITION_GROUPS_MAX}};
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0 || api_idempotency_key(call, key) != 0)
        return;
    size_t count = json_array_size(list), read = 0;
    while (read < count && read_item(call, json_array_get(list, read), read, &items[read]))
        read++;
    if (read == count) {
        if (service_nodes_add(call->service, &call->actor, call->params[0], key, items, count, &result, &problem) < 0) {
            api_problem(call, &problem);
        } else {
            reply_added(call, items, count, &result);
            service_addition_result_free(&result);
        }
    }
    items_free(items, SERVICE_ADDITION_GROUPS_MAX);
}

/* --- less ------------------------------------------------------------------------------------------ */

CHOOSE(urgency)

void api_node_remove(struct api_call *call)
{
    struct problem problem;
    char reason[REASON_MAX_BYTES] = "", location[96];
    int urgency = URGENCY_AFTER_JOBS;
    const struct api_query query[] = {
        {.name = "urgency",
         .type = API_QUERY_CHOICE,
         .target = &urgency,
         .choose = choose_urgency,
         .rule = "after-jobs or now"},
        {.name = "reason", .type = API_QUERY_TEXT, .target = reason, .size = sizeof reason},
    };
    if (api_query(call, query, ARRAY_LEN(query)) != 0)
        return;
    autofree struct operation *operation = own_calloc(1, sizeof *operation);
    if (service_node_remove(call->service, &call->actor, call->params[0], call->params[1], (enum urgency)urgency,
                            reason, operation, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    snprintf(location, sizeof location, "/v1/operations/%s", operation->uid);
    api_reply_resource(call, 202, render_operation(operation, call->params[0], call->params[1]), location, 0);
}
