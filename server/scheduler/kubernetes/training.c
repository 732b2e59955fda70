/*
 * Training jobs on Kubernetes: the jobs and their pods by a list and a watch each, and what the controller asks for. The pods have names that
 * follow from the job, so that one that was made and not heard of is not made again.
 */
#include "server/scheduler/kubernetes/job_object.h"
#include "server/scheduler/kubernetes/private.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define JOBS_PATH "/apis/" KUBE_JOB_API "/hyperpodpytorchjobs"
#define JOB_BYTES_MAX ((size_t)4 * 1024 * 1024) /* etcd holds objects of 1.5 MiB at most */

/* --- what is kept ---------------------------------------------------------------------------------------------------- */

struct kept_job {
    uint64_t version;
    size_t len;
    char text[];
};

/* One that is being deleted is nobody's to carry out: its pods go with it. */
static void *read_job(const json_t *object)
{
    int64_t version;
    if (kube_text(json_object_get(object, "metadata"), "deletionTimestamp")[0] != '\0')
        return NULL;
    autofree char *text = json_dumps(object, JSON_COMPACT);
    if (text == NULL || strlen(text) > JOB_BYTES_MAX)
        return NULL;
    struct kept_job *kept = own_calloc(1, sizeof(*kept) + strlen(text) + 1);
    kept->len = strlen(text);
    memcpy(kept->text, text, kept->len + 1);
    const char *known = kube_text(json_object_get(object, "metadata"), "resourceVersion");
    kept->version = text_parse_i64(known, 0, INT64_MAX, &version) == 0 ? (uint64_t)version : 0;
    return kept;
}

static uint64_t job_version(const void *kept)
{
    return ((const struct kept_job *)kept)->version;
}

static void *read_pod(const json_t *object)
{
    struct kube_job_pod_kept *kept = own_calloc(1, sizeof(*kept));
    if (kube_job_pod_read(object, kept) == 0)
        return kept;
    free(kept);
    return NULL;
}

static uint64_t pod_version(const void *kept)
{
    return ((const struct kube_job_pod_kept *)kept)->version;
}

static int training_caches(struct scheduler *s, struct kube_call *call)
{
    static const struct kube_cache_kind jobs = {
        .path = JOBS_PATH, .query = "", .read = read_job, .version = job_version};
    static const struct kube_cache_kind pods = {
        .path = "/api/v1/pods", .query = "labelSelector=holdfast%2Fjob", .read = read_pod, .version = pod_version};
    pthread_mutex_lock(&s->lock);
    if (s->training_jobs == NULL) {
        s->training_jobs = kube_cache_new(s->client, &jobs);
        s->training_pods = kube_cache_new(s->client, &pods);
    }
    pthread_mutex_unlock(&s->lock);
    int status = kube_caches(s, call);
    if (status == 0)
        status = kube_cache_ready(s->training_jobs, call);
    return status != 0 ? status : kube_cache_ready(s->training_pods, call);
}

/* --- nodes ----------------------------------------------------------------------------------------------------------- */

static void take_node(const void *kept, void *arg)
{
    const struct kube_node *node = kept;
    struct kube_node *copy = own_calloc(1, sizeof(*copy));
    *copy = *node;
    free(map_set(arg, node->object, copy));
}

static void free_nodes(void *nodes)
{
    size_t cursor = 0;
    const char *name;
    void *value;
    while (map_next(nodes, &cursor, &name, &value))
        free(value);
    map_free(nodes);
}

/* A repair is asked for, or the machine is gone. A cordon for another reason lets what runs there run on. */
static const char *fault_of(const struct kube_node *node)
{
    enum scheduler_request request = kube_health_request(node->health);
    if (node->deleting)
        return "the node is being deleted";
    if (strstr(node->external, KUBE_OUT_OF_SERVICE) != NULL)
        return "the node is out of service";
    return request == SCHEDULER_REQUEST_REBOOT    ? "the node waits for a reboot"
           : request == SCHEDULER_REQUEST_REPLACE ? "the node waits for another machine"
                                                  : NULL;
}

static enum job_node_state node_state(const char *name, const void *arg, const char **ret_why)
{
    const struct kube_node *node = map_get(arg, name);
    const char *fault = node == NULL ? "the node is gone" : fault_of(node);
    *ret_why = fault != NULL ? fault : !node->ready ? "the node is not ready" : "";
    if (node == NULL)
        return JOB_NODE_GONE;
    if (fault != NULL)
        return JOB_NODE_FAULTY;
    return !node->ready ? JOB_NODE_LOST : node->unschedulable || node->tainted ? JOB_NODE_HELD : JOB_NODE_WELL;
}

/* --- look ------------------------------------------------------------------------------------------------------------ */

struct looking {
    struct workload_jobs *jobs;
    struct map *by_uid;
};

static int parse_job(const struct kept_job *kept, struct workload_job **ret_job)
{
    auto_json json_t *object = NULL;
    char error[JSON_ERROR_MAX];
    if (json_parse(kept->text, kept->len, JOB_BYTES_MAX, &object, error) != 0)
        return STATUS_BACKEND;
    return kube_job_read(object, ret_job);
}

static void take_job(const void *kept, void *arg)
{
    struct looking *looking = arg;
    struct workload_job *job;
    if (parse_job(kept, &job) != 0)
        return;
    struct workload_jobs *jobs = looking->jobs;
    jobs->list = own_realloc(jobs->list, jobs->count + 1, sizeof(*jobs->list));
    jobs->list[jobs->count++] = job;
    map_set(looking->by_uid, job->uid, job);
}

static void take_pod(const void *kept, void *arg)
{
    const struct kube_job_pod_kept *from = kept;
    const struct looking *looking = arg;
    struct workload_job *job = map_get(looking->by_uid, from->job);
    if (job == NULL || from->number >= job_pod_count(&job->spec))
        return;
    job->seen[from->number] = from->seen;
    job->pods[from->number] = from->pod;
}

static int look(struct scheduler *s, struct workload_jobs *ret_jobs, char *ret_error)
{
    struct kube_call call;
    kube_call_start(&call, s->client, ret_error);
    int status = training_caches(s, &call);
    if (status != 0)
        return status;
    struct looking looking = {ret_jobs, map_new()};
    *ret_jobs = (struct workload_jobs){.node = node_state, .nodes = map_new(), .free_nodes = free_nodes};
    kube_cache_each(s->nodes, take_node, ret_jobs->nodes);
    kube_cache_each(s->training_jobs, take_job, &looking);
    kube_cache_each(s->training_pods, take_pod, &looking);
    map_free(looking.by_uid);
    return 0;
}

/* --- for people ------------------------------------------------------------------------------------------------------ */

struct showing {
    void (*each)(const struct workload_job *job, void *arg);
    void *arg;
};

static void show_job(const void *kept, void *arg)
{
    const struct showing *showing = arg;
    struct workload_job *job;
    if (parse_job(kept, &job) != 0)
        return;
    showing->each(job, showing->arg);
    workload_job_free(job);
}

void kube_training_each(struct scheduler *s, void (*each)(const struct workload_job *job, void *arg), void *arg)
{
    struct showing showing = {each, arg};
    pthread_mutex_lock(&s->lock);
    struct kube_cache *jobs = s->training_jobs;
    pthread_mutex_unlock(&s->lock);
    if (jobs != NULL)
        kube_cache_each(jobs, show_job, &showing);
}

/* What a stored record changed, for the figures: HyperPod's names. Times are in milliseconds. */
static void count(struct scheduler *s, const struct workload_job *job)
{
    AUTO(job_record)
    struct job_record *before = kube_job_record_of(job->object, &job->spec);
    const struct job_record *now = job->record;
    int64_t restarts = now->restarts + now->node_restarts - before->restarts - before->node_restarts;
    struct kube_training_figures *figures = &s->figures;
    pthread_mutex_lock(&s->lock);
    figures->created += before->started_at == 0 && now->started_at != 0;
    figures->successful += before->state != JOB_COMPLETED && now->state == JOB_COMPLETED;
    figures->failed += before->state != JOB_FAILED && now->state == JOB_FAILED;
    figures->restarted += restarts > 0 ? restarts : 0;
    if (!before->faulty && now->faulty) {
        figures->detections++;
        figures->detection_ms += now->since - now->fault.at;
    }
    if (before->faulty && now->state == JOB_RUNNING) {
        figures->remedies++;
        figures->remedy_ms += now->since - now->fault.at;
    }
    pthread_mutex_unlock(&s->lock);
}

static void counter(struct text *text, const char *name, const char *help, const char *type)
{
    text_printf(text, "# HELP hyperpod_training_operator_jobs_%s %s\n# TYPE hyperpod_training_operator_jobs_%s %s\n",
                name, help, name, type);
}

static void summary(struct text *text, const char *name, const char *help, int64_t sum, int64_t count)
{
    counter(text, name, help, "summary");
    text_printf(text, "hyperpod_training_operator_jobs_%s_sum %lld\nhyperpod_training_operator_jobs_%s_count %lld\n",
                name, (long long)sum, name, (long long)count);
}

void kube_training_metrics(struct scheduler *s, struct text *text)
{
    pthread_mutex_lock(&s->lock);
    const struct kube_training_figures figures = s->figures;
    bool on = s->training_jobs != NULL;
    pthread_mutex_unlock(&s->lock);
    const struct {
        const char *name, *help;
        int64_t value;
    } totals[] = {{"created_total", "Training jobs that were begun since hpd started", figures.created},
                  {"successful_total", "Training jobs that completed since hpd started", figures.successful},
                  {"failed_total", "Training jobs that failed since hpd started", figures.failed},
                  {"restarted_total", "Restarts of training jobs, of any level, since hpd started", figures.restarted},
                  {"deleted_total", "Training jobs that were deleted by ttlSecondsAfterFinished", figures.deleted}};
    for (size_t i = 0; on && i < ARRAY_LEN(totals); i++) {
        counter(text, totals[i].name, totals[i].help, "counter");
        text_printf(text, "hyperpod_training_operator_jobs_%s %lld\n", totals[i].name, (long long)totals[i].value);
    }
    if (!on)
        return;
    summary(text, "restart_latency", "Milliseconds from a fault until all ranks ran again", figures.remedy_ms,
            figures.remedies);
    summary(text, "fault_detection_latency", "Milliseconds from a fault until it was seen", figures.detection_ms,
            figures.detections);
}

/* --- act ------------------------------------------------------------------------------------------------------------- */

static char *space_path(const struct workload_job *job, const char *prefix, const char *kind)
{
    autofree char *space = kube_escape(job->space);
    return own_printf("%s/namespaces/%s/%s", prefix, space, kind);
}

static char *job_path(const struct workload_job *job, const char *part)
{
    autofree char *all = space_path(job, "/apis/" KUBE_JOB_API, "hyperpodpytorchjobs");
    autofree char *name = kube_escape(job->name);
    return own_printf("%s/%s%s", all, name, part);
}

static int patch_job(struct scheduler *s, const struct workload_job *job, const char *part, const json_t *patch,
                     char *ret_error)
{
    struct kube_call call;
    auto_json json_t *answer = NULL;
    autofree char *path = job_path(job, part);
    const struct kube_request request = {
        .method = "PATCH", .path = path, .content_type = KUBE_MERGE_PATCH, .body = patch};
    kube_call_start(&call, s->client, ret_error);
    int status = kube_ask(&call, &request, &answer);
    if (status == 0)
        kube_cache_put(s->training_jobs, answer);
    return status == STATUS_CONFLICT || status == STATUS_NOT_FOUND ? STATUS_STALE : status;
}

/* Only as it was looked at: whoever changed it meanwhile is read first. */
static int save(struct scheduler *s, struct workload_job *job, char *ret_error)
{
    const json_t *metadata = json_object_get(job->object, "metadata");
    autofree char *text = kube_job_record_text(job);
    auto_json json_t *patch =
        json_pack("{s:{s:s, s:s, s:{s:s}}}", "metadata", "resourceVersion", kube_text(metadata, "resourceVersion"),
                  "uid", job->uid, "annotations", KUBE_JOB_RECORD_ANNOTATION, text != NULL ? text : "");
    int status = patch_job(s, job, "?fieldManager=" KUBE_FIELD_MANAGER, patch, ret_error);
    if (status == 0)
        count(s, job);
    return status;
}

/* It follows from the record, so nobody's change stands against it. */
static int show(struct scheduler *s, const struct workload_job *job, char *ret_error)
{
    auto_json json_t *patch = json_pack("{s:{s:s}, s:o}", "metadata", "uid", job->uid, "status", kube_job_status(job));
    return patch_job(s, job, "/status?fieldManager=" KUBE_FIELD_MANAGER, patch, ret_error);
}

static int post(struct scheduler *s, const char *path, json_t *body, struct kube_cache *cache, char *ret_error)
{
    struct kube_call call;
    auto_json json_t *answer = NULL;
    const struct kube_request request = {.method = "POST", .path = path, .body = body};
    kube_call_start(&call, s->client, ret_error);
    int status = kube_ask(&call, &request, &answer);
    if (status == 0 && cache != NULL)
        kube_cache_put(cache, answer);
    return status == STATUS_CONFLICT ? 0 : status; /* it is there */
}

static int grant(struct scheduler *s, const struct workload_job *job, const char *token, char *ret_error)
{
    auto_json json_t *secret = kube_job_secret(job, token);
    autofree char *path = space_path(job, "/api/v1", "secrets?fieldManager=" KUBE_FIELD_MANAGER);
    return post(s, path, secret, NULL, ret_error);
}

static int create(struct scheduler *s, const struct workload_job *job, int pod, char *ret_error)
{
    auto_json json_t *body = kube_job_pod(job, pod);
    autofree char *path = space_path(job, "/api/v1", "pods?fieldManager=" KUBE_FIELD_MANAGER);
    return post(s, path, body, s->training_pods, ret_error);
}

static int end_object(struct scheduler *s, const char *path, const char *uid, bool at_once, char *ret_error)
{
    struct kube_call call;
    auto_json json_t *body = json_pack("{s:s, s:s, s:{s:s}, s:s}", "apiVersion", "v1", "kind", "DeleteOptions",
                                       "preconditions", "uid", uid, "propagationPolicy", "Background");
    if (at_once)
        json_put_i64(body, "gracePeriodSeconds", 0);
    kube_call_start(&call, s->client, ret_error);
    int status = kube_ask(&call, &(struct kube_request){.method = "DELETE", .path = path, .body = body}, NULL);
    return status == STATUS_NOT_FOUND || status == STATUS_CONFLICT ? 0 : status; /* gone, or another one by now */
}

static int remove_pod(struct scheduler *s, const struct workload_job *job, int pod, char *ret_error)
{
    autofree char *all = space_path(job, "/api/v1", "pods");
    autofree char *name = kube_escape(job->pods[pod].name);
    autofree char *path = own_printf("%s/%s", all, name);
    return end_object(s, path, job->pods[pod].uid, job->seen[pod].deleting, ret_error);
}

static int tell(struct scheduler *s, const struct workload_job *job, const struct job_note *note, char *ret_error)
{
    auto_json json_t *event = kube_job_event(job, note, clock_wall_ms(clock_system()));
    autofree char *path = space_path(job, "/api/v1", "events?fieldManager=" KUBE_FIELD_MANAGER);
    return post(s, path, event, NULL, ret_error);
}

/* Suspension is the job's own field. A size is an annotation; and so is a restart, whose text is another one each time. */
static json_t *command_patch(const struct job_command *command)
{
    bool suspend = command->kind == JOB_COMMAND_SUSPEND;
    if (suspend || command->kind == JOB_COMMAND_RESUME)
        return json_pack("{s:{s:{s:b}}}", "spec", "runPolicy", "suspend", suspend);
    if (command->kind == JOB_COMMAND_SCALE) {
        autofree char *size = own_printf("%lld", (long long)command->size);
        return json_pack("{s:{s:{s:s}}}", "metadata", "annotations", KUBE_JOB_SIZE_ANNOTATION, size);
    }
    autofree char *text =
        own_printf("%s %lld by %.40s", job_command_kind_text(command->kind), (long long)command->id, command->actor);
    return json_pack("{s:{s:{s:s}}}", "metadata", "annotations", KUBE_JOB_ASKED_ANNOTATION, text);
}

int kube_job_command(struct scheduler *s, const struct job_command *command, char *ret_error)
{
    struct kube_call call;
    auto_json json_t *patch = command_patch(command), *answer = NULL;
    const char *slash = strchr(command->job, '/');
    kube_call_start(&call, s->client, ret_error);
    if (slash == NULL || patch == NULL)
        return STATUS_NOT_FOUND;
    autofree char *word = own_printf("%.*s", (int)(slash - command->job), command->job);
    autofree char *space = kube_escape(word), *name = kube_escape(slash + 1);
    autofree char *path = own_printf(
        "/apis/" KUBE_JOB_API "/namespaces/%s/hyperpodpytorchjobs/%s?fieldManager=" KUBE_FIELD_MANAGER, space, name);
    const struct kube_request request = {
        .method = "PATCH", .path = path, .content_type = KUBE_MERGE_PATCH, .body = patch};
    int status = kube_ask(&call, &request, &answer);
    pthread_mutex_lock(&s->lock);
    struct kube_cache *jobs = s->training_jobs;
    pthread_mutex_unlock(&s->lock);
    if (status == 0 && jobs != NULL)
        kube_cache_put(jobs, answer);
    return call.http_status == 403 ? STATUS_DENIED : status; /* by a policy, too: the same command is refused again */
}

static int forget(struct scheduler *s, const struct workload_job *job, char *ret_error)
{
    autofree char *path = job_path(job, "");
    int status = end_object(s, path, job->uid, false, ret_error);
    pthread_mutex_lock(&s->lock);
    s->figures.deleted += status == 0;
    pthread_mutex_unlock(&s->lock);
    return status;
}

const struct workload_ops kube_training = {.look = look,
                                           .save = save,
                                           .show = show,
                                           .grant = grant,
                                           .create = create,
                                           .remove = remove_pod,
                                           .tell = tell,
                                           .forget = forget};
