/*
 * Both APIs over one server: a request's way from its header to its handler.
 *
 *      begin    route, limits, and for agents the credential        on the event loop
 *      handle   direct lane: the handler                            on the event loop
 *               pool lane: the caller's token and role, the handler on a request thread
 *      end      counted
 */
#include "api/audit.h"
#include "api/aws/sigv4.h"
#include "api/intern.h"
#include "api/listen.h"
#include "api/refusals.h"
#include "api/repeat.h"
#include "api/stream.h"
#include "base/status.h"
#include "server/service/access/access.h"
#include "server/service/agent/agent.h"

#include <stdio.h>
#include <string.h>

void *api_scratch(struct api_call *call)
{
    return call->api->scratch + (size_t)http_worker(call->http) * API_SCRATCH_BYTES;
}

/* --- begin ------------------------------------------------------------------------------------------- */

/* Names in the path. A name that cannot be one is not found; a bad escape is the client's mistake. */
static bool take_params(struct api_call *call, const struct route_param *params, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int rc = text_percent_decode(params[i].at, params[i].len, call->params[i], API_PARAM_BYTES);
        if (rc == STATUS_TOO_LARGE) {
            api_problem_printf(call, PROBLEM_NOT_FOUND, "There is nothing with a name that long.");
            return false;
        }
        if (rc != 0 || !text_is_line(call->params[i])) {
            call->params[i][0] = '\0';
            api_problem_printf(call, PROBLEM_BAD_REQUEST,
                               "The path must be UTF-8 without control characters and marks of direction, escaped with "
                               "%%XX where needed.");
            return false;
        }
    }
    return true;
}

/* True when the request may go on to its body. */
static bool admit(struct api_call *call)
{
    const struct api_route *route = call->route;
    int64_t length = http_content_length(call->http);
    if (http_stopping(call->http)) {
        api_problem_printf(call, PROBLEM_UNAVAILABLE, "The server is stopping. Try again in a few seconds.");
        return false;
    }
    if (route->body_bytes_max == 0 && http_has_body(call->http)) {
        api_problem_printf(call, PROBLEM_BAD_REQUEST, "This method of this path takes no body.");
        return false;
    }
    if (length > (int64_t)route->body_bytes_max) {
        api_problem_printf(call, PROBLEM_TOO_LARGE, "The body has %lld bytes; at most %zu are taken here.",
                           (long long)length, route->body_bytes_max);
        return false;
    }
    return auth_begin(call);
}

static void on_begin(struct http_request *http, void *arg)
{
    struct api *api = arg;
    struct api_call *call = http_request_room(http);
    struct route_param params[API_PARAMS_MAX];
    char allow[ROUTE_ALLOW_MAX];
    size_t count = 0;
    call->api = api;
    call->service = api->service;
    call->http = http;
    call->route = NULL;
    call->node_id = 0;
    call->audit = NULL;
    call->repeat = NULL;
    call->resources_bytes = 0;
    for (size_t i = 0; i < API_PARAMS_MAX; i++)
        call->params[i][0] = '\0';
    call->started_ms = clock_mono_ms(api->service->clock);
    if (http_header_too_large(http)) {
        api_problem_printf(call, PROBLEM_HEADER_TOO_LARGE, "The header has more than %d bytes.", HTTP_HEADER_BYTES_MAX);
        return;
    }
    if (route_may_be_aws(http_method(http), http_path(http)) && http_header(http, "X-Amz-Target") != NULL) {
        call->route = route_aws();
        if (admit(call))
            http_body_limit(http, call->route->body_bytes_max);
        return;
    }
    switch (route_find(http_method(http), http_path(http), &call->route, params, &count, allow)) {
    case ROUTE_NO_PATH:
        api_problem_printf(call, PROBLEM_NOT_FOUND, "There is no such path. /openapi.yaml lists those that are.");
        return;
    case ROUTE_NO_METHOD:
        api_problem_method(call, allow);
        return;
    case ROUTE_FOUND:
        break;
    }
    if (!take_params(call, params, count) || !admit(call))
        return;
    http_body_limit(http, call->route->body_bytes_max);
    if (call->route->lane == LANE_DIRECT)
        http_body_direct(http);
}

/* --- handle ------------------------------------------------------------------------------------------ */

static int digest_argument(const char *name, const char *value, void *arg)
{
    text_printf(arg, "%s=%s\n", name, value);
    return 0;
}

/* What makes two requests the same: method, path, query and body. */
static void request_digest(const struct api_call *call, uint8_t ret_digest[ID_SHA256_BYTES])
{
    struct text all = {0};
    text_printf(&all, "%s %s\n", call->route->method, http_path(call->http));
    (void)http_query_each(call->http, digest_argument, &all);
    text_add_bytes(&all, call->body, call->body_len);
    id_sha256(all.data, all.len, ret_digest);
    text_free(&all);
}

/* True when the write is to be carried out. */
static bool first_time(struct api_call *call)
{
    char key[KEY_MAX_BYTES];
    uint8_t digest[ID_SHA256_BYTES];
    struct repeat_reply reply;
    if (api_idempotency_key(call, key) != 0)
        return false;
    if (key[0] == '\0')
        return true;
    request_digest(call, digest);
    switch (repeat_begin(call->api->repeats, call->actor.token_id, key, digest, &call->repeat, &reply)) {
    case REPEAT_FIRST:
        return true;
    case REPEAT_SAME:
        api_reply_again(call, &reply);
        repeat_reply_free(&reply);
        break;
    case REPEAT_OTHER:
        api_problem_printf(call, PROBLEM_KEY_REUSED,
                           "The idempotency key \"%s\" belongs to another request. Use a fresh key for each request.",
                           key);
        break;
    case REPEAT_BUSY:
        api_problem_printf(call, PROBLEM_CONFLICT,
                           "The first request with the idempotency key \"%s\" is still under way. Try again in a "
                           "second.",
                           key);
        break;
    }
    return false;
}

static bool is_write(const struct api_route *route)
{
    return route->access >= ACCESS_JOB && strcmp(route->method, "GET") != 0;
}

static void run_user(struct pool_job *job)
{
    struct api_call *call = (struct api_call *)job;
    const struct api_route *route = call->route;
    struct service_audit audit; /* outlives the call, which is gone with its reply */
    audit_begin(call, &audit);
    if (auth_user(call) && ((route->reads & READS_QUERY) || api_query(call, NULL, 0) == 0) &&
        (!is_write(route) || (route->reads & READS_KEY) || first_time(call)))
        route->handler(call);
    service_audit_end();
}

void api_defer_to_pool(struct api_call *call)
{
    http_defer(call->http);
    if (!pool_submit(call->api->pool, &call->job))
        api_problem_printf(call, PROBLEM_UNAVAILABLE, "Too many requests wait already. Try again in a few seconds.");
}

static void on_handle(struct http_request *http, const char *data, size_t len, void *arg)
{
    struct api_call *call = http_request_room(http);
    (void)arg;
    call->body = data;
    call->body_len = len;
    if (call->route->lane == LANE_DIRECT) {
        call->route->handler(call);
        return;
    }
    call->job.run = run_user;
    api_defer_to_pool(call);
}

static void on_overflow(struct http_request *http, bool too_large, void *arg)
{
    struct api_call *call = http_request_room(http);
    (void)arg;
    if (too_large)
        api_problem_printf(call, PROBLEM_TOO_LARGE, "The body has more than the %zu bytes that are taken here.",
                           call->route->body_bytes_max);
    else
        api_problem_printf(call, PROBLEM_UNAVAILABLE,
                           "Too many large requests are under way. Try again in a few seconds.");
}

static void on_end(struct http_request *http, unsigned status, void *arg)
{
    struct api *api = arg;
    struct api_call *call = http_request_room(http);
    int route = call->route != NULL ? (int)(call->route - api_routes) : -1;
    if (call->resources_bytes > 0)
        service_agent_work_sent(api->service, call->resources_bytes);
    api_metrics_count(api->metrics, http_worker(http), route, status,
                      clock_mono_ms(api->service->clock) - call->started_ms);
}

static const struct http_app app = {.request_room = sizeof(struct api_call),
                                    .begin = on_begin,
                                    .handle = on_handle,
                                    .overflow = on_overflow,
                                    .end = on_end};

/* --- start and stop ------------------------------------------------------------------------------------ */

bool api_is_loopback(const char *listen)
{
    return listen_is_loopback(listen);
}

void api_free(struct api *api)
{
    if (api == NULL)
        return;
    pool_free(api->pool);
    stream_hub_free(api->hub);
    refusals_free(api->refusals);
    api_metrics_free(api->metrics);
    sigv4_cache_free(api->signing_keys);
    repeats_free(api->repeats);
    for (int i = 0; i < api->options.workers; i++)
        http_response_free(api->nothing[i]);
    free(api->nothing);
    free(api->scratch);
    free(api);
}

static struct api *api_new(const struct api_options *options, struct service *service)
{
    struct api *api = own_calloc(1, sizeof *api);
    api->options = *options;
    api->service = service;
    if (api->options.workers <= 0)
        api->options.workers = API_WORKERS_DEFAULT;
    if (api->options.request_threads <= 0)
        api->options.request_threads = API_REQUEST_THREADS_DEFAULT;
    size_t workers = (size_t)api->options.workers;
    api->scratch = own_calloc(workers, API_SCRATCH_BYTES);
    api->nothing = own_calloc(workers, sizeof(struct http_response *));
    for (size_t i = 0; i < workers; i++)
        api->nothing[i] = http_response_shared("{}", 2, "application/json");
    api->metrics = api_metrics_new((int)workers);
    api->signing_keys = sigv4_cache_new();
    api->repeats = repeats_new(service->clock);
    api->refusals = refusals_new(options->refusals_burst, options->refusal_delay_ms, options->slow_loopback);
    id_bytes(NULL, &api->id_prefix, sizeof api->id_prefix);
    return api;
}

static void on_events(void *arg)
{
    api_events_added(arg);
}

static void on_bound(uint16_t port, void *arg)
{
    struct api *api = arg;
    if (api->options.bound != NULL)
        api->options.bound(port, api->options.arg);
}

int api_start(const struct api_options *options, struct service *service, struct api **ret_api,
              char ret_error[API_ERROR_MAX])
{
    _Static_assert(API_ERROR_MAX >= HTTP_ERROR_MAX, "one error text");
    if (options->cert_pem == NULL && !api_is_loopback(options->listen)) {
        snprintf(ret_error, API_ERROR_MAX,
                 "\"%s\" can be reached from other machines, so it needs TLS: no certificate was given",
                 options->listen);
        return STATUS_INVALID;
    }
    struct api *api = api_new(options, service);
    const struct api_options *o = &api->options;
    const struct http_options http = {.listen = o->listen,
                                      .workers = o->workers,
                                      .cert_pem = o->cert_pem,
                                      .key_pem = o->key_pem,
                                      .clock = service->clock,
                                      .app = &app,
                                      .bound = on_bound,
                                      .arg = api,
                                      .first_request_ms = o->first_request_ms,
                                      .idle_ms = o->idle_ms,
                                      .body_ms = o->body_ms,
                                      .reply_ms = o->reply_ms,
                                      .tick_ms = o->tick_ms};
    api->pool = pool_new(o->request_threads);
    api->hub = stream_hub_new(service, o->keep_alive_ms);
    service->events_added = on_events;
    service->events_arg = api;
    int rc = http_start(&http, &api->http, ret_error);
    if (rc != 0) {
        service->events_added = NULL;
        stream_hub_stop(api->hub);
        api_free(api);
        return rc;
    }
    *ret_api = api;
    return 0;
}

uint16_t api_port(const struct api *api)
{
    return http_port(api->http);
}

void api_events_added(struct api *api)
{
    stream_hub_wake(api->hub);
}

/* Streams end, deferred requests are answered by their threads and the store, then the loops, then the threads. */
void api_stop(struct api *api)
{
    if (api == NULL || api->http == NULL)
        return;
    http_stop_begin(api->http);
    stream_hub_stop(api->hub);
    http_stop(api->http);
    api->http = NULL;
    pool_free(TAKE(api->pool));
    service_audit_flush(api->service, true);
}
