/* Webhooks: how each stands, and a test. Their addresses are in hpd's configuration, and only there. */
#include "api/call.h"
#include "api/render.h"
#include "api/v1/v1.h"
#include "base/own.h"

json_t *render_webhook_data(const struct service_webhook_item *item)
{
    const struct approval *approval = &item->approval;
    json_t *data = json_object();
    json_put(data, "event", render_event(&item->event));
    if (approval->id == 0)
        return data;
    json_t *question = json_object();
    json_put_text(question, "id", approval->uid);
    json_put_text(question, "action", action_text(approval->action));
    json_put_text(question, "code", approval->code);
    json_put_text(question, "device", approval->device);
    json_put(question, "sentence", render_text(approval->sentence));
    json_put_time(question, "expiresAt", approval->expires_at);
    json_put_text(question, "approvalUrl", item->approval_url);
    json_put(data, "approval", question);
    return data;
}

static const char *state_of(const struct webhook_progress *progress)
{
    if (progress->stopped)
        return "stopped";
    return progress->failing_since != 0 ? "failing" : "ok";
}

static json_t *kinds_json(const struct webhook *webhook)
{
    json_t *kinds = json_array();
    for (size_t i = 0; i < EVENT_KIND_COUNT; i++)
        if (webhook->kinds[i])
            json_array_append_new(kinds, json_string(event_kind_text((enum event_kind)i)));
    return kinds;
}

static json_t *render_webhook(const struct service_webhook_row *row)
{
    const struct webhook *webhook = row->webhook;
    const struct webhook_progress *progress = &row->progress;
    json_t *json = json_object(), *clusters = json_array();
    json_put_text(json, "name", webhook->name);
    json_put_text(json, "origin", webhook->origin);
    json_put_text(json, "format", webhook_format_text(webhook->format));
    json_put(json, "kinds", kinds_json(webhook));
    json_put_text(json, "minLevel", event_level_text(webhook->min_level));
    for (size_t i = 0; i < webhook->cluster_count; i++)
        json_array_append_new(clusters, json_string(webhook->clusters[i]));
    json_put(json, "clusters", clusters);
    json_put(json, "approvalLinks", json_boolean(webhook->approval_links));
    json_put_text(json, "state", state_of(progress));
    json_put(json, "error", progress->error[0] != '\0' ? render_text(progress->error) : NULL);
    json_put_time(json, "failingSince", progress->failing_since);
    json_put_i64(json, "failures", progress->failures);
    json_put_i64(json, "waiting", row->waiting);
    json_put_i64(json, "position", progress->position);
    json_put_i64(json, "delivered", progress->delivered);
    json_put_i64(json, "refused", progress->refused);
    json_put_i64(json, "givenUp", progress->expired);
    json_put_time(json, "deliveredAt", progress->delivered_at);
    return json;
}

void api_webhook_list(struct api_call *call)
{
    struct problem problem;
    autofree struct service_webhook_row *rows = own_calloc(WEBHOOKS_MAX, sizeof(*rows));
    size_t count;
    if (service_webhook_list(call->service, rows, &count, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = json_object(), *items = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(items, render_webhook(&rows[i]));
    json_put(json, "items", items);
    api_reply_json(call, 200, json);
}

void api_webhook_test(struct api_call *call)
{
    struct problem problem;
    struct event event;
    auto_json json_t *body = NULL;
    if (api_body(call, NULL, 0, &body) != 0)
        return;
    if (service_webhook_test(call->service, &call->actor, &event, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_json(call, 202, render_event(&event));
}

static int left_row(const void *row, void *arg)
{
    const struct service_webhook_left *left = row;
    json_t *json = json_object();
    json_put_text(json, "webhook", left->failed.webhook);
    json_put_time(json, "at", left->failed.at);
    json_put(json, "why", render_text(left->failed.why));
    json_put(json, "again", json_boolean(left->failed.again));
    json_put_i64(json, "eventId", left->failed.event_id);
    if (left->event.id != 0)
        json_put(json, "event", render_event(&left->event));
    json_array_append_new(arg, json);
    return 0;
}

void api_webhook_list_failed_messages(struct api_call *call)
{
    struct problem problem;
    json_t *json = json_object(), *items = json_array();
    json_put(json, "items", items);
    if (service_webhook_failed(call->service, left_row, items, &problem) != 0) {
        json_decref(json);
        api_problem(call, &problem);
        return;
    }
    api_reply_json(call, 200, json);
}

void api_webhook_resend_messages(struct api_call *call)
{
    struct problem problem;
    char name[NAME_MAX_BYTES] = "";
    int64_t count = 0;
    auto_json json_t *body = NULL;
    const struct json_field fields[] = {
        {.name = "webhook", .type = JSON_FIELD_TEXT, .target = name, .size = sizeof name, .min = 1}};
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    if (service_webhook_resend(call->service, &call->actor, name, &count, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_json(call, 202, json_pack("{s:I}", "count", (json_int_t)count));
}
