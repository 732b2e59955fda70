/* What the agents of an instance group do otherwise: read, tried, and made another. */
#include "server/service/agent/agent_settings.h"
#include "api/call.h"
#include "api/v1/v1.h"
#include "base/own.h"

static void reply(struct api_call *call, const struct group_agent_settings *settings)
{
    json_t *json = json_object();
    json_put_text(json, "cluster", call->params[0]);
    json_put_text(json, "group", call->params[1]);
    json_put_i64(json, "revision", settings->revision);
    if (settings->revision > 0) {
        json_put(json, "document", json_string(settings->text));
        json_put_text(json, "comment", settings->comment);
        json_put_text(json, "author", settings->author);
        json_put_time(json, "updatedAt", settings->updated_at);
    }
    api_reply_json(call, 200, json);
}

void api_agent_settings_describe(struct api_call *call)
{
    struct problem problem;
    autofree struct group_agent_settings *settings = own_calloc(1, sizeof *settings);
    if (service_agent_settings_get(call->service, call->params[0], call->params[1], settings, &problem) != 0)
        api_problem(call, &problem);
    else
        reply(call, settings);
}

void api_agent_settings_apply(struct api_call *call)
{
    struct problem problem;
    struct service_agent_settings_change change = {
        .cluster = call->params[0], .group = call->params[1], .expected = -1};
    char comment[REASON_MAX_BYTES] = "";
    auto_json json_t *body = NULL;
    autofree char *text = own_calloc(1, API_TEXT_READ_BYTES(AGENT_SETTINGS_TEXT_MAX_BYTES));
    autofree struct group_agent_settings *settings = own_calloc(1, sizeof *settings);
    const struct json_field fields[] = {
        {.name = "document",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = text,
         .size = API_TEXT_READ_BYTES(AGENT_SETTINGS_TEXT_MAX_BYTES)},
        {.name = "comment", .type = JSON_FIELD_TEXT, .target = comment, .size = sizeof comment, API_LINE},
        {.name = "expectedRevision", .type = JSON_FIELD_I64, .target = &change.expected, .max = INT64_MAX, .min = 0}};
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    change.text = text;
    change.comment = comment;
    if (service_agent_settings_apply(call->service, &call->actor, &change, settings, &problem) != 0)
        api_problem(call, &problem);
    else
        reply(call, settings);
}
