/* Verdicts: what a node's agent saw, newest first. */
#include "api/choose.h"
#include "api/page.h"
#include "api/render.h"
#include "api/v1/v1.h"
#include "server/service/node/node.h"

CHOOSE(verdict_state)

static int list_row(const void *row, void *arg)
{
    const struct verdict *verdict = row;
    struct page *page = arg;
    if (page_wants(page))
        page_add_id(page, render_verdict(verdict), verdict->id);
    return 0;
}

void api_verdict_list(struct api_call *call)
{
    struct page page;
    struct problem problem;
    int state = -1;
    page_init(&page, 'v');
    const struct api_query query[] = {
        {.name = "state",
         .type = API_QUERY_CHOICE,
         .target = &state,
         .choose = choose_verdict_state,
         .rule = "open, resolved or stale"},
        PAGE_QUERY(page),
    };
    if (api_query(call, query, ARRAY_LEN(query)) != 0 || page_begin(call, &page, true) != 0)
        return;
    if (service_verdict_list(call->service, call->params[0], call->params[1], state, page.key_id, page_rows(&page),
                             list_row, &page, &problem) != 0) {
        page_free(&page);
        api_problem(call, &problem);
        return;
    }
    page_reply(call, &page);
}
