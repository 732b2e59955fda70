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

/* --- the model's words for a configuration ------------------------------------------------------------- */

static const char *const strategies[] = {[SHARING_STRATEGY_DONT_LEND] = "DontLend",
                                         [SHARING_STRATEGY_LEND] = "Lend",
                                         [SHARING_STRATEGY_LEND_AND_BORROW] = "LendAndBorrow"};
static const char *const switches[] = {"Disabled", "Enabled"};
static const char *const preemptions[] = {"Never", "LowerPriority"};

#define AT(holder, member) .at = offsetof(struct holder, member)
#define ANY .min = INT64_MIN, .max = INT64_MAX
#define WORDS(list) .words = (list), .word_count = ARRAY_LEN(list)

static const struct record_field class_fields[] = {
    {.name = "Name", .type = RECORD_TEXT, AT(priority_class_spec, name)},
    {.name = "Weight", .type = RECORD_NUMBER, AT(priority_class_spec, weight), ANY},
};
static const struct record class = RECORD(struct priority_class_spec, class_fields);

static const struct record_field slice_fields[] = {
    {.name = "Type", .type = RECORD_TEXT, AT(slice_spec, kind)},
    {.name = "Count", .type = RECORD_NUMBER, AT(slice_spec, count), ANY},
};
static const struct record slice = RECORD(struct slice_spec, slice_fields);

static const struct record_field amount_fields[] = {
    {.name = "InstanceType", .type = RECORD_TEXT, AT(amount_spec, instance_type)},
    {.name = "Count", .type = RECORD_NUMBER, AT(amount_spec, nodes), ANY},
    {.name = "Accelerators", .type = RECORD_NUMBER, AT(amount_spec, accelerators), ANY},
    {.name = "VCpu", .type = RECORD_REAL, AT(amount_spec, cpus), ANY},
    {.name = "MemoryInGiB", .type = RECORD_REAL, AT(amount_spec, memory_gib), ANY},
    {.name = "AcceleratorPartition", .type = RECORD_OBJECT, AT(amount_spec, slice), .record = &slice},
};
static const struct record amount = RECORD(struct amount_spec, amount_fields);

static const struct record_field sharing_fields[] = {
    {.name = "Strategy", .type = RECORD_WORD, AT(sharing_spec, strategy), WORDS(strategies)},
    {.name = "BorrowLimit", .type = RECORD_NUMBER, AT(sharing_spec, borrow_percent), ANY},
    {.name = "AbsoluteBorrowLimits", .type = RECORD_LIST, AT(sharing_spec, borrow_at_most), .record = &amount},
};
static const struct record sharing = RECORD(struct sharing_spec, sharing_fields);

/* Of both kinds: which members either may have the model has said before. */
static const struct record_field config_fields[] = {
    {.name = "PriorityClasses", .type = RECORD_LIST, AT(governance_spec, classes), .record = &class},
    {.name = "FairShare", .type = RECORD_WORD, AT(governance_spec, fair_share), WORDS(switches)},
    {.name = "IdleResourceSharing", .type = RECORD_WORD, AT(governance_spec, idle_sharing), WORDS(switches)},
    {.name = "ComputeQuotaResources", .type = RECORD_LIST, AT(governance_spec, amounts), .record = &amount},
    {.name = "ResourceSharingConfig", .type = RECORD_OBJECT, AT(governance_spec, sharing), .record = &sharing},
    {.name = "PreemptTeamTasks", .type = RECORD_WORD, AT(governance_spec, preempts), WORDS(preemptions)},
};
static const struct record config_words = RECORD(struct governance_spec, config_fields);

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
    if (json_is_object(config)) {
        char error[RECORD_ERROR_MAX];
        auto_json json_t *known = aws_canonical(aws_shape(words->config_shape), config);
        (void)record_read(&config_words, known, "", &ret_input->config, error); /* the model has checked it */
        spec->config = &ret_input->config;
    }
    spec->tag_count = tags_read(json_object_get(input, "Tags"), &ret_input->tags);
    spec->tags = ret_input->tags;
}

void governance_input_free(struct governance_input *input)
{
    governance_spec_free(&input->config);
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
    AUTO(governance_spec) struct governance_spec spec;
    json_t *json = json_object(), *config;

    (void)governance_spec_read(governance->config, &spec); /* which was written by governance_spec_write */
    config = record_write(&config_words, &spec);
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
