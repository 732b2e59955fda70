/*
 * The pods of a node: which have to leave, and how. They leave by the eviction API, so that a PodDisruptionBudget is asked; what it
 * protects stays until the caller ends it. Pods of DaemonSets, static and finished pods are nobody's to evict.
 */
#include "server/scheduler/kubernetes/private.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define PODS_MAX 4096 /* of one node: kubelet's own limit is 110, some sites have 250 */

struct pods {
    struct kube_pod *list;
    size_t count;
};

/* Asked of the server, not of the watch: who waits for the last pod shall not go on too early. */
static int list_pods(struct scheduler *s, struct kube_call *call, const char *name, struct pods *ret_pods)
{
    struct kube_node node;
    auto_json json_t *json = NULL;
    int status = kube_find(s, call, name, &node);
    if (status != 0)
        return status;
    autofree char *object = kube_escape(node.object);
    autofree char *path = own_printf("/api/v1/pods?limit=%d&fieldSelector=spec.nodeName%%3D%s", PODS_MAX, object);
    status = kube_get(call, path, &json);
    if (status != 0)
        return status;
    const json_t *items = json_object_get(json, "items");
    if (!json_is_array(items))
        return kube_call_fail(call, STATUS_BACKEND, "Kubernetes answered pods without items");
    if (!kube_list_is_whole(json)) /* the rest would be taken for gone */
        return kube_call_fail(call, STATUS_TOO_LARGE, "the node has more pods than the %d that are read of one",
                              PODS_MAX);
    struct pods pods = {.list = own_calloc(json_array_size(items) + 1, sizeof(*pods.list))};
    for (size_t i = 0; i < json_array_size(items); i++)
        if (kube_pod_read(json_array_get(items, i), &pods.list[pods.count]) == 0 &&
            kube_pod_counts(&pods.list[pods.count]))
            pods.count++;
    *ret_pods = pods;
    return 0;
}

/* "namespace/pod", or its uid where that is too long. */
static void name_job(const struct kube_pod *pod, char ret_id[SCHEDULER_JOB_ID_MAX])
{
    autofree char *name = own_printf("%s/%s", pod->space, pod->name);
    if (text_copy(ret_id, SCHEDULER_JOB_ID_MAX, name) != 0)
        text_copy_cut(ret_id, SCHEDULER_JOB_ID_MAX, pod->uid);
}

int kube_workloads(struct scheduler *s, const char *node, struct scheduler_job **ret_jobs, size_t *ret_count,
                   char *ret_error)
{
    struct kube_call call;
    struct pods pods;
    kube_call_start(&call, s->client, ret_error);
    int status = list_pods(s, &call, node, &pods);
    if (status != 0)
        return status;
    struct scheduler_job *jobs = own_calloc(pods.count + 1, sizeof(*jobs));
    for (size_t i = 0; i < pods.count; i++) {
        const struct kube_pod *pod = &pods.list[i];
        name_job(pod, jobs[i].id);
        text_copy_cut(jobs[i].user, sizeof(jobs[i].user), pod->space);
        text_copy_cut(jobs[i].state, sizeof(jobs[i].state), pod->deleting ? "Terminating" : pod->phase);
        jobs[i].requeueable = pod->owner_kind[0] != '\0';
    }
    *ret_jobs = jobs;
    *ret_count = pods.count;
    free(pods.list);
    return 0;
}

/* policy/v1 since 1.21; older servers have v1beta1. */
static int eviction_version(struct scheduler *s, struct kube_call *call, char ret_version[16])
{
    auto_json json_t *json = NULL;
    pthread_mutex_lock(&s->lock);
    text_copy_cut(ret_version, 16, s->eviction);
    pthread_mutex_unlock(&s->lock);
    if (ret_version[0] != '\0')
        return 0;
    int status = kube_get(call, "/apis/policy", &json);
    if (status != 0)
        return status;
    const json_t *versions = json_object_get(json, "versions");
    for (size_t i = 0; i < json_array_size(versions); i++) {
        const char *version = kube_text(json_array_get(versions, i), "version");
        if (strcmp(version, "v1") == 0 || (strcmp(version, "v1beta1") == 0 && ret_version[0] == '\0'))
            text_copy_cut(ret_version, 16, version);
    }
    if (ret_version[0] == '\0')
        return kube_call_fail(call, STATUS_UNSUPPORTED, "the server has evictions neither in policy/v1 nor in v1beta1");
    pthread_mutex_lock(&s->lock);
    text_copy_cut(s->eviction, sizeof(s->eviction), ret_version);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

static char *pod_path(const struct kube_pod *pod, const char *part)
{
    autofree char *space = kube_escape(pod->space);
    autofree char *name = kube_escape(pod->name);
    return own_printf("/api/v1/namespaces/%s/pods/%s%s", space, name, part);
}

/* The pod that was looked at, and no other one of its name. */
static json_t *only_this(const struct kube_pod *pod)
{
    return json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "DeleteOptions", "preconditions", "uid",
                     pod->uid);
}

/* Gone, another one by now, or protected by a budget: none of these is a failure. */
static int evict_one(struct kube_call *call, const struct kube_pod *pod, const char *version)
{
    autofree char *path = pod_path(pod, "/eviction");
    autofree char *api = own_printf("policy/%s", version);
    auto_json json_t *body =
        json_pack("{s:s, s:s, s:{s:s, s:s}, s:o}", "apiVersion", api, "kind", "Eviction", "metadata", "name", pod->name,
                  "namespace", pod->space, "deleteOptions", only_this(pod));
    int status =
        kube_ask(call, &(struct kube_request){.method = "POST", .path = path, .body = body, .once = true}, NULL);
    return status == STATUS_NOT_FOUND || status == STATUS_CONFLICT || status == STATUS_FULL ? 0 : status;
}

static int end_one(struct kube_call *call, const struct kube_pod *pod, const char *version)
{
    autofree char *path = pod_path(pod, "");
    auto_json json_t *body = only_this(pod);
    (void)version;
    int status = kube_ask(call, &(struct kube_request){.method = "DELETE", .path = path, .body = body}, NULL);
    return status == STATUS_NOT_FOUND || status == STATUS_CONFLICT ? 0 : status;
}

/* The first failure is answered; a right that is missing before any other, as it does not pass. hpd needs it in every namespace: the one
 * of the first pod is left out, so that the sentence is the same for each. */
static void keep_failure(int one, const char *said, int *status, char *ret_error)
{
    if (one == 0 || (*status != 0 && (one != STATUS_DENIED || *status == STATUS_DENIED)))
        return;
    const char *space = one == STATUS_DENIED ? strstr(said, " in the namespace ") : NULL;
    size_t len = space != NULL ? (size_t)(space - said) : strlen(said);
    *status = one;
    snprintf(ret_error, SCHEDULER_ERROR_MAX, "%.*s", (int)len, said);
}

/* Each is tried, also after one that could not be. */
static int each_pod(struct kube_call *call, const struct pods *pods, const char *version,
                    int (*change)(struct kube_call *call, const struct kube_pod *pod, const char *version))
{
    char error[SCHEDULER_ERROR_MAX];
    int status = 0;
    for (size_t i = 0; i < pods->count; i++) {
        struct kube_call one = *call;
        one.error = error;
        if (!pods->list[i].deleting)
            keep_failure(change(&one, &pods->list[i], version), error, &status, call->error);
    }
    return status;
}

int kube_evict(struct scheduler *s, const char *node, const struct scheduler_owner *owner, char *ret_error)
{
    struct kube_call call;
    struct pods pods = {0};
    char version[16];
    (void)owner;
    kube_call_start(&call, s->client, ret_error);
    int status = list_pods(s, &call, node, &pods);
    if (status == 0)
        status = eviction_version(s, &call, version);
    if (status == 0 && pods.count > 0)
        status = kube_restart_jobs(&call, pods.list[0].node, pods.list, pods.count);
    if (status == 0)
        status = each_pod(&call, &pods, version, evict_one);
    free(pods.list);
    return status;
}

int kube_end_pods(struct scheduler *s, const char *node, char *ret_error)
{
    struct kube_call call;
    struct pods pods = {0};
    kube_call_start(&call, s->client, ret_error);
    int status = list_pods(s, &call, node, &pods);
    if (status == 0)
        status = each_pod(&call, &pods, "", end_one);
    free(pods.list);
    return status;
}
