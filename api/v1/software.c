/* Another image for the nodes of whole groups, batch by batch. */
#include "api/v1/spec.h"
#include "api/v1/v1.h"
#include "base/clock.h"
#include "server/service/cluster/cluster.h"

#define PERCENT_MAX 100
#define WAIT_MAX_S 3600

struct batch_words {
    bool given;
    struct optional kind, value;
};
struct rolling_words {
    bool given;
    struct batch_words batch, rollback;
};
struct deployment_words {
    bool given;
    struct rolling_words rolling;
    struct optional wait_s;
};
struct software_group_words {
    char *name, *release;
};
struct software_words {
    char *image_id;
    struct optional_list groups; /* struct software_group_words */
    struct deployment_words deployment;
};

enum { BATCH_NODES, BATCH_PERCENT };
static const char *const kinds[] = {[BATCH_NODES] = "INSTANCE_COUNT", [BATCH_PERCENT] = "CAPACITY_PERCENTAGE"};

#define AT(holder, member) .at = offsetof(struct holder, member)

static const struct record_field batch_fields[] = {
    {.name = "type",
     .type = RECORD_WORD,
     .required = true,
     AT(batch_words, kind),
     .words = kinds,
     .word_count = ARRAY_LEN(kinds)},
    {.name = "value", .type = RECORD_NUMBER, .required = true, AT(batch_words, value), .min = 1, .max = INT32_MAX},
};
static const struct record batch = RECORD(struct batch_words, batch_fields);

static const struct record_field rolling_fields[] = {
    {.name = "maximumBatchSize", .type = RECORD_OBJECT, .required = true, AT(rolling_words, batch), .record = &batch},
    {.name = "rollbackMaximumBatchSize", .type = RECORD_OBJECT, AT(rolling_words, rollback), .record = &batch},
};
static const struct record rolling = RECORD(struct rolling_words, rolling_fields);

static const struct record_field deployment_fields[] = {
    {.name = "rollingUpdatePolicy", .type = RECORD_OBJECT, AT(deployment_words, rolling), .record = &rolling},
    {.name = "waitIntervalInSeconds", .type = RECORD_NUMBER, AT(deployment_words, wait_s), .min = 0, .max = WAIT_MAX_S},
    {.name = "autoRollbackConfiguration",
     .type = RECORD_NEVER,
     .rule = "there are no alarms here. An update is rolled back by itself when nodes of a batch do not become ready"},
};
static const struct record deployment = RECORD(struct deployment_words, deployment_fields);

static const struct record_field group_fields[] = {
    {.name = "instanceGroupName",
     .type = RECORD_TEXT,
     .required = true,
     AT(software_group_words, name),
     .min = 1,
     .max = NAME_MAX_BYTES - 1,
     API_NAME_RULE},
    {.name = "imageReleaseVersion",
     .type = RECORD_TEXT,
     AT(software_group_words, release),
     .max = RELEASE_VERSION_MAX_BYTES - 1,
     API_RELEASE_RULE},
};
static const struct record group = RECORD(struct software_group_words, group_fields);

static const struct record_field software_fields[] = {
    {.name = "imageId",
     .type = RECORD_TEXT,
     AT(software_words, image_id),
     .min = 7,
     .max = IMAGE_ID_MAX_BYTES - 1,
     .pattern = "ami-[0-9a-fA-F]{8,17}|default",
     .rule = "ami- and 8 to 17 hexadecimal digits, or default"},
    {.name = "instanceGroups",
     .type = RECORD_LIST,
     AT(software_words, groups),
     .items_min = 1,
     .items_max = CLUSTER_GROUPS_MAX,
     .record = &group},
    {.name = "deploymentConfig", .type = RECORD_OBJECT, AT(software_words, deployment), .record = &deployment},
    {.name = "clusterName", .type = RECORD_NEVER, .rule = "the path says it"},
};
static const struct record software = RECORD(struct software_words, software_fields);

/* False: it has answered. */
static bool read_batch(struct api_call *call, const struct batch_words *words, const char *name, int64_t *ret_value,
                       bool *ret_is_percent)
{
    *ret_value = words->value.value;
    *ret_is_percent = words->kind.value == BATCH_PERCENT;
    if (!*ret_is_percent || *ret_value <= PERCENT_MAX)
        return true;
    api_problem_printf(call, PROBLEM_INVALID_VALUE,
                       "deploymentConfig.rollingUpdatePolicy.%s.value is %lld; it must be a percentage of 1 to %d.",
                       name, (long long)*ret_value, PERCENT_MAX);
    return false;
}

/* Caller frees; NULL: it has answered. */
static struct service_software_group *read_groups(struct api_call *call, const struct optional_list *list)
{
    const struct software_group_words *words = list->items;
    autofree struct service_software_group *groups = own_calloc(list->count + 1, sizeof *groups);
    for (size_t i = 0; i < list->count; i++) {
        text_copy_cut(groups[i].group, sizeof groups[i].group, words[i].name);
        text_copy_cut(groups[i].release, sizeof groups[i].release, text_or_empty(words[i].release));
        for (size_t k = 0; k < i; k++)
            if (text_equal(groups[i].group, groups[k].group)) {
                api_problem_printf(call, PROBLEM_INVALID_VALUE,
                                   "instanceGroups[%zu].instanceGroupName is \"%s\", as in instanceGroups[%zu].", i,
                                   groups[i].group, k);
                return NULL;
            }
    }
    return TAKE(groups);
}

static void update(struct api_call *call, const struct software_words *words)
{
    struct problem problem;
    struct cluster cluster;
    const struct rolling_words *rolls = &words->deployment.rolling;
    struct rollout how = {.wait_ms = words->deployment.wait_s.value * MS_PER_S};
    text_copy_cut(how.image_id, sizeof how.image_id, text_or_empty(words->image_id));
    if (!read_batch(call, &rolls->batch, "maximumBatchSize", &how.batch_value, &how.batch_is_percent) ||
        !read_batch(call, &rolls->rollback, "rollbackMaximumBatchSize", &how.rollback_batch_value,
                    &how.rollback_is_percent))
        return;
    autofree struct service_software_group *groups = read_groups(call, &words->groups);
    if (groups == NULL)
        return;
    if (service_cluster_update_software(call->service, &call->actor, call->params[0], &how, groups, words->groups.count,
                                        &cluster, &problem) < 0)
        api_problem(call, &problem);
    else
        api_reply_cluster(call, 202, cluster.name, &cluster);
}

void api_cluster_update_software(struct api_call *call)
{
    struct software_words words = {0};
    if (!api_record(call, &software, &words))
        return;
    update(call, &words);
    record_free(&software, &words);
}
