/* Reading and showing descriptions of clusters and groups; see spec.h. */
#include "api/v1/spec.h"

#include "api/aws/cluster_document.h"
#include "api/aws/model.h"
#include "api/aws/render.h"
#include "api/aws/validate.h"
#include "base/status.h"
#include "server/service/scheduler/discovery.h"

#include <stdio.h>
#include <string.h>

#define GROUP_NODE_NAMES_BYTES_MAX \
    (512 * 1024) /* a list of every name of a large group fits, and the body limit holds */

/* Members that the model wants and a document has not, because we have fields for them or do not need them. */
static const struct stand_in {
    enum aws_shape_id shape;
    const char *name, *pascal, *text;
} stand_ins[] = {
    {AWS_SHAPE_ClusterInstanceGroupSpecification, "instanceGroupName", "InstanceGroupName", "group"},
    {AWS_SHAPE_ClusterInstanceGroupSpecification, "executionRole", "ExecutionRole",
     "arn:aws:iam::000000000000:role/none"},
    {AWS_SHAPE_ClusterInstanceGroupSpecification, "instanceCount", "InstanceCount", NULL},
    {AWS_SHAPE_CreateClusterRequest, "clusterName", "ClusterName", "cluster"},
    {AWS_SHAPE_UpdateClusterSoftwareRequest, "clusterName", "ClusterName", "cluster"},
    {AWS_SHAPE_StartClusterHealthCheckRequest, "clusterName", "ClusterName", "cluster"},
};

/* Members that the model has and a body has not: something else says it here. What were taken and not heeded would be a lie. */
static const struct {
    enum aws_shape_id shape;
    const char *name, *instead;
} elsewhere[] = {
    {AWS_SHAPE_ClusterInstanceGroupSpecification, "instanceGroupName", "a group's name is \"name\""},
    {AWS_SHAPE_CreateClusterRequest, "clusterName", "a cluster's name is \"name\", or in the path"},
    {AWS_SHAPE_CreateClusterRequest, "tags", "they are added at the cluster's path, /tags"},
    {AWS_SHAPE_UpdateClusterSoftwareRequest, "clusterName", "the path says it"},
    {AWS_SHAPE_StartClusterHealthCheckRequest, "clusterName", "the path says it"},
};

json_t *api_split(json_t *body, const char *const *own, size_t count)
{
    json_t *rest = json_object(), *value;
    const char *name;
    void *next;
    json_object_foreach_safe(body, next, name, value)
    {
        size_t i = 0;
        while (i < count && strcmp(own[i], name) != 0)
            i++;
        if (i < count)
            continue;
        json_object_set(rest, name, value);
        json_object_del(body, name);
    }
    return rest;
}

/* bits of those that were put in, to be taken out again. */
static unsigned put_stand_ins(enum aws_shape_id shape, json_t *rest)
{
    unsigned put = 0;
    for (size_t i = 0; i < ARRAY_LEN(stand_ins); i++) {
        const struct stand_in *one = &stand_ins[i];
        if (one->shape != shape || json_object_get(rest, one->name) != NULL)
            continue;
        json_object_set_new(rest, one->name, one->text != NULL ? json_string(one->text) : json_integer(0));
        put |= 1u << i;
    }
    return put;
}

static void drop_stand_ins(unsigned put, json_t *document)
{
    for (size_t i = 0; i < ARRAY_LEN(stand_ins); i++)
        if (put & (1u << i))
            json_object_del(document, stand_ins[i].pascal);
}

/* False: it has answered. */
static bool check_elsewhere(struct api_call *call, const char *where, enum aws_shape_id shape, const json_t *body)
{
    for (size_t i = 0; i < ARRAY_LEN(elsewhere); i++) {
        if (elsewhere[i].shape != shape || json_object_get(body, elsewhere[i].name) == NULL)
            continue;
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "%s breaks a rule: \"%s\" is not one of its members: %s.",
                           where, elsewhere[i].name, elsewhere[i].instead);
        return false;
    }
    return true;
}

/* False: it has answered. */
static bool model_input(struct api_call *call, const char *where, enum aws_shape_id id, json_t *body,
                        json_t **ret_document)
{
    AUTO(aws_issues) struct aws_issues issues = {0};
    const struct aws_rules rules = {.spelling = AWS_SPELLING_CAMEL, .unknown_refused = true};
    if (!check_elsewhere(call, where, id, body))
        return false;
    unsigned put = put_stand_ins(id, body);
    if (aws_validate(aws_shape(id), body, rules, &issues) < 0 ||
        aws_render(aws_shape(id), body, AWS_SPELLING_CAMEL, ret_document) < 0) {
        autofree char *message = aws_issues_message(&issues);
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "%s breaks a rule: %s", where, message);
        return false;
    }
    drop_stand_ins(put, *ret_document);
    return true;
}

bool api_model_input(struct api_call *call, enum aws_shape_id shape, json_t *body, json_t **ret_input)
{
    return model_input(call, "The body", shape, body, ret_input);
}

/* False: it has answered. */
static bool model_document(struct api_call *call, const char *where, enum aws_shape_id id, json_t *rest,
                           char **ret_document)
{
    struct problem problem;
    auto_json json_t *document = NULL;
    *ret_document = NULL;
    if (json_object_size(rest) == 0)
        return true;
    if (!model_input(call, where, id, rest, &document))
        return false;
    bool of_group = id == AWS_SHAPE_ClusterInstanceGroupSpecification;
    auto_json json_t *whole = of_group ? json_pack("{s:[O]}", "InstanceGroups", document) : json_incref(document);
    if (cluster_input_refuse(whole, &problem) < 0) {
        api_problem(call, &problem);
        return false;
    }
    if (json_object_size(document) > 0)
        *ret_document = json_dumps(document, JSON_COMPACT);
    return true;
}

/* The model has it within Orchestrator, which is a word here. */
static void place_strategy(json_t *rest)
{
    json_t *strategy = json_object_get(rest, "slurmConfigStrategy");
    if (strategy == NULL)
        return;
    json_object_set_new(rest, "orchestrator", json_pack("{s:{s:O}}", "slurm", "slurmConfigStrategy", strategy));
    json_object_del(rest, "slurmConfigStrategy");
}

void api_show_strategy(json_t *json, const char *document)
{
    char error[JSON_ERROR_MAX];
    auto_json json_t *pascal = NULL;
    if (document == NULL || json_parse(document, strlen(document), CLUSTER_DOCUMENT_BYTES_MAX, &pascal, error) != 0)
        return;
    json_t *strategy =
        json_object_get(json_object_get(json_object_get(pascal, "Orchestrator"), "Slurm"), "SlurmConfigStrategy");
    if (strategy != NULL)
        json_object_set(json, "slurmConfigStrategy", strategy);
}

bool api_cluster_document(struct api_call *call, json_t *rest, char **ret_document)
{
    place_strategy(rest);
    return model_document(call, "The body", AWS_SHAPE_CreateClusterRequest, rest, ret_document);
}

void api_show_document(json_t *json, const char *shape, const char *document)
{
    char error[JSON_ERROR_MAX];
    auto_json json_t *pascal = NULL, *camel = NULL;
    if (document == NULL || json_parse(document, strlen(document), CLUSTER_DOCUMENT_BYTES_MAX, &pascal, error) != 0 ||
        aws_render(aws_shape(aws_shape_find(shape)), pascal, AWS_SPELLING_PASCAL, &camel) < 0)
        return;
    json_object_update_missing(json, camel);
}

/* --- groups ---------------------------------------------------------------------------------------- */

void api_groups_free(struct api_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        struct service_group_spec *group = &groups->list[i];
        if (group->node_names != NULL)
            text_list_free(group->node_names, (size_t)group->instance_count);
        free((char *)(uintptr_t)group->document);
    }
    free(TAKE(groups->list));
    groups->count = 0;
}

/* "gpu-[1-4]" to exactly instance_count names. False: it has answered. */
static bool read_node_names(struct api_call *call, const char *where, struct service_group_spec *group,
                            const char *list)
{
    char **names;
    size_t count;
    int rc = text_hostlist_expand(list, GROUP_NODES_MAX_LOCAL, &names, &count);
    if (rc != 0) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE,
                           "%s breaks a rule: nodeNames is not a host list such as \"gpu-[1-4]\".", where);
        return false;
    }
    if (count == (size_t)group->instance_count) {
        group->node_names = names;
        return true;
    }
    text_list_free(names, count);
    api_problem_printf(call, PROBLEM_INVALID_VALUE,
                       "%s breaks a rule: nodeNames makes %zu names and instanceCount is %lld; they must agree.", where,
                       count, (long long)group->instance_count);
    return false;
}

static int check_word(const char *text)
{
    return text_is_clean(text) && strchr(text, ',') == NULL ? 0 : STATUS_INVALID;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static bool same_names(char **names, char **others, size_t count)
{
    bool same = true;
    qsort(names, count, sizeof(*names), by_text);
    qsort(others, count, sizeof(*others), by_text);
    for (size_t i = 0; i < count && same; i++)
        same = strcmp(names[i], others[i]) == 0;
    return same;
}

/* What the group has by its source. Names and a count that were said besides are what the sender has seen there, and hold as that. False:
 * it has answered. */
static bool take_source(struct api_call *call, const char *where, struct service_group_spec *group)
{
    struct problem problem;
    char **names = NULL;
    size_t count = 0;
    bool same = true;
    if (service_discovery_take(call->service, "", &group->source, &names, &count, &problem) != 0) {
        api_problem(call, &problem);
        return false;
    }
    if (group->instance_count >= 0)
        same = (size_t)group->instance_count == count;
    if (same && group->node_names != NULL) {
        same = same_names(names, group->node_names, count);
        text_list_free(group->node_names, count);
    } else if (!same && group->node_names != NULL) {
        text_list_free(TAKE(group->node_names), (size_t)group->instance_count);
    }
    qsort(names, count, sizeof(*names), text_by_name);
    group->node_names = names;
    group->instance_count = (int64_t)count;
    if (!same)
        api_problem_printf(call, PROBLEM_INVALID_VALUE,
                           "%s breaks a rule: Slurm has %zu nodes for its nodesFrom now, and not those that nodeNames "
                           "and instanceCount say. Leave these out, or look again and repeat.",
                           where, count);
    return same;
}

/* False: it has answered. */
static bool read_source(struct api_call *call, const char *where, json_t *json, struct service_group_spec *group)
{
    char error[JSON_ERROR_MAX];
    const struct json_field fields[] = {
        {.name = "partition",
         .type = JSON_FIELD_TEXT,
         .target = group->source.partition,
         .size = sizeof group->source.partition,
         .min = 1,
         .check = check_word,
         .rule = "one name of a partition"},
        {.name = "feature",
         .type = JSON_FIELD_TEXT,
         .target = group->source.feature,
         .size = sizeof group->source.feature,
         .min = 1,
         .check = check_word,
         .rule = "one feature"},
    };
    if (json_read(json, fields, ARRAY_LEN(fields), error) != 0) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "%s.nodesFrom breaks a rule: %s.", where, error);
        return false;
    }
    if (node_source_is_given(&group->source))
        return true;
    api_problem_printf(call, PROBLEM_INVALID_VALUE,
                       "%s.nodesFrom breaks a rule: it names a partition, a feature, or both.", where);
    return false;
}

/* A group's type may be said among its requirements; that of an exported file says it twice. False: it has answered. */
static bool read_type(struct api_call *call, const char *where, const json_t *rest, struct service_group_spec *group)
{
    const json_t *types = json_object_get(json_object_get(rest, "instanceRequirements"), "instanceTypes");
    const char *only = json_array_size(types) == 1 ? json_string_value(json_array_get(types, 0)) : NULL;
    if (json_array_size(types) == 0)
        return true;
    if (only == NULL || (group->instance_type[0] != '\0' && !text_equal(group->instance_type, only))) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE,
                           "%s breaks a rule: instanceRequirements must name one instanceTypes, and the same as "
                           "instanceType: no provider here chooses among several.",
                           where);
        return false;
    }
    text_copy_cut(group->instance_type, sizeof group->instance_type, only);
    return true;
}

static int read_own(json_t *own, bool partial, struct service_group_spec *group, char *names, json_t **ret_source,
                    char ret_error[JSON_ERROR_MAX])
{
    const struct json_field fields[] = {
        {.name = "name",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = group->name,
         .size = sizeof group->name,
         .min = 1},
        {.name = "instanceCount",
         .type = JSON_FIELD_I64,
         .required = !partial && json_object_get(own, "nodesFrom") == NULL,
         .target = &group->instance_count,
         .min = 0,
         .max = GROUP_NODES_MAX_LOCAL},
        {.name = "minInstanceCount",
         .type = JSON_FIELD_I64,
         .target = &group->min_count,
         .min = 0,
         .max = GROUP_NODES_MAX_LOCAL},
        {.name = "instanceType",
         .type = JSON_FIELD_TEXT,
         .target = group->instance_type,
         .size = sizeof group->instance_type},
        {.name = "imageId", .type = JSON_FIELD_TEXT, .target = group->image_id, .size = sizeof group->image_id},
        {.name = "imageReleaseVersion",
         .type = JSON_FIELD_TEXT,
         .target = group->release,
         .size = sizeof group->release},
        {.name = "provider",
         .type = JSON_FIELD_TEXT,
         .target = group->provider,
         .size = sizeof group->provider,
         .min = 1},
        {.name = "nodeNames", .type = JSON_FIELD_TEXT, .target = names, .size = GROUP_NODE_NAMES_BYTES_MAX, .min = 1},
        {.name = "nodesFrom", .type = JSON_FIELD_OBJECT, .target = ret_source},
    };
    return json_read(own, fields, ARRAY_LEN(fields), ret_error);
}

static bool read_group(struct api_call *call, const json_t *json, size_t at, bool partial,
                       struct service_group_spec *group)
{
    static const char *const members[] = {"name",         "instanceCount", "minInstanceCount",
                                          "instanceType", "imageId",       "imageReleaseVersion",
                                          "provider",     "nodeNames",     "nodesFrom"};
    char error[JSON_ERROR_MAX], where[40];
    autofree char *names = own_calloc(1, GROUP_NODE_NAMES_BYTES_MAX);
    auto_json json_t *own = json_copy((json_t *)(uintptr_t)json);
    auto_json json_t *rest = api_split(own, members, ARRAY_LEN(members));
    json_t *source = NULL;
    bool counted = partial || json_object_get(own, "nodesFrom") != NULL;
    *group = (struct service_group_spec){.instance_count = counted ? -1 : 0, .min_count = partial ? -1 : 0};
    if (!partial)
        text_copy_cut(group->provider, sizeof group->provider, "local");
    snprintf(where, sizeof where, "instanceGroups[%zu]", at);
    if (read_own(own, partial, group, names, &source, error) != 0) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "%s breaks a rule: %s.", where, error);
        return false;
    }
    if (names[0] != '\0' && group->instance_count < 0) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "%s names nodes without an instanceCount.", where);
        return false;
    }
    char *document = NULL;
    if (!model_document(call, where, AWS_SHAPE_ClusterInstanceGroupSpecification, rest, &document))
        return false;
    group->document = document;
    if (!read_type(call, where, rest, group))
        return false;
    if (names[0] != '\0' && !read_node_names(call, where, group, names))
        return false;
    return source == NULL || (read_source(call, where, source, group) && take_source(call, where, group));
}

/* Groups that were read stay whatever happens, for api_groups_free. */
bool api_groups_read(struct api_call *call, const json_t *json, bool partial, struct api_groups *ret_groups)
{
    size_t count = json_array_size(json);
    int64_t nodes = 0;
    *ret_groups = (struct api_groups){.list = own_calloc(count + 1, sizeof(struct service_group_spec))};
    while (ret_groups->count < count) {
        const json_t *one = json_array_get(json, ret_groups->count);
        struct service_group_spec *group = &ret_groups->list[ret_groups->count];
        if (!json_is_object(one)) {
            api_problem_printf(call, PROBLEM_INVALID_VALUE, "instanceGroups[%zu] must be an object.",
                               ret_groups->count);
            return false;
        }
        ret_groups->count++;
        if (!read_group(call, one, ret_groups->count - 1, partial, group))
            return false;
        nodes += group->instance_count > 0 ? group->instance_count : 0;
        if (nodes > GROUP_NODES_MAX_LOCAL) { /* here already, because names of all groups would take much memory */
            api_problem_printf(call, PROBLEM_INVALID_VALUE,
                               "The groups have more than %d nodes together, and a cluster has no more.",
                               GROUP_NODES_MAX_LOCAL);
            return false;
        }
    }
    return true;
}
