/*
 * A list and a watch: see cache.h. Objects are known by their uid, so one that was deleted and made again under its name is another one.
 * An object is never replaced by an older one: the answer to a change of ours may come before the watch tells of the change before it.
 *
 * After a failure a small request asks whether the server is there before the watch goes on: a watch says nothing while nothing changes.
 * After a watch that was refused, what is kept counts as current only once the server has accepted another one. A watch that breaks is no
 * outage, nor is one that an overloaded server refuses a few times: a list or a watch that fails after that is one.
 */
#include "server/scheduler/kubernetes/cache.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/kubernetes/object.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define PAGE_SIZE 500
#define PAGES_MAX 2000
#define WATCH_S 300              /* after which the server ends it in order */
#define IDLE_MS (3 * MS_PER_MIN) /* a bookmark comes about once a minute */
#define BACK_OFF_MS_MIN 200
#define BACK_OFF_MS_MAX 2000
#define PAUSE_MS_MAX MS_PER_MIN /* the longest pause that a server is granted */
#define REFUSALS_MAX 5          /* watches that an overloaded server refuses before that is reported */
#define VERSION_MAX 32
#define CONTINUE_MAX 4096

struct entry {
    void *kept;
    uint64_t round; /* of the list that had it last */
};

struct kube_cache {
    struct kube_client *client; /* NULL: without a thread */
    const struct kube_cache_kind *kind;
    pthread_t thread;
    pthread_mutex_t lock; /* over what follows */
    pthread_cond_t changed;
    struct map *entries; /* uid → struct entry */
    uint64_t round;
    bool listed, failing;
    int status;
    char error[SCHEDULER_ERROR_MAX];
    /* The thread's own. */
    char version[VERSION_MAX]; /* "": it has to list */
    int64_t asked_pause_ms;    /* by the last answer: 429 with Retry-After */
    int line_status;
    bool accepted; /* the watch that was begun last */
    bool refused;  /* an outage: a watch that was not accepted */
    int refusals;
};

/* --- what is kept --------------------------------------------------------------------------------------------------- */

static void entry_free(struct entry *entry)
{
    if (entry == NULL)
        return;
    free(entry->kept);
    free(entry);
}

static const char *uid_of(const json_t *object)
{
    return kube_text(json_object_get(object, "metadata"), "uid");
}

static void remove_locked(struct kube_cache *cache, const char *uid)
{
    entry_free(map_remove(cache->entries, uid));
}

static void put_locked(struct kube_cache *cache, const json_t *object)
{
    const char *uid = uid_of(object);
    if (uid[0] == '\0')
        return;
    void *kept = cache->kind->read(object);
    struct entry *entry = map_get(cache->entries, uid);
    if (entry != NULL)
        entry->round = cache->round;
    if (kept == NULL) {
        remove_locked(cache, uid);
    } else if (entry == NULL) {
        entry = own_calloc(1, sizeof(*entry));
        *entry = (struct entry){.kept = kept, .round = cache->round};
        map_set(cache->entries, uid, entry);
    } else if (cache->kind->version(kept) < cache->kind->version(entry->kept)) {
        free(kept);
    } else {
        free(entry->kept);
        entry->kept = kept;
    }
}

/* What the list that has just ended did not have is gone. */
static void sweep_locked(struct kube_cache *cache)
{
    char(*gone)[KUBE_UID_MAX_BYTES] = NULL;
    size_t count = 0, cursor = 0;
    const char *uid;
    void *value;
    while (map_next(cache->entries, &cursor, &uid, &value))
        if (((struct entry *)value)->round != cache->round) {
            gone = own_realloc(gone, count + 1, sizeof(*gone));
            text_copy_cut(gone[count++], sizeof(*gone), uid);
        }
    for (size_t i = 0; i < count; i++)
        remove_locked(cache, gone[i]);
    free(gone);
}

void kube_cache_put(struct kube_cache *cache, const json_t *object)
{
    pthread_mutex_lock(&cache->lock);
    put_locked(cache, object);
    pthread_mutex_unlock(&cache->lock);
}

void kube_cache_each(struct kube_cache *cache, void (*each)(const void *kept, void *arg), void *arg)
{
    size_t cursor = 0;
    const char *uid;
    void *value;
    pthread_mutex_lock(&cache->lock);
    while (map_next(cache->entries, &cursor, &uid, &value))
        each(((struct entry *)value)->kept, arg);
    pthread_mutex_unlock(&cache->lock);
}

/* --- list ----------------------------------------------------------------------------------------------------------- */

static char *list_path(const struct kube_cache *cache, const char *go_on)
{
    autofree char *token = kube_escape(go_on);
    return own_printf("%s?limit=%d%s%s%s%s", cache->kind->path, PAGE_SIZE, cache->kind->query[0] != '\0' ? "&" : "",
                      cache->kind->query, go_on[0] != '\0' ? "&continue=" : "", token);
}

/* One page; ret_continue "" after the last. */
static int list_page(struct kube_cache *cache, const char *go_on, char ret_continue[CONTINUE_MAX])
{
    struct kube_call call;
    char error[SCHEDULER_ERROR_MAX];
    auto_json json_t *page = NULL;
    autofree char *path = list_path(cache, go_on);
    kube_call_start(&call, cache->client, error);
    int status = kube_get(&call, path, &page);
    cache->asked_pause_ms = call.pause_ms;
    const json_t *items = json_object_get(page, "items"), *metadata = json_object_get(page, "metadata");
    if (status == 0 && !json_is_array(items))
        status = kube_call_fail(&call, STATUS_BACKEND, "%s answered a list without items", cache->kind->path);
    if (status == 0 && text_copy(ret_continue, CONTINUE_MAX, kube_text(metadata, "continue")) != 0)
        status = kube_call_fail(&call, STATUS_BACKEND, "%s answered a place to go on from that is too long",
                                cache->kind->path);
    if (status != 0) {
        pthread_mutex_lock(&cache->lock);
        text_copy_cut(cache->error, sizeof(cache->error), error);
        pthread_mutex_unlock(&cache->lock);
        return status;
    }
    text_copy_cut(cache->version, sizeof(cache->version), kube_text(metadata, "resourceVersion"));
    pthread_mutex_lock(&cache->lock);
    for (size_t i = 0; i < json_array_size(items); i++)
        put_locked(cache, json_array_get(items, i));
    pthread_mutex_unlock(&cache->lock);
    return 0;
}

static int list_all(struct kube_cache *cache)
{
    char go_on[CONTINUE_MAX] = "", next[CONTINUE_MAX];
    pthread_mutex_lock(&cache->lock);
    cache->round++;
    pthread_mutex_unlock(&cache->lock);
    for (int pages = 0; pages < PAGES_MAX; pages++) {
        int status = list_page(cache, go_on, next);
        if (status != 0) {
            cache->version[0] = '\0';
            return status;
        }
        text_copy_cut(go_on, sizeof(go_on), next);
        if (go_on[0] != '\0')
            continue;
        pthread_mutex_lock(&cache->lock);
        sweep_locked(cache);
        pthread_mutex_unlock(&cache->lock);
        return 0;
    }
    cache->version[0] = '\0';
    return STATUS_TOO_LARGE;
}

/* --- watch ---------------------------------------------------------------------------------------------------------- */

int kube_cache_line(struct kube_cache *cache, const char *line, size_t len)
{
    auto_json json_t *event = NULL;
    char error[JSON_ERROR_MAX];
    if (json_parse(line, len, len, &event, error) != 0)
        return STATUS_BACKEND;
    const char *type = kube_text(event, "type");
    const json_t *object = json_object_get(event, "object");
    if (strcmp(type, "ERROR") == 0)
        return json_integer_value(json_object_get(object, "code")) == 410 ? STATUS_STALE : STATUS_UNAVAILABLE;
    const char *version = kube_text(json_object_get(object, "metadata"), "resourceVersion");
    if (version[0] == '\0')
        return STATUS_BACKEND;
    pthread_mutex_lock(&cache->lock);
    if (strcmp(type, "DELETED") == 0)
        remove_locked(cache, uid_of(object));
    else if (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0)
        put_locked(cache, object);
    pthread_mutex_unlock(&cache->lock);
    text_copy_cut(cache->version, sizeof(cache->version), version);
    return 0;
}

static void settle(struct kube_cache *cache, int status)
{
    pthread_mutex_lock(&cache->lock);
    cache->failing = status != 0;
    cache->status = status;
    if (status == 0)
        cache->listed = true;
    pthread_cond_broadcast(&cache->changed);
    pthread_mutex_unlock(&cache->lock);
}

static bool on_line(const char *line, size_t len, void *arg)
{
    struct kube_cache *cache = arg;
    if (len == 0) {
        cache->accepted = true;
        cache->refused = false;
        settle(cache, 0);
        return true;
    }
    cache->line_status = kube_cache_line(cache, line, len);
    return cache->line_status == 0;
}

static int watch(struct kube_cache *cache)
{
    struct kube_call call;
    char error[SCHEDULER_ERROR_MAX];
    autofree char *path =
        own_printf("%s?watch=true&allowWatchBookmarks=true&timeoutSeconds=%d&resourceVersion=%s%s%s", cache->kind->path,
                   WATCH_S, cache->version, cache->kind->query[0] != '\0' ? "&" : "", cache->kind->query);
    kube_call_start(&call, cache->client, error);
    cache->line_status = 0;
    cache->accepted = false;
    int status = kube_watch(&call, path, on_line, cache, IDLE_MS);
    cache->asked_pause_ms = call.pause_ms;
    if (cache->line_status != 0 && call.http_status == 200) { /* the lines of a refusal are no changes */
        status = cache->line_status;
        snprintf(error, sizeof(error), "the watch of %s was ended: %s", cache->kind->path, status_meaning(status));
    }
    pthread_mutex_lock(&cache->lock);
    text_copy_cut(cache->error, sizeof(cache->error), error);
    pthread_mutex_unlock(&cache->lock);
    return status;
}

static int ping(struct kube_cache *cache)
{
    struct kube_call call;
    char error[SCHEDULER_ERROR_MAX];
    autofree char *path = own_printf("%s?limit=1", cache->kind->path);
    kube_call_start(&call, cache->client, error);
    int status = kube_get(&call, path, NULL);
    cache->asked_pause_ms = call.pause_ms;
    if (status == 0)
        return 0;
    pthread_mutex_lock(&cache->lock);
    text_copy_cut(cache->error, sizeof(cache->error), error);
    pthread_mutex_unlock(&cache->lock);
    return status;
}

/* After a failure: longer each time, and at least as long as the server asked for. */
static int64_t next_pause(const struct kube_cache *cache, int64_t pause)
{
    pause = pause == 0 ? BACK_OFF_MS_MIN : pause * 2 > BACK_OFF_MS_MAX ? BACK_OFF_MS_MAX : pause * 2;
    int64_t asked = cache->asked_pause_ms > PAUSE_MS_MAX ? PAUSE_MS_MAX : cache->asked_pause_ms;
    return asked > pause ? asked : pause;
}

/* Whether it is an outage. A place that the server has forgotten is none: it lists again. Twice in a row it is one. */
static bool is_outage(struct kube_cache *cache, int status, bool listed, bool failed)
{
    cache->refusals = listed && !cache->accepted && status == STATUS_FULL ? cache->refusals + 1 : 0;
    if (!listed)
        return status != STATUS_STALE || failed;
    return !cache->accepted && status != STATUS_STALE && (status != STATUS_FULL || cache->refusals > REFUSALS_MAX);
}

static void *run(void *arg)
{
    struct kube_cache *cache = arg;
    int64_t pause = 0;
    bool failed = false;
    while (kube_client_sleep(cache->client, pause)) {
        int status = cache->version[0] == '\0' ? list_all(cache) : failed ? ping(cache) : 0;
        bool listed = status == 0;
        int64_t begun = clock_mono_ms(clock_system());
        if (listed && !cache->refused)
            settle(cache, 0);
        if (listed)
            status = watch(cache);
        if (status == 0) {
            failed = false;
            pause = clock_mono_ms(clock_system()) - begun < BACK_OFF_MS_MAX ? BACK_OFF_MS_MIN : 0;
            continue;
        }
        if (status == STATUS_STALE || status == STATUS_BACKEND || status == STATUS_TOO_LARGE)
            cache->version[0] = '\0'; /* that place is forgotten, or what came from there cannot be read */
        if (is_outage(cache, status, listed, failed)) {
            cache->refused = cache->refused || listed;
            settle(cache, status);
        }
        failed = true;
        pause = next_pause(cache, listed && cache->accepted && cache->line_status == 0 ? 0 : pause);
    }
    return NULL;
}

int kube_cache_ready(struct kube_cache *cache, struct kube_call *call)
{
    struct timespec until = clock_deadline(kube_call_left_ms(call));
    int rc = 0;
    pthread_mutex_lock(&cache->lock);
    while (!cache->listed && !cache->failing && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&cache->changed, &cache->lock, &until);
    int status = cache->failing ? cache->status : cache->listed ? 0 : STATUS_TIMEOUT;
    if (status != 0)
        kube_call_fail(call, status, "%s", cache->error[0] != '\0' ? cache->error : "the list is not complete yet");
    pthread_mutex_unlock(&cache->lock);
    return status;
}

/* --- life ----------------------------------------------------------------------------------------------------------- */

struct kube_cache *kube_cache_new_still(const struct kube_cache_kind *kind)
{
    struct kube_cache *cache = own_calloc(1, sizeof(*cache));
    pthread_condattr_t attr;
    cache->kind = kind;
    cache->entries = map_new();
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->changed, &attr);
    pthread_condattr_destroy(&attr);
    return cache;
}

struct kube_cache *kube_cache_new(struct kube_client *client, const struct kube_cache_kind *kind)
{
    struct kube_cache *cache = kube_cache_new_still(kind);
    cache->client = client;
    if (pthread_create(&cache->thread, NULL, run, cache) != 0)
        abort();
    return cache;
}

void kube_cache_free(struct kube_cache *cache)
{
    size_t cursor = 0;
    const char *uid;
    void *value;
    if (cache == NULL)
        return;
    if (cache->client != NULL)
        pthread_join(cache->thread, NULL);
    while (map_next(cache->entries, &cursor, &uid, &value))
        entry_free(value);
    map_free(cache->entries);
    pthread_cond_destroy(&cache->changed);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}
