/* A map under one lock: there are as many errands as instances that are being prepared, and mostly none. */
#include "server/live/agent_task.h"

#include "base/map.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define NODE_TEXT_MAX 24

struct errand {
    enum errand_kind kind;
    struct lifecycle_job job;
    struct deep_job check;
    struct reset_job reset;
    bool reported;
    struct lifecycle_report report;
};

struct errands {
    pthread_mutex_t lock;
    struct map *map;    /* node's row → struct errand */
    atomic_int waiting; /* so that "none" costs no lock */
};

struct node_text {
    char text[NODE_TEXT_MAX];
};

static struct node_text key_of(int64_t node_id)
{
    struct node_text key;
    snprintf(key.text, sizeof(key.text), "%" PRId64, node_id);
    return key;
}

struct errands *errands_new(void)
{
    struct errands *errands = own_calloc(1, sizeof(*errands));
    pthread_mutex_init(&errands->lock, NULL);
    errands->map = map_new();
    return errands;
}

void errands_free(struct errands *errands)
{
    size_t cursor = 0;
    const char *key;
    void *errand;
    if (errands == NULL)
        return;
    while (map_next(errands->map, &cursor, &key, &errand))
        free(errand);
    map_free(errands->map);
    pthread_mutex_destroy(&errands->lock);
    free(errands);
}

static bool none_waits(struct errands *errands)
{
    return atomic_load_explicit(&errands->waiting, memory_order_relaxed) == 0;
}

static struct errand *find_or_add(struct errands *errands, int64_t node_id)
{
    struct node_text key = key_of(node_id);
    struct errand *errand = map_get(errands->map, key.text);
    if (errand != NULL)
        return errand;
    errand = own_calloc(1, sizeof(*errand));
    map_set(errands->map, key.text, errand);
    atomic_fetch_add(&errands->waiting, 1);
    return errand;
}

void errands_put(struct errands *errands, int64_t node_id, const struct lifecycle_job *job)
{
    pthread_mutex_lock(&errands->lock);
    struct errand *errand = find_or_add(errands, node_id);
    errand->reported = errand->reported && text_equal(errand->job.key, job->key);
    errand->kind = ERRAND_LIFECYCLE;
    errand->job = *job;
    pthread_mutex_unlock(&errands->lock);
}

void errands_put_check(struct errands *errands, int64_t node_id, const struct deep_job *job)
{
    pthread_mutex_lock(&errands->lock);
    struct errand *errand = find_or_add(errands, node_id);
    *errand = (struct errand){.kind = ERRAND_CHECK, .check = *job};
    pthread_mutex_unlock(&errands->lock);
}

void errands_put_reset(struct errands *errands, int64_t node_id, const struct reset_job *job)
{
    pthread_mutex_lock(&errands->lock);
    struct errand *errand = find_or_add(errands, node_id);
    errand->reported = errand->reported && text_equal(errand->reset.key, job->key);
    errand->kind = ERRAND_RESET;
    errand->reset = *job;
    pthread_mutex_unlock(&errands->lock);
}

void errands_drop(struct errands *errands, int64_t node_id)
{
    if (none_waits(errands))
        return;
    struct node_text key = key_of(node_id);
    pthread_mutex_lock(&errands->lock);
    autofree struct errand *errand = map_remove(errands->map, key.text);
    if (errand != NULL)
        atomic_fetch_sub(&errands->waiting, 1);
    pthread_mutex_unlock(&errands->lock);
}

/* Locked. NULL when nothing of the kind is asked for. */
static struct errand *find(struct errands *errands, int64_t node_id, enum errand_kind kind)
{
    struct node_text key = key_of(node_id);
    struct errand *errand = map_get(errands->map, key.text);
    return errand != NULL && errand->kind == kind ? errand : NULL;
}

/* Locked. NULL when nothing under this key is asked for that is reported here. */
static struct errand *find_by_key(struct errands *errands, int64_t node_id, const char *key)
{
    struct errand *scripts = find(errands, node_id, ERRAND_LIFECYCLE), *reset = find(errands, node_id, ERRAND_RESET);
    if (scripts != NULL && text_equal(scripts->job.key, key))
        return scripts;
    return reset != NULL && text_equal(reset->reset.key, key) ? reset : NULL;
}

enum errand_kind errands_key(struct errands *errands, int64_t node_id, const char *instance_id,
                             char ret_key[KEY_MAX_BYTES])
{
    if (none_waits(errands))
        return ERRAND_NONE;
    enum errand_kind kind = ERRAND_NONE;
    pthread_mutex_lock(&errands->lock);
    const struct errand *scripts = find(errands, node_id, ERRAND_LIFECYCLE);
    const struct errand *check = find(errands, node_id, ERRAND_CHECK);
    const struct errand *reset = find(errands, node_id, ERRAND_RESET);
    if (check != NULL && text_equal(check->check.instance_id, instance_id)) {
        kind = ERRAND_CHECK;
        text_copy_cut(ret_key, KEY_MAX_BYTES, check->check.key);
    } else if (scripts != NULL && text_equal(scripts->job.instance_id, instance_id) &&
               !(scripts->reported && scripts->report.final)) {
        kind = ERRAND_LIFECYCLE;
        text_copy_cut(ret_key, KEY_MAX_BYTES, scripts->job.key);
    } else if (reset != NULL && text_equal(reset->reset.instance_id, instance_id) &&
               !(reset->reported && reset->report.final)) {
        kind = ERRAND_RESET;
        text_copy_cut(ret_key, KEY_MAX_BYTES, reset->reset.key);
    }
    pthread_mutex_unlock(&errands->lock);
    return kind;
}

int errands_get(struct errands *errands, int64_t node_id, struct lifecycle_job *ret_job)
{
    pthread_mutex_lock(&errands->lock);
    const struct errand *errand = find(errands, node_id, ERRAND_LIFECYCLE);
    if (errand != NULL)
        *ret_job = errand->job;
    pthread_mutex_unlock(&errands->lock);
    return errand == NULL ? STATUS_NOT_FOUND : 0;
}

int errands_get_check(struct errands *errands, int64_t node_id, struct deep_job *ret_job)
{
    pthread_mutex_lock(&errands->lock);
    const struct errand *errand = find(errands, node_id, ERRAND_CHECK);
    if (errand != NULL)
        *ret_job = errand->check;
    pthread_mutex_unlock(&errands->lock);
    return errand == NULL ? STATUS_NOT_FOUND : 0;
}

int errands_get_reset(struct errands *errands, int64_t node_id, struct reset_job *ret_job)
{
    pthread_mutex_lock(&errands->lock);
    const struct errand *errand = find(errands, node_id, ERRAND_RESET);
    if (errand != NULL)
        *ret_job = errand->reset;
    pthread_mutex_unlock(&errands->lock);
    return errand == NULL ? STATUS_NOT_FOUND : 0;
}

int errands_report(struct errands *errands, int64_t node_id, const struct lifecycle_report *report)
{
    pthread_mutex_lock(&errands->lock);
    struct errand *errand = find_by_key(errands, node_id, report->key);
    bool asked = errand != NULL;
    if (asked && !(errand->reported && errand->report.final)) {
        errand->report = *report;
        errand->reported = true;
    }
    pthread_mutex_unlock(&errands->lock);
    return asked ? 0 : STATUS_STALE;
}

bool errands_last(struct errands *errands, int64_t node_id, const char *key, struct lifecycle_report *ret_report,
                  bool *ret_asked)
{
    pthread_mutex_lock(&errands->lock);
    const struct errand *errand = find_by_key(errands, node_id, key);
    *ret_asked = errand != NULL;
    bool reported = *ret_asked && errand->reported;
    if (reported)
        *ret_report = errand->report;
    pthread_mutex_unlock(&errands->lock);
    return reported;
}
