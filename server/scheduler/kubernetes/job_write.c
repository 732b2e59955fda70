/*
 * What Holdfast writes for a job: its status, its pods, its Secret, its Events. Nothing is written over what people gave: a variable of the
 * environment that the template has stays.
 */
#include "server/scheduler/kubernetes/job_object.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "server/scheduler/kubernetes/job_record.h"
#include "server/scheduler/kubernetes/object.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EVENT_SOURCE "hyperpod-pytorch-job-controller"
#define VOLUME "holdfast-launcher"
#define RECORD_BYTES_MAX ((size_t)200 * 1024)
#define TOKEN_FILE KUBE_JOB_TOKEN_DIR "/token"

/* --- status ---------------------------------------------------------------------------------------------------------- */

static const char *old_transition(const struct workload_job *job, const char *type, const char *status)
{
    const json_t *all = kube_at(job->object, "status", "conditions");
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i);
        if (strcmp(kube_text(one, "type"), type) == 0 && strcmp(kube_text(one, "status"), status) == 0)
            return kube_text(one, "lastTransitionTime");
    }
    return "";
}

static void add_condition(const struct workload_job *job, json_t *all, const char *type, bool on, const char *reason)
{
    const struct job_record *record = job->record;
    const char *status = on ? "True" : "False";
    char since[CLOCK_TEXT_MAX];
    json_t *one = json_object();
    clock_format(record->since, since);
    const char *before = old_transition(job, type, status);
    json_put_text(one, "type", type);
    json_put_text(one, "status", status);
    json_put_text(one, "reason", reason);
    json_object_set_new(one, "message", json_string(on ? record->message : ""));
    json_put_text(one, "lastTransitionTime", before[0] != '\0' ? before : since);
    json_array_append_new(all, one);
}

static json_t *conditions(const struct workload_job *job)
{
    const struct job_record *record = job->record;
    const char *now = job_state_text(record->state);
    bool over = job_is_over(record->state), runs = record->state == JOB_RUNNING;
    json_t *all = json_array();
    if (record->started_at > 0)
        add_condition(job, all, "Created", true, "JobCreated");
    if (record->attempt > 0)
        add_condition(job, all, "PodsRunning", runs || record->state == JOB_LAUNCHING,
                      runs || record->state == JOB_LAUNCHING ? "AllPodsRunning" : now);
    if (record->attempt > 0)
        add_condition(job, all, "Running", runs, runs ? "JobRunning" : record->faulty ? record->fault.reason : now);
    if (record->state == JOB_SUSPENDED || old_transition(job, "Suspended", "True")[0] != '\0' ||
        old_transition(job, "Suspended", "False")[0] != '\0')
        add_condition(job, all, "Suspended", record->state == JOB_SUSPENDED, "SuspendInSpec");
    if (over)
        add_condition(job, all, now, true, record->reason);
    return all;
}

static json_t *latest_fault(const struct workload_job *job)
{
    const struct job_fault *fault = &job->record->fault;
    if (fault->cause == JOB_CAUSE_NONE)
        return json_null();
    json_t *json = json_object(), *nodes = json_array(), *pods = json_array(), *ranks = json_array();
    json_put_text(json, "restartType", fault->level == JOB_LEVEL_JOB ? "JLR" : "PLR");
    if (fault->node[0] != '\0')
        json_array_append_new(nodes, json_string(fault->node));
    if (fault->pod >= 0 && fault->pod < job_pod_count(&job->spec)) {
        autofree char *name = kube_job_pod_name(job, fault->pod);
        json_array_append_new(pods, json_string(name));
    }
    if (fault->rank >= 0) {
        autofree char *rank = own_printf("%d", fault->rank); /* a text, as HyperPod has it */
        json_array_append_new(ranks, json_string(rank));
    }
    json_object_set_new(json, "faultyInstanceIdList", nodes);
    json_object_set_new(json, "faultyPodList", pods);
    json_object_set_new(json, "faultyRankList", ranks);
    return json;
}

static json_t *restart_status(const struct job_record *record)
{
    return json_pack("{s:I, s:I, s:I}", "currentEvalPeriod", (json_int_t)record->window, "fullJobRestartCount",
                     (json_int_t)record->full_restarts, "restartCount", (json_int_t)record->window_restarts);
}

static void put_master(const struct workload_job *job, json_t *status)
{
    const struct job_record *record = job->record;
    bool at_work = record->rank_count > 0 && (record->state == JOB_LAUNCHING || record->state == JOB_RUNNING);
    autofree char *port = own_printf("%d", KUBE_JOB_MASTER_PORT);
    json_object_set_new(status, "masterAddr", at_work ? json_string(job->pods[record->ranks[0]].address) : json_null());
    json_object_set_new(status, "masterPort", at_work ? json_string(port) : json_null());
}

json_t *kube_job_status(const struct workload_job *job)
{
    const struct job_record *record = job->record;
    json_t *status = json_object();
    json_put_time(status, "startTime", record->started_at);
    json_put_time(status, "completionTime", record->completed_at);
    json_put_i64(status, "restartCount", record->restarts + record->node_restarts);
    json_object_set_new(status, "restartStatus", restart_status(record));
    json_object_set_new(status, "conditions", conditions(job));
    json_object_set_new(status, "latestFaultyPodInstanceList", latest_fault(job));
    if (job->spec.elastic.on && record->rank_count > 0)
        json_object_set_new(status, "elasticScalingStatus",
                            json_pack("{s:{s:i}}", "targetReplicas", job->spec.sets[0].name, record->rank_count));
    put_master(job, status);
    return status;
}

/* All annotations of an object have 256 KiB together. The nodes of the ranks, which only help to blame the right one, are left out of a
 * record that is too long. */
char *kube_job_record_text(const struct workload_job *job)
{
    auto_json json_t *json = kube_job_record_json(job->record);
    char *text = json_dumps(json, JSON_COMPACT);
    if (text != NULL && strlen(text) <= RECORD_BYTES_MAX)
        return text;
    free(text);
    json_object_del(json, "nodes");
    return json_dumps(json, JSON_COMPACT);
}

/* --- pods ------------------------------------------------------------------------------------------------------------ */

char *kube_job_pod_name(const struct workload_job *job, int pod)
{
    int number = 0;
    const struct job_set *set = job_pod_set(&job->spec, pod, &number);
    return own_printf("%s-%s-%d", job->name, set != NULL ? set->name : "pod", number);
}

char *kube_job_secret_name(const struct workload_job *job)
{
    return own_printf("holdfast-%s-%s", job->uid, job->key);
}

static json_t *owner(const struct workload_job *job)
{
    return json_pack("[{s:s, s:s, s:s, s:s, s:b}]", "apiVersion", KUBE_JOB_API, "kind", KUBE_JOB_KIND, "name",
                     job->name, "uid", job->uid, "controller", 1);
}

/* The member of that name, made where it is missing; borrowed. */
static json_t *member(json_t *object, const char *name, bool array)
{
    json_t *there = json_object_get(object, name);
    if (array ? !json_is_array(there) : !json_is_object(there)) {
        there = array ? json_array() : json_object();
        json_object_set_new(object, name, there);
    }
    return there;
}

static void put_variable(json_t *list, const char *name, const char *value)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(kube_text(json_array_get(list, i), "name"), name) == 0)
            return;
    json_array_append_new(list, json_pack("{s:s, s:s}", "name", name, "value", value));
}

static void equip_container(const struct workload_job *job, json_t *container)
{
    json_t *list = member(container, "env", true), *mounts = member(container, "volumeMounts", true);
    const char *workers = kube_text(json_object_get(job->object, "spec"), "nprocPerNode");
    autofree char *nodes = own_printf("%d", job_rank_count(&job->spec));
    put_variable(list, "NNODES", nodes);
    put_variable(list, "PET_NNODES", nodes);
    put_variable(list, "PET_NPROC_PER_NODE", workers[0] != '\0' ? workers : "auto");
    put_variable(list, "PET_RDZV_BACKEND", "hyperpod");
    put_variable(list, "PET_SERVER_TOKEN_FILE", TOKEN_FILE);
    put_variable(list, "JOB_NAME", job->name);
    json_array_append_new(mounts,
                          json_pack("{s:s, s:s, s:b}", "name", VOLUME, "mountPath", KUBE_JOB_TOKEN_DIR, "readOnly", 1));
}

/* By the node's name, in each of the terms that are there already. */
static void keep_away(const struct job_record *record, json_t *spec)
{
    if (record->excluded_count == 0)
        return;
    json_t *affinity = member(member(spec, "affinity", false), "nodeAffinity", false);
    json_t *terms =
        member(member(affinity, "requiredDuringSchedulingIgnoredDuringExecution", false), "nodeSelectorTerms", true);
    if (json_array_size(terms) == 0)
        json_array_append_new(terms, json_object());
    for (size_t t = 0; t < json_array_size(terms); t++) {
        json_t *fields = member(json_array_get(terms, t), "matchFields", true);
        for (size_t i = 0; i < record->excluded_count; i++)
            json_array_append_new(fields, json_pack("{s:s, s:s, s:[s]}", "key", "metadata.name", "operator", "NotIn",
                                                    "values", record->excluded[i].node));
    }
}

static json_t *pod_metadata(const struct workload_job *job, const json_t *template, int pod)
{
    const json_t *given = json_object_get(template, "metadata"), *own = json_object_get(job->object, "metadata");
    static const char *const kueue[] = {"kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"};
    json_t *metadata = json_object(), *labels = json_deep_copy(json_object_get(given, "labels"));
    json_t *annotations = json_deep_copy(json_object_get(given, "annotations"));
    autofree char *name = kube_job_pod_name(job, pod);
    char number[24], incarnation[24], short_name[KUBE_WORD_MAX_BYTES];
    if (labels == NULL)
        labels = json_object();
    for (size_t i = 0; i < ARRAY_LEN(kueue); i++)
        if (json_object_get(labels, kueue[i]) == NULL)
            json_put_text(labels, kueue[i], kube_text(json_object_get(own, "labels"), kueue[i]));
    snprintf(number, sizeof(number), "%d", pod);
    snprintf(incarnation, sizeof(incarnation), "%lld", (long long)job->record->incarnations[pod]);
    json_put_text(labels, KUBE_JOB_LABEL, job->uid);
    json_put_text(labels, KUBE_JOB_POD_LABEL, number);
    json_put_text(labels, KUBE_JOB_INCARNATION_LABEL, incarnation);
    if (text_copy(short_name, sizeof(short_name), job->name) == 0) {
        json_put_text(labels, KUBE_JOB_NAME_LABEL, short_name);
        json_put_text(labels, KUBE_JOB_HYP_LABEL, short_name);
    }
    json_put_text(metadata, "name", name);
    json_put_text(metadata, "namespace", job->space);
    json_object_set_new(metadata, "labels", labels);
    if (annotations != NULL)
        json_object_set_new(metadata, "annotations", annotations);
    json_object_set_new(metadata, "ownerReferences", owner(job));
    return metadata;
}

static const json_t *template_of(const struct workload_job *job, int pod)
{
    const json_t *sets = kube_at(job->object, "spec", "replicaSpecs");
    int number = 0;
    const struct job_set *set = job_pod_set(&job->spec, pod, &number);
    return set == NULL ? NULL : json_object_get(json_array_get(sets, (size_t)(set - job->spec.sets)), "template");
}

json_t *kube_job_pod(const struct workload_job *job, int pod)
{
    const json_t *template = template_of(job, pod);
    json_t *spec = json_deep_copy(json_object_get(template, "spec"));
    autofree char *secret = kube_job_secret_name(job);
    if (!json_is_object(spec)) {
        json_decref(spec);
        spec = json_object();
    }
    json_t *containers = json_object_get(spec, "containers");
    for (size_t i = 0; i < json_array_size(containers); i++)
        equip_container(job, json_array_get(containers, i));
    json_array_append_new(member(spec, "volumes", true),
                          json_pack("{s:s, s:{s:s}}", "name", VOLUME, "secret", "secretName", secret));
    if (json_object_get(spec, "restartPolicy") == NULL)
        json_put_text(spec, "restartPolicy", "Never");
    keep_away(job->record, spec);
    return json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", "v1", "kind", "Pod", "metadata",
                     pod_metadata(job, template, pod), "spec", spec);
}

/* --- others ---------------------------------------------------------------------------------------------------------- */

json_t *kube_job_secret(const struct workload_job *job, const char *token)
{
    autofree char *name = kube_job_secret_name(job);
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:o}, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Secret", "metadata",
                     "name", name, "namespace", job->space, "ownerReferences", owner(job), "type", "Opaque",
                     "stringData", "token", token);
}

json_t *kube_job_event(const struct workload_job *job, const struct job_note *note, int64_t now)
{
    char at[CLOCK_TEXT_MAX], attempt[24];
    clock_format(now, at);
    snprintf(attempt, sizeof(attempt), "%lld", (long long)job->record->attempt);
    uint64_t number =
        hash_text(hash_text(hash_text(hash_text(HASH_BASIS, job->uid), attempt), note->reason), note->message);
    /* 16 digits of a name that may have 253 characters */
    autofree char *name = own_printf("%.200s.%016" PRIx64, job->name, number);
    return json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s, s:s}, s:s, s:s, s:s, s:{s:s}, s:s, s:s, s:i}",
                     "apiVersion", "v1", "kind", "Event", "metadata", "name", name, "namespace", job->space,
                     "involvedObject", "apiVersion", KUBE_JOB_API, "kind", KUBE_JOB_KIND, "name", job->name,
                     "namespace", job->space, "uid", job->uid, "type", note->warning ? "Warning" : "Normal", "reason",
                     note->reason, "message", note->message, "source", "component", EVENT_SOURCE, "firstTimestamp", at,
                     "lastTimestamp", at, "count", 1);
}
