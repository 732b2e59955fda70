/* What the API's own files share. Handlers need call.h only. */
#ifndef HOLDFAST_API_INTERN_H
#define HOLDFAST_API_INTERN_H

#include "api/call.h"
#include "api/metrics.h"

#include <stdatomic.h>

#define OPENAPI_CONTENT_TYPE "application/yaml"

struct stream_hub;
struct repeats;
struct refusals;
struct repeat_reply;
struct sigv4_cache;

struct api {
    struct api_options options;
    struct service *service;
    struct http_server *http;
    struct pool *pool;
    struct stream_hub *hub;
    struct metrics *metrics;
    struct sigv4_cache *signing_keys;
    struct repeats *repeats;
    struct refusals *refusals;
    char *scratch;                  /* API_SCRATCH_BYTES a worker */
    struct http_response **nothing; /* "{}", one a worker, so that no two threads count its users at once */
    uint32_t id_prefix;             /* of this process's request ids */
    _Atomic uint32_t id_next;
};

/* 200 {} without an allocation. */
void api_reply_nothing(struct api_call *call);
/* The id of the reply, which is made with the call where that is a change. */
void api_request_id(const struct api_call *call, char ret_id[API_REQUEST_ID_MAX]);
/* Of a token, credential or signature that is wrong: how long the refusal waits. 0 where the request has none. */
int64_t api_refusal_late_ms(const struct api_call *call);
/* What a repeat of a request is answered with. */
void api_reply_again(struct api_call *call, const struct repeat_reply *reply);
/* From a direct handler: job.run goes on on a request thread. */
void api_defer_to_pool(struct api_call *call);
#define API_SCRATCH_BYTES (128 * 1024)
void *api_scratch(struct api_call *call); /* the worker's, for the time of a direct handler */

/* --- auth.c --- */
/* The token after "Bearer ", or NULL. */
const char *auth_bearer(const struct http_request *http);
/* Before the body is read: has a token of the right kind at all. On failure it has answered. */
bool auth_begin(struct api_call *call);
/* On a request thread: who is it, and may they. On failure it has answered. */
bool auth_user(struct api_call *call);

extern const char openapi_data[];
extern const char openapi_end[];

#endif
