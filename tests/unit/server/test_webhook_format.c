/*
 * What each service is sent, in the shape that it publishes: PagerDuty Events API v2, Opsgenie Alert API, Alertmanager API v2 (postableAlert),
 * Slack's Block Kit, CloudEvents 1.0; and that what opened an alert is resolved under the same key.
 */
#include "base/own.h"
#include "base/text.h"
#include "server/webhook/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>
#include <string.h>

static struct webhook webhook;
static struct service_webhook_item item;

static struct event *event_of(enum webhook_format format, enum event_kind kind, enum event_level level)
{
    memset(&item, 0, sizeof(item));
    webhook_default(&webhook);
    webhook.format = format;
    text_copy(webhook.path, sizeof(webhook.path), "/v2/enqueue");
    item.event = (struct event){.id = 7, .at = 1795186800123, .kind = kind, .level = level};
    text_copy(item.event.cluster, sizeof(item.event.cluster), "train");
    text_copy(item.event.node, sizeof(item.event.node), "gpu-7");
    text_copy(item.event.message, sizeof(item.event.message), "xid.79 <on> 0000:b9:00 & more");
    return &item.event;
}

/* The body of one of the requests; path and header may be NULL. */
static json_t *made(size_t at, size_t *ret_count, char **ret_path, char **ret_header)
{
    struct webhook_request requests[WEBHOOK_REQUESTS_MAX];
    struct webhook_alert alert;
    auto_json json_t *data = json_pack("{s:{s:i}}", "event", "id", 7);
    webhook_alert_of(&item.event, &alert);
    const struct webhook_facts facts = {.webhook = &webhook,
                                        .item = &item,
                                        .alert = &alert,
                                        .data = data,
                                        .id = "evt_7_1",
                                        .key = "R0UTING",
                                        .console = "https://h/console#/clusters/train"};
    size_t count = webhook_requests_make(&facts, requests);
    assert_true(at < count);
    json_t *json = json_loads(requests[at].body, 0, NULL);
    assert_non_null(json);
    if (ret_count != NULL)
        *ret_count = count;
    if (ret_path != NULL)
        *ret_path = own_strdup(requests[at].path);
    if (ret_header != NULL)
        *ret_header = own_strdup(requests[at].authorization);
    webhook_requests_free(requests, count);
    return json;
}

static const char *text_at(const json_t *json, const char *path)
{
    char part[64];
    while (json != NULL && *path != '\0') {
        size_t len = strcspn(path, ".");
        snprintf(part, sizeof(part), "%.*s", (int)len, path);
        json = part[0] >= '0' && part[0] <= '9' ? json_array_get(json, (size_t)(part[0] - '0'))
                                                : json_object_get(json, part);
        path += len + (path[len] == '.');
    }
    return text_or_empty(json_string_value(json));
}

#define SAYS(json, path, text) assert_string_equal(text_at(json, path), text)

static void test_pagerduty(void **state)
{
    size_t count;
    (void)state;
    event_of(WEBHOOK_FORMAT_PAGERDUTY, EVENT_KIND_DECISION, EVENT_LEVEL_ERROR);
    auto_json json_t *trigger = made(0, &count, NULL, NULL);
    assert_int_equal(count, 1);
    SAYS(trigger, "routing_key", "R0UTING");
    SAYS(trigger, "event_action", "trigger");
    SAYS(trigger, "dedup_key", "holdfast:decision:train:gpu-7");
    SAYS(trigger, "payload.summary", "train gpu-7: xid.79 <on> 0000:b9:00 & more");
    SAYS(trigger, "payload.source", "gpu-7");
    SAYS(trigger, "payload.severity", "error");
    SAYS(trigger, "payload.timestamp", "2026-11-20T15:00:00.123Z");
    SAYS(trigger, "payload.custom_details.kind", "decision");
    SAYS(trigger, "links.0.href", "https://h/console#/clusters/train");
    event_of(WEBHOOK_FORMAT_PAGERDUTY, EVENT_KIND_OPERATION_STARTED, EVENT_LEVEL_INFO);
    auto_json json_t *acknowledge = made(0, NULL, NULL, NULL);
    SAYS(acknowledge, "event_action", "acknowledge");
    SAYS(acknowledge, "dedup_key", "holdfast:decision:train:gpu-7");
    struct event *ready = event_of(WEBHOOK_FORMAT_PAGERDUTY, EVENT_KIND_NODE_STATE, EVENT_LEVEL_INFO);
    text_copy(ready->about.state, sizeof(ready->about.state), "ready");
    auto_json json_t *resolve = made(0, NULL, NULL, NULL);
    SAYS(resolve, "event_action", "resolve");
    SAYS(resolve, "dedup_key", "holdfast:decision:train:gpu-7");
}

/* Nobody is woken by a test for longer than it takes. */
static void test_a_test_is_resolved_again(void **state)
{
    static const enum webhook_format formats[] = {WEBHOOK_FORMAT_PAGERDUTY, WEBHOOK_FORMAT_ALERTMANAGER,
                                                  WEBHOOK_FORMAT_OPSGENIE};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        size_t count;
        event_of(formats[i], EVENT_KIND_WEBHOOK_TEST, EVENT_LEVEL_INFO);
        auto_json json_t *first = made(0, &count, NULL, NULL);
        assert_int_equal(count, 2);
    }
    event_of(WEBHOOK_FORMAT_PAGERDUTY, EVENT_KIND_WEBHOOK_TEST, EVENT_LEVEL_INFO);
    auto_json json_t *trigger = made(0, NULL, NULL, NULL), *resolve = made(1, NULL, NULL, NULL);
    SAYS(trigger, "event_action", "trigger");
    SAYS(resolve, "event_action", "resolve");
    assert_string_equal(text_at(trigger, "dedup_key"), text_at(resolve, "dedup_key"));
}

static void test_alertmanager(void **state)
{
    (void)state;
    struct event *opened = event_of(WEBHOOK_FORMAT_ALERTMANAGER, EVENT_KIND_INCIDENT_OPENED, EVENT_LEVEL_ERROR);
    opened->node[0] = '\0';
    text_copy(opened->about.subject, sizeof(opened->about.subject), "3");
    auto_json json_t *firing = made(0, NULL, NULL, NULL);
    assert_int_equal(json_array_size(firing), 1);
    SAYS(firing, "0.labels.alertname", "Holdfast");
    SAYS(firing, "0.labels.severity", "critical");
    SAYS(firing, "0.labels.key", "holdfast:incident-opened:train:3");
    SAYS(firing, "0.startsAt", "2026-11-20T15:00:00.123Z");
    SAYS(firing, "0.endsAt", "2026-12-20T15:00:00.123Z");
    SAYS(firing, "0.generatorURL", "https://h/console#/clusters/train");
    struct event *ended = event_of(WEBHOOK_FORMAT_ALERTMANAGER, EVENT_KIND_INCIDENT_ENDED, EVENT_LEVEL_INFO);
    ended->node[0] = '\0';
    text_copy(ended->about.subject, sizeof(ended->about.subject), "3");
    auto_json json_t *over = made(0, NULL, NULL, NULL);
    SAYS(over, "0.endsAt", "2026-11-20T15:00:00.123Z");
    assert_true(json_equal(json_object_get(json_array_get(firing, 0), "labels"),
                           json_object_get(json_array_get(over, 0), "labels")));
}

static void test_opsgenie(void **state)
{
    autofree char *path = NULL, *header = NULL, *close = NULL;
    (void)state;
    event_of(WEBHOOK_FORMAT_OPSGENIE, EVENT_KIND_AGENT_SILENT, EVENT_LEVEL_WARN);
    text_copy(webhook.path, sizeof(webhook.path), "/v2/alerts");
    memset(item.event.message, 'x', 300);
    auto_json json_t *alert = made(0, NULL, &path, &header);
    assert_string_equal(path, "/v2/alerts");
    assert_string_equal(header, "Authorization: GenieKey R0UTING");
    assert_true(strlen(text_at(alert, "message")) <= 130);
    SAYS(alert, "alias", "holdfast:decision:train:gpu-7");
    SAYS(alert, "priority", "P3");
    SAYS(alert, "details.node", "gpu-7");
    /* The same alert also ends where another machine took the node's place. */
    struct event *ready = event_of(WEBHOOK_FORMAT_OPSGENIE, EVENT_KIND_NODE_STATE, EVENT_LEVEL_INFO);
    text_copy(ready->about.state, sizeof(ready->about.state), "ready");
    text_copy(webhook.path, sizeof(webhook.path), "/v2/alerts/");
    auto_json json_t *closing = made(0, NULL, &close, NULL);
    assert_string_equal(close, "/v2/alerts/holdfast%3Adecision%3Atrain%3Agpu-7/close?identifierType=alias");
    SAYS(closing, "source", "Holdfast");
}

static void test_slack(void **state)
{
    (void)state;
    event_of(WEBHOOK_FORMAT_SLACK, EVENT_KIND_APPROVAL, EVENT_LEVEL_WARN);
    text_copy(item.approval_url, sizeof(item.approval_url), "https://h/a?b");
    auto_json json_t *json = made(0, NULL, NULL, NULL);
    SAYS(json, "text", ":large_yellow_circle: train gpu-7: xid.79 &lt;on&gt; 0000:b9:00 &amp; more");
    SAYS(json, "blocks.0.type", "section");
    SAYS(json, "blocks.0.text.type", "mrkdwn");
    SAYS(json, "blocks.1.elements.0.text", "approval, warn");
    SAYS(json, "blocks.2.type", "actions");
    SAYS(json, "blocks.2.elements.0.url", "https://h/a?b");
    SAYS(json, "blocks.2.elements.1.text.text", "Open the console");
}

static void test_cloudevents(void **state)
{
    struct webhook_request requests[WEBHOOK_REQUESTS_MAX];
    struct webhook_alert alert;
    (void)state;
    event_of(WEBHOOK_FORMAT_CLOUDEVENTS, EVENT_KIND_DECISION, EVENT_LEVEL_ERROR);
    webhook_alert_of(&item.event, &alert);
    auto_json json_t *hyperpod =
        json_pack("{s:s,s:{s:s}}", "detail-type", "SageMaker HyperPod Cluster Node Health Event", "detail",
                  "ClusterName", "train");
    auto_json json_t *data = json_object();
    struct webhook_facts facts = {.webhook = &webhook,
                                  .item = &item,
                                  .alert = &alert,
                                  .data = data,
                                  .hyperpod = hyperpod,
                                  .id = "evt_7_1",
                                  .key = "",
                                  .console = ""};
    assert_int_equal(webhook_requests_make(&facts, requests), 1);
    assert_string_equal(requests[0].content_type, "application/cloudevents+json");
    auto_json json_t *json = json_loads(requests[0].body, 0, NULL);
    webhook_requests_free(requests, 1);
    SAYS(json, "specversion", "1.0");
    SAYS(json, "id", "evt_7_1");
    SAYS(json, "source", "/holdfast/train");
    SAYS(json, "type", "SageMaker HyperPod Cluster Node Health Event");
    SAYS(json, "time", "2026-11-20T15:00:00.123Z");
    SAYS(json, "subject", "gpu-7");
    SAYS(json, "data.ClusterName", "train");
    auto_json json_t *own = made(0, NULL, NULL, NULL);
    SAYS(own, "type", "holdfast.decision");
}

/* What is over is sent where what began it is, whatever its level; what opens nothing pages nobody. */
static void test_what_services_with_alerts_are_told(void **state)
{
    (void)state;
    struct event *event = event_of(WEBHOOK_FORMAT_PAGERDUTY, EVENT_KIND_BREAKER_CLOSED, EVENT_LEVEL_INFO);
    webhook.min_level = EVENT_LEVEL_ERROR;
    memset(webhook.kinds, 0, sizeof(webhook.kinds));
    assert_false(webhook_wants(&webhook, event));
    webhook.kinds[EVENT_KIND_BREAKER_OPENED] = true;
    assert_true(webhook_wants(&webhook, event));
    event->kind = EVENT_KIND_BREAKER_OPENED;
    assert_false(webhook_wants(&webhook, event)); /* below its level */
    event->level = EVENT_LEVEL_ERROR;
    assert_true(webhook_wants(&webhook, event));
    event->kind = EVENT_KIND_JOBS;
    event->level = EVENT_LEVEL_INFO;
    memset(webhook.kinds, 1, sizeof(webhook.kinds));
    webhook.min_level = EVENT_LEVEL_INFO;
    assert_false(webhook_wants(&webhook, event));
    webhook.format = WEBHOOK_FORMAT_SLACK;
    assert_true(webhook_wants(&webhook, event));
}

/* No text of an event makes a request that is no JSON, or an address that is none. */
static void test_hostile_texts(void **state)
{
    (void)state;
    for (int format = WEBHOOK_FORMAT_STANDARD; format <= WEBHOOK_FORMAT_OPSGENIE; format++) {
        struct event *event = event_of((enum webhook_format)format, EVENT_KIND_BREAKER_CLOSED, EVENT_LEVEL_INFO);
        memcpy(event->message, "a\"\\\n\x1b\xff\xe2\x86", 9);
        memcpy(event->node, "../?#\xff", 7);
        autofree char *path = NULL;
        auto_json json_t *json = made(0, NULL, &path, NULL);
        assert_null(strpbrk(path, "# "));
        assert_null(strstr(path, "../"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pagerduty),
        cmocka_unit_test(test_a_test_is_resolved_again),
        cmocka_unit_test(test_alertmanager),
        cmocka_unit_test(test_opsgenie),
        cmocka_unit_test(test_slack),
        cmocka_unit_test(test_cloudevents),
        cmocka_unit_test(test_what_services_with_alerts_are_told),
        cmocka_unit_test(test_hostile_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
