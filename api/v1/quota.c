/* Compute quotas of a cluster, by name. */
#include "api/page.h"
#include "api/v1/governance.h"
#include "api/v1/v1.h"

static struct service_governance_ref ref_of(const struct api_call *call)
{
    return (struct service_governance_ref){
        .kind = GOVERNANCE_KIND_COMPUTE_QUOTA, .cluster = call->params[0], .name = call->params[1]};
}

static int list_row(const void *row, void *arg)
{
    const struct governance *governance = row;
    struct page *page = arg;
    if (page_wants(page))
        page_add(page, governance_render(governance), governance->name);
    return 0;
}

void api_quota_list(struct api_call *call)
{
    struct page page;
    struct problem problem;
    struct db_governance_search search = {.kind = GOVERNANCE_KIND_COMPUTE_QUOTA,
                                          .name_contains = "",
                                          .cluster_uid = "",
                                          .status = "",
                                          .order = GOVERNANCE_BY_NAME};
    page_init(&page, 'q');
    const struct api_query query[] = {PAGE_QUERY(page)};
    if (api_query(call, query, ARRAY_LEN(query)) != 0 || page_begin(call, &page, false) != 0)
        return;
    search.limit = page_rows(&page);
    text_copy_cut(search.cursor_text, sizeof search.cursor_text, page.key);
    search.cursor_id = page.key[0] != '\0' ? INT64_MAX : 0; /* behind every row of that name */
    if (service_governance_search(call->service, &search, call->params[0], list_row, &page, &problem) != 0) {
        page_free(&page);
        api_problem(call, &problem);
        return;
    }
    page_reply(call, &page);
}

void api_quota_create(struct api_call *call)
{
    governance_create(call, GOVERNANCE_KIND_COMPUTE_QUOTA);
}

void api_quota_describe(struct api_call *call)
{
    const struct service_governance_ref ref = ref_of(call);
    governance_describe(call, &ref);
}

void api_quota_update(struct api_call *call)
{
    const struct service_governance_ref ref = ref_of(call);
    governance_update(call, &ref);
}

void api_quota_delete(struct api_call *call)
{
    const struct service_governance_ref ref = ref_of(call);
    governance_delete(call, &ref);
}
