/* The audit log, newest first. */
#include "api/page.h"
#include "api/v1/v1.h"
#include "base/text.h"
#include "server/service/access/access.h"

struct audit_query {
    char cluster[NAME_MAX_BYTES], actor[NAME_MAX_BYTES], operation[AUDIT_WORD_MAX_BYTES];
    char resource[NAME_MAX_BYTES], after[CLOCK_TEXT_MAX], before[CLOCK_TEXT_MAX];
    int outcome;
};

static json_t *render(const struct audit *audit)
{
    json_t *json = json_object();
    json_put_i64(json, "id", audit->id);
    json_put_time(json, "at", audit->at);
    json_put_text(json, "operation", audit->operation);
    json_put_text(json, "outcome", audit_outcome_text(audit->outcome));
    json_put_text(json, "code", audit->code);
    json_put_text(json, "actor", audit->actor);
    json_put_text(json, "credential", audit->credential);
    json_put_text(json, "peer", audit->peer);
    json_put_text(json, "cluster", audit->cluster);
    json_put_text(json, "resource", audit->resource);
    json_put_text(json, "requestId", audit->request_id);
    json_put_i64(json, "count", audit->count);
    return json;
}

static int list_row(const void *row, void *arg)
{
    const struct audit *audit = row;
    struct page *page = arg;
    if (page_wants(page))
        page_add_id(page, render(audit), audit->id);
    return 0;
}

static int choose_outcome(const char *text, int *ret_choice)
{
    enum audit_outcome outcome;
    int rc = audit_outcome_parse(text, &outcome);
    if (rc == 0)
        *ret_choice = (int)outcome;
    return rc;
}

bool api_v1_time(struct api_call *call, const char *name, const char *text, int64_t *ret_ms)
{
    if (text[0] == '\0' || clock_parse(text, ret_ms) == 0)
        return true;
    api_problem_printf(call, PROBLEM_INVALID_VALUE,
                       "The query parameter \"%s\" must be a time such as 2026-11-20T15:00:00Z.", name);
    return false;
}

void api_audit_list(struct api_call *call)
{
    struct page page;
    struct problem problem;
    struct audit_query q = {.outcome = -1};
    struct db_audit_filter filter = {
        .cluster = q.cluster, .actor = q.actor, .operation = q.operation, .resource = q.resource};
    page_init(&page, 'u');
    const struct api_query query[] = {
        {.name = "cluster", .type = API_QUERY_TEXT, .target = q.cluster, .size = sizeof q.cluster},
        {.name = "actor", .type = API_QUERY_TEXT, .target = q.actor, .size = sizeof q.actor},
        {.name = "operation", .type = API_QUERY_TEXT, .target = q.operation, .size = sizeof q.operation},
        {.name = "resource", .type = API_QUERY_TEXT, .target = q.resource, .size = sizeof q.resource},
        {.name = "after", .type = API_QUERY_TEXT, .target = q.after, .size = sizeof q.after},
        {.name = "before", .type = API_QUERY_TEXT, .target = q.before, .size = sizeof q.before},
        {.name = "outcome",
         .type = API_QUERY_CHOICE,
         .target = &q.outcome,
         .choose = choose_outcome,
         .rule = "succeeded, refused or failed"},
        PAGE_QUERY(page),
    };
    if (api_query(call, query, ARRAY_LEN(query)) != 0 || !api_v1_time(call, "after", q.after, &filter.after_at) ||
        !api_v1_time(call, "before", q.before, &filter.before_at) || page_begin(call, &page, true) != 0)
        return;
    filter.outcome = q.outcome;
    filter.before_id = page.key_id;
    filter.limit = page_rows(&page);
    if (service_audit_list(call->service, &filter, list_row, &page, &problem) != 0) {
        page_free(&page);
        api_problem(call, &problem);
        return;
    }
    page_reply(call, &page);
}
