/*
 * The life of a request, on libmicrohttpd. Nothing else in the house includes microhttpd.h.
 *
 *      accept ──► READING ──► HANDLED ──► SENDING ──► READING (the next request) ──► … ──► closed
 *                    │            │           ▲
 *                    │            └► DEFERRED ┘  (suspended: libmicrohttpd does not look at it)
 *                    └► answered early: the body is read and dropped, then SENDING
 *
 * The loop that drives it is in http_loop.c.
 */
#include "api/http_intern.h"
#include "api/listen.h"
#include "base/own.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- answers --------------------------------------------------------------------------------------- */

static void response_release(struct http_request *r)
{
    if (r->response != NULL && !r->response_shared)
        MHD_destroy_response(r->response);
    r->response = NULL;
}

static void respond(struct http_request *r, unsigned status, struct http_response *response, bool shared)
{
    r->response = (struct MHD_Response *)response;
    r->response_shared = shared;
    r->status = status;
    if (r->state == REQUEST_DEFERRED) {
        atomic_store(&r->answered, r->not_before_ms == 0);
        inbox_push(r);
    }
}

void http_respond(struct http_request *r, unsigned status, struct http_response *response)
{
    respond(r, status, response, false);
}

void http_respond_shared(struct http_request *r, unsigned status, struct http_response *response)
{
    respond(r, status, response, true);
}

void http_respond_later(struct http_request *r, unsigned status, struct http_response *response, int64_t after_ms)
{
    r->not_before_ms = clock_mono_ms(r->worker->server->options.clock) + after_ms;
    respond(r, status, response, false);
}

void http_respond_long(struct http_request *r, unsigned status, struct http_response *response)
{
    r->takes_long = true;
    respond(r, status, response, false);
}

void http_stream_wake(struct http_request *r)
{
    inbox_push(r);
}

/* --- responses ---------------------------------------------------------------------------------- */

static struct http_response *response_of(const char *body, size_t len, const char *content_type,
                                         enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(len, (void *)(uintptr_t)body, mode);
    if (response == NULL)
        abort();
    if (content_type != NULL)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    return (struct http_response *)response;
}

struct http_response *http_response_new(char *body, size_t len, const char *content_type)
{
    return response_of(body, len, content_type, MHD_RESPMEM_MUST_FREE);
}

struct http_response *http_response_static(const char *text, size_t len, const char *content_type)
{
    return response_of(text, len, content_type, MHD_RESPMEM_PERSISTENT);
}

struct http_response *http_response_shared(const char *text, size_t len, const char *content_type)
{
    char *copy = own_calloc(len + 1, 1);
    memcpy(copy, text, len);
    return http_response_new(copy, len, content_type);
}

struct http_response *http_response_descriptor(int fd, int64_t bytes, const char *content_type)
{
    struct MHD_Response *response = MHD_create_response_from_fd64((uint64_t)bytes, fd);
    if (response == NULL)
        abort();
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    return (struct http_response *)response;
}

void http_response_header(struct http_response *response, const char *name, const char *value)
{
    MHD_add_response_header((struct MHD_Response *)response, name, value);
}

void http_response_free(struct http_response *response)
{
    if (response != NULL)
        MHD_destroy_response((struct MHD_Response *)response);
}

static void request_suspend(struct http_request *r)
{
    r->suspended = true;
    r->worker->suspended++;
    MHD_suspend_connection(r->mhd);
}

static ssize_t stream_read(void *cls, uint64_t at, char *buffer, size_t max)
{
    struct http_request *r = cls;
    (void)at;
    ssize_t n = r->stream->read(r->stream_arg, buffer, max);
    if (n < 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (n == 0)
        request_suspend(r);
    return n;
}

void http_respond_stream(struct http_request *r, const char *content_type, const struct http_stream_ops *ops, void *arg)
{
    struct MHD_Response *response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, stream_read, r, NULL);
    if (response == NULL)
        abort();
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    r->stream = ops;
    r->stream_arg = arg;
    respond(r, MHD_HTTP_OK, (struct http_response *)response, false);
}

/* --- what the application asks of a request ------------------------------------------------------- */

const char *http_method(const struct http_request *r)
{
    return r->method;
}

const char *http_path(const struct http_request *r)
{
    return r->path;
}

const char *http_header(const struct http_request *r, const char *name)
{
    return MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, name);
}

struct counting {
    const char *name, *value;
    size_t count;
};

static enum MHD_Result count_one(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct counting *counting = arg;
    (void)kind;
    if (strcasecmp(name, counting->name) == 0 && counting->count++ == 0)
        counting->value = value != NULL ? value : "";
    return MHD_YES;
}

size_t http_header_count(const struct http_request *r, const char *name, const char **ret_value)
{
    struct counting counting = {.name = name};
    MHD_get_connection_values(r->mhd, MHD_HEADER_KIND, count_one, &counting);
    *ret_value = counting.value;
    return counting.count;
}

struct query_walk {
    int (*fn)(const char *name, const char *value, void *arg);
    void *arg;
    int rc;
};

static enum MHD_Result query_one(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct query_walk *walk = cls;
    (void)kind;
    walk->rc = walk->fn(name, value != NULL ? value : "", walk->arg);
    return walk->rc == 0 ? MHD_YES : MHD_NO;
}

int http_query_each(const struct http_request *r, int (*fn)(const char *name, const char *value, void *arg), void *arg)
{
    struct query_walk walk = {.fn = fn, .arg = arg};
    MHD_get_connection_values(r->mhd, MHD_GET_ARGUMENT_KIND, query_one, &walk);
    return walk.rc;
}

int64_t http_content_length(const struct http_request *r)
{
    return r->content_length;
}

bool http_has_body(const struct http_request *r)
{
    return r->content_length > 0 || http_header(r, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
}

bool http_header_too_large(const struct http_request *r)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(r->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info != NULL && info->header_size > HTTP_HEADER_BYTES_MAX;
}

bool http_peer_is_loopback(const struct http_request *r)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(r->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info != NULL && info->client_addr != NULL && listen_peer_is_loopback(info->client_addr);
}

void http_peer(const struct http_request *r, char ret_peer[ADDRESS_TEXT_MAX])
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(r->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    ret_peer[0] = '\0';
    if (info != NULL && info->client_addr != NULL)
        address_of(info->client_addr, ret_peer);
}

int http_worker(const struct http_request *r)
{
    return r->worker->index;
}

void *http_request_room(struct http_request *r)
{
    return r->room;
}

void http_body_limit(struct http_request *r, size_t bytes_max)
{
    r->body_max = bytes_max;
}

void http_body_direct(struct http_request *r)
{
    r->direct = true;
}

void http_defer(struct http_request *r)
{
    atomic_store_explicit(&r->answered, false, memory_order_relaxed);
    r->state = REQUEST_DEFERRED;
    deadline_enter(&r->worker->deadlines, &r->deadline, DEADLINE_NONE, 0);
    atomic_fetch_add_explicit(&r->worker->deferred, 1, memory_order_relaxed);
}

bool http_stopping(const struct http_request *r)
{
    return atomic_load_explicit(&r->worker->server->stopping, memory_order_relaxed);
}

/* --- a request, step by step (on its worker) ------------------------------------------------------ */

static void body_release(struct http_request *r)
{
    if (r->body == NULL)
        return;
    atomic_fetch_sub(&r->worker->server->buffered_bytes, (int64_t)r->body_capacity);
    free(r->body);
    r->body = NULL;
    r->body_len = r->body_capacity = 0;
}

/* libmicrohttpd has checked that it is a number; Transfer-Encoding overrides it. */
static int64_t content_length_of(const struct http_request *r)
{
    const char *length = http_header(r, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (length == NULL || http_header(r, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL)
        return -1;
    unsigned long long bytes = strtoull(length, NULL, 10);
    return bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
}

static enum MHD_Result request_begin(struct http_request *r, const char *path, const char *method)
{
    struct http_server *s = r->worker->server;
    if (r->guard.strict.heads < ++r->begun)
        return MHD_NO; /* nobody has looked at its head */
    r->started = true;
    r->state = REQUEST_READING;
    r->method = method;
    r->path = path;
    r->direct = r->takes_long = false;
    r->status = 0;
    r->stream = NULL;
    r->body_max = r->discarded = 0;
    r->not_before_ms = 0;
    r->content_length = content_length_of(r);
    r->worker->busy++;
    deadline_enter(&r->worker->deadlines, &r->deadline, DEADLINE_BODY, r->worker->now_ms);
    s->options.app->begin(r, s->options.arg);
    /* Too much to read and drop: answer now, libmicrohttpd then closes. */
    if (r->response != NULL && r->content_length > HTTP_DISCARD_BYTES_MAX)
        return MHD_queue_response(r->mhd, r->status, r->response);
    return MHD_YES;
}

/* Makes room for wanted bytes of body; false when all bodies together would take too much memory. */
static bool body_reserve(struct http_request *r, size_t wanted)
{
    _Atomic int64_t *all = &r->worker->server->buffered_bytes;
    if (wanted <= r->body_capacity)
        return true;
    size_t capacity = r->content_length > 0 ? (size_t)r->content_length : wanted * 2;
    if (capacity < wanted)
        capacity = wanted;
    int64_t more = (int64_t)(capacity - r->body_capacity);
    if (atomic_fetch_add(all, more) + more > HTTP_BUFFERED_BYTES_MAX) {
        atomic_fetch_sub(all, more);
        return false;
    }
    r->body = own_realloc(r->body, capacity + 1, 1);
    r->body_capacity = capacity;
    return true;
}

static void body_append(struct http_request *r, const char *data, size_t len)
{
    struct http_server *s = r->worker->server;
    bool too_large = len > r->body_max - r->body_len;
    if (too_large || !body_reserve(r, r->body_len + len)) {
        body_release(r);
        s->options.app->overflow(r, too_large, s->options.arg);
        return;
    }
    memcpy(r->body + r->body_len, data, len);
    r->body_len += len;
    r->body[r->body_len] = '\0';
}

static enum MHD_Result request_body(struct http_request *r, const char *data, size_t len)
{
    struct http_server *s = r->worker->server;
    if (r->response != NULL) { /* refused: the rest is read so that the client hears why, within limits */
        r->discarded += len;
        return r->discarded > (size_t)HTTP_DISCARD_BYTES_MAX ? MHD_NO : MHD_YES;
    }
    if (r->direct && r->body_len == 0 && (int64_t)len == r->content_length && len <= r->body_max) {
        r->state = REQUEST_HANDLED;
        s->options.app->handle(r, data, len, s->options.arg);
        return MHD_YES;
    }
    body_append(r, data, len);
    return MHD_YES;
}

static enum MHD_Result request_send(struct http_request *r)
{
    if (r->state == REQUEST_DEFERRED)
        atomic_fetch_sub_explicit(&r->worker->deferred, 1, memory_order_relaxed);
    r->state = REQUEST_SENDING;
    body_release(r);
    bool takes_long = r->stream != NULL || r->takes_long;
    deadline_enter(&r->worker->deadlines, &r->deadline, takes_long ? DEADLINE_NONE : DEADLINE_REPLY, r->worker->now_ms);
    if (takes_long)
        MHD_set_connection_option(r->mhd, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)HTTP_STREAM_STALL_S);
    return MHD_queue_response(r->mhd, r->status, r->response);
}

static enum MHD_Result request_complete(struct http_request *r)
{
    struct http_server *s = r->worker->server;
    if (r->state == REQUEST_READING && r->response == NULL) {
        r->state = REQUEST_HANDLED;
        s->options.app->handle(r, r->body != NULL ? r->body : "", r->body_len, s->options.arg);
    }
    if (r->state != REQUEST_DEFERRED && r->not_before_ms != 0) { /* answered on the worker, and late */
        http_defer(r);
        inbox_push(r);
    }
    if (r->state == REQUEST_DEFERRED && !atomic_load(&r->answered)) {
        request_suspend(r);
        return MHD_YES;
    }
    return r->response != NULL ? request_send(r) : MHD_NO;
}

static struct http_request *request_of(struct MHD_Connection *mhd)
{
    return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static enum MHD_Result on_access(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
                                 const char *version, const char *data, size_t *len, void **context)
{
    struct http_request *r = *context;
    (void)cls;
    (void)version;
    if (r == NULL) {
        *context = r = request_of(mhd);
        return r == NULL ? MHD_NO : request_begin(r, url, method);
    }
    if (*len > 0) {
        size_t n = *len;
        *len = 0;
        return request_body(r, data, n);
    }
    return request_complete(r);
}

static void on_completed(void *cls, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode why)
{
    struct http_request *r = *context;
    (void)cls;
    (void)mhd;
    (void)why;
    if (r == NULL || !r->started)
        return;
    struct http_server *s = r->worker->server;
    *context = NULL;
    r->started = false;
    r->worker->busy--;
    if (r->state == REQUEST_DEFERRED) /* answered, but the connection died before the answer was sent */
        atomic_fetch_sub_explicit(&r->worker->deferred, 1, memory_order_relaxed);
    if (r->stream != NULL)
        r->stream->closed(r->stream_arg);
    body_release(r);
    response_release(r);
    s->options.app->end(r, r->status, s->options.arg);
    r->stream = NULL;
    r->state = REQUEST_READING;
    deadline_enter(&r->worker->deadlines, &r->deadline, DEADLINE_IDLE, r->worker->now_ms);
}

/* --- connections ---------------------------------------------------------------------------------- */

static void connection_open(struct worker *w, struct MHD_Connection *mhd, void **context)
{
    struct http_request *r = own_calloc(1, sizeof *r + w->server->request_room);
    r->worker = w;
    r->mhd = mhd;
    r->fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    if (!guard_begin(&r->guard, r->fd, w->server->options.cert_pem != NULL))
        shutdown(r->fd, SHUT_RDWR);
    atomic_fetch_add_explicit(&w->connections, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&w->accepted, 1, memory_order_relaxed);
    deadline_enter(&w->deadlines, &r->deadline, DEADLINE_FIRST, w->now_ms);
    *context = r;
}

static void on_connection(void *cls, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct worker *w = cls;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        connection_open(w, mhd, context);
        return;
    }
    struct http_request *r = *context;
    *context = NULL;
    deadline_enter(&w->deadlines, &r->deadline, DEADLINE_NONE, 0);
    guard_end(&r->guard);
    atomic_fetch_sub_explicit(&w->connections, 1, memory_order_relaxed);
    r->closed = true;
    if (!atomic_load(&r->queued)) /* else the inbox still holds it and frees it */
        free(r);
}

void request_look(struct http_request *r)
{
    atomic_exchange(&r->queued, false);
    if (r->closed) {
        free(r);
        return;
    }
    if (r->not_before_ms != 0) {
        r->late_next = r->worker->late;
        r->worker->late = r;
        return;
    }
    if (!r->suspended || (r->state == REQUEST_DEFERRED && !atomic_load(&r->answered)))
        return;
    r->suspended = false;
    r->worker->suspended--;
    MHD_resume_connection(r->mhd);
}

void requests_late(struct worker *w)
{
    struct http_request *wait = NULL;
    bool stopping = atomic_load(&w->server->stopping);
    for (struct http_request *r = TAKE(w->late), *next; r != NULL; r = next) {
        next = r->late_next;
        if (r->not_before_ms > w->now_ms && !stopping) {
            r->late_next = wait;
            wait = r;
            continue;
        }
        r->not_before_ms = 0;
        atomic_store(&r->answered, true);
        request_look(r);
    }
    w->late = wait;
}

/* --- for the loop ----------------------------------------------------------------------------------- */

/* Percent signs are left alone: the router wants to see "%2F" as sent. */
static size_t keep_escapes(void *cls, struct MHD_Connection *mhd, char *text)
{
    (void)cls;
    (void)mhd;
    return strlen(text);
}

/* Every cipher authenticates what it encrypts: no CBC, also for TLS 1.2. No key exchange without forward secrecy. */
#define TLS_PRIORITIES                                                                                     \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:+AES-256-GCM:+AES-128-GCM:+CHACHA20-POLY1305:" \
    "-MAC-ALL:+AEAD:-RSA"

bool mhd_start(struct worker *w)
{
    const struct http_options *o = &w->server->options;
    bool tls = o->cert_pem != NULL;
    struct MHD_OptionItem tls_options[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)o->cert_pem},
                                           {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)o->key_pem},
                                           {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES},
                                           {MHD_OPTION_END, 0, NULL}};
    w->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (tls ? MHD_USE_TLS : 0), 0, NULL, NULL, on_access, w,
        MHD_OPTION_LISTEN_SOCKET, w->listen_fd, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HTTP_CONNECTION_MEMORY_BYTES, MHD_OPTION_CONNECTION_LIMIT, (unsigned)o->connections_max,
        MHD_OPTION_CONNECTION_TIMEOUT, 0U, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, w, MHD_OPTION_NOTIFY_CONNECTION, on_connection, w,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_ARRAY,
        tls ? tls_options : &tls_options[ARRAY_LEN(tls_options) - 1], MHD_OPTION_END);
    if (w->daemon != NULL)
        w->listen_fd = -1;
    return w->daemon != NULL;
}

int mhd_epoll_fd(const struct worker *w)
{
    return MHD_get_daemon_info(w->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int mhd_timeout_ms(struct worker *w)
{
    MHD_UNSIGNED_LONG_LONG ms;
    if (MHD_get_timeout(w->daemon, &ms) != MHD_YES)
        return -1;
    return ms > 1000 ? 1000 : (int)ms;
}

void mhd_run(struct worker *w)
{
    MHD_run(w->daemon);
}

void mhd_quiesce(struct worker *w)
{
    int fd = MHD_quiesce_daemon(w->daemon);
    if (fd >= 0)
        close(fd);
}

void mhd_stop(struct worker *w)
{
    MHD_stop_daemon(TAKE(w->daemon));
}
