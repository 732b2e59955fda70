/* What is asked for of groups and clusters, between the AWS model and model/group_spec.h: one table for both ways. See spec.h. */
#include "api/aws/spec.h"

#include "model/deep.h"

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
#define ANY .min = INT64_MIN, .max = INT64_MAX
#define WORDS(list) .words = (list), .word_count = ARRAY_LEN(list)
#define LENIENT(type, list)                                                                      \
    {                                                                                            \
        .fields = (list), .count = ARRAY_LEN(list), .size = sizeof(struct type), .lenient = true \
    }

static const struct record_field lifecycle_fields[] = {
    {.name = "SourceS3Uri", .type = RECORD_TEXT, AT(lifecycle_spec, source)},
    {.name = "OnCreate", .type = RECORD_TEXT, AT(lifecycle_spec, on_create)},
    {.name = "OnInitComplete", .type = RECORD_TEXT, AT(lifecycle_spec, on_init_complete)},
};
static const struct record lifecycle = LENIENT(lifecycle_spec, lifecycle_fields);

static const struct record_field slurm_fields[] = {
    {.name = "NodeType", .type = RECORD_WORD, AT(slurm_spec, role), WORDS(roles)},
    {.name = "PartitionNames", .type = RECORD_TEXTS, AT(slurm_spec, partitions)},
};
static const struct record slurm = LENIENT(slurm_spec, slurm_fields);

static const struct record_field taint_fields[] = {
    {.name = "Key", .type = RECORD_TEXT, AT(taint_spec, key)},
    {.name = "Value", .type = RECORD_TEXT, AT(taint_spec, value)},
    {.name = "Effect", .type = RECORD_WORD, AT(taint_spec, effect), WORDS(effects)},
};
static const struct record taint = LENIENT(taint_spec, taint_fields);

static const struct record_field kubernetes_fields[] = {
    {.name = "Labels", .type = RECORD_MAP, AT(kubernetes_spec, labels)},
    {.name = "Taints", .type = RECORD_LIST, AT(kubernetes_spec, taints), .record = &taint},
};
static const struct record kubernetes = LENIENT(kubernetes_spec, kubernetes_fields);

static const struct record_field network_fields[] = {
    {.name = "SecurityGroupIds", .type = RECORD_TEXTS, AT(network_spec, security_groups)},
    {.name = "Subnets", .type = RECORD_TEXTS, AT(network_spec, subnets)},
};
static const struct record network = LENIENT(network_spec, network_fields);

static const struct record_field volume_fields[] = {
    {.name = "VolumeSizeInGB", .type = RECORD_NUMBER, AT(volume_spec, size_gb), ANY},
    {.name = "VolumeKmsKeyId", .type = RECORD_TEXT, AT(volume_spec, key)},
    {.name = "RootVolume", .type = RECORD_FLAG, AT(volume_spec, root)},
};
static const struct record volume = LENIENT(volume_spec, volume_fields);

static const struct record_field lustre_fields[] = {
    {.name = "DnsName", .type = RECORD_TEXT, AT(file_system_spec, address)},
    {.name = "MountName", .type = RECORD_TEXT, AT(file_system_spec, name)},
    {.name = "MountPath", .type = RECORD_TEXT, AT(file_system_spec, path)},
};
static const struct record lustre = LENIENT(file_system_spec, lustre_fields);

static const struct record_field zfs_fields[] = {
    {.name = "DnsName", .type = RECORD_TEXT, AT(file_system_spec, address)},
    {.name = "MountPath", .type = RECORD_TEXT, AT(file_system_spec, path)},
};
static const struct record zfs = LENIENT(file_system_spec, zfs_fields);

static const struct record_field storage_fields[] = {
    {.name = "EbsVolumeConfig", .type = RECORD_OBJECT, AT(storage_spec, volume), .record = &volume},
    {.name = "FsxLustreConfig", .type = RECORD_OBJECT, AT(storage_spec, lustre), .record = &lustre},
    {.name = "FsxOpenZfsConfig", .type = RECORD_OBJECT, AT(storage_spec, zfs), .record = &zfs},
};
static const struct record storage = LENIENT(storage_spec, storage_fields);

static const struct record_field interface_fields[] = {
    {.name = "InterfaceType", .type = RECORD_WORD, AT(interface_spec, kind), WORDS(interfaces)},
};
static const struct record interface = LENIENT(interface_spec, interface_fields);

static const struct record on_demand = {.size = sizeof(struct on_demand_spec), .lenient = true};
static const struct record_field capacity_fields[] = {
    {.name = "OnDemand", .type = RECORD_OBJECT, AT(capacity_spec, on_demand), .record = &on_demand},
};
static const struct record capacity = LENIENT(capacity_spec, capacity_fields);

static const struct record_field requirements_fields[] = {
    {.name = "InstanceTypes", .type = RECORD_TEXTS, AT(requirements_spec, instance_types)},
};
static const struct record requirements = LENIENT(requirements_spec, requirements_fields);

static const struct record_field group_fields[] = {
    {.name = "LifeCycleConfig", .type = RECORD_OBJECT, AT(group_spec, lifecycle), .record = &lifecycle},
    {.name = "SlurmConfig", .type = RECORD_OBJECT, AT(group_spec, slurm), .record = &slurm},
    {.name = "KubernetesConfig", .type = RECORD_OBJECT, AT(group_spec, kubernetes), .record = &kubernetes},
    {.name = "OverrideVpcConfig", .type = RECORD_OBJECT, AT(group_spec, network), .record = &network},
    {.name = "OnStartDeepHealthChecks", .type = RECORD_WORDS, AT(group_spec, checks_on_start), WORDS(checks)},
    {.name = "InstanceRequirements", .type = RECORD_OBJECT, AT(group_spec, requirements), .record = &requirements},
    {.name = "ExecutionRole", .type = RECORD_TEXT, AT(group_spec, execution_role)},
    {.name = "ThreadsPerCore", .type = RECORD_NUMBER, AT(group_spec, threads_per_core), ANY},
    {.name = "InstanceStorageConfigs", .type = RECORD_LIST, AT(group_spec, storage), .record = &storage},
    {.name = "NetworkInterface", .type = RECORD_OBJECT, AT(group_spec, interface), .record = &interface},
    {.name = "CapacityRequirements", .type = RECORD_OBJECT, AT(group_spec, capacity), .record = &capacity},
};
static const struct record group = LENIENT(group_spec, group_fields);

static const struct record_field tiered_storage_fields[] = {
    {.name = "Mode", .type = RECORD_WORD, AT(tiered_storage_spec, off), WORDS(off)},
    {.name = "InstanceMemoryAllocationPercentage", .type = RECORD_NUMBER, AT(tiered_storage_spec, memory_percent), ANY},
};
static const struct record tiered_storage = LENIENT(tiered_storage_spec, tiered_storage_fields);

static const struct record_field auto_scaling_fields[] = {
    {.name = "Mode", .type = RECORD_WORD, AT(auto_scaling_spec, off), WORDS(off)},
    {.name = "AutoScalerType", .type = RECORD_WORD, AT(auto_scaling_spec, scaler), WORDS(scalers)},
};
static const struct record auto_scaling = LENIENT(auto_scaling_spec, auto_scaling_fields);

static const struct record_field cluster_fields[] = {
    {.name = "VpcConfig", .type = RECORD_OBJECT, AT(cluster_spec, network), .record = &network},
    {.name = "ClusterRole", .type = RECORD_TEXT, AT(cluster_spec, role)},
    {.name = "TieredStorageConfig", .type = RECORD_OBJECT, AT(cluster_spec, tiered_storage), .record = &tiered_storage},
    {.name = "AutoScaling", .type = RECORD_OBJECT, AT(cluster_spec, auto_scaling), .record = &auto_scaling},
};
static const struct record cluster = LENIENT(cluster_spec, cluster_fields);

/* Two levels deep in the model, and one word here. */
static const struct record_field strategy_fields[] = {
    {.name = "SlurmConfigStrategy", .type = RECORD_WORD, AT(cluster_spec, strategy), WORDS(strategies)},
};
static const struct record strategy = LENIENT(cluster_spec, strategy_fields);

int aws_group_spec_read(const json_t *document, struct group_spec *ret_spec, char ret_error[RECORD_ERROR_MAX])
{
    *ret_spec = (struct group_spec){0};
    return record_read(&group, document, "", ret_spec, ret_error);
}

void aws_group_spec_forget(struct group_spec *spec)
{
    record_free(&group, spec);
}

int aws_cluster_spec_read(const json_t *document, struct cluster_spec *ret_spec, char ret_error[RECORD_ERROR_MAX])
{
    const json_t *orchestrator = json_object_get(json_object_get(document, "Orchestrator"), "Slurm");
    *ret_spec = (struct cluster_spec){0};
    int status = record_read(&cluster, document, "", ret_spec, ret_error);
    if (status == 0 && json_is_object(orchestrator))
        status = record_read(&strategy, orchestrator, "Orchestrator.Slurm", ret_spec, ret_error);
    if (status < 0)
        cluster_spec_free(ret_spec);
    return status;
}

json_t *aws_group_spec_write(const struct group_spec *spec)
{
    return record_write(&group, spec);
}

static void put_kubernetes(json_t *json, const char *labels, const char *taints, const struct kubernetes_spec *spec)
{
    auto_json json_t *said = record_write(&kubernetes, spec);
    if (json_object_size(json_object_get(said, "Labels")) > 0)
        json_object_set(json, labels, json_object_get(said, "Labels"));
    if (json_array_size(json_object_get(said, "Taints")) > 0)
        json_object_set(json, taints, json_object_get(said, "Taints"));
}

json_t *aws_kubernetes_write(const struct kubernetes_spec *desired, const struct kubernetes_spec *current)
{
    if (!desired->given && !current->given)
        return NULL;
    json_t *json = json_object();
    put_kubernetes(json, "CurrentLabels", "CurrentTaints", current);
    put_kubernetes(json, "DesiredLabels", "DesiredTaints", desired);
    return json;
}

json_t *aws_cluster_spec_write(const struct cluster_spec *spec)
{
    json_t *json = record_write(&cluster, spec);
    if (spec->strategy.given)
        json_put(json, "Orchestrator", json_pack("{s:o}", "Slurm", record_write(&strategy, spec)));
    return json;
}
