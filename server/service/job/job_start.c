/*
 * The scheduler says of a job that it was requeued how often, but neither where it ran before nor why it does no more. So whatever a snapshot
 * shows for the first time of a job that was requeued, or lost a node, is written down beside what the snapshot before had of it; and what we
 * do to a job ourselves when we do it. Jobs that nothing happens to are never written.
 */
#include "server/service/job/job_start.h"

#include "base/map.h"
#include "base/text.h"
#include "db/job_run.h"
#include "server/service/job/job_run.h"
#include "server/service/private.h"
#include "server/service/scheduler/scheduler.h"

#include <stdio.h>
#include <string.h>

static bool is_started(const struct cluster_job *job)
{
    return job->started_at > 0 && job->nodes[0] != '\0' && job->state != CLUSTER_JOB_PENDING;
}

static bool has_lost_node(const struct cluster_job *job)
{
    return job->state == CLUSTER_JOB_NODE_FAIL;
}

static bool is_news(const struct cluster_job *job, const struct cluster_job *was)
{
    if (job->restarts == 0 && !has_lost_node(job))
        return false;
    return was == NULL || was->restarts != job->restarts || is_started(was) != is_started(job) ||
           has_lost_node(was) != has_lost_node(job);
}

int job_start_keep(struct db_tx *tx, int64_t cluster_id, const struct cluster_job *job)
{
    struct job_run run;
    if (!is_started(job) || job->id[0] == '\0')
        return 0;
    int status = db_job_run_get(tx, cluster_id, job->id, job->restarts, &run);
    if (status == 0 && (run.ended_at == 0 || job->started_at <= run.ended_at))
        return 0;
    if (status == 0) /* its number was given to another job */
        status = db_job_run_forget(tx, cluster_id, job->id);
    else if (status == STATUS_NOT_FOUND)
        status = db_job_run_limit(tx, cluster_id, JOB_RUNS_MAX);
    if (status != 0)
        return status;
    run = (struct job_run){.cluster_id = cluster_id, .restart = job->restarts};
    text_copy_cut(run.job, sizeof(run.job), job->id);
    text_copy_cut(run.nodes, sizeof(run.nodes), job->nodes);
    job_run_fill(&run, job);
    return db_job_run_put(tx, &run);
}

/* --- what a snapshot shows ------------------------------------------------------------------------- */
struct news {
    const struct cluster_job *job, *was; /* was NULL: it was not shown before */
};

struct job_start_finding {
    const struct job_snapshot *snapshot;
    struct news *news;
    size_t count;
    struct cluster *clusters;
    size_t cluster_count;
};

static int add_cluster(const void *row, void *arg)
{
    const struct cluster *cluster = row;
    struct job_start_finding *finding = arg;
    if (!cluster_is_under(cluster, finding->snapshot->scheduler))
        return 0;
    finding->clusters = own_realloc(finding->clusters, finding->cluster_count + 1, sizeof(*finding->clusters));
    finding->clusters[finding->cluster_count++] = *cluster;
    return 0;
}

/* Of the clusters with a node of it each keeps the start. */
static int keep_in_clusters(struct db_tx *tx, const struct job_start_finding *finding, const struct cluster_job *job)
{
    char **names = NULL;
    size_t count = 0;
    int status = 0;
    if (text_hostlist_expand(job->nodes, JOB_HOSTLIST_MAX, &names, &count) != 0)
        return 0;
    for (size_t c = 0; c < finding->cluster_count && status == 0; c++) {
        struct node node;
        int found = STATUS_NOT_FOUND;
        for (size_t i = 0; i < count && found == STATUS_NOT_FOUND; i++)
            found = db_node_get(tx, finding->clusters[c].id, names[i], &node);
        status = found == STATUS_NOT_FOUND ? 0 : found;
        if (found == 0)
            status = job_start_keep(tx, finding->clusters[c].id, job);
    }
    text_list_free(names, count);
    return status;
}

int job_start_keep_found(struct db_tx *tx, struct job_start_finding *finding)
{
    if (finding == NULL)
        return 0;
    finding->cluster_count = 0;
    int status = db_cluster_list(tx, "", 0, add_cluster, finding);
    for (size_t i = 0; i < finding->count && status == 0; i++) {
        const struct news *news = &finding->news[i];
        if (news->was != NULL && is_started(news->was) && news->was->restarts < news->job->restarts)
            status = keep_in_clusters(tx, finding, news->was);
        if (status == 0 && is_started(news->job))
            status = keep_in_clusters(tx, finding, news->job);
    }
    return status;
}

/* Only jobs of whom there may be news are looked for in the snapshot before. */
static void collect(struct job_start_finding *finding, const struct job_snapshot *before,
                    const struct job_snapshot *snapshot)
{
    struct map *old = NULL;
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct cluster_job *job = &snapshot->jobs[i];
        if (!is_news(job, NULL))
            continue;
        if (old == NULL) {
            old = map_new();
            for (size_t b = 0; before != NULL && b < before->count; b++)
                map_set(old, before->jobs[b].id, &before->jobs[b]);
        }
        const struct cluster_job *was = map_get(old, job->id);
        if (!is_news(job, was))
            continue;
        finding->news = own_realloc(finding->news, finding->count + 1, sizeof(*finding->news));
        finding->news[finding->count++] = (struct news){job, was};
    }
    map_free(old);
}

struct job_start_finding *job_start_look(const struct job_snapshot *before, const struct job_snapshot *snapshot)
{
    struct job_start_finding *finding = own_calloc(1, sizeof(*finding));
    finding->snapshot = snapshot;
    collect(finding, before, snapshot);
    if (finding->count > 0)
        return finding;
    job_start_finding_free(finding);
    return NULL;
}

void job_start_finding_free(struct job_start_finding *finding)
{
    if (finding == NULL)
        return;
    free(finding->news);
    free(finding->clusters);
    free(finding);
}

/* --- why it ended --------------------------------------------------------------------------------- */

/* The first of the start's nodes that is down now; "": none. */
static void find_down(const struct job_run *run, const struct job_snapshot *snapshot, char *ret_name, size_t size)
{
    char **names = NULL;
    size_t count = 0;
    ret_name[0] = '\0';
    if (text_hostlist_expand(run->nodes, JOB_HOSTLIST_MAX, &names, &count) != 0)
        return;
    struct map *own = map_new();
    for (size_t i = 0; i < count; i++)
        map_set(own, names[i], own);
    for (size_t i = 0; i < snapshot->node_count && ret_name[0] == '\0'; i++)
        if (snapshot->nodes[i].down && map_get(own, snapshot->nodes[i].name) != NULL)
            text_copy_cut(ret_name, size, snapshot->nodes[i].name);
    map_free(own);
    text_list_free(names, count);
}

/* NULL: its state is no end, or an end that others brought about. */
static const char *own_end(enum cluster_job_state state)
{
    switch (state) {
    case CLUSTER_JOB_UNKNOWN:
        return "the scheduler forgot it before its end was seen";
    case CLUSTER_JOB_COMPLETED:
        return "it ended well";
    case CLUSTER_JOB_CANCELLED:
        return "it was cancelled in the scheduler";
    case CLUSTER_JOB_PREEMPTED:
        return "another job preempted it";
    case CLUSTER_JOB_TIMEOUT:
        return "it reached its time limit";
    case CLUSTER_JOB_DEADLINE:
        return "it reached its deadline";
    case CLUSTER_JOB_BOOT_FAIL:
        return "its nodes did not boot";
    case CLUSTER_JOB_OUT_OF_MEMORY:
        return "it ran out of memory";
    case CLUSTER_JOB_FAILED:
        return "it failed by itself";
    default:
        return NULL;
    }
}

void job_start_tell_end(struct job_run *run, const struct cluster_job *job, const struct job_snapshot *snapshot)
{
    char why[SENTENCE_MAX_BYTES], node[NODE_NAME_MAX_BYTES];
    bool requeued = run->state == CLUSTER_JOB_REQUEUED, failed = run->state == CLUSTER_JOB_NODE_FAIL;
    const char *own = own_end(run->state);
    find_down(run, snapshot, node, sizeof(node));
    if (run->evicted_at > 0 && run->state != CLUSTER_JOB_COMPLETED)
        snprintf(why, sizeof(why), "%s by Holdfast %.400s", requeued ? "requeued" : "ended", run->why);
    else if (requeued || failed)
        snprintf(why, sizeof(why), "%s%s%s",
                 failed            ? "the scheduler ended it: node failure"
                 : node[0] != '\0' ? "the scheduler requeued it: node failure"
                                   : "requeued in the scheduler, by whom is not known",
                 node[0] != '\0' ? " of " : "", node);
    else if (own != NULL)
        snprintf(why, sizeof(why), "%s", own);
    else
        snprintf(why, sizeof(why), "it ended as %s", cluster_job_state_text(job != NULL ? job->state : run->state));
    text_copy_cut(run->why, sizeof(run->why), why);
}

/* --- what we do to it ----------------------------------------------------------------------------- */

int service_job_signalled(struct db_tx *tx, const struct job_snapshot *snapshot, int64_t cluster_id, const char *job)
{
    const struct cluster_job *shown = snapshot == NULL ? NULL : job_run_find(snapshot, job);
    return shown == NULL ? 0 : job_start_keep(tx, cluster_id, shown);
}

/* A snapshot that was taken meanwhile may show it requeued already. */
int service_job_evicted(struct db_tx *tx, const struct job_snapshot *snapshot, int64_t cluster_id, const char *job,
                        int64_t at, const char *why)
{
    struct job_run run;
    const struct cluster_job *shown = snapshot == NULL ? NULL : job_run_find(snapshot, job);
    int status = shown == NULL ? STATUS_NOT_FOUND : job_start_keep(tx, cluster_id, shown);
    if (status == 0)
        status = db_job_run_get(tx, cluster_id, job, shown->restarts - (is_started(shown) ? 0 : 1), &run);
    if (status != 0 || run.evicted_at != 0 || (run.ended_at != 0 && run.state != CLUSTER_JOB_REQUEUED))
        return status == STATUS_NOT_FOUND ? 0 : status;
    run.evicted_at = at;
    snprintf(run.why, sizeof(run.why), "%s%.400s", run.ended_at != 0 ? "requeued by Holdfast " : "", why);
    return db_job_run_put(tx, &run);
}
