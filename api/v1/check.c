/*
 * Deep health checks: started for a group or for nodes, listed, described and read. A run has the id of its operation, which is
 * what cancels it (POST /v1/operations/{operation}/cancel).
 */
#include "server/service/node/check.h"
#include "api/audit.h"
#include "api/choose.h"
#include "api/page.h"
#include "api/render.h"
#include "api/v1/spec.h"
#include "api/v1/v1.h"
#include "base/sm.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define NODES_MAX 500 /* botocore: InstanceIds 1..500 */
#define GROUPS_MAX 99 /* botocore: DeepHealthCheckConfigurations 1..99 */
#define REGION "hp-local-1"

/* --- started: HyperPod's document -------------------------------------------------------------------- */

/* Its clients have no word for force, so what they ask for is done without spares, too. */
static const struct service_check_how as_hyperpod = {.profile = DEEP_PROFILE_DEEP, .urgency = URGENCY_AFTER_JOBS};

struct check_group_words {
    char *name;
    struct optional_list instances; /* ids */
    struct optional checks;         /* bits of enum deep_check */
};
struct check_body_words {
    struct optional_list groups; /* struct check_group_words */
};
static const char *const check_words[] = {
    [DEEP_CHECK_STRESS] = "InstanceStress", [DEEP_CHECK_CONNECTIVITY] = "InstanceConnectivity"};
static const struct record_field group_fields[] = {
    {.name = "instanceGroupName",
     .type = RECORD_TEXT,
     .required = true,
     .at = offsetof(struct check_group_words, name),
     .min = 1,
     .max = NAME_MAX_BYTES - 1,
     API_NAME_RULE},
    {.name = "instanceIds",
     .type = RECORD_TEXTS,
     .at = offsetof(struct check_group_words, instances),
     .min = 1,
     .max = ID_INSTANCE_MAX - 1,
     .items_min = 1,
     .items_max = NODES_MAX},
    {.name = "deepHealthChecks",
     .type = RECORD_WORDS,
     .required = true,
     .at = offsetof(struct check_group_words, checks),
     .words = check_words,
     .word_count = ARRAY_LEN(check_words),
     .items_min = 1,
     .items_max = DEEP_CHECK_COUNT},
};
static const struct record group_record = RECORD(struct check_group_words, group_fields);
static const struct record_field body_fields[] = {
    {.name = "deepHealthCheckConfigurations",
     .type = RECORD_LIST,
     .required = true,
     .at = offsetof(struct check_body_words, groups),
     .items_min = 1,
     .items_max = GROUPS_MAX,
     .record = &group_record},
    {.name = "clusterName", .type = RECORD_NEVER, .rule = "the path says it"},
};
static const struct record body_record = RECORD(struct check_body_words, body_fields);

void api_cluster_check(struct api_call *call)
{
    struct problem problem;
    struct service_check_result result;
    struct check_body_words words = {0};
    if (!api_record(call, &body_record, &words))
        return;
    const size_t count = words.groups.count;
    const struct check_group_words *groups = words.groups.items;
    autofree struct service_check_request *requests = own_calloc(count + 1, sizeof *requests);
    for (size_t i = 0; i < count; i++) {
        requests[i] = (struct service_check_request){.nodes = (const char *const *)groups[i].instances.items,
                                                     .node_count = groups[i].instances.count,
                                                     .by_instance = true,
                                                     .checks = groups[i].checks.value};
        text_copy_cut(requests[i].group, sizeof requests[i].group, groups[i].name);
    }
    if (service_cluster_check(call->service, &call->actor, call->params[0], requests, count, &as_hyperpod, &result,
                              &problem) < 0)
        api_problem(call, &problem);
    else
        api_reply_cluster(call, 202, result.cluster.name, &result.cluster);
    service_check_result_free(&result);
    record_free(&body_record, &words);
}

/* --- started: ours ----------------------------------------------------------------------------------- */

static int check_profile(const char *text)
{
    enum deep_profile profile;
    return deep_profile_parse(text, &profile);
}

/* False: it has answered. */
static bool read_checks(struct api_call *call, const json_t *list, int64_t *ret_checks)
{
    size_t i;
    const json_t *item;
    int64_t checks = 0;
    json_array_foreach(list, i, item)
    {
        enum deep_check check;
        if (deep_check_parse(json_string_value(item), &check) != 0) {
            api_problem_printf(call, PROBLEM_INVALID_VALUE,
                               "checks[%zu] must be instance-stress or instance-connectivity.", i);
            return false;
        }
        checks |= SM_BIT(check);
    }
    *ret_checks = checks != 0 ? checks : SM_BIT(DEEP_CHECK_STRESS);
    return true;
}

/* Names borrowed from the list, in an array the caller frees; NULL: it has answered. */
static const char **read_nodes(struct api_call *call, const json_t *list)
{
    size_t i;
    const json_t *item;
    autofree const char **nodes = own_calloc(json_array_size(list) + 1, sizeof *nodes);
    json_array_foreach(list, i, item)
    {
        nodes[i] = json_string_value(item);
        if (nodes[i] == NULL || nodes[i][0] == '\0' || strlen(nodes[i]) >= NODE_NAME_MAX_BYTES) {
            api_problem_printf(call, PROBLEM_INVALID_VALUE, "nodes[%zu] must be the name of a node.", i);
            return NULL;
        }
    }
    return TAKE(nodes);
}

static json_t *render_started(const struct service_check_result *result)
{
    json_t *checks = json_array(), *refused = json_array();
    for (size_t i = 0; i < result->count; i++) {
        const struct service_check_node *node = &result->nodes[i];
        if (node->uid[0] != '\0')
            json_array_append_new(checks, json_pack("{s:s, s:s}", "id", node->uid, "node", node->node));
        else
            json_array_append_new(
                refused, json_pack("{s:s, s:s, s:s}", "node", node->node, "code", "conflict", "detail", node->why));
    }
    return json_pack("{s:o, s:o}", "checks", checks, "refused", refused);
}

static void start(struct api_call *call, const struct service_check_request *request,
                  const struct service_check_how *how)
{
    struct problem problem;
    struct service_check_result result;
    if (service_cluster_check(call->service, &call->actor, call->params[0], request, 1, how, &result, &problem) < 0) {
        api_problem(call, &problem);
    } else {
        json_t *json = render_started(&result);
        audit_failures(call, json_object_get(json, "refused"));
        api_reply_json(call, 202, json);
    }
    service_check_result_free(&result);
}

void api_check_start(struct api_call *call)
{
    struct service_check_request request = {.by_instance = false};
    struct service_check_how how = {.urgency = URGENCY_AFTER_JOBS};
    char profile[16] = "quick";
    bool force = false;
    json_t *nodes = NULL, *checks = NULL;
    auto_json json_t *body = NULL;
    const struct json_field fields[] = {
        {.name = "group", .type = JSON_FIELD_TEXT, .target = request.group, .size = sizeof request.group, .min = 1},
        {.name = "nodes", .type = JSON_FIELD_ARRAY, .target = &nodes, .min = 1, .max = NODES_MAX},
        {.name = "checks", .type = JSON_FIELD_ARRAY, .target = &checks, .min = 1, .max = DEEP_CHECK_COUNT},
        {.name = "profile",
         .type = JSON_FIELD_TEXT,
         .target = profile,
         .size = sizeof profile,
         .check = check_profile,
         .rule = "quick or deep"},
        {.name = "force", .type = JSON_FIELD_BOOL, .target = &force},
    };
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    if (request.group[0] == '\0' && nodes == NULL) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "The body names neither a group nor nodes.");
        return;
    }
    (void)deep_profile_parse(profile, &how.profile);
    how.urgency = force ? URGENCY_NOW : URGENCY_AFTER_JOBS;
    how.needs_spare = how.profile == DEEP_PROFILE_DEEP && !force;
    if (!read_checks(call, checks, &request.checks))
        return;
    autofree const char **names = read_nodes(call, nodes);
    if (names == NULL)
        return;
    request.nodes = names;
    request.node_count = json_array_size(nodes);
    start(call, &request, &how);
}

/* --- listed and described ---------------------------------------------------------------------------- */

static int list_row(const void *row, void *arg)
{
    const struct deep_run *run = row;
    struct page *page = arg;
    if (page_wants(page))
        page_add_id(page, render_deep_run(run), run->id);
    return 0;
}

void api_check_list(struct api_call *call)
{
    struct page page;
    struct problem problem;
    char cluster[NAME_MAX_BYTES] = "", node[NODE_NAME_MAX_BYTES] = "";
    page_init(&page, 'k');
    const struct api_query query[] = {
        {.name = "cluster", .type = API_QUERY_TEXT, .target = cluster, .size = sizeof cluster},
        {.name = "node", .type = API_QUERY_TEXT, .target = node, .size = sizeof node},
        PAGE_QUERY(page),
    };
    if (api_query(call, query, ARRAY_LEN(query)) != 0 || page_begin(call, &page, true) != 0)
        return;
    if (service_check_list(call->service, cluster[0] != '\0' ? cluster : NULL, node[0] != '\0' ? node : NULL,
                           page.key_id, page_rows(&page), list_row, &page, &problem) != 0) {
        page_free(&page);
        api_problem(call, &problem);
        return;
    }
    page_reply(call, &page);
}

static int add_test(const void *row, void *arg)
{
    const struct db_deep_test_row *r = row;
    json_array_append_new(arg, render_deep_test(&r->test));
    return 0;
}

void api_check_describe(struct api_call *call)
{
    struct problem problem;
    auto_json json_t *tests = json_array();
    autofree struct deep_run *run = own_calloc(1, sizeof *run);
    if (service_check_describe(call->service, call->params[0], run, add_test, tests, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = render_deep_run(run);
    json_object_set(json, "tests", tests);
    api_reply_json(call, 200, json);
}

/* --- the log, in HyperPod's formats ------------------------------------------------------------------ */

static int add_log(const void *row, void *arg)
{
    const struct db_deep_test_row *r = row;
    struct text *out = arg;
    text_add(out, r->log);
    if (r->log[0] != '\0' && !text_ends_with(r->log, "\n"))
        text_add_char(out, '\n');
    return 0;
}

/* As HyperPod's stream DeepHealthCheckResults has it. */
static void add_failure(const struct deep_run *run, struct text *out)
{
    char at[CLOCK_TEXT_MAX];
    clock_format(run->finished_at, at);
    snprintf(at + strcspn(at, "."), 2, "Z"); /* to the second */
    autofree char *message =
        own_printf("Encountered FaultyInstance. Replace the Instance. Region: " REGION ", InstanceType: %s. ERROR:%s",
                   run->instance_type, run->detail);
    auto_json json_t *json = json_object();
    json_put_text(json, "level", "error");
    json_put_text(json, "ts", at);
    json_put(json, "msg", render_text(message));
    autofree char *line = json_dumps(json, JSON_COMPACT);
    text_printf(out, "%s\n", line);
}

void api_check_read_logs(struct api_call *call)
{
    struct problem problem;
    AUTO(text) struct text out = {0};
    autofree struct deep_run *run = own_calloc(1, sizeof *run);
    if (service_check_describe(call->service, call->params[0], run, add_log, &out, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    if (run->state == DEEP_STATE_FAILED)
        add_failure(run, &out);
    json_t *json = json_object();
    json_put_text(json, "id", run->uid);
    json_put(json, "log", render_text(text_get(&out)));
    api_reply_json(call, 200, json);
}
