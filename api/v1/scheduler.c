/*
 * The schedulers that hpd drives: how each is, what it has, and whose that is. Groups are made of it. The paths without a name are the
 * only scheduler's.
 */
#include "server/service/scheduler/scheduler.h"
#include "api/choose.h"
#include "api/page.h"
#include "api/render.h"
#include "api/v1/v1.h"
#include "server/service/scheduler/discovery.h"

#include <string.h>

static json_t *words_json(char *const *words, size_t count)
{
    json_t *json = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(json, json_string(words[i]));
    return json;
}

/* others: what its other words are called. */
static json_t *parts_json(const struct discovered_part *parts, size_t count, const char *others)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct discovered_part *part = &parts[i];
        json_t *json = json_object();
        json_put_text(json, "name", part->name);
        json_put_i64(json, "nodeCount", (int64_t)part->count);
        json_put_text(json, "nodes", part->nodes);
        json_put_i64(json, "unassignedCount", (int64_t)part->unassigned_count);
        json_put_text(json, "unassigned", part->unassigned);
        json_put(json, others, words_json(part->others, part->other_count));
        json_array_append_new(list, json);
    }
    return list;
}

static json_t *view_json(const struct service_scheduler_view *view)
{
    json_t *json = render_scheduler(&view->status), *clusters = json_array();
    if (view->counted) {
        json_put_i64(json, "nodeCount", (int64_t)view->node_count);
        json_put_i64(json, "unassignedCount", (int64_t)view->unassigned_count);
    }
    for (size_t i = 0; i < view->cluster_count; i++)
        json_array_append_new(clusters, json_string(view->clusters[i]));
    json_put(json, "clusters", clusters);
    return json;
}

void api_scheduler_list(struct api_call *call)
{
    struct problem problem;
    struct service_scheduler_view *views = NULL;
    size_t count = 0;
    if (service_scheduler_list(call->service, &views, &count, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *items = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(items, view_json(&views[i]));
    service_scheduler_views_free(views, count);
    api_reply_json(call, 200, json_pack("{s:o}", "items", items));
}

void api_scheduler_describe(struct api_call *call)
{
    struct problem problem;
    struct discovery discovery;
    struct service_scheduler_status status;
    struct service_scheduler *scheduler = NULL;
    int found = service_scheduler_find(call->service, call->params[0], &scheduler, &problem);
    if (found == 0)
        found = service_discovery(call->service, call->params[0], &discovery, &problem);
    if (found != 0 && (scheduler == NULL || problem.code != PROBLEM_UNAVAILABLE)) {
        api_problem(call, &problem);
        return;
    }
    service_scheduler_get(scheduler, &status);
    json_t *json = json_object();
    json_put(json, "scheduler", render_scheduler(&status));
    if (found != 0) { /* how it is, is known all the same */
        json_put_text(json, "nodesUnknown", problem.detail);
        api_reply_json(call, 200, json);
        return;
    }
    json_put_time(json, "seenAt", discovery.at);
    json_put_i64(json, "nodeCount", (int64_t)discovery.node_count);
    json_put_i64(json, "unassignedCount", (int64_t)discovery.unassigned_count);
    json_put(json, "partitions", parts_json(discovery.partitions, discovery.partition_count, "features"));
    json_put(json, "features", parts_json(discovery.features, discovery.feature_count, "partitions"));
    service_discovery_free(&discovery);
    api_reply_json(call, 200, json);
}

/* "a,b" as a list. */
static json_t *list_json(const char *words)
{
    json_t *json = json_array();
    for (const char *at = words; *at != '\0';) {
        size_t len = strcspn(at, ",");
        if (len > 0)
            json_array_append_new(json, json_stringn(at, len));
        at += len + (at[len] == ',');
    }
    return json;
}

static int list_row(const void *row, void *arg)
{
    const struct discovered_node *seen = row;
    struct page *page = arg;
    if (!page_wants(page))
        return 0;
    json_t *json = json_object();
    json_put_text(json, "name", seen->node->name);
    json_put_text(json, "state", seen->node->state);
    json_put(json, "partitions", list_json(seen->node->partitions));
    json_put(json, "features", list_json(seen->node->features));
    json_put_text(json, "gres", seen->node->gres);
    json_put_text(json, "cluster", seen->cluster);
    json_put_text(json, "group", seen->group);
    page_add(page, json, seen->node->name);
    return 0;
}

void api_scheduler_node_list(struct api_call *call)
{
    struct page page;
    struct problem problem;
    struct discovery_filter filter = {.unassigned = false};
    int unassigned = false;
    page_init(&page, 's');
    const struct api_query query[] = {
        PAGE_QUERY(page),
        {.name = "partition",
         .type = API_QUERY_TEXT,
         .target = filter.source.partition,
         .size = sizeof filter.source.partition,
         .rule = "the name of a partition"},
        {.name = "feature",
         .type = API_QUERY_TEXT,
         .target = filter.source.feature,
         .size = sizeof filter.source.feature,
         .rule = "a feature"},
        {.name = "unassigned",
         .type = API_QUERY_CHOICE,
         .target = &unassigned,
         .choose = api_choose_bool,
         .rule = "true or false"},
    };
    if (api_query(call, query, ARRAY_LEN(query)) != 0 || page_begin(call, &page, false) != 0)
        return;
    filter.unassigned = unassigned != 0;
    filter.after_name = page.key;
    filter.limit = page_rows(&page);
    if (service_discovery_nodes(call->service, call->params[0], &filter, list_row, &page, &problem) != 0) {
        page_free(&page);
        api_problem(call, &problem);
        return;
    }
    page_reply(call, &page);
}
