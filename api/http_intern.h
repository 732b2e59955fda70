/*
 * What the two halves of the HTTP server share: http.c (requests, on libmicrohttpd) and http_loop.c (threads, sockets,
 * waiting). libmicrohttpd's own types are only named here.
 *
 * A request is part of its connection's memory, so a connection costs one allocation of ours and a request none.
 * Other threads touch a request in two places only: they set the answer and push it to the worker's inbox.
 */
#ifndef HOLDFAST_API_HTTP_INTERN_H
#define HOLDFAST_API_HTTP_INTERN_H

#include "api/deadline.h"
#include "api/guard.h"
#include "api/http.h"

#include <pthread.h>
#include <stdatomic.h>

struct MHD_Connection;
struct MHD_Daemon;
struct MHD_Response;

enum request_state { REQUEST_READING, REQUEST_HANDLED, REQUEST_DEFERRED, REQUEST_SENDING };

struct worker;

struct http_request {
    struct worker *worker;
    struct MHD_Connection *mhd;
    struct deadline deadline;
    struct guard guard;
    uint64_t begun; /* requests of this connection */
    int fd;
    enum request_state state;
    bool started, suspended, closed, direct, takes_long;
    const char *method, *path;

    struct MHD_Response *response;
    bool response_shared;
    unsigned status;
    const struct http_stream_ops *stream;
    void *stream_arg;

    char *body;
    size_t body_len, body_capacity, body_max, discarded;
    int64_t content_length;

    int64_t not_before_ms; /* an answer that waits; 0: none does */
    struct http_request *late_next;
    atomic_bool answered; /* a deferred request has its answer */
    atomic_bool queued;   /* it is in the inbox */
    struct http_request *inbox_next;
    _Alignas(16) char room[]; /* the application's */
};

struct worker {
    struct http_server *server;
    struct MHD_Daemon *daemon;
    pthread_t thread;
    int index, listen_fd, loop_fd, wake_fd, tick_fd;
    _Atomic(struct http_request *) inbox;
    struct deadlines deadlines;
    struct http_request *late; /* whose answers wait */
    int64_t now_ms, stop_at_ms;
    int64_t busy;      /* requests between begin and end */
    int64_t suspended; /* of these, those libmicrohttpd does not look at; it must not be stopped before they are none */
    _Atomic int64_t connections, deferred;
    _Atomic uint64_t accepted, expired;
};

struct http_server {
    struct http_options options;
    size_t request_room;
    uint16_t port;
    int worker_count;
    atomic_bool stopping;
    _Atomic int64_t buffered_bytes;
    struct worker workers[];
};

/* --- http_loop.c --- */
/* From any thread: the worker looks at the request soon. */
void inbox_push(struct http_request *r);

/* --- http.c: what the loop needs of libmicrohttpd; all on the worker's thread --- */
/* Starts a daemon without a thread on w->listen_fd; it then owns that. */
bool mhd_start(struct worker *w);
int mhd_epoll_fd(const struct worker *w);
/* How long the loop may sleep at most; -1: for as long as it likes. */
int mhd_timeout_ms(struct worker *w);
/* Does what there is to do and never blocks. */
void mhd_run(struct worker *w);
/* Takes no more connections and closes the listening socket. */
void mhd_quiesce(struct worker *w);
/* The request was pushed: goes on with it if it waits and has what it waited for. Frees it if its connection is gone. */
void request_look(struct http_request *r);
/* Goes on with those whose answers waited long enough. */
void requests_late(struct worker *w);
/* Closes all connections. None may be suspended. */
void mhd_stop(struct worker *w);

#endif
