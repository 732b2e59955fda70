/* The timeline: newest first for people, upwards from an id for programs, live as a stream. */
#include "server/service/event/event.h"
#include "api/choose.h"
#include "api/intern.h"
#include "api/page.h"
#include "api/render.h"
#include "api/stream.h"
#include "api/v1/v1.h"
#include "server/service/node/node.h"

struct event_query {
    char cluster[NAME_MAX_BYTES], node[NODE_NAME_MAX_BYTES], operation[ID_UUID_MAX];
    int64_t after;
    char since[CLOCK_TEXT_MAX + 16];
    int kind, min_level; /* kind -1: any */
};

CHOOSE(event_kind)
CHOOSE(event_level)

static int list_row(const void *row, void *arg)
{
    const struct event *event = row;
    struct page *page = arg;
    if (page_wants(page))
        page_add_id(page, render_event(event), event->id);
    return 0;
}

/* An operation is named by its uid and stored by its row. False: it has answered. */
static bool find_operation(struct api_call *call, const char *uid, int64_t *ret_id)
{
    struct problem problem;
    *ret_id = 0;
    if (uid[0] == '\0')
        return true;
    autofree struct operation *operation = own_calloc(1, sizeof *operation);
    if (service_operation_get(call->service, uid, operation, &problem) != 0) {
        api_problem(call, &problem);
        return false;
    }
    *ret_id = operation->id;
    return true;
}

/* Which way: a cursor keeps the way it was made for, "after" asks for upwards. */
static void set_direction(struct page *page, int64_t after)
{
    char key[PAGE_KEY_MAX];
    bool up = page->cursor[0] == '\0' ? after >= 0 : cursor_decode(page->cursor, 'a', key) == 0;
    page->list = up ? 'a' : 'd';
}

void api_event_list(struct api_call *call)
{
    struct page page;
    struct problem problem;
    struct event_query q = {.after = -1, .kind = -1};
    struct db_event_filter filter = {0};
    page_init(&page, 'd');
    const struct api_query query[] = {
        {.name = "cluster", .type = API_QUERY_TEXT, .target = q.cluster, .size = sizeof q.cluster},
        {.name = "node", .type = API_QUERY_TEXT, .target = q.node, .size = sizeof q.node},
        {.name = "operation", .type = API_QUERY_TEXT, .target = q.operation, .size = sizeof q.operation},
        {.name = "kind",
         .type = API_QUERY_CHOICE,
         .target = &q.kind,
         .choose = choose_event_kind,
         .rule = "a kind of event, as EventKind lists them"},
        {.name = "minLevel",
         .type = API_QUERY_CHOICE,
         .target = &q.min_level,
         .choose = choose_event_level,
         .rule = "info, warn or error"},
        {.name = "since", .type = API_QUERY_TEXT, .target = q.since, .size = sizeof q.since},
        {.name = "after", .type = API_QUERY_I64, .target = &q.after, .min = 0, .max = INT64_MAX},
        PAGE_QUERY(page),
    };
    if (api_query(call, query, ARRAY_LEN(query)) != 0)
        return;
    set_direction(&page, q.after);
    if (!api_v1_time(call, "since", q.since, &filter.since) ||
        !find_operation(call, q.operation, &filter.operation_id) || page_begin(call, &page, true) != 0)
        return;
    filter.cluster = q.cluster[0] != '\0' ? q.cluster : NULL;
    filter.node = q.node[0] != '\0' ? q.node : NULL;
    filter.kind = q.kind >= 0 ? event_kind_text((enum event_kind)q.kind) : NULL;
    filter.min_level = (enum event_level)q.min_level;
    filter.newest_first = page.list == 'd';
    filter.limit = page_rows(&page);
    if (filter.newest_first)
        filter.before_id = page.key_id;
    else
        filter.after_id = page.key_id != 0 ? page.key_id : q.after;
    if (service_event_list(call->service, &filter, list_row, &page, &problem) != 0) {
        page_free(&page);
        api_problem(call, &problem);
        return;
    }
    page_reply(call, &page);
}

/* Last-Event-ID is what a browser sends when it comes back; it knows better than the address it was given. */
static bool read_last_event_id(struct api_call *call, int64_t *after)
{
    const char *header = http_header(call->http, "Last-Event-ID");
    if (header == NULL || header[0] == '\0' || text_parse_i64(header, 0, INT64_MAX, after) == 0)
        return true;
    api_problem_printf(call, PROBLEM_INVALID_VALUE, "Last-Event-ID must be the id of an event, a number.");
    return false;
}

void api_event_stream(struct api_call *call)
{
    struct event_query q = {.after = -1};
    const struct api_query query[] = {
        {.name = "cluster", .type = API_QUERY_TEXT, .target = q.cluster, .size = sizeof q.cluster},
        {.name = "node", .type = API_QUERY_TEXT, .target = q.node, .size = sizeof q.node},
        {.name = "after", .type = API_QUERY_I64, .target = &q.after, .min = 0, .max = INT64_MAX},
    };
    if (api_query(call, query, ARRAY_LEN(query)) != 0 || !read_last_event_id(call, &q.after))
        return;
    if (!stream_open(call->api->hub, call->http, auth_bearer(call->http), q.cluster, q.node, q.after))
        api_problem_printf(call, PROBLEM_UNAVAILABLE,
                           "All %d event streams are in use. Close one, or read /v1/events with after=.", STREAMS_MAX);
}
