/* The table against openapi.yaml in both directions, and how paths find their row. */
#include "api_world.h"

#include "api/call.h"
#include "api/routes.h"
#include "base/yaml.h"

#include <ctype.h>

extern const char openapi_data[];
extern const char openapi_end[];

static json_t *openapi(void)
{
    char error[JSON_ERROR_MAX];
    json_t *json = NULL;
    if (yaml_parse(openapi_data, (size_t)(openapi_end - openapi_data), 1 << 22, &json, error) != 0)
        fail_msg("openapi.yaml: %s", error);
    return json;
}

static const char *const methods[] = {"get", "post", "put", "patch", "delete"};

static const struct api_route *row_of(const char *method, const char *pattern)
{
    for (size_t i = 0; i < api_route_count; i++)
        if (strcasecmp(api_routes[i].method, method) == 0 && strcmp(api_routes[i].pattern, pattern) == 0)
            return &api_routes[i];
    return NULL;
}

/* The security scheme that openapi.yaml names; "" for none. */
static const char *scheme_of(json_t *document, json_t *operation)
{
    json_t *security = json_object_get(operation, "security");
    const char *scheme = "";
    if (security == NULL)
        security = json_object_get(document, "security");
    for (size_t i = 0; i < json_array_size(security); i++) {
        const char *name;
        json_t *scopes;
        json_object_foreach(json_array_get(security, i), name, scopes) scheme = name;
    }
    return scheme;
}

static const char *const schemes[] = {[ACCESS_OPEN] = "",
                                      [ACCESS_LOCAL] = "apiToken",
                                      [ACCESS_ENROLL] = "enrollmentToken",
                                      [ACCESS_AGENT] = "nodeCredential",
                                      [ACCESS_SIGNED] = "awsSignature",
                                      [ACCESS_JOB] = "apiToken",
                                      [ACCESS_REPORTER] = "apiToken",
                                      [ACCESS_VIEWER] = "apiToken",
                                      [ACCESS_OPERATOR] = "apiToken",
                                      [ACCESS_ADMIN] = "apiToken"};

static void check_operation(json_t *document, const char *path, const char *method, json_t *operation)
{
    const struct api_route *row = row_of(method, path);
    if (row == NULL)
        fail_msg("openapi.yaml has %s %s, the table has not", method, path);
    assert_string_equal(json_string_value(json_object_get(operation, "operationId")), row->operation);
    assert_string_equal(scheme_of(document, operation), schemes[row->access]);
    assert_int_equal(json_object_get(operation, "requestBody") != NULL, row->body_bytes_max > 0);
    const char *description = json_string_value(json_object_get(operation, "description"));
    static const char *const roles[] = {[ACCESS_JOB] = "role job",
                                        [ACCESS_REPORTER] = "role reporter",
                                        [ACCESS_VIEWER] = "role viewer",
                                        [ACCESS_OPERATOR] = "role operator",
                                        [ACCESS_ADMIN] = "role admin"};
    if (row->access >= ACCESS_JOB && strstr(description, roles[row->access]) == NULL)
        fail_msg("the description of %s does not say \"%s\"", row->operation, roles[row->access]);
}

/* A parameter may be a reference into components. */
static json_t *parameter_of(json_t *document, json_t *parameter)
{
    const char *ref = json_string_value(json_object_get(parameter, "$ref"));
    if (ref == NULL)
        return parameter;
    json_t *all = json_object_get(json_object_get(document, "components"), "parameters");
    return json_object_get(all, ref + strlen("#/components/parameters/"));
}

static bool has_query(json_t *document, json_t *operation)
{
    size_t i;
    json_t *parameter;
    json_array_foreach(json_object_get(operation, "parameters"), i, parameter)
    {
        json_t *in = json_object_get(parameter_of(document, parameter), "in");
        if (strcmp(json_string_value(in), "query") == 0)
            return true;
    }
    return false;
}

static void test_openapi_operations_are_rows(void **state)
{
    (void)state;
    auto_json json_t *document = openapi();
    const char *path;
    json_t *item;
    size_t count = 0;
    json_object_foreach(json_object_get(document, "paths"), path, item)
    {
        for (size_t m = 0; m < ARRAY_LEN(methods); m++) {
            json_t *operation = json_object_get(item, methods[m]);
            if (operation == NULL)
                continue;
            check_operation(document, path, methods[m], operation);
            assert_int_equal(has_query(document, operation), (row_of(methods[m], path)->reads & READS_QUERY) != 0);
            count++;
        }
    }
    assert_int_equal(count, api_route_count);
}

static void test_rows_are_openapi_operations(void **state)
{
    (void)state;
    auto_json json_t *document = openapi();
    for (size_t i = 0; i < api_route_count; i++) {
        const struct api_route *row = &api_routes[i];
        char method[16];
        for (size_t c = 0; c <= strlen(row->method); c++)
            method[c] = (char)tolower((unsigned char)row->method[c]);
        json_t *item = json_object_get(json_object_get(document, "paths"), row->pattern);
        if (json_object_get(item, method) == NULL)
            fail_msg("the table has %s %s, openapi.yaml has not", row->method, row->pattern);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(row->operation, api_routes[j].operation);
    }
}

/* Every word the enums can say is in openapi.yaml, and no other. */
static void check_words(json_t *document, const char *schema, const char *const *words, size_t count)
{
    json_t *schemas = json_object_get(json_object_get(document, "components"), "schemas");
    json_t *listed = json_object_get(json_object_get(schemas, schema), "enum");
    if (json_array_size(listed) != count)
        fail_msg("%s lists %zu words, the code has %zu", schema, json_array_size(listed), count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(json_string_value(json_array_get(listed, i)), words[i]);
}

#define X(SYMBOL, text, ...) text,
#define WORDS(document, schema, LIST)                           \
    do {                                                        \
        static const char *const words[] = {LIST(X)};           \
        check_words(document, schema, words, ARRAY_LEN(words)); \
    } while (0)

static void test_openapi_words_are_the_enums(void **state)
{
    (void)state;
    auto_json json_t *document = openapi();
    WORDS(document, "ClusterState", CLUSTER_STATE_LIST);
    WORDS(document, "GroupState", GROUP_STATE_LIST);
    WORDS(document, "RolloutState", ROLLOUT_STATE_LIST);
    WORDS(document, "Provisioning", PROVISIONING_LIST);
    WORDS(document, "AdditionError", ADDITION_ERROR_LIST);
    WORDS(document, "NodeRecovery", NODE_RECOVERY_LIST);
    WORDS(document, "Orchestrator", ORCHESTRATOR_LIST);
    WORDS(document, "NodeState", NODE_STATE_LIST);
    WORDS(document, "Health", HEALTH_LIST);
    WORDS(document, "InstanceState", INSTANCE_STATE_LIST);
    WORDS(document, "OperationKind", OPERATION_KIND_LIST);
    WORDS(document, "OperationState", OPERATION_STATE_LIST);
    WORDS(document, "StepName", STEP_KIND_LIST);
    WORDS(document, "StepState", STEP_STATE_LIST);
    WORDS(document, "Urgency", URGENCY_LIST);
    WORDS(document, "Severity", SEVERITY_LIST);
    WORDS(document, "VerdictState", VERDICT_STATE_LIST);
    WORDS(document, "Action", ACTION_LIST);
    WORDS(document, "Gate", GATE_LIST);
    WORDS(document, "GateResult", GATE_RESULT_LIST);
    WORDS(document, "EventLevel", EVENT_LEVEL_LIST);
    WORDS(document, "EventKind", EVENT_KIND_LIST);
    WORDS(document, "Role", ROLE_LIST);
    WORDS(document, "TokenKind", TOKEN_KIND_LIST);
}
#undef X

#define X(SYMBOL, status, text, title) text,
static void test_openapi_codes_are_the_problems(void **state)
{
    (void)state;
    auto_json json_t *document = openapi();
    WORDS(document, "ProblemCode", PROBLEM_LIST);
}
#undef X

/* --- finding ------------------------------------------------------------------------------------------- */

struct find_case {
    const char *method, *path;
    enum route_match match;
    const char *want; /* operation, or the Allow header */
    const char *params[API_PARAMS_MAX];
};

static const struct find_case find_cases[] = {
    {"GET", "/v1/clusters", ROUTE_FOUND, "listClusters", {0}},
    {"HEAD", "/v1/clusters", ROUTE_FOUND, "listClusters", {0}},
    {"GET", "/v1/clusters/a", ROUTE_FOUND, "describeCluster", {"a"}},
    {"GET", "/v1/clusters/a/nodes/b", ROUTE_FOUND, "describeNode", {"a", "b"}},
    {"POST", "/v1/clusters/a/nodes/b/reboot", ROUTE_FOUND, "rebootNode", {"a", "b"}},
    {"GET", "/v1/clusters/a%2Fb/nodes/c", ROUTE_FOUND, "describeNode", {"a%2Fb", "c"}},
    {"GET", "/v1/events/stream", ROUTE_FOUND, "streamEvents", {0}},
    {"GET", "/docs", ROUTE_FOUND, "openDocs", {0}},
    {"GET", "/docs/", ROUTE_FOUND, "readDocs", {""}}, /* a folder itself is the file without a name */
    {"GET", "/docs/a.js", ROUTE_FOUND, "readDocs", {"a.js"}},
    {"GET", "/docs//", ROUTE_NO_PATH, "", {0}},
    {"GET", "/docs/a/b", ROUTE_NO_PATH, "", {0}},
    {"GET", "/v1/clusters/", ROUTE_NO_PATH, "", {0}},
    {"GET", "/v1/clusters//nodes", ROUTE_NO_PATH, "", {0}},
    {"GET", "/v1/clusters/a/", ROUTE_NO_PATH, "", {0}},
    {"GET", "/v1/clusters/a/nodes/b/c", ROUTE_NO_PATH, "", {0}},
    {"GET", "/v1", ROUTE_NO_PATH, "", {0}},
    {"GET", "/V1/clusters", ROUTE_NO_PATH, "", {0}},
    {"GET", "", ROUTE_NO_PATH, "", {0}},
    {"GET", "/", ROUTE_FOUND, "openRoot", {0}},
    {"PUT", "/", ROUTE_NO_METHOD, "POST, GET, HEAD", {0}},
    {"POST", "/", ROUTE_FOUND, "callAws", {0}},
    {"POST", "/v1/clusters/", ROUTE_NO_PATH, "", {0}}, /* without X-Amz-Target it is nobody's */
    {"GET", "*", ROUTE_NO_PATH, "", {0}},
    {"GET", "http://x/healthz", ROUTE_NO_PATH, "", {0}},
    {"PUT", "/v1/clusters", ROUTE_NO_METHOD, "GET, HEAD, POST", {0}},
    {"get", "/v1/clusters", ROUTE_NO_METHOD, "GET, HEAD, POST", {0}},
    {"POST", "/v1/clusters/a", ROUTE_NO_METHOD, "GET, HEAD, PATCH, DELETE", {0}},
    {"HEAD", "/v1/agent/heartbeat", ROUTE_NO_METHOD, "POST", {0}},
    {"OPTIONS", "/healthz", ROUTE_NO_METHOD, "GET, HEAD", {0}},
};

static void test_paths_find_their_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(find_cases); i++) {
        const struct find_case *c = &find_cases[i];
        const struct api_route *row = NULL;
        struct route_param params[API_PARAMS_MAX];
        char allow[ROUTE_ALLOW_MAX];
        size_t count = 0;
        enum route_match match = route_find(c->method, c->path, &row, params, &count, allow);
        if (match != c->match)
            fail_msg("%s %s: %d", c->method, c->path, match);
        assert_string_equal(match == ROUTE_FOUND ? row->operation : allow, c->want);
        for (size_t p = 0; p < API_PARAMS_MAX && c->params[p] != NULL; p++) {
            assert_true(p < count);
            assert_int_equal(params[p].len, strlen(c->params[p]));
            assert_memory_equal(params[p].at, c->params[p], params[p].len);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openapi_operations_are_rows), cmocka_unit_test(test_rows_are_openapi_operations),
        cmocka_unit_test(test_openapi_words_are_the_enums), cmocka_unit_test(test_openapi_codes_are_the_problems),
        cmocka_unit_test(test_paths_find_their_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
