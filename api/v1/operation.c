/* Operations: what takes time, watched and, before the point of no return, cancelled. */
#include "api/choose.h"
#include "api/page.h"
#include "api/render.h"
#include "api/v1/v1.h"
#include "server/service/node/node.h"

CHOOSE(operation_state)
CHOOSE(operation_kind)

struct list {
    struct page page;
    struct operation *rows; /* names are looked up after the list was read: one read at a time */
    size_t count;
};

static int list_row(const void *row, void *arg)
{
    struct list *list = arg;
    if (list->count < (size_t)page_rows(&list->page))
        list->rows[list->count++] = *(const struct operation *)row;
    return 0;
}

static json_t *render_named(struct api_call *call, const struct operation *operation)
{
    struct service_names names = {0};
    (void)service_names(call->service, operation->cluster_id, operation->node_id, 0,
                        &names); /* no name is shown as none */
    return render_operation(operation, names.cluster[0] != '\0' ? names.cluster : operation->cluster, names.node);
}

static void reply_list(struct api_call *call, struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (page_wants(&list->page))
            page_add_id(&list->page, render_named(call, &list->rows[i]), list->rows[i].id);
    page_reply(call, &list->page);
}

void api_operation_list(struct api_call *call)
{
    struct list list = {0};
    struct problem problem;
    char cluster[NAME_MAX_BYTES] = "", node[NODE_NAME_MAX_BYTES] = "";
    int state = -1, kind = -1;
    page_init(&list.page, 'o');
    const struct api_query query[] = {
        {.name = "cluster", .type = API_QUERY_TEXT, .target = cluster, .size = sizeof cluster},
        {.name = "node", .type = API_QUERY_TEXT, .target = node, .size = sizeof node},
        {.name = "state",
         .type = API_QUERY_CHOICE,
         .target = &state,
         .choose = choose_operation_state,
         .rule = "pending, running, succeeded, failed or cancelled"},
        {.name = "kind",
         .type = API_QUERY_CHOICE,
         .target = &kind,
         .choose = choose_operation_kind,
         .rule = "a kind of operation such as reboot, replace or create-cluster"},
        PAGE_QUERY(list.page),
    };
    if (api_query(call, query, ARRAY_LEN(query)) != 0 || page_begin(call, &list.page, true) != 0)
        return;
    list.rows = own_calloc((size_t)page_rows(&list.page), sizeof *list.rows);
    const enum operation_kind wanted = kind < 0 ? OPERATION_KIND_LAUNCH : (enum operation_kind)kind;
    const struct db_operation_filter filter = {.state = state,
                                               .before_id = list.page.key_id,
                                               .limit = page_rows(&list.page),
                                               .kind = kind < 0 ? NULL : &wanted};
    if (service_operation_list(call->service, cluster[0] != '\0' ? cluster : NULL, node[0] != '\0' ? node : NULL,
                               &filter, list_row, &list, &problem) != 0) {
        page_free(&list.page);
        api_problem(call, &problem);
    } else {
        reply_list(call, &list);
    }
    free(list.rows);
}

void api_operation_describe(struct api_call *call)
{
    struct problem problem;
    char why[SENTENCE_MAX_BYTES];
    autofree struct operation *operation = own_calloc(1, sizeof *operation);
    if (service_operation_get(call->service, call->params[0], operation, &problem) != 0 ||
        service_operation_why(call->service, operation, why, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *reply = render_named(call, operation);
    json_put_text(reply, "why", why);
    api_reply_json(call, 200, reply);
}

void api_operation_cancel(struct api_call *call)
{
    struct problem problem;
    auto_json json_t *body = NULL;
    autofree struct operation *operation = own_calloc(1, sizeof *operation);
    if (api_body(call, NULL, 0, &body) != 0)
        return;
    if (service_operation_cancel(call->service, &call->actor, call->params[0], operation, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_json(call, 202, render_named(call, operation));
}
