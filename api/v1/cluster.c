/* Clusters: the only thing a person makes; all else follows from its instance groups. */
#include "server/service/cluster/cluster.h"
#include "api/choose.h"
#include "api/page.h"
#include "api/render.h"
#include "api/v1/spec.h"
#include "api/v1/v1.h"
#include "server/service/node/node.h"

#include <stdio.h>
#include <string.h>

/* Its view, or what is known of one that is gone by now. NULL: it has answered. */
static json_t *show_cluster(struct api_call *call, const char *name, const struct cluster *gone, int64_t *ret_revision)
{
    struct problem problem;
    struct service_cluster_view view;
    if (service_cluster_describe(call->service, name, &view, &problem) != 0) {
        static const struct cluster_counts none;
        if (gone == NULL || problem.code != PROBLEM_NOT_FOUND) {
            api_problem(call, &problem);
            return NULL;
        }
        *ret_revision = gone->revision;
        return render_cluster(gone, &none);
    }
    autofree struct service_names *names = own_calloc(view.active_count + 1, sizeof *names);
    for (size_t i = 0; i < view.active_count; i++)
        (void)service_names(call->service, 0, view.active[i].node_id, 0, &names[i]); /* no name is shown as none */
    json_t *json = render_cluster_view(&view, names);
    json_t *groups = json_object_get(json, "instanceGroups");
    api_show_cluster_spec(json, &view.spec);
    for (size_t i = 0; i < view.group_count; i++) {
        api_show_group_spec(json_array_get(groups, i), &view.groups[i].spec);
        api_show_carried(json_array_get(groups, i), &view.groups[i].carried);
    }
    *ret_revision = view.cluster.revision;
    service_cluster_view_free(&view);
    return json;
}

json_t *api_show_operation(struct api_call *call, const char *uid)
{
    struct problem problem;
    autofree struct operation *operation = own_calloc(1, sizeof *operation);
    if (uid[0] == '\0' || service_operation_get(call->service, uid, operation, &problem) != 0)
        return NULL; /* the change is made, whether it can be shown or not */
    return render_operation(operation, operation->cluster, "");
}

void api_reply_cluster(struct api_call *call, unsigned status, const char *name, const struct cluster *changed)
{
    char location[128] = "";
    int64_t revision;
    json_t *json = show_cluster(call, name, changed, &revision);
    if (json == NULL)
        return;
    json_t *operation = changed == NULL ? NULL : api_show_operation(call, changed->operation);
    if (operation != NULL)
        json_put(json, "operation", operation);
    if (status == 201)
        snprintf(location, sizeof location, "/v1/clusters/%s", name);
    else if (operation != NULL)
        snprintf(location, sizeof location, "/v1/operations/%s", changed->operation);
    api_reply_resource(call, status, json, location[0] != '\0' ? location : NULL, revision);
}

static int list_row(const struct cluster *cluster, const struct cluster_counts *counts, void *arg)
{
    struct page *page = arg;
    if (page_wants(page))
        page_add(page, render_cluster(cluster, counts), cluster->name);
    return 0;
}

void api_cluster_list(struct api_call *call)
{
    struct page page;
    struct problem problem;
    page_init(&page, 'c');
    const struct api_query query[] = {PAGE_QUERY(page)};
    if (api_query(call, query, ARRAY_LEN(query)) != 0 || page_begin(call, &page, false) != 0)
        return;
    if (service_cluster_list(call->service, page.key, page_rows(&page), list_row, &page, &problem) != 0) {
        page_free(&page);
        api_problem(call, &problem);
        return;
    }
    page_reply(call, &page);
}

/* --- create ---------------------------------------------------------------------------------------- */

/* Whether the request is only to be tried. False: it has answered. */
static bool read_dry_run(struct api_call *call, bool *ret_dry_run)
{
    int dry_run = false;
    const struct api_query query[] = {{.name = "dryRun",
                                       .type = API_QUERY_CHOICE,
                                       .target = &dry_run,
                                       .choose = api_choose_bool,
                                       .rule = "true or false"}};
    if (api_query(call, query, ARRAY_LEN(query)) != 0)
        return false;
    *ret_dry_run = dry_run != 0;
    return true;
}

void api_cluster_create(struct api_call *call)
{
    struct service_cluster_spec spec = {.name = ""};
    AUTO(api_cluster_body) struct api_cluster_body body = {0};
    struct problem problem;
    struct cluster cluster;
    auto_json json_t *json = NULL;
    if (!read_dry_run(call, &spec.dry_run) || api_json(call, &json) != 0 ||
        !api_cluster_body_read(call, json, false, &body))
        return;
    const struct cluster_words *words = &body.words;
    text_copy_cut(spec.name, sizeof spec.name, words->name);
    text_copy_cut(spec.scheduler, sizeof spec.scheduler, text_or_empty(words->scheduler));
    spec.recovery = words->recovery.given ? (enum node_recovery)words->recovery.value : NODE_RECOVERY_AUTOMATIC;
    spec.orchestrator = words->orchestrator.given ? (enum orchestrator)words->orchestrator.value
                                                  : service_cluster_orchestrator(call->service, spec.scheduler);
    spec.provisioning =
        words->provisioning.given ? (enum provisioning)words->provisioning.value : PROVISIONING_CONTINUOUS;
    spec.groups = body.groups;
    spec.group_count = body.group_count;
    spec.spec = cluster_spec_is_empty(&words->spec) ? NULL : &words->spec;
    if (service_cluster_create(call->service, &call->actor, &spec, &cluster, &problem) != 0)
        api_problem(call, &problem);
    else if (spec.dry_run)
        api_reply_empty(call, 204);
    else
        api_reply_cluster(call, 201, cluster.name, &cluster);
}

/* --- one cluster ------------------------------------------------------------------------------------- */

void api_cluster_describe(struct api_call *call)
{
    api_reply_cluster(call, 200, call->params[0], NULL);
}

void api_cluster_update(struct api_call *call)
{
    struct service_cluster_change change = {.merge = true};
    AUTO(api_cluster_body) struct api_cluster_body body = {0};
    struct problem problem;
    struct cluster cluster;
    auto_json json_t *json = NULL;
    if (!read_dry_run(call, &change.dry_run) || api_json(call, &json) != 0 ||
        api_if_match(call, &change.if_revision) != 0 || !api_cluster_body_read(call, json, true, &body))
        return;
    const struct cluster_words *words = &body.words;
    change.has_recovery = words->recovery.given;
    change.recovery = (enum node_recovery)words->recovery.value;
    change.has_provisioning = words->provisioning.given;
    change.provisioning = (enum provisioning)words->provisioning.value;
    change.scheduler = words->scheduler;
    change.groups = body.groups;
    change.group_count = body.group_count;
    change.groups_to_delete = (const char *const *)words->deleted.items;
    change.delete_count = words->deleted.count;
    change.spec = cluster_spec_is_empty(&words->spec) ? NULL : &words->spec;
    if (service_cluster_update(call->service, &call->actor, call->params[0], &change, &cluster, &problem) != 0)
        api_problem(call, &problem);
    else if (change.dry_run)
        api_reply_empty(call, 204);
    else
        api_reply_cluster(call, change.group_count + change.delete_count > 0 ? 202 : 200, cluster.name, &cluster);
}

void api_cluster_delete(struct api_call *call)
{
    struct problem problem;
    struct cluster cluster;
    if (service_cluster_delete(call->service, &call->actor, call->params[0], &cluster, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_cluster(call, 202, cluster.name, &cluster);
}
