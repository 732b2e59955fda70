/* What machines ask of the server itself: is it up, may it take traffic, what does it count, what is its contract. */
#include "api/intern.h"
#include "api/stream.h"
#include "api/v1/v1.h"

void api_version_describe(struct api_call *call)
{
    const struct api_options *o = &call->api->options;
    json_t *json = json_object();
    json_put_text(json, "version", o->version);
    json_put_i64(json, "schemaVersion", o->schema_version);
    json_put_text(json, "faultTableVersion", o->fault_table_version);
    json_put_text(json, "actor", call->actor.name);
    json_put_text(json, "role", role_text(call->actor.role));
    api_reply_json(call, 200, json);
}

void api_certificate_describe(struct api_call *call)
{
    const struct service *s = call->service;
    bool own = s->own_certificate != NULL;
    json_t *json = json_object();
    json_put_text(json, "source", own ? "self-made" : s->fingerprint[0] != '\0' ? "configured" : "none");
    if (s->fingerprint[0] != '\0')
        json_put_text(json, "fingerprint", s->fingerprint);
    json_put_time(json, "expiresAt", s->certificate_ends_at);
    if (own)
        json_put_text(json, "certificate", s->own_certificate);
    api_reply_json(call, 200, json);
}

static void reply_status(struct api_call *call, const char *status)
{
    json_t *json = json_object();
    json_put_text(json, "status", status);
    api_reply_json(call, 200, json);
}

void api_system_check_health(struct api_call *call)
{
    reply_status(call, "ok");
}

void api_system_check_readiness(struct api_call *call)
{
    const struct api_options *o = &call->api->options;
    char why[API_WHY_MAX] = "";
    if (o->ready != NULL && !o->ready(why, o->arg))
        api_problem_printf(call, PROBLEM_UNAVAILABLE, "Not ready: %s.", why);
    else
        reply_status(call, "ready");
}

static void gauge(struct text *out, const char *name, const char *type, const char *help, unsigned long long value)
{
    text_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", name, help, name, type, name, value);
}

void api_system_read_metrics(struct api_call *call)
{
    struct api *api = call->api;
    struct http_stats stats;
    struct text out = {0};
    http_stats(api->http, &stats);
    api_metrics_render(api->metrics, &out);
    gauge(&out, "holdfast_http_connections", "gauge", "Open connections.", (unsigned long long)stats.connections);
    gauge(&out, "holdfast_http_connections_total", "counter", "Connections taken.", stats.accepted);
    gauge(&out, "holdfast_http_connections_expired_total", "counter", "Connections closed for being too slow.",
          stats.expired);
    gauge(&out, "holdfast_http_requests_waiting", "gauge", "Requests that wait for the store or a thread.",
          (unsigned long long)stats.deferred);
    gauge(&out, "holdfast_http_body_bytes", "gauge", "Request bodies in memory.",
          (unsigned long long)stats.buffered_bytes);
    gauge(&out, "holdfast_http_streams", "gauge", "Open event streams.", (unsigned long long)stream_count(api->hub));
    if (api->options.metrics != NULL)
        api->options.metrics(&out, api->options.arg);
    size_t len = out.len;
    api_reply_text(call, 200, "text/plain; version=0.0.4; charset=utf-8", text_take(&out), len);
}

void api_system_read_openapi(struct api_call *call)
{
    const struct api_file file = {.content_type = OPENAPI_CONTENT_TYPE, .data = openapi_data, .end = openapi_end};
    api_reply_file(call, &file);
}
