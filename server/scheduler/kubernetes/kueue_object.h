/*
 * Kueue's objects as Holdfast makes and reads them: the queues, flavors and priority classes that a scheduler configuration or a quota
 * means. Pure.
 *
 * Their names are HyperPod's, so that job files for HyperPod find their queue. Each carries a label with the uid of the rule that it was
 * made for; an object without it was made by somebody else.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_KUBERNETES_KUEUE_OBJECT_H
#define HOLDFAST_SERVER_SCHEDULER_KUBERNETES_KUEUE_OBJECT_H

#include "server/scheduler/governance.h"
#include "server/scheduler/kubernetes/object.h"

#define KUEUE_GROUP "kueue.x-k8s.io"
#define KUEUE_MARK_LABEL "holdfast/governance" /* the uid of the rule */
#define KUEUE_NAMESPACE "hyperpod-ns-"
#define KUEUE_IDLE "idle-resource-sharing" /* in place of a team: the queue that lends what no quota has */
#define KUEUE_RESOURCES_MAX 36 /* cpu, memory, accelerators and a slice for each amount, given and borrowed */
#define KUEUE_FLAVORS_MAX 30

/* Each: symbol, the object in the store, kind, its plural in paths, before and after the name that is stored. */
#define KUEUE_KIND_LIST(X)                                                                             \
    X(FLAVOR, RESOURCE_FLAVOR, "ResourceFlavor", "resourceflavors", "", "")                            \
    X(CLASS, WORKLOAD_CLASS, "WorkloadPriorityClass", "workloadpriorityclasses", "", "-priority")      \
    X(CLUSTER_QUEUE, CLUSTER_QUEUE, "ClusterQueue", "clusterqueues", KUEUE_NAMESPACE, "-clusterqueue") \
    X(LOCAL_QUEUE, LOCAL_QUEUE, "LocalQueue", "localqueues", KUEUE_NAMESPACE, "-localqueue")
enum kueue_kind {
#define X(SYMBOL, object, kind, plural, before, after) KUEUE_##SYMBOL,
    KUEUE_KIND_LIST(X)
#undef X
        KUEUE_KIND_COUNT
};
struct kueue_kind_words {
    enum governance_object object;
    const char *kind, *plural, *before, *after;
};
extern const struct kueue_kind_words kueue_kinds[KUEUE_KIND_COUNT];
/* The object's name in Kubernetes. Caller frees. */
char *kueue_name(enum kueue_kind kind, const char *name);

/* What nodes of one instance type have: one of them, and all together. */
struct kueue_instance {
    char type[KUBE_WORD_MAX_BYTES];
    int64_t cpu_milli, memory_mib, accelerators;
    int64_t all_cpu_milli, all_memory_mib, all_accelerators;
    char accelerator[KUBE_WORD_MAX_BYTES]; /* "nvidia.com/gpu"; "": it has none */
};
struct kueue_instances {
    struct kueue_instance *list;
    size_t count;
};
void kueue_instances_add(struct kueue_instances *instances, const struct kube_node *node);
const struct kueue_instance *kueue_instance_find(const struct kueue_instances *instances, const char *type);

enum kueue_unit { KUEUE_COUNT, KUEUE_CPU_MILLI, KUEUE_MEMORY_MIB };
struct kueue_resource {
    char name[NAME_MAX_BYTES + sizeof("nvidia.com/mig-")];
    enum kueue_unit unit;
    int64_t nominal, borrow;
};
struct kueue_flavor {
    char type[NAME_MAX_BYTES];
    struct kueue_resource resources[KUEUE_RESOURCES_MAX];
    size_t count;
};
/* A quota by flavor; every flavor has the same resources, in the same order, as Kueue wants it. */
struct kueue_quota {
    struct kueue_flavor flavors[KUEUE_FLAVORS_MAX];
    size_t count;
};
/* INVALID, with ret_why, where an amount cannot be put into numbers; then ret_quota has the flavors that were named so far. */
int kueue_quota_make(const struct scheduler_rule *rule, const struct kueue_instances *instances,
                     struct kueue_quota *ret_quota, char ret_why[SCHEDULER_WHY_MAX]);
/* Adds the flavors of a quota with what is left of them, and takes its amounts from that. */
void kueue_quota_leave(struct kueue_quota *left, const struct kueue_quota *quota,
                       const struct kueue_instances *instances);

/* What an object shall be. Callers free. version: of the API, "v1beta2". */
struct kueue_queue {
    const char *team, *cohort;
    const struct kueue_quota *quota;
    bool lends, preempts;
    int64_t weight; /* negative: as Kueue has it */
};
json_t *kueue_cluster_queue(const char *version, const struct kueue_queue *queue, const char *mark);
json_t *kueue_local_queue(const char *version, const char *team, const char *mark);
json_t *kueue_flavor(const char *version, const char *type, const char *mark);
json_t *kueue_class(const char *version, const struct scheduler_class *class, const char *mark);
/* All that is wanted is there, whatever else is; amounts are compared by what they mean. */
bool kueue_holds(const json_t *there, const json_t *wanted);
/* A quantity of Kubernetes, "1500m" or "2Gi"; false for what is none. */
bool kueue_quantity(const json_t *value, double *ret_value);
/* The condition Active of a ClusterQueue: 1, 0 with its message, or negative while Kueue has said nothing. */
int kueue_is_active(const json_t *queue, const char **ret_message);
/* Of the versions in the answer of /apis/kueue.x-k8s.io the one to use; NULL: none that is known. */
const char *kueue_version(const json_t *group);

#endif
