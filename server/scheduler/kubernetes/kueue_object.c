/* See kueue_object.h. An amount that a quota does not name follows from those that it names, by what one instance of the type has. */
#include "server/scheduler/kubernetes/kueue_object.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_LABEL "node.kubernetes.io/instance-type"
#define CPU_MILLI 1000
#define BORROW_PERCENT_DEFAULT 50 /* BorrowLimit */
#define GPU "nvidia.com/gpu"
#define NEURON "aws.amazon.com/neuron"
#define SLICE "nvidia.com/mig-"

const struct kueue_kind_words kueue_kinds[KUEUE_KIND_COUNT] = {
#define X(SYMBOL, object, kind, plural, before, after) \
    [KUEUE_##SYMBOL] = {GOVERNANCE_OBJECT_##object, kind, plural, before, after},
    KUEUE_KIND_LIST(X)
#undef X
};

char *kueue_name(enum kueue_kind kind, const char *name)
{
    return own_printf("%s%s%s", kueue_kinds[kind].before, name, kueue_kinds[kind].after);
}

/* --- what nodes have ------------------------------------------------------------------------------------------------ */

const struct kueue_instance *kueue_instance_find(const struct kueue_instances *instances, const char *type)
{
    for (size_t i = 0; i < instances->count; i++)
        if (strcmp(instances->list[i].type, type) == 0)
            return &instances->list[i];
    return NULL;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The first accelerator in "nvidia.com/gpu:8,vpc.amazonaws.com/efa:32"; a network card is none. */
static int64_t accelerators_of(const char *gres, char ret_name[KUBE_WORD_MAX_BYTES])
{
    size_t name = strcspn(gres, ":,"), len = strcspn(gres, ",");
    char number[20];
    int64_t count = 0;
    ret_name[0] = '\0';
    if (gres[name] != ':' || text_starts_with(gres, "vpc.amazonaws.com/") ||
        text_copy_bytes(number, sizeof(number), gres + name + 1, len - name - 1) != 0 ||
        text_parse_i64(number, 1, INT32_MAX, &count) != 0 ||
        text_copy_bytes(ret_name, KUBE_WORD_MAX_BYTES, gres, name) != 0)
        return 0;
    return count;
}

void kueue_instances_add(struct kueue_instances *instances, const struct kube_node *node)
{
    char accelerator[KUBE_WORD_MAX_BYTES];
    int64_t count = accelerators_of(node->gres, accelerator);
    if (node->type[0] == '\0' || node->deleting)
        return;
    struct kueue_instance *one = (struct kueue_instance *)(uintptr_t)kueue_instance_find(instances, node->type);
    if (one == NULL) {
        instances->list = own_realloc(instances->list, instances->count + 1, sizeof(*instances->list));
        one = &instances->list[instances->count++];
        *one = (struct kueue_instance){0};
        text_copy_cut(one->type, sizeof(one->type), node->type);
    }
    if (count > 0)
        text_copy_cut(one->accelerator, sizeof(one->accelerator), accelerator);
    one->cpu_milli = larger(one->cpu_milli, node->cpus * CPU_MILLI);
    one->memory_mib = larger(one->memory_mib, node->memory_mib);
    one->accelerators = larger(one->accelerators, count);
    one->all_cpu_milli += node->cpus * CPU_MILLI;
    one->all_memory_mib += node->memory_mib;
    one->all_accelerators += count;
}

/* --- amounts into numbers ------------------------------------------------------------------------------------------- */

static int cannot(char ret_why[SCHEDULER_WHY_MAX], const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int cannot(char ret_why[SCHEDULER_WHY_MAX], const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *why = own_vprintf(fmt, ap);
    va_end(ap);
    text_copy_cut(ret_why, SCHEDULER_WHY_MAX, why);
    return STATUS_INVALID;
}

static struct kueue_flavor *flavor_of(struct kueue_quota *quota, const char *type)
{
    for (size_t i = 0; i < quota->count; i++)
        if (strcmp(quota->flavors[i].type, type) == 0)
            return &quota->flavors[i];
    if (quota->count == KUEUE_FLAVORS_MAX)
        abort(); /* ours: a rule has at most that many amounts */
    struct kueue_flavor *flavor = &quota->flavors[quota->count++];
    flavor->count = 0;
    text_copy_cut(flavor->type, sizeof(flavor->type), type);
    return flavor;
}

static struct kueue_resource *resource_of(struct kueue_flavor *flavor, const char *name, enum kueue_unit unit)
{
    for (size_t i = 0; i < flavor->count; i++)
        if (strcmp(flavor->resources[i].name, name) == 0)
            return &flavor->resources[i];
    if (flavor->count == KUEUE_RESOURCES_MAX)
        abort(); /* likewise */
    struct kueue_resource *resource = &flavor->resources[flavor->count++];
    *resource = (struct kueue_resource){.unit = unit};
    text_copy_cut(resource->name, sizeof(resource->name), name);
    return resource;
}

static void add(struct kueue_flavor *flavor, const char *name, enum kueue_unit unit, int64_t value, bool is_borrow)
{
    struct kueue_resource *resource = resource_of(flavor, name, unit);
    int64_t *into = is_borrow ? &resource->borrow : &resource->nominal;
    *into += value;
}

/* given, or the part of an instance that the other amounts are. */
static int64_t fill(int64_t given, double instances, int64_t each)
{
    return given >= 0 ? given : (int64_t)(instances * (double)each);
}

static double ratio(int64_t given, int64_t each)
{
    return each > 0 ? (double)given / (double)each : 0;
}

static double instances_of(const struct scheduler_amount *amount, const struct kueue_instance *one)
{
    if (amount->nodes >= 0)
        return (double)amount->nodes;
    if (amount->accelerators >= 0)
        return ratio(amount->accelerators, one->accelerators);
    if (amount->cpu_milli >= 0)
        return ratio(amount->cpu_milli, one->cpu_milli);
    return amount->memory_mib >= 0 ? ratio(amount->memory_mib, one->memory_mib) : 0;
}

static const char *accelerator_of(const char *type, const struct kueue_instance *one)
{
    if (one->accelerator[0] != '\0')
        return one->accelerator;
    return text_starts_with(type, "ml.trn") || text_starts_with(type, "ml.inf") ? NEURON : GPU;
}

static int add_amount(const struct scheduler_amount *amount, const struct kueue_instances *instances, bool is_borrow,
                      struct kueue_quota *quota, char ret_why[SCHEDULER_WHY_MAX])
{
    static const struct kueue_instance unknown;
    const struct kueue_instance *one = kueue_instance_find(instances, amount->instance_type);
    struct kueue_flavor *flavor = flavor_of(quota, amount->instance_type);
    bool is_whole = amount->cpu_milli >= 0 && amount->memory_mib >= 0;
    bool is_slice = amount->slice[0] != '\0' && amount->nodes < 0 && amount->accelerators < 0;
    if (is_slice && !is_whole)
        return cannot(ret_why,
                      "the amount of %s names a part of an accelerator; it needs VCpu and MemoryInGiB beside it",
                      amount->instance_type);
    if (one == NULL && (!is_whole || (amount->nodes >= 0 && amount->accelerators < 0)))
        return cannot(ret_why, "Kubernetes has no node with the label " TYPE_LABEL "=%s, so its size is not known",
                      amount->instance_type);
    if (one == NULL)
        one = &unknown;
    double count = is_slice ? 0 : instances_of(amount, one);
    add(flavor, "cpu", KUEUE_CPU_MILLI, fill(amount->cpu_milli, count, one->cpu_milli), is_borrow);
    add(flavor, "memory", KUEUE_MEMORY_MIB, fill(amount->memory_mib, count, one->memory_mib), is_borrow);
    int64_t accelerators = fill(amount->accelerators, count, one->accelerators);
    if (amount->accelerators >= 0 || one->accelerators > 0)
        add(flavor, accelerator_of(amount->instance_type, one), KUEUE_COUNT, accelerators, is_borrow);
    if (amount->slice[0] != '\0') {
        autofree char *name = own_printf(SLICE "%s", amount->slice);
        add(flavor, name, KUEUE_COUNT, amount->slices > 0 ? amount->slices : 0, is_borrow);
    }
    return 0;
}

/* Every flavor gets the resources of all, in one order. */
static void align(struct kueue_quota *quota)
{
    autofree struct kueue_flavor *all = own_calloc(1, sizeof(*all));
    for (size_t i = 0; i < quota->count; i++)
        for (size_t k = 0; k < quota->flavors[i].count; k++)
            resource_of(all, quota->flavors[i].resources[k].name, quota->flavors[i].resources[k].unit);
    for (size_t i = 0; i < quota->count; i++) {
        autofree struct kueue_flavor *old = own_calloc(1, sizeof(*old));
        struct kueue_flavor *flavor = &quota->flavors[i];
        *old = *flavor;
        flavor->count = 0;
        for (size_t k = 0; k < all->count; k++)
            *resource_of(flavor, all->resources[k].name, all->resources[k].unit) =
                *resource_of(old, all->resources[k].name, all->resources[k].unit);
    }
}

static void borrow_by_percent(struct kueue_quota *quota, int64_t percent)
{
    for (size_t i = 0; i < quota->count; i++)
        for (size_t k = 0; k < quota->flavors[i].count; k++) {
            struct kueue_resource *resource = &quota->flavors[i].resources[k];
            resource->borrow = (int64_t)((double)resource->nominal * (double)percent / 100);
        }
}

int kueue_quota_make(const struct scheduler_rule *rule, const struct kueue_instances *instances,
                     struct kueue_quota *ret_quota, char ret_why[SCHEDULER_WHY_MAX])
{
    bool borrows = rule->borrows || !rule->asked[SCHEDULER_PART_LENDING]; /* HyperPod's default */
    int status = 0;
    ret_quota->count = 0;
    for (size_t i = 0; i < rule->amount_count; i++) {
        int one = add_amount(&rule->amounts[i], instances, false, ret_quota, ret_why);
        status = status != 0 ? status : one;
    }
    for (size_t i = 0; i < rule->borrow_count && borrows; i++) {
        int one = add_amount(&rule->borrow_at_most[i], instances, true, ret_quota, ret_why);
        status = status != 0 ? status : one;
    }
    align(ret_quota);
    if (borrows && rule->borrow_count == 0)
        borrow_by_percent(ret_quota, rule->borrow_percent >= 0 ? rule->borrow_percent : BORROW_PERCENT_DEFAULT);
    return status;
}

static int64_t capacity_of(const struct kueue_instance *one, const struct kueue_resource *resource)
{
    if (one == NULL)
        return 0;
    if (resource->unit == KUEUE_CPU_MILLI)
        return one->all_cpu_milli;
    if (resource->unit == KUEUE_MEMORY_MIB)
        return one->all_memory_mib;
    return strcmp(resource->name, one->accelerator) == 0 ? one->all_accelerators : 0;
}

void kueue_quota_leave(struct kueue_quota *left, const struct kueue_quota *quota,
                       const struct kueue_instances *instances)
{
    for (size_t i = 0; i < quota->count; i++) {
        const struct kueue_flavor *from = &quota->flavors[i];
        const struct kueue_instance *one = kueue_instance_find(instances, from->type);
        if (left->count == KUEUE_FLAVORS_MAX)
            return;
        struct kueue_flavor *into = flavor_of(left, from->type);
        for (size_t k = 0; k < from->count; k++) {
            size_t before = into->count;
            if (text_starts_with(from->resources[k].name, SLICE))
                continue; /* how an accelerator is cut is not known of those that nobody has */
            struct kueue_resource *resource = resource_of(into, from->resources[k].name, from->resources[k].unit);
            if (into->count > before)
                resource->nominal = capacity_of(one, resource);
            resource->nominal = larger(resource->nominal - from->resources[k].nominal, 0);
        }
    }
    align(left);
}

/* --- objects -------------------------------------------------------------------------------------------------------- */

static json_t *object_of(const char *version, enum kueue_kind kind, const char *name, const char *mark)
{
    autofree char *api = own_printf(KUEUE_GROUP "/%s", version), *full = kueue_name(kind, name);
    return json_pack("{s:s, s:s, s:{s:s, s:{s:s, s:s}}}", "apiVersion", api, "kind", kueue_kinds[kind].kind, "metadata",
                     "name", full, "labels", "app.kubernetes.io/managed-by", "holdfast", KUEUE_MARK_LABEL, mark);
}

static json_t *quantity_of(enum kueue_unit unit, int64_t value)
{
    bool is_whole = unit != KUEUE_CPU_MILLI || value % CPU_MILLI == 0;
    autofree char *text = own_printf("%" PRId64 "%s", unit == KUEUE_CPU_MILLI && is_whole ? value / CPU_MILLI : value,
                                     !is_whole                               ? "m"
                                     : unit == KUEUE_MEMORY_MIB && value > 0 ? "Mi"
                                                                             : "");
    return json_string(text);
}

static json_t *flavor_quotas(const struct kueue_flavor *flavor, bool lends)
{
    json_t *resources = json_array();
    for (size_t i = 0; i < flavor->count; i++) {
        const struct kueue_resource *resource = &flavor->resources[i];
        json_t *one = json_pack("{s:s, s:o, s:o}", "name", resource->name, "nominalQuota",
                                quantity_of(resource->unit, resource->nominal), "borrowingLimit",
                                quantity_of(resource->unit, resource->borrow));
        if (!lends)
            json_object_set_new(one, "lendingLimit", json_string("0"));
        json_array_append_new(resources, one);
    }
    return json_pack("{s:s, s:o}", "name", flavor->type, "resources", resources);
}

/* One group: Kueue wants each flavor and each resource in one alone. */
static json_t *resource_groups(const struct kueue_quota *quota, bool lends)
{
    json_t *groups = json_array();
    if (quota->count == 0 || quota->flavors[0].count == 0)
        return groups;
    json_t *covered = json_array(), *flavors = json_array();
    for (size_t i = 0; i < quota->flavors[0].count; i++)
        json_array_append_new(covered, json_string(quota->flavors[0].resources[i].name));
    for (size_t i = 0; i < quota->count; i++)
        json_array_append_new(flavors, flavor_quotas(&quota->flavors[i], lends));
    json_array_append_new(groups, json_pack("{s:o, s:o}", "coveredResources", covered, "flavors", flavors));
    return groups;
}

json_t *kueue_cluster_queue(const char *version, const struct kueue_queue *queue, const char *mark)
{
    json_t *object = object_of(version, KUEUE_CLUSTER_QUEUE, queue->team, mark);
    bool is_idle = strcmp(queue->team, KUEUE_IDLE) == 0;
    autofree char *space = own_printf(KUEUE_NAMESPACE "%s", queue->team);
    json_t *spec =
        json_pack("{s:s, s:o, s:{s:s, s:s}}", strcmp(version, "v1beta1") == 0 ? "cohort" : "cohortName", queue->cohort,
                  "resourceGroups", resource_groups(queue->quota, queue->lends), "preemption", "reclaimWithinCohort",
                  is_idle ? "Never" : "Any", "withinClusterQueue", queue->preempts ? "LowerPriority" : "Never");
    if (!is_idle) /* nobody's jobs are in that one */
        json_object_set_new(spec, "namespaceSelector",
                            json_pack("{s:{s:s}}", "matchLabels", "kubernetes.io/metadata.name", space));
    if (queue->weight >= 0) {
        autofree char *weight = own_printf("%" PRId64, queue->weight);
        json_object_set_new(spec, "fairSharing", json_pack("{s:s}", "weight", weight));
    }
    json_object_set_new(object, "spec", spec);
    return object;
}

json_t *kueue_local_queue(const char *version, const char *team, const char *mark)
{
    json_t *object = object_of(version, KUEUE_LOCAL_QUEUE, team, mark);
    autofree char *space = own_printf(KUEUE_NAMESPACE "%s", team), *queue = kueue_name(KUEUE_CLUSTER_QUEUE, team);
    json_object_set_new(json_object_get(object, "metadata"), "namespace", json_string(space));
    json_object_set_new(object, "spec", json_pack("{s:s}", "clusterQueue", queue));
    return object;
}

json_t *kueue_flavor(const char *version, const char *type, const char *mark)
{
    json_t *object = object_of(version, KUEUE_FLAVOR, type, mark);
    json_object_set_new(object, "spec", json_pack("{s:{s:s}}", "nodeLabels", TYPE_LABEL, type));
    return object;
}

json_t *kueue_class(const char *version, const struct scheduler_class *class, const char *mark)
{
    json_t *object = object_of(version, KUEUE_CLASS, class->name, mark);
    json_object_set_new(object, "value", json_integer(class->weight));
    return object;
}

/* --- reading -------------------------------------------------------------------------------------------------------- */

bool kueue_quantity(const json_t *value, double *ret_value)
{
    static const struct {
        const char *suffix;
        double factor;
    } units[] = {{"", 1},        {"m", 1e-3},    {"k", 1e3},     {"M", 1e6},        {"G", 1e9},     {"T", 1e12},
                 {"P", 1e15},    {"E", 1e18},    {"Ki", 1024.0}, {"Mi", 1048576.0}, {"Gi", 0x1p30}, {"Ti", 0x1p40},
                 {"Pi", 0x1p50}, {"Ei", 0x1p60}, {"e3", 1e3},    {"e6", 1e6},       {"e9", 1e9}};
    if (json_is_integer(value)) {
        *ret_value = (double)json_integer_value(value);
        return true;
    }
    const char *text = json_string_value(value);
    size_t digits = text == NULL ? 0 : strspn(text, "0123456789.");
    if (digits == 0 || digits > 18 || text[0] == '.')
        return false;
    char number[20];
    char *end = NULL;
    snprintf(number, sizeof(number), "%.*s", (int)digits, text);
    double read = strtod(number, &end);
    for (size_t i = 0; i < ARRAY_LEN(units) && *end == '\0'; i++)
        if (strcmp(text + digits, units[i].suffix) == 0) {
            *ret_value = read * units[i].factor;
            return true;
        }
    return false;
}

static bool is_amount(const char *key)
{
    static const char *const keys[] = {"nominalQuota", "borrowingLimit", "lendingLimit", "weight"};
    for (size_t i = 0; key != NULL && i < ARRAY_LEN(keys); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* A limit of somebody else's within a quota is a difference; elsewhere what Kueue adds is none. */
static bool holds(const json_t *there, const json_t *wanted, const char *at, bool exact)
{
    const char *key;
    json_t *value;
    double a, b;
    if (is_amount(at) && kueue_quantity(there, &a) && kueue_quantity(wanted, &b))
        return a >= b && a <= b;
    if (json_is_array(wanted)) {
        if (!json_is_array(there) && json_array_size(wanted) > 0)
            return false;
        for (size_t i = 0; i < json_array_size(wanted); i++)
            if (!holds(json_array_get(there, i), json_array_get(wanted, i), NULL, exact))
                return false;
        return json_array_size(there) == json_array_size(wanted);
    }
    if (!json_is_object(wanted))
        return there != NULL && json_equal(there, wanted);
    if (!json_is_object(there) || (exact && json_object_size(there) != json_object_size(wanted)))
        return false;
    json_object_foreach((json_t *)(uintptr_t)wanted, key, value)
    {
        bool all = exact || strcmp(key, "resourceGroups") == 0 || strcmp(key, "nodeLabels") == 0 ||
                   strcmp(key, "namespaceSelector") == 0;
        if (!holds(json_object_get(there, key), value, key, all))
            return false;
    }
    return true;
}

bool kueue_holds(const json_t *there, const json_t *wanted)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)wanted, key, value)
    {
        bool is_kind = strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0; /* a list leaves them out */
        if (!is_kind && !holds(json_object_get(there, key), value, key, false))
            return false;
    }
    return true;
}

int kueue_is_active(const json_t *queue, const char **ret_message)
{
    const json_t *conditions = kube_at(queue, "status", "conditions");
    *ret_message = "";
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *one = json_array_get(conditions, i);
        if (strcmp(kube_text(one, "type"), "Active") != 0)
            continue;
        *ret_message = kube_text(one, "message");
        return strcmp(kube_text(one, "status"), "True") == 0;
    }
    return -1;
}

const char *kueue_version(const json_t *group)
{
    static const char *const known[] = {"v1beta2", "v1beta1"};
    const json_t *versions = json_object_get(group, "versions");
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        for (size_t k = 0; k < json_array_size(versions); k++)
            if (strcmp(kube_text(json_array_get(versions, k), "version"), known[i]) == 0)
                return known[i];
    return NULL;
}
