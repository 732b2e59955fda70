/*
 * A request's way through the AWS API, on a request thread: who signed it, which operation, may they, does the input fit
 * the model, and then the operation. Nothing but the signature is looked at before the signature is verified.
 *
 * Refusals are as AWS writes them: status 400 or so, __type and message, a request id, and the server's Date (which the HTTP
 * server adds), by which SDKs set a wrong clock right.
 */
#include "api/aws/api.h"

#include "api/audit.h"
#include "api/aws/operation.h"
#include "api/aws/render.h"
#include "api/intern.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/service/access/access.h"

#include <string.h>

#define CONTENT_TYPE "application/x-amz-json-1.1"

/* --- replies --------------------------------------------------------------------------------------------------------- */

static void reply(struct api_call *call, int http_status, char *body, const char *id, int64_t late_ms)
{
    struct http_response *response = http_response_new(body, strlen(body), CONTENT_TYPE);

    http_response_header(response, "x-amzn-RequestId", id);
    http_response_header(response, "Cache-Control", "no-store");
    if (late_ms > 0)
        http_respond_later(call->http, (unsigned)http_status, response, late_ms);
    else
        http_respond(call->http, (unsigned)http_status, response);
}

static void reply_id(const struct api_call *call, char ret_id[ID_UUID_MAX])
{
    if (call->audit != NULL)
        memcpy(ret_id, call->audit->entry.request_id, ID_UUID_MAX);
    else
        id_uuid(NULL, ret_id);
}

static void reply_error(struct api_call *call, enum aws_error error, const char *message)
{
    char id[ID_UUID_MAX];
    auto_json json_t *json = aws_error_json(error, message);

    reply_id(call, id);
    audit_refused(call, aws_error_name(error), id, aws_error_http(error) >= 500);
    if (error == AWS_ERROR_INTERNAL)
        log_error("request failed operation=%s request_id=%s detail=\"%s\"", call->route->operation, id, message);
    bool is_guess = error == AWS_ERROR_UNRECOGNIZED_CLIENT || error == AWS_ERROR_INVALID_SIGNATURE;
    reply(call, aws_error_http(error), aws_dump(json), id, is_guess ? api_refusal_late_ms(call) : 0);
}

void aws_api_problem(struct api_call *call, enum problem_code code, const char *detail)
{
    reply_error(call, aws_error_of_problem(code, NULL), detail);
}

/* --- who ------------------------------------------------------------------------------------------------------------- */

static size_t header(void *arg, const char *name, const char **ret_value)
{
    return http_header_count(arg, name, ret_value);
}

/* The client signed the path that it sent. A proxy may have cut the beginning off, and others do not come through it. */
static int verify(const struct api_call *call, struct sigv4_request *request, const struct sigv4 *sigv4,
                  const char *secret, struct sigv4_refusal *ret_refusal)
{
    const char *prefix = call->api->options.aws_path_prefix;
    struct sigv4_refusal again;

    int status = sigv4_verify(request, sigv4, secret, call->api->signing_keys, ret_refusal);
    if (status == 0 || prefix == NULL || prefix[0] == '\0')
        return status;
    request->path_prefix = prefix;
    return sigv4_verify(request, sigv4, secret, call->api->signing_keys, &again);
}

/* The caller's, once the signature has proven it. False: it has answered. */
static bool authenticate(struct api_call *call, struct aws_call *ret_call)
{
    struct sigv4_request request = {.method = http_method(call->http),
                                    .path = http_path(call->http),
                                    .header = header,
                                    .arg = call->http,
                                    .body = call->body,
                                    .body_len = call->body_len,
                                    .now_ms = clock_true_ms(call->service->clock)};
    struct sigv4 sigv4;
    struct sigv4_refusal refusal;
    struct access_key key;
    char secret[SERVICE_SECRET_MAX];

    int status = sigv4_parse(&request, &sigv4, &refusal);
    if (status == 0) {
        status = service_access_key_secret(call->service, sigv4.key, secret, &key, &ret_call->actor);
        if (status == STATUS_UNAUTHENTICATED)
            sigv4_refuse_key(&sigv4, &refusal);
    }
    if (status < 0 && status != STATUS_UNAUTHENTICATED) {
        reply_error(call, AWS_ERROR_UNAVAILABLE, "the access key cannot be checked now: try again in a few seconds");
        return false;
    }
    if (status == 0) {
        audit_credential(call, ret_call->actor.credential); /* also of one that somebody else tries to use */
        status = verify(call, &request, &sigv4, secret, &refusal);
        explicit_bzero(secret, sizeof secret);
    }
    if (status < 0) {
        reply_error(call, refusal.error, refusal.why);
        return false;
    }
    audit_who(call, &ret_call->actor);
    service_access_key_used(call->service, &key);
    memcpy(ret_call->region, sigv4.region, sizeof ret_call->region);
    return true;
}

/* --- what ------------------------------------------------------------------------------------------------------------ */

/*
 * Training plans and reserved capacity are sold by AWS, and this server has none: so a list of them is empty, one that is named is not there, and
 * none can be bought.
 */
static void answer_without_plans(struct api_call *call, const struct aws_operation *operation)
{
    static const struct {
        const char *name, *list; /* NULL: it is about one */
    } asked[] = {{"ListTrainingPlans", "TrainingPlanSummaries"},
                 {"SearchTrainingPlanOfferings", "TrainingPlanOfferings"},
                 {"DescribeTrainingPlan", NULL},
                 {"DescribeTrainingPlanExtensionHistory", NULL},
                 {"DescribeReservedCapacity", NULL},
                 {"ListUltraServersByReservedCapacity", NULL}};
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        char id[ID_UUID_MAX];
        if (!text_equal(operation->name, asked[i].name))
            continue;
        if (asked[i].list == NULL) {
            reply_error(call, AWS_ERROR_RESOURCE_NOT_FOUND,
                        "this server has no training plans and no reserved capacity");
            return;
        }
        auto_json json_t *output = json_object();
        json_put(output, asked[i].list, json_array());
        audit_granted(call);
        reply_id(call, id);
        reply(call, 200, aws_dump(output), id, 0);
        return;
    }
    autofree char *message = own_printf(
        "%s: this server sells no training plans and no reserved capacity. Nothing was done", operation->name);
    reply_error(call, AWS_ERROR_UNSUPPORTED_OPERATION, message);
}

/* False: it has answered. */
static bool choose(struct api_call *call, struct aws_call *aws)
{
    const char *target = http_header(call->http, "X-Amz-Target");
    const char *invocation = http_header(call->http, "amz-sdk-invocation-id");

    aws->operation = aws_operation_of_target(target);
    if (aws->operation == NULL) {
        reply_error(call, AWS_ERROR_UNKNOWN_OPERATION, "X-Amz-Target names no operation of HyperPod's");
        return false;
    }
    if (aws_permit(aws) < 0) {
        reply_error(call, aws->error, aws->message);
        return false;
    }
    if (!aws->operation->later) {
        if (invocation != NULL && text_copy(aws->invocation, sizeof aws->invocation, invocation) < 0)
            aws->invocation[0] = '\0';
        return true;
    }
    answer_without_plans(call, aws->operation);
    return false;
}

/* A new document, checked. NULL: it has answered. */
static json_t *read_input(struct api_call *call, const struct aws_operation *operation)
{
    AUTO(aws_issues) struct aws_issues issues = {0};
    json_t *json = NULL;
    bool empty = call->body_len == 0; /* means no members */

    if (aws_body_read(operation, empty ? "{}" : call->body, empty ? 2 : call->body_len, &json, &issues) == 0)
        return json;
    autofree char *message = aws_issues_message(&issues);
    reply_error(call, aws_issues_error(&issues), message);
    return NULL;
}

void aws_api_call(struct api_call *call)
{
    struct aws_call aws = {.service = call->service};
    char id[ID_UUID_MAX];
    auto_json json_t *output = NULL;

    if (!authenticate(call, &aws) || !choose(call, &aws))
        return;
    auto_json json_t *input = read_input(call, aws.operation);
    if (input == NULL)
        return;
    aws.input = input;
    audit_input(call, input);
    if (aws_perform(&aws, &output) < 0) {
        reply_error(call, aws.error, aws.message);
        return;
    }
    audit_failures(call, json_object_get(output, "Failed"));
    audit_failures(call, json_object_get(output, "FailedNodeLogicalIds"));
    audit_granted(call);
    reply_id(call, id);
    reply(call, 200, aws_dump(output), id, 0);
}
