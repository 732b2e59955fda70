/* Clusters: the only thing a person makes; all else follows from its instance groups. */
#include "api/choose.h"
#include "api/page.h"
#include "api/render.h"
#include "api/v1/spec.h"
#include "api/v1/v1.h"

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
    api_show_document(json, "CreateClusterRequest", view.document);
    api_show_strategy(json, view.document);
    for (size_t i = 0; i < view.group_count; i++)
        api_show_document(json_array_get(groups, i), "ClusterInstanceGroupSpecification", view.groups[i].document);
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

static int check_recovery(const char *text)
{
    enum node_recovery recovery;
    return node_recovery_parse(text, &recovery);
}

static int check_orchestrator(const char *text)
{
    enum orchestrator orchestrator;
    return orchestrator_parse(text, &orchestrator);
}

static int check_provisioning(const char *text)
{
    enum provisioning provisioning;
    return provisioning_parse(text, &provisioning);
}

#define RULE_RECOVERY "Automatic or None"
#define RULE_PROVISIONING "continuous or all-or-nothing"

/* The body parsed and parted: *ret_body has what is ours, *ret_rest what is the model's. False: it has answered. */
static bool parse_body(struct api_call *call, const char *const *own, size_t count, json_t **ret_body,
                       json_t **ret_rest)
{
    if (api_json(call, ret_body) != 0)
        return false;
    if (!json_is_object(*ret_body)) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "The body must be an object.");
        return false;
    }
    *ret_rest = api_split(*ret_body, own, count);
    return true;
}

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

static bool read_fields(struct api_call *call, json_t *body, const struct json_field *fields, size_t count)
{
    char error[JSON_ERROR_MAX];
    if (json_read(body, fields, count, error) == 0)
        return true;
    api_problem_printf(call, PROBLEM_INVALID_VALUE, "The body breaks a rule: %s.", error);
    return false;
}

/* False: it has answered. groups is borrowed from body. */
static bool read_spec(struct api_call *call, json_t *body, struct service_cluster_spec *spec, json_t **ret_groups)
{
    char recovery[16] = "Automatic", orchestrator[16] = "slurm", provisioning[16] = "continuous";
    const struct json_field fields[] = {
        {.name = "name",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = spec->name,
         .size = sizeof spec->name,
         .min = 1},
        {.name = "nodeRecovery",
         .type = JSON_FIELD_TEXT,
         .target = recovery,
         .size = sizeof recovery,
         .check = check_recovery,
         .rule = RULE_RECOVERY},
        {.name = "orchestrator",
         .type = JSON_FIELD_TEXT,
         .target = orchestrator,
         .size = sizeof orchestrator,
         .check = check_orchestrator,
         .rule = "slurm or none"},
        {.name = "nodeProvisioningMode",
         .type = JSON_FIELD_TEXT,
         .target = provisioning,
         .size = sizeof provisioning,
         .check = check_provisioning,
         .rule = RULE_PROVISIONING},
        {.name = "instanceGroups",
         .type = JSON_FIELD_ARRAY,
         .required = true,
         .target = ret_groups,
         .min = 1,
         .max = CLUSTER_GROUPS_MAX},
    };
    if (!read_fields(call, body, fields, ARRAY_LEN(fields)))
        return false;
    (void)node_recovery_parse(recovery, &spec->recovery);
    (void)orchestrator_parse(orchestrator, &spec->orchestrator);
    (void)provisioning_parse(provisioning, &spec->provisioning);
    return true;
}

void api_cluster_create(struct api_call *call)
{
    static const char *const own[] = {"name", "nodeRecovery", "orchestrator", "nodeProvisioningMode", "instanceGroups"};
    struct service_cluster_spec spec = {.name = ""};
    struct api_groups groups = {.count = 0};
    struct problem problem;
    struct cluster cluster;
    json_t *group_list = NULL;
    auto_json json_t *body = NULL, *rest = NULL;
    autofree char *document = NULL;
    if (!read_dry_run(call, &spec.dry_run) || !parse_body(call, own, ARRAY_LEN(own), &body, &rest) ||
        !read_spec(call, body, &spec, &group_list) || !api_cluster_document(call, rest, &document))
        return;
    if (!api_groups_read(call, group_list, false, &groups)) {
        api_groups_free(&groups);
        return;
    }
    spec.groups = groups.list;
    spec.group_count = groups.count;
    spec.document = document;
    int rc = service_cluster_create(call->service, &call->actor, &spec, &cluster, &problem);
    api_groups_free(&groups);
    if (rc != 0)
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

/* A list of names of groups, borrowed from json. False: it has answered. */
static bool read_names(struct api_call *call, const json_t *json, const char **names, size_t *ret_count)
{
    size_t i;
    const json_t *name;
    json_array_foreach(json, i, name)
    {
        if (!json_is_string(name)) {
            api_problem_printf(call, PROBLEM_INVALID_VALUE, "instanceGroupsToDelete[%zu] must be a text.", i);
            return false;
        }
        names[i] = json_string_value(name);
    }
    *ret_count = json_array_size(json);
    return true;
}

struct patch {
    char recovery[16], provisioning[16];
    bool has_groups, has_deleted;
    json_t *groups, *deleted; /* borrowed from the body */
};

static bool read_patch(struct api_call *call, json_t *body, struct service_cluster_change *change, struct patch *patch)
{
    const struct json_field fields[] = {
        {.name = "nodeRecovery",
         .type = JSON_FIELD_TEXT,
         .target = patch->recovery,
         .size = sizeof patch->recovery,
         .ret_present = &change->has_recovery,
         .check = check_recovery,
         .rule = RULE_RECOVERY},
        {.name = "nodeProvisioningMode",
         .type = JSON_FIELD_TEXT,
         .target = patch->provisioning,
         .size = sizeof patch->provisioning,
         .ret_present = &change->has_provisioning,
         .check = check_provisioning,
         .rule = RULE_PROVISIONING},
        {.name = "instanceGroups",
         .type = JSON_FIELD_ARRAY,
         .target = &patch->groups,
         .min = 1,
         .max = CLUSTER_GROUPS_MAX},
        {.name = "instanceGroupsToDelete",
         .type = JSON_FIELD_ARRAY,
         .target = &patch->deleted,
         .min = 1,
         .max = CLUSTER_GROUPS_MAX},
    };
    if (!read_fields(call, body, fields, ARRAY_LEN(fields)))
        return false;
    if (change->has_recovery)
        (void)node_recovery_parse(patch->recovery, &change->recovery);
    if (change->has_provisioning)
        (void)provisioning_parse(patch->provisioning, &change->provisioning);
    return true;
}

void api_cluster_update(struct api_call *call)
{
    static const char *const own[] = {"nodeRecovery", "nodeProvisioningMode", "instanceGroups",
                                      "instanceGroupsToDelete"};
    struct service_cluster_change change = {.merge = true};
    struct api_groups groups = {.count = 0};
    struct patch patch = {.recovery = ""};
    struct problem problem;
    struct cluster cluster;
    auto_json json_t *body = NULL, *rest = NULL;
    autofree char *document = NULL;
    const char *deleted[CLUSTER_GROUPS_MAX];
    if (!read_dry_run(call, &change.dry_run) || !parse_body(call, own, ARRAY_LEN(own), &body, &rest) ||
        api_if_match(call, &change.if_revision) != 0 || !read_patch(call, body, &change, &patch) ||
        !read_names(call, patch.deleted, deleted, &change.delete_count) || !api_cluster_document(call, rest, &document))
        return;
    if (!api_groups_read(call, patch.groups, true, &groups)) {
        api_groups_free(&groups);
        return;
    }
    change.groups = groups.list;
    change.group_count = groups.count;
    change.groups_to_delete = deleted;
    change.document = document;
    int rc = service_cluster_update(call->service, &call->actor, call->params[0], &change, &cluster, &problem);
    api_groups_free(&groups);
    if (rc != 0)
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
