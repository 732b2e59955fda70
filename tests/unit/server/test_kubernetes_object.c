/*
 * What is read of a kubeconfig, a credential plugin, nodes, pods and the lines of a watch, and what a cordon writes. The real thing is in
 * tests/e2e/kubernetes/.
 */
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/kubernetes/cache.h"
#include "server/scheduler/kubernetes/kubeconfig.h"
#include "server/scheduler/kubernetes/object.h"
#include "server/scheduler/kubernetes/private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define KUBECONFIG                                                                                               \
    "apiVersion: v1\nkind: Config\ncurrent-context: a\n"                                                         \
    "clusters:\n- {name: one, cluster: {server: \"https://k8s.lab:6443/k8s/c-1/\", certificate-authority-data: " \
    "UEVN}}\n"                                                                                                   \
    "- {name: two, cluster: {server: \"https://10.0.0.1\", certificate-authority: ca.pem, proxy-url: "           \
    "\"http://proxy:3128\"}}\n"                                                                                  \
    "users:\n- {name: u, user: {token: t}}\n"                                                                    \
    "- {name: cert, user: {client-certificate: c.pem, client-key-data: S0VZ}}\n"                                 \
    "- {name: eks, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws, args: [eks, "   \
    "get-token], env: [{name: AWS_PROFILE, value: p}]}}}\n"                                                      \
    "contexts:\n- {name: a, context: {cluster: one, user: u}}\n"                                                 \
    "- {name: b, context: {cluster: two, user: cert}}\n- {name: c, context: {cluster: one, user: eks}}\n"

static char error[JSON_ERROR_MAX];

static int parse(const char *text, const char *context, struct kube_access *ret_access)
{
    return kubeconfig_parse(text, strlen(text), "/etc/kube", context, ret_access, error);
}

static void test_kubeconfig(void **state)
{
    (void)state;
    struct kube_access access;
    assert_int_equal(parse(KUBECONFIG, NULL, &access), 0);
    assert_string_equal(access.server, "https://k8s.lab:6443");
    assert_string_equal(access.prefix, "/k8s/c-1");
    assert_string_equal(access.ca.data, "PEM");
    assert_string_equal(access.token, "t");
    kube_access_free(&access);
    assert_int_equal(parse(KUBECONFIG, "b", &access), 0);
    assert_string_equal(access.ca.file, "/etc/kube/ca.pem");
    assert_string_equal(access.certificate.file, "/etc/kube/c.pem");
    assert_string_equal(access.key.data, "KEY");
    assert_string_equal(access.proxy, "http://proxy:3128");
    assert_null(access.token);
    kube_access_free(&access);
    assert_int_equal(parse(KUBECONFIG, "c", &access), 0);
    assert_string_equal(access.exec[0], "aws");
    assert_string_equal(access.exec[2], "get-token");
    assert_string_equal(access.exec_env[0], "AWS_PROFILE=p");
    kube_access_free(&access);
}

static void test_kubeconfig_refused(void **state)
{
    (void)state;
#define ONE(cluster, user)                                                                                      \
    "current-context: a\nclusters: [{name: c, cluster: {" cluster "}}]\nusers: [{name: u, user: {" user "}}]\n" \
    "contexts: [{name: a, context: {cluster: c, user: u}}]\n"
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "mapping"},
        {"clusters: []", "current-context"},
        {"current-context: z", "no such context"},
        {ONE("", ""), "server"},
        {ONE("server: \"http://k8s.lab:8080\"", "token: t"), "http"},
        {ONE("server: \"https://a\", insecure-skip-tls-verify: true", "token: t"), "insecure-skip-tls-verify"},
        {ONE("server: \"https://a\", tls-server-name: b", "token: t"), "tls-server-name"},
        {ONE("server: \"https://a/x?y\"", "token: t"), "characters"},
        {ONE("server: \"https://a\", proxy-url: \"ftp://b\"", "token: t"), "proxy-url"},
        {ONE("server: \"https://a\", proxy-url: \"http://\"", "token: t"), "proxy-url"},
        {ONE("server: \"https://a\", certificate-authority-data: \"%%\"", "token: t"), "base 64"},
        {ONE("server: \"https://a\", certificate-authority-data: QQBC", "token: t"), "base 64"},
        {ONE("server: \"https://a\"", "username: u, password: p"), "1.19"},
        {ONE("server: \"https://a\"", "auth-provider: {name: gcp}"), "1.26"},
        {ONE("server: \"https://a\"", "client-certificate-data: UEVN"), "go together"},
        {ONE("server: \"https://a\"", "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}"),
         "v1beta1"},
        {ONE("server: \"https://a\"", "exec: {apiVersion: client.authentication.k8s.io/v1}"), "command"},
        {ONE("server: \"https://a\"",
             "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always}"),
         "asked"},
        {ONE("server: \"https://a\"", "token: \"a\\nb\""), "line break"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kube_access access = {0};
        assert_int_equal(parse(cases[i].text, NULL, &access), STATUS_INVALID);
        if (strstr(error, cases[i].says) == NULL)
            fail_msg("case %zu: %s", i, error);
    }
}

static void test_in_cluster(void **state)
{
    (void)state;
    struct kube_access access;
    assert_int_equal(kubeconfig_in_cluster("/sa", "fd00::1", "443", &access, error), 0);
    assert_string_equal(access.server, "https://[fd00::1]:443");
    assert_string_equal(access.token_file, "/sa/token");
    assert_string_equal(access.ca.file, "/sa/ca.crt");
    kube_access_free(&access);
    assert_int_equal(kubeconfig_in_cluster("/sa", NULL, "443", &access, error), STATUS_INVALID);
}

static void test_exec_credential(void **state)
{
    (void)state;
    static const char good[] = "{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"k8s-aws-v1.x\","
                               "\"expirationTimestamp\":\"2026-01-01T00:00:00Z\"}}";
    static const char *const bad[] = {
        "",
        "{}",
        "{\"kind\":\"ExecCredential\"}",
        "{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"a b\"}}",
        "{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}}",
        "{\"kind\":\"Other\",\"status\":{\"token\":\"t\"}}"};
    char *token = NULL;
    int64_t until = 0;
    assert_int_equal(kube_exec_credential(good, strlen(good), &token, &until, error), 0);
    assert_string_equal(token, "k8s-aws-v1.x");
    assert_true(until == INT64_C(1767225600000));
    free(token);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(kube_exec_credential(bad[i], strlen(bad[i]), &token, &until, error), STATUS_INVALID);
}

static json_t *json_of(const char *text)
{
    json_t *json = NULL;
    assert_int_equal(json_parse(text, strlen(text), strlen(text), &json, error), 0);
    return json;
}

static struct kube_node node_of(const char *text)
{
    struct kube_node node;
    auto_json json_t *json = json_of(text);
    assert_int_equal(kube_node_read(json, &node), 0);
    return node;
}

#define NODE(metadata, spec, status)                                                                     \
    "{\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"7\"" metadata "},\"spec\":{" spec \
    "},\"status\":{" status "}}"
#define HEALTH(value) ",\"labels\":{\"" KUBE_HEALTH_LABEL "\":\"" value "\"}"
#define OURS(text) ",\"annotations\":{\"" KUBE_CORDON_ANNOTATION "\":\"" text "\"}"

static void test_node(void **state)
{
    (void)state;
    struct kube_node node = node_of(NODE(",\"labels\":{\"holdfast/node\":\"gpu-1\",\"eks.amazonaws.com/"
                                         "nodegroup\":\"workers\",\"topology.k8s.aws/network-node-layer-3\":\"nn-3\"}",
                                         "\"providerID\":\"aws:///us-west-2a/i-0abc\"",
                                         "\"capacity\":{\"cpu\":\"96\",\"memory\":\"2097152Ki\",\"nvidia.com/"
                                         "gpu\":\"8\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],"
                                         "\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.0.0.9\"},{\"type\":"
                                         "\"Hostname\",\"address\":\"h\"}]"));
    assert_string_equal(node.object, "n");
    assert_string_equal(node.name, "gpu-1");
    assert_string_equal(node.group, "workers");
    assert_string_equal(node.instance, "i-0abc");
    assert_string_equal(node.layers[2], "nn-3");
    assert_string_equal(node.gres, "nvidia.com/gpu:8");
    assert_string_equal(node.address, "10.0.0.9");
    assert_true(node.ready && node.cpus == 96 && node.memory_mib == 2048 && node.version == 7);
    assert_false(kube_node_is_cordoned(&node));
}

/* Of whom a cordon is, and what it asks for. */
#define SAYS_ONLY "{\\\"note\\\":\\\"xid.79\\\",\\\"labelOnly\\\":true}"

static void test_cordons(void **state)
{
    (void)state;
    static const struct {
        const char *node;
        bool cordoned, lifted;
        const char *reason;
        enum scheduler_request request;
    } cases[] = {
        {NODE("", "", ""), false, false, "", SCHEDULER_REQUEST_NONE},
        {NODE("", "\"unschedulable\":true", ""), true, false, "cordoned", SCHEDULER_REQUEST_NONE},
        {NODE(HEALTH("Schedulable"), "", ""), false, false, "", SCHEDULER_REQUEST_NONE},
        {NODE(HEALTH("UnschedulablePendingReboot"), "", ""), true, false, "UnschedulablePendingReboot",
         SCHEDULER_REQUEST_REBOOT},
        {NODE(HEALTH("UnschedulablePendingReplacement"), "\"unschedulable\":true", ""), true, false,
         "UnschedulablePendingReplacement", SCHEDULER_REQUEST_REPLACE},
        {NODE(HEALTH("unschedulablePendingReboot"), "", ""), true, false, "unschedulablePendingReboot",
         SCHEDULER_REQUEST_NEAR_MISS},
        {NODE(HEALTH("Unschedulable") OURS("{\\\"note\\\":\\\"xid.79\\\"}"), "\"unschedulable\":true", ""), true, false,
         "holdfast: xid.79", SCHEDULER_REQUEST_NONE},
        {NODE(HEALTH("Unschedulable") OURS("{\\\"note\\\":\\\"xid.79\\\"}"), "", ""), false, true, "",
         SCHEDULER_REQUEST_NONE},
        {NODE(HEALTH("Unschedulable") OURS(SAYS_ONLY), "", ""), true, false, "holdfast: xid.79",
         SCHEDULER_REQUEST_NONE},
        {NODE(HEALTH("Schedulable") OURS(SAYS_ONLY), "", ""), false, true, "", SCHEDULER_REQUEST_NONE},
        {NODE(HEALTH("Unschedulable") OURS("not JSON"), "\"unschedulable\":true", ""), true, false,
         "holdfast: ", SCHEDULER_REQUEST_NONE},
        {NODE("", "\"taints\":[{\"key\":\"ToBeDeletedByClusterAutoscaler\",\"effect\":\"NoSchedule\"}]", ""), true,
         false, "taint ToBeDeletedByClusterAutoscaler", SCHEDULER_REQUEST_NONE},
        {NODE("", "\"taints\":[{\"key\":\"nvidia.com/gpu\",\"effect\":\"NoSchedule\"}]", ""), false, false, "",
         SCHEDULER_REQUEST_NONE},
        {NODE("", "\"taints\":[{\"key\":\"" KUBE_HEALTH_LABEL "\",\"effect\":\"NoSchedule\"}]", ""), false, false, "",
         SCHEDULER_REQUEST_NONE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kube_node node = node_of(cases[i].node);
        char reason[REASON_MAX_BYTES];
        kube_node_reason(&node, reason);
        if (kube_node_is_cordoned(&node) != cases[i].cordoned || kube_node_is_lifted(&node) != cases[i].lifted ||
            strcmp(reason, cases[i].reason) != 0 || kube_health_request(node.health) != cases[i].request)
            fail_msg("case %zu: %d %d \"%s\"", i, kube_node_is_cordoned(&node), kube_node_is_lifted(&node), reason);
    }
}

static void test_patches(void **state)
{
    (void)state;
    auto_json json_t *json = json_of(
        NODE("",
             "\"unschedulable\":true,\"taints\":[{\"key\":\"a\",\"effect\":\"NoExecute\"},{\"key\":\"" KUBE_HEALTH_LABEL
             "\",\"effect\":\"NoSchedule\"}]",
             ""));
    struct kube_node node;
    assert_int_equal(kube_node_read(json, &node), 0);
    auto_json json_t *cordon =
        kube_cordon_patch(json, &node, &(struct scheduler_owner){.request = SCHEDULER_REQUEST_REBOOT});
    autofree char *text = json_dumps(cordon, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(
        text, "{\"metadata\":{\"annotations\":{\"holdfast/"
              "cordon\":\"{\\\"request\\\":\\\"reboot\\\",\\\"cordonedBefore\\\":true}\",\"holdfast/hint\":null},"
              "\"labels\":{\"sagemaker.amazonaws.com/"
              "node-health-status\":\"UnschedulablePendingReboot\"},\"resourceVersion\":\"7\"},"
              "\"spec\":{\"taints\":[{\"effect\":\"NoExecute\",\"key\":\"a\"},{\"effect\":\"NoSchedule\",\"key\":"
              "\"sagemaker.amazonaws.com/node-health-status\",\"value\":\"Unschedulable\"}],\"unschedulable\":true}}");
    node.cordoned_before = true;
    auto_json json_t *stays = kube_uncordon_patch(json, &node);
    assert_null(json_object_get(json_object_get(stays, "spec"), "unschedulable"));
    assert_int_equal(json_array_size(json_object_get(json_object_get(stays, "spec"), "taints")), 1);
    node.cordoned_before = false;
    auto_json json_t *goes = kube_uncordon_patch(json, &node);
    assert_true(json_is_null(json_object_get(json_object_get(goes, "spec"), "unschedulable")));
}

/* A second try, after a crash or a refusal, adds nothing: the server would refuse a taint that is there twice. */
static void test_out_of_service_is_said_once(void **state)
{
    (void)state;
    auto_json json_t *json = json_of(NODE("", "\"taints\":[{\"key\":\"a\",\"effect\":\"NoExecute\"}]", ""));
    auto_json json_t *patch = kube_out_of_service_patch(json);
    json_t *spec = json_object_get(patch, "spec");
    assert_int_equal(json_array_size(json_object_get(spec, "taints")), 2);
    json_object_set(json, "spec", spec);
    assert_null(kube_out_of_service_patch(json));
}

/* With NodeRecovery None a label says it; our own cordon of before goes, and a person's stays. */
static void test_a_label_alone(void **state)
{
    (void)state;
    static const struct scheduler_owner owner = {.note = "xid.79", .says_only = true};
    static const struct {
        const char *node, *spec;
    } cases[] = {
        {NODE("", "", ""), "{}"},
        {NODE("", "\"unschedulable\":true", ""), "{}"},
        {NODE(HEALTH("Unschedulable") OURS("{\\\"note\\\":\\\"x\\\"}"), "\"unschedulable\":true", ""),
         "{\"taints\":null,\"unschedulable\":null}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_json json_t *json = json_of(cases[i].node);
        struct kube_node node;
        assert_int_equal(kube_node_read(json, &node), 0);
        auto_json json_t *patch = kube_cordon_patch(json, &node, &owner);
        autofree char *spec = json_dumps(json_object_get(patch, "spec"), JSON_COMPACT | JSON_SORT_KEYS);
        assert_string_equal(spec, cases[i].spec);
        assert_string_equal(kube_text(kube_at(patch, "metadata", "annotations"), KUBE_CORDON_ANNOTATION),
                            "{\"note\":\"xid.79\",\"labelOnly\":true}");
    }
    const struct kube_node both = node_of(NODE(HEALTH("Unschedulable") OURS(SAYS_ONLY), "\"unschedulable\":true", ""));
    assert_string_equal(both.external, "cordoned");
    assert_true(both.cordoned_before);
}

static struct scheduler_fault fault(const char *code, bool replaces, int64_t at)
{
    struct scheduler_fault one = {.replaces = replaces, .at = at};
    text_copy_cut(one.code, sizeof(one.code), code);
    text_copy_cut(one.message, sizeof(one.message), "a line");
    return one;
}

static const char *patched(const json_t *patch, const char *part, const char *key)
{
    return kube_text(kube_at(patch, "metadata", part), key);
}

static void test_faults(void **state)
{
    static const char *const codes[] = {"xid.79", "xid.48", "dcgm.nvlink-down", "efa.device.gone", "...", "xid.79"};
    struct scheduler_faults faults = {.count = ARRAY_LEN(codes)};
    char reason[KUBE_WORD_MAX_BYTES];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        faults.list[i] = fault(codes[i], i == 1, (int64_t)(i + 1) * 1000);
    auto_json json_t *json = json_loads(
        "{\"metadata\":{\"resourceVersion\":\"7\",\"annotations\":{\"sagemaker.amazonaws.com/"
        "fault-details\":\"broken\","
        "\"holdfast/fault-types\":\"NeuronErrorReboot\"}},\"status\":{\"conditions\":["
        "{\"type\":\"NeuronErrorReboot\",\"status\":\"True\"},{\"type\":\"EfaErrorReboot\",\"status\":\"True\"},"
        "{\"type\":\"NodeErrorTerminate\",\"status\":\"True\"}]}}",
        0, NULL);
    auto_json json_t *patch = kube_faults_patch(json, &faults);
    assert_string_equal(patched(patch, "labels", "sagemaker.amazonaws.com/fault-types"),
                        "NvidiaErrorReboot_NvidiaErrorTerminate_EfaErrorReboot");
    assert_string_equal(patched(patch, "labels", "sagemaker.amazonaws.com/fault-reasons"),
                        "NvidiaGPUUnhealthy_XidHardwareFailure_DcgmNvlinkDown_Unknown"); /* one has no room */
    auto_json json_t *details =
        json_loads(patched(patch, "annotations", "sagemaker.amazonaws.com/fault-details"), 0, NULL);
    assert_int_equal(json_array_size(details), ARRAY_LEN(codes));
    kube_fault_reason(&faults.list[3], reason);
    assert_string_equal(reason, "EfaDeviceGone");
    auto_json json_t *conditions = kube_faults_conditions(json, &faults);
    autofree char *text = json_dumps(kube_at(conditions, "status", "conditions"), JSON_COMPACT);
    assert_int_equal(json_array_size(kube_at(conditions, "status", "conditions")), 4);
    assert_non_null(strstr(text, "{\"type\":\"NeuronErrorReboot\",\"status\":\"False\""));
    assert_null(strstr(text, "NodeErrorTerminate")); /* somebody else's */
    assert_null(strstr(text, "EfaErrorReboot"));     /* it is True */
    faults.count = 0;
    auto_json json_t *over = kube_faults_patch(json, &faults);
    assert_true(
        json_is_null(json_object_get(kube_at(over, "metadata", "labels"), "sagemaker.amazonaws.com/fault-types")));
    assert_null(json_object_get(kube_at(over, "metadata", "annotations"), "sagemaker.amazonaws.com/fault-details"));
}

static void test_the_last_20_faults_are_kept(void **state)
{
    struct scheduler_faults faults = {.count = 1};
    auto_json json_t *json = json_pack("{s:{s:s, s:{}}}", "metadata", "resourceVersion", "7", "annotations");
    (void)state;
    for (int i = 0; i < 25; i++) {
        faults.list[0] = fault("xid.79", false, (i + 1) * 1000);
        auto_json json_t *patch = kube_faults_patch(json, &faults);
        json_object_set_new(json_object_get(json_object_get(json, "metadata"), "annotations"),
                            "sagemaker.amazonaws.com/fault-details",
                            json_string(patched(patch, "annotations", "sagemaker.amazonaws.com/fault-details")));
    }
    auto_json json_t *details =
        json_loads(patched(json, "annotations", "sagemaker.amazonaws.com/fault-details"), 0, NULL);
    assert_int_equal(json_array_size(details), 20);
    assert_non_null(strstr(kube_text(json_array_get(details, 19), "timestamp"), "00:00:25"));
}

/* --- labels and taints -------------------------------------------------------------------------- */

#define WANT(labels, taints) "{\"labels\":{" labels "},\"taints\":[" taints "]}"
#define TAINT(key, value, effect) "{\"key\":\"" key "\",\"value\":\"" value "\",\"effect\":\"" effect "\"}"
#define LABELS(labels) ",\"labels\":{" labels "}"
#define SET(text) ",\"annotations\":{\"" KUBE_GROUP_ANNOTATION "\":\"" text "\"}"

static void test_group_labels(void **state)
{
    (void)state;
    static const struct {
        const char *says, *node, *people, *ours, *patch, *current, *conflict;
    } cases[] = {
        {"what is missing is set, and is ours", NODE("", "", ""), WANT("\"team\":\"a\"", TAINT("x", "1", "NoSchedule")),
         WANT("\"g\":\"w\"", ""),
         "{\"metadata\":{\"resourceVersion\":\"7\",\"labels\":{\"team\":\"a\",\"g\":\"w\"},\"annotations\":{\"holdfast/"
         "group\":\"{\\\"labels\\\":{\\\"g\\\":\\\"w\\\",\\\"team\\\":\\\"a\\\"},\\\"taints\\\":[{\\\"effect\\\":"
         "\\\"NoSchedule\\\",\\\"key\\\":\\\"x\\\",\\\"value\\\":\\\"1\\\"}]}\"}},\"spec\":{\"taints\":[{\"key\":\"x\","
         "\"value\":\"1\",\"effect\":\"NoSchedule\"}]}}",
         WANT("\"team\":\"a\"", TAINT("x", "1", "NoSchedule")), ""},
        {"what was there is not ours, and stays when nobody wants it any more",
         NODE(LABELS("\"team\":\"a\""), "\"taints\":[" TAINT("x", "1", "NoSchedule") "]", ""),
         WANT("\"team\":\"a\"", TAINT("x", "1", "NoSchedule")), WANT("", ""), NULL,
         WANT("\"team\":\"a\"", TAINT("x", "1", "NoSchedule")), ""},
        {"somebody else's value stays, and is told of people's labels only",
         NODE(LABELS("\"team\":\"b\",\"g\":\"v\""), "\"taints\":[" TAINT("x", "2", "NoSchedule") "]", ""),
         WANT("\"team\":\"a\"", TAINT("x", "1", "NoSchedule")), WANT("\"g\":\"w\"", ""), NULL,
         WANT("\"team\":\"b\"", TAINT("x", "2", "NoSchedule")), "label team is set to \"b\" by somebody else"},
        {"people's label that was changed is set again, ours is given up",
         NODE(LABELS("\"team\":\"b\",\"g\":\"v\"") SET("{\\\"labels\\\":{\\\"g\\\":\\\"w\\\",\\\"team\\\":\\\"a\\\"}}"),
              "", ""),
         WANT("\"team\":\"a\"", ""), WANT("\"g\":\"w\"", ""),
         "{\"metadata\":{\"resourceVersion\":\"7\",\"labels\":{\"team\":\"a\"},\"annotations\":{\"holdfast/"
         "group\":\"{\\\"labels"
         "\\\":{\\\"team\\\":\\\"a\\\"}}\"}}}",
         WANT("\"team\":\"a\"", ""), ""},
        {"what is wanted no more goes, and nothing of others",
         NODE(LABELS("\"team\":\"a\",\"mine\":\"1\"") SET("{\\\"labels\\\":{\\\"team\\\":\\\"a\\\"},\\\"taints\\\":[{"
                                                          "\\\"effect\\\":\\\"NoSchedule\\\",\\\"key\\\":"
                                                          "\\\"x\\\",\\\"value\\\":\\\"1\\\"}]}"),
              "\"taints\":[" TAINT("y", "", "NoExecute") "," TAINT("x", "1", "NoSchedule") "]", ""),
         WANT("", ""), WANT("", ""),
         "{\"metadata\":{\"resourceVersion\":\"7\",\"labels\":{\"team\":null},\"annotations\":{\"holdfast/"
         "group\":null}},\"spec\":{"
         "\"taints\":[{\"key\":\"y\",\"value\":\"\",\"effect\":\"NoExecute\"}]}}",
         "", ""},
        {"an annotation that cannot be read owns nothing", NODE(LABELS("\"team\":\"a\"") SET("[1"), "", ""),
         WANT("", ""), WANT("", ""),
         "{\"metadata\":{\"resourceVersion\":\"7\",\"labels\":{},\"annotations\":{\"holdfast/group\":null}}}", "", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_json json_t *json = json_of(cases[i].node), *people = json_of(cases[i].people),
                         *ours = json_of(cases[i].ours);
        const struct kube_wanted wanted = {.people = people, .ours = ours};
        struct kube_carried carried;
        auto_json json_t *patch = kube_labels_patch(json, &wanted, &carried);
        auto_json json_t *expected = cases[i].patch == NULL ? NULL : json_of(cases[i].patch);
        autofree char *shown = patch == NULL ? own_strdup("nothing") : json_dumps(patch, JSON_COMPACT);
        if ((patch == NULL) != (expected == NULL) || (patch != NULL && !json_equal(patch, expected)))
            fail_msg("%s: %s", cases[i].says, shown);
        if (strcmp(carried.current, cases[i].current) != 0 || strcmp(carried.conflict, cases[i].conflict) != 0)
            fail_msg("%s: %s, %s", cases[i].says, carried.current, carried.conflict);
        free(carried.current);
    }
}

static void test_labels_of_a_node_are_legal(void **state)
{
    (void)state;
    static const struct labels_group group = {.cluster = "prod", .name = "workers"};
    struct labels_node node = {.name = "gpu-1", .test = LABELS_TEST_FAILED};
    snprintf(node.domains[TOPOLOGY_LEVEL_SWITCH], sizeof(node.domains[0]), "-/sw 1 (row:2)/");
    snprintf(node.domains[TOPOLOGY_LEVEL_RACK], sizeof(node.domains[0]), "---");
    auto_json json_t *labels = kube_labels_ours(&group, &node);
    auto_json json_t *expected =
        json_of(WANT("\"" KUBE_HYPERPOD "compute-type\":\"hyperpod\",\"" KUBE_HYPERPOD
                     "cluster-name\":\"prod\",\"" KUBE_HYPERPOD "deep-health-check-status\":\"Failed\","
                     "\"" KUBE_GROUP_LABEL "\":\"workers\",\"topology.k8s.aws/network-node-layer-3\":\"sw-1--row-2\"",
                     ""));
    json_object_del(expected, "taints");
    autofree char *shown = json_dumps(labels, JSON_COMPACT);
    if (!json_equal(labels, expected))
        fail_msg("%s", shown);
}

/* What we wrote says nothing of the node: it would come back as if the scheduler had said it. */
static void test_labels_of_ours_are_not_read(void **state)
{
    (void)state;
#define TWO                                                               \
    "\"topology.k8s.aws/network-node-layer-3\":\"s\",\"" KUBE_GROUP_LABEL \
    "\":\"w\",\"cloud.google.com/gke-nodepool\":\"p\""
    const struct kube_node others = node_of(NODE(LABELS(TWO), "", ""));
    const struct kube_node ours = node_of(NODE(
        LABELS(TWO) SET("{\\\"labels\\\":{\\\"topology.k8s.aws/network-node-layer-3\\\":\\\"s\\\",\\\"" KUBE_GROUP_LABEL
                        "\\\":\\\"w\\\"}}"),
        "", ""));
    assert_string_equal(others.layers[2], "s");
    assert_string_equal(others.group, "w");
    assert_string_equal(ours.layers[2], "");
    assert_string_equal(ours.group, "p");
    assert_true(others.marks != ours.marks);
}

static void test_pods(void **state)
{
    (void)state;
#define POD(metadata, phase)                                                   \
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"s\",\"uid\":\"1\"" metadata \
    "},\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"" phase "\"}}"
    static const struct {
        const char *pod;
        bool counts;
    } cases[] = {
        {POD("", "Running"), true},
        {POD("", "Succeeded"), false},
        {POD("", "Failed"), false},
        {POD(",\"ownerReferences\":[{\"kind\":\"DaemonSet\",\"name\":\"d\",\"controller\":true}]", "Running"), false},
        {POD(",\"ownerReferences\":[{\"kind\":\"DaemonSet\",\"name\":\"d\"},{\"kind\":\"Job\",\"name\":\"j\","
             "\"controller\":true}]",
             "Running"),
         true},
        {POD(",\"annotations\":{\"kubernetes.io/config.mirror\":\"x\"}", "Running"), false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kube_pod pod;
        auto_json json_t *json = json_of(cases[i].pod);
        assert_int_equal(kube_pod_read(json, &pod), 0);
        if (kube_pod_counts(&pod) != cases[i].counts)
            fail_msg("case %zu", i);
    }
    static const struct {
        const char *pod, *group;
    } groups[] = {
        {POD(",\"labels\":{\"jobset.sigs.k8s.io/"
             "jobset-name\":\"train\"},\"ownerReferences\":[{\"kind\":\"Job\",\"name\":"
             "\"train-workers-0\",\"controller\":true}]",
             "Running"),
         "train"},
        {POD(",\"labels\":{\"leaderworkerset.sigs.k8s.io/"
             "name\":\"serve\"},\"ownerReferences\":[{\"kind\":\"StatefulSet\","
             "\"name\":\"serve-0\",\"controller\":true}]",
             "Running"),
         "serve"},
        {POD(",\"labels\":{\"jobset.sigs.k8s.io/jobset-name\":\"train\"}", "Running"), ""}, /* anybody's label */
    };
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        struct kube_pod pod;
        auto_json json_t *json = json_of(groups[i].pod);
        assert_int_equal(kube_pod_read(json, &pod), 0);
        assert_string_equal(pod.group, groups[i].group);
    }
    struct kube_pod pod;
    auto_json json_t *none = json_of("{\"metadata\":{\"name\":7}}");
    assert_int_equal(kube_pod_read(none, &pod), STATUS_BACKEND);
}

static void test_a_list_that_was_cut(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        bool whole;
    } cases[] = {{"{\"items\":[]}", true},
                 {"{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[]}", true},
                 {"{\"metadata\":{\"continue\":\"\"},\"items\":[]}", true},
                 {"{\"metadata\":{\"continue\":7},\"items\":[]}", true},
                 {"{\"metadata\":{\"continue\":\"abc\",\"remainingItemCount\":1},\"items\":[]}", false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_json json_t *json = json_of(cases[i].list);
        if (kube_list_is_whole(json) != cases[i].whole)
            fail_msg("case %zu", i);
    }
}

/* --- the lines of a watch ------------------------------------------------------------------------------------------- */

static void *keep_node(const json_t *object)
{
    struct kube_node *node = own_calloc(1, sizeof(*node));
    if (kube_node_read(object, node) == 0)
        return node;
    free(node);
    return NULL;
}

static uint64_t version_of(const void *kept)
{
    return ((const struct kube_node *)kept)->version;
}

static void count_node(const void *kept, void *arg)
{
    (void)kept;
    ++*(int *)arg;
}

static void test_watch_lines(void **state)
{
    (void)state;
    static const struct kube_cache_kind kind = {.path = "/x", .query = "", .read = keep_node, .version = version_of};
#define LINE(type, version)                                                                                        \
    "{\"type\":\"" type "\",\"object\":{\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"" version \
    "\"}}}"
    static const struct {
        const char *line;
        int status, count;
    } cases[] = {
        {LINE("ADDED", "5"), 0, 1},
        {LINE("MODIFIED", "4"), 0, 1},
        {LINE("BOOKMARK", "9"), 0, 1},
        {"{\"type\":\"ERROR\",\"object\":{\"code\":410,\"reason\":\"Expired\"}}", STATUS_STALE, 1},
        {"{\"type\":\"ERROR\",\"object\":{\"code\":500}}", STATUS_UNAVAILABLE, 1},
        {"{\"type\":\"ADDED\"}", STATUS_BACKEND, 1},
        {"[]", STATUS_BACKEND, 1},
        {"<html>", STATUS_BACKEND, 1},
        {LINE("DELETED", "10"), 0, 0},
    };
    struct kube_cache *cache = kube_cache_new_still(&kind);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int count = 0;
        assert_int_equal(kube_cache_line(cache, cases[i].line, strlen(cases[i].line)), cases[i].status);
        kube_cache_each(cache, count_node, &count);
        assert_int_equal(count, cases[i].count);
    }
    kube_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kubeconfig),
        cmocka_unit_test(test_kubeconfig_refused),
        cmocka_unit_test(test_in_cluster),
        cmocka_unit_test(test_exec_credential),
        cmocka_unit_test(test_node),
        cmocka_unit_test(test_cordons),
        cmocka_unit_test(test_patches),
        cmocka_unit_test(test_out_of_service_is_said_once),
        cmocka_unit_test(test_a_label_alone),
        cmocka_unit_test(test_group_labels),
        cmocka_unit_test(test_labels_of_a_node_are_legal),
        cmocka_unit_test(test_labels_of_ours_are_not_read),
        cmocka_unit_test(test_pods),
        cmocka_unit_test(test_a_list_that_was_cut),
        cmocka_unit_test(test_watch_lines),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_the_last_20_faults_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
