/*
 * Clusters made and changed through the AWS API, without HTTP: what is asked for comes back, what cannot be done is refused by
 * name, what is left out has its meaning, and a repeated try makes nothing twice.
 */
#include "aws_calls.h"

#include "api/aws/cluster_document.h"
#include "base/file.h"

#define ROLE "arn:aws:iam::000000000000:role/node"

static int setup(void **state)
{
    (void)state;
    world_open(&world, DB_INLINE);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_close(&world);
    return 0;
}

static json_t *parse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static json_t *parse(const char *fmt, ...)
{
    json_error_t error;
    va_list ap;
    va_start(ap, fmt);
    autofree char *text = own_vprintf(fmt, ap);
    va_end(ap);
    for (char *at = text; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    json_t *json = json_loads(text, 0, &error);
    if (json == NULL)
        fail_msg("%s: %s", text, error.text);
    return json;
}

/* more: members of the group and of the cluster, "" or with a comma before. */
static json_t *cluster_input(const char *group_more, const char *more)
{
    return parse("{'ClusterName': 'train', 'InstanceGroups': [{'InstanceGroupName': 'gpu', 'InstanceType': "
                 "'ml.p5.48xlarge', 'InstanceCount': 2, 'ExecutionRole': '" ROLE "'%s}]%s}",
                 group_more, more);
}

static json_t *describe(void)
{
    return must("DescribeCluster", &world_viewer, json_pack("{s:s}", "ClusterName", "train"));
}

static json_t *first_group(const json_t *cluster)
{
    return json_array_get(json_object_get(cluster, "InstanceGroups"), 0);
}

static const char *text_in(const json_t *json, const char *member)
{
    const char *text = json_string_value(json_object_get(json, member));
    return text == NULL ? "" : text;
}

static void create(const char *group_more, const char *more)
{
    json_decref(must("CreateCluster", &world_admin, cluster_input(group_more, more)));
}

/* --- there and back ---------------------------------------------------------------------------------- */

#define GROUP_KEPT                                                                                               \
    "'LifeCycleConfig': {'SourceS3Uri': 'https://files.example/train', 'OnCreate': 'a/on_create.sh', "           \
    "'OnInitComplete': 'after.sh'}, 'ThreadsPerCore': 1, 'InstanceStorageConfigs': [{'EbsVolumeConfig': "        \
    "{'VolumeSizeInGB': 500}}, {'FsxLustreConfig': {'DnsName': 'fs-01234567.storage.example', 'MountName': "     \
    "'scratch', 'MountPath': '/fsx'}}], 'OnStartDeepHealthChecks': ['InstanceStress', 'InstanceConnectivity'], " \
    "'OverrideVpcConfig': {'SecurityGroupIds': ['sg-1'], 'Subnets': ['subnet-1']}, 'SlurmConfig': {'NodeType': " \
    "'Compute', 'PartitionNames': ['train']}, 'NetworkInterface': {'InterfaceType': 'efa-only'}, "               \
    "'CapacityRequirements': {'OnDemand': {}}, 'ExecutionRole': '" ROLE "'"
#define CLUSTER_KEPT                                                                                        \
    "'VpcConfig': {'SecurityGroupIds': ['sg-2'], 'Subnets': ['subnet-2']}, 'ClusterRole': '" ROLE "', "     \
    "'TieredStorageConfig': {'Mode': 'Disable', 'InstanceMemoryAllocationPercentage': 0}, 'Orchestrator': " \
    "{'Slurm': {'SlurmConfigStrategy': 'Managed'}}"

static void assert_members(const json_t *json, json_t *expected)
{
    auto_json json_t *taken = expected;
    const char *name;
    json_t *value;
    json_object_foreach(taken, name, value)
    {
        if (!json_equal(json_object_get(json, name), value)) {
            autofree char *got = json_dumps(json_object_get(json, name), JSON_ENCODE_ANY);
            fail_msg("%s is %s", name, got);
        }
    }
}

static void test_what_is_asked_for_comes_back(void **state)
{
    struct event last;
    (void)state;
    create("," GROUP_KEPT ", 'MinInstanceCount': 1, 'ImageId': 'ami-01234567', 'ImageReleaseVersion': '1.2.3'",
           "," CLUSTER_KEPT ", 'NodeRecovery': 'None', 'NodeProvisioningMode': 'Continuous', 'AutoScaling': {'Mode': "
           "'Disable'}, 'Tags': [{'Key': 'team', 'Value': 'a'}]");
    auto_json json_t *cluster = describe();
    assert_members(cluster, parse("{" CLUSTER_KEPT ", 'NodeRecovery': 'None', 'NodeProvisioningMode': 'Continuous', "
                                  "'AutoScaling': {'Mode': 'Disable', 'Status': 'InService'}, 'ClusterStatus': "
                                  "'Creating'}"));
    assert_members(first_group(cluster),
                   parse("{" GROUP_KEPT ", 'MinCount': 1, 'TargetCount': 2, 'CurrentCount': 0, 'InstanceType': "
                         "'ml.p5.48xlarge', 'Status': 'Creating', 'ActiveOperations': {'Scaling': 1}, "
                         "'CurrentImageId': 'ami-01234567', 'DesiredImageId': 'ami-01234567', "
                         "'CurrentImageReleaseVersion': '1.2.3', 'ImageVersionStatus': 'UpToDate'}"));
    auto_json json_t *tags =
        must("ListTags", &world_viewer, json_pack("{s:s}", "ResourceArn", text_in(cluster, "ClusterArn")));
    assert_members(tags, parse("{'Tags': [{'Key': 'team', 'Value': 'a'}]}"));
    auto_json json_t *node =
        must("DescribeClusterNode", &world_viewer, parse("{'ClusterName': 'train', 'NodeLogicalId': 'gpu-1'}"));
    assert_members(json_object_get(node, "NodeDetails"),
                   parse("{'ThreadsPerCore': 1, 'CapacityType': 'OnDemand', 'NetworkInterface': {'InterfaceType': "
                         "'efa-only'}, 'DesiredImageReleaseVersion': '1.2.3', 'OverrideVpcConfig': "
                         "{'SecurityGroupIds': ['sg-1'], 'Subnets': ['subnet-1']}}"));
    assert_true(world_events(&world, EVENT_KIND_CLUSTER_UPDATED, &last) == 1 && last.level == EVENT_LEVEL_WARN);
    assert_non_null(strstr(last.message, "ThreadsPerCore, InstanceStorageConfigs, NetworkInterface"));
}

static void test_what_is_left_out(void **state)
{
    static struct service_backends backends = {.providers = {"manual"}, .provider_count = 1};
    (void)state;
    world.service.backends = &backends;
    create("", "");
    auto_json json_t *cluster = describe();
    assert_members(cluster, parse("{'NodeRecovery': 'Automatic'}"));
    assert_null(json_object_get(cluster, "NodeProvisioningMode"));
    assert_null(json_object_get(cluster, "Orchestrator"));
    assert_null(json_object_get(cluster, "FailureMessage"));
    assert_string_equal(text_in(first_group(cluster), "InstanceType"), "ml.p5.48xlarge");
    assert_int_equal(world_events(&world, EVENT_KIND_CLUSTER_UPDATED, NULL), 0);
    backends.kind_count = 1;
    auto_json json_t *input = cluster_input("", "");
    json_object_set_new(input, "ClusterName", json_string("second"));
    json_decref(must("CreateCluster", &world_admin, json_incref(input)));
    auto_json json_t *second = must("DescribeCluster", &world_viewer, json_pack("{s:s}", "ClusterName", "second"));
    assert_true(json_is_object(json_object_get(json_object_get(second, "Orchestrator"), "Slurm")));
}

static void test_one_type_among_requirements(void **state)
{
    (void)state;
    json_t *input = cluster_input(", 'InstanceRequirements': {'InstanceTypes': ['ml.p5e.48xlarge']}", "");
    json_object_del(json_array_get(json_object_get(input, "InstanceGroups"), 0), "InstanceType");
    json_decref(must("CreateCluster", &world_admin, input));
    auto_json json_t *cluster = describe();
    assert_null(json_object_get(first_group(cluster), "InstanceType"));
    assert_members(first_group(cluster),
                   parse("{'InstanceRequirements': {'CurrentInstanceTypes': ['ml.p5e.48xlarge'], "
                         "'DesiredInstanceTypes': ['ml.p5e.48xlarge']}, 'InstanceTypeDetails': [{'InstanceType': "
                         "'ml.p5e.48xlarge', 'CurrentCount': 0}]}"));
}

/* --- refused ----------------------------------------------------------------------------------------- */

static void refused_because(const char *name, json_t *input, enum aws_error error, const char *word)
{
    struct aws_call call;
    json_t *output = NULL;
    if (perform(&call, name, &world_admin, input, &output) == 0)
        fail_msg("%s was done, and not refused for %s", name, word);
    if (call.error != error || strstr(call.message, word) == NULL)
        fail_msg("%s: %s: %s does not say %s", name, aws_error_name(call.error), call.message, word);
}

static void test_what_cannot_be_done_is_refused_by_name(void **state)
{
    static const struct {
        const char *group, *cluster, *word;
    } table[] = {
        {"", ", 'Orchestrator': {'Eks': {'ClusterArn': 'arn:aws:eks:a:000000000000:cluster/k'}}",
         "no scheduler in hpd's configuration has the eksClusterArn arn:aws:eks:a:000000000000:cluster/k. Those that "
         "it has: none."},
        {"", ", 'Orchestrator': {'Slurm': {}, 'Eks': {'ClusterArn': 'arn:aws:eks:a:000000000000:cluster/k'}}",
         "exactly one of Eks and Slurm"},
        {"", ", 'Orchestrator': {}", "exactly one of Eks and Slurm"},
        {"", ", 'AutoScaling': {'Mode': 'Enable', 'AutoScalerType': 'Karpenter'}", "AutoScaling.Mode Enable"},
        {"", ", 'RestrictedInstanceGroups': [{}]", "RestrictedInstanceGroups"},
        {"", ", 'TieredStorageConfig': {'Mode': 'Enable'}", "TieredStorageConfig.Mode Enable"},
        {", 'TrainingPlanArn': 'x'", "", "TrainingPlanArn"},
        {", 'ScheduledUpdateConfig': {'ScheduleExpression': 'cron(0 3 ? * SUN *)'}", "", "ScheduledUpdateConfig"},
        {", 'AutoPatchConfig': {'PatchingStrategy': 'WhenIdle'}", "", "AutoPatchConfig"},
        {", 'KubernetesConfig': {'Labels': {'a': 'b'}}", "", "KubernetesConfig"},
        {", 'CapacityRequirements': {'Spot': {}}", "", "CapacityRequirements.Spot"},
        {", 'InstanceRequirements': {'InstanceTypes': ['ml.p5.48xlarge']}", "", "exactly one of InstanceType"},
        {", 'MinInstanceCount': 3", "", "minInstanceCount is 3"},
        {", 'LifeCycleConfig': {'OnCreate': 'a.sh'}", "", "nothing says where they are"},
        {", 'LifeCycleConfig': {'SourceS3Uri': 'http://bucket/x', 'OnCreate': 'x'}", "", "s3://"},
        {", 'LifeCycleConfig': {'SourceS3Uri': 'https://a/b', 'OnCreate': '/etc/x'}", "", "OnCreate"},
        {", 'LifeCycleConfig': {'SourceS3Uri': 'https://a/b', 'OnInitComplete': 'a/../../x'}", "", "OnInitComplete"},
        {", 'LifeCycleConfig': {'SourceS3Uri': 'https://a/b', 'OnCreate': './x'}", "", "OnCreate"},
        {", 'LifeCycleConfig': {'SourceS3Uri': 'https://a/b', 'OnCreate': 'a//x'}", "", "OnCreate"},
        {", 'LifeCycleConfig': {'SourceS3Uri': 'https://a/b', 'OnCreate': 'a/'}", "", "OnCreate"},
        {"", ", 'Tags': [{'Key': 'a', 'Value': '1'}, {'Key': 'a', 'Value': '2'}]", "comes twice"},
        {"", ", 'Tags': [{'Key': 'aws:a', 'Value': '1'}]", "aws:"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        refused_because("CreateCluster", cluster_input(table[i].group, table[i].cluster), AWS_ERROR_VALIDATION,
                        table[i].word);
        refused("DescribeCluster", &world_viewer, json_pack("{s:s}", "ClusterName", "train"),
                AWS_ERROR_RESOURCE_NOT_FOUND);
    }
    json_t *none = parse("{'ClusterName': 'train'}");
    refused_because("CreateCluster", none, AWS_ERROR_VALIDATION, "instanceGroups");
    static const char *const dots[] = {"...", "..a", "a..", ".a/b", "a/..b"};
    for (size_t i = 0; i < ARRAY_LEN(dots); i++) { /* which are names like others */
        autofree char *more =
            own_printf(", 'LifeCycleConfig': {'SourceS3Uri': 'file:///a', 'OnCreate': '%s'}", dots[i]);
        auto_json json_t *input = cluster_input(more, "");
        assert_int_equal(cluster_input_check(input, &world.problem), 0);
    }
}

static void test_slurm_that_is_not_there(void **state)
{
    static const struct service_backends backends = {.providers = {"local"}, .provider_count = 1};
    static const char slurm[] = ", 'SlurmConfig': {'NodeType': 'Compute'}";
    (void)state;
    world.service.backends = &backends;
    refused_because("CreateCluster", cluster_input(slurm, ""), AWS_ERROR_VALIDATION,
                    "SlurmConfig of the group \"gpu\"");
    refused_because("CreateCluster", cluster_input("", ", 'Orchestrator': {'Slurm': {}}"), AWS_ERROR_VALIDATION,
                    "drives no scheduler");
    create("", "");
    refused_because("UpdateCluster", cluster_input(slurm, ""), AWS_ERROR_VALIDATION, "SlurmConfig");
    refused_because("UpdateCluster", parse("{'ClusterName': 'train', 'Orchestrator': {'Slurm': {}}}"),
                    AWS_ERROR_VALIDATION, "Orchestrator");
}

static void test_eks_is_the_scheduler_of_its_arn(void **state)
{
    static const struct service_backends backends = {
        .providers = {"manual"},
        .provider_count = 1,
        .kinds = {ORCHESTRATOR_SLURM, ORCHESTRATOR_KUBERNETES, ORCHESTRATOR_KUBERNETES},
        .kind_count = 3};
    static const char prod[] = "arn:aws:eks:a:000000000000:cluster/prod";
    static const char *const names[] = {"slurm", "test", "prod"}, *const kinds[] = {"slurm", "kubernetes",
                                                                                    "kubernetes"};
    struct service *s = &world.service;
    (void)state;
    s->backends = &backends;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        s->schedulers[s->scheduler_count++] = service_scheduler_new(names[i], kinds[i]);
    service_scheduler_set_arn(s->schedulers[2], prod);
    refused_because("CreateCluster",
                    cluster_input("", ", 'Orchestrator': {'Eks': {'ClusterArn': "
                                      "'arn:aws:eks:a:000000000000:cluster/other'}}"),
                    AWS_ERROR_VALIDATION, "cluster/other. Those that it has: arn:aws:eks:a:000000000000:cluster/prod.");
    create("", ", 'Orchestrator': {'Eks': {'ClusterArn': 'arn:aws:eks:a:000000000000:cluster/prod'}}");
    auto_json json_t *cluster = describe();
    assert_members(cluster, parse("{'Orchestrator': {'Eks': {'ClusterArn': '%s'}}}", prod));
    refused_because("UpdateCluster", parse("{'ClusterName': 'train', 'Orchestrator': {'Slurm': {}}}"),
                    AWS_ERROR_VALIDATION, "Orchestrator");
    refused_because("UpdateCluster",
                    parse("{'ClusterName': 'train', 'Orchestrator': {'Eks': {'ClusterArn': "
                          "'arn:aws:eks:a:000000000000:cluster/other'}}}"),
                    AWS_ERROR_VALIDATION, "another one");
    json_decref(must("UpdateCluster", &world_admin,
                     parse("{'ClusterName': 'train', 'NodeRecovery': 'None', 'Orchestrator': {'Eks': {'ClusterArn': "
                           "'%s'}}}",
                           prod)));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        service_scheduler_free(s->schedulers[i]);
    s->scheduler_count = 0;
}

/* docs/aws-api.md speaks of every member of these shapes. */
static void test_the_table_for_people_is_whole(void **state)
{
    static const enum aws_shape_id shapes[] = {
        AWS_SHAPE_CreateClusterRequest, AWS_SHAPE_UpdateClusterRequest, AWS_SHAPE_ClusterInstanceGroupSpecification,
        AWS_SHAPE_UpdateClusterSoftwareRequest, AWS_SHAPE_DeploymentConfiguration};
    autofree char *page = NULL;
    size_t len = 0;
    (void)state;
    assert_int_equal(file_read("docs/aws-api.md", 65536, &page, &len), 0);
    for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
        const struct aws_shape *shape = aws_shape(shapes[s]);
        for (size_t i = 0; i < shape->count; i++) {
            autofree char *row = own_printf("`%s`", aws_shape_members(shape)[i].name[AWS_SPELLING_PASCAL]);
            if (strstr(page, row) == NULL)
                fail_msg("docs/aws-api.md says nothing of %s", row);
        }
    }
}

/* --- tries ------------------------------------------------------------------------------------------- */

/* 0, or the error and 1. */
static int try_create(const char *invocation, const struct actor *actor, enum aws_error *ret_error, char *ret_arn)
{
    json_t *output = NULL;
    auto_json json_t *input = cluster_input("", "");
    struct aws_call call = {.service = &world.service,
                            .actor = *actor,
                            .operation = aws_operation_find("CreateCluster"),
                            .input = input,
                            .region = "us-west-2"};
    snprintf(call.invocation, sizeof(call.invocation), "%s", invocation);
    int status = aws_perform(&call, &output);
    *ret_error = call.error;
    snprintf(ret_arn, AWS_ARN_MAX, "%s", status == 0 ? text_in(output, "ClusterArn") : "");
    json_decref(output);
    return status == 0 ? 0 : 1;
}

static void test_a_repeated_try_answers_the_same_cluster(void **state)
{
    struct actor other = world_admin;
    char first[AWS_ARN_MAX], again[AWS_ARN_MAX];
    enum aws_error error;
    (void)state;
    snprintf(other.name, sizeof(other.name), "token:other");
    assert_int_equal(try_create("11111111-aaaa", &world_admin, &error, first), 0);
    assert_int_equal(try_create("11111111-aaaa", &world_admin, &error, again), 0);
    assert_string_equal(first, again);
    json_decref(must("UpdateCluster", &world_admin, parse("{'ClusterName': 'train', 'ClusterRole': '" ROLE "'}")));
    assert_int_equal(try_create("11111111-aaaa", &world_admin, &error, again), 0); /* also after a change */
    assert_string_equal(first, again);
    static const char *const foreign[] = {"22222222-aaaa", ""};
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
        assert_int_equal(try_create(foreign[i], &world_admin, &error, again), 1);
        assert_int_equal(error, AWS_ERROR_RESOURCE_IN_USE);
    }
    assert_int_equal(try_create("11111111-aaaa", &other, &error, again), 1);
    assert_int_equal(error, AWS_ERROR_RESOURCE_IN_USE);
    assert_int_equal(world_events(&world, EVENT_KIND_CLUSTER_CREATED, NULL), 1);
}

/* --- changes ----------------------------------------------------------------------------------------- */

static int set_in_service(struct db_tx *tx, void *arg)
{
    struct cluster cluster;
    int status = db_cluster_get(tx, arg, &cluster);
    cluster.state = CLUSTER_STATE_IN_SERVICE;
    return status < 0 ? status : db_cluster_update(tx, &cluster, 0);
}

static char train[] = "train";

static void test_groups_come_change_and_go(void **state)
{
    (void)state;
    create(", 'ThreadsPerCore': 1", ", 'NodeProvisioningMode': 'Continuous', 'VpcConfig': {'SecurityGroupIds': ['sg'], "
                                    "'Subnets': ['subnet']}");
    json_decref(must("UpdateCluster", &world_operator,
                     parse("{'ClusterName': 'train', 'NodeRecovery': 'None', 'InstanceGroups': [{'InstanceGroupName': "
                           "'gpu', 'InstanceType': 'ml.p5.48xlarge', 'InstanceCount': 3, 'ExecutionRole': '" ROLE
                           "'}, {'InstanceGroupName': 'more', 'InstanceType': 'ml.c5.large', 'InstanceCount': 1, "
                           "'ExecutionRole': '" ROLE "'}]}")));
    auto_json json_t *cluster = describe();
    assert_int_equal(json_array_size(json_object_get(cluster, "InstanceGroups")), 2);
    assert_members(first_group(cluster), parse("{'TargetCount': 3}"));
    assert_null(json_object_get(first_group(cluster), "ThreadsPerCore")); /* a group is described in full */
    assert_members(cluster, parse("{'NodeRecovery': 'None', 'VpcConfig': {'SecurityGroupIds': ['sg'], 'Subnets': "
                                  "['subnet']}}")); /* and a cluster by what changes */
    json_decref(
        must("UpdateCluster", &world_operator, parse("{'ClusterName': 'train', 'InstanceGroupsToDelete': ['more']}")));
    auto_json json_t *less = describe();
    assert_members(json_array_get(json_object_get(less, "InstanceGroups"), 1),
                   parse("{'Status': 'Deleting', 'TargetCount': 0}"));
    refused_because("UpdateCluster", parse("{'ClusterName': 'train', 'InstanceGroupsToDelete': ['none']}"),
                    AWS_ERROR_VALIDATION, "none");
    refused_because("UpdateCluster", parse("{'ClusterName': 'nobody'}"), AWS_ERROR_RESOURCE_NOT_FOUND, "nobody");
    json_decref(must("UpdateCluster", &world_operator, parse("{'ClusterName': 'train'}"))); /* nothing */
    refused_because("UpdateCluster",
                    parse("{'ClusterName': 'train', 'InstanceGroups': [{'InstanceGroupName': 'gpu', 'InstanceType': "
                          "'ml.c5.large', 'InstanceCount': 3, 'ExecutionRole': '" ROLE "'}]}"),
                    AWS_ERROR_VALIDATION, "ml.c5.large");
}

static void test_all_or_nothing_is_changed_in_peace_only(void **state)
{
    (void)state;
    create("", "");
    refused_because("UpdateCluster", cluster_input("", ""), AWS_ERROR_CONFLICT, "creating");
    world_write(&world, set_in_service, train);
    json_t *input = cluster_input("", "");
    json_object_set_new(json_array_get(json_object_get(input, "InstanceGroups"), 0), "InstanceCount", json_integer(4));
    json_decref(must("UpdateCluster", &world_operator, input));
    auto_json json_t *cluster = describe();
    assert_members(cluster, parse("{'ClusterStatus': 'Updating'}"));
    refused_because("UpdateCluster", cluster_input("", ""), AWS_ERROR_CONFLICT, "updating");
}

/* --- software and checks ----------------------------------------------------------------------------- */

static struct rollout rollout_of(void)
{
    struct service_cluster_view view;
    assert_int_equal(service_cluster_describe(&world.service, "train", &view, &world.problem), 0);
    struct rollout rollout = view.groups[0].rollout;
    service_cluster_view_free(&view);
    return rollout;
}

static int set_groups_in_service(struct db_tx *tx, void *arg)
{
    struct cluster cluster;
    struct instance_group group;
    int status = db_cluster_get(tx, arg, &cluster);
    if (status == 0)
        status = db_group_get(tx, cluster.id, "gpu", &group);
    group.state = GROUP_STATE_IN_SERVICE;
    return status < 0 ? status : db_group_update(tx, &group);
}

static int put_rollout(struct db_tx *tx, void *arg)
{
    return db_rollout_put(tx, arg);
}

static void ready_to_roll(void)
{
    create(", 'ImageReleaseVersion': '1.0.0'", "");
    world_write(&world, set_in_service, train);
    world_write(&world, set_groups_in_service, train);
}

static void test_software_rolls_as_it_is_told(void **state)
{
    (void)state;
    ready_to_roll();
    json_decref(must("UpdateClusterSoftware", &world_operator,
                     parse("{'ClusterName': 'train', 'ImageId': 'ami-0123456789abcdef0', 'InstanceGroups': "
                           "[{'InstanceGroupName': 'gpu', 'ImageReleaseVersion': '2.0.0'}], 'DeploymentConfig': "
                           "{'RollingUpdatePolicy': {'MaximumBatchSize': {'Type': 'CAPACITY_PERCENTAGE', 'Value': 25}, "
                           "'RollbackMaximumBatchSize': {'Type': 'INSTANCE_COUNT', 'Value': 3}}, "
                           "'WaitIntervalInSeconds': 600}}")));
    struct rollout rollout = rollout_of();
    assert_true(rollout.batch_value == 25 && rollout.batch_is_percent && rollout.rollback_batch_value == 3 &&
                !rollout.rollback_is_percent && rollout.wait_ms == 600000);
    auto_json json_t *cluster = describe();
    assert_members(cluster, parse("{'ClusterStatus': 'SystemUpdating'}"));
    assert_members(first_group(cluster),
                   parse("{'Status': 'SystemUpdating', 'SoftwareUpdateStatus': 'Pending', 'TargetStateCount': 0, "
                         "'CurrentImageReleaseVersion': '1.0.0', 'DesiredImageReleaseVersion': '2.0.0', "
                         "'DesiredImageId': 'ami-0123456789abcdef0', 'ImageVersionStatus': 'UpdateAvailable', "
                         "'ActiveSoftwareUpdateConfig': {'RollingUpdatePolicy': {'MaximumBatchSize': {'Type': "
                         "'CAPACITY_PERCENTAGE', 'Value': 25}, 'RollbackMaximumBatchSize': {'Type': 'INSTANCE_COUNT', "
                         "'Value': 3}}, 'WaitIntervalInSeconds': 600}}"));
    refused_because("UpdateClusterSoftware", parse("{'ClusterName': 'train'}"), AWS_ERROR_CONFLICT, "system-updating");
}

static void test_every_state_of_a_rollout_is_said(void **state)
{
    static const struct {
        enum rollout_state state;
        const char *word, *current, *desired;
    } table[] = {
        {ROLLOUT_STATE_IN_PROGRESS, "InProgress", "1.0.0", "2.0.0"},
        {ROLLOUT_STATE_ROLLING_BACK, "RollbackInProgress", "2.0.0", "1.0.0"},
        {ROLLOUT_STATE_SUCCEEDED, "Succeeded", "2.0.0", "2.0.0"},
        {ROLLOUT_STATE_FAILED, "Failed", "2.0.0", "2.0.0"},
        {ROLLOUT_STATE_ROLLED_BACK, "RollbackComplete", "2.0.0", "2.0.0"},
    };
    (void)state;
    ready_to_roll();
    json_decref(must("UpdateClusterSoftware", &world_operator,
                     parse("{'ClusterName': 'train', 'InstanceGroups': [{'InstanceGroupName': 'gpu', "
                           "'ImageReleaseVersion': '2.0.0'}]}")));
    struct rollout rollout = rollout_of();
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        rollout.state = table[i].state;
        world_write(&world, put_rollout, &rollout);
        auto_json json_t *cluster = describe();
        const json_t *group = first_group(cluster);
        assert_string_equal(text_in(group, "SoftwareUpdateStatus"), table[i].word);
        assert_string_equal(text_in(group, "CurrentImageReleaseVersion"), table[i].current);
        assert_string_equal(text_in(group, "DesiredImageReleaseVersion"), table[i].desired);
        assert_int_equal(json_object_get(group, "ActiveSoftwareUpdateConfig") != NULL, i < 2);
    }
}

static void test_software_that_is_refused(void **state)
{
    (void)state;
    ready_to_roll();
    refused_because("UpdateClusterSoftware",
                    parse("{'ClusterName': 'train', 'DeploymentConfig': {'RollingUpdatePolicy': {'MaximumBatchSize': "
                          "{'Type': 'CAPACITY_PERCENTAGE', 'Value': 101}}}}"),
                    AWS_ERROR_VALIDATION, "101 percent");
    refused_because("UpdateClusterSoftware",
                    parse("{'ClusterName': 'train', 'DeploymentConfig': {'AutoRollbackConfiguration': [{'AlarmName': "
                          "'a'}]}}"),
                    AWS_ERROR_VALIDATION, "AutoRollbackConfiguration");
    refused_because("UpdateClusterSoftware",
                    parse("{'ClusterName': 'train', 'InstanceGroups': [{'InstanceGroupName': 'gpu'}, "
                          "{'InstanceGroupName': 'gpu'}]}"),
                    AWS_ERROR_VALIDATION, "twice");
    refused_because("UpdateClusterSoftware",
                    parse("{'ClusterName': 'train', 'InstanceGroups': [{'InstanceGroupName': 'none'}]}"),
                    AWS_ERROR_RESOURCE_NOT_FOUND, "none");
    refused_because("UpdateClusterSoftware", parse("{'ClusterName': 'nobody'}"), AWS_ERROR_RESOURCE_NOT_FOUND,
                    "nobody");
}

static void test_deep_checks_start(void **state)
{
    (void)state;
    create("", ", 'NodeProvisioningMode': 'Continuous'");
    world_ready(&world, "train", "gpu-1", "i-0123456789abcdef0", NULL);
    json_t *input = parse("{'ClusterName': 'train', 'DeepHealthCheckConfigurations': [{'InstanceGroupName': 'gpu', "
                          "'InstanceIds': ['i-0123456789abcdef0'], 'DeepHealthChecks': ['InstanceStress', "
                          "'InstanceConnectivity']}]}");
    json_decref(must("StartClusterHealthCheck", &world_operator, input));
    auto_json json_t *node =
        must("DescribeClusterNode", &world_viewer, parse("{'ClusterName': 'train', 'NodeLogicalId': 'gpu-1'}"));
    assert_members(json_object_get(json_object_get(node, "NodeDetails"), "InstanceStatus"),
                   parse("{'Status': 'DeepHealthCheckInProgress'}"));
    refused_because("StartClusterHealthCheck",
                    parse("{'ClusterName': 'train', 'DeepHealthCheckConfigurations': [{'InstanceGroupName': 'no', "
                          "'DeepHealthChecks': ['InstanceStress']}]}"),
                    AWS_ERROR_RESOURCE_NOT_FOUND, "no");
    refused_because("StartClusterHealthCheck",
                    parse("{'ClusterName': 'train', 'DeepHealthCheckConfigurations': [{'InstanceGroupName': 'gpu', "
                          "'InstanceIds': ['i-01234567'], 'DeepHealthChecks': ['InstanceStress']}]}"),
                    AWS_ERROR_RESOURCE_NOT_FOUND, "i-01234567");
}

/* What HyperPod's words mean: machines that are not there yet are not counted, and an update is no scaling. */
static void test_counts_mean_what_they_say(void **state)
{
    (void)state;
    ready_to_roll();
    world_ready(&world, "train", "gpu-1", "i-0123456789abcdef0", NULL);
    world_node_set(&world, "train", "gpu-2", NODE_STATE_STARTING, HEALTH_UNKNOWN);
    auto_json json_t *coming = describe();
    assert_members(first_group(coming),
                   parse("{'CurrentCount': 1, 'TargetCount': 2, 'ActiveOperations': {'Scaling': 1}}"));
    world_node_set(&world, "train", "gpu-2", NODE_STATE_VERIFYING, HEALTH_UNKNOWN); /* for the first time */
    auto_json json_t *tested = describe();
    assert_members(first_group(tested),
                   parse("{'CurrentCount': 1, 'TargetCount': 2, 'ActiveOperations': {'Scaling': 1}}"));
    json_decref(must("UpdateClusterSoftware", &world_operator,
                     parse("{'ClusterName': 'train', 'InstanceGroups': [{'InstanceGroupName': 'gpu', "
                           "'ImageReleaseVersion': '2.0.0'}]}")));
    struct instance instance = world_instance(&world, "i-0123456789abcdef0");
    text_copy_cut(instance.release, sizeof(instance.release), "2.0.0");
    world_write(&world, world_instance_write, &instance);
    world_node_set(&world, "train", "gpu-1", NODE_STATE_REPAIRING, HEALTH_UNKNOWN); /* it is being brought up */
    auto_json json_t *rolling = describe();
    assert_members(first_group(rolling), parse("{'TargetStateCount': 0}"));
    assert_null(json_object_get(first_group(rolling), "ActiveOperations"));
    world_node_set(&world, "train", "gpu-1", NODE_STATE_READY, HEALTH_HEALTHY);
    auto_json json_t *rolled = describe();
    assert_members(first_group(rolled), parse("{'TargetStateCount': 1}"));
}

static int put_address(struct db_tx *tx, void *arg)
{
    return db_instance_set_address(tx, *(int64_t *)arg, "10.1.2.3");
}

static void test_nodes_have_a_name_and_a_time(void **state)
{
    (void)state;
    create("", "");
    world_ready(&world, "train", "gpu-1", "i-0123456789abcdef0", NULL);
    int64_t row = world_instance(&world, "i-0123456789abcdef0").id;
    world_write(&world, put_address, &row);
    auto_json json_t *node =
        must("DescribeClusterNode", &world_viewer, parse("{'ClusterName': 'train', 'NodeLogicalId': 'gpu-1'}"));
    const json_t *details = json_object_get(node, "NodeDetails");
    assert_members(details, parse("{'PrivateDnsHostname': 'ip-10-1-2-3.holdfast.internal'}"));
    assert_true(json_equal(json_object_get(details, "LastSoftwareUpdateTime"), json_object_get(details, "LaunchTime")));
    auto_json json_t *list = must("ListClusterNodes", &world_viewer, parse("{'ClusterName': 'train'}"));
    const json_t *first = json_array_get(json_object_get(list, "ClusterNodeSummaries"), 0);
    assert_members(first, parse("{'PrivateDnsHostname': 'ip-10-1-2-3.holdfast.internal'}"));
    assert_non_null(json_object_get(first, "LastSoftwareUpdateTime"));
}

static int64_t group_row;
static size_t methods_left;

static int take_group(const void *row, void *arg)
{
    (void)arg;
    group_row = ((const struct instance_group *)row)->id;
    return 0;
}

/* How the nodes reboot: the REST API alone has words for it. */
static int put_methods(struct db_tx *tx, void *arg)
{
    (void)arg;
    struct cluster cluster;
    struct group_spec spec = {0};
    int status = db_cluster_get(tx, "train", &cluster);
    status = status == 0 ? db_group_list(tx, cluster.id, take_group, NULL) : status;
    status = status == 0 ? db_group_spec_get(tx, group_row, &spec) : status;
    char **methods = own_calloc(1, sizeof(*methods));
    methods[0] = own_strdup("ssh");
    spec.reboot_methods = (struct optional_list){.given = true, .count = 1, .items = methods};
    status = status == 0 ? db_group_spec_put(tx, group_row, &spec) : status;
    group_spec_free(&spec);
    return status;
}

static int see_methods(struct db_tx *tx, void *arg)
{
    (void)arg;
    struct group_spec spec = {0};
    int status = db_group_spec_get(tx, group_row, &spec);
    methods_left = spec.reboot_methods.count;
    assert_null(spec.lifecycle.source); /* which the update left out, and could have said */
    group_spec_free(&spec);
    return status;
}

static void test_an_update_keeps_what_it_has_no_words_for(void **state)
{
    (void)state;
    create("," GROUP_KEPT, ", 'NodeProvisioningMode': 'Continuous'");
    world_write(&world, put_methods, NULL);
    json_decref(
        must("UpdateCluster", &world_operator,
             parse("{'ClusterName': 'train', 'InstanceGroups': [{'InstanceGroupName': 'gpu', 'InstanceType': "
                   "'ml.p5.48xlarge', 'InstanceCount': 3, 'ExecutionRole': '" ROLE "', 'ThreadsPerCore': 1}]}")));
    world_write(&world, see_methods, NULL);
    assert_int_equal(methods_left, 1);
}

static void test_groups_come_back_in_their_order(void **state)
{
    static const char *const names[] = {"worker", "controller", "login"};
    (void)state;
    auto_json json_t *input = parse("{'ClusterName': 'train', 'InstanceGroups': []}");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        json_array_append_new(json_object_get(input, "InstanceGroups"),
                              parse("{'InstanceGroupName': '%s', 'InstanceType': 'ml.m5.large', 'InstanceCount': 1, "
                                    "'ExecutionRole': '" ROLE "'}",
                                    names[i]));
    json_decref(must("CreateCluster", &world_admin, json_incref(input)));
    auto_json json_t *cluster = describe();
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_string_equal(text_in(json_array_get(json_object_get(cluster, "InstanceGroups"), i), "InstanceGroupName"),
                            names[i]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_asked_for_comes_back),
        TEST(test_what_is_left_out),
        TEST(test_one_type_among_requirements),
        TEST(test_what_cannot_be_done_is_refused_by_name),
        TEST(test_slurm_that_is_not_there),
        TEST(test_eks_is_the_scheduler_of_its_arn),
        cmocka_unit_test(test_the_table_for_people_is_whole),
        TEST(test_a_repeated_try_answers_the_same_cluster),
        TEST(test_groups_come_change_and_go),
        TEST(test_all_or_nothing_is_changed_in_peace_only),
        TEST(test_software_rolls_as_it_is_told),
        TEST(test_every_state_of_a_rollout_is_said),
        TEST(test_software_that_is_refused),
        TEST(test_deep_checks_start),
        TEST(test_counts_mean_what_they_say),
        TEST(test_nodes_have_a_name_and_a_time),
        TEST(test_an_update_keeps_what_it_has_no_words_for),
        TEST(test_groups_come_back_in_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
