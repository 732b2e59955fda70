/*
 * Each right of packaging/kubernetes/rbac-governance.yaml is taken away alone on a fake API server with a Kueue: what is asked for then
 * fails with a sentence that names the right, whatever else waits, and holds once the right is there. So a right that nothing needs fails
 * here, too. The real Kueue is tests/e2e/kubernetes/governance.test.mjs's.
 */
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "base/yaml.h"
#include "server/reconcile/keep/govern_rule.h"
#include "server/scheduler/governing.h"
#include "server/scheduler/kubernetes/kubernetes.h"
#include "tests/support/fake_server.h"
#include "tests/unit/server/kubernetes_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TIMEOUT_MS 20000
#define RIGHTS "packaging/kubernetes/rbac-governance.yaml"
#define P5 "ml.p5.48xlarge"
#define CONFIG_UID "abcdefabcdef"
#define QUOTA_UID "fedcbafedcba"
#define ROUNDS_MAX 6
#define NODE                                                                                                        \
    "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{\"metadata\":{\"name\":\"gpu-1\",\"uid\":\"n\","         \
    "\"resourceVersion\":\"5\",\"labels\":{\"node.kubernetes.io/instance-type\":\"" P5 "\"}},\"status\":{\"capac"   \
    "ity\":{\"cpu\":\"8\",\"memory\":\"32Gi\",\"nvidia.com/gpu\":\"8\"}}},{\"metadata\":{\"name\":\"gpu-2\",\"uid"  \
    "\":\"m\",\"resourceVersion\":\"6\",\"labels\":{\"node.kubernetes.io/instance-type\":\"" P5 "\"}},\"status\":{" \
    "\"capacity\":{\"cpu\":\"8\",\"memory\":\"32Gi\",\"nvidia.com/gpu\":\"8\"}}}]}"

struct right {
    const char *verb, *resource;
};

/* The server's thread and the test take turns: objects and missing change only between calls. */
struct kueue {
    struct fake_server *server;
    struct scheduler_driver driver;
    json_t *objects; /* "localqueues/hyperpod-ns-vision-localqueue": as it was sent */
    struct right missing;
    struct governance_held held[16];
    size_t held_count;
    bool off; /* the quota is switched off */
};

/* --- the server ----------------------------------------------------------------------------------------------------- */

/* Like Kueue's: a queue is active when its flavors are there. */
static json_t *shown(const struct kueue *k, const char *resource, const json_t *object)
{
    json_t *copy = json_deep_copy(object);
    bool active = json_object_get(k->objects, "resourceflavors/" P5) != NULL;
    if (strcmp(resource, "clusterqueues") == 0)
        json_object_set_new(copy, "status",
                            json_pack("{s:{s:i}, s:[{s:s, s:s, s:s}]}", "fairSharing", "weightedShare", 0, "conditions",
                                      "type", "Active", "status", active ? "True" : "False", "message",
                                      active ? "Can admit new workloads" : "references missing ResourceFlavor(s)"));
    return copy;
}

static void answer_list(const struct kueue *k, const char *resource, struct fake_answer *answer)
{
    auto_json json_t *items = json_array();
    const char *key;
    json_t *object;
    autofree char *prefix = own_printf("%s/", resource);
    json_object_foreach(k->objects, key, object)
    {
        if (text_starts_with(key, prefix))
            json_array_append_new(items, shown(k, resource, object));
    }
    auto_json json_t *list = json_pack("{s:{s:s}, s:O}", "metadata", "resourceVersion", "9", "items", items);
    autofree char *text = json_dumps(list, JSON_COMPACT);
    fake_answer_json(answer, k->server, 200, text);
}

static void answer_change(struct kueue *k, const char *verb, const char *resource, const char *name, const char *body,
                          struct fake_answer *answer)
{
    auto_json json_t *json = json_loads(body, 0, NULL);
    if (strcmp(verb, "create") == 0)
        name = json_string_value(json_object_get(json_object_get(json, "metadata"), "name"));
    autofree char *key = own_printf("%s/%s", resource, name);
    if (strcmp(verb, "delete") == 0) {
        json_object_del(k->objects, key);
    } else {
        json_object_set_new(json_object_get(json, "metadata"), "uid", json_string("u"));
        json_object_set(k->objects, key, json);
    }
    fake_answer_json(answer, k->server, 200, "{}");
}

static void answer_objects(struct kueue *k, const char *method, char *path, const char *body,
                           struct fake_answer *answer)
{
    static const char *const verbs[][2] = {
        {"GET", "list"}, {"POST", "create"}, {"PATCH", "patch"}, {"DELETE", "delete"}};
    const char *verb = "", *name = strrchr(path, '/') + 1, *resource = name;
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (strcmp(method, verbs[i][0]) == 0)
            verb = verbs[i][1];
    if (strcmp(verb, "patch") == 0 || strcmp(verb, "delete") == 0) {
        path[name - 1 - path] = '\0';
        resource = strrchr(path, '/') + 1;
    }
    if (k->missing.verb != NULL && strcmp(k->missing.verb, verb) == 0 && strcmp(k->missing.resource, resource) == 0) {
        autofree char *text = own_printf("{\"message\":\"%s '%s' is forbidden: User 'h' cannot %s resource '%s'\"}",
                                         resource, name, verb, resource);
        fake_answer_json(answer, k->server, 403, text);
    } else if (strcmp(verb, "list") == 0) {
        answer_list(k, resource, answer);
    } else {
        answer_change(k, verb, resource, name, body, answer);
    }
}

static void answer_request(const char *request, size_t len, struct fake_answer *answer, void *arg)
{
    struct kueue *k = arg;
    char method[16], path[512];
    (void)len;
    answer->close = true; /* the server has one connection at a time */
    if (strstr(request, "watch=true") != NULL) {
        answer->pieces[answer->count++] = "HTTP/1.1 200 X\r\nConnection: close\r\n\r\n";
        return;
    }
    assert_int_equal(sscanf(request, "%15s %511[^ ?]", method, path), 2);
    if (strcmp(path, "/apis/kueue.x-k8s.io") == 0)
        fake_answer_json(answer, k->server, 200, "{\"versions\":[{\"version\":\"v1beta2\"}]}");
    else if (strcmp(path, "/api/v1/nodes") == 0)
        fake_answer_json(answer, k->server, 200, NODE);
    else if (strcmp(path, "/api/v1/pods") == 0)
        fake_answer_json(answer, k->server, 200, "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[]}");
    else
        answer_objects(k, method, path, strstr(request, "\r\n\r\n") + 4, answer);
}

/* --- who asks ------------------------------------------------------------------------------------------------------- */

static void add_rules(const struct kueue *k, struct scheduler_governance *governance)
{
    struct scheduler_rule *rule = scheduler_governance_add(governance);
    rule->kind = GOVERNANCE_KIND_SCHEDULER_CONFIG;
    text_copy_cut(rule->uid, sizeof(rule->uid), CONFIG_UID);
    text_copy_cut(rule->classes[0].name, sizeof(rule->classes[0].name), "dev");
    rule->classes[0].weight = 70;
    rule->class_count = 1;
    rule->fair_share = rule->idle_sharing = true;
    rule->asked[SCHEDULER_PART_PRIORITY_CLASSES] = rule->asked[SCHEDULER_PART_FAIR_SHARE] =
        rule->asked[SCHEDULER_PART_IDLE_SHARING] = true;
    rule = scheduler_governance_add(governance);
    rule->kind = GOVERNANCE_KIND_COMPUTE_QUOTA;
    text_copy_cut(rule->uid, sizeof(rule->uid), QUOTA_UID);
    text_copy_cut(rule->team, sizeof(rule->team), "vision");
    rule->off = k->off;
    rule->weight = -1;
    rule->borrow_percent = -1;
    rule->amounts[0] =
        (struct scheduler_amount){.nodes = 1, .accelerators = -1, .cpu_milli = -1, .memory_mib = -1, .slices = -1};
    text_copy_cut(rule->amounts[0].instance_type, sizeof(rule->amounts[0].instance_type), P5);
    rule->amount_count = 1;
    rule->asked[SCHEDULER_PART_RESOURCES] = true;
}

/* As the loop does: what is to be touched is written down first. */
static void keep(struct kueue *k, const struct scheduler_governance *governance)
{
    size_t left = 0;
    for (size_t i = 0; i < k->held_count; i++)
        if (!governance->gone[i])
            k->held[left++] = k->held[i];
    k->held_count = left;
    for (size_t i = 0; i < governance->wanted_count; i++) {
        assert_true(k->held_count < ARRAY_LEN(k->held));
        k->held[k->held_count++] = governance->wanted[i];
    }
}

static struct scheduler_governance *ask(struct kueue *k, bool wanted)
{
    for (int round = 0;; round++) {
        char error[SCHEDULER_ERROR_MAX] = "";
        struct scheduler_governance *governance = scheduler_governance_new();
        if (wanted)
            add_rules(k, governance);
        governance->held = own_calloc(k->held_count + 1, sizeof(*governance->held));
        memcpy(governance->held, k->held, k->held_count * sizeof(*k->held));
        governance->held_count = k->held_count;
        if (k->driver.ops->governance->govern(k->driver.self, governance, error) != 0)
            fail_msg("%s", error);
        bool again = governance->wanted_count > 0 || governance->more;
        keep(k, governance);
        if (!again)
            return governance;
        scheduler_governance_free(governance);
        assert_true(round < ROUNDS_MAX);
    }
}

AUTO_DEFINE(struct scheduler_governance *, scheduler_governance, scheduler_governance_free)

/* All that is asked for is there and seen. */
static void assert_holds(struct kueue *k, struct right right)
{
    char reason[SENTENCE_MAX_BYTES], details[GOVERNANCE_DETAILS_MAX_BYTES];
    k->missing = (struct right){0};
    AUTO(scheduler_governance) struct scheduler_governance *governance = ask(k, true);
    for (size_t i = 0; i < governance->count; i++)
        if (govern_rule_judge(&governance->rules[i], reason, details) != SCHEDULER_OUTCOME_HOLDS)
            fail_msg("%s %s: with all rights: %s", right.verb, right.resource, reason);
}

/* One of what is asked for has failed for the right that is missing. */
static void assert_named(struct kueue *k, struct right right, bool wanted)
{
    char reason[SENTENCE_MAX_BYTES], details[GOVERNANCE_DETAILS_MAX_BYTES];
    AUTO(text) struct text said = {0};
    k->missing = right;
    AUTO(scheduler_governance) struct scheduler_governance *governance = ask(k, wanted);
    autofree char *words = own_printf("HTTP 403: User 'h' cannot %s resource '%s'", right.verb, right.resource);
    bool named = strstr(governance->stuck, words) != NULL;
    for (size_t i = 0; i < governance->count; i++) {
        bool failed = govern_rule_judge(&governance->rules[i], reason, details) == SCHEDULER_OUTCOME_FAILED;
        named = named || (failed && strstr(reason, words) != NULL);
        text_printf(&said, " %s", reason);
    }
    if (!named)
        fail_msg("%s %s is not named:%s", right.verb, right.resource, text_get(&said));
}

static void start_anew(struct kueue *k)
{
    k->held_count = 0;
    k->off = false;
    json_object_clear(k->objects);
}

/* Somebody has changed all that is there. */
static void spoil(const struct kueue *k)
{
    const char *key;
    json_t *object;
    json_object_foreach(k->objects, key, object)
    {
        json_object_del(object, "spec");
        json_object_del(object, "value");
    }
}

static void try_right(struct kueue *k, struct right right)
{
    start_anew(k);
    if (strcmp(right.verb, "delete") == 0) {
        assert_holds(k, right);
        assert_named(k, right, false);
        k->missing = (struct right){0};
        scheduler_governance_free(ask(k, false));
        scheduler_governance_free(ask(k, false)); /* and sees that it is gone */
        assert_int_equal(k->held_count, 0);
        return;
    }
    if (strcmp(right.verb, "patch") == 0) {
        assert_holds(k, right);
        spoil(k);
    }
    assert_named(k, right, true);
    assert_holds(k, right);
}

/* --- tests ---------------------------------------------------------------------------------------------------------- */

static int set_up(void **state)
{
    static struct kueue k;
    k.objects = json_object();
    k.server = fake_server_start(NULL, 0, NULL, NULL, answer_request, &k);
    kubernetes_world_open(k.server, TIMEOUT_MS, &k.driver);
    *state = &k;
    return 0;
}

static int tear_down(void **state)
{
    struct kueue *k = *state;
    k->driver.ops->free(k->driver.self);
    fake_server_stop(k->server);
    json_decref(k->objects);
    return 0;
}

static void test_each_right_is_needed_and_named(void **state)
{
    struct kueue *k = *state;
    char *data = NULL, error[JSON_ERROR_MAX] = "";
    size_t len = 0, i, v, n, count = 0;
    auto_json json_t *role = NULL;
    json_t *rule, *verb, *resource;
    assert_int_equal(file_read(RIGHTS, 65536, &data, &len), 0);
    if (yaml_parse(data, len, 65536, &role, error) != 0)
        fail_msg("%s: %s", RIGHTS, error);
    free(data);
    json_array_foreach(json_object_get(role, "rules"), i, rule)
    {
        json_array_foreach(json_object_get(rule, "resources"), n, resource)
        {
            json_array_foreach(json_object_get(rule, "verbs"), v, verb)
            {
                try_right(k, (struct right){json_string_value(verb), json_string_value(resource)});
                count++;
            }
        }
    }
    assert_int_equal(count,
                     18); /* lists, creates, patches and deletes of four kinds; lists and creates of namespaces */
}

/* Its own row says why a quota that was switched off is still there. */
static void test_a_quota_that_is_switched_off_says_what_is_left(void **state)
{
    struct kueue *k = *state;
    char reason[SENTENCE_MAX_BYTES], details[GOVERNANCE_DETAILS_MAX_BYTES];
    const struct right right = {"delete", "localqueues"};
    start_anew(k);
    assert_holds(k, right);
    k->off = true;
    k->missing = right;
    AUTO(scheduler_governance) struct scheduler_governance *governance = ask(k, true);
    assert_int_equal(govern_rule_judge(&governance->rules[1], reason, details), SCHEDULER_OUTCOME_FAILED);
    assert_non_null(strstr(reason, "HTTP 403: User 'h' cannot delete resource 'localqueues'"));
    k->missing = (struct right){0};
    AUTO(scheduler_governance) struct scheduler_governance *after = ask(k, true);
    assert_int_equal(govern_rule_judge(&after->rules[1], reason, details), SCHEDULER_OUTCOME_HOLDS);
    assert_int_equal(json_object_size(k->objects), 2); /* the namespace, and the class of the configuration */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_right_is_needed_and_named),
        cmocka_unit_test(test_a_quota_that_is_switched_off_says_what_is_left),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
