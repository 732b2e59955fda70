/* Operations of the AWS API called without HTTP in the service's small world: what they answer is held against the model. */
#ifndef HOLDFAST_TESTS_UNIT_API_AWS_CALLS_H
#define HOLDFAST_TESTS_UNIT_API_AWS_CALLS_H

#include "tests/support/service_world.h"

#include "api/aws/operation.h"
#include "api/aws/validate.h"

static struct world world;
static __attribute__((unused)) const char *aws_region = "us-west-2"; /* that the caller signs for */

/* 0 with an output that fits the model, or negative with call->error. */
WORLD_FN int perform(struct aws_call *call, const char *name, const struct actor *actor, json_t *input,
                     json_t **ret_output)
{
    auto_json json_t *taken = input;
    json_t *output = NULL;
    *call = (struct aws_call){
        .service = &world.service, .actor = *actor, .operation = aws_operation_find(name), .input = taken};
    snprintf(call->region, sizeof(call->region), "%s", aws_region);
    assert_true(aws_is_carried_out(call->operation->id));
    int status = aws_permit(call);
    if (status == 0)
        status = aws_perform(call, &output);
    call->input = NULL;
    if (status < 0)
        return status;
    *ret_output = output;
    if (call->operation->output == AWS_SHAPE_NONE)
        return 0;
    AUTO(aws_issues) struct aws_issues issues = {0};
    const struct aws_rules rules = {.spelling = AWS_SPELLING_PASCAL, .unknown_refused = true};
    if (aws_validate(aws_shape(call->operation->output), output, rules, &issues) < 0) {
        autofree char *message = aws_issues_message(&issues);
        fail_msg("%s: %s", name, message);
    }
    return 0;
}

WORLD_FN json_t *must(const char *name, const struct actor *actor, json_t *input)
{
    struct aws_call call;
    json_t *output = NULL;
    if (perform(&call, name, actor, input, &output) < 0)
        fail_msg("%s: %s: %s", name, aws_error_name(call.error), call.message);
    return output;
}

WORLD_FN void refused(const char *name, const struct actor *actor, json_t *input, enum aws_error error)
{
    struct aws_call call;
    json_t *output = NULL;
    assert_true(perform(&call, name, actor, input, &output) < 0);
    if (call.error != error)
        fail_msg("%s: %s: %s", name, aws_error_name(call.error), call.message);
    assert_true(call.message[0] != '\0');
}

#endif
