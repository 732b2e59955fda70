/*
 * Reads a HyperPodPyTorchJob and its pods. The CRD has checked the spec where it is installed as we ship it; here nothing is believed of
 * it, and what does not fit makes the job one that is refused with a sentence, never one that is half carried out.
 */
#include "server/scheduler/kubernetes/job_object.h"

#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/kubernetes/job_record.h"
#include "server/scheduler/kubernetes/object.h"

#include <stdio.h>
#include <string.h>

#define RECORD_BYTES_MAX ((size_t)512 * 1024)

static void copy(char *dst, size_t size, const char *src)
{
    text_copy_clean(dst, size, src, strlen(src));
}

/* A whole number within limits; otherwise what stands for none. */
static int64_t whole(const json_t *json, const char *key, int64_t none, int64_t max)
{
    const json_t *value = json_object_get(json, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > max)
        return none;
    return json_integer_value(value);
}

static int64_t milliseconds(const json_t *json, const char *key, int64_t none)
{
    int64_t seconds = whole(json, key, -1, INT32_MAX);
    return seconds < 0 ? none : seconds * MS_PER_S;
}

/* --- spec ------------------------------------------------------------------------------------------------------------ */

static int refuse(struct workload_job *job, const char *sentence)
{
    text_copy_cut(job->refused, sizeof(job->refused), sentence);
    return STATUS_INVALID;
}

static int read_set(struct workload_job *job, const json_t *json)
{
    struct job_set *set = &job->spec.sets[job->spec.set_count++];
    const json_t *pod = kube_at(json, "template", "spec");
    if (text_copy(set->name, sizeof(set->name), kube_text(json, "name")) != 0 || !text_is_name(set->name))
        return refuse(job, "spec.replicaSpecs: a name has to be small letters, digits and hyphens");
    if (json_array_size(json_object_get(pod, "containers")) == 0)
        return refuse(job, "spec.replicaSpecs: template.spec.containers is missing");
    set->replicas = (int)whole(json, "replicas", 0, JOB_PODS_MAX);
    set->spares = (int)whole(json, "spares", 0, JOB_PODS_MAX);
    return 0;
}

static void read_policy(struct job_spec *spec, const json_t *policy)
{
    const json_t *restart = json_object_get(policy, "restartPolicy");
    if (job_clean_parse(kube_text(policy, "cleanPodPolicy"), &spec->clean) != 0)
        spec->clean = JOB_CLEAN_ALL;
    spec->suspend = json_is_true(json_object_get(policy, "suspend"));
    spec->retries_max = whole(policy, "jobMaxRetryCount", JOB_NO_LIMIT, INT32_MAX);
    spec->active_deadline_ms = milliseconds(policy, "activeDeadlineSeconds", 0);
    spec->startup_deadline_ms = milliseconds(policy, "startupDeadlineSeconds", 0);
    spec->fault_deadline_ms = milliseconds(policy, "faultDeadlineSeconds", 0);
    spec->ttl_ms = milliseconds(policy, "ttlSecondsAfterFinished", JOB_NO_LIMIT);
    spec->eval_ms = milliseconds(restart, "evalPeriodSeconds", 0);
    spec->restarts_before_full = whole(restart, "numRestartBeforeFullJobRestart", JOB_NO_LIMIT, INT32_MAX);
    spec->full_restarts_max = whole(restart, "maxFullJobRestarts", JOB_NO_LIMIT, INT32_MAX);
    spec->elastic.snooze_ms = milliseconds(restart, "scaleUpSnoozeTimeInSeconds", 0);
    spec->offenders_max = whole(restart, "maxNumRepeatOffendersToAvoid", 0, JOB_EXCLUDED_MAX);
}

/* Of jobs of one set; the most are its pods then. */
static void read_elastic(struct job_spec *spec, const json_t *json, const json_t *set)
{
    struct job_elastic *elastic = &spec->elastic;
    const json_t *sizes = json_object_get(json, "replicaDiscreteValues");
    int64_t own = whole(set, "maxReplicas", spec->sets[0].replicas, JOB_PODS_MAX);
    int64_t most = whole(json, "maxReplicas", own, JOB_PODS_MAX);
    if (!json_is_object(json) || spec->set_count != 1 || most < 1)
        return;
    elastic->on = true;
    spec->sets[0].replicas = (int)most;
    elastic->least = (int)whole(json, "minReplicas", 1, JOB_PODS_MAX);
    elastic->step = (int)whole(json, "replicaIncrementStep", sizes == NULL ? 1 : 0, JOB_PODS_MAX);
    for (size_t i = 0; i < json_array_size(sizes) && i < JOB_SIZES_MAX; i++) {
        const json_t *size = json_array_get(sizes, i);
        if (json_is_integer(size) && json_integer_value(size) > 0 && json_integer_value(size) <= most)
            elastic->sizes[elastic->size_count++] = (int)json_integer_value(size);
    }
    elastic->scaling_ms = milliseconds(json, "scalingTimeoutInSeconds", 60 * MS_PER_S);
    elastic->fault_ms = milliseconds(json, "faultyScaleDownTimeoutInSeconds", 30 * MS_PER_S);
    elastic->graceful_ms = milliseconds(json, "gracefulShutdownTimeoutInSeconds", 600 * MS_PER_S);
}

static int read_spec(struct workload_job *job, const json_t *json)
{
    const json_t *sets = json_object_get(json, "replicaSpecs"), *policy = json_object_get(json, "runPolicy");
    int rc = 0;
    if (json_array_size(sets) == 0 || json_array_size(sets) > JOB_SETS_MAX)
        return refuse(job, "spec.replicaSpecs has to have 1 to 16 sets of pods");
    for (size_t i = 0; i < json_array_size(sets) && rc == 0; i++)
        rc = read_set(job, json_array_get(sets, i));
    if (rc != 0)
        return rc;
    read_elastic(&job->spec, json_object_get(json, "elasticPolicy"), json_array_get(sets, 0));
    if (job_rank_count(&job->spec) == 0 || job_pod_count(&job->spec) > JOB_PODS_MAX)
        return refuse(job, "spec.replicaSpecs: all replicas together have to be 1 or more, with spares 4096 or less");
    read_policy(&job->spec, policy);
    job->rules = json_object_get(policy, "logMonitoringConfiguration");
    return 0;
}

struct job_record *kube_job_record_of(const json_t *object, const struct job_spec *spec)
{
    const char *text = kube_text(kube_at(object, "metadata", "annotations"), KUBE_JOB_RECORD_ANNOTATION);
    auto_json json_t *json = NULL;
    char error[JSON_ERROR_MAX];
    if (text[0] != '\0' && json_parse(text, strlen(text), RECORD_BYTES_MAX, &json, error) != 0)
        json = NULL; /* somebody's hand: the job begins anew */
    return kube_job_record_read(json, spec);
}

int kube_job_read(json_t *object, struct workload_job **ret_job)
{
    const json_t *metadata = json_object_get(object, "metadata");
    struct workload_job *job = own_calloc(1, sizeof(*job));
    if (text_copy(job->name, sizeof(job->name), kube_text(metadata, "name")) != 0 ||
        text_copy(job->space, sizeof(job->space), kube_text(metadata, "namespace")) != 0 ||
        text_copy(job->uid, sizeof(job->uid), kube_text(metadata, "uid")) != 0 || job->name[0] == '\0' ||
        job->uid[0] == '\0') {
        workload_job_free(job);
        return STATUS_BACKEND;
    }
    job->object = json_incref(object);
    if (clock_parse(kube_text(metadata, "creationTimestamp"), &job->created_at) != 0)
        job->created_at = 0;
    if (read_spec(job, json_object_get(object, "spec")) != 0)
        job->spec.set_count = 0;
    const json_t *annotations = json_object_get(metadata, "annotations");
    copy(job->spec.asked, sizeof(job->spec.asked), kube_text(annotations, KUBE_JOB_ASKED_ANNOTATION));
    job->spec.remakes = text_starts_with(job->spec.asked, job_command_kind_text(JOB_COMMAND_REMAKE));
    int64_t size;
    if (text_parse_i64(kube_text(annotations, KUBE_JOB_SIZE_ANNOTATION), 1, JOB_PODS_MAX, &size) == 0)
        job->spec.elastic.most = (int)size; /* what is no size is none */
    job->record = kube_job_record_of(object, &job->spec);
    size_t count = (size_t)job_pod_count(&job->spec);
    job->seen = own_calloc(count + 1, sizeof(*job->seen));
    job->pods = own_calloc(count + 1, sizeof(*job->pods));
    for (size_t i = 0; i < count; i++)
        job->seen[i].progress = -1;
    *ret_job = job;
    return 0;
}

/* --- pods ------------------------------------------------------------------------------------------------------------ */

static const char *owner_of(const json_t *metadata)
{
    const json_t *owners = json_object_get(metadata, "ownerReferences");
    for (size_t i = 0; i < json_array_size(owners); i++) {
        const json_t *owner = json_array_get(owners, i);
        if (strcmp(kube_text(owner, "kind"), KUBE_JOB_KIND) == 0 && json_is_true(json_object_get(owner, "controller")))
            return kube_text(owner, "uid");
    }
    return "";
}

/* Why its containers ended: of the first one that did not end well. */
static void read_end(const json_t *status, struct job_pod *seen)
{
    const json_t *all = json_object_get(status, "containerStatuses");
    copy(seen->ended_as, sizeof(seen->ended_as), kube_text(status, "reason"));
    for (size_t i = 0; i < json_array_size(all) && seen->ended_as[0] == '\0'; i++) {
        const json_t *ended = json_object_get(kube_at(json_array_get(all, i), "state", "terminated"), "reason");
        if (json_is_string(ended) && strcmp(json_string_value(ended), "Completed") != 0)
            copy(seen->ended_as, sizeof(seen->ended_as), json_string_value(ended));
    }
}

static void read_status(const json_t *status, struct kube_job_pod_kept *kept)
{
    const char *phase = kube_text(status, "phase");
    const json_t *conditions = json_object_get(status, "conditions");
    copy(kept->pod.address, sizeof(kept->pod.address), kube_text(status, "podIP"));
    kept->seen.succeeded = strcmp(phase, "Succeeded") == 0;
    kept->seen.finished = kept->seen.succeeded || strcmp(phase, "Failed") == 0;
    kept->seen.running = strcmp(phase, "Running") == 0 && kept->pod.address[0] != '\0';
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);
        if (strcmp(kube_text(condition, "type"), "DisruptionTarget") == 0 &&
            strcmp(kube_text(condition, "status"), "True") == 0)
            kept->seen.disrupted = true;
    }
    if (kept->seen.finished)
        read_end(status, &kept->seen);
}

int kube_job_pod_read(const json_t *object, struct kube_job_pod_kept *ret_kept)
{
    const json_t *metadata = json_object_get(object, "metadata"), *labels = json_object_get(metadata, "labels");
    int64_t number, version;
    struct kube_job_pod_kept *kept = ret_kept;
    *kept = (struct kube_job_pod_kept){.seen = {.exists = true, .progress = -1}};
    if (text_copy(kept->job, sizeof(kept->job), owner_of(metadata)) != 0 || kept->job[0] == '\0' ||
        text_copy(kept->pod.uid, sizeof(kept->pod.uid), kube_text(metadata, "uid")) != 0 ||
        text_copy(kept->pod.name, sizeof(kept->pod.name), kube_text(metadata, "name")) != 0 ||
        text_parse_i64(kube_text(labels, KUBE_JOB_POD_LABEL), 0, JOB_PODS_MAX - 1, &number) != 0)
        return STATUS_BACKEND;
    if (text_parse_i64(kube_text(labels, KUBE_JOB_INCARNATION_LABEL), 0, INT64_MAX, &kept->seen.incarnation) != 0)
        kept->seen.incarnation = -1; /* somebody's hand: it is made anew */
    if (text_parse_i64(kube_text(metadata, "resourceVersion"), 0, INT64_MAX, &version) == 0)
        kept->version = (uint64_t)version;
    kept->number = (int)number;
    kept->seen.deleting = kube_text(metadata, "deletionTimestamp")[0] != '\0';
    copy(kept->seen.node, sizeof(kept->seen.node), kube_text(json_object_get(object, "spec"), "nodeName"));
    read_status(json_object_get(object, "status"), kept);
    return 0;
}
