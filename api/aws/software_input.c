/*
 * What is asked for of the nodes of whole groups, from the model's documents into what the use cases take: another image,
 * and deep health checks.
 */
#include "api/aws/software_input.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sm.h"
#include "base/status.h"
#include "base/text.h"
#include "server/service/cluster/cluster.h"
#include "server/service/node/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERCENT_MAX 100

/* --- another image -------------------------------------------------------------------------------------------------- */

static int read_batch(const json_t *policy, const char *member, int64_t *ret_value, bool *ret_is_percent,
                      struct problem *problem)
{
    const json_t *size = json_object_get(policy, member);

    if (!json_is_object(size))
        return 0;
    *ret_value = (int64_t)json_number_value(json_object_get(size, "Value"));
    *ret_is_percent = strcmp(json_member_text(size, "Type"), "CAPACITY_PERCENTAGE") == 0;
    if (*ret_is_percent && *ret_value > PERCENT_MAX)
        return input_invalid(
            problem, "DeploymentConfig.RollingUpdatePolicy.%s is %lld percent of a group's nodes; 1 to %d are possible",
            member, (long long)*ret_value, PERCENT_MAX);
    return 0;
}

static int read_rollout(const json_t *input, struct rollout *ret_rollout, struct problem *problem)
{
    const json_t *config = json_object_get(input, "DeploymentConfig");
    const json_t *policy = json_object_get(config, "RollingUpdatePolicy");
    struct rollout rollout = {.wait_ms = (int64_t)json_number_value(json_object_get(config, "WaitIntervalInSeconds")) *
                                         MS_PER_S};

    text_copy_cut(rollout.image_id, sizeof rollout.image_id, json_member_text(input, "ImageId"));
    int status = read_batch(policy, "MaximumBatchSize", &rollout.batch_value, &rollout.batch_is_percent, problem);
    if (status == 0)
        status = read_batch(policy, "RollbackMaximumBatchSize", &rollout.rollback_batch_value,
                            &rollout.rollback_is_percent, problem);
    if (status == 0)
        *ret_rollout = rollout;
    return status;
}

/* Caller frees *ret_groups. */
static int read_groups(const json_t *input, struct service_software_group **ret_groups, size_t *ret_count,
                       struct problem *problem)
{
    const json_t *list = json_object_get(input, "InstanceGroups");
    size_t count = json_array_size(list);
    autofree struct service_software_group *groups = own_calloc(count + 1, sizeof *groups);

    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        text_copy_cut(groups[i].group, sizeof groups[i].group, json_member_text(item, "InstanceGroupName"));
        text_copy_cut(groups[i].release, sizeof groups[i].release, json_member_text(item, "ImageReleaseVersion"));
        for (size_t k = 0; k < i; k++)
            if (text_equal(groups[i].group, groups[k].group))
                return input_invalid(problem, "InstanceGroups names \"%s\" twice", groups[i].group);
    }
    *ret_groups = TAKE(groups);
    *ret_count = count;
    return 0;
}

int software_input_read(const json_t *input, struct software_input *ret_input, struct problem *ret_problem)
{
    int status = cluster_input_check(input, ret_problem);

    if (status == 0)
        status = read_rollout(input, &ret_input->how, ret_problem);
    return status == 0 ? read_groups(input, &ret_input->groups, &ret_input->group_count, ret_problem) : status;
}

void software_input_free(struct software_input *input)
{
    free(TAKE(input->groups));
}

/* --- deep health checks --------------------------------------------------------------------------------------------- */

static int64_t checks_of(const json_t *list)
{
    static const char *const words[] = {
        [DEEP_CHECK_STRESS] = "InstanceStress", [DEEP_CHECK_CONNECTIVITY] = "InstanceConnectivity"};
    int64_t checks = 0;

    for (size_t i = 0; i < json_array_size(list); i++)
        for (size_t k = 0; k < ARRAY_LEN(words); k++)
            if (text_equal(json_string_value(json_array_get(list, i)), words[k]))
                checks |= SM_BIT(k);
    return checks;
}

/* The ids point into the input. */
static const char **ids_of(const json_t *list)
{
    size_t count = json_array_size(list);
    const char **ids = own_calloc(count + 1, sizeof *ids);

    for (size_t i = 0; i < count; i++)
        ids[i] = json_string_value(json_array_get(list, i));
    return ids;
}

void check_input_read(const json_t *list, struct check_input *ret_input)
{
    size_t count = json_array_size(list);

    *ret_input = (struct check_input){.requests = own_calloc(count + 1, sizeof *ret_input->requests), .count = count};
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i), *instances = json_object_get(item, "InstanceIds");
        struct service_check_request *request = &ret_input->requests[i];
        *request = (struct service_check_request){.nodes = ids_of(instances),
                                                  .node_count = json_array_size(instances),
                                                  .by_instance = true,
                                                  .checks = checks_of(json_object_get(item, "DeepHealthChecks"))};
        text_copy_cut(request->group, sizeof request->group, json_member_text(item, "InstanceGroupName"));
    }
}

void check_input_free(struct check_input *input)
{
    for (size_t i = 0; i < input->count; i++)
        free((void *)(uintptr_t)input->requests[i].nodes);
    free(TAKE(input->requests));
    input->count = 0;
}
