/*
 * What the AWS API says when it says no: the names that clients match on, each with its status.
 *
 * Four of them are classes of the SDKs (declared by the operations of the model); the rest are names that every AWS
 * service uses. Names and classes: AWS SDK for JavaScript v3, botocore. Statuses below 500 are no reason to retry.
 */
#ifndef HOLDFAST_API_AWS_ERROR_H
#define HOLDFAST_API_AWS_ERROR_H

#include "base/json.h"
#include "server/service/service.h"

#define AWS_ERROR_LIST(X)                                          \
    X(RESOURCE_NOT_FOUND, 400, "ResourceNotFound")                 \
    X(RESOURCE_IN_USE, 400, "ResourceInUse")                       \
    X(RESOURCE_LIMIT_EXCEEDED, 400, "ResourceLimitExceeded")       \
    X(CONFLICT, 400, "ConflictException")                          \
    X(VALIDATION, 400, "ValidationException")                      \
    X(SERIALIZATION, 400, "SerializationException")                \
    X(UNKNOWN_OPERATION, 400, "UnknownOperationException")         \
    X(UNSUPPORTED_OPERATION, 400, "UnsupportedOperationException") \
    X(REQUEST_TOO_LARGE, 413, "RequestEntityTooLargeException")    \
    X(INCOMPLETE_SIGNATURE, 400, "IncompleteSignatureException")   \
    X(MISSING_TOKEN, 403, "MissingAuthenticationTokenException")   \
    X(INVALID_SIGNATURE, 403, "InvalidSignatureException")         \
    X(UNRECOGNIZED_CLIENT, 403, "UnrecognizedClientException")     \
    X(EXPIRED_TOKEN, 403, "ExpiredTokenException")                 \
    X(ACCESS_DENIED, 400, "AccessDeniedException")                 \
    X(THROTTLING, 400, "ThrottlingException")                      \
    X(INTERNAL, 500, "InternalFailure")                            \
    X(UNAVAILABLE, 503, "ServiceUnavailable")

enum aws_error {
#define X(SYMBOL, status, name) AWS_ERROR_##SYMBOL,
    AWS_ERROR_LIST(X)
#undef X
        AWS_ERROR_COUNT
};

#define AWS_ERROR_MESSAGE_MAX 1024 /* characters of FailureReason, the shape of every declared message */

struct aws_operation;

const char *aws_error_name(enum aws_error error);
int aws_error_http(enum aws_error error);
/* True for the four that are classes of the SDKs. */
bool aws_error_is_declared(enum aws_error error);
/* What a refusal of a use case is called here. operation (may be NULL) chooses among the names by what it declares:
 * a name that is taken is ResourceInUse for a cluster, and ConflictException for a compute quota. */
enum aws_error aws_error_of_problem(enum problem_code code, const struct aws_operation *operation);
/* {"__type", "message"}; the message is cut at AWS_ERROR_MESSAGE_MAX characters. Caller owns it. */
json_t *aws_error_json(enum aws_error error, const char *message);

#endif
