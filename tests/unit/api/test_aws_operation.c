/*
 * The operations of the AWS API without HTTP, over the service's small world: what each answers fits the model's own
 * output, in whatever state the nodes are; who may; and tokens that are not ours.
 */
#include "aws_calls.h"

#include "base/text.h"

#define INSTANCE "i-0123456789abcdef0"

static int setup(void **state)
{
    static const struct service_group_spec group = {
        .name = "gpu", .instance_type = "ml.p5.48xlarge", .provider = "local", .instance_count = 3};
    struct service_group_spec groups[1] = {group};
    const struct service_cluster_spec spec = {
        .name = "train", .orchestrator = ORCHESTRATOR_SLURM, .groups = groups, .group_count = 1};
    char credential[SERVICE_TOKEN_TEXT_MAX];
    struct cluster cluster;
    (void)state;
    world_open(&world, DB_INLINE);
    assert_int_equal(service_cluster_create(&world.service, &world_admin, &spec, &cluster, &world.problem), 0);
    world_ready(&world, "train", "gpu-1", INSTANCE, credential);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_close(&world);
    return 0;
}

static void test_every_answer_fits_the_model(void **state)
{
    (void)state;
    auto_json json_t *clusters = must("ListClusters", &world_viewer, json_object());
    auto_json json_t *cluster = must("DescribeCluster", &world_viewer, json_pack("{s:s}", "ClusterName", "train"));
    assert_true(json_is_object(json_object_get(json_object_get(cluster, "Orchestrator"), "Slurm")));
    const char *arn = json_string_value(json_object_get(cluster, "ClusterArn"));
    auto_json json_t *nodes = must("ListClusterNodes", &world_viewer,
                                   json_pack("{s:s, s:b}", "ClusterName", arn, "IncludeNodeLogicalIds", 1));
    assert_int_equal(json_array_size(json_object_get(nodes, "ClusterNodeSummaries")), 3);
    auto_json json_t *node =
        must("DescribeClusterNode", &world_viewer, json_pack("{s:s, s:s}", "ClusterName", arn, "NodeId", INSTANCE));
    auto_json json_t *events = must("ListClusterEvents", &world_viewer, json_pack("{s:s}", "ClusterName", arn));
    size_t i;
    json_t *event;
    assert_true(json_array_size(json_object_get(events, "Events")) > 0);
    json_array_foreach(json_object_get(events, "Events"), i, event)
    {
        const char *id = json_string_value(json_object_get(event, "EventId"));
        auto_json json_t *details =
            must("DescribeClusterEvent", &world_viewer, json_pack("{s:s, s:s}", "ClusterName", "train", "EventId", id));
        assert_int_equal(
            json_object_size(json_object_get(json_object_get(json_object_get(details, "EventDetails"), "EventDetails"),
                                             "EventMetadata")),
            1);
    }
    auto_json json_t *batch = must("BatchRebootClusterNodes", &world_operator,
                                   json_pack("{s:s, s:[s, s], s:[s]}", "ClusterName", "train", "NodeIds", INSTANCE,
                                             "i-01234567", "NodeLogicalIds", "gpu-2"));
    const json_t *failed = json_array_get(json_object_get(batch, "FailedNodeLogicalIds"), 0);
    assert_string_equal(json_string_value(json_object_get(failed, "ErrorCode")), "InstanceIdInUse");
    auto_json json_t *again = must("BatchReplaceClusterNodes", &world_operator,
                                   json_pack("{s:s, s:[s]}", "ClusterName", "train", "NodeLogicalIds", "gpu-1"));
    failed = json_array_get(json_object_get(again, "FailedNodeLogicalIds"), 0);
    assert_string_equal(json_string_value(json_object_get(failed, "ErrorCode")), "InstanceIdInUse");
    world_operation_end(&world, "train", "gpu-3", OPERATION_STATE_SUCCEEDED); /* and the node still starts */
    auto_json json_t *early = must("BatchRebootClusterNodes", &world_operator,
                                   json_pack("{s:s, s:[s]}", "ClusterName", "train", "NodeLogicalIds", "gpu-3"));
    failed = json_array_get(json_object_get(early, "FailedNodeLogicalIds"), 0);
    assert_string_equal(json_string_value(json_object_get(failed, "ErrorCode")), "InvalidInstanceStatus");
    auto_json json_t *gone = must("DeleteCluster", &world_admin, json_pack("{s:s}", "ClusterName", arn));
    auto_json json_t *going = must("DescribeCluster", &world_viewer, json_pack("{s:s}", "ClusterName", "train"));
    assert_string_equal(json_string_value(json_object_get(going, "ClusterStatus")), "Deleting");
}

static void test_roles(void **state)
{
    static const struct {
        const char *name;
        enum role role;
    } cases[] = {
        {"ListClusters", ROLE_VIEWER},
        {"DescribeClusterEvent", ROLE_VIEWER},
        {"SearchTrainingPlanOfferings", ROLE_VIEWER},
        {"BatchAddClusterNodes", ROLE_OPERATOR},
        {"UpdateCluster", ROLE_OPERATOR},
        {"StartClusterHealthCheck", ROLE_OPERATOR},
        {"AttachClusterNodeVolume", ROLE_OPERATOR},
        {"CreateCluster", ROLE_ADMIN},
        {"DeleteCluster", ROLE_ADMIN},
        {"DeleteComputeQuota", ROLE_ADMIN},
        {"CreateTrainingPlan", ROLE_ADMIN},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(aws_operation_role(aws_operation_find(cases[i].name)), cases[i].role);
    refused("BatchRebootClusterNodes", &world_viewer, json_object(), AWS_ERROR_ACCESS_DENIED);
    refused("DeleteCluster", &world_operator, json_pack("{s:s}", "ClusterName", "train"), AWS_ERROR_ACCESS_DENIED);
}

static void test_names_that_are_none(void **state)
{
    static const char *const names[] = {"nothing", "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghij12",
                                        "arn:aws:sagemaker:us-west-2:000000000000:cluster/abcdefghij12"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        refused("DescribeCluster", &world_viewer, json_pack("{s:s}", "ClusterName", names[i]),
                AWS_ERROR_RESOURCE_NOT_FOUND);
    refused("DescribeClusterEvent", &world_viewer,
            json_pack("{s:s, s:s}", "ClusterName", "train", "EventId", "686f6c64-6661-8374-8000-ffffffffffff"),
            AWS_ERROR_RESOURCE_NOT_FOUND);
}

/* A well-formed token whose key is not one of this list's. */
static void test_tokens_with_foreign_keys(void **state)
{
    static const char *const keys[] = {"x", "1", "1.", ".1", "1.0", "-1.1", "1.1.1", "99999999999999999999.1"};
    char token[AWS_TOKEN_MAX];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        aws_token_encode("ListClusters///", keys[i], token);
        refused("ListClusters", &world_viewer, json_pack("{s:s}", "NextToken", token), AWS_ERROR_VALIDATION);
    }
    aws_token_encode("ListClusterEvents/train//", "0", token);
    refused("ListClusterEvents", &world_viewer, json_pack("{s:s, s:s}", "ClusterName", "train", "NextToken", token),
            AWS_ERROR_VALIDATION);
}

static void test_tokens_come_back_whole_and_from_their_list_only(void **state)
{
    static const char *const lists[] = {"ListClusters///", "ListClusters//NAME/", "ListClusterNodes/a//"};
    static const char *const keys[] = {"1", "1795187045000.7", "a-name",
                                       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    char token[AWS_TOKEN_MAX], key[AWS_TOKEN_KEY_MAX];
    (void)state;
    for (size_t l = 0; l < ARRAY_LEN(lists); l++)
        for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
            aws_token_encode(lists[l], keys[k], token);
            assert_null(strstr(token, keys[k]));
            for (size_t other = 0; other < ARRAY_LEN(lists); other++)
                assert_int_equal(aws_token_decode(token, lists[other], key), other == l ? 0 : STATUS_INVALID);
            assert_int_equal(aws_token_decode(token, lists[l], key), 0);
            assert_string_equal(key, keys[k]);
            token[2] = token[2] == 'A' ? 'B' : 'A';
            assert_int_equal(aws_token_decode(token, lists[l], key), STATUS_INVALID);
        }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_every_answer_fits_the_model),
        TEST(test_roles),
        TEST(test_names_that_are_none),
        TEST(test_tokens_with_foreign_keys),
        cmocka_unit_test(test_tokens_come_back_whole_and_from_their_list_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
