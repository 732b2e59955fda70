/*
 * The Kubernetes driver: how a node is cordoned and given back.
 *
 * A cordon is one patch: spec.unschedulable, HyperPod's taint and label, and an annotation that says whose it is and why. The patch names
 * the version of the node that was looked at, so a person who changes the node meanwhile is never overruled: the driver looks again
 * and judges again. What others cordoned, tainted or labelled stays as it is.
 */
#include "server/scheduler/kubernetes/private.h"

#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define TRIES_MAX 8 /* somebody changes a node between our look and our patch: kubelet does, now and then */

/* --- cordon --------------------------------------------------------------------------------------------------------- */

static void reason_of(const struct scheduler_owner *owner, char ret_reason[REASON_MAX_BYTES])
{
    if (owner->request != SCHEDULER_REQUEST_NONE)
        text_copy_cut(ret_reason, REASON_MAX_BYTES, kube_health_text(kube_health_for(owner->request)));
    else
        snprintf(ret_reason, REASON_MAX_BYTES, KUBE_REASON_OURS "%.*s",
                 TEXT_FIT(owner->note, REASON_MAX_BYTES - sizeof(KUBE_REASON_OURS)));
}

static bool is_hold(const struct kube_node *node)
{
    return node->ours && node->external[0] == '\0' && kube_health_request(node->health) == SCHEDULER_REQUEST_NONE;
}

static bool is_cordoned_so(const struct kube_node *node, const struct scheduler_owner *owner, const char *reason)
{
    char there[REASON_MAX_BYTES];
    kube_node_reason(node, there);
    if (owner->says_only)
        return node->ours && node->says_only && node->health == KUBE_HEALTH_UNSCHEDULABLE && strcmp(there, reason) == 0;
    return node->ours && !node->says_only && node->unschedulable && node->tainted && node->request == owner->request &&
           node->health == kube_health_for(owner->request) && strcmp(there, reason) == 0;
}

/* What keeps it out may give way: nothing, a hold of ours, the same, or what the caller saw there. */
static bool may_replace(const struct kube_node *node, const char *reason, const char *seen)
{
    char there[REASON_MAX_BYTES];
    kube_node_reason(node, there);
    if (!kube_node_is_cordoned(node) || is_hold(node) || strcmp(there, reason) == 0)
        return true;
    return seen != NULL && strcmp(there, seen) == 0;
}

static int held_by_others(struct kube_call *call, const struct kube_node *node)
{
    char there[REASON_MAX_BYTES];
    kube_node_reason(node, there);
    return kube_call_fail(call, STATUS_CONFLICT, "%s is held by %s (%s); give it back there first", node->object,
                          node->manager[0] != '\0' ? node->manager : "somebody", there);
}

static int cordon_once(struct scheduler *s, struct kube_call *call, const char *name,
                       const struct scheduler_owner *owner, const char *seen, const char *reason)
{
    auto_json json_t *json = NULL;
    struct kube_node node;
    int status = kube_look(s, call, name, &json, &node);
    if (status != 0 || is_cordoned_so(&node, owner, reason))
        return status;
    if (!may_replace(&node, reason, seen))
        return held_by_others(call, &node);
    auto_json json_t *patch = kube_cordon_patch(json, &node, owner);
    status = kube_patch_node(s, call, &node, KUBE_MERGE_PATCH, patch, &node);
    if (status == STATUS_CONFLICT)
        return STATUS_STALE;
    if (status == 0 && !is_cordoned_so(&node, owner, reason))
        return kube_call_fail(call, STATUS_BACKEND,
                              "Kubernetes took the cordon of %s but shows another one: is there a webhook?",
                              node.object);
    return status;
}

static int too_busy(struct kube_call *call, const char *name)
{
    return kube_call_fail(call, STATUS_UNAVAILABLE, "%s was changed by others at each of %d tries", name, TRIES_MAX);
}

static int cordon(struct scheduler *s, const char *name, const struct scheduler_owner *owner, const char *seen,
                  char *ret_shown, char *ret_error)
{
    struct kube_call call;
    char reason[REASON_MAX_BYTES];
    kube_call_start(&call, s->client, ret_error);
    reason_of(owner, reason);
    text_copy_cut(ret_shown, REASON_MAX_BYTES, reason);
    if (!text_is_clean(reason))
        return kube_call_fail(&call, STATUS_INVALID, "not a reason: %.100s", reason);
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        int status = cordon_once(s, &call, name, owner, seen, reason);
        if (status != STATUS_STALE)
            return status;
    }
    return too_busy(&call, name);
}

/* --- uncordon ------------------------------------------------------------------------------------------------------- */

static bool may_uncordon(const struct kube_node *node, const char *our_reason)
{
    char there[REASON_MAX_BYTES];
    if (node->external[0] != '\0')
        return false;
    kube_node_reason(node, there);
    if (our_reason != NULL)
        return strcmp(there, our_reason) == 0;
    enum scheduler_request request = kube_health_request(node->health);
    return is_hold(node) || request == SCHEDULER_REQUEST_REBOOT || request == SCHEDULER_REQUEST_REPLACE;
}

static bool is_given_back(const struct kube_node *node)
{
    return !node->ours && !node->tainted && node->health == KUBE_HEALTH_SCHEDULABLE;
}

/* A request of a person's hand, or a cordon of ours: what was there before that stays. */
static int uncordon_once(struct scheduler *s, struct kube_call *call, const char *name, const char *our_reason)
{
    auto_json json_t *json = NULL;
    struct kube_node node;
    int status = kube_look(s, call, name, &json, &node);
    if (status != 0)
        return status;
    if (kube_node_is_cordoned(&node) ? !may_uncordon(&node, our_reason) : is_given_back(&node))
        return kube_node_is_cordoned(&node) ? held_by_others(call, &node) : 0;
    if (!node.ours && node.unschedulable)
        node.cordoned_before = true;
    auto_json json_t *patch = kube_uncordon_patch(json, &node);
    status = kube_patch_node(s, call, &node, KUBE_MERGE_PATCH, patch, &node);
    if (status == STATUS_CONFLICT)
        return STATUS_STALE;
    if (status == 0 && !is_given_back(&node))
        return kube_call_fail(call, STATUS_BACKEND, "Kubernetes took the uncordon of %s but shows it cordoned",
                              node.object);
    return status;
}

static int uncordon(struct scheduler *s, const char *name, const struct scheduler_owner *owner, char *ret_error)
{
    struct kube_call call;
    char reason[REASON_MAX_BYTES];
    kube_call_start(&call, s->client, ret_error);
    if (owner != NULL)
        reason_of(owner, reason);
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        int status = uncordon_once(s, &call, name, owner == NULL ? NULL : reason);
        if (status != STATUS_STALE)
            return status;
    }
    return too_busy(&call, name);
}

/* --- requests by hand ----------------------------------------------------------------------------------------------- */

#define LABEL_COMMAND "kubectl label --overwrite node %s " KUBE_HEALTH_LABEL "=%s"

static void explain(const char *node, const char *reason, char ret_sentence[SENTENCE_MAX_BYTES])
{
    snprintf(ret_sentence, SENTENCE_MAX_BYTES,
             "\"%.60s\" is no value of " KUBE_HEALTH_LABEL "; for a reboot: " LABEL_COMMAND, reason, node,
             kube_health_text(KUBE_HEALTH_PENDING_REBOOT));
}

/* Beside the label, which stays as the person wrote it. */
static int annotate(struct scheduler *s, const char *name, const char *reason, const char *user, char *ret_error)
{
    struct kube_call call;
    auto_json json_t *json = NULL;
    struct kube_node node;
    (void)user;
    kube_call_start(&call, s->client, ret_error);
    int status = kube_look(s, &call, name, &json, &node);
    if (status != 0)
        return status;
    if (strcmp(node.health_text, reason) != 0)
        return kube_call_fail(&call, STATUS_CONFLICT, "%s has another health status now: %s", name, node.health_text);
    autofree char *hint =
        own_printf("%s is no value of " KUBE_HEALTH_LABEL "; use %s or %s", reason,
                   kube_health_text(KUBE_HEALTH_PENDING_REBOOT), kube_health_text(KUBE_HEALTH_PENDING_REPLACEMENT));
    if (strlen(hint) >= REASON_MAX_BYTES)
        hint[REASON_MAX_BYTES - 1] = '\0';
    auto_json json_t *patch = json_pack("{s:{s:{s:s}}}", "metadata", "annotations", KUBE_HINT_ANNOTATION, hint);
    return kube_patch_node(s, &call, &node, KUBE_MERGE_PATCH, patch, &node);
}

/* --- life ----------------------------------------------------------------------------------------------------------- */

static void transport(struct scheduler *s, char ret_transport[SCHEDULER_TRANSPORT_MAX])
{
    pthread_mutex_lock(&s->lock);
    snprintf(ret_transport, SCHEDULER_TRANSPORT_MAX, "Kubernetes %s at %.120s",
             s->release[0] != '\0' ? s->release : "(not reached yet)", kube_client_server(s->client));
    pthread_mutex_unlock(&s->lock);
}

static void stop(struct scheduler *s)
{
    kube_client_stop(s->client);
}

static void kubernetes_free(struct scheduler *s)
{
    if (s == NULL)
        return;
    if (s->client != NULL)
        kube_client_stop(s->client);
    kube_cache_free(s->nodes);
    kube_cache_free(s->pods);
    kube_cache_free(s->training_jobs);
    kube_cache_free(s->training_pods);
    kube_client_free(s->client);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static int read_access(const struct kubernetes_options *options, struct kube_access *ret_access, char *ret_error)
{
    _Static_assert(JSON_ERROR_MAX <= SCHEDULER_ERROR_MAX, "one text");
    if (options->kubeconfig != NULL)
        return kubeconfig_read(options->kubeconfig, options->context, ret_access, ret_error);
    return kubeconfig_in_cluster(options->service_account, getenv("KUBERNETES_SERVICE_HOST"),
                                 getenv("KUBERNETES_SERVICE_PORT"), ret_access, ret_error);
}

bool kubernetes_options_are_alike(const struct kubernetes_options *a, const struct kubernetes_options *b)
{
    struct kube_access of_a = {0}, of_b = {0};
    char error[SCHEDULER_ERROR_MAX];
    bool alike = read_access(a, &of_a, error) == 0 && read_access(b, &of_b, error) == 0 &&
                 text_equal(of_a.server, of_b.server) && text_equal(of_a.prefix, of_b.prefix);
    kube_access_free(&of_a);
    kube_access_free(&of_b);
    return alike;
}

void kubernetes_options_warn(const struct kubernetes_options *options, const char *path)
{
    struct kube_access access = {0};
    char error[SCHEDULER_ERROR_MAX];
    if (read_access(options, &access, error) != 0)
        log_warn("%s cannot be used: %s", path, error);
    kube_access_free(&access);
}

int kubernetes_new(const struct kubernetes_options *options, struct scheduler_driver *ret_driver,
                   char ret_error[SCHEDULER_ERROR_MAX])
{
    static const struct scheduler_requests_ops requests = {.explain = explain, .annotate = annotate};
    static const struct scheduler_topology_ops topology = {.places = kube_places};
    static const struct scheduler_jobs_ops jobs = {.snapshot = kube_job_snapshot, .log = kube_job_log};
    static const struct scheduler_jobs_ops training_jobs = {
        .snapshot = kube_job_snapshot, .log = kube_job_log, .command = kube_job_command};
    static const struct scheduler_budgets_ops budgets = {.end = kube_end_pods};
    static const struct scheduler_machines_ops machines = {.gone = kube_machine_gone};
    static const struct scheduler_faults_ops faults = {.show = kube_show_faults};
    static const struct scheduler_labels_ops labels = {.keep = kube_keep_labels};
    static const struct scheduler_governance_ops governance = {.govern = kube_govern};
    static const struct scheduler_ops ops = {
        .name = "kubernetes",
        .daemon = "kubelet",
        .resume_command = "kubectl uncordon NODE",
        .observe = kube_observe,
        .cordon = cordon,
        .uncordon = uncordon,
        .workloads = kube_workloads,
        .evict = kube_evict,
        .transport = transport,
        .stop = stop,
        .free = kubernetes_free,
        .requests = &requests,
        .jobs = &jobs,
        .topology = &topology,
        .budgets = &budgets,
        .machines = &machines,
        .faults = &faults,
        .labels = &labels,
        .governance = &governance,
    };
    struct kube_access access = {0};
    int status = read_access(options, &access, ret_error);
    if (status != 0)
        return status;
    struct scheduler *s = own_calloc(1, sizeof(*s));
    pthread_mutex_init(&s->lock, NULL);
    status = kube_client_new(&access, options->timeout_ms, &s->client, ret_error);
    if (status != 0) {
        kubernetes_free(s);
        return status;
    }
    s->ops = ops;
    s->ops.training = options->training_jobs ? &kube_training : NULL;
    s->ops.jobs = options->training_jobs ? &training_jobs : &jobs;
    *ret_driver = scheduler_driver_make(&s->ops, s);
    return 0;
}
