/*
 * Replies. Errors are problem details (RFC 9457) with a stable code and a sentence that says what to do; every
 * reply made here carries a request id, which is also in the log when the fault is the server's.
 */
#include "api/audit.h"
#include "api/aws/api.h"
#include "api/intern.h"
#include "api/refusals.h"
#include "api/render.h"
#include "api/repeat.h"
#include "base/id.h"
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define JSON_TYPE "application/json"
#define PROBLEM_TYPE "application/problem+json"

void api_request_id(const struct api_call *call, char ret_id[API_REQUEST_ID_MAX])
{
    struct api *api = call->api;
    if (call->audit != NULL)
        memcpy(ret_id, call->audit->entry.request_id, API_REQUEST_ID_MAX);
    else
        snprintf(ret_id, API_REQUEST_ID_MAX, "%08x-%08x", api->id_prefix,
                 atomic_fetch_add_explicit(&api->id_next, 1, memory_order_relaxed));
}

static struct http_response *response_new(char *body, size_t len, const char *type, const char *id)
{
    struct http_response *response = http_response_new(body, len, type);
    http_response_header(response, "X-Request-Id", id);
    http_response_header(response, "Cache-Control", "no-store");
    return response;
}

/* Takes json. */
static char *json_text(json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (text == NULL) /* every text we render has been checked to be UTF-8 when it came in */
        text = own_strdup("{}");
    return text;
}

/* Takes text. */
static void reply_resource(struct api_call *call, unsigned status, char *text, const char *location, int64_t revision)
{
    char id[API_REQUEST_ID_MAX], etag[32];
    api_request_id(call, id);
    struct http_response *response = response_new(text, strlen(text), text[0] != '\0' ? JSON_TYPE : NULL, id);
    if (location != NULL)
        http_response_header(response, "Location", location);
    if (revision > 0) {
        snprintf(etag, sizeof etag, "\"%lld\"", (long long)revision);
        http_response_header(response, "ETag", etag);
    }
    http_respond(call->http, status, response);
}

/* Remembers a write's success under its key; any other end of it is forgotten. */
static void settle(struct api_call *call, const struct repeat_reply *reply)
{
    if (call->repeat != NULL)
        repeat_end(call->api->repeats, TAKE(call->repeat), reply);
}

/* Takes text. The location stays the caller's: what is remembered is a copy. */
static void reply_once(struct api_call *call, unsigned status, char *text, const char *location, int64_t revision)
{
    const struct repeat_reply reply = {.status = status, .text = text, .location = location, .revision = revision};
    settle(call, &reply);
    audit_granted(call);
    reply_resource(call, status, text, location, revision);
}

/* Nothing is done a second time, so the audit log has it once: under the request that did it. */
void api_reply_again(struct api_call *call, const struct repeat_reply *reply)
{
    reply_resource(call, reply->status, own_strdup(reply->text), reply->location, reply->revision);
}

void api_reply_resource(struct api_call *call, unsigned status, json_t *json, const char *location, int64_t revision)
{
    reply_once(call, status, json_text(json), location, revision);
}

void api_reply_json(struct api_call *call, unsigned status, json_t *json)
{
    api_reply_resource(call, status, json, NULL, 0);
}

void api_reply_text(struct api_call *call, unsigned status, const char *content_type, char *text, size_t len)
{
    char id[API_REQUEST_ID_MAX];
    api_request_id(call, id);
    audit_granted(call);
    http_respond(call->http, status, response_new(text, len, content_type, id));
}

static void page_reply_with(struct api_call *call, unsigned status, char *html, size_t len, const char *id)
{
    struct http_response *response = response_new(html, len, "text/html; charset=utf-8", id);
    http_response_header(
        response, "Content-Security-Policy",
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'");
    http_response_header(response, "Referrer-Policy", "no-referrer"); /* its address says yes */
    http_response_header(response, "X-Content-Type-Options", "nosniff");
    http_response_header(response, "X-Robots-Tag", "noindex");
    http_respond(call->http, status, response);
}

void api_reply_page(struct api_call *call, char *html, size_t len)
{
    char id[API_REQUEST_ID_MAX];
    api_request_id(call, id);
    audit_granted(call);
    page_reply_with(call, 200, html, len, id);
}

bool api_wants_page(const struct api_call *call)
{
    const char *accept = http_header(call->http, "Accept");
    return accept != NULL && strstr(accept, "text/html") != NULL;
}

void api_problem_page(struct api_call *call, enum problem_code code, char *html, size_t len)
{
    char id[API_REQUEST_ID_MAX];
    int status = problem_code_http(code);
    api_request_id(call, id);
    audit_refused(call, problem_code_text(code), id, status >= 500);
    page_reply_with(call, (unsigned)status, html, len, id);
}

void api_reply_empty(struct api_call *call, unsigned status)
{
    reply_once(call, status, own_strdup(""), NULL, 0);
}

void api_reply_redirect(struct api_call *call, const char *location)
{
    char id[API_REQUEST_ID_MAX];
    api_request_id(call, id);
    struct http_response *response = response_new(own_strdup(""), 0, NULL, id);
    http_response_header(response, "Location", location);
    http_respond(call->http, 302, response);
}

/* One tag, several with commas, or "*". A tag of ours has no comma, and a weak one ("W/…") is as good here. */
static bool none_match(const char *header, const char *etag)
{
    return header != NULL && (strcmp(header, "*") == 0 || strstr(header, etag) != NULL);
}

void api_reply_descriptor(struct api_call *call, const char *content_type, int fd, int64_t bytes,
                          const char *const *headers)
{
    char id[API_REQUEST_ID_MAX];
    api_request_id(call, id);
    audit_granted(call);
    struct http_response *response = http_response_descriptor(fd, bytes, content_type);
    http_response_header(response, "X-Request-Id", id);
    http_response_header(response, "Cache-Control", "no-store");
    for (size_t i = 0; headers[i] != NULL; i += 2)
        http_response_header(response, headers[i], headers[i + 1]);
    http_respond_long(call->http, 200, response);
}

void api_reply_file(struct api_call *call, const struct api_file *file)
{
    char id[API_REQUEST_ID_MAX], digest[ID_SHA256_HEX_MAX], etag[ID_SHA256_HEX_MAX + 2];
    size_t len = (size_t)(file->end - file->data);
    id_sha256_hex(file->data, len, digest);
    snprintf(etag, sizeof etag, "\"%s\"", digest);
    api_request_id(call, id);
    bool known = none_match(http_header(call->http, "If-None-Match"), etag);
    struct http_response *response =
        known ? http_response_static("", 0, NULL) : http_response_static(file->data, len, file->content_type);
    http_response_header(response, "X-Request-Id", id);
    http_response_header(response, "ETag", etag);
    http_response_header(response, "Cache-Control", "no-cache"); /* kept, and asked for again each time */
    http_response_header(response, "X-Content-Type-Options", "nosniff");
    if (file->policy != NULL) {
        http_response_header(response, "Content-Security-Policy", file->policy);
        http_response_header(response, "Referrer-Policy", "no-referrer");
    }
    http_respond(call->http, known ? 304 : 200, response);
}

void api_reply_file_of(struct api_call *call, const struct api_file *files, size_t count, const char *directory)
{
    const char *name = call->params[0][0] != '\0' ? call->params[0] : files[0].name;
    size_t i = 0;
    while (i < count && !text_equal(files[i].name, name))
        i++;
    if (i < count)
        api_reply_file(call, &files[i]);
    else
        api_problem_printf(call, PROBLEM_NOT_FOUND, "There is no such file under %s.", directory);
}

void api_reply_nothing(struct api_call *call)
{
    http_respond_shared(call->http, 200, call->api->nothing[http_worker(call->http)]);
}

int64_t api_refusal_late_ms(const struct api_call *call)
{
    char peer[ADDRESS_TEXT_MAX];
    if (http_header(call->http, "Authorization") == NULL)
        return 0;
    http_peer(call->http, peer);
    return refusals_delay_ms(call->api->refusals, peer, http_peer_is_loopback(call->http),
                             clock_mono_ms(call->service->clock));
}

/* Extra headers that some refusals must have. */
static void problem_headers(struct http_response *response, enum problem_code code, const char *allow)
{
    if (code == PROBLEM_UNAUTHENTICATED)
        http_response_header(response, "WWW-Authenticate", "Bearer");
    if (code == PROBLEM_UNAVAILABLE || code == PROBLEM_RATE_LIMITED || code == PROBLEM_STORE_FULL)
        http_response_header(response, "Retry-After", "2");
    if (allow != NULL)
        http_response_header(response, "Allow", allow);
}

static void problem_reply(struct api_call *call, enum problem_code code, const char *detail, const char *allow)
{
    char id[API_REQUEST_ID_MAX], type[96];
    if (call->route != NULL && call->route->access == ACCESS_SIGNED) {
        aws_api_problem(call, code, detail); /* its clients read another form */
        return;
    }
    api_request_id(call, id);
    int status = problem_code_http(code);
    audit_refused(call, problem_code_text(code), id, status >= 500);
    snprintf(type, sizeof type, "urn:holdfast:problem:%s", problem_code_text(code));
    json_t *json = json_object();
    json_put_text(json, "type", type);
    json_put_text(json, "title", problem_code_title(code));
    json_put_i64(json, "status", status);
    json_put_text(json, "code", problem_code_text(code));
    json_put(json, "detail", render_text(detail));
    json_put_text(json, "requestId", id);
    if (code == PROBLEM_INTERNAL)
        log_error("request failed operation=%s request_id=%s detail=\"%s\"",
                  call->route != NULL ? call->route->operation : "-", id, detail);
    char *text = json_text(json);
    struct http_response *response = response_new(text, strlen(text), PROBLEM_TYPE, id);
    settle(call, NULL);
    problem_headers(response, code, allow);
    int64_t late_ms = code == PROBLEM_UNAUTHENTICATED ? api_refusal_late_ms(call) : 0;
    if (late_ms > 0)
        http_respond_later(call->http, (unsigned)status, response, late_ms);
    else
        http_respond(call->http, (unsigned)status, response);
}

void api_problem(struct api_call *call, const struct problem *problem)
{
    problem_reply(call, problem->code, problem->detail, NULL);
}

void api_problem_printf(struct api_call *call, enum problem_code code, const char *fmt, ...)
{
    struct problem problem = {.code = code};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(problem.detail, sizeof problem.detail, fmt, ap);
    va_end(ap);
    problem_reply(call, code, problem.detail, NULL);
}

void api_problem_method(struct api_call *call, const char *allow)
{
    problem_reply(call, PROBLEM_METHOD_NOT_ALLOWED, "The header Allow lists the methods of this path.", allow);
}
