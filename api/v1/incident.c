/* Incidents of many nodes: listed, described with their nodes, and declared over. */
#include "api/page.h"
#include "api/render.h"
#include "api/v1/v1.h"
#include "base/status.h"
#include "base/text.h"
#include "server/service/node/node.h"

static int list_row(const void *row, void *arg)
{
    const struct shared_incident *incident = row;
    struct page *page = arg;
    if (page_wants(page))
        page_add_id(page, render_incident(incident), incident->id);
    return 0;
}

static int choose_open(const char *text, int *ret_value)
{
    *ret_value = 0;
    return text_equal(text, "open") ? 0 : STATUS_INVALID;
}

void api_incident_list(struct api_call *call)
{
    struct page page;
    struct problem problem;
    char cluster[NAME_MAX_BYTES] = "";
    int state = -1;
    page_init(&page, 'i');
    const struct api_query query[] = {
        {.name = "cluster", .type = API_QUERY_TEXT, .target = cluster, .size = sizeof cluster},
        {.name = "state", .type = API_QUERY_CHOICE, .target = &state, .choose = choose_open, .rule = "open"},
        PAGE_QUERY(page),
    };
    if (api_query(call, query, ARRAY_LEN(query)) != 0 || page_begin(call, &page, true) != 0)
        return;
    if (service_incident_list(call->service, cluster[0] != '\0' ? cluster : NULL, state >= 0, page.key_id,
                              page_rows(&page), list_row, &page, &problem) != 0) {
        page_free(&page);
        api_problem(call, &problem);
        return;
    }
    page_reply(call, &page);
}

/* A word that is no number is no incident, and that is answered. */
static int read_id(struct api_call *call, int64_t *ret_id)
{
    int status = text_parse_i64(call->params[0], 1, INT64_MAX, ret_id);
    if (status != 0)
        api_problem_printf(call, PROBLEM_NOT_FOUND, "There is no incident \"%s\": incidents have numbers.",
                           call->params[0]);
    return status;
}

static int add_node(const void *row, void *arg)
{
    json_array_append_new(arg, render_incident_node(row));
    return 0;
}

static void reply_incident(struct api_call *call, int64_t id)
{
    struct problem problem;
    struct shared_incident incident;
    auto_json json_t *nodes = json_array();
    if (service_incident_get(call->service, id, &incident, add_node, nodes, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = render_incident(&incident);
    json_put(json, "members", json_incref(nodes));
    api_reply_json(call, 200, json);
}

void api_incident_describe(struct api_call *call)
{
    int64_t id;
    if (read_id(call, &id) == 0)
        reply_incident(call, id);
}

void api_incident_end(struct api_call *call)
{
    struct problem problem;
    struct shared_incident incident;
    auto_json json_t *body = NULL;
    int64_t id;
    if (api_body(call, NULL, 0, &body) != 0 || read_id(call, &id) != 0)
        return;
    if (service_incident_end(call->service, &call->actor, id, &incident, &problem) != 0)
        api_problem(call, &problem);
    else
        reply_incident(call, id);
}
