/* Quotas as Kueue's objects: amounts, what they leave, and what counts as already there; with hostile samples of what Kubernetes may show. */
#include "server/scheduler/kubernetes/kueue_object.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define P5 "ml.p5.48xlarge"
#define MARK "abcdefabcdef"

static struct kueue_instances instances;

static void add_node(const char *type, int64_t cpus, int64_t memory_mib, const char *gres)
{
    struct kube_node node = {.cpus = cpus, .memory_mib = memory_mib};
    text_copy_cut(node.type, sizeof(node.type), type);
    text_copy_cut(node.gres, sizeof(node.gres), gres);
    kueue_instances_add(&instances, &node);
}

static int set_up(void **state)
{
    (void)state;
    add_node(P5, 192, 2097152, "nvidia.com/gpu:8,vpc.amazonaws.com/efa:32");
    add_node(P5, 192, 2097152, "nvidia.com/gpu:8");
    add_node("ml.trn1.32xlarge", 128, 524288, "aws.amazon.com/neuron:16");
    add_node("ml.c5.large", 2, 4096, "vpc.amazonaws.com/efa:1");
    add_node("", 2, 4096, "nvidia.com/gpu:8"); /* of no type: no quota can name it */
    add_node("ml.odd", 1, 1, "nvidia.com/gpu:-3");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(instances.list);
    return 0;
}

static struct scheduler_amount amount_of(const char *type)
{
    struct scheduler_amount amount = {.nodes = -1, .accelerators = -1, .cpu_milli = -1, .memory_mib = -1, .slices = -1};
    text_copy_cut(amount.instance_type, sizeof(amount.instance_type), type);
    return amount;
}

static struct scheduler_rule rule_of(const struct scheduler_amount *amount)
{
    struct scheduler_rule rule = {.kind = GOVERNANCE_KIND_COMPUTE_QUOTA, .lends = true, .borrow_percent = -1};
    text_copy_cut(rule.team, sizeof(rule.team), "vision");
    rule.amounts[rule.amount_count++] = *amount;
    return rule;
}

static const struct kueue_resource *resource(const struct kueue_quota *quota, size_t flavor, const char *name)
{
    for (size_t i = 0; i < quota->flavors[flavor].count; i++)
        if (strcmp(quota->flavors[flavor].resources[i].name, name) == 0)
            return &quota->flavors[flavor].resources[i];
    fail_msg("%s is not there", name);
    return NULL;
}

static void check(const struct kueue_quota *quota, size_t flavor, const char *name, int64_t nominal, int64_t borrow)
{
    const struct kueue_resource *one = resource(quota, flavor, name);
    assert_int_equal(one->nominal, nominal);
    assert_int_equal(one->borrow, borrow);
}

static void test_what_is_not_named_follows(void **state)
{
    (void)state;
    static struct kueue_quota quota;
    char why[SCHEDULER_WHY_MAX] = "";
    struct scheduler_amount amount = amount_of(P5);
    amount.nodes = 3;
    struct scheduler_rule rule = rule_of(&amount);
    assert_int_equal(kueue_quota_make(&rule, &instances, &quota, why), 0);
    check(&quota, 0, "nvidia.com/gpu", 24, 12); /* half may be borrowed where nothing is said */
    check(&quota, 0, "cpu", 576000, 288000);
    check(&quota, 0, "memory", 6291456, 3145728);
    amount = amount_of(P5);
    amount.accelerators = 3;
    amount.memory_mib = 1024;
    rule = rule_of(&amount);
    rule.asked[SCHEDULER_PART_LENDING] = true;
    assert_int_equal(kueue_quota_make(&rule, &instances, &quota, why), 0);
    check(&quota, 0, "nvidia.com/gpu", 3, 0);
    check(&quota, 0, "cpu", 72000, 0);
    check(&quota, 0, "memory", 1024, 0);
    rule.borrows = true;
    rule.borrow_percent = 500;
    assert_int_equal(kueue_quota_make(&rule, &instances, &quota, why), 0);
    check(&quota, 0, "nvidia.com/gpu", 3, 15);
}

static void test_all_flavors_have_the_same_resources(void **state)
{
    (void)state;
    static struct kueue_quota quota;
    char why[SCHEDULER_WHY_MAX] = "";
    struct scheduler_amount amount = amount_of(P5), borrowed = amount_of("ml.c5.large");
    amount.nodes = 1;
    struct scheduler_rule rule = rule_of(&amount);
    rule.amounts[rule.amount_count] = amount_of("ml.trn1.32xlarge");
    rule.amounts[rule.amount_count++].accelerators = 4;
    borrowed.nodes = 2;
    rule.asked[SCHEDULER_PART_LENDING] = rule.borrows = true;
    rule.borrow_at_most[rule.borrow_count++] = borrowed;
    assert_int_equal(kueue_quota_make(&rule, &instances, &quota, why), 0);
    assert_int_equal(quota.count, 3);
    for (size_t i = 0; i < quota.count; i++) {
        assert_int_equal(quota.flavors[i].count, 4);
        for (size_t k = 0; k < 4; k++)
            assert_string_equal(quota.flavors[i].resources[k].name, quota.flavors[0].resources[k].name);
    }
    check(&quota, 1, "aws.amazon.com/neuron", 4, 0);
    check(&quota, 1, "nvidia.com/gpu", 0, 0);
    check(&quota, 2, "cpu", 0, 4000);
    static struct kueue_quota left;
    kueue_quota_leave(&left, &quota, &instances);
    check(&left, 0, "nvidia.com/gpu", 8, 0);
    check(&left, 1, "aws.amazon.com/neuron", 12, 0);
    kueue_quota_leave(&left, &quota, &instances);
    kueue_quota_leave(&left, &quota, &instances);
    check(&left, 0, "nvidia.com/gpu", 0, 0); /* more is given than there is: nothing is left, and never less */
}

static void test_a_size_that_is_not_known_is_said(void **state)
{
    (void)state;
    static struct kueue_quota quota;
    char why[SCHEDULER_WHY_MAX] = "";
    struct scheduler_amount amount = amount_of("ml.p6.none");
    amount.nodes = 1;
    struct scheduler_rule rule = rule_of(&amount);
    assert_int_equal(kueue_quota_make(&rule, &instances, &quota, why), STATUS_INVALID);
    assert_non_null(strstr(why, "no node with the label node.kubernetes.io/instance-type=ml.p6.none"));
    assert_int_equal(quota.count, 1); /* its flavor is named, so that what is there stays */
    rule.amounts[0] = amount_of(P5);
    text_copy_cut(rule.amounts[0].slice, sizeof(rule.amounts[0].slice), "1g.5gb");
    rule.amounts[0].slices = 7;
    assert_int_equal(kueue_quota_make(&rule, &instances, &quota, why), STATUS_INVALID);
    assert_non_null(strstr(why, "VCpu and MemoryInGiB"));
    rule.amounts[0].cpu_milli = 2500;
    rule.amounts[0].memory_mib = 4096;
    assert_int_equal(kueue_quota_make(&rule, &instances, &quota, why), 0);
    check(&quota, 0, "nvidia.com/mig-1g.5gb", 7, 3);
    check(&quota, 0, "cpu", 2500, 1250);
}

static void test_a_queue_is_recognized_by_what_it_means(void **state)
{
    (void)state;
    static struct kueue_quota quota;
    char why[SCHEDULER_WHY_MAX] = "";
    struct scheduler_amount amount = amount_of(P5);
    amount.nodes = 1;
    struct scheduler_rule rule = rule_of(&amount);
    assert_int_equal(kueue_quota_make(&rule, &instances, &quota, why), 0);
    const struct kueue_queue queue = {
        .team = "vision", .cohort = "hyperpod-x", .quota = &quota, .lends = true, .preempts = true, .weight = 60};
    auto_json json_t *wanted = kueue_cluster_queue("v1beta2", &queue, MARK), *there = json_deep_copy(wanted);
    assert_string_equal(kube_text(json_object_get(wanted, "metadata"), "name"), "hyperpod-ns-vision-clusterqueue");
    json_t *resources = json_object_get(
        json_array_get(
            json_object_get(json_array_get(json_object_get(json_object_get(there, "spec"), "resourceGroups"), 0),
                            "flavors"),
            0),
        "resources");
    json_t *memory = json_array_get(resources, 1);
    json_object_set_new(memory, "nominalQuota", json_string("2Ti")); /* Kueue writes it so */
    json_object_set_new(json_object_get(there, "spec"), "stopPolicy", json_string("None"));
    json_object_del(there, "kind");
    assert_true(kueue_holds(there, wanted));
    static const char *const others[] = {"1Ti", "", "2TiB", "-1", "1e", ".", "9999999999999999999999", "0x10", "2 Ti"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        json_object_set_new(memory, "nominalQuota", json_string(others[i]));
        assert_false(kueue_holds(there, wanted));
    }
    json_object_set_new(memory, "nominalQuota", json_array());
    assert_false(kueue_holds(there, wanted));
    json_object_set_new(memory, "nominalQuota", json_string("2Ti"));
    json_object_set_new(memory, "lendingLimit", json_string("0")); /* somebody's */
    assert_false(kueue_holds(there, wanted));
    json_object_set_new(there, "spec", json_integer(1));
    assert_false(kueue_holds(there, wanted));
    assert_false(kueue_holds(NULL, wanted));
}

static void test_older_api_and_lending(void **state)
{
    (void)state;
    static struct kueue_quota quota;
    const struct kueue_queue queue = {.team = KUEUE_IDLE, .cohort = "hyperpod-x", .quota = &quota, .weight = -1};
    quota.count = 0;
    auto_json json_t *object = kueue_cluster_queue("v1beta1", &queue, MARK);
    assert_string_equal(kube_text(json_object_get(object, "spec"), "cohort"), "hyperpod-x");
    assert_null(kube_at(object, "spec", "namespaceSelector")); /* nobody's jobs */
    assert_int_equal(json_array_size(kube_at(object, "spec", "resourceGroups")), 0);
    auto_json json_t *local = kueue_local_queue("v1beta2", "vision", MARK);
    assert_string_equal(kube_text(json_object_get(local, "metadata"), "namespace"), "hyperpod-ns-vision");
    const struct scheduler_class class = {.name = "prod", .weight = 100};
    auto_json json_t *priority = kueue_class("v1beta2", &class, MARK);
    assert_string_equal(kube_text(json_object_get(priority, "metadata"), "name"), "prod-priority");
}

static void test_what_kubernetes_shows(void **state)
{
    (void)state;
    static const struct {
        const char *text, *version;
    } groups[] = {{"{\"versions\":[{\"version\":\"v1beta1\"},{\"version\":\"v1beta2\"}]}", "v1beta2"},
                  {"{\"versions\":[{\"version\":\"v1beta1\"}]}", "v1beta1"},
                  {"{\"versions\":[{\"version\":\"v9\"},3]}", NULL},
                  {"{\"versions\":{}}", NULL},
                  {"[]", NULL}};
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        auto_json json_t *group = json_loads(groups[i].text, 0, NULL);
        const char *version = kueue_version(group);
        assert_true(groups[i].version == NULL ? version == NULL : text_equal(version, groups[i].version));
    }
    static const struct {
        const char *text;
        int active;
    } queues[] = {{"{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"True\"}]}}", 1},
                  {"{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":true}]}}", 0},
                  {"{\"status\":{\"conditions\":[7,{\"type\":3}]}}", -1},
                  {"{\"status\":{\"conditions\":\"Active\"}}", -1},
                  {"{\"status\":[]}", -1}};
    for (size_t i = 0; i < ARRAY_LEN(queues); i++) {
        auto_json json_t *queue = json_loads(queues[i].text, 0, NULL);
        const char *message;
        assert_int_equal(kueue_is_active(queue, &message), queues[i].active);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_named_follows),
        cmocka_unit_test(test_all_flavors_have_the_same_resources),
        cmocka_unit_test(test_a_size_that_is_not_known_is_said),
        cmocka_unit_test(test_a_queue_is_recognized_by_what_it_means),
        cmocka_unit_test(test_older_api_and_lending),
        cmocka_unit_test(test_what_kubernetes_shows),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
