/*
 * The HTTP server under the APIs: connections, requests and replies, with libmicrohttpd hidden behind.
 *
 * Each worker thread owns a listening socket (SO_REUSEPORT), a daemon without a thread of its own and the loop
 * around it: libmicrohttpd's own epoll thread sleeps for ever when exactly 128, 256, … connections become ready
 * at once. All of a connection happens on its worker. What blocks is done elsewhere: http_defer takes the request
 * off the worker, and http_respond may then be called from any thread, once; it goes back through a queue that
 * the worker empties in one go, so a group commit that answers a thousand requests wakes it once.
 *
 * Refused here, before the application sees it: what is not HTTP, headers above a limit, connections that are
 * slow on purpose (each phase has a deadline of its own, whatever trickles in).
 */
#ifndef HOLDFAST_API_HTTP_H
#define HOLDFAST_API_HTTP_H

#include "base/address.h"
#include "base/clock.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HTTP_WORKERS_MAX 64
#define HTTP_CONNECTION_MEMORY_BYTES (8 * 1024) /* header, small body and reply header of one connection */
#define HTTP_HEADER_BYTES_MAX (4 * 1024)        /* leaves room in the above for the reply's header */
#define HTTP_CONNECTIONS_MAX 120000             /* per worker; the descriptor limit is usually met first */
#define HTTP_BUFFERED_BYTES_MAX (64L << 20)     /* bodies in memory at once, all workers together */
#define HTTP_DISCARD_BYTES_MAX (4L << 20)       /* of a refused body that is still read so that the refusal is heard */
#define HTTP_FIRST_REQUEST_MS 10000             /* from connecting to the end of the first header (TLS included) */
#define HTTP_IDLE_MS 120000                     /* from one reply to the end of the next header */
#define HTTP_BODY_MS 20000                      /* from the end of the header to the end of the body */
#define HTTP_REPLY_MS 60000                     /* for the client to take a reply that is not a stream */
#define HTTP_STREAM_STALL_S 60                  /* a stream's client that takes nothing for so long is dropped */
#define HTTP_STOP_MS 2000                       /* how long stopping waits for clients to take their replies */
#define HTTP_ERROR_MAX 256

struct http_server;
struct http_request;
struct http_response;

/* What the application does with requests. All but respond-from-anywhere happens on the request's worker. */
struct http_app {
    size_t request_room; /* bytes the application keeps with a request */
    /* The header is there, the body is not: set http_body_limit, or answer at once (the body is then read and dropped). */
    void (*begin)(struct http_request *request, void *arg);
    /* The whole body is there ("" when there is none): http_respond, or http_defer and http_respond later. data lives
     * until the request ends, or for the call only after http_body_direct. */
    void (*handle)(struct http_request *request, const char *data, size_t len, void *arg);
    /* The body passed its limit (too_large), or there was no memory left for it: answer at once. */
    void (*overflow)(struct http_request *request, bool too_large, void *arg);
    /* The request is over, answered or not (then the status is 0). */
    void (*end)(struct http_request *request, unsigned status, void *arg);
};

struct http_options {
    const char *listen;                                   /* "127.0.0.1:8700", "[::]:8700", "localhost:0" */
    int workers;                                          /* 1..HTTP_WORKERS_MAX */
    const char *cert_pem, *key_pem;                       /* NULL: plain HTTP */
    const struct clock *clock;                            /* for deadlines */
    const struct http_app *app;                           /* static */
    void (*bound)(uint16_t port, void *arg);              /* the port is known, no request was taken yet; may be NULL */
    void *arg;                                            /* handed to app and bound */
    int64_t first_request_ms, idle_ms, body_ms, reply_ms; /* 0: the constants above */
    int64_t tick_ms;                                      /* how often deadlines are looked at; 0: 1000 */
    int connections_max;                                  /* per worker; 0: HTTP_CONNECTIONS_MAX */
};

/* UNAVAILABLE (address in use), INVALID (address), IO; with a sentence. */
int http_start(const struct http_options *options, struct http_server **ret_server, char ret_error[HTTP_ERROR_MAX]);
uint16_t http_port(const struct http_server *server);
/* Takes no more connections and requests (http_stopping turns true), waits until every deferred request is answered and
 * every stream has ended, closes what is left, frees. Accepts NULL. */
void http_stop_begin(struct http_server *server);
void http_stop(struct http_server *server);
bool http_stopping(const struct http_request *request);

struct http_stats {
    int64_t connections, deferred, buffered_bytes;
    uint64_t accepted, expired; /* closed because a deadline passed */
};
void http_stats(struct http_server *server, struct http_stats *ret_stats);

/* --- a request -------------------------------------------------------------------------------- */
const char *http_method(const struct http_request *request);
const char *http_path(const struct http_request *request); /* as sent: percent signs are the application's */
const char *http_header(const struct http_request *request, const char *name); /* NULL when absent */
/* How often the header came, and the first value it had. */
size_t http_header_count(const struct http_request *request, const char *name, const char **ret_value);
/* Walks the query's arguments as sent; value "" when there is no "=". Stops when fn returns non-zero and returns that. */
int http_query_each(const struct http_request *request, int (*fn)(const char *name, const char *value, void *arg),
                    void *arg);
int64_t http_content_length(const struct http_request *request); /* -1: none was sent */
bool http_has_body(const struct http_request *request);
bool http_header_too_large(const struct http_request *request);
bool http_peer_is_loopback(const struct http_request *request);
/* The other end of the connection as text, "" when it is not known; a proxy's, where there is one. */
void http_peer(const struct http_request *request, char ret_peer[ADDRESS_TEXT_MAX]);
int http_worker(const struct http_request *request);   /* 0 … workers-1 */
void *http_request_room(struct http_request *request); /* not cleared between requests */

void http_body_limit(struct http_request *request, size_t bytes_max); /* begin only; 0 unless set */
void http_body_direct(struct http_request *request); /* begin only: handle may get a view instead of a copy */
void http_defer(struct http_request *request);

/* --- replies ---------------------------------------------------------------------------------- */
/* Takes body over (free). content_type NULL: none. */
struct http_response *http_response_new(char *body, size_t len, const char *content_type);
/* A reply of static text that is used again and again; not for more than one worker at a time when it has to be fast. */
struct http_response *http_response_shared(const char *text, size_t len, const char *content_type);
/* Borrows text, which must live as long as the process. */
struct http_response *http_response_static(const char *text, size_t len, const char *content_type);
/* All of an open file; takes the descriptor over. */
struct http_response *http_response_descriptor(int fd, int64_t bytes, const char *content_type);
void http_response_header(struct http_response *response, const char *name, const char *value);
void http_response_free(struct http_response *response); /* accepts NULL */
/* Takes response over. After it the request belongs to its worker: do not touch it again. */
void http_respond(struct http_request *request, unsigned status, struct http_response *response);
/* The same, from so many milliseconds on. */
void http_respond_later(struct http_request *request, unsigned status, struct http_response *response,
                        int64_t after_ms);
/* The same for a large one: the client may take its time, as long as it does not stand still for HTTP_STREAM_STALL_S. */
void http_respond_long(struct http_request *request, unsigned status, struct http_response *response);
/* Borrows response, which must outlive the request. */
void http_respond_shared(struct http_request *request, unsigned status, struct http_response *response);

/* A reply without an end. read: bytes written, 0 when there are none now (http_stream_wake says when), -1 at the end; on the worker.
 * closed: the last call, on the worker. */
struct http_stream_ops {
    ssize_t (*read)(void *arg, char *buffer, size_t max);
    void (*closed)(void *arg);
};
void http_respond_stream(struct http_request *request, const char *content_type, const struct http_stream_ops *ops,
                         void *arg);
/* From any thread, before closed returned. */
void http_stream_wake(struct http_request *request);

#endif
