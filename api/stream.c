/*
 * Streams and the thread that feeds them.
 *
 *      NEW ──► PAST ──► LIVE        (NEW: from now on goes straight to LIVE)
 *        └───────┴────────┴──► ENDED   too slow, token gone, server stopping
 *
 * hub->seen is the newest event given to LIVE streams. A stream in the PAST reads its own pages; a page that is
 * not full was read later than hub->seen was, so from then on LIVE misses nothing, and 'last' keeps it from repeating.
 */
#include "api/stream.h"
#include "api/render.h"
#include "base/status.h"
#include "base/text.h"
#include "server/service/access/access.h"
#include "server/service/event/event.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define PAGE_EVENTS 200

enum stream_state { STREAM_NEW, STREAM_PAST, STREAM_LIVE, STREAM_ENDED };

struct stream {
    struct stream_hub *hub;
    struct stream *prev, *next;
    uint64_t serial; /* a pointer may be another stream after the lock was let go */
    struct http_request *http;
    enum stream_state state;
    char cluster[NAME_MAX_BYTES], node[NODE_NAME_MAX_BYTES];
    char bearer[SERVICE_TOKEN_TEXT_MAX];
    int64_t last; /* id of the last event that was given, or asked to start after */
    struct text pending;
    size_t taken; /* of pending, by the client */
    int64_t wrote_ms, checked_ms;
};

struct stream_hub {
    struct service *service;
    int64_t keep_alive_ms;
    pthread_mutex_t lock; /* guards all below and every stream */
    pthread_cond_t more;
    pthread_t thread;
    struct stream *head;
    int count;
    uint64_t serials;
    bool woken, stopping;
    int64_t seen;
};

static int64_t hub_now(const struct stream_hub *hub)
{
    return clock_mono_ms(hub->service->clock);
}

/* --- one stream (lock held) ------------------------------------------------------------------------- */

/* NULL when it went away. */
static struct stream *stream_find(struct stream_hub *hub, uint64_t serial)
{
    struct stream *st = hub->head;
    while (st != NULL && st->serial != serial)
        st = st->next;
    return st;
}

static void stream_end(struct stream *st)
{
    st->state = STREAM_ENDED;
    http_stream_wake(st->http);
}

static size_t stream_waiting(const struct stream *st)
{
    return st->pending.len - st->taken;
}

static void stream_give(struct stream *st, const char *bytes, size_t len, int64_t now_ms)
{
    if (stream_waiting(st) + len > STREAM_PENDING_BYTES_MAX) {
        stream_end(st);
        return;
    }
    if (st->taken == st->pending.len) {
        text_clear(&st->pending);
        st->taken = 0;
    }
    text_add_bytes(&st->pending, bytes, len);
    st->wrote_ms = now_ms;
    http_stream_wake(st->http);
}

static bool stream_wants(const struct stream *st, const struct event *event)
{
    return event->id > st->last && (st->cluster[0] == '\0' || strcmp(st->cluster, event->cluster) == 0) &&
           (st->node[0] == '\0' || strcmp(st->node, event->node) == 0);
}

/* --- called by the worker ------------------------------------------------------------------------------ */

static ssize_t stream_read(void *arg, char *buffer, size_t max)
{
    struct stream *st = arg;
    struct stream_hub *hub = st->hub;
    pthread_mutex_lock(&hub->lock);
    size_t n = stream_waiting(st);
    n = n < max ? n : max;
    ssize_t result = st->state == STREAM_ENDED ? -1 : (ssize_t)n;
    if (result > 0) {
        memcpy(buffer, st->pending.data + st->taken, n);
        st->taken += n;
        if (st->state == STREAM_PAST && stream_waiting(st) < STREAM_CATCH_UP_BYTES) {
            hub->woken = true;
            pthread_cond_signal(&hub->more);
        }
    }
    pthread_mutex_unlock(&hub->lock);
    return result;
}

static void stream_closed(void *arg)
{
    struct stream *st = arg;
    struct stream_hub *hub = st->hub;
    pthread_mutex_lock(&hub->lock);
    *(st->prev != NULL ? &st->prev->next : &hub->head) = st->next;
    if (st->next != NULL)
        st->next->prev = st->prev;
    hub->count--;
    pthread_mutex_unlock(&hub->lock);
    text_free(&st->pending);
    free(st);
}

static const struct http_stream_ops stream_ops = {.read = stream_read, .closed = stream_closed};

/* --- reading the store (lock not held) ------------------------------------------------------------------- */

struct rendered {
    struct event event; /* its filter fields and id */
    size_t at, len;     /* in batch.text */
};
struct batch {
    struct rendered events[PAGE_EVENTS];
    size_t count;
    struct text text;
};

static int batch_row(const void *row, void *arg)
{
    const struct event *event = row;
    struct batch *batch = arg;
    if (batch->count == PAGE_EVENTS)
        return 0;
    struct rendered *r = &batch->events[batch->count++];
    json_t *json = render_event(event);
    char *data = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    r->event = *event;
    r->at = batch->text.len;
    if (data != NULL)
        text_printf(&batch->text, "id: %lld\nevent: %s\ndata: %s\n\n", (long long)event->id,
                    event_kind_text(event->kind), data);
    r->len = batch->text.len - r->at;
    free(data);
    return 0;
}

/* False when the store could not be read: then nothing is known, and it is tried again. */
static bool batch_read(struct stream_hub *hub, struct batch *batch, const struct db_event_filter *filter)
{
    struct problem problem;
    batch->count = 0;
    text_clear(&batch->text);
    return service_event_list(hub->service, filter, batch_row, batch, &problem) == 0;
}

static bool read_newest(struct stream_hub *hub, struct batch *batch, int64_t *ret_id)
{
    const struct db_event_filter newest = {.newest_first = true, .limit = 1};
    if (!batch_read(hub, batch, &newest))
        return false;
    *ret_id = batch->count > 0 ? batch->events[0].event.id : 0;
    return true;
}

/* --- the turns of the thread (lock held, let go while reading) --------------------------------------------- */

/* New streams learn where they begin. While nobody is LIVE nothing was followed, so following begins here. */
static void turn_start(struct stream_hub *hub, struct batch *batch)
{
    bool any_new = false, any_live = false;
    for (struct stream *st = hub->head; st != NULL; st = st->next) {
        any_new = any_new || st->state == STREAM_NEW;
        any_live = any_live || st->state == STREAM_LIVE;
    }
    if (!any_new)
        return;
    int64_t newest;
    pthread_mutex_unlock(&hub->lock);
    bool ok = read_newest(hub, batch, &newest);
    pthread_mutex_lock(&hub->lock);
    if (!ok)
        return;
    if (!any_live)
        hub->seen = newest;
    for (struct stream *st = hub->head; st != NULL; st = st->next) {
        if (st->state != STREAM_NEW)
            continue;
        st->state = st->last >= 0 ? STREAM_PAST : STREAM_LIVE;
        if (st->last < 0)
            st->last = newest;
    }
}

static void give_batch(struct stream *st, const struct batch *batch, int64_t now_ms)
{
    for (size_t i = 0; i < batch->count && st->state != STREAM_ENDED; i++) {
        const struct rendered *r = &batch->events[i];
        if (!stream_wants(st, &r->event))
            continue;
        stream_give(st, batch->text.data + r->at, r->len, now_ms);
        st->last = r->event.id;
    }
}

/* One page for one stream that is behind and has room; true when there was one. */
static bool turn_past(struct stream_hub *hub, struct batch *batch)
{
    struct stream *st = hub->head;
    while (st != NULL && !(st->state == STREAM_PAST && stream_waiting(st) < STREAM_CATCH_UP_BYTES))
        st = st->next;
    if (st == NULL)
        return false;
    char cluster[NAME_MAX_BYTES], node[NODE_NAME_MAX_BYTES];
    uint64_t serial = st->serial;
    memcpy(cluster, st->cluster, sizeof cluster);
    memcpy(node, st->node, sizeof node);
    const struct db_event_filter filter = {.cluster = cluster[0] != '\0' ? cluster : NULL,
                                           .node = node[0] != '\0' ? node : NULL,
                                           .after_id = st->last,
                                           .limit = PAGE_EVENTS};
    pthread_mutex_unlock(&hub->lock);
    bool ok = batch_read(hub, batch, &filter);
    pthread_mutex_lock(&hub->lock);
    st = stream_find(hub, serial);
    if (!ok || st == NULL || st->state != STREAM_PAST)
        return ok;
    if (batch->count < PAGE_EVENTS)
        st->state = STREAM_LIVE;
    give_batch(st, batch, hub_now(hub));
    return true;
}

/* What is new, for everybody who is LIVE. True when the page was full: there may be more. */
static bool turn_live(struct stream_hub *hub, struct batch *batch)
{
    bool any_live = false;
    for (struct stream *st = hub->head; st != NULL && !any_live; st = st->next)
        any_live = st->state == STREAM_LIVE;
    if (!any_live)
        return false;
    const struct db_event_filter filter = {.after_id = hub->seen, .limit = PAGE_EVENTS};
    pthread_mutex_unlock(&hub->lock);
    bool ok = batch_read(hub, batch, &filter);
    pthread_mutex_lock(&hub->lock);
    if (!ok || batch->count == 0)
        return false;
    for (struct stream *st = hub->head; st != NULL; st = st->next)
        if (st->state == STREAM_LIVE)
            give_batch(st, batch, hub_now(hub));
    hub->seen = batch->events[batch->count - 1].event.id;
    return batch->count == PAGE_EVENTS;
}

/* Looks again at the token of one stream that is due; true when there was one. */
static bool turn_recheck(struct stream_hub *hub)
{
    int64_t now_ms = hub_now(hub);
    char bearer[SERVICE_TOKEN_TEXT_MAX];
    struct actor actor;
    struct stream *st = hub->head;
    while (st != NULL && (st->state == STREAM_ENDED || now_ms - st->checked_ms < STREAM_RECHECK_MS))
        st = st->next;
    if (st == NULL)
        return false;
    uint64_t serial = st->serial;
    st->checked_ms = now_ms;
    memcpy(bearer, st->bearer, sizeof bearer);
    pthread_mutex_unlock(&hub->lock);
    int rc = service_authenticate(hub->service, bearer, &actor);
    pthread_mutex_lock(&hub->lock);
    st = stream_find(hub, serial);
    if (st != NULL && rc == STATUS_UNAUTHENTICATED)
        stream_end(st);
    return true;
}

static void turn_keep_alive(struct stream_hub *hub)
{
    static const char keep_alive[] = ": keep-alive\n\n";
    int64_t now_ms = hub_now(hub);
    for (struct stream *st = hub->head; st != NULL; st = st->next)
        if (st->state != STREAM_ENDED && now_ms - st->wrote_ms >= hub->keep_alive_ms)
            stream_give(st, keep_alive, sizeof keep_alive - 1, now_ms);
}

static void hub_wait(struct stream_hub *hub)
{
    struct timespec until;
    int64_t ms = hub->keep_alive_ms < STREAM_POLL_MS ? hub->keep_alive_ms : STREAM_POLL_MS;
    if (hub->head == NULL) { /* nobody listens: sleep until somebody does */
        while (hub->head == NULL && !hub->stopping)
            pthread_cond_wait(&hub->more, &hub->lock);
        return;
    }
    if (hub->woken || hub->stopping)
        return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (ms % MS_PER_S) * 1000000;
    until.tv_sec += ms / MS_PER_S + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&hub->more, &hub->lock, &until);
}

static void *hub_run(void *arg)
{
    struct stream_hub *hub = arg;
    struct batch *batch = own_calloc(1, sizeof *batch);
    pthread_mutex_lock(&hub->lock);
    while (!hub->stopping) {
        hub_wait(hub);
        hub->woken = false;
        turn_start(hub, batch);
        while (!hub->stopping && (turn_live(hub, batch) || turn_past(hub, batch)))
            ;
        while (!hub->stopping && turn_recheck(hub))
            ;
        turn_keep_alive(hub);
    }
    pthread_mutex_unlock(&hub->lock);
    text_free(&batch->text);
    free(batch);
    return NULL;
}

/* --- from outside ------------------------------------------------------------------------------------------ */

struct stream_hub *stream_hub_new(struct service *service, int64_t keep_alive_ms)
{
    struct stream_hub *hub = own_calloc(1, sizeof *hub);
    pthread_condattr_t attributes;
    sigset_t all, before;
    hub->service = service;
    hub->keep_alive_ms = keep_alive_ms > 0 ? keep_alive_ms : STREAM_KEEP_ALIVE_MS;
    pthread_mutex_init(&hub->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&hub->more, &attributes);
    pthread_condattr_destroy(&attributes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&hub->thread, NULL, hub_run, hub) != 0)
        abort();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return hub;
}

void stream_hub_wake(struct stream_hub *hub)
{
    pthread_mutex_lock(&hub->lock);
    if (hub->head != NULL && !hub->woken) { /* it is called for each stored verdict: nobody is woken for nothing */
        hub->woken = true;
        pthread_cond_signal(&hub->more);
    }
    pthread_mutex_unlock(&hub->lock);
}

void stream_hub_stop(struct stream_hub *hub)
{
    pthread_mutex_lock(&hub->lock);
    hub->stopping = true;
    for (struct stream *st = hub->head; st != NULL; st = st->next)
        stream_end(st);
    pthread_cond_signal(&hub->more);
    pthread_mutex_unlock(&hub->lock);
    pthread_join(hub->thread, NULL);
}

void stream_hub_free(struct stream_hub *hub)
{
    if (hub == NULL)
        return;
    pthread_cond_destroy(&hub->more);
    pthread_mutex_destroy(&hub->lock);
    free(hub);
}

bool stream_open(struct stream_hub *hub, struct http_request *http, const char *bearer, const char *cluster,
                 const char *node, int64_t after)
{
    static const char hello[] = ": the timeline follows\n\n"; /* so that the header leaves at once */
    struct stream *st = own_calloc(1, sizeof *st);
    st->hub = hub;
    st->http = http;
    st->last = after;
    st->wrote_ms = st->checked_ms = hub_now(hub);
    text_copy_cut(st->cluster, sizeof st->cluster, cluster);
    text_copy_cut(st->node, sizeof st->node, node);
    text_copy_cut(st->bearer, sizeof st->bearer, bearer);
    text_add(&st->pending, hello);
    pthread_mutex_lock(&hub->lock);
    bool taken = hub->count < STREAMS_MAX && !hub->stopping;
    if (taken) {
        hub->count++;
        st->serial = ++hub->serials;
        st->next = hub->head;
        if (st->next != NULL)
            st->next->prev = st;
        hub->head = st;
        hub->woken = true;
        http_respond_stream(http, "text/event-stream", &stream_ops, st);
        pthread_cond_signal(&hub->more);
    }
    pthread_mutex_unlock(&hub->lock);
    if (!taken) {
        text_free(&st->pending);
        free(st);
    }
    return taken;
}

void stream_hub_recheck(struct stream_hub *hub)
{
    pthread_mutex_lock(&hub->lock);
    for (struct stream *st = hub->head; st != NULL; st = st->next)
        st->checked_ms = hub_now(hub) - STREAM_RECHECK_MS;
    hub->woken = true;
    pthread_cond_signal(&hub->more);
    pthread_mutex_unlock(&hub->lock);
}

int stream_count(struct stream_hub *hub)
{
    pthread_mutex_lock(&hub->lock);
    int count = hub->count;
    pthread_mutex_unlock(&hub->lock);
    return count;
}
