/* Nodes: slots with a name that instances fill, and what a person may ask of one. */
#include "server/service/node/node.h"
#include "api/choose.h"
#include "api/page.h"
#include "api/render.h"
#include "api/v1/spec_words.h"
#include "api/v1/v1.h"
#include "base/nearest.h"
#include "server/service/agent/agent_settings.h"
#include "server/service/agent/machine.h"
#include "server/service/node/lemon.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define XID_MAX 999 /* above all codes of the driver; the service knows which exist */

CHOOSE(node_state)
CHOOSE(health)

static int list_row(const void *row, void *arg)
{
    const struct db_node_row *node = row;
    struct page *page = arg;
    if (page_wants(page))
        page_add(page, render_node(node), node->node.name);
    return 0;
}

void api_node_list(struct api_call *call)
{
    struct page page;
    struct problem problem;
    char group[NAME_MAX_BYTES] = "";
    int state = -1, health = -1;
    page_init(&page, 'n');
    const struct api_query query[] = {
        {.name = "group", .type = API_QUERY_TEXT, .target = group, .size = sizeof group, .rule = "a group's name"},
        {.name = "state",
         .type = API_QUERY_CHOICE,
         .target = &state,
         .choose = choose_node_state,
         .rule = "a state of a node, such as ready or held"},
        {.name = "health",
         .type = API_QUERY_CHOICE,
         .target = &health,
         .choose = choose_health,
         .rule = "unknown, healthy, degraded or unhealthy"},
        PAGE_QUERY(page),
    };
    if (api_query(call, query, ARRAY_LEN(query)) != 0 || page_begin(call, &page, false) != 0)
        return;
    if (service_node_list(call->service, call->params[0], group[0] != '\0' ? group : NULL, state, health, page.key,
                          page_rows(&page), list_row, &page, &problem) != 0) {
        page_free(&page);
        api_problem(call, &problem);
        return;
    }
    page_reply(call, &page);
}

/* "disk.period 5m file" */
static json_t *render_setting(const char *line)
{
    char name[AGENT_SETTING_NAME_MAX_BYTES] = "", value[AGENT_SETTING_VALUE_MAX_BYTES] = "";
    const char *blank = strchr(line, ' '), *last = strrchr(line, ' ');
    if (blank != NULL && last > blank) {
        (void)text_copy_bytes(name, sizeof name, line, (size_t)(blank - line));
        (void)text_copy_bytes(value, sizeof value, blank + 1, (size_t)(last - blank - 1));
    }
    return json_pack("{s:s, s:s, s:s}", "name", name, "value", value, "source", last != NULL ? last + 1 : "");
}

/* What its agent goes by, where anything is said of its group or by a file of its own. */
static void put_settings(struct api_call *call, json_t *node)
{
    struct problem problem;
    autofree struct group_agent_settings *wanted = own_calloc(1, sizeof *wanted);
    autofree struct agent_settings_report *told = own_calloc(1, sizeof *told);
    if (service_agent_settings_of_node(call->service, call->params[0], call->params[1], wanted, told, &problem) != 0 ||
        (wanted->revision == 0 && told->at == 0))
        return;
    json_t *json = json_object(), *settings = json_array();
    json_put_i64(json, "groupRevision", wanted->revision);
    json_put_i64(json, "revision", told->revision);
    if (told->refused[0] != '\0')
        json_put_text(json, "refused", told->refused);
    if (told->file_refused[0] != '\0')
        json_put_text(json, "fileRefused", told->file_refused);
    for (size_t i = 0; i < told->count; i++)
        json_array_append_new(settings, render_setting(told->lines[i]));
    json_put(json, "settings", settings);
    json_put_time(json, "toldAt", told->at);
    json_put(node, "agentSettings", json);
}

/* Checks that could not find out: nothing else of a node says so, and what is not looked at is not known to be well. */
static void put_unknown_checks(struct api_call *call, json_t *node)
{
    struct problem problem;
    autofree struct service_machine *machine = own_calloc(1, sizeof *machine);
    if (service_node_hardware(call->service, call->params[0], call->params[1], machine, &problem) != 0)
        return;
    json_t *unknown = json_array();
    for (size_t i = 0; i < machine->check_count; i++)
        if (machine->checks[i].has_run && machine->checks[i].result == CHECK_RESULT_UNKNOWN &&
            strcmp(machine->checks[i].boot_id, machine->boot_id) == 0)
            json_array_append_new(unknown, render_check_state(&machine->checks[i], machine->boot_id));
    if (json_array_size(unknown) > 0)
        json_put(node, "unknownChecks", unknown);
    else
        json_decref(unknown);
}

static void put_lemon(struct api_call *call, json_t *node)
{
    struct problem problem;
    struct service_lemon lemon;
    if (service_lemon_get(call->service, call->params[0], call->params[1], &lemon, &problem) == 0)
        json_put(node, "lemon", render_lemon(&lemon));
}

/* What people want on it as labels and taints, and what of that it carries. */
static void put_labels(struct api_call *call, json_t *json, const struct node *node)
{
    struct problem problem;
    AUTO(group_spec) struct group_spec spec = {0};
    AUTO(kubernetes_spec) struct kubernetes_spec carried = {0};
    if (service_node_spec(call->service, node, &spec, &carried, &problem) != 0)
        return;
    api_show_kubernetes(json, &spec.kubernetes);
    api_show_carried(json, &carried);
}

static void reply_view(struct api_call *call)
{
    struct problem problem;
    struct service_names names = {0};
    autofree struct service_node_view *view = own_calloc(1, sizeof *view);
    if (service_node_describe(call->service, call->params[0], call->params[1], view, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    if (view->last_decision.operation_id != 0)
        (void)service_names(call->service, 0, 0, view->last_decision.operation_id, &names);
    json_t *json = render_node_view(view, names.operation);
    put_settings(call, json);
    put_unknown_checks(call, json);
    put_lemon(call, json);
    put_labels(call, json, &view->row.node);
    api_reply_resource(call, 200, json, NULL, service_node_revision(&view->row.node));
}

void api_node_describe(struct api_call *call)
{
    reply_view(call);
}

/* "" forgets it. */
static bool is_place(const char *name)
{
    for (; *name != '\0'; name++)
        if (!isalnum((unsigned char)*name) && strchr(".:_/-", *name) == NULL)
            return false;
    return true;
}

/* Names borrowed from the object. False: it has answered. */
static bool read_topology(struct api_call *call, json_t *shared, struct service_node_change *change)
{
    const char *label;
    json_t *value;
    json_object_foreach(shared, label, value)
    {
        enum topology_level level;
        const char *domain = json_string_value(value);
        if (topology_label_parse(label, &level) != 0 || level == TOPOLOGY_LEVEL_ZONE) {
            struct nearest nearest = {.word = label};
            for (int i = 0; i < TOPOLOGY_LEVEL_COUNT; i++)
                if (i != TOPOLOGY_LEVEL_ZONE)
                    nearest_see(&nearest, topology_level_text((enum topology_level)i));
            autofree char *what = nearest_say(&nearest);
            api_problem_printf(call, PROBLEM_INVALID_VALUE,
                               "topology has chassis, ultraserver, switch, rack and powerDomain, and the zone is "
                               "chosen with the slot: %s.",
                               what);
            return false;
        }
        if (domain == NULL || strlen(domain) >= TOPOLOGY_NAME_MAX_BYTES || !is_place(domain)) {
            api_problem_printf(call, PROBLEM_INVALID_VALUE,
                               "topology.%s must be a name of at most %d letters, digits and the characters .:_/-.",
                               topology_level_text(level), TOPOLOGY_NAME_MAX_BYTES - 1);
            return false;
        }
        change->domain[level] = domain;
    }
    return true;
}

void api_node_update(struct api_call *call)
{
    struct problem problem;
    struct node node;
    struct service_node_change change = {.says_out = false};
    int64_t revision;
    json_t *shared = NULL;
    auto_json json_t *body = NULL;
    const struct json_field fields[] = {
        {.name = "optedOut", .type = JSON_FIELD_BOOL, .target = &change.opted_out, .ret_present = &change.says_out},
        {.name = "topology", .type = JSON_FIELD_OBJECT, .target = &shared}};
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0 || api_if_match(call, &revision) != 0 ||
        !read_topology(call, shared, &change))
        return;
    if (!change.says_out && shared == NULL) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "The body names neither optedOut nor topology.");
        return;
    }
    if (service_node_update(call->service, &call->actor, call->params[0], call->params[1], &change, revision, &node,
                            &problem) != 0)
        api_problem(call, &problem);
    else
        reply_view(call);
}

/* --- operations on a node ------------------------------------------------------------------------------ */

static int check_urgency(const char *text)
{
    enum urgency urgency;
    return urgency_parse(text, &urgency);
}

static void operate(struct api_call *call, enum operation_kind kind)
{
    struct problem problem;
    char reason[REASON_MAX_BYTES] = "", urgency_name[16] = "after-jobs", key[KEY_MAX_BYTES], location[96];
    enum urgency urgency;
    auto_json json_t *body = NULL;
    const struct json_field fields[] = {
        {.name = "reason", .type = JSON_FIELD_TEXT, .target = reason, .size = sizeof reason, API_LINE},
        {.name = "urgency",
         .type = JSON_FIELD_TEXT,
         .target = urgency_name,
         .size = sizeof urgency_name,
         .check = check_urgency,
         .rule = "after-jobs or now"},
    };
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0 || api_idempotency_key(call, key) != 0)
        return;
    (void)urgency_parse(urgency_name, &urgency);
    autofree struct operation *operation = own_calloc(1, sizeof *operation);
    if (service_node_operate(call->service, &call->actor, call->params[0], call->params[1], kind, urgency, reason, key,
                             operation, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    snprintf(location, sizeof location, "/v1/operations/%s", operation->uid);
    api_reply_resource(call, 202, render_operation(operation, call->params[0], call->params[1]), location, 0);
}

void api_node_reboot(struct api_call *call)
{
    operate(call, OPERATION_KIND_REBOOT);
}

void api_node_replace(struct api_call *call)
{
    operate(call, OPERATION_KIND_REPLACE);
}

void api_node_release(struct api_call *call)
{
    operate(call, OPERATION_KIND_RELEASE);
}

/* --- why, and the test line ------------------------------------------------------------------------------ */

void api_node_explain(struct api_call *call)
{
    struct problem problem;
    struct service_explanation explanation;
    autofree struct service_node_view *view = own_calloc(1, sizeof *view);
    if (service_node_describe(call->service, call->params[0], call->params[1], view, &problem) != 0 ||
        service_node_explain(call->service, call->params[0], call->params[1], &explanation, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = render_explanation(&explanation, &view->row);
    service_explanation_free(&explanation);
    api_reply_json(call, 200, json);
}

void api_node_inject_xid(struct api_call *call)
{
    struct problem problem;
    int64_t xid = 0;
    char pci[DEVICE_MAX_BYTES] = "", line[RAW_LINE_MAX_BYTES];
    auto_json json_t *body = NULL;
    const struct json_field fields[] = {
        {.name = "xid", .type = JSON_FIELD_I64, .required = true, .target = &xid, .min = 1, .max = XID_MAX},
        {.name = "pci", .type = JSON_FIELD_TEXT, .target = pci, .size = sizeof pci, .min = 1},
    };
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    if (service_node_inject_xid(call->service, &call->actor, call->params[0], call->params[1], (int)xid, pci, line,
                                &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = json_object();
    json_put_text(json, "line", line);
    api_reply_json(call, 202, json);
}
