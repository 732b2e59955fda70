/*
 * The words of clusters and groups at the REST API, and what each may be. Most are HyperPod's in another spelling, so that a file for
 * one is soon a file for the other; what cannot be done here is known by name and refused with its reason.
 */
#include "api/v1/spec_words.h"

#include "model/deep.h"
#include "model/model.h"
#include "model/reboot.h"

#define TYPE_PATTERN "[a-zA-Z0-9._-]*"
#define TYPE_RULE "letters, digits, dots and hyphens, such as \"ml.p5.48xlarge\""
#define ROLE_PATTERN "arn:aws[a-z-]*:iam::[0-9]{12}:role/?[a-zA-Z_0-9+=,.@_/-]+"
#define ROLE_RULE "a role's ARN, arn:aws:iam::123456789012:role/name"
#define NETWORK_ID_PATTERN "[a-zA-Z0-9-]+"
#define NETWORK_ID_RULE "letters, digits and hyphens"
#define ADDRESS_PATTERN "(?:fs|fc)i?-[0-9a-f]{8,}\\..{4,253}"
#define ADDRESS_RULE "the name of a file system, fs-0123456789abcdef0.fsx.example.org"
#define PATH_PATTERN "/[a-zA-Z0-9._/-]+"
#define PATH_RULE "a path of letters, digits, dots, hyphens and underscores"
/* As Kubernetes has them. */
#define LABEL_KEY_PATTERN                                                        \
    "(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*/" \
    ")?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
#define LABEL_KEY_RULE "a label's key, such as team or example.org/team"
#define LABEL_VALUE_PATTERN "(?:(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
#define LABEL_VALUE_RULE "letters and digits, with hyphens, underscores and dots between them"
#define LABEL_KEY_MAX 317
#define LABEL_VALUE_MAX 63
#define NODE_NAMES_MAX (512 * 1024) /* a list of every name of a large group fits, and the body limit holds */

static const char *const recoveries[] = {NODE_RECOVERY_LIST(ENUM_TEXT_)};
static const char *const orchestrators[] = {ORCHESTRATOR_LIST(ENUM_TEXT_)};
static const char *const provisionings[] = {PROVISIONING_LIST(ENUM_TEXT_)};
static const char *const roles[] = {
    [SLURM_ROLE_COMPUTE] = "Compute", [SLURM_ROLE_CONTROLLER] = "Controller", [SLURM_ROLE_LOGIN] = "Login"};
static const char *const strategies[] = {DESIRED_STRATEGY_LIST(ENUM_TEXT_)};
static const char *const interfaces[] = {INTERFACE_KIND_LIST(ENUM_TEXT_)};
static const char *const effects[] = {TAINT_EFFECT_LIST(ENUM_TEXT_)};
static const char *const checks[] = {
    [DEEP_CHECK_STRESS] = "InstanceStress", [DEEP_CHECK_CONNECTIVITY] = "InstanceConnectivity"};
static const char *const off[] = {"Disable"};
static const char *const scalers[] = {"Karpenter"};

#define AT(type, member) .at = offsetof(struct type, member)
#define WORDS(list) .words = (list), .word_count = ARRAY_LEN(list)
#define MATCHES(what) .pattern = what##_PATTERN, .rule = what##_RULE
#define TEXT(word, holder, member, shortest, longest) \
    .name = (word), .type = RECORD_TEXT, AT(holder, member), .min = (shortest), .max = (longest)
#define NUMBER(word, holder, member, least, most) \
    .name = (word), .type = RECORD_NUMBER, AT(holder, member), .min = (least), .max = (most)
#define OBJECT(word, holder, member, of) .name = (word), .type = RECORD_OBJECT, AT(holder, member), .record = (of)
#define NEVER(word, why) .name = (word), .type = RECORD_NEVER, .rule = (why)

/* --- groups ------------------------------------------------------------------------------------------ */

static const struct record_field source_fields[] = {
    {TEXT("partition", source_words, partition, 1, NAME_MAX_BYTES - 1), .pattern = "[^,]+",
     .rule = "one name of a partition"},
    {TEXT("feature", source_words, feature, 1, NAME_MAX_BYTES - 1), .pattern = "[^,]+", .rule = "one feature"},
};
static const struct record source = RECORD(struct source_words, source_fields);

static const struct record_field lifecycle_fields[] = {
    {TEXT("sourceS3Uri", lifecycle_spec, source, 0, LIFECYCLE_SOURCE_MAX_BYTES - 1),
     .pattern = "(?:https|s3)://[^/]+/?.*|file:///.*", .rule = "https://… or file:///…"},
    {TEXT("onCreate", lifecycle_spec, on_create, 1, 128)},
    {TEXT("onInitComplete", lifecycle_spec, on_init_complete, 1, 128)},
};
static const struct record lifecycle = RECORD(struct lifecycle_spec, lifecycle_fields);

static const struct record_field slurm_fields[] = {
    {.name = "nodeType", .type = RECORD_WORD, .required = true, AT(slurm_spec, role), WORDS(roles)},
    {.name = "partitionNames",
     .type = RECORD_TEXTS,
     AT(slurm_spec, partitions),
     .max = NAME_MAX_BYTES - 1,
     .items_max = 1,
     API_NAME_RULE},
};
static const struct record slurm = RECORD(struct slurm_spec, slurm_fields);

static const struct record_field label_key = {
    .name = "", .type = RECORD_TEXT, .min = 1, .max = LABEL_KEY_MAX, MATCHES(LABEL_KEY)};
static const struct record_field taint_fields[] = {
    {TEXT("key", taint_spec, key, 1, LABEL_KEY_MAX), .required = true, MATCHES(LABEL_KEY)},
    {TEXT("value", taint_spec, value, 0, LABEL_VALUE_MAX), MATCHES(LABEL_VALUE)},
    {.name = "effect", .type = RECORD_WORD, .required = true, AT(taint_spec, effect), WORDS(effects)},
};
static const struct record taint = RECORD(struct taint_spec, taint_fields);

static const struct record_field kubernetes_fields[] = {
    {.name = "labels",
     .type = RECORD_MAP,
     AT(kubernetes_spec, labels),
     .max = LABEL_VALUE_MAX,
     MATCHES(LABEL_VALUE),
     .items_max = GROUP_LABELS_MAX,
     .key = &label_key},
    {.name = "taints",
     .type = RECORD_LIST,
     AT(kubernetes_spec, taints),
     .items_max = GROUP_TAINTS_MAX,
     .record = &taint},
};
static const struct record kubernetes = RECORD(struct kubernetes_spec, kubernetes_fields);

static const struct record_field network_fields[] = {
    {.name = "securityGroupIds",
     .type = RECORD_TEXTS,
     .required = true,
     AT(network_spec, security_groups),
     .max = 32,
     .items_min = 1,
     .items_max = 5,
     MATCHES(NETWORK_ID)},
    {.name = "subnets",
     .type = RECORD_TEXTS,
     .required = true,
     AT(network_spec, subnets),
     .max = 32,
     .items_min = 1,
     .items_max = 16,
     MATCHES(NETWORK_ID)},
};
static const struct record network = RECORD(struct network_spec, network_fields);

static const struct record_field volume_fields[] = {
    {NUMBER("volumeSizeInGB", volume_spec, size_gb, 1, 16384)},
    {TEXT("volumeKmsKeyId", volume_spec, key, 0, 2048), .pattern = "[a-zA-Z0-9:/_-]*",
     .rule = "letters, digits, colons, slashes, hyphens and underscores"},
    {.name = "rootVolume", .type = RECORD_FLAG, AT(volume_spec, root)},
};
static const struct record volume = RECORD(struct volume_spec, volume_fields);

static const struct record_field lustre_fields[] = {
    {TEXT("dnsName", file_system_spec, address, 16, 275), .required = true, MATCHES(ADDRESS)},
    {TEXT("mountName", file_system_spec, name, 1, 8), .required = true, .pattern = "[A-Za-z0-9_-]+",
     .rule = "letters, digits, hyphens and underscores"},
    {TEXT("mountPath", file_system_spec, path, 1, 1024), MATCHES(PATH)},
};
static const struct record lustre = RECORD(struct file_system_spec, lustre_fields);

static const struct record_field zfs_fields[] = {
    {TEXT("dnsName", file_system_spec, address, 16, 275), .required = true, MATCHES(ADDRESS)},
    {TEXT("mountPath", file_system_spec, path, 1, 1024), MATCHES(PATH)},
};
static const struct record zfs = RECORD(struct file_system_spec, zfs_fields);

static const struct record_field storage_fields[] = {
    {OBJECT("ebsVolumeConfig", storage_spec, volume, &volume)},
    {OBJECT("fsxLustreConfig", storage_spec, lustre, &lustre)},
    {OBJECT("fsxOpenZfsConfig", storage_spec, zfs, &zfs)},
};
static const struct record storage = {
    .fields = storage_fields, .count = ARRAY_LEN(storage_fields), .size = sizeof(struct storage_spec), .one = true};

static const struct record_field interface_fields[] = {
    {.name = "interfaceType", .type = RECORD_WORD, AT(interface_spec, kind), WORDS(interfaces)},
};
static const struct record interface = RECORD(struct interface_spec, interface_fields);

static const struct record on_demand = {.size = sizeof(struct on_demand_spec)};
static const struct record_field capacity_fields[] = {
    {OBJECT("onDemand", capacity_spec, on_demand, &on_demand)},
    {NEVER("spot", "no provider here has instances that it may take back")},
};
static const struct record capacity = RECORD(struct capacity_spec, capacity_fields);

static const struct record_field requirements_fields[] = {
    {.name = "instanceTypes",
     .type = RECORD_TEXTS,
     .required = true,
     AT(requirements_spec, instance_types),
     .min = 1,
     .max = NAME_MAX_BYTES - 1,
     .items_min = 1,
     .items_max = 20,
     MATCHES(TYPE)},
};
static const struct record requirements = RECORD(struct requirements_spec, requirements_fields);

static const struct record_field group_fields[] = {
    {TEXT("name", group_words, name, 1, NAME_MAX_BYTES - 1), .required = true, API_NAME_RULE},
    {NUMBER("instanceCount", group_words, instance_count, 0, GROUP_NODES_MAX_LOCAL)},
    {NUMBER("minInstanceCount", group_words, min_count, 0, GROUP_NODES_MAX_LOCAL)},
    {TEXT("instanceType", group_words, instance_type, 0, NAME_MAX_BYTES - 1), MATCHES(TYPE)},
    {TEXT("provider", group_words, provider, 1, NAME_MAX_BYTES - 1), API_NAME_RULE},
    {TEXT("imageId", group_words, image_id, 0, IMAGE_ID_MAX_BYTES - 1)},
    {TEXT("imageReleaseVersion", group_words, release, 0, RELEASE_VERSION_MAX_BYTES - 1)},
    {TEXT("nodeNames", group_words, node_names, 1, NODE_NAMES_MAX)},
    {OBJECT("nodesFrom", group_words, source, &source)},
    {OBJECT("lifeCycleConfig", group_words, spec.lifecycle, &lifecycle)},
    {OBJECT("slurmConfig", group_words, spec.slurm, &slurm)},
    {OBJECT("kubernetesConfig", group_words, spec.kubernetes, &kubernetes)},
    {OBJECT("overrideVpcConfig", group_words, spec.network, &network)},
    {.name = "onStartDeepHealthChecks",
     .type = RECORD_WORDS,
     AT(group_words, spec.checks_on_start),
     WORDS(checks),
     .items_min = 1,
     .items_max = DEEP_CHECK_COUNT},
    {OBJECT("instanceRequirements", group_words, spec.requirements, &requirements)},
    {TEXT("executionRole", group_words, spec.execution_role, 20, 2048), MATCHES(ROLE)},
    {NUMBER("threadsPerCore", group_words, spec.threads_per_core, 1, 2)},
    {.name = "instanceStorageConfigs",
     .type = RECORD_LIST,
     AT(group_words, spec.storage),
     .items_max = 4,
     .record = &storage},
    {OBJECT("networkInterface", group_words, spec.interface, &interface)},
    {OBJECT("capacityRequirements", group_words, spec.capacity, &capacity)},
    {.name = "rebootMethods",
     .type = RECORD_TEXTS,
     AT(group_words, spec.reboot_methods),
     .items_max = REBOOT_METHOD_COUNT,
     MATCHES(REBOOT_WORDS)},
    {.name = "autoResumeReplaces", .type = RECORD_FLAG, AT(group_words, spec.auto_resume_replaces)},
    {NEVER("instanceGroupName", "a group's name is \"name\"")},
    {NEVER("trainingPlanArn", "there are no training plans")},
    {NEVER("scheduledUpdateConfig",
           "no update is started by the clock here. Update the software of the cluster when it is time")},
    {NEVER("autoPatchConfig", "no update starts by itself here. Update the software of the cluster when it is time")},
};
static const struct record group = RECORD(struct group_words, group_fields);

/* --- clusters ---------------------------------------------------------------------------------------- */

static const struct record_field tiered_storage_fields[] = {
    {.name = "mode",
     .type = RECORD_WORD,
     .required = true,
     AT(tiered_storage_spec, off),
     WORDS(off),
     .rule = "Disable, as no storage for checkpoints is set up here"},
    {NUMBER("instanceMemoryAllocationPercentage", tiered_storage_spec, memory_percent, 0, 100)},
};
static const struct record tiered_storage = RECORD(struct tiered_storage_spec, tiered_storage_fields);

static const struct record_field auto_scaling_fields[] = {
    {.name = "mode",
     .type = RECORD_WORD,
     .required = true,
     AT(auto_scaling_spec, off),
     WORDS(off),
     .rule = "Disable, as nothing here scales a cluster by itself"},
    {.name = "autoScalerType", .type = RECORD_WORD, AT(auto_scaling_spec, scaler), WORDS(scalers)},
};
static const struct record auto_scaling = RECORD(struct auto_scaling_spec, auto_scaling_fields);

#define GROUPS(is_required)                                                                              \
    .name = "instanceGroups", .type = RECORD_LIST, .required = (is_required), AT(cluster_words, groups), \
    .items_min = 1, .items_max = CLUSTER_GROUPS_MAX, .record = &group
/* What a new cluster may say and a change of it as well. */
#define SHARED_FIELDS                                                                                                 \
    {.name = "nodeRecovery", .type = RECORD_WORD, AT(cluster_words, recovery), WORDS(recoveries)},                    \
        {.name = "nodeProvisioningMode", .type = RECORD_WORD, AT(cluster_words, provisioning), WORDS(provisionings)}, \
        {TEXT("scheduler", cluster_words, scheduler, 1, NAME_MAX_BYTES - 1), API_NAME_RULE},                          \
        {OBJECT("vpcConfig", cluster_words, spec.network, &network)},                                                 \
        {TEXT("clusterRole", cluster_words, spec.role, 20, 2048), MATCHES(ROLE)},                                     \
        {.name = "slurmConfigStrategy", .type = RECORD_WORD, AT(cluster_words, spec.strategy), WORDS(strategies)},    \
        {OBJECT("tieredStorageConfig", cluster_words, spec.tiered_storage, &tiered_storage)},                         \
        {OBJECT("autoScaling", cluster_words, spec.auto_scaling, &auto_scaling)},                                     \
        {NEVER("clusterName", "a cluster's name is \"name\", or in the path")},                                       \
        {NEVER("tags", "they are added at the cluster's path, /tags")},                                               \
        {NEVER("restrictedInstanceGroups", "there are no restricted groups here. Name them in instanceGroups")},      \
    {                                                                                                                 \
        NEVER("restrictedInstanceGroupsConfig", "there are no restricted groups here")                                \
    }

static const struct record_field new_fields[] = {
    {TEXT("name", cluster_words, name, 1, NAME_MAX_BYTES - 1), .required = true, API_NAME_RULE},
    {.name = "orchestrator", .type = RECORD_WORD, AT(cluster_words, orchestrator), WORDS(orchestrators)},
    {GROUPS(true)},
    SHARED_FIELDS,
};
const struct record cluster_words_new = RECORD(struct cluster_words, new_fields);

static const struct record_field change_fields[] = {
    {GROUPS(false)},
    {.name = "instanceGroupsToDelete",
     .type = RECORD_TEXTS,
     AT(cluster_words, deleted),
     .items_min = 1,
     .items_max = CLUSTER_GROUPS_MAX},
    {NEVER("name", "the path says it")},
    {NEVER("orchestrator", "it cannot be changed")},
    SHARED_FIELDS,
};
const struct record cluster_words_change = RECORD(struct cluster_words, change_fields);

/* --- shown ------------------------------------------------------------------------------------------- */

void api_show_kubernetes(json_t *json, const struct kubernetes_spec *wanted)
{
    if (wanted->given)
        json_put(json, "kubernetesConfig", record_write(&kubernetes, wanted));
}

void api_show_carried(json_t *json, const struct kubernetes_spec *carried)
{
    if (carried->labels.count > 0 || carried->taints.count > 0)
        json_put(json, "currentKubernetesConfig", record_write(&kubernetes, carried));
}

/* The words only borrow the spec. */
void api_show_group_spec(json_t *json, const struct group_spec *spec)
{
    const struct group_words words = {.spec = *spec};
    auto_json json_t *shown = record_write(&group, &words);
    json_object_update_missing(json, shown);
}

void api_show_cluster_spec(json_t *json, const struct cluster_spec *spec)
{
    const struct cluster_words words = {.spec = *spec};
    auto_json json_t *shown = record_write(&cluster_words_change, &words);
    json_object_update_missing(json, shown);
}
