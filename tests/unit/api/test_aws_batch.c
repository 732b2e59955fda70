/*
 * Batches, attachments and the details of events at the AWS API, without HTTP: each item's own answer with its exact code, and
 * exactly one member in a union, whatever the event.
 */
#include "aws_calls.h"

#define INSTANCE "i-0123456789abcdef0"

static int setup(void **state)
{
    static const struct service_group_spec group = {
        .name = "gpu",
        .instance_type = "ml.p5.48xlarge",
        .provider = "local",
        .instance_count = 3,
    };
    struct service_group_spec groups[2] = {group, group};
    const struct service_cluster_spec spec = {
        .name = "train", .orchestrator = ORCHESTRATOR_NONE, .groups = groups, .group_count = 2};
    struct cluster cluster;
    (void)state;
    world_open(&world, DB_INLINE);
    snprintf(groups[1].name, sizeof(groups[1].name), "head");
    groups[1].spec = group_spec_of("{\"slurm\":{\"role\":\"controller\"}}");
    assert_int_equal(service_cluster_create(&world.service, &world_admin, &spec, &cluster, &world.problem), 0);
    world_ready(&world, "train", "gpu-1", INSTANCE, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_close(&world);
    return 0;
}

static const char *text_at(const json_t *list, size_t at, const char *member)
{
    const char *text = json_string_value(json_object_get(json_array_get(list, at), member));
    return text == NULL ? "" : text;
}

/* --- away -------------------------------------------------------------------------------------------- */

static void test_each_node_that_goes_has_its_answer(void **state)
{
    (void)state;
    auto_json json_t *reply = must("BatchDeleteClusterNodes", &world_operator,
                                   json_pack("{s:s, s:[s, s], s:[s, s, s]}", "ClusterName", "train", "NodeIds",
                                             INSTANCE, "i-01234567", "NodeLogicalIds", "gpu-2", "none-1", "head-1"));
    const json_t *failed = json_object_get(reply, "Failed"), *logical = json_object_get(reply, "FailedNodeLogicalIds");
    assert_int_equal(json_array_size(json_object_get(reply, "Successful")), 1);
    assert_int_equal(json_array_size(json_object_get(reply, "SuccessfulNodeLogicalIds")), 1);
    assert_string_equal(text_at(failed, 0, "NodeId"), "i-01234567");
    assert_string_equal(text_at(failed, 0, "Code"), "NodeIdNotFound");
    assert_string_equal(text_at(logical, 0, "Code"), "NodeIdNotFound");
    assert_string_equal(text_at(logical, 1, "NodeLogicalId"), "head-1");
    assert_string_equal(text_at(logical, 1, "Code"), "InvalidNodeStatus");
    assert_true(text_at(logical, 1, "Message")[0] != '\0');
    /* The same again, as after a lost answer: what goes already is no error. */
    auto_json json_t *again = must("BatchDeleteClusterNodes", &world_operator,
                                   json_pack("{s:s, s:[s]}", "ClusterName", "train", "NodeLogicalIds", "gpu-2"));
    assert_int_equal(json_array_size(json_object_get(again, "SuccessfulNodeLogicalIds")), 1);
    assert_null(json_object_get(again, "Failed"));
    auto_json json_t *cluster = must("DescribeCluster", &world_viewer, json_pack("{s:s}", "ClusterName", "train"));
    const json_t *gpu = json_array_get(json_object_get(cluster, "InstanceGroups"), 0);
    assert_int_equal(json_integer_value(json_object_get(gpu, "TargetCount")), 1);
}

static json_t *many(const char *member, const char *fmt, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        autofree char *id = own_printf(fmt, i);
        json_array_append_new(list, json_string(id));
    }
    return json_pack("{s:s, s:o}", "ClusterName", "train", member, list);
}

static void test_how_many_may_go_at_once(void **state)
{
    (void)state;
    refused("BatchDeleteClusterNodes", &world_operator, json_pack("{s:s}", "ClusterName", "train"),
            AWS_ERROR_VALIDATION);
    refused("BatchDeleteClusterNodes", &world_operator, many("NodeLogicalIds", "none-%d", 51), AWS_ERROR_VALIDATION);
    json_t *mixed = many("NodeLogicalIds", "none-%d", 25), *ids = many("NodeIds", "i-%08d", 26);
    json_object_set(mixed, "NodeIds", json_object_get(ids, "NodeIds"));
    json_decref(ids);
    refused("BatchDeleteClusterNodes", &world_operator, mixed, AWS_ERROR_VALIDATION);
    auto_json json_t *fifty = must("BatchDeleteClusterNodes", &world_operator, many("NodeLogicalIds", "none-%d", 50));
    assert_int_equal(json_array_size(json_object_get(fifty, "FailedNodeLogicalIds")), 50);
    auto_json json_t *crowd = must("BatchDeleteClusterNodes", &world_operator, many("NodeIds", "i-%08d", 3000));
    assert_int_equal(json_array_size(json_object_get(crowd, "Failed")), 3000);
    refused("BatchDeleteClusterNodes", &world_operator,
            json_pack("{s:s, s:[s]}", "ClusterName", "nobody", "NodeIds", INSTANCE), AWS_ERROR_RESOURCE_NOT_FOUND);
}

static void test_a_controller_is_not_replaced(void **state)
{
    (void)state;
    world_ready(&world, "train", "head-1", "i-aaaaaaaa", NULL);
    auto_json json_t *reply = must("BatchReplaceClusterNodes", &world_operator,
                                   json_pack("{s:s, s:[s]}", "ClusterName", "train", "NodeLogicalIds", "head-1"));
    assert_string_equal(text_at(json_object_get(reply, "FailedNodeLogicalIds"), 0, "ErrorCode"),
                        "InvalidInstanceStatus");
}

/* --- attachments ------------------------------------------------------------------------------------- */

static void test_what_no_provider_can_attach(void **state)
{
    char arn[AWS_ARN_MAX];
    (void)state;
    auto_json json_t *cluster = must("DescribeCluster", &world_viewer, json_pack("{s:s}", "ClusterName", "train"));
    snprintf(arn, sizeof(arn), "%s", json_string_value(json_object_get(cluster, "ClusterArn")));
    static const char *const names[] = {"AttachClusterNodeVolume", "DetachClusterNodeVolume",
                                        "AttachClusterNodeNetworkInterface"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *member = i < 2 ? "ClusterArn" : "ClusterName";
        refused(names[i], &world_operator, json_pack("{s:s, s:s}", member, arn, "NodeId", INSTANCE),
                AWS_ERROR_VALIDATION);
        refused(names[i], &world_operator, json_pack("{s:s, s:s}", member, arn, "NodeId", "i-01234567"),
                AWS_ERROR_RESOURCE_NOT_FOUND);
        arn[strlen(arn) - 1] ^= 1;
        refused(names[i], &world_operator, json_pack("{s:s, s:s}", member, arn, "NodeId", INSTANCE),
                AWS_ERROR_RESOURCE_NOT_FOUND);
        arn[strlen(arn) - 1] ^= 1;
    }
}

/* --- events ------------------------------------------------------------------------------------------ */

static int add_event(struct db_tx *tx, void *arg)
{
    return db_event_insert(tx, arg);
}

/* The one member of the union that the event's details are. Caller frees the reply. */
static const json_t *details_of(struct event *event, const char *expected, json_t **ret_reply)
{
    char id[ID_UUID_MAX];
    struct cluster cluster;
    snprintf(event->cluster, sizeof(event->cluster), "train");
    struct service_cluster_view view;
    assert_int_equal(service_cluster_describe(&world.service, "train", &view, &world.problem), 0);
    cluster = view.cluster;
    service_cluster_view_free(&view);
    event->cluster_id = cluster.id;
    world_write(&world, add_event, event);
    snprintf(id, sizeof(id), "686f6c64-6661-8374-8000-%012" PRIx64, (uint64_t)event->id);
    *ret_reply =
        must("DescribeClusterEvent", &world_viewer, json_pack("{s:s, s:s}", "ClusterName", "train", "EventId", id));
    const json_t *outer = json_object_get(*ret_reply, "EventDetails");
    const json_t *metadata = json_object_get(json_object_get(outer, "EventDetails"), "EventMetadata");
    assert_int_equal(json_object_size(metadata), 1);
    const json_t *details = json_object_get(metadata, expected);
    assert_non_null(details);
    return details;
}

static void test_details_are_of_one_kind(void **state)
{
    json_t *reply;
    const json_t *details;
    (void)state;
    struct event scaling = {.kind = EVENT_KIND_GROUP_SCALING,
                            .group = "gpu",
                            .message = "m",
                            .failure = "too few",
                            .instance_count = 2,
                            .target_count = 3,
                            .min_count = 1};
    details = details_of(&scaling, "InstanceGroupScaling", &reply);
    assert_int_equal(json_integer_value(json_object_get(details, "InstanceCount")), 2);
    assert_int_equal(json_integer_value(json_object_get(details, "TargetCount")), 3);
    assert_int_equal(json_integer_value(json_object_get(details, "MinCount")), 1);
    assert_string_equal(json_string_value(json_object_get(details, "FailureMessage")), "too few");
    json_decref(reply);
    struct event script = {.kind = EVENT_KIND_LIFECYCLE_SCRIPT,
                           .group = "gpu",
                           .node = "gpu-1",
                           .message = "m",
                           .script_state = "Started"};
    details = details_of(&script, "Instance", &reply);
    assert_string_equal(json_string_value(json_object_get(details, "LcsExecutionState")), "Started");
    assert_string_equal(json_string_value(json_object_get(details, "NodeLogicalId")), "gpu-1");
    assert_null(json_object_get(details, "FailureMessage"));
    json_decref(reply);
    struct event group = {
        .kind = EVENT_KIND_GROUP_STATE, .group = "gpu", .level = EVENT_LEVEL_ERROR, .message = "it failed"};
    details = details_of(&group, "InstanceGroup", &reply);
    assert_string_equal(json_string_value(json_object_get(details, "FailureMessage")), "it failed");
    json_decref(reply);
    struct event whole = {.kind = EVENT_KIND_CLUSTER_UPDATED, .message = "m"};
    details = details_of(&whole, "Cluster", &reply);
    assert_int_equal(json_object_size(details), 0);
    json_decref(reply);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_each_node_that_goes_has_its_answer),
        TEST(test_how_many_may_go_at_once),
        TEST(test_a_controller_is_not_replaced),
        TEST(test_what_no_provider_can_attach),
        TEST(test_details_are_of_one_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
