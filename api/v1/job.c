/* Jobs of a cluster's scheduler: listed, and described with what hit their nodes. */
#include "api/page.h"
#include "api/render.h"
#include "api/v1/v1.h"

#include <stdio.h>

static int list_row(const void *row, void *arg)
{
    const struct cluster_job *job = row;
    struct page *page = arg;
    if (page_wants(page))
        page_add(page, render_job(job), job->id);
    return 0;
}

void api_job_list(struct api_call *call)
{
    struct page page;
    struct problem problem;
    page_init(&page, 'j');
    const struct api_query query[] = {PAGE_QUERY(page)};
    if (api_query(call, query, ARRAY_LEN(query)) != 0 || page_begin(call, &page, false) != 0)
        return;
    if (service_job_list(call->service, call->params[0], page.key, page_rows(&page), list_row, &page, &problem) != 0) {
        page_free(&page);
        api_problem(call, &problem);
        return;
    }
    page_reply(call, &page);
}

struct description {
    json_t *job, *faults, *repairs;
    const char *cluster;
};

static int take_job(const struct cluster_job *job, void *arg)
{
    struct description *description = arg;
    description->job = render_job(job);
    return 0;
}

static int take_fault(const char *node, const struct verdict *verdict, void *arg)
{
    struct description *description = arg;
    json_t *fault = render_verdict(verdict);
    json_put_text(fault, "node", node);
    json_array_append_new(description->faults, fault);
    return 0;
}

static int take_repair(const char *node, const struct operation *operation, void *arg)
{
    struct description *description = arg;
    json_array_append_new(description->repairs, render_operation(operation, description->cluster, node));
    return 0;
}

void api_job_describe(struct api_call *call)
{
    struct problem problem;
    struct description description = {.faults = json_array(), .repairs = json_array(), .cluster = call->params[0]};
    const struct service_job_readers readers = {
        .job = take_job, .fault = take_fault, .repair = take_repair, .arg = &description};
    int status = service_job_get(call->service, call->params[0], call->params[1], &readers, &problem);
    if (status != 0) {
        json_decref(description.job);
        json_decref(description.faults);
        json_decref(description.repairs);
        api_problem(call, &problem);
        return;
    }
    json_put(description.job, "faults", description.faults);
    json_put(description.job, "repairs", description.repairs);
    api_reply_json(call, 200, description.job);
}
