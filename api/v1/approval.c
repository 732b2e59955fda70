/* Repairs that wait for a person's word: listed, approved and rejected. */
#include "server/service/node/approval.h"
#include "api/choose.h"
#include "api/page.h"
#include "api/v1/v1.h"

CHOOSE(approval_state)

static json_t *render(struct api_call *call, const struct approval *approval)
{
    char url[APPROVAL_URL_MAX], waits[SENTENCE_MAX_BYTES];
    struct service_names names = {0};
    (void)service_names(call->service, 0, approval->node_id, 0, &names); /* no name is shown as none */
    json_t *json = json_object();
    json_put_text(json, "id", approval->uid);
    json_put_text(json, "cluster", names.cluster);
    json_put_text(json, "node", names.node);
    json_put_text(json, "action", action_text(approval->action));
    json_put_text(json, "code", approval->code);
    json_put_text(json, "device", approval->device);
    json_put_text(json, "state", approval_state_text(approval->state));
    json_put_text(json, "sentence", approval->sentence);
    json_put_time(json, "askedAt", approval->asked_at);
    json_put_time(json, "expiresAt", approval->expires_at);
    json_put_time(json, "answeredAt", approval->answered_at);
    json_put_text(json, "answeredBy", approval->answered_by);
    json_put_text(json, "reason", approval->reason);
    service_approval_waits(call->service, approval, waits);
    if (waits[0] != '\0')
        json_put_text(json, "waitsFor", waits);
    service_approval_url(call->service, approval, url);
    if (call->actor.role >= ROLE_OPERATOR && url[0] != '\0') /* who may say yes may hand it on */
        json_put_text(json, "approvalUrl", url);
    return json;
}

struct list {
    struct page page;
    struct approval *rows; /* names are looked up after the list was read: one read at a time */
    size_t count;
};

static int list_row(const void *row, void *arg)
{
    struct list *list = arg;
    if (list->count < (size_t)page_rows(&list->page))
        list->rows[list->count++] = *(const struct approval *)row;
    return 0;
}

void api_approval_list(struct api_call *call)
{
    struct list list = {0};
    struct problem problem;
    int state = -1;
    page_init(&list.page, 'w');
    const struct api_query query[] = {
        {.name = "state",
         .type = API_QUERY_CHOICE,
         .target = &state,
         .choose = choose_approval_state,
         .rule = "asked, approved, rejected, expired, withdrawn or done"},
        PAGE_QUERY(list.page),
    };
    if (api_query(call, query, ARRAY_LEN(query)) != 0 || page_begin(call, &list.page, true) != 0)
        return;
    list.rows = own_calloc((size_t)page_rows(&list.page), sizeof *list.rows);
    if (service_approval_list(call->service, state, list.page.key_id, page_rows(&list.page), list_row, &list,
                              &problem) != 0) {
        page_free(&list.page);
        api_problem(call, &problem);
    } else {
        for (size_t i = 0; i < list.count; i++)
            if (page_wants(&list.page))
                page_add_id(&list.page, render(call, &list.rows[i]), list.rows[i].id);
        page_reply(call, &list.page);
    }
    free(list.rows);
}

static void answer(struct api_call *call, bool yes)
{
    struct problem problem;
    char reason[REASON_MAX_BYTES] = "";
    auto_json json_t *body = NULL;
    autofree struct approval *approval = own_calloc(1, sizeof *approval);
    const struct json_field fields[] = {
        {.name = "reason", .type = JSON_FIELD_TEXT, .target = reason, .size = sizeof reason, API_LINE}};
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    if (service_approval_answer(call->service, &call->actor, call->params[0], yes, reason, approval, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_json(call, 202, render(call, approval));
}

void api_approval_approve_operation(struct api_call *call)
{
    answer(call, true);
}

void api_approval_reject_operation(struct api_call *call)
{
    answer(call, false);
}
