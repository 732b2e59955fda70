/* Scheduler configurations and compute quotas at the REST door: the AWS door's documents, said in this door's words. */
#include "api/v1/governance.h"

#include "api/aws/render.h"
#include "api/aws/validate.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

/* Stands for what the path says while the rest is checked. */
#define SOME_ARN "arn:aws:sagemaker:hp-local-1:000000000000:cluster/000000000000"
#define SOME_ID "000000000000"

/* --- in ---------------------------------------------------------------------------------------------- */

/* False when the body says itself what the path says: it has answered. */
static bool add_path(struct api_call *call, json_t *body, const json_t *path)
{
    const char *member;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)path, member, value)
    {
        if (json_object_get(body, member) != NULL) {
            api_problem_printf(
                call, PROBLEM_INVALID_VALUE,
                "The body breaks a rule: \"%s\" is not one of its members, as the path or If-Match says it.", member);
            return false;
        }
    }
    if (json_is_object(body))
        json_object_update(body, (json_t *)(uintptr_t)path);
    return true;
}

/* The body as an input of the operation, in the model's spelling, checked. path has the members, in this door's spelling, that
 * the shape requires and the body must not have; it is taken. NULL: it has answered. */
static json_t *governance_body(struct api_call *call, enum aws_operation_id operation, json_t *path)
{
    static const struct aws_rules rules = {.spelling = AWS_SPELLING_CAMEL, .unknown_refused = true};
    const struct aws_shape *shape = aws_shape(aws_operation(operation)->input);
    AUTO(aws_issues) struct aws_issues issues = {0};
    auto_json json_t *of_path = path, *body = NULL;
    json_t *input = NULL;

    if (api_json(call, &body) != 0 || !add_path(call, body, of_path))
        return NULL;
    if (aws_validate(shape, body, rules, &issues) < 0 || aws_render(shape, body, AWS_SPELLING_CAMEL, &input) < 0) {
        autofree char *message = aws_issues_message(&issues);
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "The body breaks a rule: %s", message);
        return NULL;
    }
    return input;
}

/* --- out --------------------------------------------------------------------------------------------- */

json_t *governance_render(const struct governance *governance)
{
    auto_json json_t *pascal = governance_output(governance);
    json_t *json = NULL;

    if (aws_render(aws_shape(governance_words[governance->kind].describe_shape), pascal, AWS_SPELLING_PASCAL, &json) <
        0)
        json = json_object(); /* cannot be: it is our own */
    json_put_text(json, "cluster", governance->cluster);
    json_put(json, "applied", json_boolean(governance_status_is_good(governance->status) && governance->active));
    json_put_text(json, "appliedReason", governance->reason);
    json_put_time(json, "appliedAt", governance->applied_at);
    return json;
}

static void reply(struct api_call *call, unsigned status, const struct governance *governance, const char *location)
{
    api_reply_resource(call, status, governance_render(governance), location, governance->version);
}

/* --- use cases ---------------------------------------------------------------------------------------- */

void governance_create(struct api_call *call, enum governance_kind kind)
{
    struct problem problem;
    autofree struct governance *governance = own_calloc(1, sizeof *governance);
    AUTO(governance_input) struct governance_input input = {.tags = NULL};
    char location[256];

    auto_json json_t *body =
        governance_body(call, governance_words[kind].create, json_pack("{s:s}", "clusterArn", SOME_ARN));
    if (body == NULL)
        return;
    governance_input_read(kind, body, &input);
    if (service_governance_create(call->service, &call->actor, kind, call->params[0], &input.spec, governance,
                                  &problem) < 0) {
        api_problem(call, &problem);
        return;
    }
    if (kind == GOVERNANCE_KIND_COMPUTE_QUOTA)
        snprintf(location, sizeof location, "/v1/clusters/%s/quotas/%s", governance->cluster, governance->name);
    else
        snprintf(location, sizeof location, "/v1/clusters/%s/scheduler-config", governance->cluster);
    reply(call, 201, governance, location);
}

void governance_describe(struct api_call *call, const struct service_governance_ref *ref)
{
    struct problem problem;
    int64_t version = 0;
    autofree struct governance *governance = own_calloc(1, sizeof *governance);
    const struct api_query query[] = {
        {.name = "version", .type = API_QUERY_I64, .target = &version, .min = 1, .max = INT32_MAX}};

    if (api_query(call, query, ARRAY_LEN(query)) != 0)
        return;
    if (service_governance_describe(call->service, ref, version, governance, &problem) < 0)
        api_problem(call, &problem);
    else
        reply(call, 200, governance, NULL);
}

void governance_update(struct api_call *call, const struct service_governance_ref *ref)
{
    const struct governance_words *words = &governance_words[ref->kind];
    const char *id =
        aws_member_find(aws_shape(words->describe_shape), AWS_SPELLING_PASCAL, words->id)->name[AWS_SPELLING_CAMEL];
    struct problem problem;
    int64_t version;
    autofree struct governance *governance = own_calloc(1, sizeof *governance);
    AUTO(governance_input) struct governance_input input = {.tags = NULL};

    auto_json json_t *body =
        governance_body(call, words->update, json_pack("{s:s, s:i}", id, SOME_ID, "targetVersion", 1));
    if (body == NULL || api_if_match(call, &version) != 0)
        return;
    governance_input_read(ref->kind, body, &input);
    if (service_governance_update(call->service, &call->actor, ref, &input.spec, version, governance, &problem) < 0)
        api_problem(call, &problem);
    else
        reply(call, 200, governance, NULL);
}

void governance_delete(struct api_call *call, const struct service_governance_ref *ref)
{
    struct problem problem;

    if (service_governance_delete(call->service, &call->actor, ref, &problem) < 0)
        api_problem(call, &problem);
    else
        api_reply_empty(call, 204);
}
