/*
 * Names and statuses of the AWS API's errors, and what the refusals of the use cases are called here.
 */
#include "api/aws/error.h"

#include "api/aws/model.h"

#include <string.h>

#define DECLARED_MASK                                                                                                 \
    (1U << AWS_ERROR_RESOURCE_NOT_FOUND | 1U << AWS_ERROR_RESOURCE_IN_USE | 1U << AWS_ERROR_RESOURCE_LIMIT_EXCEEDED | \
     1U << AWS_ERROR_CONFLICT)

static const struct {
    const char *name;
    int status;
} errors[] = {
#define X(SYMBOL, status, name) {name, status},
    AWS_ERROR_LIST(X)
#undef X
};

const char *aws_error_name(enum aws_error error)
{
    return errors[error].name;
}

int aws_error_http(enum aws_error error)
{
    return errors[error].status;
}

bool aws_error_is_declared(enum aws_error error)
{
    return (DECLARED_MASK >> error & 1) != 0;
}

static bool declares(const struct aws_operation *operation, enum aws_error error)
{
    return operation == NULL || (operation->errors >> error & 1) != 0;
}

/* The first if the operation declares it, else the second if it declares that, else the first. */
static enum aws_error prefer(const struct aws_operation *operation, enum aws_error first, enum aws_error second)
{
    return !declares(operation, first) && declares(operation, second) ? second : first;
}

/* By the status of the problem, so that a code which is added to the list is understood here at once. */
static enum aws_error of_status(int status, const struct aws_operation *operation)
{
    switch (status) {
    case 401:
        return AWS_ERROR_UNRECOGNIZED_CLIENT;
    case 403:
        return AWS_ERROR_ACCESS_DENIED;
    case 404:
        return AWS_ERROR_RESOURCE_NOT_FOUND;
    case 405:
        return AWS_ERROR_UNKNOWN_OPERATION;
    case 409:
    case 412:
        return declares(operation, AWS_ERROR_CONFLICT) || declares(operation, AWS_ERROR_RESOURCE_IN_USE)
                   ? prefer(operation, AWS_ERROR_CONFLICT, AWS_ERROR_RESOURCE_IN_USE)
                   : AWS_ERROR_VALIDATION;
    case 413:
    case 431:
        return AWS_ERROR_REQUEST_TOO_LARGE;
    case 429:
        return AWS_ERROR_THROTTLING;
    case 503:
    case 507: /* a client does well to try again later */
        return AWS_ERROR_UNAVAILABLE;
    default:
        return status < 500 ? AWS_ERROR_VALIDATION : AWS_ERROR_INTERNAL;
    }
}

enum aws_error aws_error_of_problem(enum problem_code code, const struct aws_operation *operation)
{
    static const int statuses[] = {
#define X(SYMBOL, status, text, title) status,
        PROBLEM_LIST(X)
#undef X
    };

    if (code == PROBLEM_NAME_TAKEN)
        return prefer(operation, AWS_ERROR_RESOURCE_IN_USE, AWS_ERROR_CONFLICT);
    if (code == PROBLEM_LIMIT_EXCEEDED)
        return AWS_ERROR_RESOURCE_LIMIT_EXCEEDED;
    if (code == PROBLEM_BAD_REQUEST || code == PROBLEM_UNSUPPORTED_MEDIA)
        return AWS_ERROR_SERIALIZATION;
    return of_status(statuses[code], operation);
}

/* Bytes of at most characters_max characters of UTF-8. */
static size_t cut(const char *text, size_t characters_max)
{
    size_t characters = 0, at = 0;

    for (; text[at] != '\0'; at++) {
        bool is_first = ((unsigned char)text[at] & 0xc0) != 0x80;
        if (is_first && characters++ == characters_max)
            break;
    }
    return at;
}

json_t *aws_error_json(enum aws_error error, const char *message)
{
    json_t *json = json_object();
    autofree char *text = own_strdup(message);

    text[cut(text, AWS_ERROR_MESSAGE_MAX)] = '\0';
    json_put_text(json, "__type", aws_error_name(error));
    json_put_text(json, "message", text);
    return json;
}
