/* One maker a format. Texts are cut to what the services take. */
#include "server/webhook/format.h"

#include "base/own.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SUMMARY_MAX 1024                 /* PagerDuty: payload.summary */
#define SLACK_TEXT_MAX 2900              /* Slack: a section's text has 3000 characters at most */
#define OPSGENIE_MESSAGE_MAX 130         /* Opsgenie: message */
#define ALERT_LASTS_MS (30 * MS_PER_DAY) /* Alertmanager ends an alert by itself, unless it is told when */

struct making {
    const struct webhook_facts *facts;
    const struct event *event;
    enum webhook_move move;
};

static const char *level_word(const struct event *event)
{
    return event_level_text(event->level);
}

/* PagerDuty's word, which is good as a label as well. */
static const char *severity(const struct event *event)
{
    if (event->kind == EVENT_KIND_INCIDENT_OPENED)
        return "critical";
    return event->level == EVENT_LEVEL_ERROR ? "error" : event->level == EVENT_LEVEL_WARN ? "warning" : "info";
}

/* "train gpu-7: xid.79 …" Caller frees. */
static char *summary_of(const struct event *event, size_t max)
{
    const char *node = event->node[0] != '\0' ? event->node : event->group;
    autofree char *whole =
        own_printf("%s%s%s%s%s", event->cluster, event->cluster[0] != '\0' && node[0] != '\0' ? " " : "", node,
                   event->cluster[0] != '\0' || node[0] != '\0' ? ": " : "", event->message);
    char *cut = own_calloc(1, max + 1);
    text_copy_cut(cut, max + 1, whole);
    return cut;
}

static json_t *text_json(const char *text)
{
    char clean[SENTENCE_MAX_BYTES + NAME_MAX_BYTES * 3];
    text_copy_clean(clean, sizeof(clean), text, strlen(text));
    return json_string(clean);
}

static void put(json_t *json, const char *name, const char *text)
{
    if (text[0] != '\0')
        json_put(json, name, text_json(text));
}

/* The facts of the event by name, as each service shows them beside its summary. */
static json_t *details_of(const struct making *m)
{
    const struct event *event = m->event;
    const struct approval *approval = &m->facts->item->approval;
    json_t *details = json_object();
    put(details, "kind", event_kind_text(event->kind));
    put(details, "level", level_word(event));
    put(details, "cluster", event->cluster);
    put(details, "group", event->group);
    put(details, "node", event->node);
    put(details, "instanceId", event->instance_id);
    put(details, "operation", event->operation);
    put(details, "subject", event->about.subject);
    put(details, "state", event->about.state);
    put(details, "actor", event->about.actor);
    if (approval->id != 0) {
        put(details, "action", action_text(approval->action));
        put(details, "code", approval->code);
        put(details, "device", approval->device);
    }
    return details;
}

static char *dump(json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    return text != NULL ? text : own_strdup("{}");
}

static void fill(struct webhook_request *request, const char *path, const char *type, json_t *body)
{
    static char json_type[] = "application/json", event_type[] = "application/cloudevents+json";
    *request = (struct webhook_request){
        .path = own_strdup(path), .content_type = type == NULL ? json_type : event_type, .body = dump(body)};
}

/* --- Standard Webhooks ---------------------------------------------------------------------------------------- */

static void make_standard(const struct making *m, struct webhook_request *request)
{
    json_t *json = json_object();
    json_put_text(json, "type", event_kind_text(m->event->kind));
    json_put_time(json, "timestamp", m->event->at);
    json_put(json, "data", json_deep_copy(m->facts->data));
    fill(request, m->facts->webhook->path, NULL, json);
}

/* --- CloudEvents 1.0 ------------------------------------------------------------------------------------------ */

/* Structured mode. type and data are HyperPod's detail-type and detail, where it has such an event. */
static void make_cloudevents(const struct making *m, struct webhook_request *request)
{
    const struct event *event = m->event;
    const json_t *hyperpod = m->facts->hyperpod;
    autofree char *source = own_printf("/holdfast/%s", event->cluster);
    autofree char *own_type = own_printf("holdfast.%s", event_kind_text(event->kind));
    json_t *json = json_object(), *detail = json_object_get(hyperpod, "detail");
    json_put_text(json, "specversion", "1.0");
    json_put_text(json, "id", m->facts->id);
    json_put_text(json, "source", source);
    if (hyperpod != NULL)
        json_put(json, "type", json_incref(json_object_get(hyperpod, "detail-type")));
    else
        json_put_text(json, "type", own_type);
    json_put_time(json, "time", event->at);
    json_put_text(json, "subject", event->node[0] != '\0' ? event->node : event->group);
    json_put_text(json, "datacontenttype", "application/json");
    json_put(json, "data", json_deep_copy(detail != NULL ? detail : m->facts->data));
    fill(request, m->facts->webhook->path, "cloudevents", json);
}

/* --- Slack --------------------------------------------------------------------------------------------------- */

/* Slack's three characters that are not text. */
static char *slack_escape(const char *text)
{
    struct text out = {0};
    for (; *text != '\0'; text++) {
        if (*text == '&')
            text_add(&out, "&amp;");
        else if (*text == '<')
            text_add(&out, "&lt;");
        else if (*text == '>')
            text_add(&out, "&gt;");
        else
            text_add_char(&out, *text);
    }
    return text_take(&out);
}

static json_t *slack_text(const char *type, const char *text)
{
    return json_pack("{s:s,s:o}", "type", type, "text", text_json(text));
}

static json_t *slack_button(const char *words, const char *url)
{
    return json_pack("{s:s,s:o,s:o}", "type", "button", "text", slack_text("plain_text", words), "url", text_json(url));
}

static void make_slack(const struct making *m, struct webhook_request *request)
{
    const struct event *event = m->event;
    const struct service_webhook_item *item = m->facts->item;
    autofree char *summary = summary_of(event, SLACK_TEXT_MAX / 2), *escaped = slack_escape(summary);
    const char *sign = event->level == EVENT_LEVEL_ERROR  ? ":red_circle: "
                       : event->level == EVENT_LEVEL_WARN ? ":large_yellow_circle: "
                                                          : "";
    autofree char *line = own_printf("%s%s", sign, escaped);
    autofree char *context = own_printf("%s, %s", event_kind_text(event->kind), level_word(event));
    json_t *blocks = json_array(), *buttons = json_array();
    json_array_append_new(blocks, json_pack("{s:s,s:o}", "type", "section", "text", slack_text("mrkdwn", line)));
    json_array_append_new(blocks,
                          json_pack("{s:s,s:[o]}", "type", "context", "elements", slack_text("mrkdwn", context)));
    if (item->approval_url[0] != '\0')
        json_array_append_new(buttons, slack_button("Answer", item->approval_url));
    if (m->facts->console[0] != '\0')
        json_array_append_new(buttons, slack_button("Open the console", m->facts->console));
    if (json_array_size(buttons) > 0)
        json_array_append_new(blocks, json_pack("{s:s,s:O}", "type", "actions", "elements", buttons));
    json_decref(buttons);
    fill(request, m->facts->webhook->path, NULL, json_pack("{s:o,s:o}", "text", text_json(line), "blocks", blocks));
}

/* --- PagerDuty ------------------------------------------------------------------------------------------------ */

static void make_pagerduty(const struct making *m, struct webhook_request *request)
{
    static const char *const actions[] = {[WEBHOOK_MOVE_TELL] = "trigger",
                                          [WEBHOOK_MOVE_TRIGGER] = "trigger",
                                          [WEBHOOK_MOVE_ACKNOWLEDGE] = "acknowledge",
                                          [WEBHOOK_MOVE_RESOLVE] = "resolve",
                                          [WEBHOOK_MOVE_TEST] = "trigger"};
    const struct event *event = m->event;
    autofree char *summary = summary_of(event, SUMMARY_MAX);
    json_t *json = json_object(), *payload = json_object(), *links = json_array();
    json_put_text(json, "routing_key", m->facts->key);
    json_put_text(json, "event_action", actions[m->move]);
    json_put_text(json, "dedup_key", m->facts->alert->key);
    put(payload, "summary", summary);
    put(payload, "source", event->node[0] != '\0' ? event->node : event->cluster[0] != '\0' ? event->cluster : "hpd");
    json_put_text(payload, "severity", severity(event));
    json_put_time(payload, "timestamp", event->at);
    put(payload, "component", event->group);
    put(payload, "group", event->cluster);
    json_put_text(payload, "class", event_kind_text(event->kind));
    json_put(payload, "custom_details", details_of(m));
    json_put(json, "payload", payload);
    json_put_text(json, "client", "Holdfast");
    json_put_text(json, "client_url", m->facts->console);
    if (m->facts->console[0] != '\0')
        json_array_append_new(links, json_pack("{s:s,s:s}", "href", m->facts->console, "text", "Console"));
    if (m->facts->item->approval_url[0] != '\0')
        json_array_append_new(links, json_pack("{s:s,s:s}", "href", m->facts->item->approval_url, "text", "Answer"));
    json_put(json, "links", links);
    fill(request, m->facts->webhook->path, NULL, json);
}

/* --- Alertmanager --------------------------------------------------------------------------------------------- */

/* Of the alert, not of an event of it: a label may not change while the alert lasts. */
static const char *alert_severity(enum event_kind opened_by)
{
    switch (opened_by) {
    case EVENT_KIND_INCIDENT_OPENED:
    case EVENT_KIND_GROUP_PROTECTED:
    case EVENT_KIND_SCHEDULER_DOWN:
        return "critical";
    case EVENT_KIND_CLUSTER_PAUSED:
    case EVENT_KIND_WEBHOOK_TEST:
        return "info";
    default:
        return "warning";
    }
}

/* Labels make an alert: they are the same when it is resolved. What changes is an annotation. */
static void make_alertmanager(const struct making *m, struct webhook_request *request)
{
    const struct event *event = m->event;
    bool over = m->move == WEBHOOK_MOVE_RESOLVE;
    autofree char *summary = summary_of(event, SUMMARY_MAX);
    json_t *alert = json_object(), *labels = json_object(), *annotations = json_object();
    json_put_text(labels, "alertname", "Holdfast");
    json_put_text(labels, "kind", event_kind_text(m->facts->alert->opened_by));
    json_put_text(labels, "key", m->facts->alert->key);
    json_put_text(labels, "severity", alert_severity(m->facts->alert->opened_by));
    put(labels, "cluster", event->cluster);
    put(labels, "node", event->node);
    put(annotations, "summary", summary);
    put(annotations, "level", level_word(event));
    put(annotations, "approval", m->facts->item->approval_url);
    json_put(alert, "labels", labels);
    json_put(alert, "annotations", annotations);
    if (!over)
        json_put_time(alert, "startsAt", event->at);
    json_put_time(alert, "endsAt", over ? event->at : event->at + ALERT_LASTS_MS);
    put(alert, "generatorURL", m->facts->console);
    fill(request, m->facts->webhook->path, NULL, json_pack("[o]", alert));
}

/* --- Opsgenie ------------------------------------------------------------------------------------------------- */

static void opsgenie_close(const struct making *m, struct webhook_request *request)
{
    struct text path AUTO(text) = {0};
    const char *given = m->facts->webhook->path;
    size_t len = strcspn(given, "?");
    text_add_bytes(&path, given, len > 0 && given[len - 1] == '/' ? len - 1 : len);
    text_add_char(&path, '/');
    text_add_escaped(&path, m->facts->alert->key, "");
    text_add(&path, m->move == WEBHOOK_MOVE_RESOLVE ? "/close" : "/acknowledge");
    text_add(&path, "?identifierType=alias");
    autofree char *note = summary_of(m->event, SUMMARY_MAX);
    fill(request, text_get(&path), NULL, json_pack("{s:s,s:o}", "source", "Holdfast", "note", text_json(note)));
}

static void make_opsgenie(const struct making *m, struct webhook_request *request)
{
    const struct event *event = m->event;
    if (m->move == WEBHOOK_MOVE_RESOLVE || m->move == WEBHOOK_MOVE_ACKNOWLEDGE) {
        opsgenie_close(m, request);
    } else {
        autofree char *message = summary_of(event, OPSGENIE_MESSAGE_MAX);
        struct text description AUTO(text) = {0};
        text_add(&description, event->message);
        if (m->facts->console[0] != '\0')
            text_printf(&description, "\n%s", m->facts->console);
        json_t *json = json_object();
        put(json, "message", message);
        json_put_text(json, "alias", m->facts->alert->key);
        json_put(json, "description", json_string(text_get(&description)));
        json_put_text(json, "priority",
                      event->kind == EVENT_KIND_INCIDENT_OPENED ? "P1"
                      : event->level == EVENT_LEVEL_ERROR       ? "P2"
                      : event->level == EVENT_LEVEL_WARN        ? "P3"
                                                                : "P5");
        json_put_text(json, "source", "Holdfast");
        put(json, "entity", event->node[0] != '\0' ? event->node : event->cluster);
        json_put(json, "details", details_of(m));
        json_put(json, "tags", json_pack("[s]", event_kind_text(event->kind)));
        fill(request, m->facts->webhook->path, NULL, json);
    }
    request->authorization = own_printf("Authorization: GenieKey %s", m->facts->key);
}

/* --------------------------------------------------------------------------------------------------------------- */

static void make(const struct making *m, struct webhook_request *request)
{
    static void (*const makers[])(const struct making *m,
                                  struct webhook_request *request) = {[WEBHOOK_FORMAT_STANDARD] = make_standard,
                                                                      [WEBHOOK_FORMAT_CLOUDEVENTS] = make_cloudevents,
                                                                      [WEBHOOK_FORMAT_SLACK] = make_slack,
                                                                      [WEBHOOK_FORMAT_PAGERDUTY] = make_pagerduty,
                                                                      [WEBHOOK_FORMAT_ALERTMANAGER] = make_alertmanager,
                                                                      [WEBHOOK_FORMAT_OPSGENIE] = make_opsgenie};
    makers[m->facts->webhook->format](m, request);
}

size_t webhook_requests_make(const struct webhook_facts *facts,
                             struct webhook_request ret_requests[WEBHOOK_REQUESTS_MAX])
{
    struct making m = {facts, &facts->item->event, facts->alert->move};
    make(&m, &ret_requests[0]);
    if (facts->alert->move != WEBHOOK_MOVE_TEST || !webhook_has_alerts(facts->webhook))
        return 1;
    m.move = WEBHOOK_MOVE_RESOLVE; /* nobody is woken by a test for longer than it takes */
    make(&m, &ret_requests[1]);
    return 2;
}

void webhook_requests_free(struct webhook_request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(requests[i].path);
        free(requests[i].body);
        free(requests[i].authorization);
    }
}
