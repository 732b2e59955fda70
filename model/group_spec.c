/* See group_spec.h. The words of the store are in the records below; the store's migrations know them, too. */
#include "model/group_spec.h"

#include "base/text.h"
#include "model/deep.h"
#include "model/limits.h"

#include <string.h>

ENUM_DEFINE(slurm_role, SLURM_ROLE_LIST)
ENUM_DEFINE(desired_strategy, DESIRED_STRATEGY_LIST)
ENUM_DEFINE(interface_kind, INTERFACE_KIND_LIST)
ENUM_DEFINE(taint_effect, TAINT_EFFECT_LIST)

static const char *const roles[] = {SLURM_ROLE_LIST(ENUM_TEXT_)};
static const char *const strategies[] = {DESIRED_STRATEGY_LIST(ENUM_TEXT_)};
static const char *const interfaces[] = {INTERFACE_KIND_LIST(ENUM_TEXT_)};
static const char *const effects[] = {TAINT_EFFECT_LIST(ENUM_TEXT_)};
static const char *const checks[] = {DEEP_CHECK_LIST(ENUM_TEXT_)};
static const char *const off[] = {"off"};
static const char *const scalers[] = {"karpenter"};

#define TEXT(holder, member, word)                                          \
    {                                                                       \
        .name = (word), .type = RECORD_TEXT, .at = offsetof(holder, member) \
    }
#define NUMBER(holder, member, word)                                                                              \
    {                                                                                                             \
        .name = (word), .type = RECORD_NUMBER, .at = offsetof(holder, member), .min = INT64_MIN, .max = INT64_MAX \
    }
#define WORD(holder, member, word, list)                                                      \
    {                                                                                         \
        .name = (word), .type = RECORD_WORD, .at = offsetof(holder, member), .words = (list), \
        .word_count = ARRAY_LEN(list)                                                         \
    }
#define TEXTS(holder, member, word)                                          \
    {                                                                        \
        .name = (word), .type = RECORD_TEXTS, .at = offsetof(holder, member) \
    }
#define OBJECT(holder, member, word, of)                                                      \
    {                                                                                         \
        .name = (word), .type = RECORD_OBJECT, .at = offsetof(holder, member), .record = (of) \
    }

static const struct record_field lifecycle_fields[] = {
    TEXT(struct lifecycle_spec, source, "source"),
    TEXT(struct lifecycle_spec, on_create, "onCreate"),
    TEXT(struct lifecycle_spec, on_init_complete, "onInitComplete"),
};
static const struct record lifecycle = RECORD(struct lifecycle_spec, lifecycle_fields);

static const struct record_field slurm_fields[] = {
    WORD(struct slurm_spec, role, "role", roles),
    TEXTS(struct slurm_spec, partitions, "partitions"),
};
static const struct record slurm = RECORD(struct slurm_spec, slurm_fields);

static const struct record_field taint_fields[] = {
    TEXT(struct taint_spec, key, "key"),
    TEXT(struct taint_spec, value, "value"),
    WORD(struct taint_spec, effect, "effect", effects),
};
static const struct record taint = RECORD(struct taint_spec, taint_fields);

static const struct record_field kubernetes_fields[] = {
    {.name = "labels", .type = RECORD_MAP, .at = offsetof(struct kubernetes_spec, labels)},
    {.name = "taints", .type = RECORD_LIST, .at = offsetof(struct kubernetes_spec, taints), .record = &taint},
};
static const struct record kubernetes = RECORD(struct kubernetes_spec, kubernetes_fields);

static const struct record_field network_fields[] = {
    TEXTS(struct network_spec, subnets, "subnets"),
    TEXTS(struct network_spec, security_groups, "securityGroups"),
};
static const struct record network = RECORD(struct network_spec, network_fields);

static const struct record_field volume_fields[] = {
    NUMBER(struct volume_spec, size_gb, "sizeGb"),
    TEXT(struct volume_spec, key, "key"),
    {.name = "root", .type = RECORD_FLAG, .at = offsetof(struct volume_spec, root)},
};
static const struct record volume = RECORD(struct volume_spec, volume_fields);

static const struct record_field file_system_fields[] = {
    TEXT(struct file_system_spec, address, "address"),
    TEXT(struct file_system_spec, name, "name"),
    TEXT(struct file_system_spec, path, "path"),
};
static const struct record file_system = RECORD(struct file_system_spec, file_system_fields);

static const struct record_field storage_fields[] = {
    OBJECT(struct storage_spec, volume, "volume", &volume),
    OBJECT(struct storage_spec, lustre, "lustre", &file_system),
    OBJECT(struct storage_spec, zfs, "zfs", &file_system),
};
static const struct record storage = RECORD(struct storage_spec, storage_fields);

static const struct record_field interface_fields[] = {
    WORD(struct interface_spec, kind, "kind", interfaces),
};
static const struct record interface = RECORD(struct interface_spec, interface_fields);

static const struct record on_demand = {.size = sizeof(struct on_demand_spec)};
static const struct record_field capacity_fields[] = {
    OBJECT(struct capacity_spec, on_demand, "onDemand", &on_demand),
};
static const struct record capacity = RECORD(struct capacity_spec, capacity_fields);

static const struct record_field requirements_fields[] = {
    TEXTS(struct requirements_spec, instance_types, "instanceTypes"),
};
static const struct record requirements = RECORD(struct requirements_spec, requirements_fields);

static const struct record_field group_fields[] = {
    OBJECT(struct group_spec, lifecycle, "lifecycle", &lifecycle),
    OBJECT(struct group_spec, slurm, "slurm", &slurm),
    OBJECT(struct group_spec, slurm_by_file, "slurmByFile", &slurm),
    OBJECT(struct group_spec, kubernetes, "kubernetes", &kubernetes),
    OBJECT(struct group_spec, network, "network", &network),
    {.name = "checksOnStart",
     .type = RECORD_WORDS,
     .at = offsetof(struct group_spec, checks_on_start),
     .words = checks,
     .word_count = ARRAY_LEN(checks)},
    OBJECT(struct group_spec, requirements, "requirements", &requirements),
    TEXT(struct group_spec, execution_role, "executionRole"),
    NUMBER(struct group_spec, threads_per_core, "threadsPerCore"),
    {.name = "storage", .type = RECORD_LIST, .at = offsetof(struct group_spec, storage), .record = &storage},
    OBJECT(struct group_spec, interface, "interface", &interface),
    OBJECT(struct group_spec, capacity, "capacity", &capacity),
    TEXTS(struct group_spec, reboot_methods, "rebootMethods"),
    {.name = "autoResumeReplaces", .type = RECORD_FLAG, .at = offsetof(struct group_spec, auto_resume_replaces)},
};
static const struct record group = RECORD(struct group_spec, group_fields);

static const struct record_field tiered_storage_fields[] = {
    WORD(struct tiered_storage_spec, off, "mode", off),
    NUMBER(struct tiered_storage_spec, memory_percent, "memoryPercent"),
};
static const struct record tiered_storage = RECORD(struct tiered_storage_spec, tiered_storage_fields);

static const struct record_field auto_scaling_fields[] = {
    WORD(struct auto_scaling_spec, off, "mode", off),
    WORD(struct auto_scaling_spec, scaler, "scaler", scalers),
};
static const struct record auto_scaling = RECORD(struct auto_scaling_spec, auto_scaling_fields);

static const struct record_field cluster_fields[] = {
    OBJECT(struct cluster_spec, network, "network", &network),
    TEXT(struct cluster_spec, role, "role"),
    WORD(struct cluster_spec, strategy, "strategy", strategies),
    OBJECT(struct cluster_spec, tiered_storage, "tieredStorage", &tiered_storage),
    OBJECT(struct cluster_spec, auto_scaling, "autoScaling", &auto_scaling),
    TEXT(struct cluster_spec, made_by, "madeBy"),
};
static const struct record cluster = RECORD(struct cluster_spec, cluster_fields);

/* --- stored ---------------------------------------------------------------------------------------- */

static char *write_text(const struct record *record, const void *spec)
{
    auto_json json_t *json = record_write(record, spec);
    return json_dumps(json, JSON_COMPACT);
}

static int read_text(const struct record *record, const char *text, void *ret_spec)
{
    char error[RECORD_ERROR_MAX];
    auto_json json_t *json = NULL;
    int status = json_parse(text, strlen(text), CLUSTER_DOCUMENT_BYTES_MAX, &json, error);
    memset(ret_spec, 0, record->size);
    return status < 0 ? status : record_read(record, json, "", ret_spec, error);
}

static bool is_empty(const struct record *record, const void *spec)
{
    auto_json json_t *json = record_write(record, spec);
    return json_object_size(json) == 0;
}

char *group_spec_write(const struct group_spec *spec)
{
    return write_text(&group, spec);
}

int group_spec_read(const char *text, struct group_spec *ret_spec)
{
    return read_text(&group, text, ret_spec);
}

char *cluster_spec_write(const struct cluster_spec *spec)
{
    return write_text(&cluster, spec);
}

int cluster_spec_read(const char *text, struct cluster_spec *ret_spec)
{
    return read_text(&cluster, text, ret_spec);
}

struct group_spec group_spec_copy(const struct group_spec *spec)
{
    struct group_spec copy;
    autofree char *text = group_spec_write(spec);
    (void)group_spec_read(text, &copy); /* what we wrote ourselves can be read */
    return copy;
}

struct cluster_spec cluster_spec_copy(const struct cluster_spec *spec)
{
    struct cluster_spec copy;
    autofree char *text = cluster_spec_write(spec);
    (void)cluster_spec_read(text, &copy);
    return copy;
}

void group_spec_merge(struct group_spec *into, struct group_spec *newer)
{
    record_merge(&group, into, newer);
}

void cluster_spec_merge(struct cluster_spec *into, struct cluster_spec *newer)
{
    record_merge(&cluster, into, newer);
}

bool group_spec_is_empty(const struct group_spec *spec)
{
    return is_empty(&group, spec);
}

bool cluster_spec_is_empty(const struct cluster_spec *spec)
{
    return is_empty(&cluster, spec);
}

void group_spec_free(struct group_spec *spec)
{
    record_free(&group, spec);
}

void cluster_spec_free(struct cluster_spec *spec)
{
    record_free(&cluster, spec);
}

char *kubernetes_spec_write(const struct kubernetes_spec *spec)
{
    return write_text(&kubernetes, spec);
}

int kubernetes_spec_read(const char *text, struct kubernetes_spec *ret_spec)
{
    int status = read_text(&kubernetes, text, ret_spec);
    if (status == 0)
        ret_spec->given = true;
    return status;
}

void kubernetes_spec_free(struct kubernetes_spec *spec)
{
    record_free(&kubernetes, spec);
}

/* --- what two have in common ----------------------------------------------------------------------- */

static bool has_label(const struct kubernetes_spec *spec, const struct record_pair *label)
{
    const struct record_pair *labels = spec->labels.items;
    for (size_t i = 0; i < spec->labels.count; i++)
        if (strcmp(labels[i].key, label->key) == 0)
            return strcmp(labels[i].value, label->value) == 0;
    return false;
}

static bool has_taint(const struct kubernetes_spec *spec, const struct taint_spec *wanted)
{
    const struct taint_spec *taints = spec->taints.items;
    for (size_t i = 0; i < spec->taints.count; i++)
        if (strcmp(taints[i].key, wanted->key) == 0 && taints[i].effect.value == wanted->effect.value)
            return text_equal(text_or_empty(taints[i].value), text_or_empty(wanted->value));
    return false;
}

void kubernetes_spec_intersect(struct kubernetes_spec *into, const struct kubernetes_spec *other)
{
    struct record_pair *labels = into->labels.items;
    struct taint_spec *taints = into->taints.items;
    size_t kept = 0;
    for (size_t i = 0; i < into->labels.count; i++) {
        if (has_label(other, &labels[i])) {
            labels[kept++] = labels[i];
            continue;
        }
        free(labels[i].key);
        free(labels[i].value);
    }
    into->labels.count = kept;
    kept = 0;
    for (size_t i = 0; i < into->taints.count; i++) {
        if (has_taint(other, &taints[i]))
            taints[kept++] = taints[i];
        else
            record_free(&taint, &taints[i]);
    }
    into->taints.count = kept;
}

/* --- read ------------------------------------------------------------------------------------------ */

const struct slurm_spec *group_spec_slurm(const struct group_spec *spec)
{
    return spec->slurm.given ? &spec->slurm : &spec->slurm_by_file;
}

enum slurm_role group_spec_role(const struct group_spec *spec)
{
    return (enum slurm_role)group_spec_slurm(spec)->role.value; /* compute where nothing is said */
}

const char *group_spec_partition(const struct group_spec *spec)
{
    const struct optional_list *partitions = &group_spec_slurm(spec)->partitions;
    return partitions->count == 0 ? NULL : ((char **)partitions->items)[0];
}

int lifecycle_spec_read(const struct lifecycle_spec *spec, struct lifecycle_job *ret_job)
{
    const char *const scripts[LIFECYCLE_SCRIPTS_MAX] = {spec->on_create, spec->on_init_complete};
    struct lifecycle_job job = {0};
    bool wanted = false;
    int status = text_copy(job.source, sizeof(job.source), text_or_empty(spec->source));
    for (int i = 0; status == 0 && i < LIFECYCLE_SCRIPTS_MAX; i++) {
        status = text_copy(job.scripts[i], sizeof(job.scripts[i]), text_or_empty(scripts[i]));
        wanted = wanted || job.scripts[i][0] != '\0';
    }
    if (status == 0 && !wanted)
        return STATUS_NOT_FOUND;
    if (status == 0)
        *ret_job = job;
    return status;
}
