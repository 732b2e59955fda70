/* Jobs that wait for nodes for one that is over. The name of such a job says for which one it waits: auto-resume-JOB.STEP-PID-ATTEMPT. */
#include "base/hash.h"
#include "base/text.h"
#include "db/attempt.h"
#include "db/event.h"
#include "server/service/job/job_run.h"
#include "server/service/private.h"
#include "server/service/scheduler/scheduler.h"

#include <string.h>

#define PREFIX "auto-resume-"
#define DIGITS "0123456789"
#define WAITERS_MAX 1000 /* of one snapshot */

/* How many bytes at text are a number, a given byte before it; 0: none. */
static size_t number_after(const char *text, char before)
{
    size_t digits = text[0] == before ? strspn(text + 1, DIGITS) : 0;
    return digits == 0 ? 0 : digits + 1;
}

/* "auto-resume-12_3.0-4711-1": "12_3" */
static bool read_name(const char *name, char ret_job[JOB_ID_MAX_BYTES])
{
    if (!text_starts_with(name, PREFIX))
        return false;
    const char *job = name + strlen(PREFIX);
    size_t len = strspn(job, DIGITS);
    if (len == 0)
        return false;
    len += number_after(job + len, '_');
    const char *rest = job + len;
    for (const char *mark = ".--"; *mark != '\0'; mark++) {
        size_t part = number_after(rest, *mark);
        if (part == 0)
            return false;
        rest += part;
    }
    return *rest == '\0' && text_copy_bytes(ret_job, JOB_ID_MAX_BYTES, job, len) == 0;
}

/* It has nodes, of which some may be missing; one that is back in the queue waits for all of them itself. */
static bool has_nodes(const struct cluster_job *job)
{
    return cluster_job_place(job->state) == CLUSTER_JOB_PLACE_NODES;
}

static bool is_left(const struct job_snapshot *snapshot, const struct cluster_job *waiter, const char *job)
{
    const struct cluster_job *its = job_run_find(snapshot, job);
    bool ends = !job_is_on(waiter) || waiter->state == CLUSTER_JOB_COMPLETING;
    return !ends && (its == NULL || !has_nodes(its) || strcmp(its->user, waiter->user) != 0);
}

struct search {
    const char *scheduler;
    struct job_waiter *waiters;
    bool *news; /* of each: it was not told of lately */
    size_t count;
    struct cluster *clusters;
    size_t cluster_count;
};

/* Each time from another job on, round and round: so many that no cluster knows never hide the others for long. */
static void collect(struct search *search, const struct job_snapshot *before, const struct job_snapshot *snapshot,
                    int64_t now_ms)
{
    const size_t first =
        snapshot->count <= WAITERS_MAX ? 0 : hash_number(HASH_BASIS, (uint64_t)now_ms) % snapshot->count;
    for (size_t i = 0; i < snapshot->count && search->count < WAITERS_MAX; i++) {
        const struct cluster_job *shown = &snapshot->jobs[(first + i) % snapshot->count];
        struct job_waiter waiter;
        if (!read_name(shown->name, waiter.job) || !is_left(snapshot, shown, waiter.job))
            continue;
        const struct cluster_job *was = job_run_find(before, shown->id);
        if (was == NULL || strcmp(was->name, shown->name) != 0 || !is_left(before, was, waiter.job) ||
            text_copy(waiter.id, sizeof(waiter.id), shown->id) != 0 ||
            text_copy(waiter.name, sizeof(waiter.name), shown->name) != 0)
            continue;
        search->waiters = own_realloc(search->waiters, search->count + 1, sizeof(*search->waiters));
        search->waiters[search->count++] = waiter;
    }
}

/* --- what is told --------------------------------------------------------------------------------- */
static int add_cluster(const void *row, void *arg)
{
    const struct cluster *cluster = row;
    struct search *search = arg;
    if (!cluster_is_under(cluster, search->scheduler))
        return 0;
    search->clusters = own_realloc(search->clusters, search->cluster_count + 1, sizeof(*search->clusters));
    search->clusters[search->cluster_count++] = *cluster;
    return 0;
}

static int count_one(const void *row, void *arg)
{
    (void)row;
    ++*(size_t *)arg;
    return 1;
}

static int tell(struct db_tx *tx, const struct cluster *cluster, const struct job_waiter *waiter)
{
    struct event event = {.kind = EVENT_KIND_JOBS, .level = EVENT_LEVEL_WARN, .cluster_id = cluster->id};
    text_copy_cut(event.cluster, sizeof(event.cluster), cluster->name);
    snprintf(event.message, sizeof(event.message),
             "job %s, which waited for nodes for job %s, is cancelled: that job is over, and what would have ended "
             "both was killed",
             waiter->id, waiter->job);
    return db_event_insert(tx, &event);
}

/* Those that no cluster knows go from the list. */
static int tell_all(struct db_tx *tx, void *arg)
{
    struct search *search = arg;
    search->cluster_count = 0;
    int status = db_cluster_list(tx, "", 0, add_cluster, search);
    for (size_t i = 0; i < search->count && status >= 0; i++) {
        struct job_waiter *waiter = &search->waiters[i];
        size_t known = 0;
        for (size_t c = 0; c < search->cluster_count && status >= 0; c++) {
            size_t attempts = 0;
            status = db_attempt_list(tx, search->clusters[c].id, waiter->job, count_one, &attempts);
            if (status >= 0 && attempts > 0 && search->news[i])
                status = tell(tx, &search->clusters[c], waiter);
            known += attempts;
        }
        if (known == 0)
            waiter->id[0] = '\0';
    }
    return status < 0 ? status : 0;
}

int service_job_waiters(struct service *s, const struct job_snapshot *before, const struct job_snapshot *snapshot,
                        struct job_waiter **ret_waiters, size_t *ret_count)
{
    struct search search = {.scheduler = snapshot->scheduler};
    if (before != NULL)
        collect(&search, before, snapshot, clock_wall_ms(s->clock));
    *ret_waiters = search.waiters;
    *ret_count = 0;
    if (search.count == 0)
        return 0;
    search.news = own_calloc(search.count, sizeof(*search.news));
    for (size_t i = 0; i < search.count; i++)
        search.news[i] = memory_announce(s->memory, 0, search.waiters[i].name, clock_wall_ms(s->clock));
    int status = db_write(s->db, "job-waiter", tell_all, &search);
    for (size_t i = 0; i < search.count; i++) {
        if (status != 0)
            memory_announce_not(s->memory, 0, search.waiters[i].name);
        else if (search.waiters[i].id[0] != '\0')
            search.waiters[(*ret_count)++] = search.waiters[i];
    }
    free(search.news);
    free(search.clusters);
    return status;
}
