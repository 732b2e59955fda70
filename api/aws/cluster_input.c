/* What is asked for of a cluster, from the model's document into the specs of the use cases. */
#include "api/aws/cluster_document.h"
#include "api/aws/governance_document.h"
#include "api/aws/render.h"
#include "base/own.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* These have columns of their own, or are no part of the description. */
static const char *const cluster_columns[] = {"ClusterName",  "InstanceGroups",       "Tags",
                                              "NodeRecovery", "NodeProvisioningMode", "InstanceGroupsToDelete"};
static const char *const group_columns[] = {"InstanceGroupName", "InstanceType", "InstanceCount",
                                            "MinInstanceCount",  "ImageId",      "ImageReleaseVersion"};

static json_t *without(const struct aws_shape *shape, const json_t *json, const char *const *names, size_t count)
{
    json_t *rest = aws_canonical(shape, json);

    for (size_t i = 0; i < count; i++)
        (void)json_object_del(rest, names[i]); /* which may not be there */
    return rest;
}

static void copy_text(char *dst, size_t size, const json_t *json, const char *member)
{
    const char *text = json_string_value(json_object_get(json, member));

    text_copy_cut(dst, size, text != NULL ? text : ""); /* the shape's limit is the field's */
}

static int64_t count_of(const json_t *json, const char *member)
{
    return (int64_t)json_number_value(json_object_get(json, member));
}

static void read_group(const json_t *json, struct service_group_spec *ret_spec, char **ret_document)
{
    const json_t *types = json_object_get(json_object_get(json, "InstanceRequirements"), "InstanceTypes");
    const char *only = json_string_value(json_array_get(types, 0));
    auto_json json_t *rest =
        without(aws_shape(AWS_SHAPE_ClusterInstanceGroupSpecification), json, group_columns, ARRAY_LEN(group_columns));

    *ret_document = document_dump(rest);
    *ret_spec = (struct service_group_spec){.instance_count = count_of(json, "InstanceCount"),
                                            .min_count = count_of(json, "MinInstanceCount"),
                                            .document = *ret_document};
    copy_text(ret_spec->name, sizeof ret_spec->name, json, "InstanceGroupName");
    copy_text(ret_spec->instance_type, sizeof ret_spec->instance_type, json, "InstanceType");
    copy_text(ret_spec->image_id, sizeof ret_spec->image_id, json, "ImageId");
    copy_text(ret_spec->release, sizeof ret_spec->release, json, "ImageReleaseVersion");
    if (only != NULL)
        text_copy_cut(ret_spec->instance_type, sizeof ret_spec->instance_type, only);
}

static void read_groups(const json_t *groups, struct cluster_input *ret_input)
{
    size_t count = json_array_size(groups);

    ret_input->groups = own_calloc(count + 1, sizeof *ret_input->groups);
    ret_input->group_documents = own_calloc(count + 1, sizeof *ret_input->group_documents);
    for (size_t i = 0; i < count; i++) {
        const json_t *group = json_array_get(groups, i);
        read_group(group, &ret_input->groups[i], &ret_input->group_documents[i]);
        if (json_is_object(json_object_get(group, "SlurmConfig")))
            ret_input->slurm_group = json_string_value(json_object_get(group, "InstanceGroupName"));
    }
    ret_input->group_count = count;
}

int cluster_input_read(const struct aws_operation *operation, const json_t *input, struct cluster_input *ret_input,
                       struct problem *ret_problem)
{
    const json_t *to_delete = json_object_get(input, "InstanceGroupsToDelete");
    int status = cluster_input_check(input, ret_problem);

    if (status < 0)
        return status;
    read_groups(json_object_get(input, "InstanceGroups"), ret_input);
    ret_input->document = without(aws_shape(operation->input), input, cluster_columns, ARRAY_LEN(cluster_columns));
    ret_input->tag_count = tags_read(json_object_get(input, "Tags"), &ret_input->tags);
    ret_input->delete_count = json_array_size(to_delete);
    ret_input->groups_to_delete = own_calloc(ret_input->delete_count + 1, sizeof *ret_input->groups_to_delete);
    for (size_t i = 0; i < ret_input->delete_count; i++)
        ret_input->groups_to_delete[i] = json_string_value(json_array_get(to_delete, i));
    ret_input->notice = cluster_input_notice(input);
    return 0;
}

void cluster_input_free(struct cluster_input *input)
{
    for (size_t i = 0; i < input->group_count; i++)
        free(input->group_documents[i]);
    free(input->group_documents);
    free(input->groups);
    json_decref(input->document);
    free(input->tags);
    free(input->groups_to_delete);
    free(input->notice);
    *input = (struct cluster_input){.groups = NULL};
}
