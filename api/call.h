/*
 * One request as a handler sees it, and everything a handler may do: read its body and query by a spec, call one use
 * case, answer once. After an api_reply… or api_problem… the call is gone: return.
 *
 *      shape     api_body / api_query, declared at the handler's top
 *      authority by the route's access, before the handler runs
 *      meaning   what only this handler can judge
 *      one service call, one reply
 */
#ifndef HOLDFAST_API_CALL_H
#define HOLDFAST_API_CALL_H

#include "api/api.h"
#include "api/http.h"
#include "api/pool.h"
#include "api/routes.h"
#include "base/json.h"
#include "server/service/access/access.h"

#define API_PARAMS_MAX 2
#define API_PARAM_BYTES 64
#define API_REQUEST_ID_MAX ID_UUID_MAX

struct api_call {
    struct pool_job job; /* first: the pool hands it back */
    struct api *api;
    struct service *service;
    struct http_request *http;
    const struct api_route *route;
    struct actor actor;          /* of user routes */
    int64_t node_id;             /* of agent routes */
    struct service_audit *audit; /* of a change, while its handler runs; else NULL */
    struct fleet_heartbeat beat;
    size_t resources_bytes; /* of a reply, to be given back when it was sent */
    int64_t started_ms;
    struct repeat *repeat; /* of a write that has an Idempotency-Key */
    const char *body;
    size_t body_len;
    char params[API_PARAMS_MAX][API_PARAM_BYTES]; /* of the path, decoded, in order */
};

#define API_IDEMPOTENCY_KEY_MAX 65 /* what a client may send, and a zero; the service may put a prefix before it */

/* --- what came in --- */
/* Room for a text that may have up to limit bytes, so that what is too long is refused in the service's words. */
#define API_TEXT_READ_BYTES(limit) (2 * (limit))
/* Refuses a body that is not JSON by its header. On failure it has answered. */
int api_media_check(struct api_call *call);
/* The JSON body as it is, {} without one (caller owns), for what api_body cannot say. On failure it has answered. */
int api_json(struct api_call *call, json_t **ret_json);
/* Reads the JSON body by a spec into *ret_json (caller owns; fields may borrow from it). On failure it has answered. */
int api_body(struct api_call *call, const struct json_field *fields, size_t count, json_t **ret_json);

/* Of a field that people write as one line: it stands in events and explanations, where it must not look like another line. */
int api_check_line(const char *text);
#define API_LINE .check = api_check_line, .rule = "one line, without control characters and marks of direction"

enum api_query_type { API_QUERY_TEXT, API_QUERY_I64, API_QUERY_CHOICE };
struct api_query {
    const char *name;
    enum api_query_type type;
    void *target; /* char[size], int64_t, int */
    size_t size;
    int64_t min, max;
    int (*choose)(const char *text, int *ret_choice); /* CHOICE */
    const char *rule;                                 /* in words, for the message */
};
/* Reads the query by a spec; unknown and repeated parameters are errors. On failure it has answered. */
int api_query(struct api_call *call, const struct api_query *fields, size_t count);

/* --- what goes out --- */
void api_reply_json(struct api_call *call, unsigned status, json_t *json); /* takes json */
/* The same with a Location and an ETag of a revision; NULL and 0 leave them out. */
void api_reply_resource(struct api_call *call, unsigned status, json_t *json, const char *location, int64_t revision);
/* For people, with headers that let it do nothing but show itself in our style and post to where it came from. Takes html. */
void api_reply_page(struct api_call *call, char *html, size_t len);
/* True when a person's browser asks: then a refusal is a page, too. */
bool api_wants_page(const struct api_call *call);
/* The refusal as such a page. Takes html. */
void api_problem_page(struct api_call *call, enum problem_code code, char *html, size_t len);
void api_reply_text(struct api_call *call, unsigned status, const char *content_type, char *text, size_t len);
/* All of an open file, which is closed when it was sent; however long the client takes for it, as long as it takes some.
 * headers: names and values in turn, then NULL. */
void api_reply_descriptor(struct api_call *call, const char *content_type, int fd, int64_t bytes,
                          const char *const *headers);
void api_reply_empty(struct api_call *call, unsigned status);
/* 302, to a place relative to the request's path. */
void api_reply_redirect(struct api_call *call, const char *location);
/* A file that is carried in the binary. Its ETag is its digest: a caller whose If-None-Match has it is answered 304. */
struct api_file {
    const char *name, *content_type;
    const char *data, *end;
    const char *policy; /* its Content-Security-Policy; NULL: none */
};
void api_reply_file(struct api_call *call, const struct api_file *file);
/* The file that the path's first parameter names; without one, the first of them, which is their page. */
void api_reply_file_of(struct api_call *call, const struct api_file *files, size_t count, const char *directory);
/* A page may load and ask nothing but this server, inline script is refused. data: for icons. */
#define API_PAGE_POLICY                                                                                   \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
void api_problem(struct api_call *call, const struct problem *problem);
void api_problem_printf(struct api_call *call, enum problem_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* With an Allow header. */
void api_problem_method(struct api_call *call, const char *allow);

/* The If-Match header as a revision: 0 when there is none or "*". On failure it has answered. */
int api_if_match(struct api_call *call, int64_t *ret_revision);
/* The Idempotency-Key header, "" when absent. On failure it has answered. */
int api_idempotency_key(struct api_call *call, char ret_key[KEY_MAX_BYTES]);

#endif
