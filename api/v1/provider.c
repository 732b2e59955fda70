/* Where machines come from: how each provider stands, and a test of its contract. */
#include "server/service/provider/provider.h"
#include "api/call.h"
#include "api/render.h"
#include "api/v1/v1.h"
#include "base/own.h"
#include "base/text.h"

static json_t *render_test(const struct provider_status *status)
{
    json_t *json = json_object(), *findings = json_array();
    bool ended = status->test_ended_at != 0, passed = status->finding_count > 0;
    for (size_t i = 0; i < status->finding_count; i++) {
        const struct provider_finding *finding = &status->findings[i];
        json_t *item = json_object();
        json_put_text(item, "check", finding->check);
        json_put(item, "passed", json_boolean(finding->passed));
        json_put_text(item, "detail", finding->detail);
        json_array_append_new(findings, item);
        passed = passed && finding->passed;
    }
    json_put_text(json, "state", !ended ? "running" : passed ? "passed" : "failed");
    json_put(json, "launched", json_boolean(status->test_launched));
    json_put_time(json, "startedAt", status->test_started_at);
    json_put_time(json, "endedAt", status->test_ended_at);
    json_put(json, "findings", findings);
    return json;
}

static json_t *render_provider(const struct service_provider *provider)
{
    const struct provider_status *status = &provider->status;
    json_t *json = json_object();
    json_put_text(json, "name", status->name);
    json_put_text(json, "kind", status->kind);
    json_put_text(json, "state", provider_state_text(status->state));
    json_put_i64(json, "machines", provider->machines);
    json_put_i64(json, "calls", (int64_t)status->calls);
    json_put_i64(json, "failures", (int64_t)status->failures);
    json_put_time(json, "succeededAt", status->succeeded_at);
    json_put_time(json, "failedAt", status->failed_at);
    json_put_text(json, "error", status->error);
    json_put(json, "testable", json_boolean(status->can_test));
    if (status->test_started_at != 0)
        json_put(json, "test", render_test(status));
    return json;
}

static int list_row(const struct service_provider *provider, void *arg)
{
    json_array_append_new(arg, render_provider(provider));
    return 0;
}

void api_provider_list(struct api_call *call)
{
    struct problem problem;
    auto_json json_t *items = json_array();
    if (service_provider_list(call->service, list_row, items, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_json(call, 200, json_pack("{s:O}", "items", items));
}

void api_provider_describe(struct api_call *call)
{
    struct problem problem;
    autofree struct service_provider *provider = own_calloc(1, sizeof(*provider));
    if (service_provider_get(call->service, call->params[0], provider, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_json(call, 200, render_provider(provider));
}

void api_provider_test(struct api_call *call)
{
    struct problem problem;
    bool launch = false;
    auto_json json_t *body = NULL;
    const struct json_field fields[] = {{.name = "launch", .type = JSON_FIELD_BOOL, .target = &launch}};
    autofree struct service_provider *provider = own_calloc(1, sizeof(*provider));
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    if (service_provider_test(call->service, &call->actor, call->params[0], launch, provider, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_json(call, 202, render_provider(provider));
}
