/*
 * The loop around libmicrohttpd: one thread a worker, each with a listening socket and a daemon of its own, waiting on that
 * daemon's epoll descriptor, on its inbox's eventfd and on a timer.
 *
 * Why not libmicrohttpd's own thread: it drains epoll 128 events at a time and, after a full batch, asks again with its
 * first, possibly endless, timeout before it looks at any of them. When exactly 128, 256, … connections become ready
 * together and the others wait for answers, nobody wakes it. MHD_run asks without waiting, so here that cannot be.
 */
#include "api/http_intern.h"
#include "api/listen.h"
#include "base/own.h"
#include "base/status.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Descriptors that connections leave to the rest of the process: the store, the scheduler's and providers' children.
 * A quarter of them all when they are few. */
#define DESCRIPTORS_KEPT 512
#define DESCRIPTORS_KEPT_PART 4

/* --- the inbox: many push, the worker takes all at once ------------------------------------------------- */

static void worker_kick(struct worker *w)
{
    uint64_t one = 1;
    ssize_t n = write(w->wake_fd, &one, sizeof one); /* fails only when it is already set to the brim */
    (void)n;
}

void inbox_push(struct http_request *r)
{
    struct worker *w = r->worker;
    if (atomic_exchange(&r->queued, true))
        return;
    struct http_request *head = atomic_load_explicit(&w->inbox, memory_order_relaxed);
    do
        r->inbox_next = head;
    while (!atomic_compare_exchange_weak_explicit(&w->inbox, &head, r, memory_order_release, memory_order_relaxed));
    if (head == NULL)
        worker_kick(w);
}

static void inbox_drain(struct worker *w)
{
    uint64_t count;
    ssize_t n = read(w->wake_fd, &count, sizeof count);
    (void)n;
    struct http_request *r = atomic_exchange_explicit(&w->inbox, NULL, memory_order_acquire);
    while (r != NULL) {
        struct http_request *next = r->inbox_next;
        request_look(r);
        r = next;
    }
}

/* --- the loop ------------------------------------------------------------------------------------------ */

/* A client that was slow on purpose. The worker sees the end of the stream and libmicrohttpd cleans up. */
static void expire(struct worker *w)
{
    struct deadline *d;
    while ((d = deadline_next_due(&w->deadlines, w->now_ms)) != NULL) {
        struct http_request *r = (struct http_request *)((char *)d - offsetof(struct http_request, deadline));
        atomic_fetch_add_explicit(&w->expired, 1, memory_order_relaxed);
        shutdown(r->fd, SHUT_RDWR);
    }
}

/* True when the worker may end: nothing is deferred, and what was answered is out or had its time. */
static bool worker_done(struct worker *w)
{
    if (!atomic_load(&w->server->stopping))
        return false;
    if (w->stop_at_ms == 0) {
        w->stop_at_ms = w->now_ms + HTTP_STOP_MS;
        mhd_quiesce(w);
    }
    if (w->suspended > 0 || atomic_load(&w->deferred) > 0)
        return false;
    return w->busy == 0 || w->now_ms >= w->stop_at_ms;
}

static void *worker_run(void *arg)
{
    struct worker *w = arg;
    const struct clock *clock = w->server->options.clock;
    struct epoll_event events[4];
    w->now_ms = clock_mono_ms(clock);
    while (!worker_done(w)) {
        int n = epoll_wait(w->loop_fd, events, (int)ARRAY_LEN(events), mhd_timeout_ms(w));
        w->now_ms = clock_mono_ms(clock);
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == w->wake_fd)
                inbox_drain(w);
            if (events[i].data.fd == w->tick_fd) {
                uint64_t ticks;
                if (read(w->tick_fd, &ticks, sizeof ticks) == sizeof ticks) {
                    expire(w);
                    requests_late(w);
                }
            }
        }
        mhd_run(w);
    }
    mhd_stop(w);
    inbox_drain(w); /* connections that were closed while still queued */
    return NULL;
}

/* --- start and stop ------------------------------------------------------------------------------------ */

static bool worker_watch(struct worker *w, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return fd >= 0 && epoll_ctl(w->loop_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool worker_open(struct worker *w)
{
    int64_t tick = w->server->options.tick_ms;
    struct timespec period = {.tv_sec = tick / MS_PER_S, .tv_nsec = (tick % MS_PER_S) * 1000000};
    struct itimerspec timer = {.it_interval = period, .it_value = period};
    w->loop_fd = epoll_create1(EPOLL_CLOEXEC);
    w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->tick_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (w->loop_fd < 0 || !worker_watch(w, w->wake_fd) || !worker_watch(w, w->tick_fd) ||
        timerfd_settime(w->tick_fd, 0, &timer, NULL) != 0 || !mhd_start(w))
        return false;
    return worker_watch(w, mhd_epoll_fd(w));
}

static void worker_close(struct worker *w)
{
    if (w->daemon != NULL) /* never ran */
        mhd_stop(w);
    int fds[] = {w->listen_fd, w->loop_fd, w->wake_fd, w->tick_fd};
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static void server_free(struct http_server *s)
{
    for (int i = 0; i < s->worker_count; i++)
        worker_close(&s->workers[i]);
    free(s);
}

/* Signals are the main thread's; a write to a closed connection is an error code here, never SIGPIPE. */
static bool worker_spawn(struct worker *w)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&w->thread, NULL, worker_run, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc == 0;
}

static int64_t or_default(int64_t value, int64_t otherwise)
{
    return value > 0 ? value : otherwise;
}

/* How many connections a worker may have, so that whoever opens too many is refused and not the server stopped. */
static int64_t connections_max(int workers)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur > (rlim_t)HTTP_CONNECTIONS_MAX * HTTP_WORKERS_MAX)
        return HTTP_CONNECTIONS_MAX;
    int64_t all = (int64_t)files.rlim_cur, kept = all / DESCRIPTORS_KEPT_PART;
    int64_t each = (all - (kept < DESCRIPTORS_KEPT ? kept : DESCRIPTORS_KEPT)) / workers;
    return each < 1 ? 1 : each < HTTP_CONNECTIONS_MAX ? each : HTTP_CONNECTIONS_MAX;
}

static struct http_server *server_new(const struct http_options *options)
{
    struct http_server *s = own_calloc(1, sizeof *s + (size_t)options->workers * sizeof(struct worker));
    struct http_options *o = &s->options;
    *o = *options;
    o->connections_max = (int)or_default(o->connections_max, connections_max(o->workers));
    o->tick_ms = or_default(o->tick_ms, MS_PER_S);
    s->request_room = o->app->request_room;
    s->worker_count = o->workers;
    for (int i = 0; i < o->workers; i++) {
        struct worker *w = &s->workers[i];
        w->server = s;
        w->index = i;
        w->listen_fd = w->loop_fd = w->wake_fd = w->tick_fd = -1;
        w->deadlines.after_ms[DEADLINE_FIRST] = or_default(o->first_request_ms, HTTP_FIRST_REQUEST_MS);
        w->deadlines.after_ms[DEADLINE_IDLE] = or_default(o->idle_ms, HTTP_IDLE_MS);
        w->deadlines.after_ms[DEADLINE_BODY] = or_default(o->body_ms, HTTP_BODY_MS);
        w->deadlines.after_ms[DEADLINE_REPLY] = or_default(o->reply_ms, HTTP_REPLY_MS);
    }
    return s;
}

static void join_workers(struct http_server *s, int count)
{
    http_stop_begin(s);
    for (int i = 0; i < count; i++)
        pthread_join(s->workers[i].thread, NULL);
}

int http_start(const struct http_options *options, struct http_server **ret_server, char ret_error[HTTP_ERROR_MAX])
{
    int fds[HTTP_WORKERS_MAX];
    uint16_t port;
    int rc = listen_open(options->listen, options->workers, fds, &port, ret_error, HTTP_ERROR_MAX);
    if (rc != 0)
        return rc;
    struct http_server *s = server_new(options);
    s->port = port;
    *ret_server = s; /* handlers may ask for it as soon as the workers run */
    if (options->bound != NULL)
        options->bound(port, options->arg);
    bool ok = true;
    errno = 0;
    for (int i = 0; i < s->worker_count; i++) {
        s->workers[i].listen_fd = fds[i];
        ok = ok && worker_open(&s->workers[i]);
    }
    int spawned = 0;
    while (ok && spawned < s->worker_count && (ok = worker_spawn(&s->workers[spawned])))
        spawned++;
    if (!ok) {
        snprintf(ret_error, HTTP_ERROR_MAX, "cannot serve on \"%s\"%s: %s", options->listen,
                 options->cert_pem != NULL ? " with the given certificate" : "",
                 errno != 0 ? strerror(errno) : "it was not accepted");
        join_workers(s, spawned);
        server_free(s);
        *ret_server = NULL;
        return STATUS_IO;
    }
    return 0;
}

uint16_t http_port(const struct http_server *s)
{
    return s->port;
}

void http_stop_begin(struct http_server *s)
{
    atomic_store(&s->stopping, true);
    for (int i = 0; i < s->worker_count; i++)
        worker_kick(&s->workers[i]);
}

void http_stop(struct http_server *s)
{
    if (s == NULL)
        return;
    join_workers(s, s->worker_count);
    server_free(s);
}

void http_stats(struct http_server *s, struct http_stats *ret_stats)
{
    struct http_stats all = {.buffered_bytes = atomic_load(&s->buffered_bytes)};
    for (int i = 0; i < s->worker_count; i++) {
        struct worker *w = &s->workers[i];
        all.connections += atomic_load(&w->connections);
        all.deferred += atomic_load(&w->deferred);
        all.accepted += atomic_load(&w->accepted);
        all.expired += atomic_load(&w->expired);
    }
    *ret_stats = all;
}
