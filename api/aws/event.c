/*
 * The timeline through the AWS API: ListClusterEvents, DescribeClusterEvent, in every provisioning mode.
 *
 * An EventId is a UUID (version 8, RFC 9562) that holds the event's number, so one can be found again without a second name
 * in the store.
 */
#include "server/service/event/event.h"
#include "api/aws/operation.h"
#include "api/aws/render.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENT_ID_PREFIX "686f6c64-6661-8374-8000-" /* "holdfa", the version, "t" without its own place, the variant */
#define EVENT_ID_MAX (INT64_C(1) << 48)

static const char *const scopes[] = {
    [EVENT_SCOPE_CLUSTER] = "Cluster", [EVENT_SCOPE_GROUP] = "InstanceGroup", [EVENT_SCOPE_NODE] = "Instance"};

static int scope_of(const char *text)
{
    for (int i = 0; i < (int)ARRAY_LEN(scopes); i++)
        if (strcmp(scopes[i], text) == 0)
            return i;
    return -1;
}

static const char *level_of(enum event_level level)
{
    switch (level) {
    case EVENT_LEVEL_WARN:
        return "Warn";
    case EVENT_LEVEL_ERROR:
        return "Error";
    case EVENT_LEVEL_INFO:
        break;
    }
    return "Info";
}

static json_t *render_event(const struct aws_call *call, const struct cluster *cluster, const struct event *event)
{
    json_t *json = json_object();
    char id[ID_UUID_MAX], arn[AWS_ARN_MAX];

    snprintf(id, sizeof id, EVENT_ID_PREFIX "%012" PRIx64, (uint64_t)event->id % EVENT_ID_MAX);
    aws_cluster_arn(call, cluster, arn);
    json_put_text(json, "EventId", id);
    json_put_text(json, "ClusterArn", arn);
    json_put_text(json, "ClusterName", event->cluster);
    json_put_text(json, "InstanceGroupName", event->group);
    json_put_text(json, "InstanceId", event->instance_id);
    json_put_text(json, "ResourceType", scopes[event_scope(event)]);
    json_put(json, "EventTime", aws_time_json(event->at));
    json_put_text(json, "Description", event->message);
    json_put_text(json, "EventLevel", level_of(event->level));
    return json;
}

/* --- list ---------------------------------------------------------------------------------------------------------- */

struct listing {
    struct aws_call *call;
    struct aws_page *page;
    const struct cluster *cluster;
};

static int list_row(const void *row, void *arg)
{
    const struct event *event = row;
    struct listing *listing = arg;
    char key[AWS_TOKEN_KEY_MAX];

    if (!aws_page_wants(listing->page))
        return 0;
    snprintf(key, sizeof key, "%" PRId64, event->id);
    aws_page_add(listing->page, render_event(listing->call, listing->cluster, event), key);
    return 0;
}

int aws_list_cluster_events(struct aws_call *call, json_t **ret_output)
{
    char ref[AWS_CLUSTER_REF_MAX];
    struct problem problem;
    struct cluster cluster;
    AUTO(aws_page) struct aws_page page = {.items = NULL};
    struct db_event_search search = {.group = aws_text(call, "InstanceGroupName"),
                                     .instance_id = aws_text(call, "NodeId"),
                                     .after_at = aws_time_ms(call, "EventTimeAfter"),
                                     .before_at = aws_time_ms(call, "EventTimeBefore"),
                                     .scope = scope_of(aws_text(call, "ResourceType")),
                                     .descending = aws_descending(call, true)};
    int status = aws_cluster_ref(call, ref);
    if (status == 0)
        status = aws_page_begin(call, ref, &page);
    if (status < 0)
        return status;
    if (page.has_cursor && text_parse_i64(page.cursor, 1, INT64_MAX, &search.cursor_id) < 0)
        return aws_refuse(call, AWS_ERROR_VALIDATION, "NextToken is not one that ListClusterEvents gave");
    search.limit = (int)page.limit + 1;
    struct listing listing = {call, &page, &cluster};
    if (service_event_search(call->service, ref, &search, &cluster, list_row, &listing, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    *ret_output = aws_page_output(&page, "Events");
    return 0;
}

/* --- describe ------------------------------------------------------------------------------------------------------ */

/* A union: the one member that fits what the event is about. */
static json_t *render_metadata(const struct event *event)
{
    static const char *const members[] = {
        [EVENT_SCOPE_CLUSTER] = "Cluster", [EVENT_SCOPE_GROUP] = "InstanceGroup", [EVENT_SCOPE_NODE] = "Instance"};
    enum event_scope scope = event_scope(event);
    bool scaling = scope == EVENT_SCOPE_GROUP && event->kind == EVENT_KIND_GROUP_SCALING;
    json_t *metadata = json_object(), *json = json_object();

    if (event->failure[0] != '\0' || event->level == EVENT_LEVEL_ERROR)
        json_put_text(metadata, "FailureMessage", event->failure[0] != '\0' ? event->failure : event->message);
    if (scaling) {
        json_put_i64(metadata, "InstanceCount", event->instance_count);
        json_put_i64(metadata, "TargetCount", event->target_count);
        json_put_i64(metadata, "MinCount", event->min_count);
    }
    if (scope == EVENT_SCOPE_NODE) {
        json_put_text(metadata, "NodeLogicalId", event->node);
        json_put_text(metadata, "LcsExecutionState", event->script_state);
    }
    json_put(json, scaling ? "InstanceGroupScaling" : members[scope], metadata);
    return json;
}

/* 0 when it is none of ours: there is no such event. */
static int64_t event_number(const char *id)
{
    if (!text_starts_with(id, EVENT_ID_PREFIX))
        return 0;
    return strtoll(id + strlen(EVENT_ID_PREFIX), NULL,
                   16); /* twelve hex digits, as the model's pattern has made sure */
}

json_t *aws_event_details(const struct aws_call *call, const struct cluster *cluster, const struct event *event)
{
    json_t *details = render_event(call, cluster, event), *inner = json_object(), *json = json_object();
    json_put(inner, "EventMetadata", render_metadata(event));
    json_put(details, "EventDetails", inner);
    json_put(json, "EventDetails", details);
    return json;
}

int aws_describe_cluster_event(struct aws_call *call, json_t **ret_output)
{
    char ref[AWS_CLUSTER_REF_MAX];
    struct problem problem;
    struct cluster cluster;
    struct event event;

    int status = aws_cluster_ref(call, ref);
    if (status < 0)
        return status;
    int64_t number = event_number(aws_text(call, "EventId"));
    if (service_event_get(call->service, ref, number, &cluster, &event, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    *ret_output = aws_event_details(call, &cluster, &event);
    return 0;
}
