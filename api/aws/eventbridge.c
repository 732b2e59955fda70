/*
 * Times are milliseconds here, where the API has seconds (samples of real events: sagemaker-solutions, hyperpod_events).
 */
#include "api/aws/eventbridge.h"

#include "api/aws/cluster_document.h"
#include "api/aws/operation.h"
#include "base/own.h"
#include "base/text.h"
#include "server/service/cluster/cluster.h"
#include "server/service/event/event.h"

#include <stdio.h>

#define REGION "us-east-1" /* nobody asked from any */

static json_t *made(const char *type, json_t *detail)
{
    return json_pack("{s:s,s:o}", "detail-type", type, "detail", detail);
}

/* Seconds with a fraction, anywhere in what the API answers, as milliseconds. */
static void put_ms(json_t *json, const char *member)
{
    const json_t *seconds = json_object_get(json, member);
    if (json_is_number(seconds))
        json_put_i64(json, member, (int64_t)(json_number_value(seconds) * 1000.0 + 0.5));
}

static json_t *what_happened(const struct aws_call *call, const struct cluster *cluster, const struct event *event)
{
    json_t *json = aws_event_details(call, cluster, event);
    put_ms(json_object_get(json, "EventDetails"), "EventTime");
    return made("SageMaker HyperPod Cluster Event", json);
}

/* NULL: HyperPod's two words do not say it. */
static const char *health_of(const struct event *event)
{
    if (event->kind == EVENT_KIND_DECISION)
        return "Unhealthy";
    if (text_equal(event->about.state, health_text(HEALTH_HEALTHY)))
        return "Healthy";
    return text_equal(event->about.state, health_text(HEALTH_UNKNOWN)) ? NULL : "Unhealthy";
}

static const char *repair_of(const struct event *event)
{
    bool decided = event->kind == EVENT_KIND_DECISION;
    if (decided && text_equal(event->about.state, action_text(ACTION_REBOOT)))
        return "Reboot";
    return decided && text_equal(event->about.state, action_text(ACTION_REPLACE)) ? "Replace" : "None";
}

static json_t *node_health(const struct aws_call *call, const struct cluster *cluster, const struct event *event)
{
    json_t *json = json_object(), *summary = json_object();
    json_put_text(summary, "HealthStatus", health_of(event));
    json_put_text(summary, "HealthStatusReason", event->message);
    json_put_text(summary, "RepairAction", repair_of(event));
    json_put_text(summary, "Recommendation",
                  text_equal(repair_of(event), "None")
                      ? "hpctl node explain says what is done, and why."
                      : "Holdfast repairs the node. Wait until it is back in service.");
    json_put_text(json, "ClusterName", event->cluster);
    aws_put_cluster_arn(call, json, cluster);
    json_put_text(json, "InstanceId", event->instance_id);
    json_put(json, "HealthSummary", summary);
    json_put_i64(json, "EventTime", event->at);
    json_put(json, "Tags", json_object());
    return made("SageMaker HyperPod Cluster Node Health Event", json);
}

/* NULL: the cluster is gone meanwhile. */
static json_t *cluster_state(const struct aws_call *call, const struct event *event)
{
    struct problem problem;
    struct service_cluster_view *view = own_calloc(1, sizeof(*view));
    json_t *json = NULL;
    if (service_cluster_describe(call->service, event->cluster, view, &problem) == 0) {
        json_t *detail = cluster_output(call->service, view);
        aws_put_cluster_arn(call, detail, &view->cluster);
        put_ms(detail, "CreationTime");
        json = made("SageMaker HyperPod Cluster State Change", detail);
        service_cluster_view_free(view);
    }
    free(view);
    return json;
}

json_t *aws_eventbridge(struct service *service, const struct event *event)
{
    struct problem problem;
    struct aws_call call = {.service = service, .region = REGION};
    autofree struct cluster *cluster = own_calloc(1, sizeof(*cluster));
    autofree struct event *stored = own_calloc(1, sizeof(*stored));
    if (event->cluster[0] == '\0' ||
        service_event_get(service, event->cluster, event->id, cluster, stored, &problem) < 0)
        return NULL;
    bool of_node = event->node[0] != '\0';
    if (of_node && (event->kind == EVENT_KIND_DECISION || event->kind == EVENT_KIND_NODE_HEALTH) &&
        health_of(event) != NULL)
        return node_health(&call, cluster, event);
    if (event->kind == EVENT_KIND_CLUSTER_CREATED || event->kind == EVENT_KIND_CLUSTER_UPDATED ||
        event->kind == EVENT_KIND_GROUP_STATE)
        return cluster_state(&call, event);
    return what_happened(&call, cluster, event);
}
