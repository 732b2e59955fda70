/*
 * HyperPod's job auto restart for PyTorchJobs of Kubeflow: a job with the annotation enable-job-auto-resume "true" is made to run again as a
 * whole when a node of it is drained. Kubeflow's operator makes one pod anew; the others would wait for it in a collective until they
 * time out. So they are deleted, too, at most job-max-retry-count times, with the Event PyTorchJobRestarting on the job.
 *
 * holdfast/restarts on the job counts. Of the last restart it has the node, the uids of the job's pods there and of those elsewhere. It is
 * written before the first pod is deleted. An interrupted restart goes on by it: it counts once and never deletes a pod that was made anew.
 * A second node of the job that is drained meanwhile finds its pods there, and belongs to the same restart. The pods of the node leave
 * last, by eviction, as all others do.
 */
#include "server/scheduler/kubernetes/private.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define KIND "PyTorchJob"
#define API "kubeflow.org/v1"
#define ASKS_ANNOTATION KUBE_HYPERPOD "enable-job-auto-resume"
#define MOST_ANNOTATION KUBE_HYPERPOD "job-max-retry-count"
#define RECORD_ANNOTATION "holdfast/restarts"
#define JOB_LABEL "training.kubeflow.org/job-name" /* Kubeflow's, on each pod of a job */
#define PAGE_SIZE 500
#define RUNNING "fieldSelector=status.phase%%21%%3DSucceeded%%2Cstatus.phase%%21%%3DFailed"
#define OTHERS_MAX 3000               /* uids of 36 bytes in the record */
#define RECORD_BYTES_MAX (128 * 1024) /* all annotations of an object have 256 KiB */
#define RESTARTS_MAX 1000000
#define TRIES_MAX 5

struct restart {
    struct kube_call *call;
    const char *space, *name, *node;
    const struct kube_pod *pods; /* of the node, of all jobs */
    size_t pod_count;
    json_t *job;             /* as it was looked at */
    json_t *record;          /* of its annotation; an empty object: never */
    int64_t most;            /* restarts; negative: not limited */
    struct kube_pod *listed; /* of the job, on all nodes, neither finished nor being deleted */
    size_t listed_count;
};

static bool is_of(const struct restart *r, const struct kube_pod *pod)
{
    return strcmp(pod->owner_kind, KIND) == 0 && strcmp(pod->owner, r->name) == 0 && strcmp(pod->space, r->space) == 0;
}

static char *path_of(const struct restart *r)
{
    autofree char *space = kube_escape(r->space), *name = kube_escape(r->name);
    return own_printf("/apis/" API "/namespaces/%s/pytorchjobs/%s", space, name);
}

static int64_t count_of(const struct restart *r)
{
    json_int_t count = json_integer_value(json_object_get(r->record, "count"));
    return count > 0 && count < RESTARTS_MAX ? (int64_t)count : 0;
}

/* --- what the job says ---------------------------------------------------------------------------------------------- */

/* A limit that cannot be read allows no restart; none that is said allows each. */
static int64_t read_most(const char *text)
{
    int64_t most;
    if (text[0] == '\0')
        return -1;
    return text_parse_i64(text, 0, RESTARTS_MAX, &most) == 0 ? most : 0;
}

static int look(struct restart *r)
{
    autofree char *path = path_of(r);
    char error[JSON_ERROR_MAX];
    int status = kube_get(r->call, path, &r->job);
    if (status != 0)
        return status;
    const json_t *annotations = kube_at(r->job, "metadata", "annotations");
    const char *text = kube_text(annotations, RECORD_ANNOTATION);
    if (text[0] == '\0' || json_parse(text, strlen(text), RECORD_BYTES_MAX, &r->record, error) != 0)
        r->record = json_object();
    r->most = read_most(kube_text(annotations, MOST_ANNOTATION));
    return 0;
}

static void forget(struct restart *r)
{
    json_decref(r->job);
    json_decref(r->record);
    r->job = r->record = NULL;
}

/* Kubeflow's operator ends a job that has come to an end itself. */
static bool wants_restart(const struct restart *r)
{
    const json_t *metadata = json_object_get(r->job, "metadata");
    return strcmp(kube_text(json_object_get(metadata, "annotations"), ASKS_ANNOTATION), "true") == 0 &&
           kube_text(metadata, "deletionTimestamp")[0] == '\0';
}

static bool has_uid(const json_t *uids, const char *uid)
{
    for (size_t i = 0; i < json_array_size(uids); i++) {
        const char *one = json_string_value(json_array_get(uids, i));
        if (one != NULL && strcmp(one, uid) == 0)
            return true;
    }
    return false;
}

/* The last restart is of one of the pods that have to leave: it was for this node, or found them when it began for another one. */
static bool is_known(const struct restart *r)
{
    const json_t *here = json_object_get(r->record, "pods"), *others = json_object_get(r->record, "others");
    for (size_t i = 0; i < r->pod_count; i++)
        if (is_of(r, &r->pods[i]) && !r->pods[i].deleting &&
            (has_uid(here, r->pods[i].uid) || has_uid(others, r->pods[i].uid)))
            return true;
    return false;
}

static bool is_done(const struct restart *r)
{
    return json_is_true(json_object_get(r->record, "done"));
}

/* The API server will not do it, however often it is asked. */
static bool is_refused(const struct restart *r, int status)
{
    return status == STATUS_DENIED || status == STATUS_INVALID || status == STATUS_TOO_LARGE ||
           (status == STATUS_BACKEND && r->call->http_status == 403); /* an admission policy */
}

/* --- the pods of the job -------------------------------------------------------------------------------------------- */

static void keep_listed(struct restart *r, const json_t *items)
{
    size_t count = r->listed_count + json_array_size(items);
    r->listed = own_realloc(r->listed, count + 1, sizeof(*r->listed));
    for (size_t i = 0; i < json_array_size(items); i++) {
        struct kube_pod *pod = &r->listed[r->listed_count];
        if (kube_pod_read(json_array_get(items, i), pod) == 0 && is_of(r, pod) && !pod->deleting && !pod->finished)
            r->listed_count++;
    }
}

static int list_page(struct restart *r, char **go_on)
{
    auto_json json_t *list = NULL;
    autofree char *space = kube_escape(r->space), *name = kube_escape(r->name), *token = kube_escape(*go_on);
    autofree char *path = own_printf("/api/v1/namespaces/%s/pods?limit=%d&" RUNNING
                                     "&labelSelector=training.kubeflow.org%%2Fjob-name%%3D%s%s%s",
                                     space, PAGE_SIZE, name, token[0] != '\0' ? "&continue=" : "", token);
    int status = kube_get(r->call, path, &list);
    const json_t *items = json_object_get(list, "items");
    if (status == 0 && !json_is_array(items))
        status = kube_call_fail(r->call, STATUS_BACKEND, "Kubernetes answered the pods of %s/%s without items",
                                r->space, r->name);
    if (status != 0)
        return status;
    keep_listed(r, items);
    free(*go_on);
    *go_on = own_strdup(kube_text(json_object_get(list, "metadata"), "continue"));
    return 0;
}

static int list_pods(struct restart *r)
{
    autofree char *go_on = own_strdup("");
    int status;
    free(r->listed);
    r->listed = NULL;
    r->listed_count = 0;
    do
        status = list_page(r, &go_on);
    while (status == 0 && go_on[0] != '\0' && r->listed_count <= OTHERS_MAX + r->pod_count);
    return status == STATUS_STALE ? STATUS_CONFLICT : status; /* the list was too slow: from its begin again */
}

/* --- what is done --------------------------------------------------------------------------------------------------- */

static int patch_record(struct restart *r, const char *text)
{
    autofree char *path = path_of(r), *full = own_printf("%s?fieldManager=" KUBE_FIELD_MANAGER, path);
    auto_json json_t *patch = json_pack("{s:{s:s, s:{s:s}}}", "metadata", "resourceVersion",
                                        kube_text(json_object_get(r->job, "metadata"), "resourceVersion"),
                                        "annotations", RECORD_ANNOTATION, text);
    return kube_ask(
        r->call,
        &(struct kube_request){.method = "PATCH", .path = full, .content_type = KUBE_MERGE_PATCH, .body = patch}, NULL);
}

/* record is taken. Kubeflow's operator often changes the job while its pods go: then it is tried again. CONFLICT: somebody changed the
 * record, or the operator was faster at each try. */
static int write_record(struct restart *r, json_t *record)
{
    autofree char *text = json_dumps(record, JSON_COMPACT);
    int status =
        strlen(text) < RECORD_BYTES_MAX
            ? patch_record(r, text)
            : kube_call_fail(r->call, STATUS_TOO_LARGE,
                             "its annotation " RECORD_ANNOTATION " would be longer than %d bytes", RECORD_BYTES_MAX);
    for (int tries = 1; tries < TRIES_MAX && status == STATUS_CONFLICT; tries++) {
        auto_json json_t *before = json_incref(r->record);
        forget(r);
        status = look(r);
        if (status == 0 && !json_equal(before, r->record)) {
            status = STATUS_CONFLICT;
            break;
        }
        if (status == 0)
            status = patch_record(r, text);
    }
    if (status == 0) {
        json_decref(r->record);
        r->record = json_incref(record);
    }
    json_decref(record);
    return status;
}

static int begin(struct restart *r)
{
    auto_json json_t *here = json_array(), *others = json_array();
    for (size_t i = 0; i < r->pod_count; i++)
        if (is_of(r, &r->pods[i]) && !r->pods[i].deleting)
            json_array_append_new(here, json_string(r->pods[i].uid));
    for (size_t i = 0; i < r->listed_count; i++)
        if (strcmp(r->listed[i].node, r->node) != 0)
            json_array_append_new(others, json_string(r->listed[i].uid));
    if (json_array_size(others) > OTHERS_MAX)
        return kube_call_fail(r->call, STATUS_TOO_LARGE, "it has more than %d pods on other nodes", OTHERS_MAX);
    return write_record(r, json_pack("{s:I, s:s, s:O, s:O, s:b}", "count", (json_int_t)(count_of(r) + 1), "node",
                                     r->node, "pods", here, "others", others, "done", 0));
}

static int delete_one(struct restart *r, const struct kube_pod *pod)
{
    autofree char *space = kube_escape(pod->space), *name = kube_escape(pod->name);
    autofree char *path = own_printf("/api/v1/namespaces/%s/pods/%s", space, name);
    auto_json json_t *body =
        json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "DeleteOptions", "preconditions", "uid", pod->uid);
    int status = kube_ask(r->call, &(struct kube_request){.method = "DELETE", .path = path, .body = body}, NULL);
    return status == STATUS_NOT_FOUND || status == STATUS_CONFLICT ? 0 : status;
}

/* Those of the record that are left, and none that was made since. Those of its node are evicted when this is done. */
static int delete_others(struct restart *r)
{
    const json_t *others = json_object_get(r->record, "others");
    int status = 0;
    for (size_t i = 0; i < r->listed_count && status == 0; i++)
        if (has_uid(others, r->listed[i].uid))
            status = delete_one(r, &r->listed[i]);
    return status;
}

static int put_event(struct restart *r)
{
    const json_t *metadata = json_object_get(r->job, "metadata");
    char now[CLOCK_TEXT_MAX];
    clock_format(clock_wall_ms(clock_system()), now);
    autofree char *space = kube_escape(r->space);
    autofree char *path = own_printf("/api/v1/namespaces/%s/events?fieldManager=" KUBE_FIELD_MANAGER, space);
    autofree char *name = own_printf("%.200s.%.36s.%lld", r->name, kube_text(metadata, "uid"), (long long)count_of(r));
    autofree char *most = r->most < 0 ? own_strdup("") : own_printf(" of %lld", (long long)r->most);
    autofree char *message = own_printf("Restart %lld%s: the node %s is drained", (long long)count_of(r), most,
                                        kube_text(r->record, "node"));
    auto_json json_t *event =
        json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s, s:s}, s:s, s:s, s:s, s:{s:s}, s:s, s:s, s:i}",
                  "apiVersion", "v1", "kind", "Event", "metadata", "name", name, "namespace", r->space,
                  "involvedObject", "apiVersion", API, "kind", KIND, "namespace", r->space, "name", r->name, "uid",
                  kube_text(metadata, "uid"), "type", "Warning", "reason", "PyTorchJobRestarting", "message", message,
                  "source", "component", "holdfast", "firstTimestamp", now, "lastTimestamp", now, "count", 1);
    int status = kube_ask(r->call, &(struct kube_request){.method = "POST", .path = path, .body = event}, NULL);
    return status == STATUS_CONFLICT ? 0 : status; /* it is there */
}

/* Without `done` the next call comes here again, and finds nothing left to delete. */
static int finish(struct restart *r)
{
    int status = delete_others(r);
    if (status == 0)
        status = put_event(r);
    if (status != 0)
        return status;
    json_t *record = json_deep_copy(r->record);
    json_object_set_new(record, "done", json_true());
    status = write_record(r, record);
    return status == STATUS_CONFLICT ? 0 : status;
}

/* One try of one job. CONFLICT: somebody changed it meanwhile. */
static int restart_once(struct restart *r)
{
    int status = look(r);
    if (status != 0 || !wants_restart(r))
        return status;
    bool known = is_known(r), exhausted = r->most >= 0 && count_of(r) >= r->most;
    if (known ? is_done(r) : exhausted)
        return 0; /* its pods leave as all others do */
    status = list_pods(r);
    if (status == 0 && !known)
        status = begin(r);
    return status != 0 ? status : finish(r);
}

static int restart(struct restart *r)
{
    int status = STATUS_CONFLICT;
    for (int tries = 0; tries < TRIES_MAX && status == STATUS_CONFLICT; tries++) {
        forget(r);
        status = restart_once(r);
    }
    forget(r);
    free(r->listed);
    if (is_refused(r, status)) { /* no repair waits for what only some jobs need */
        log_warn("the " KIND " %s/%s is not restarted as a whole: %s", r->space, r->name, r->call->error);
        return 0;
    }
    if (status == STATUS_CONFLICT)
        return kube_call_fail(r->call, STATUS_UNAVAILABLE,
                              "the " KIND " %s/%s was changed by others at each of %d tries", r->space, r->name,
                              TRIES_MAX);
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static bool is_first(const struct kube_pod *pods, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (!pods[i].deleting && strcmp(pods[i].owner_kind, KIND) == 0 && strcmp(pods[i].owner, pods[at].owner) == 0 &&
            strcmp(pods[i].space, pods[at].space) == 0)
            return false;
    return true;
}

int kube_restart_jobs(struct kube_call *call, const char *node, const struct kube_pod *pods, size_t count)
{
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        struct restart r = {.call = call,
                            .space = pods[i].space,
                            .name = pods[i].owner,
                            .node = node,
                            .pods = pods,
                            .pod_count = count};
        if (!pods[i].deleting && strcmp(pods[i].owner_kind, KIND) == 0 && is_first(pods, i))
            status = restart(&r);
    }
    return status;
}
