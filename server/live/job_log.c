/* A short list under one lock: there are as many entries as people who look at a log just now. */
#include "server/live/job_log.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <pthread.h>
#include <string.h>

#define ENTRIES_MAX 64
#define SCHEDULERS_MAX 64
#define KEPT_MS 60000 /* for who asked and has not come back yet */
#define FRESH_MS 2000 /* for who comes next */

enum stage { STAGE_ASKED, STAGE_AT_WORK, STAGE_READ };

struct entry {
    struct job_log_ask ask;
    enum stage stage;
    int64_t at; /* of its stage */
    bool shown;
    int status;
    char error[JOB_LOG_ERROR_MAX];
    struct job_log log;
};

struct job_logs {
    pthread_mutex_t lock; /* over what follows */
    pthread_cond_t changed;
    struct entry entries[ENTRIES_MAX];
    size_t count;
    char served[SCHEDULERS_MAX][NAME_MAX_BYTES];
    size_t served_count;
    bool stopped;
};

struct job_logs *job_logs_new(void)
{
    struct job_logs *logs = own_calloc(1, sizeof(*logs));
    pthread_mutex_init(&logs->lock, NULL);
    pthread_cond_init(&logs->changed, NULL);
    return logs;
}

void job_logs_free(struct job_logs *logs)
{
    if (logs == NULL)
        return;
    for (size_t i = 0; i < logs->count; i++)
        free(logs->entries[i].log.text);
    pthread_cond_destroy(&logs->changed);
    pthread_mutex_destroy(&logs->lock);
    free(logs);
}

static bool is_same(const struct job_log_ask *a, const struct job_log_ask *b)
{
    return strcmp(a->scheduler, b->scheduler) == 0 && strcmp(a->job, b->job) == 0 && a->rank == b->rank &&
           a->lines == b->lines && a->previous == b->previous && strcmp(a->after, b->after) == 0;
}

static struct entry *find(struct job_logs *logs, const struct job_log_ask *ask)
{
    for (size_t i = 0; i < logs->count; i++)
        if (is_same(&logs->entries[i].ask, ask))
            return &logs->entries[i];
    return NULL;
}

/* A reader is at work for an entry: that one stays. */
static void drop_old(struct job_logs *logs, int64_t now_ms)
{
    size_t kept = 0;
    for (size_t i = 0; i < logs->count; i++) {
        const struct entry *entry = &logs->entries[i];
        int64_t age = now_ms - entry->at;
        if (entry->stage != STAGE_AT_WORK && (age >= KEPT_MS || (entry->shown && age >= FRESH_MS)))
            free(entry->log.text);
        else
            logs->entries[kept++] = *entry;
    }
    logs->count = kept;
}

static bool is_served(const struct job_logs *logs, const char *scheduler)
{
    for (size_t i = 0; i < logs->served_count; i++)
        if (strcmp(logs->served[i], scheduler) == 0)
            return true;
    return false;
}

static int add(struct job_logs *logs, const struct job_log_ask *ask, int64_t now_ms)
{
    if (!is_served(logs, ask->scheduler))
        return STATUS_UNSUPPORTED;
    if (logs->count == ENTRIES_MAX)
        return STATUS_FULL;
    logs->entries[logs->count++] = (struct entry){.ask = *ask, .at = now_ms};
    pthread_cond_broadcast(&logs->changed);
    return 0;
}

int job_logs_ask(struct job_logs *logs, const struct job_log_ask *ask, int64_t now_ms, enum job_log_state *ret_state,
                 struct job_log *ret_log, char ret_error[JOB_LOG_ERROR_MAX])
{
    int status = 0;
    ret_error[0] = '\0';
    pthread_mutex_lock(&logs->lock);
    drop_old(logs, now_ms);
    struct entry *entry = find(logs, ask);
    if (entry == NULL)
        status = add(logs, ask, now_ms);
    if (entry == NULL || entry->stage != STAGE_READ) {
        *ret_state = JOB_LOG_ASKED;
    } else {
        *ret_state = JOB_LOG_READ;
        entry->shown = true;
        status = entry->status;
        text_copy_cut(ret_error, JOB_LOG_ERROR_MAX, entry->error);
        *ret_log = entry->log;
        ret_log->text = status == 0 && entry->log.text != NULL ? own_strdup(entry->log.text) : NULL;
    }
    pthread_mutex_unlock(&logs->lock);
    return status;
}

void job_logs_serve(struct job_logs *logs, const char *scheduler)
{
    pthread_mutex_lock(&logs->lock);
    if (logs->served_count < SCHEDULERS_MAX && !is_served(logs, scheduler))
        text_copy_cut(logs->served[logs->served_count++], NAME_MAX_BYTES, scheduler);
    pthread_mutex_unlock(&logs->lock);
}

static struct entry *waiting(struct job_logs *logs, const char *scheduler)
{
    for (size_t i = 0; i < logs->count; i++)
        if (logs->entries[i].stage == STAGE_ASKED && strcmp(logs->entries[i].ask.scheduler, scheduler) == 0)
            return &logs->entries[i];
    return NULL;
}

bool job_logs_next(struct job_logs *logs, const char *scheduler, struct job_log_ask *ret_ask)
{
    struct entry *entry = NULL;
    pthread_mutex_lock(&logs->lock);
    while (!logs->stopped && (entry = waiting(logs, scheduler)) == NULL)
        pthread_cond_wait(&logs->changed, &logs->lock);
    bool goes_on = !logs->stopped;
    if (goes_on) {
        entry->stage = STAGE_AT_WORK;
        *ret_ask = entry->ask;
    }
    pthread_mutex_unlock(&logs->lock);
    return goes_on;
}

void job_logs_answer(struct job_logs *logs, const struct job_log_ask *ask, int status, struct job_log *log,
                     const char *error, int64_t now_ms)
{
    pthread_mutex_lock(&logs->lock);
    struct entry *entry = find(logs, ask);
    if (entry != NULL) {
        entry->stage = STAGE_READ;
        entry->at = now_ms;
        entry->status = status;
        text_copy_cut(entry->error, sizeof(entry->error), error);
        if (log != NULL) {
            entry->log = *log;
            log->text = NULL;
        }
    }
    pthread_mutex_unlock(&logs->lock);
    if (log != NULL)
        free(log->text);
}

void job_logs_stop(struct job_logs *logs)
{
    pthread_mutex_lock(&logs->lock);
    logs->stopped = true;
    pthread_cond_broadcast(&logs->changed);
    pthread_mutex_unlock(&logs->lock);
}
