/*
 * The live timeline as server-sent events.
 *
 * One thread reads the store for all streams: what is new is read once, rendered once and given to every stream that
 * wants it; a stream that begins in the past is first brought up to date page by page. Bounded: streams, and bytes a
 * stream may have waiting. A client that does not keep up is dropped and comes back with Last-Event-ID.
 */
#ifndef HOLDFAST_API_STREAM_H
#define HOLDFAST_API_STREAM_H

#include "api/http.h"
#include "server/service/service.h"

#define STREAMS_MAX 256
#define STREAM_PENDING_BYTES_MAX (512 * 1024) /* not taken by the client: then it is too slow */
#define STREAM_CATCH_UP_BYTES (64 * 1024)     /* of the past: the next page is read when less is waiting */
#define STREAM_KEEP_ALIVE_MS 15000
#define STREAM_POLL_MS 1000     /* should nobody say that there are new events */
#define STREAM_RECHECK_MS 60000 /* a deleted token ends its streams */

struct stream_hub;

struct stream_hub *stream_hub_new(struct service *service, int64_t keep_alive_ms);
/* Ends every stream; they go away as their workers see it. */
void stream_hub_stop(struct stream_hub *hub);
/* After the HTTP server has ended. Accepts NULL. */
void stream_hub_free(struct stream_hub *hub);
/* There are new events. Any thread. */
void stream_hub_wake(struct stream_hub *hub);

/* Answers the request with a stream; false when there are too many. cluster and node: "" for all. after: -1 for from now on,
 * else what is newer than that event. bearer is checked again now and then. */
bool stream_open(struct stream_hub *hub, struct http_request *http, const char *bearer, const char *cluster,
                 const char *node, int64_t after);
/* Tokens were deleted: those of open streams are looked at at once. Any thread. */
void stream_hub_recheck(struct stream_hub *hub);
int stream_count(struct stream_hub *hub);

#endif
