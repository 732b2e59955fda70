/*
 * Task governance and tags at the AWS API: full, minimal and wrong input, outputs that fit the model, lists in every order
 * while they change.
 */
#include "aws_calls.h"

#include "base/text.h"
#include "server/service/scheduler/governance.h"

static char cluster_arn[AWS_ARN_MAX];

static int setup(void **state)
{
    (void)state;
    world_open(&world, DB_INLINE);
    world_cluster(&world, "train", "gpu", 1, ORCHESTRATOR_SLURM);
    world_cluster(&world, "serve", "cpu", 1, ORCHESTRATOR_NONE);
    aws_region = "us-west-2";
    auto_json json_t *clusters = must("ListClusters", &world_viewer, json_pack("{s:s}", "NameContains", "train"));
    const json_t *cluster = json_array_get(json_object_get(clusters, "ClusterSummaries"), 0);
    snprintf(cluster_arn, sizeof(cluster_arn), "%s", json_string_value(json_object_get(cluster, "ClusterArn")));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_close(&world);
    return 0;
}

static const char *text_at(const json_t *json, const char *member)
{
    const char *text = json_string_value(json_object_get(json, member));
    if (text == NULL)
        fail_msg("no %s", member);
    return text;
}

static json_t *parse(const char *text)
{
    char error[JSON_ERROR_MAX];
    json_t *json = NULL;
    if (json_parse(text, strlen(text), 65536, &json, error) < 0)
        fail_msg("%s: %s", error, text);
    return json;
}

static json_t *config_input(const char *config)
{
    return json_pack("{s:s, s:s, s:o}", "Name", "main", "ClusterArn", cluster_arn, "SchedulerConfig", parse(config));
}

static json_t *quota_input(const char *name, const char *config)
{
    return json_pack("{s:s, s:s, s:o, s:{s:s}}", "Name", name, "ClusterArn", cluster_arn, "ComputeQuotaConfig",
                     parse(config), "ComputeQuotaTarget", "TeamName", name);
}

static void test_a_full_scheduler_config(void **state)
{
    static const char config[] =
        "{\"PriorityClasses\":[{\"Name\":\"prod\",\"Weight\":100},{\"Name\":\"dev\",\"Weight\":0}],"
        "\"FairShare\":\"Enabled\",\"IdleResourceSharing\":\"Disabled\"}";
    (void)state;
    json_t *input = config_input(config);
    json_put_text(input, "Description", "What is für whom");
    json_put(input, "Tags", parse("[{\"Key\":\"a\",\"Value\":\"\"},{\"Key\":\"b\",\"Value\":\"c\"}]"));
    auto_json json_t *made = must("CreateClusterSchedulerConfig", &world_admin, input);
    const char *id = text_at(made, "ClusterSchedulerConfigId");
    auto_json json_t *one =
        must("DescribeClusterSchedulerConfig", &world_viewer, json_pack("{s:s}", "ClusterSchedulerConfigId", id));
    auto_json json_t *wanted = parse(config);
    assert_true(json_equal(json_object_get(one, "SchedulerConfig"), wanted));
    assert_string_equal(text_at(one, "ClusterArn"), cluster_arn);
    assert_string_equal(text_at(one, "Status"), "Creating");
    assert_null(json_object_get(one, "FailureReason"));
    assert_string_equal(text_at(json_object_get(one, "StatusDetails"), "FairShare"), "Creating");
    assert_int_equal(json_object_size(json_object_get(one, "StatusDetails")), 3);
    assert_string_equal(text_at(json_object_get(json_object_get(one, "CreatedBy"), "IamIdentity"), "PrincipalId"),
                        world_admin.name);
    auto_json json_t *tags =
        must("ListTags", &world_viewer, json_pack("{s:s}", "ResourceArn", text_at(made, "ClusterSchedulerConfigArn")));
    assert_int_equal(json_array_size(json_object_get(tags, "Tags")), 2);
    refused("CreateClusterSchedulerConfig", &world_admin, config_input("{}"), AWS_ERROR_CONFLICT);
    auto_json json_t *gone =
        must("DeleteClusterSchedulerConfig", &world_admin, json_pack("{s:s}", "ClusterSchedulerConfigId", id));
    assert_int_equal(json_object_size(gone), 0);
    refused("DescribeClusterSchedulerConfig", &world_viewer, json_pack("{s:s}", "ClusterSchedulerConfigId", id),
            AWS_ERROR_RESOURCE_NOT_FOUND);
    refused("DeleteClusterSchedulerConfig", &world_admin, json_pack("{s:s}", "ClusterSchedulerConfigId", id),
            AWS_ERROR_RESOURCE_NOT_FOUND);
    auto_json json_t *again = must("CreateClusterSchedulerConfig", &world_admin, config_input("{}"));
    assert_string_not_equal(text_at(again, "ClusterSchedulerConfigId"), id);
}

static void test_a_region_that_its_pattern_refuses(void **state)
{
    static const struct {
        const char *region, *in_arn;
    } cases[] = {
        {"eu-x-1", ":hp-local-1:"}, {"us-gov-west-1", ":us-gov-west-1:"}, {"a-region-too-long-1", ":hp-local-1:"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        aws_region = cases[i].region;
        auto_json json_t *made = must("CreateClusterSchedulerConfig", &world_admin, config_input("{}"));
        const char *arn = text_at(made, "ClusterSchedulerConfigArn");
        assert_non_null(strstr(arn, cases[i].in_arn));
        auto_json json_t *tags = must("ListTags", &world_viewer, json_pack("{s:s}", "ResourceArn", arn));
        auto_json json_t *gone =
            must("DeleteClusterSchedulerConfig", &world_admin,
                 json_pack("{s:s}", "ClusterSchedulerConfigId", text_at(made, "ClusterSchedulerConfigId")));
    }
}

static void test_versions_of_a_quota(void **state)
{
    (void)state;
    /* What the model does not know, nulls and 2.0 for 2 are not kept. */
    auto_json json_t *made =
        must("CreateComputeQuota", &world_admin,
             quota_input("vision", "{\"ComputeQuotaResources\":[{\"InstanceType\":\"ml.p5.48xlarge\",\"Count\":2.0,"
                                   "\"VCpu\":0.1,\"Colour\":\"red\",\"Accelerators\":null}]}"));
    const char *id = text_at(made, "ComputeQuotaId");
    json_t *change =
        json_pack("{s:s, s:i, s:s, s:{s:s, s:i}}", "ComputeQuotaId", id, "TargetVersion", 1, "ActivationState",
                  "Disabled", "ComputeQuotaTarget", "TeamName", "speech", "FairShareWeight", 7);
    refused("UpdateComputeQuota", &world_viewer, json_deep_copy(change), AWS_ERROR_ACCESS_DENIED);
    auto_json json_t *updated = must("UpdateComputeQuota", &world_operator, json_deep_copy(change));
    assert_int_equal(json_integer_value(json_object_get(updated, "ComputeQuotaVersion")), 2);
    refused("UpdateComputeQuota", &world_operator, change, AWS_ERROR_CONFLICT); /* it is stale now */
    refused("UpdateComputeQuota", &world_operator, json_pack("{s:s, s:i}", "ComputeQuotaId", id, "TargetVersion", 0),
            AWS_ERROR_CONFLICT);
    refused("UpdateComputeQuota", &world_operator,
            json_pack("{s:s, s:i}", "ComputeQuotaId", "aaaaaaaaaaaa", "TargetVersion", 1),
            AWS_ERROR_RESOURCE_NOT_FOUND);
    auto_json json_t *new = must("DescribeComputeQuota", &world_viewer, json_pack("{s:s}", "ComputeQuotaId", id));
    auto_json json_t *old = must("DescribeComputeQuota", &world_viewer,
                                 json_pack("{s:s, s:i}", "ComputeQuotaId", id, "ComputeQuotaVersion", 1));
    assert_string_equal(text_at(new, "Status"), "Updating"); /* what was made for it may have to go */
    assert_null(json_object_get(new, "FailureReason"));
    assert_string_equal(text_at(json_object_get(new, "ComputeQuotaTarget"), "TeamName"), "speech");
    assert_string_equal(text_at(old, "Status"), "CreateFailed");
    assert_string_equal(text_at(json_object_get(old, "ComputeQuotaTarget"), "TeamName"), "vision");
    assert_string_equal(text_at(old, "ActivationState"), "Enabled");
    auto_json json_t *wanted = parse("{\"ComputeQuotaResources\":[{\"InstanceType\":\"ml.p5.48xlarge\",\"Count\":2,"
                                     "\"VCpu\":0.1}]}");
    assert_true(json_equal(json_object_get(new, "ComputeQuotaConfig"), wanted));
    for (int version = -1; version <= 3; version++)
        if (version < 1 || version > 2)
            refused("DescribeComputeQuota", &world_viewer,
                    json_pack("{s:s, s:i}", "ComputeQuotaId", id, "ComputeQuotaVersion", version),
                    AWS_ERROR_RESOURCE_NOT_FOUND);
}

static void test_what_is_refused(void **state)
{
    static const char *const arns[] = {"arn:aws:sagemaker:us-west-2:000000000000:cluster/aaaaaaaaaaaa",
                                       "arn:aws:sagemaker:us-west-2:123456789012:cluster/aaaaaaaaaaaa"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(arns); i++) {
        json_t *input = config_input("{}");
        json_put_text(input, "ClusterArn", arns[i]);
        refused("CreateClusterSchedulerConfig", &world_admin, input, AWS_ERROR_RESOURCE_NOT_FOUND);
    }
    refused("CreateComputeQuota", &world_operator, quota_input("a", "{}"), AWS_ERROR_ACCESS_DENIED);
    refused("CreateComputeQuota", &world_admin,
            quota_input("a", "{\"ResourceSharingConfig\":{\"Strategy\":\"Lend\",\"BorrowLimit\":1}}"),
            AWS_ERROR_VALIDATION);
    json_t *input = quota_input("a", "{}");
    json_put(input, "Tags", parse("[{\"Key\":\"aws:x\",\"Value\":\"\"}]"));
    refused("CreateComputeQuota", &world_admin, input, AWS_ERROR_VALIDATION);
    auto_json json_t *made = must("CreateComputeQuota", &world_admin, quota_input("a", "{}"));
    refused("CreateComputeQuota", &world_admin, quota_input("a", "{}"), AWS_ERROR_CONFLICT);
    refused("DeleteComputeQuota", &world_operator,
            json_pack("{s:s}", "ComputeQuotaId", text_at(made, "ComputeQuotaId")), AWS_ERROR_ACCESS_DENIED);
}

static void test_a_cluster_has_so_many_quotas_and_no_more(void **state)
{
    (void)state;
    for (int i = 0; i < CLUSTER_QUOTAS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "team-%d", i);
        auto_json json_t *made = must("CreateComputeQuota", &world_admin, quota_input(name, "{}"));
    }
    refused("CreateComputeQuota", &world_admin, quota_input("more", "{}"), AWS_ERROR_RESOURCE_LIMIT_EXCEEDED);
}

/* --- lists -------------------------------------------------------------------------------------------- */

/* The names of all pages, "a b c ". between (may be NULL) is called after each. */
static void walk(json_t *filter, int limit, void (*between)(int page), char ret_names[256])
{
    auto_json json_t *input = filter;
    auto_json json_t *page = NULL;
    ret_names[0] = '\0';
    json_put_i64(input, "MaxResults", limit);
    for (int number = 0;; number++) {
        const json_t *item;
        size_t i;
        assert_in_range(number, 0, 30);
        json_decref(page);
        page = must("ListComputeQuotas", &world_viewer, json_copy(input));
        const json_t *items = json_object_get(page, "ComputeQuotaSummaries");
        assert_true(json_array_size(items) <= (size_t)limit);
        json_array_foreach(items, i, item)
        {
            size_t len = strlen(ret_names);
            snprintf(ret_names + len, 256 - len, "%s ", text_at(item, "Name"));
        }
        if (between != NULL)
            between(number);
        if (json_object_get(page, "NextToken") == NULL)
            return;
        json_put_text(input, "NextToken", text_at(page, "NextToken"));
    }
}

static void make(const char *name)
{
    auto_json json_t *made = must("CreateComputeQuota", &world_admin, quota_input(name, "{}"));
    clock_fake_advance(&world.clock, 10);
}

static void test_lists(void **state)
{
    static const char *const made[] = {"delta", "alpha", "charlie", "bravo"};
    static const struct {
        const char *by, *order, *names;
    } cases[] = {
        {NULL, NULL, "bravo charlie alpha delta "},
        {"CreationTime", "Ascending", "delta alpha charlie bravo "},
        {"Name", NULL, "delta charlie bravo alpha "},
        {"Name", "Ascending", "alpha bravo charlie delta "},
        {"Status", "Ascending", "delta alpha charlie bravo "},
        {"Status", "Descending", "bravo charlie alpha delta "},
        {"ClusterArn", "Ascending", "delta alpha charlie bravo "},
        {"ClusterArn", "Descending", "bravo charlie alpha delta "},
    };
    char names[256];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(made); i++)
        make(made[i]);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (int limit = 1; limit <= 5; limit++) {
            json_t *filter = json_object();
            json_put_text(filter, "SortBy", cases[i].by);
            json_put_text(filter, "SortOrder", cases[i].order);
            walk(filter, limit, NULL, names);
            assert_string_equal(names, cases[i].names);
        }
    walk(json_pack("{s:s}", "NameContains", "l"), 2, NULL, names);
    assert_string_equal(names, "charlie alpha delta ");
    walk(json_pack("{s:s}", "ClusterArn", cluster_arn), 2, NULL, names);
    assert_string_equal(names, "bravo charlie alpha delta ");
    walk(json_pack("{s:s}", "ClusterArn", "arn:aws:sagemaker:us-west-2:000000000000:cluster/aaaaaaaaaaaa"), 2, NULL,
         names);
    assert_string_equal(names, "");
    walk(json_pack("{s:s}", "ClusterArn", "arn:aws:sagemaker:us-west-2:123456789012:cluster/aaaaaaaaaaaa"), 2, NULL,
         names);
    assert_string_equal(names, "");
    walk(json_pack("{s:s}", "Status", "Created"), 2, NULL, names);
    assert_string_equal(names, "");
    walk(json_pack("{s:f}", "CreatedAfter", (double)(WORLD_T0 + 10) / 1000), 2, NULL, names);
    assert_string_equal(names, "bravo charlie ");
    auto_json json_t *configs = must("ListClusterSchedulerConfigs", &world_viewer, json_object());
    assert_int_equal(json_array_size(json_object_get(configs, "ClusterSchedulerConfigSummaries")), 0);
}

/* Newer ones come before the place that was reached, and one behind it goes. */
static void disturb(int page)
{
    char name[32];
    if (page > 2)
        return;
    snprintf(name, sizeof(name), "newer-%d", page);
    make(name);
    const struct service_governance_ref ref = {
        .kind = GOVERNANCE_KIND_COMPUTE_QUOTA, .cluster = "train", .name = page == 0 ? "delta" : "echo"};
    (void)service_governance_delete(&world.service, &world_admin, &ref, &world.problem);
}

static void test_a_list_that_changes_repeats_and_hides_nothing(void **state)
{
    static const char *const made[] = {"alpha", "bravo", "charlie", "delta", "echo"};
    char names[256];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(made); i++)
        make(made[i]);
    walk(json_object(), 1, disturb, names);
    assert_string_equal(names, "echo charlie bravo alpha ");
}

static void test_tokens_that_are_not_this_lists(void **state)
{
    static const struct {
        const char *by, *key;
    } cases[] = {
        {"", "x"}, {"", "1"}, {"", ".1"}, {"", "1.0"}, {"", "-1.1"}, {"Status", "Created"}, {"Status", "Created.x"}};
    char token[AWS_TOKEN_MAX], list[64];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *input = json_object();
        snprintf(list, sizeof(list), "ListComputeQuotas//%s/", cases[i].by);
        aws_token_encode(list, cases[i].key, token);
        json_put_text(input, "SortBy", cases[i].by);
        json_put_text(input, "NextToken", token);
        refused("ListComputeQuotas", &world_viewer, input, AWS_ERROR_VALIDATION);
    }
    refused("ListTags", &world_viewer, json_pack("{s:s, s:s}", "ResourceArn", cluster_arn, "NextToken", token),
            AWS_ERROR_VALIDATION);
}

/* --- tags --------------------------------------------------------------------------------------------- */

static void test_tags_of_everything_that_carries_them(void **state)
{
    (void)state;
    auto_json json_t *config = must("CreateClusterSchedulerConfig", &world_admin, config_input("{}"));
    auto_json json_t *quota = must("CreateComputeQuota", &world_admin, quota_input("a", "{}"));
    const char *const arns[] = {cluster_arn, text_at(config, "ClusterSchedulerConfigArn"),
                                text_at(quota, "ComputeQuotaArn")};
    for (size_t i = 0; i < ARRAY_LEN(arns); i++) {
        auto_json json_t *added = must("AddTags", &world_operator,
                                       json_pack("{s:s, s:[{s:s, s:s}, {s:s, s:s}]}", "ResourceArn", arns[i], "Tags",
                                                 "Key", "b", "Value", "2", "Key", "a", "Value", ""));
        auto_json json_t *again =
            must("AddTags", &world_operator,
                 json_pack("{s:s, s:[{s:s, s:s}]}", "ResourceArn", arns[i], "Tags", "Key", "b", "Value", "3"));
        auto_json json_t *wanted = parse("[{\"Key\":\"a\",\"Value\":\"\"},{\"Key\":\"b\",\"Value\":\"3\"}]");
        assert_true(json_equal(json_object_get(again, "Tags"), wanted));
        auto_json json_t *nothing =
            must("AddTags", &world_operator, json_pack("{s:s, s:[]}", "ResourceArn", arns[i], "Tags"));
        refused("DeleteTags", &world_operator, json_pack("{s:s, s:[s]}", "ResourceArn", arns[i], "TagKeys", "a"),
                AWS_ERROR_ACCESS_DENIED);
        auto_json json_t *gone = must("DeleteTags", &world_admin,
                                      json_pack("{s:s, s:[s, s]}", "ResourceArn", arns[i], "TagKeys", "a", "none"));
        auto_json json_t *left =
            must("ListTags", &world_viewer, json_pack("{s:s, s:i}", "ResourceArn", arns[i], "MaxResults", 50));
        assert_int_equal(json_array_size(json_object_get(left, "Tags")), 1);
        assert_null(json_object_get(left, "NextToken"));
    }
}

static void test_arns_that_carry_none(void **state)
{
    static const char *const arns[] = {
        "arn:aws:sagemaker:us-west-2:000000000000:cluster/aaaaaaaaaaaa",
        "arn:aws:sagemaker:us-west-2:000000000000:cluster/"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "arn:aws:sagemaker:us-west-2:000000000000:compute-quota/aaaaaaaaaaaa",
        "arn:aws:sagemaker:us-west-2:000000000000:compute-quotas/aaaaaaaaaaaa",
        "arn:aws:sagemaker:us-west-2:000000000000:cluster-scheduler-config/",
        "arn:aws:sagemaker:us-west-2:000000000000:training-plan/x",
        "arn:aws:sagemaker:us-west-2:123456789012:cluster/aaaaaaaaaaaa",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(arns); i++) {
        refused("ListTags", &world_viewer, json_pack("{s:s}", "ResourceArn", arns[i]), AWS_ERROR_RESOURCE_NOT_FOUND);
        refused("AddTags", &world_admin, json_pack("{s:s, s:[]}", "ResourceArn", arns[i], "Tags"),
                AWS_ERROR_RESOURCE_NOT_FOUND);
        refused("DeleteTags", &world_admin, json_pack("{s:s, s:[s]}", "ResourceArn", arns[i], "TagKeys", "a"),
                AWS_ERROR_RESOURCE_NOT_FOUND);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_full_scheduler_config),
        TEST(test_a_region_that_its_pattern_refuses),
        TEST(test_versions_of_a_quota),
        TEST(test_what_is_refused),
        TEST(test_a_cluster_has_so_many_quotas_and_no_more),
        TEST(test_lists),
        TEST(test_a_list_that_changes_repeats_and_hides_nothing),
        TEST(test_tokens_that_are_not_this_lists),
        TEST(test_tags_of_everything_that_carries_them),
        TEST(test_arns_that_carry_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
