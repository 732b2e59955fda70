/*
 * How the scheduler is, and its jobs: the reconcile loop knows and says so here, the APIs read it. One short lock; all sides hold it
 * only to copy.
 */
#include "server/service/scheduler/scheduler.h"
#include "base/text.h"
#include "db/cluster.h"
#include "server/service/private.h"

#include <pthread.h>

struct service_scheduler {
    pthread_mutex_t mutex;
    const char *resume_command, *arn; /* set before it is shown to anybody … */
    bool has_labels;                  /* … likewise */
    const struct role_file_format *role_file;
    struct service_scheduler_status status;
    struct job_snapshot *snapshot; /* NULL: there is none to be shown */
    char why[SERVICE_SCHEDULER_ERROR_MAX];
    uint64_t followed;
    bool has_followed;
};

struct service_scheduler *service_scheduler_new(const char *name, const char *kind)
{
    struct service_scheduler *scheduler = own_calloc(1, sizeof(*scheduler));
    text_copy_cut(scheduler->status.name, sizeof(scheduler->status.name), name);
    text_copy_cut(scheduler->status.kind, sizeof(scheduler->status.kind), kind);
    pthread_mutex_init(&scheduler->mutex, NULL);
    return scheduler;
}

void service_scheduler_free(struct service_scheduler *scheduler)
{
    if (scheduler == NULL)
        return;
    job_snapshot_free(scheduler->snapshot);
    pthread_mutex_destroy(&scheduler->mutex);
    free(scheduler);
}

void service_scheduler_set_resume_command(struct service_scheduler *scheduler, const char *command)
{
    scheduler->resume_command = command;
}

const char *service_scheduler_resume_command(const struct service_scheduler *scheduler)
{
    return scheduler == NULL ? NULL : scheduler->resume_command;
}

void service_scheduler_set_labels(struct service_scheduler *scheduler, bool has_labels)
{
    scheduler->has_labels = has_labels;
}

bool service_scheduler_has_labels(const struct service_scheduler *scheduler)
{
    return scheduler != NULL && scheduler->has_labels;
}

void service_scheduler_set_role_file(struct service_scheduler *scheduler, const struct role_file_format *format)
{
    scheduler->role_file = format;
}

const struct role_file_format *service_scheduler_role_file(const struct service *s, enum orchestrator kind)
{
    for (size_t i = 0; i < s->scheduler_count; i++)
        if (text_equal(service_scheduler_kind(s->schedulers[i]), orchestrator_text(kind)))
            return s->schedulers[i]->role_file;
    return NULL;
}

void service_scheduler_set_arn(struct service_scheduler *scheduler, const char *arn)
{
    scheduler->arn = arn;
}

const char *service_scheduler_arn(const struct service_scheduler *scheduler)
{
    return scheduler == NULL ? "" : text_or_empty(scheduler->arn);
}

struct service_scheduler *service_scheduler_by_arn(const struct service *s, const char *arn)
{
    for (size_t i = 0; i < s->scheduler_count; i++)
        if (arn[0] != '\0' && text_equal(service_scheduler_arn(s->schedulers[i]), arn))
            return s->schedulers[i];
    return NULL;
}

const char *service_scheduler_name(const struct service_scheduler *scheduler)
{
    return scheduler->status.name;
}

const char *service_scheduler_kind(const struct service_scheduler *scheduler)
{
    return scheduler->status.kind;
}

static int say_none(const struct service *s, const char *name, struct problem *problem)
{
    autofree char *names = own_strdup("");
    for (size_t i = 0; i < s->scheduler_count; i++) {
        char *more = own_printf("%s%s%s", names, i > 0 ? ", " : "", service_scheduler_name(s->schedulers[i]));
        free(names);
        names = more;
    }
    if (s->scheduler_count == 0)
        return problem_say(problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND,
                           "This hpd drives no scheduler: give its configuration a schedulers or slurm section.");
    if (name[0] == '\0')
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "This hpd drives several schedulers: name one of %s.", names);
    return problem_say(problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND,
                       "No scheduler \"%s\" in hpd's configuration. It has %s.", name, names);
}

int service_scheduler_find(const struct service *s, const char *name, struct service_scheduler **ret_scheduler,
                           struct problem *ret_problem)
{
    for (size_t i = 0; i < s->scheduler_count; i++)
        if (text_equal(service_scheduler_name(s->schedulers[i]), name) ||
            (name[0] == '\0' && s->scheduler_count == 1)) {
            *ret_scheduler = s->schedulers[i];
            return 0;
        }
    return say_none(s, name, ret_problem);
}

struct service_scheduler *service_scheduler_of(const struct service *s, const struct cluster *cluster)
{
    for (size_t i = 0; i < s->scheduler_count; i++)
        if (cluster_is_under(cluster, service_scheduler_name(s->schedulers[i])))
            return s->schedulers[i];
    return NULL;
}

static int write_adoption(struct db_tx *tx, void *arg)
{
    return db_cluster_adopt_scheduler(tx, arg);
}

int service_scheduler_adopt(struct service *s, const char *name)
{
    return db_write(s->db, "scheduler-adopt", write_adoption, (void *)(uintptr_t)name);
}

void service_scheduler_seen(struct service_scheduler *scheduler, int64_t at)
{
    pthread_mutex_lock(&scheduler->mutex);
    scheduler->status.seen_at = at;
    pthread_mutex_unlock(&scheduler->mutex);
}

void service_scheduler_failed(struct service_scheduler *scheduler)
{
    pthread_mutex_lock(&scheduler->mutex);
    scheduler->status.errors++;
    pthread_mutex_unlock(&scheduler->mutex);
}

void service_scheduler_set(struct service_scheduler *scheduler, const struct service_scheduler_status *status)
{
    pthread_mutex_lock(&scheduler->mutex);
    struct service_scheduler_status *shown = &scheduler->status;
    shown->state = status->state;
    shown->since = status->since;
    text_copy_cut(shown->error, sizeof(shown->error), status->error);
    text_copy_cut(shown->transport, sizeof(shown->transport), status->transport);
    pthread_mutex_unlock(&scheduler->mutex);
}

void service_scheduler_manage(struct service_scheduler *scheduler, enum desired_strategy strategy, const char *drift)
{
    pthread_mutex_lock(&scheduler->mutex);
    scheduler->status.managed = true;
    scheduler->status.strategy = strategy;
    text_copy_cut(scheduler->status.drift, sizeof(scheduler->status.drift), drift);
    pthread_mutex_unlock(&scheduler->mutex);
}

void service_scheduler_get(struct service_scheduler *scheduler, struct service_scheduler_status *ret_status)
{
    *ret_status = (struct service_scheduler_status){.state = SCHEDULER_STATE_UNKNOWN};
    if (scheduler == NULL)
        return;
    pthread_mutex_lock(&scheduler->mutex);
    *ret_status = scheduler->status;
    pthread_mutex_unlock(&scheduler->mutex);
}

void service_scheduler_show(struct service_scheduler *scheduler, struct job_snapshot *snapshot, const char *why)
{
    pthread_mutex_lock(&scheduler->mutex);
    struct job_snapshot *last = scheduler->snapshot;
    scheduler->snapshot = snapshot;
    text_copy_cut(scheduler->why, sizeof(scheduler->why), why);
    pthread_mutex_unlock(&scheduler->mutex);
    job_snapshot_free(last);
}

bool service_scheduler_has_followed(struct service_scheduler *scheduler, uint64_t digest)
{
    pthread_mutex_lock(&scheduler->mutex);
    bool same = scheduler->has_followed && scheduler->followed == digest;
    pthread_mutex_unlock(&scheduler->mutex);
    return same;
}

void service_scheduler_follow(struct service_scheduler *scheduler, uint64_t digest)
{
    pthread_mutex_lock(&scheduler->mutex);
    scheduler->followed = digest;
    scheduler->has_followed = true;
    pthread_mutex_unlock(&scheduler->mutex);
}

struct job_snapshot *service_scheduler_snapshot(struct service_scheduler *scheduler, int64_t now_ms,
                                                char ret_why[SERVICE_SCHEDULER_ERROR_MAX])
{
    struct job_snapshot *snapshot = NULL;
    text_copy_cut(ret_why, SERVICE_SCHEDULER_ERROR_MAX, "it was not asked for its jobs yet");
    if (scheduler == NULL)
        return NULL;
    pthread_mutex_lock(&scheduler->mutex);
    if (scheduler->status.state == SCHEDULER_STATE_DOWN)
        text_copy_cut(ret_why, SERVICE_SCHEDULER_ERROR_MAX, scheduler->status.error);
    else if (scheduler->snapshot != NULL && scheduler->snapshot->stale_at >= now_ms)
        snapshot = job_snapshot_use(scheduler->snapshot);
    else if (scheduler->snapshot != NULL)
        text_copy_cut(ret_why, SERVICE_SCHEDULER_ERROR_MAX, "it has not answered lately");
    else if (scheduler->why[0] != '\0')
        text_copy_cut(ret_why, SERVICE_SCHEDULER_ERROR_MAX, scheduler->why);
    pthread_mutex_unlock(&scheduler->mutex);
    return snapshot;
}
