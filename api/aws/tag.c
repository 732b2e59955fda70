/*
 * Tags through the AWS API: AddTags, ListTags, DeleteTags, of whatever here has an ARN and carries them.
 *
 * A thing has at most 50 and a page holds at least 50, so the first page is the whole list and no token is ever given.
 */
#include "api/aws/governance_document.h"
#include "api/aws/operation.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct target {
    char cluster[AWS_CLUSTER_REF_MAX];
    struct service_governance_ref ref;
    struct service_tagged tagged;
};

static int no_such_thing(struct aws_call *call, const char *why)
{
    return aws_refuse(call, aws_error_of_problem(PROBLEM_NOT_FOUND, call->operation), "ResourceArn %s: %s",
                      aws_text(call, "ResourceArn"), why);
}

/* From "…:account:kind/id". ret_target points into the input and into itself. */
static int read_target(struct aws_call *call, struct target *ret_target)
{
    const char *own = strstr(aws_text(call, "ResourceArn"), ":" AWS_ACCOUNT ":");

    *ret_target = (struct target){.tagged = {.cluster = ret_target->cluster}};
    if (own == NULL)
        return no_such_thing(call, "it is of another account; the one here is " AWS_ACCOUNT);
    own += strlen(":" AWS_ACCOUNT ":");
    if (text_starts_with(own, "cluster/") && strlen(own + strlen("cluster/")) < ID_CLUSTER_MAX) {
        snprintf(ret_target->cluster, sizeof ret_target->cluster, SERVICE_CLUSTER_ID_PREFIX "%s",
                 own + strlen("cluster/"));
        return 0;
    }
    for (int kind = 0; kind < GOVERNANCE_KIND_COUNT; kind++) {
        const char *word = governance_words[kind].arn_kind;
        if (text_starts_with(own, word) && own[strlen(word)] == '/') {
            ret_target->ref =
                (struct service_governance_ref){.kind = (enum governance_kind)kind, .uid = own + strlen(word) + 1};
            ret_target->tagged.governance = &ret_target->ref;
            return 0;
        }
    }
    return no_such_thing(call, "only clusters, scheduler configurations and compute quotas carry tags here");
}

static int list_row(const void *row, void *arg)
{
    return json_array_append_new(arg, tag_output(row)) < 0 ? STATUS_INVALID : 0;
}

/* All of them. */
static int answer(struct aws_call *call, const struct target *target, json_t **ret_output)
{
    struct problem problem;
    json_t *tags = json_array();

    *ret_output = json_object();
    json_put(*ret_output, "Tags", tags);
    if (service_tag_list(call->service, &target->tagged, list_row, tags, &problem) == 0)
        return 0;
    json_decref(*ret_output);
    *ret_output = NULL;
    return aws_refuse_problem(call, &problem);
}

int aws_add_tags(struct aws_call *call, json_t **ret_output)
{
    struct target target;
    struct problem problem;
    autofree struct service_tag *tags = NULL;

    int status = read_target(call, &target);
    if (status < 0)
        return status;
    size_t count = tags_read(json_object_get(call->input, "Tags"), &tags);
    if (service_tag_add(call->service, &call->actor, &target.tagged, tags, count, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    return answer(call, &target, ret_output);
}

int aws_list_tags(struct aws_call *call, json_t **ret_output)
{
    struct target target;

    int status = read_target(call, &target);
    if (status < 0)
        return status;
    if (aws_text(call, "NextToken")[0] != '\0')
        return aws_refuse(call, AWS_ERROR_VALIDATION, "NextToken is not one that ListTags gave: it gives none");
    return answer(call, &target, ret_output);
}

int aws_delete_tags(struct aws_call *call, json_t **ret_output)
{
    const json_t *list = json_object_get(call->input, "TagKeys");
    size_t count = json_array_size(list), removed;
    autofree const char **keys = own_calloc(count, sizeof *keys);
    struct target target;
    struct problem problem;

    for (size_t i = 0; i < count; i++)
        keys[i] = json_string_value(json_array_get(list, i));
    int status = read_target(call, &target);
    if (status < 0)
        return status;
    if (service_tag_delete(call->service, &call->actor, &target.tagged, keys, count, &removed, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    *ret_output = json_object();
    return 0;
}
