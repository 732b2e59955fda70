/* What is asked for of a cluster, from the model's document into the specs of the use cases. */
#include "api/aws/cluster_document.h"
#include "api/aws/governance_document.h"
#include "api/aws/render.h"
#include "api/aws/spec.h"
#include "base/own.h"
#include "base/status.h"
#include "server/service/cluster/cluster.h"

#include <stdlib.h>
#include <string.h>

static void copy_text(char *dst, size_t size, const json_t *json, const char *member)
{
    const char *text = json_string_value(json_object_get(json, member));

    text_copy_cut(dst, size, text != NULL ? text : ""); /* the shape's limit is the field's */
}

static int64_t count_of(const json_t *json, const char *member)
{
    return (int64_t)json_number_value(json_object_get(json, member));
}

static int read_group(const json_t *json, struct service_group_spec *ret_group, struct group_spec *ret_spec,
                      struct problem *problem)
{
    char error[RECORD_ERROR_MAX];
    auto_json json_t *document = aws_canonical(aws_shape(AWS_SHAPE_ClusterInstanceGroupSpecification), json);
    if (aws_group_spec_read(document, ret_spec, error) < 0)
        return input_invalid(problem, "InstanceGroups: %s.", error);
    const struct optional_list *types = &ret_spec->requirements.instance_types;
    *ret_group = (struct service_group_spec){.instance_count = count_of(json, "InstanceCount"),
                                             .min_count = count_of(json, "MinInstanceCount"),
                                             .spec = group_spec_is_empty(ret_spec) ? NULL : ret_spec};
    copy_text(ret_group->name, sizeof ret_group->name, json, "InstanceGroupName");
    copy_text(ret_group->instance_type, sizeof ret_group->instance_type, json, "InstanceType");
    copy_text(ret_group->image_id, sizeof ret_group->image_id, json, "ImageId");
    copy_text(ret_group->release, sizeof ret_group->release, json, "ImageReleaseVersion");
    if (types->count > 0)
        text_copy_cut(ret_group->instance_type, sizeof ret_group->instance_type, ((char **)types->items)[0]);
    return 0;
}

static int read_groups(const json_t *groups, struct cluster_input *ret_input, struct problem *problem)
{
    int status = 0;
    size_t count = json_array_size(groups);

    ret_input->groups = own_calloc(count + 1, sizeof *ret_input->groups);
    ret_input->specs = own_calloc(count + 1, sizeof *ret_input->specs);
    for (size_t i = 0; status == 0 && i < count; i++) {
        const json_t *group = json_array_get(groups, i);
        status = read_group(group, &ret_input->groups[i], &ret_input->specs[i], problem);
        if (ret_input->specs[i].slurm.given)
            ret_input->slurm_group = json_string_value(json_object_get(group, "InstanceGroupName"));
        ret_input->group_count += status == 0;
    }
    return status;
}

static int read_cluster(const struct aws_operation *operation, const json_t *input, struct cluster_input *ret_input,
                        struct problem *problem)
{
    char error[RECORD_ERROR_MAX];
    auto_json json_t *document = aws_canonical(aws_shape(operation->input), input);
    const json_t *orchestrator = json_object_get(input, "Orchestrator");
    ret_input->names_slurm = json_object_get(orchestrator, "Slurm") != NULL;
    ret_input->eks_arn = json_string_value(json_object_get(json_object_get(orchestrator, "Eks"), "ClusterArn"));
    return aws_cluster_spec_read(document, &ret_input->spec, error) < 0 ? input_invalid(problem, "%s.", error) : 0;
}

int cluster_input_read(const struct aws_operation *operation, const json_t *input, struct cluster_input *ret_input,
                       struct problem *ret_problem)
{
    const json_t *to_delete = json_object_get(input, "InstanceGroupsToDelete");
    int status = cluster_input_check(input, ret_problem);

    if (status == 0)
        status = read_groups(json_object_get(input, "InstanceGroups"), ret_input, ret_problem);
    if (status == 0)
        status = read_cluster(operation, input, ret_input, ret_problem);
    if (status < 0)
        return status;
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
        group_spec_free(&input->specs[i]);
    free(input->specs);
    free(input->groups);
    cluster_spec_free(&input->spec);
    free(input->tags);
    free(input->groups_to_delete);
    free(input->notice);
    *input = (struct cluster_input){.groups = NULL};
}
