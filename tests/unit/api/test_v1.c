/* The REST API's nouns: what a person can ask, what comes back, and how lists, ETags and keys behave. */
#include "api_world.h"

static struct api_world aw;

static int setup(void **state)
{
    (void)state;
    api_world_open(&aw, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    api_world_close(&aw);
    return 0;
}

/* Asks, wants this status, returns the body (caller frees) and maybe a header. */
static json_t *ask(const char *method, const char *path, const char *more, const char *body, int status,
                   const char *header, char ret_value[128])
{
    struct reply reply = client_ask(&aw, method, path, aw.admin, more, body);
    if (reply.status != status)
        fail_msg("%s %s: wanted %d: %s", method, path, status, reply.text);
    if (header != NULL)
        reply_header(&reply, header, ret_value, 128);
    json_t *json = reply_json(&reply);
    reply_free(&reply);
    return json;
}

static const char *text_at(json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text != NULL ? text : "";
}

/* --- clusters -------------------------------------------------------------------------------------------- */

static void test_create_describe_change_and_delete(void **state)
{
    char etag[128], location[128];
    (void)state;
    auto_json json_t *made =
        ask("POST", "/v1/clusters", NULL,
            "{\"name\":\"made\",\"nodeRecovery\":\"None\",\"orchestrator\":\"none\",\"instanceGroups\":["
            "{\"name\":\"a\",\"instanceCount\":3,\"nodeNames\":\"n-[1-3]\"},{\"name\":\"b\",\"instanceCount\":2,"
            "\"instanceType\":\"big\"}]}",
            201, "Location", location);
    assert_string_equal(location, "/v1/clusters/made");
    assert_string_equal(text_at(made, "nodeRecovery"), "None");
    assert_int_equal(json_integer_value(json_object_get(made, "nodeCount")), 5);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(made, "nodesByState"), "pending")), 5);
    assert_int_equal(json_array_size(json_object_get(made, "instanceGroups")), 2);
    auto_json json_t *taken =
        ask("POST", "/v1/clusters", NULL,
            "{\"name\":\"made\",\"instanceGroups\":[{\"name\":\"a\",\"instanceCount\":1}]}", 409, NULL, NULL);
    assert_string_equal(text_at(taken, "code"), "name-taken");

    json_decref(ask("GET", "/v1/clusters/made", NULL, NULL, 200, "ETag", etag));
    autofree char *match = own_printf("If-Match: %s\r\n", etag);
    auto_json json_t *changed =
        ask("PATCH", "/v1/clusters/made", match, "{\"nodeRecovery\":\"Automatic\"}", 200, NULL, NULL);
    assert_string_equal(text_at(changed, "nodeRecovery"), "Automatic");
    auto_json json_t *late = ask("PATCH", "/v1/clusters/made", match, "{\"nodeRecovery\":\"None\"}", 412, NULL, NULL);
    assert_string_equal(text_at(late, "code"), "precondition-failed");
    static const char *const bad_tags[] = {"If-Match: 1\r\n", "If-Match: \"x\"\r\n", "If-Match: W/\"1\"\r\n",
                                           "If-Match: \"-1\"\r\n", "If-Match: \"\"\r\n"};
    for (size_t i = 0; i < ARRAY_LEN(bad_tags); i++)
        json_decref(ask("PATCH", "/v1/clusters/made", bad_tags[i], "{\"nodeRecovery\":\"None\"}", 412, NULL, NULL));
    json_decref(ask("PATCH", "/v1/clusters/made", "If-Match: *\r\n", "{\"nodeRecovery\":\"None\"}", 200, NULL, NULL));
    for (int repeat = 0; repeat < 2; repeat++) {
        struct reply reply = client_ask(&aw, "DELETE", "/v1/clusters/made", aw.admin, NULL, NULL);
        assert_int_equal(reply.status, 202);
        auto_json json_t *deleted = reply_json(&reply);
        assert_string_equal(text_at(deleted, "state"), "deleting");
        reply_free(&reply);
    }
}

static void test_cluster_specs_that_are_refused(void **state)
{
#define GROUPS(g) "{\"name\":\"bad\",\"instanceGroups\":[" g "]}"
    static const char *const bad[] = {
        "{}",
        "{\"name\":\"bad\"}",
        GROUPS(""),
        GROUPS("1"),
        GROUPS("{\"name\":\"a\"}"),
        GROUPS("{\"name\":\"a\",\"instanceCount\":-1}"),
        GROUPS("{\"name\":\"a\",\"instanceCount\":100001}"),
        GROUPS("{\"name\":\"a\",\"instanceCount\":2,\"nodeNames\":\"n-[1-3]\"}"),
        GROUPS("{\"name\":\"a\",\"instanceCount\":1,\"nodeNames\":\"n-[1-\"}"),
        GROUPS("{\"name\":\"a\",\"instanceCount\":1,\"nodeNames\":\"n-[1-999999999]\"}"),
        GROUPS("{\"name\":\"a\",\"instanceCount\":1,\"colour\":1}"),
        /* What the model has and this API says elsewhere, or cannot do. */
        GROUPS("{\"name\":\"a\",\"instanceCount\":1,\"instanceGroupName\":\"b\"}"),
        GROUPS("{\"name\":\"a\",\"instanceCount\":1,\"instanceRequirements\":{\"instanceTypes\":[\"ml.p5.48xlarge\","
               "\"ml.p4d.24xlarge\"]}}"),
        GROUPS("{\"name\":\"a\",\"instanceCount\":1,\"instanceType\":\"ml.p5.48xlarge\",\"instanceRequirements\":{"
               "\"instanceTypes\":[\"ml.p4d.24xlarge\"]}}"),
        "{\"name\":\"bad\",\"clusterName\":\"bad\",\"instanceGroups\":[{\"name\":\"a\",\"instanceCount\":1}]}",
        "{\"name\":\"bad\",\"tags\":[{\"key\":\"k\",\"value\":\"v\"}],\"instanceGroups\":[{\"name\":\"a\","
        "\"instanceCount\":1}]}",
        GROUPS("{\"name\":\"a\",\"instanceCount\":1},{\"name\":\"a\",\"instanceCount\":1}"),
        GROUPS("{\"name\":\"a\",\"instanceCount\":1,\"nodeNames\":\"n-1\"},{\"name\":\"b\",\"instanceCount\":1,"
               "\"nodeNames\":\"n-1\"}"),
        "{\"name\":\"-bad\",\"instanceGroups\":[{\"name\":\"a\",\"instanceCount\":1}]}",
        "{\"name\":\"bad\",\"nodeRecovery\":\"automatic\",\"instanceGroups\":[{\"name\":\"a\",\"instanceCount\":1}]}",
        "{\"name\":\"bad\",\"orchestrator\":\"k8s\",\"instanceGroups\":[{\"name\":\"a\",\"instanceCount\":1}]}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct reply reply = client_ask(&aw, "POST", "/v1/clusters", aw.admin, NULL, bad[i]);
        if (reply.status != 400)
            fail_msg("%s: %s", bad[i], reply.text);
        assert_reply_problem(&reply, 400, "invalid-value");
        reply_free(&reply);
    }
}

static void test_a_quota_is_what_was_said(void **state)
{
    static const char config[] =
        "{\"computeQuotaResources\":[{\"instanceType\":\"rack-7\",\"count\":2,\"memoryInGiB\":0.25,"
        "\"acceleratorPartition\":{\"type\":\"mig-1g.5gb\",\"count\":7}}],\"resourceSharingConfig\":{\"strategy\":"
        "\"LendAndBorrow\",\"absoluteBorrowLimits\":[{\"instanceType\":\"rack-7\",\"count\":1}]},"
        "\"preemptTeamTasks\":\"Never\"}";
#define TEAM "\"name\":\"bad\",\"computeQuotaTarget\":{\"teamName\":\"bad\"}"
#define NOTHING ",\"computeQuotaConfig\":{}"
    static const char *const bad[] = {
        "{" TEAM "}",
        "{" TEAM NOTHING ",\"computeQuotaId\":\"x\"}",
        "{\"name\":\"bad\",\"computeQuotaTarget\":{\"teamName\":\"A\"}" NOTHING "}",
        "{" TEAM NOTHING ",\"activationState\":\"On\"}",
        "{" TEAM
        ",\"computeQuotaConfig\":{\"computeQuotaResources\":[{\"instanceType\":\"a\",\"count\":1},{\"count\":1}]}}",
        "{" TEAM ",\"computeQuotaConfig\":{\"fairShare\":\"Enabled\"}}",
        "{" TEAM NOTHING ",\"tags\":[{\"key\":\"a\",\"value\":\"b\"},{\"key\":\"\"}]}",
    };
    (void)state;
    autofree char *body = own_printf("{\"name\":\"own\",\"computeQuotaTarget\":{\"teamName\":\"own\"},"
                                     "\"computeQuotaConfig\":%s,\"tags\":[{\"key\":\"a\",\"value\":\"b\"}]}",
                                     config);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        auto_json json_t *problem = ask("POST", "/v1/clusters/train/quotas", NULL, bad[i], 400, NULL, NULL);
        assert_string_equal(text_at(problem, "code"), "invalid-value");
    }
    auto_json json_t *made = ask("POST", "/v1/clusters/train/quotas", NULL, body, 201, NULL, NULL);
    char error[JSON_ERROR_MAX];
    auto_json json_t *wanted = NULL;
    assert_int_equal(json_parse(config, strlen(config), sizeof(config), &wanted, error), 0);
    assert_true(json_equal(json_object_get(made, "computeQuotaConfig"), wanted));
    auto_json json_t *changed =
        ask("PATCH", "/v1/clusters/train/quotas/own", NULL,
            "{\"computeQuotaConfig\":{\"preemptTeamTasks\":\"LowerPriority\"}}", 200, NULL, NULL);
    assert_int_equal(json_object_size(json_object_get(changed, "computeQuotaConfig")), 1);
}

/* No names are made of more nodes than there may be. */
static void test_groups_are_read_only_up_to_what_a_cluster_holds(void **state)
{
    (void)state;
    auto_json json_t *problem = ask("POST", "/v1/clusters", NULL,
                                    GROUPS("{\"name\":\"a\",\"instanceCount\":60000,\"nodeNames\":\"a-[1-60000]\"},"
                                           "{\"name\":\"b\",\"instanceCount\":60000,\"nodeNames\":\"b-[1-60000]\"},"
                                           "{\"name\":\"c\",\"instanceCount\":1,\"nodeNames\":\"c[\"}"),
                                    400, NULL, NULL);
    assert_non_null(strstr(text_at(problem, "detail"), "have 120001 nodes together, and a cluster has at most 100000"));
}

/* As a file that was exported says it: both ways at once. */
static void test_a_type_among_requirements_is_the_groups(void **state)
{
    (void)state;
    json_decref(ask("POST", "/v1/clusters", NULL,
                    "{\"name\":\"typed\",\"orchestrator\":\"none\",\"instanceGroups\":[{\"name\":\"a\","
                    "\"instanceCount\":0,\"instanceRequirements\":{\"instanceTypes\":[\"ml.p5.48xlarge\"]}},"
                    "{\"name\":\"b\",\"instanceCount\":0,\"instanceType\":\"ml.p5.48xlarge\",\"instanceRequirements\":{"
                    "\"instanceTypes\":[\"ml.p5.48xlarge\"]}}]}",
                    201, NULL, NULL));
    auto_json json_t *made = ask("GET", "/v1/clusters/typed", NULL, NULL, 200, NULL, NULL);
    for (size_t i = 0; i < 2; i++) {
        const json_t *group = json_array_get(json_object_get(made, "instanceGroups"), i);
        assert_string_equal(json_string_value(json_object_get(group, "instanceType")), "ml.p5.48xlarge");
    }
    json_decref(
        ask("POST", "/v1/clusters/typed/software-update", NULL, "{\"clusterName\":\"train\"}", 400, NULL, NULL));
}

/* --- pages --------------------------------------------------------------------------------------------------- */

/* Walks a list two by two and returns the texts of member in order, joined. Caller frees. */
static char *walk(const char *path, const char *member, int *ret_pages)
{
    struct text t = {0};
    autofree char *cursor = own_strdup("");
    *ret_pages = 0;
    do {
        autofree char *url = own_printf("%s%climit=2%s%s", path, strchr(path, '?') != NULL ? '&' : '?',
                                        cursor[0] != '\0' ? "&cursor=" : "", cursor);
        auto_json json_t *page = ask("GET", url, NULL, NULL, 200, NULL, NULL);
        json_t *items = json_object_get(page, "items");
        assert_true(json_array_size(items) <= 2);
        for (size_t i = 0; i < json_array_size(items); i++) {
            json_t *value = json_object_get(json_array_get(items, i), member);
            if (json_is_integer(value))
                text_printf(&t, "%lld ", (long long)json_integer_value(value));
            else
                text_printf(&t, "%s ", json_string_value(value));
        }
        free(cursor);
        cursor = own_strdup(text_at(page, "nextCursor"));
        (*ret_pages)++;
    } while (cursor[0] != '\0' && *ret_pages < 1000);
    return text_take(&t);
}

/* A mark of direction or a break of lines in a query or a path would stand in a reason, an event or a refusal. */
static void test_queries_and_paths_are_one_line(void **state)
{
    static const char *const hidden[] = {"%0A", "%1B", "%7F", "%C2%9B", "%E2%80%AE", "%E2%80%A8"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++) {
        autofree char *reason = own_printf("/v1/clusters/train/nodes/gpu-1?reason=a%sb", hidden[i]);
        autofree char *node = own_printf("/v1/clusters/train/nodes/gpu%s1", hidden[i]);
        autofree char *event = own_printf("/v1/events?node=a%sb", hidden[i]);
        struct reply reply = client_ask(&aw, "DELETE", reason, aw.admin, NULL, NULL);
        assert_reply_problem(&reply, 400, "invalid-value");
        reply_free(&reply);
        reply = client_ask(&aw, "GET", event, aw.admin, NULL, NULL);
        assert_reply_problem(&reply, 400, "invalid-value");
        reply_free(&reply);
        reply = client_ask(&aw, "GET", node, aw.admin, NULL, NULL);
        assert_reply_problem(&reply, 400, "bad-request");
        reply_free(&reply);
    }
}

static void test_nodes_in_pages(void **state)
{
    int pages;
    (void)state;
    autofree char *all = walk("/v1/clusters/train/nodes", "name", &pages);
    assert_string_equal(all, "gpu-1 gpu-2 gpu-3 gpu-4 ");
    assert_int_equal(pages, 2); /* full to the last: no empty page behind it */
    autofree char *ready = walk("/v1/clusters/train/nodes?state=ready", "name", &pages);
    assert_string_equal(ready, "gpu-1 ");
    autofree char *healthy = walk("/v1/clusters/train/nodes?health=unknown&group=workers", "name", &pages);
    assert_string_equal(healthy, "gpu-2 gpu-3 gpu-4 ");
    json_decref(ask("GET", "/v1/clusters/nothing/nodes", NULL, NULL, 404, NULL, NULL));
}

static void test_events_up_and_down(void **state)
{
    int pages;
    (void)state;
    autofree char *down = walk("/v1/events", "id", &pages);
    autofree char *up = walk("/v1/events?after=0", "id", &pages);
    assert_true(pages > 2);
    int64_t last = INT64_MAX, first_up = strtoll(up, NULL, 10);
    for (char *at = down; *at != '\0'; at = strchr(at, ' ') + 1) {
        assert_true(strtoll(at, NULL, 10) < last);
        last = strtoll(at, NULL, 10);
    }
    assert_int_equal(last, first_up);
    assert_int_equal(strlen(down), strlen(up));
    autofree char *of_cluster = walk("/v1/events?cluster=train&after=0", "cluster", &pages);
    assert_null(strstr(of_cluster, "made"));
    autofree char *none = walk("/v1/events?cluster=nothing", "id", &pages);
    assert_string_equal(none, "");
    json_decref(ask("GET", "/v1/events?operation=nothing", NULL, NULL, 404, NULL, NULL));
}

static void test_clusters_in_pages(void **state)
{
    int pages;
    (void)state;
    world_cluster(&aw.world, "alpha", "al", 1, ORCHESTRATOR_NONE);
    world_cluster(&aw.world, "beta", "be", 1, ORCHESTRATOR_NONE);
    autofree char *all = walk("/v1/clusters", "name", &pages);
    assert_non_null(strstr(all, "alpha beta "));
    assert_non_null(strstr(all, "train "));
}

/* --- nodes and operations -------------------------------------------------------------------------------------- */

static void test_operate_on_a_node(void **state)
{
    char location[128], again[128];
    const char *reboot = "/v1/clusters/train/nodes/gpu-1/reboot";
    (void)state;
    auto_json json_t *started = ask("POST", reboot, "Idempotency-Key: one\r\n",
                                    "{\"reason\":\"fans\",\"urgency\":\"now\"}", 202, "Location", location);
    assert_string_equal(text_at(started, "cluster"), "train");
    assert_string_equal(text_at(started, "node"), "gpu-1");
    assert_string_equal(text_at(started, "kind"), "reboot");
    assert_string_equal(text_at(started, "urgency"), "now");
    assert_string_equal(text_at(started, "actor"), "token:boss");
    json_decref(ask("POST", reboot, "Idempotency-Key: one\r\n", "{\"reason\":\"fans\",\"urgency\":\"now\"}", 202,
                    "Location", again));
    assert_string_equal(location, again);
    auto_json json_t *other =
        ask("POST", "/v1/clusters/train/nodes/gpu-1/replace", "Idempotency-Key: one\r\n", NULL, 409, NULL, NULL);
    assert_string_equal(text_at(other, "code"), "idempotency-key-reused");
    auto_json json_t *busy = ask("POST", "/v1/clusters/train/nodes/gpu-1/replace", NULL, NULL, 409, NULL, NULL);
    assert_string_equal(text_at(busy, "code"), "operation-active");
    auto_json json_t *shown = ask("GET", location, NULL, NULL, 200, NULL, NULL);
    assert_string_equal(text_at(shown, "node"), "gpu-1");
    assert_true(json_array_size(json_object_get(shown, "steps")) > 3);
    auto_json json_t *view = ask("GET", "/v1/clusters/train/nodes/gpu-1", NULL, NULL, 200, NULL, NULL);
    assert_string_equal(text_at(json_object_get(view, "activeOperation"), "id"), text_at(started, "id"));
    auto_json json_t *cluster = ask("GET", "/v1/clusters/train", NULL, NULL, 200, NULL, NULL);
    json_t *active = json_object_get(cluster, "activeOperations");
    bool found = false;
    for (size_t i = 0; i < json_array_size(active); i++)
        found = found || strcmp(text_at(json_array_get(active, i), "node"), "gpu-1") == 0;
    assert_true(found);
    autofree char *cancel = own_printf("%s/cancel", location);
    auto_json json_t *cancelled = ask("POST", cancel, NULL, NULL, 202, NULL, NULL);
    assert_true(json_is_true(json_object_get(cancelled, "cancelAsked")));
    auto_json json_t *listed =
        ask("GET", "/v1/operations?cluster=train&node=gpu-1&limit=1", NULL, NULL, 200, NULL, NULL);
    assert_string_equal(text_at(json_array_get(json_object_get(listed, "items"), 0), "node"), "gpu-1");
    auto_json json_t *events = ask("GET", "/v1/events?operation=nothing", NULL, NULL, 404, NULL, NULL);
    assert_non_null(events);
}

static void test_idempotency_keys_that_are_refused(void **state)
{
    char long_key[256];
    (void)state;
    snprintf(long_key, sizeof long_key, "Idempotency-Key: %065d\r\n", 1);
    const char *const bad[] = {"Idempotency-Key: a b\r\n", "Idempotency-Key: \xc3\xa9\r\n", long_key};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        auto_json json_t *json = ask("POST", "/v1/clusters/train/nodes/gpu-2/reboot", bad[i], NULL, 400, NULL, NULL);
        assert_string_equal(text_at(json, "code"), "invalid-value");
    }
}

static void test_hands_off_and_explanation(void **state)
{
    (void)state;
    auto_json json_t *off =
        ask("PATCH", "/v1/clusters/train/nodes/gpu-4", NULL, "{\"optedOut\":true}", 200, NULL, NULL);
    assert_true(json_is_true(json_object_get(off, "optedOut")));
    json_decref(ask("PATCH", "/v1/clusters/train/nodes/gpu-4", NULL, "{\"optedOut\":\"yes\"}", 400, NULL, NULL));
    json_decref(ask("PATCH", "/v1/clusters/train/nodes/gpu-4", NULL, "", 400, NULL, NULL));
    auto_json json_t *why = ask("GET", "/v1/clusters/train/nodes/gpu-4/explanation", NULL, NULL, 200, NULL, NULL);
    assert_string_equal(text_at(json_object_get(why, "node"), "name"), "gpu-4");
    assert_true(strlen(text_at(why, "text")) > 10);
    json_decref(ask("GET", "/v1/clusters/train/nodes/gpu-99/explanation", NULL, NULL, 404, NULL, NULL));
}

static void test_inject(void **state)
{
    (void)state;
    json_decref(ask("POST", "/v1/clusters/train/nodes/gpu-1/inject", NULL, "{\"xid\":79}", 409, NULL,
                    NULL)); /* nobody speaks */
    assert_int_equal(world_beat(&aw.world, aw.node_id, WORLD_INSTANCE, WORLD_BOOT, 1), 0);
    auto_json json_t *json = ask("POST", "/v1/clusters/train/nodes/gpu-1/inject", NULL,
                                 "{\"xid\":79,\"pci\":\"0000:b9:00\"}", 202, NULL, NULL);
    assert_true(text_starts_with(text_at(json, "line"), "NVRM: Xid (PCI:0000:b9:00): 79"));
    json_decref(ask("POST", "/v1/clusters/train/nodes/gpu-1/inject", NULL, "{\"xid\":0}", 400, NULL, NULL));
    json_decref(ask("POST", "/v1/clusters/train/nodes/gpu-1/inject", NULL, "{}", 400, NULL, NULL));
}

/* --- tokens and the rest ------------------------------------------------------------------------------------------ */

/* As a launch makes it. */
static int add_instance_token(struct db_tx *tx, void *arg)
{
    struct token token = {
        .kind = TOKEN_KIND_ENROLLMENT, .uid = "of-an-instance", .instance_id = "i-1", .created_at = 1};
    (void)arg;
    return db_token_insert(tx, &token);
}

static void test_tokens(void **state)
{
    (void)state;
    auto_json json_t *api =
        ask("POST", "/v1/tokens", NULL, "{\"kind\":\"api\",\"name\":\"grafana\",\"role\":\"viewer\",\"ttl\":\"90d\"}",
            201, NULL, NULL);
    assert_true(text_starts_with(text_at(api, "secret"), "hfa_"));
    assert_string_equal(text_at(api, "serverUrl"), "http://127.0.0.1:8700");
    assert_string_equal(text_at(api, "role"), "viewer");
    auto_json json_t *enroll =
        ask("POST", "/v1/tokens", NULL, "{\"kind\":\"enrollment\",\"cluster\":\"train\",\"node\":\"gpu-3\"}", 201, NULL,
            NULL);
    assert_true(text_starts_with(text_at(enroll, "secret"), "hfe_"));
    assert_int_equal(db_write(aw.world.service.db, "test", add_instance_token, NULL), 0);
    auto_json json_t *list = ask("GET", "/v1/tokens", NULL, NULL, 200, NULL, NULL);
    json_t *items = json_object_get(list, "items");
    bool named = false;
    for (size_t i = 0; i < json_array_size(items); i++) {
        json_t *item = json_array_get(items, i);
        assert_null(json_object_get(item, "secret"));
        assert_string_not_equal(text_at(item, "id"), "of-an-instance");
        if (strcmp(text_at(item, "id"), text_at(enroll, "id")) == 0)
            named = strcmp(text_at(item, "node"), "gpu-3") == 0 && strcmp(text_at(item, "cluster"), "train") == 0 &&
                    json_object_get(item, "role") == NULL;
    }
    assert_true(named);
    json_decref(ask("DELETE", "/v1/tokens/nothing", NULL, NULL, 404, NULL, NULL));
}

static void test_version_metrics_and_contract(void **state)
{
    extern const char openapi_data[];
    char type[64];
    (void)state;
    auto_json json_t *version = ask("GET", "/v1/version", NULL, NULL, 200, NULL, NULL);
    assert_string_equal(text_at(version, "version"), "1.0.0-test");
    struct reply reply = client_ask(&aw, "GET", "/openapi.yaml", NULL, NULL, NULL);
    assert_string_equal(reply.body, openapi_data);
    assert_string_equal(reply_header(&reply, "Content-Type", type, sizeof type), "application/yaml");
    reply_free(&reply);
    reply = client_ask(&aw, "GET", "/metrics", NULL, NULL, NULL);
    assert_non_null(strstr(reply.body, "holdfast_http_requests_total{operation=\"describeVersion\",status=\"2xx\"} "));
    assert_non_null(strstr(reply.body, "holdfast_http_request_seconds_bucket{le=\"+Inf\"} "));
    reply_free(&reply);
    json_decref(ask("GET", "/readyz", NULL, NULL, 200, NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create_describe_change_and_delete),
        cmocka_unit_test(test_cluster_specs_that_are_refused),
        cmocka_unit_test(test_groups_are_read_only_up_to_what_a_cluster_holds),
        cmocka_unit_test(test_a_type_among_requirements_is_the_groups),
        cmocka_unit_test(test_nodes_in_pages),
        cmocka_unit_test(test_queries_and_paths_are_one_line),
        cmocka_unit_test(test_events_up_and_down),
        cmocka_unit_test(test_clusters_in_pages),
        cmocka_unit_test(test_operate_on_a_node),
        cmocka_unit_test(test_idempotency_keys_that_are_refused),
        cmocka_unit_test(test_a_quota_is_what_was_said),
        cmocka_unit_test(test_hands_off_and_explanation),
        cmocka_unit_test(test_inject),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_version_metrics_and_contract),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
