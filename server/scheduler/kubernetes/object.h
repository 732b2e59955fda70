/*
 * Kubernetes' objects as Holdfast reads them: nodes and pods of JSON, and what a cordon looks like on a node. Pure.
 *
 * The words are HyperPod's, so that the tools and job files that go by them work unchanged. What HyperPod has no word for is an annotation
 * of ours.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_KUBERNETES_OBJECT_H
#define HOLDFAST_SERVER_SCHEDULER_KUBERNETES_OBJECT_H

#include "base/json.h"
#include "server/scheduler/scheduler.h"

#define KUBE_NAME_MAX_BYTES 254 /* a DNS subdomain */
#define KUBE_UID_MAX_BYTES 64
#define KUBE_WORD_MAX_BYTES 64 /* a label's value */

#define KUBE_HYPERPOD "sagemaker.amazonaws.com/"
#define KUBE_HEALTH_LABEL KUBE_HYPERPOD "node-health-status"
#define KUBE_GROUP_LABEL KUBE_HYPERPOD "instance-group-name"
#define KUBE_OUT_OF_SERVICE "node.kubernetes.io/out-of-service"
#define KUBE_NODE_LABEL \
    "holdfast/node" /* the slot that this machine fills, where the node is named after the machine */
#define KUBE_CORDON_ANNOTATION "holdfast/cordon" /* whose the cordon is: JSON */
#define KUBE_GROUP_ANNOTATION "holdfast/group"   /* labels and taints that we set, as we set them: JSON */
#define KUBE_HINT_ANNOTATION "holdfast/hint"     /* a sentence on a health status that is none */

/* The label's values, and who asks for what by them. */
#define KUBE_HEALTH_LIST(X)                                            \
    X(SCHEDULABLE, "Schedulable", NONE)                                \
    X(UNSCHEDULABLE, "Unschedulable", NONE)                            \
    X(PENDING_REPLACEMENT, "UnschedulablePendingReplacement", REPLACE) \
    X(PENDING_REBOOT, "UnschedulablePendingReboot", REBOOT)
enum kube_health {
    KUBE_HEALTH_NONE, /* no such label */
#define X(SYMBOL, text, request) KUBE_HEALTH_##SYMBOL,
    KUBE_HEALTH_LIST(X)
#undef X
        KUBE_HEALTH_OTHER, /* a value that is none of these */
};
const char *kube_health_text(enum kube_health health); /* "" for NONE and OTHER */
enum kube_health kube_health_of(const char *text);
enum scheduler_request kube_health_request(enum kube_health health); /* NEAR_MISS for OTHER */
enum kube_health kube_health_for(enum scheduler_request request);    /* of a node that we cordon */

/* "holdfast: " before the note of a hold: how reasons are shown for every scheduler. */
#define KUBE_REASON_OURS "holdfast: "

struct kube_node {
    char object[KUBE_NAME_MAX_BYTES]; /* metadata.name */
    char name[NODE_NAME_MAX_BYTES];   /* as Holdfast knows it */
    char uid[KUBE_UID_MAX_BYTES];
    uint64_t version; /* of the object; grows with each change */
    uint64_t marks;   /* a number for its labels, its taints and what we set of them */
    int64_t created_at;
    bool ready, unschedulable, deleting;
    enum kube_health health;
    char health_text[KUBE_WORD_MAX_BYTES];
    bool tainted;                    /* has HyperPod's taint */
    bool ours;                       /* our annotation is there … */
    bool cordoned_before;            /* … and says that somebody had cordoned it before … */
    bool says_only;                  /* … or that the label says all, and nothing is kept off */
    enum scheduler_request request;  /* … and for which repair; NONE: a hold */
    char note[REASON_MAX_BYTES];     /* … and why */
    char external[REASON_MAX_BYTES]; /* a taint of others that takes it out of service; "" */
    char manager[NAME_MAX_BYTES];    /* whose last word spec.unschedulable is */
    int64_t managed_at;
    char hint[REASON_MAX_BYTES];
    char group[KUBE_WORD_MAX_BYTES]; /* by label: instance group, node group or node pool */
    char type[KUBE_WORD_MAX_BYTES];  /* instance type */
    char zone[KUBE_WORD_MAX_BYTES];
    char instance[KUBE_WORD_MAX_BYTES]; /* the last part of the provider id */
    char address[ADDRESS_MAX_BYTES], host[ADDRESS_MAX_BYTES];
    char gres[128]; /* "nvidia.com/gpu:8" */
    char layers[3][TOPOLOGY_NAME_MAX_BYTES], ultraserver[TOPOLOGY_NAME_MAX_BYTES];
    int64_t cpus, memory_mib;
};
/* BACKEND for what is no node. A name that Holdfast cannot have leaves name empty. */
int kube_node_read(const json_t *json, struct kube_node *ret_node);
/* Our cordon is there, and somebody has uncordoned the node. */
bool kube_node_is_lifted(const struct kube_node *node);
/* A decision keeps it out of service, whose ever. */
bool kube_node_is_cordoned(const struct kube_node *node);
/* Why it is out, as reasons are shown. */
void kube_node_reason(const struct kube_node *node, char ret_reason[REASON_MAX_BYTES]);

struct kube_pod {
    char uid[KUBE_UID_MAX_BYTES];
    char space[KUBE_WORD_MAX_BYTES], name[KUBE_NAME_MAX_BYTES];
    char node[KUBE_NAME_MAX_BYTES];
    char owner_kind[KUBE_WORD_MAX_BYTES], owner[KUBE_NAME_MAX_BYTES]; /* its controller; "": none */
    char group[KUBE_NAME_MAX_BYTES]; /* the JobSet or LeaderWorkerSet that its controller is a part of; "": none */
    char phase[16];
    uint64_t version;
    bool finished, deleting, is_static;
};
int kube_pod_read(const json_t *json, struct kube_pod *ret_pod);
/* It is work that has to leave a node: no daemon, no static pod, and not finished. */
bool kube_pod_counts(const struct kube_pod *pod);

/* Text at a path of keys, "" where there is none. */
const char *kube_text(const json_t *json, const char *key);
const json_t *kube_at(const json_t *json, const char *first, const char *second);
/* Whether the server had no more items than these of the list. */
bool kube_list_is_whole(const json_t *list);

/* How a node becomes cordoned by owner: a merge patch that says its resource version, so that a change in between is refused. Caller
 * frees. node is its JSON. */
json_t *kube_cordon_patch(const json_t *json, const struct kube_node *node, const struct scheduler_owner *owner);
/* For a node whose machine is gone: its pods are deleted and its volumes detached without kubelet's word. Caller frees. NULL: it
 * has been said. */
json_t *kube_out_of_service_patch(const json_t *json);
/* How our cordon goes: Schedulable, without taint and annotation; a cordon of before stays. */
json_t *kube_uncordon_patch(const json_t *json, const struct kube_node *node);

#endif
