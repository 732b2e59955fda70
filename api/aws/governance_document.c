/* Task governance between the model's documents and the use cases' structs. */
#include "api/aws/governance_document.h"

#include "api/aws/render.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

const struct governance_words governance_words[GOVERNANCE_KIND_COUNT] = {
    [GOVERNANCE_KIND_SCHEDULER_CONFIG] = {.id = "ClusterSchedulerConfigId",
                                          .version = "ClusterSchedulerConfigVersion",
                                          .arn = "ClusterSchedulerConfigArn",
                                          .arn_kind = "cluster-scheduler-config",
                                          .config = "SchedulerConfig",
                                          .items = "ClusterSchedulerConfigSummaries",
                                          .create = AWS_OPERATION_CreateClusterSchedulerConfig,
                                          .update = AWS_OPERATION_UpdateClusterSchedulerConfig,
                                          .config_shape = AWS_SHAPE_SchedulerConfig,
                                          .describe_shape = AWS_SHAPE_DescribeClusterSchedulerConfigResponse,
                                          .summary_shape = AWS_SHAPE_ClusterSchedulerConfigSummary},
    [GOVERNANCE_KIND_COMPUTE_QUOTA] = {.id = "ComputeQuotaId",
                                       .version = "ComputeQuotaVersion",
                                       .arn = "ComputeQuotaArn",
                                       .arn_kind = "compute-quota",
                                       .config = "ComputeQuotaConfig",
                                       .items = "ComputeQuotaSummaries",
                                       .create = AWS_OPERATION_CreateComputeQuota,
                                       .update = AWS_OPERATION_UpdateComputeQuota,
                                       .config_shape = AWS_SHAPE_ComputeQuotaConfig,
                                       .describe_shape = AWS_SHAPE_DescribeComputeQuotaResponse,
                                       .summary_shape = AWS_SHAPE_ComputeQuotaSummary},
};

/* --- in ---------------------------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}

void governance_input_read(enum governance_kind kind, const json_t *input, struct governance_input *ret_input)
{
    const struct governance_words *words = &governance_words[kind];
    const json_t *target = json_object_get(input, "ComputeQuotaTarget");
    const json_t *config = json_object_get(input, words->config);
    const char *activation = text_of(input, "ActivationState");

    *ret_input = (struct governance_input){.spec = {.name = text_of(input, "Name"),
                                                    .description = text_of(input, "Description"),
                                                    .team = text_of(target, "TeamName"),
                                                    .active = -1}};
    struct service_governance_spec *spec = &ret_input->spec;
    spec->weight = (int64_t)json_number_value(json_object_get(target, "FairShareWeight"));
    if (activation != NULL)
        spec->active = strcmp(activation, "Enabled") == 0;
    if (json_is_object(config))
        spec->config = ret_input->config = aws_canonical(aws_shape(words->config_shape), config);
    spec->tag_count = tags_read(json_object_get(input, "Tags"), &ret_input->tags);
    spec->tags = ret_input->tags;
}

void governance_input_free(struct governance_input *input)
{
    json_decref(input->config);
    free(input->tags);
}

/* --- out --------------------------------------------------------------------------------------------- */

/* Who that was here; there are no identities of IAM. */
static json_t *render_actor(const char *name)
{
    return json_pack("{s:{s:s}}", "IamIdentity", "PrincipalId", name);
}

/* The status of each part that is asked for: its own when something is known of it, else that of the whole. */
static json_t *render_details(const json_t *config, const struct governance *governance)
{
    json_t *details = json_object(), *known = NULL, *value;
    char error[JSON_ERROR_MAX];
    const char *part;

    (void)json_parse(governance->details, strlen(governance->details), sizeof governance->details, &known, error);
    json_object_foreach((json_t *)(uintptr_t)config, part, value)
    {
        const char *why = text_of(known, part);
        enum governance_phase phase = why != NULL && why[0] == '\0' ? GOVERNANCE_HOLDS : GOVERNANCE_FAILED;
        json_put_text(details, part,
                      governance_status_text(why == NULL ? governance->status
                                                         : governance_status_of(governance->version, phase)));
    }
    json_decref(known);
    return details;
}

static void put_quota(json_t *json, const struct governance *governance)
{
    json_put(json, "ComputeQuotaTarget",
             json_pack("{s:s, s:I}", "TeamName", governance->team, "FairShareWeight", (json_int_t)governance->weight));
    json_put_text(json, "ActivationState", governance->active ? "Enabled" : "Disabled");
}

json_t *governance_output(const struct governance *governance)
{
    const struct governance_words *words = &governance_words[governance->kind];
    const char *status = governance_status_text(governance->status);
    char error[JSON_ERROR_MAX];
    json_t *json = json_object(), *config = NULL;

    if (json_parse(governance->config, strlen(governance->config), GOVERNANCE_CONFIG_MAX_BYTES, &config, error) < 0)
        config = json_object(); /* cannot be: it was written by json_dumps */
    json_put_text(json, words->id, governance->uid);
    json_put_text(json, "Name", governance->name);
    json_put_i64(json, words->version, governance->version);
    json_put_text(json, "Status", status);
    if (governance->status == governance_status_of(governance->version, GOVERNANCE_FAILED))
        json_put_text(json, "FailureReason", governance->reason);
    if (governance->kind == GOVERNANCE_KIND_SCHEDULER_CONFIG)
        json_put(json, "StatusDetails", render_details(config, governance));
    else
        put_quota(json, governance);
    json_put(json, words->config, config);
    json_put_text(json, "Description", governance->description);
    json_put(json, "CreationTime", aws_time_json(governance->created_at));
    json_put(json, "CreatedBy", render_actor(governance->created_by));
    json_put(json, "LastModifiedTime", aws_time_json(governance->made_at));
    json_put(json, "LastModifiedBy", render_actor(governance->made_by));
    return json;
}

/* --- tags -------------------------------------------------------------------------------------------- */

size_t tags_read(const json_t *list, struct service_tag **ret_tags)
{
    size_t count = json_array_size(list);

    *ret_tags = own_calloc(count + 1, sizeof(**ret_tags));
    for (size_t i = 0; i < count; i++)
        (*ret_tags)[i] =
            (struct service_tag){text_of(json_array_get(list, i), "Key"), text_of(json_array_get(list, i), "Value")};
    return count;
}

json_t *tag_output(const struct tag *tag)
{
    return json_pack("{s:s, s:s}", "Key", tag->key, "Value", tag->value);
}
