/*
 * Reads nodes and pods, and makes the patches of a cordon. What an API server answers is checked like anything from outside: what is
 * missing is empty, what does not fit is cut or left out, and nothing is believed about types.
 */
#include "server/scheduler/kubernetes/object.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define MIRROR_ANNOTATION "kubernetes.io/config.mirror"
#define TAINT_VALUE "Unschedulable"
#define MIB 1048576

/* --- words ---------------------------------------------------------------------------------------------------------- */

const char *kube_health_text(enum kube_health health)
{
    switch (health) {
#define X(SYMBOL, text, request) \
    case KUBE_HEALTH_##SYMBOL:   \
        return text;
        KUBE_HEALTH_LIST(X)
#undef X
    case KUBE_HEALTH_NONE:
    case KUBE_HEALTH_OTHER:
        break;
    }
    return "";
}

enum kube_health kube_health_of(const char *text)
{
    if (text[0] == '\0')
        return KUBE_HEALTH_NONE;
#define X(SYMBOL, word, request) \
    if (strcmp(text, word) == 0) \
        return KUBE_HEALTH_##SYMBOL;
    KUBE_HEALTH_LIST(X)
#undef X
    return KUBE_HEALTH_OTHER;
}

enum scheduler_request kube_health_request(enum kube_health health)
{
    switch (health) {
#define X(SYMBOL, text, request) \
    case KUBE_HEALTH_##SYMBOL:   \
        return SCHEDULER_REQUEST_##request;
        KUBE_HEALTH_LIST(X)
#undef X
    case KUBE_HEALTH_NONE:
        return SCHEDULER_REQUEST_NONE;
    case KUBE_HEALTH_OTHER:
        break;
    }
    return SCHEDULER_REQUEST_NEAR_MISS;
}

enum kube_health kube_health_for(enum scheduler_request request)
{
    return request == SCHEDULER_REQUEST_REBOOT    ? KUBE_HEALTH_PENDING_REBOOT
           : request == SCHEDULER_REQUEST_REPLACE ? KUBE_HEALTH_PENDING_REPLACEMENT
                                                  : KUBE_HEALTH_UNSCHEDULABLE;
}

const char *kube_text(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    return text == NULL ? "" : text;
}

bool kube_list_is_whole(const json_t *list)
{
    return kube_text(json_object_get(list, "metadata"), "continue")[0] == '\0';
}

const json_t *kube_at(const json_t *json, const char *first, const char *second)
{
    return json_object_get(json_object_get(json, first), second);
}

static void copy(char *dst, size_t size, const char *src)
{
    text_copy_clean(dst, size, src, strlen(src));
}

/* What does not fit is no name of ours. */
static void copy_whole(char *dst, size_t size, const char *src)
{
    if (!text_is_clean(src) || text_copy(dst, size, src) != 0)
        dst[0] = '\0';
}

/* Its last change as a number: opaque by contract, a number in every API server that keeps its objects in etcd. 0: it is none. */
static uint64_t version_of(const json_t *metadata)
{
    int64_t version;
    return text_parse_i64(kube_text(metadata, "resourceVersion"), 0, INT64_MAX, &version) == 0 ? (uint64_t)version : 0;
}

static int64_t time_of(const json_t *json, const char *key)
{
    int64_t at_ms;
    return clock_parse(kube_text(json, key), &at_ms) == 0 ? at_ms : 0;
}

/* --- nodes ---------------------------------------------------------------------------------------------------------- */

static void read_cordon(const json_t *annotations, struct kube_node *node)
{
    const char *text = kube_text(annotations, KUBE_CORDON_ANNOTATION);
    auto_json json_t *cordon = NULL;
    char error[JSON_ERROR_MAX];
    node->ours = text[0] != '\0';
    if (!node->ours || json_parse(text, strlen(text), REASON_MAX_BYTES * 8, &cordon, error) != 0)
        return; /* somebody's hand: it is ours, and says no more */
    const char *request = kube_text(cordon, "request");
    node->request = strcmp(request, "reboot") == 0    ? SCHEDULER_REQUEST_REBOOT
                    : strcmp(request, "replace") == 0 ? SCHEDULER_REQUEST_REPLACE
                                                      : SCHEDULER_REQUEST_NONE;
    node->says_only = json_is_true(json_object_get(cordon, "labelOnly"));
    /* A cordon beside a label of ours is somebody else's. */
    node->cordoned_before =
        node->says_only ? node->unschedulable : json_is_true(json_object_get(cordon, "cordonedBefore"));
    if (node->says_only && node->unschedulable)
        copy(node->external, sizeof(node->external), "cordoned");
    copy(node->note, sizeof(node->note), kube_text(cordon, "note"));
}

/* Taints that mean "others are at work on this node", and not "only for pods that know of it". */
static bool is_hold(const char *key)
{
    static const char *const holds[] = {"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted",
                                        "karpenter.sh/disruption", KUBE_OUT_OF_SERVICE};
    for (size_t i = 0; i < ARRAY_LEN(holds); i++)
        if (strcmp(key, holds[i]) == 0)
            return true;
    return false;
}

static void read_taints(const json_t *spec, struct kube_node *node)
{
    const json_t *taints = json_object_get(spec, "taints");
    for (size_t i = 0; i < json_array_size(taints); i++) {
        const json_t *taint = json_array_get(taints, i);
        const char *key = kube_text(taint, "key");
        if (strcmp(key, KUBE_HEALTH_LABEL) == 0)
            node->tainted = true;
        else if (is_hold(key) && node->external[0] == '\0') {
            autofree char *text = own_printf("taint %s", key);
            copy(node->external, sizeof(node->external), text);
        }
    }
}

/* Who wrote spec.unschedulable last, and when: "kubectl-cordon". */
static void read_manager(const json_t *metadata, struct kube_node *node)
{
    const json_t *all = json_object_get(metadata, "managedFields");
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *entry = json_array_get(all, i);
        const json_t *spec = kube_at(entry, "fieldsV1", "f:spec");
        int64_t at = time_of(entry, "time");
        if (json_object_get(spec, "f:unschedulable") == NULL || at < node->managed_at)
            continue;
        node->managed_at = at;
        copy(node->manager, sizeof(node->manager), kube_text(entry, "manager"));
    }
}

/* A label that we wrote ourselves says what we know already, and not what the node is. */
static const char *others_label(const json_t *labels, const json_t *annotations, const char *key)
{
    bool ours = strstr(kube_text(annotations, KUBE_GROUP_ANNOTATION), key) != NULL;
    return ours ? "" : kube_text(labels, key);
}

static void read_labels(const json_t *labels, const json_t *annotations, struct kube_node *node)
{
    static const char *const groups[] = {"eks.amazonaws.com/nodegroup", "karpenter.sh/nodepool",
                                         "cloud.google.com/gke-nodepool", "kubernetes.azure.com/agentpool"};
    static const char *const layers[] = {"topology.k8s.aws/network-node-layer-1",
                                         "topology.k8s.aws/network-node-layer-2",
                                         "topology.k8s.aws/network-node-layer-3"};
    copy(node->health_text, sizeof(node->health_text), kube_text(labels, KUBE_HEALTH_LABEL));
    node->health = kube_health_of(node->health_text);
    copy(node->group, sizeof(node->group), others_label(labels, annotations, KUBE_GROUP_LABEL));
    for (size_t i = 0; i < ARRAY_LEN(groups) && node->group[0] == '\0'; i++)
        copy(node->group, sizeof(node->group), kube_text(labels, groups[i]));
    copy(node->type, sizeof(node->type), kube_text(labels, "node.kubernetes.io/instance-type"));
    copy(node->zone, sizeof(node->zone), kube_text(labels, "topology.kubernetes.io/zone"));
    for (size_t i = 0; i < ARRAY_LEN(layers); i++)
        copy_whole(node->layers[i], sizeof(node->layers[i]), others_label(labels, annotations, layers[i]));
    copy_whole(node->ultraserver, sizeof(node->ultraserver),
               others_label(labels, annotations, "topology.k8s.aws/ultraserver-id"));
    copy_whole(node->name, sizeof(node->name), kube_text(labels, KUBE_NODE_LABEL));
}

/* "8", "500m", "16384Ki", "16Gi" in whole units; 0 for anything else. */
static int64_t quantity(const char *text)
{
    static const struct {
        const char *suffix;
        int64_t factor;
    } units[] = {{"", 1},     {"Ki", 1 << 10}, {"Mi", 1 << 20},  {"Gi", 1 << 30},
                 {"k", 1000}, {"M", 1000000},  {"G", 1000000000}};
    size_t digits = strspn(text, "0123456789");
    char number[16];
    int64_t value;
    if (text_copy_bytes(number, sizeof(number), text, digits) != 0 ||
        text_parse_i64(number, 0, 1000000000000, &value) != 0)
        return 0;
    if (strcmp(text + digits, "m") == 0)
        return value / 1000;
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (strcmp(text + digits, units[i].suffix) == 0 && value <= INT64_MAX / units[i].factor)
            return value * units[i].factor;
    return 0;
}

static void read_status(const json_t *status, struct kube_node *node)
{
    static const char *const accelerators[] = {"nvidia.com/gpu", "aws.amazon.com/neuron", "amd.com/gpu",
                                               "vpc.amazonaws.com/efa"};
    const json_t *conditions = json_object_get(status, "conditions"), *addresses = json_object_get(status, "addresses");
    const json_t *capacity = json_object_get(status, "capacity");
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *one = json_array_get(conditions, i);
        if (strcmp(kube_text(one, "type"), "Ready") == 0)
            node->ready = strcmp(kube_text(one, "status"), "True") == 0;
    }
    for (size_t i = 0; i < json_array_size(addresses); i++) {
        const json_t *one = json_array_get(addresses, i);
        if (strcmp(kube_text(one, "type"), "InternalIP") == 0 && node->address[0] == '\0')
            copy_whole(node->address, sizeof(node->address), kube_text(one, "address"));
        if (strcmp(kube_text(one, "type"), "Hostname") == 0)
            copy_whole(node->host, sizeof(node->host), kube_text(one, "address"));
    }
    node->cpus = quantity(kube_text(capacity, "cpu"));
    node->memory_mib = quantity(kube_text(capacity, "memory")) / MIB;
    for (size_t i = 0; i < ARRAY_LEN(accelerators); i++) {
        int64_t count = quantity(kube_text(capacity, accelerators[i]));
        size_t len = strlen(node->gres);
        if (count > 0)
            snprintf(node->gres + len, sizeof(node->gres) - len, "%s%s:%lld", len > 0 ? "," : "", accelerators[i],
                     (long long)count);
    }
}

/* The same whatever order they come in. */
static uint64_t marks_of(const json_t *metadata, const json_t *spec)
{
    const char *name;
    json_t *value;
    const json_t *taints = json_object_get(spec, "taints");
    uint64_t sum = hash_text(HASH_BASIS, kube_text(json_object_get(metadata, "annotations"), KUBE_GROUP_ANNOTATION));
    json_object_foreach(json_object_get(metadata, "labels"), name, value)
    {
        const char *text = json_string_value(value);
        sum += hash_text(hash_text(HASH_BASIS, name), text == NULL ? "" : text);
    }
    for (size_t i = 0; i < json_array_size(taints); i++) {
        const json_t *taint = json_array_get(taints, i);
        sum += hash_text(hash_text(hash_text(HASH_PRIME, kube_text(taint, "key")), kube_text(taint, "value")),
                         kube_text(taint, "effect"));
    }
    return sum;
}

int kube_node_read(const json_t *json, struct kube_node *ret_node)
{
    const json_t *metadata = json_object_get(json, "metadata"), *spec = json_object_get(json, "spec");
    struct kube_node node = {0};
    copy_whole(node.object, sizeof(node.object), kube_text(metadata, "name"));
    if (node.object[0] == '\0')
        return STATUS_BACKEND;
    copy_whole(node.uid, sizeof(node.uid), kube_text(metadata, "uid"));
    node.version = version_of(metadata);
    node.marks = marks_of(metadata, spec);
    node.created_at = time_of(metadata, "creationTimestamp");
    node.deleting = kube_text(metadata, "deletionTimestamp")[0] != '\0';
    node.unschedulable = json_is_true(json_object_get(spec, "unschedulable"));
    read_labels(json_object_get(metadata, "labels"), json_object_get(metadata, "annotations"), &node);
    if (node.name[0] == '\0')
        copy_whole(node.name, sizeof(node.name), node.object);
    read_cordon(json_object_get(metadata, "annotations"), &node);
    copy(node.hint, sizeof(node.hint), kube_text(json_object_get(metadata, "annotations"), KUBE_HINT_ANNOTATION));
    read_taints(spec, &node);
    read_manager(metadata, &node);
    read_status(json_object_get(json, "status"), &node);
    const char *provider = kube_text(spec, "providerID"), *slash = strrchr(provider, '/');
    copy_whole(node.instance, sizeof(node.instance), slash == NULL ? provider : slash + 1);
    *ret_node = node;
    return 0;
}

bool kube_node_is_lifted(const struct kube_node *node)
{
    if (node->says_only)
        return node->ours && node->health != KUBE_HEALTH_UNSCHEDULABLE;
    return node->ours && !node->unschedulable;
}

/* The taint alone is nobody's decision: kubelet registers a new node with it, so that it is checked before it takes work. */
bool kube_node_is_cordoned(const struct kube_node *node)
{
    if (node->external[0] != '\0' || node->unschedulable)
        return true;
    if (node->ours && !node->says_only)
        return false; /* a person has uncordoned it */
    return node->health != KUBE_HEALTH_NONE && node->health != KUBE_HEALTH_SCHEDULABLE;
}

void kube_node_reason(const struct kube_node *node, char ret_reason[REASON_MAX_BYTES])
{
    enum scheduler_request request = kube_health_request(node->health);
    if (!kube_node_is_cordoned(node))
        ret_reason[0] = '\0';
    else if (request != SCHEDULER_REQUEST_NONE)
        text_copy_cut(ret_reason, REASON_MAX_BYTES, node->health_text);
    else if (node->ours)
        snprintf(ret_reason, REASON_MAX_BYTES, KUBE_REASON_OURS "%.*s",
                 TEXT_FIT(node->note, REASON_MAX_BYTES - sizeof(KUBE_REASON_OURS)));
    else
        text_copy_cut(ret_reason, REASON_MAX_BYTES,
                      node->external[0] != '\0' ? node->external
                      : node->unschedulable     ? "cordoned"
                                                : node->health_text);
}

/* --- pods ----------------------------------------------------------------------------------------------------------- */

static void read_owner(const json_t *metadata, struct kube_pod *pod)
{
    const json_t *owners = json_object_get(metadata, "ownerReferences");
    for (size_t i = 0; i < json_array_size(owners); i++) {
        const json_t *one = json_array_get(owners, i);
        if (!json_is_true(json_object_get(one, "controller")))
            continue;
        copy_whole(pod->owner_kind, sizeof(pod->owner_kind), kube_text(one, "kind"));
        copy_whole(pod->owner, sizeof(pod->owner), kube_text(one, "name"));
    }
}

/* One workload of many Jobs or StatefulSets is one job. Its pods have a label of the name. */
static void read_group(const json_t *labels, struct kube_pod *pod)
{
    static const char *const groups[][2] = {{"Job", "jobset.sigs.k8s.io/jobset-name"},
                                            {"StatefulSet", "leaderworkerset.sigs.k8s.io/name"}};
    for (size_t i = 0; i < ARRAY_LEN(groups); i++)
        if (strcmp(pod->owner_kind, groups[i][0]) == 0)
            copy_whole(pod->group, sizeof(pod->group), kube_text(labels, groups[i][1]));
}

int kube_pod_read(const json_t *json, struct kube_pod *ret_pod)
{
    const json_t *metadata = json_object_get(json, "metadata");
    struct kube_pod pod = {0};
    copy_whole(pod.name, sizeof(pod.name), kube_text(metadata, "name"));
    copy_whole(pod.space, sizeof(pod.space), kube_text(metadata, "namespace"));
    copy_whole(pod.uid, sizeof(pod.uid), kube_text(metadata, "uid"));
    if (pod.name[0] == '\0' || pod.space[0] == '\0' || pod.uid[0] == '\0')
        return STATUS_BACKEND;
    copy_whole(pod.node, sizeof(pod.node), kube_text(json_object_get(json, "spec"), "nodeName"));
    copy(pod.phase, sizeof(pod.phase), kube_text(json_object_get(json, "status"), "phase"));
    pod.version = version_of(metadata);
    pod.deleting = kube_text(metadata, "deletionTimestamp")[0] != '\0';
    pod.finished = strcmp(pod.phase, "Succeeded") == 0 || strcmp(pod.phase, "Failed") == 0;
    pod.is_static = json_object_get(json_object_get(metadata, "annotations"), MIRROR_ANNOTATION) != NULL;
    read_owner(metadata, &pod);
    read_group(json_object_get(metadata, "labels"), &pod);
    *ret_pod = pod;
    return 0;
}

bool kube_pod_counts(const struct kube_pod *pod)
{
    return !pod->finished && !pod->is_static && strcmp(pod->owner_kind, "DaemonSet") != 0;
}

/* --- patches -------------------------------------------------------------------------------------------------------- */

/* All taints of others, in their order. */
static json_t *other_taints(const json_t *json)
{
    const json_t *taints = kube_at(json, "spec", "taints");
    json_t *kept = json_array();
    for (size_t i = 0; i < json_array_size(taints); i++) {
        json_t *taint = json_array_get(taints, i);
        if (strcmp(kube_text(taint, "key"), KUBE_HEALTH_LABEL) != 0)
            json_array_append(kept, taint);
    }
    return kept;
}

static json_t *patch_of(const json_t *json, enum kube_health health, json_t *annotation, json_t *spec)
{
    return json_pack("{s:{s:s, s:{s:s}, s:{s:o, s:n}}, s:o}", "metadata", "resourceVersion",
                     kube_text(json_object_get(json, "metadata"), "resourceVersion"), "labels", KUBE_HEALTH_LABEL,
                     kube_health_text(health), "annotations", KUBE_CORDON_ANNOTATION, annotation, KUBE_HINT_ANNOTATION,
                     "spec", spec);
}

/* Without our cordon. */
static json_t *free_spec(const json_t *json, bool stays_cordoned)
{
    json_t *taints = other_taints(json), *spec = json_object();
    bool none = json_array_size(taints) == 0;
    if (none)
        json_decref(taints);
    json_put(spec, "taints", none ? json_null() : taints);
    if (!stays_cordoned)
        json_put(spec, "unschedulable", json_null());
    return spec;
}

json_t *kube_cordon_patch(const json_t *json, const struct kube_node *node, const struct scheduler_owner *owner)
{
    auto_json json_t *cordon = json_object();
    bool before = node->ours ? node->cordoned_before : node->unschedulable;
    if (owner->request == SCHEDULER_REQUEST_NONE)
        json_put_text(cordon, "note", owner->note);
    else
        json_put_text(cordon, "request", owner->request == SCHEDULER_REQUEST_REBOOT ? "reboot" : "replace");
    if (owner->says_only)
        json_put(cordon, "labelOnly", json_true());
    else if (before)
        json_put(cordon, "cordonedBefore", json_true());
    autofree char *text = json_dumps(cordon, JSON_COMPACT);
    if (owner->says_only)
        return patch_of(json, KUBE_HEALTH_UNSCHEDULABLE, json_string(text),
                        node->ours && !node->says_only ? free_spec(json, before) : json_object());
    json_t *taints = other_taints(json);
    json_array_append_new(
        taints, json_pack("{s:s, s:s, s:s}", "key", KUBE_HEALTH_LABEL, "value", TAINT_VALUE, "effect", "NoSchedule"));
    return patch_of(json, kube_health_for(owner->request), json_string(text),
                    json_pack("{s:b, s:o}", "unschedulable", 1, "taints", taints));
}

json_t *kube_out_of_service_patch(const json_t *json)
{
    const json_t *there = kube_at(json, "spec", "taints");
    for (size_t i = 0; i < json_array_size(there); i++)
        if (strcmp(kube_text(json_array_get(there, i), "key"), KUBE_OUT_OF_SERVICE) == 0 &&
            strcmp(kube_text(json_array_get(there, i), "effect"), "NoExecute") == 0)
            return NULL;
    json_t *taints = other_taints(json);
    json_array_append_new(taints, json_pack("{s:s, s:s, s:s}", "key", KUBE_OUT_OF_SERVICE, "value", "nodeshutdown",
                                            "effect", "NoExecute"));
    return json_pack("{s:{s:s}, s:{s:o}}", "metadata", "resourceVersion",
                     kube_text(json_object_get(json, "metadata"), "resourceVersion"), "spec", "taints", taints);
}

json_t *kube_uncordon_patch(const json_t *json, const struct kube_node *node)
{
    return patch_of(json, KUBE_HEALTH_SCHEDULABLE, json_null(), free_spec(json, node->cordoned_before));
}
