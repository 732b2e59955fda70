/*
 * What runs where, of the pods that the watch keeps: pods of one controller (a Job, a ReplicaSet, a training job) are one job. Pods that
 * have no node yet are not kept. Training jobs are shown as they stand, also those that wait. With them go HyperPod's figures.
 */
#include "server/scheduler/kubernetes/private.h"
#include "server/scheduler/workload.h"

#include "base/map.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define COMMANDS \
    (JOB_COMMAND_BIT(RESTART) | JOB_COMMAND_BIT(REMAKE) | JOB_COMMAND_BIT(SUSPEND) | JOB_COMMAND_BIT(RESUME))

struct group {
    char *space, *job;
    char **nodes; /* names as Holdfast has them, each once */
    size_t count;
    /* Of a training job: */
    bool training;
    enum cluster_job_state state;
    char reason[JOB_REASON_MAX];
    int64_t restarts, submitted_at, started_at, ends_at;
    int64_t size, size_least, size_most, size_asked;
};

struct gathering {
    struct map *names, *groups; /* object → name, owned; "space/job" → group */
    int64_t health[KUBE_HEALTH_OTHER + 1];
};

static void take_name(const void *kept, void *arg)
{
    struct gathering *gathering = arg;
    const struct kube_node *node = kept;
    gathering->health[node->health]++;
    if (node->name[0] != '\0')
        free(map_set(gathering->names, node->object, own_strdup(node->name)));
}

static bool has(const struct group *group, const char *name)
{
    for (size_t i = 0; i < group->count; i++)
        if (strcmp(group->nodes[i], name) == 0)
            return true;
    return false;
}

static struct group *find_group(struct gathering *gathering, const char *space, const char *job)
{
    autofree char *key = own_printf("%s/%s", space, job);
    struct group *group = map_get(gathering->groups, key);
    if (group != NULL)
        return group;
    group = own_calloc(1, sizeof(*group));
    group->space = own_strdup(space);
    group->job = own_strdup(job);
    group->state = CLUSTER_JOB_RUNNING;
    map_set(gathering->groups, key, group);
    return group;
}

/* object: the node's name in Kubernetes. */
static void add_node(const struct gathering *gathering, struct group *group, const char *object)
{
    const char *name = map_get(gathering->names, object);
    if (name == NULL || has(group, name))
        return;
    group->nodes = own_realloc(group->nodes, group->count + 1, sizeof(*group->nodes));
    group->nodes[group->count++] = own_strdup(name);
}

static void take_pod(const void *kept, void *arg)
{
    struct gathering *gathering = arg;
    const struct kube_held *pod = kept;
    add_node(gathering, find_group(gathering, pod->node + pod->space, pod->node + pod->job), pod->node);
}

/* --- training jobs -------------------------------------------------------------------------------------------------- */

/* In the queue until it first runs, and while it is suspended; on its nodes from then on, also while it is made to run again. */
static enum cluster_job_state state_of(const struct job_record *record)
{
    switch (record->state) {
    case JOB_COMPLETED:
        return CLUSTER_JOB_COMPLETED;
    case JOB_FAILED:
        return CLUSTER_JOB_FAILED;
    case JOB_RUNNING:
        return CLUSTER_JOB_RUNNING;
    case JOB_CREATED:
    case JOB_SUSPENDED:
        return CLUSTER_JOB_PENDING;
    case JOB_GATHERING:
    case JOB_LAUNCHING:
        break;
    }
    return record->first_ran_at > 0 ? CLUSTER_JOB_CONFIGURING : CLUSTER_JOB_PENDING;
}

static const char *reason_of(const struct job_record *record)
{
    if (job_is_over(record->state))
        return record->reason;
    return record->state == JOB_SUSPENDED ? "Suspended" : record->faulty ? record->fault.reason : "";
}

static void take_training(const struct workload_job *job, void *arg)
{
    struct gathering *gathering = arg;
    const struct job_record *record = job->record;
    struct group *group = find_group(gathering, job->space, job->name);
    group->training = true;
    group->state = state_of(record);
    text_copy_cut(group->reason, sizeof(group->reason), reason_of(record));
    group->restarts = record->restarts + record->node_restarts;
    group->submitted_at = job->created_at;
    group->started_at = record->first_ran_at;
    group->ends_at = record->completed_at;
    if (job->spec.elastic.on) {
        group->size = record->rank_count;
        group->size_least = job->spec.elastic.least;
        group->size_most = job_rank_count(&job->spec);
        group->size_asked = job->spec.elastic.most;
    }
    for (int i = 0; i < record->rank_count; i++)
        add_node(gathering, group, record->rank_nodes[i]);
}

/* --- the snapshot --------------------------------------------------------------------------------------------------- */

static void add_word(struct text *words, const char *word)
{
    text_add_bytes(words, word, strlen(word) + 1);
}

static const char *next_word(const char **at)
{
    const char *word = *at;
    *at += strlen(word) + 1;
    return word;
}

/* Where a job that has no nodes may get some: every group of nodes. */
static char *all_groups(const struct scheduler_observation *seen)
{
    struct text all = {0};
    struct map *known = map_new();
    for (size_t i = 0; i < seen->count; i++) {
        const char *group = scheduler_word(seen, seen->nodes[i].partitions);
        if (group[0] != '\0' && map_set(known, group, known) == NULL)
            text_printf(&all, "%s%s", all.len > 0 ? "," : "", group);
    }
    map_free(known);
    return text_take(&all);
}

static void put_figures(struct cluster_job *job, const struct group *group)
{
    job->node_count = (int64_t)group->count;
    job->state = group->state;
    job->restarts = group->restarts;
    job->submitted_at = group->submitted_at;
    job->started_at = group->started_at;
    job->ends_at = group->ends_at;
    job->tasks = 1;
    job->commands = !group->training ? 0 : COMMANDS | (group->size_most > 0 ? JOB_COMMAND_BIT(SCALE) : 0);
    job->size = group->size;
    job->size_least = group->size_least;
    job->size_most = group->size_most;
    job->size_asked = group->size_asked;
}

/* Each job's id, namespace, name, nodes, partitions and reason, one after the other. */
static void put_jobs(const struct gathering *gathering, const struct scheduler_observation *seen,
                     struct job_snapshot *snapshot)
{
    autofree char *groups = all_groups(seen);
    struct text words = {0};
    size_t cursor = 0, count = map_count(gathering->groups);
    const char *key;
    void *value;
    snapshot->jobs = own_calloc(count + 1, sizeof(*snapshot->jobs));
    while (map_next(gathering->groups, &cursor, &key, &value)) {
        const struct group *group = value;
        autofree char *nodes = text_hostlist_compress(group->nodes, group->count);
        add_word(&words, key);
        add_word(&words, group->space);
        add_word(&words, group->job);
        add_word(&words, nodes);
        add_word(&words, group->training && group->count == 0 ? groups : "");
        add_word(&words, group->reason);
        put_figures(&snapshot->jobs[snapshot->count++], group);
    }
    add_word(&words, "");
    const char *at = job_snapshot_keep(snapshot, text_take(&words));
    for (size_t i = 0; i < snapshot->count; i++) {
        struct cluster_job *job = &snapshot->jobs[i];
        job->id = next_word(&at);
        job->user = job->account = next_word(&at);
        job->name = next_word(&at);
        job->nodes = next_word(&at);
        job->partition = next_word(&at);
        job->reason = next_word(&at);
    }
}

static char *show_figures(struct scheduler *s, const struct gathering *gathering)
{
    static const struct {
        enum kube_health health;
        const char *name;
    } figures[] = {{KUBE_HEALTH_SCHEDULABLE, "schedulable"},
                   {KUBE_HEALTH_UNSCHEDULABLE, "unschedulable"},
                   {KUBE_HEALTH_PENDING_REBOOT, "unschedulable_pending_reboot"},
                   {KUBE_HEALTH_PENDING_REPLACEMENT, "unschedulable_pending_replacement"}};
    struct text text = {0};
    for (size_t i = 0; i < ARRAY_LEN(figures); i++)
        text_printf(&text,
                    "# HELP hyperpod_node_health_status_%s Nodes whose node-health-status is %s\n"
                    "# TYPE hyperpod_node_health_status_%s gauge\nhyperpod_node_health_status_%s %lld\n",
                    figures[i].name, kube_health_text(figures[i].health), figures[i].name, figures[i].name,
                    (long long)gathering->health[figures[i].health]);
    kube_training_metrics(s, &text);
    return text_take(&text);
}

static void free_gathering(struct gathering *gathering)
{
    size_t cursor = 0;
    const char *key;
    void *value;
    while (map_next(gathering->names, &cursor, &key, &value))
        free(value);
    for (cursor = 0; map_next(gathering->groups, &cursor, &key, &value);) {
        struct group *group = value;
        text_list_free(group->nodes, group->count);
        free(group->space);
        free(group->job);
        free(group);
    }
    map_free(gathering->names);
    map_free(gathering->groups);
}

int kube_job_snapshot(struct scheduler *s, const struct scheduler_observation *seen, struct job_snapshot **ret_snapshot,
                      char *ret_error)
{
    struct kube_call call;
    kube_call_start(&call, s->client, ret_error);
    int status = kube_caches(s, &call);
    if (status != 0)
        return status;
    struct gathering gathering = {.names = map_new(), .groups = map_new()};
    kube_cache_each(s->nodes, take_name, &gathering);
    kube_cache_each(s->pods, take_pod, &gathering);
    struct job_snapshot *snapshot = job_snapshot_new();
    snapshot->at = seen->at_ms;
    kube_training_each(s, take_training, &gathering);
    put_jobs(&gathering, seen, snapshot);
    scheduler_snapshot_nodes(snapshot, seen);
    snapshot->metrics = show_figures(s, &gathering);
    free_gathering(&gathering);
    *ret_snapshot = snapshot;
    return 0;
}
