/* What would have been decided under another policy document: a part of a cluster's nodes for each request. */
#include "api/call.h"
#include "api/render.h"
#include "api/v1/v1.h"
#include "base/clock.h"
#include "base/own.h"
#include "server/service/policy/policy.h"

static int check_time(const char *text)
{
    int64_t ms;
    return clock_parse(text, &ms);
}

static json_t *render_said(const struct decision *decision)
{
    json_t *json = json_object();
    json_put_text(json, "action", action_text(decision->action));
    json_put_text(json, "rule", decision_rule_text(decision->rule));
    json_put_text(json, "urgency", urgency_text(decision->urgency));
    json_put_text(json, "sentence", decision->sentence);
    return json;
}

static int diff_row(const void *row, void *arg)
{
    const struct service_policy_difference *difference = row;
    json_t *json = json_object();
    json_put_text(json, "node", difference->node);
    json_put_text(json, "group", difference->group);
    json_put_time(json, "at", difference->recorded.at);
    json_put_text(json, "code", difference->recorded.code);
    json_put_text(json, "device", difference->recorded.device);
    json_put(json, "then", render_said(&difference->recorded));
    json_put(json, "other", render_said(&difference->other));
    json_array_append_new(arg, json);
    return 0;
}

void api_policy_diff(struct api_call *call)
{
    struct problem problem;
    struct service_policy_counts counts;
    char since[CLOCK_TEXT_MAX] = "", after[NODE_NAME_MAX_BYTES] = "";
    auto_json json_t *body = NULL;
    autofree char *text = own_calloc(1, API_TEXT_READ_BYTES(POLICY_TEXT_MAX_BYTES));
    const struct json_field fields[] = {
        {.name = "document",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = text,
         .size = API_TEXT_READ_BYTES(POLICY_TEXT_MAX_BYTES)},
        {.name = "since",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = since,
         .size = sizeof since,
         .check = check_time,
         .rule = "a time such as 2026-11-20T15:00:00Z"},
        {.name = "after", .type = JSON_FIELD_TEXT, .target = after, .size = sizeof after},
    };
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    struct service_policy_trial trial = {.cluster = call->params[0], .text = text, .after = after};
    (void)clock_parse(since, &trial.since);
    auto_json json_t *items = json_array();
    if (service_policy_diff(call->service, &trial, diff_row, items, &counts, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = json_object();
    json_put(json, "items", TAKE(items));
    json_put_i64(json, "nodes", counts.nodes);
    json_put_i64(json, "decisions", counts.decisions);
    json_put_i64(json, "same", counts.same);
    json_put_i64(json, "different", counts.different);
    json_put_i64(json, "unknown", counts.unknown);
    json_put_i64(json, "left", counts.left);
    json_put_text(json, "next", counts.next);
    api_reply_json(call, 200, json);
}
