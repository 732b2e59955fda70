/*
 * What runs where, of the pods that the watch keeps: pods of one controller (a Job, a ReplicaSet, a training job) are one job. Pods that
 * have no node yet are not kept, so nothing here waits. With them go HyperPod's figures of its nodes.
 */
#include "server/scheduler/kubernetes/private.h"

#include "base/map.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

struct group {
    char *space, *job;
    char **nodes; /* names as Holdfast has them, each once */
    size_t count;
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

static void take_pod(const void *kept, void *arg)
{
    struct gathering *gathering = arg;
    const struct kube_held *pod = kept;
    const char *name = map_get(gathering->names, pod->node);
    autofree char *key = own_printf("%s/%s", pod->node + pod->space, pod->node + pod->job);
    struct group *group = map_get(gathering->groups, key);
    if (group == NULL) {
        group = own_calloc(1, sizeof(*group));
        group->space = own_strdup(pod->node + pod->space);
        group->job = own_strdup(pod->node + pod->job);
        map_set(gathering->groups, key, group);
    }
    if (name == NULL || has(group, name))
        return;
    group->nodes = own_realloc(group->nodes, group->count + 1, sizeof(*group->nodes));
    group->nodes[group->count++] = own_strdup(name);
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

/* Each job's id, namespace, name and nodes, one after the other. */
static void put_jobs(const struct gathering *gathering, struct job_snapshot *snapshot)
{
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
        snapshot->jobs[snapshot->count++].node_count = (int64_t)group->count;
    }
    add_word(&words, "");
    const char *at = job_snapshot_keep(snapshot, text_take(&words));
    for (size_t i = 0; i < snapshot->count; i++) {
        struct cluster_job *job = &snapshot->jobs[i];
        job->id = next_word(&at);
        job->user = job->account = next_word(&at);
        job->name = next_word(&at);
        job->nodes = next_word(&at);
        job->partition = job->reason = "";
        job->state = CLUSTER_JOB_RUNNING;
        job->tasks = 1;
    }
}

static char *show_health(const struct gathering *gathering)
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
    put_jobs(&gathering, snapshot);
    scheduler_snapshot_nodes(snapshot, seen);
    snapshot->metrics = show_health(&gathering);
    free_gathering(&gathering);
    *ret_snapshot = snapshot;
    return 0;
}
