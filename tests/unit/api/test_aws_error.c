/* Names and statuses of the AWS API's errors, and what the refusals of the use cases become. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/aws/error.h"
#include "api/aws/model.h"

#include <string.h>

static void test_problems_have_names(void **state)
{
    static const struct {
        enum problem_code code;
        const char *operation, *want;
    } table[] = {
        {PROBLEM_NOT_FOUND, "DescribeCluster", "ResourceNotFound"},
        {PROBLEM_NOT_FOUND, "ListTags", "ResourceNotFound"}, /* declares nothing; the class exists all the same */
        {PROBLEM_NAME_TAKEN, "CreateCluster", "ResourceInUse"},
        {PROBLEM_NAME_TAKEN, "CreateComputeQuota", "ConflictException"},
        {PROBLEM_NAME_TAKEN, NULL, "ResourceInUse"},
        {PROBLEM_CONFLICT, "DeleteCluster", "ConflictException"},
        {PROBLEM_CONFLICT, "CreateCluster", "ResourceInUse"},
        {PROBLEM_KEY_REUSED, "BatchAddClusterNodes", "ValidationException"}, /* which declares no conflict */
        {PROBLEM_OPERATION_ACTIVE, "BatchRebootClusterNodes", "ValidationException"},
        {PROBLEM_PRECONDITION_FAILED, "UpdateComputeQuota", "ConflictException"},
        {PROBLEM_LIMIT_EXCEEDED, "CreateComputeQuota", "ResourceLimitExceeded"},
        {PROBLEM_LIMIT_EXCEEDED, "AddTags", "ResourceLimitExceeded"},
        {PROBLEM_INVALID_VALUE, NULL, "ValidationException"},
        {PROBLEM_BAD_REQUEST, NULL, "SerializationException"},
        {PROBLEM_UNAUTHENTICATED, NULL, "UnrecognizedClientException"},
        {PROBLEM_FORBIDDEN, NULL, "AccessDeniedException"},
        {PROBLEM_TOO_LARGE, NULL, "RequestEntityTooLargeException"},
        {PROBLEM_RATE_LIMITED, NULL, "ThrottlingException"},
        {PROBLEM_INTERNAL, NULL, "InternalFailure"},
        {PROBLEM_STORE_FULL, NULL, "ServiceUnavailable"},
        {PROBLEM_UNAVAILABLE, NULL, "ServiceUnavailable"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const struct aws_operation *operation =
            table[i].operation != NULL ? aws_operation_find(table[i].operation) : NULL;
        assert_string_equal(aws_error_name(aws_error_of_problem(table[i].code, operation)), table[i].want);
    }
}

/* Clients retry what is 500 and above: a refusal is never one of those, and a failure of ours always. */
static void test_statuses_agree_on_whose_fault_it_is(void **state)
{
    static const int statuses[] = {
#define X(SYMBOL, status, text, title) status,
        PROBLEM_LIST(X)
#undef X
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        assert_int_equal(aws_error_http(aws_error_of_problem((enum problem_code)i, NULL)) >= 500, statuses[i] >= 500);
}

static void test_body(void **state)
{
    char text[4 * (AWS_ERROR_MESSAGE_MAX + 1) + 1] = "";

    (void)state;
    auto_json json_t *json = aws_error_json(AWS_ERROR_CONFLICT, "busy");
    assert_string_equal(json_string_value(json_object_get(json, "__type")), "ConflictException");
    assert_string_equal(json_string_value(json_object_get(json, "message")), "busy");

    for (size_t i = 0; i <= AWS_ERROR_MESSAGE_MAX; i++)
        memcpy(text + 4 * i, "\xf0\x9f\x90\x8e", 5);
    auto_json json_t *cut = aws_error_json(AWS_ERROR_CONFLICT, text);
    assert_int_equal(json_string_length(json_object_get(cut, "message")), 4 * AWS_ERROR_MESSAGE_MAX);
}

static void test_four_are_declared(void **state)
{
    int count = 0;

    (void)state;
    for (int i = 0; i < AWS_ERROR_COUNT; i++)
        count += aws_error_is_declared((enum aws_error)i);
    assert_int_equal(count, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_problems_have_names),
        cmocka_unit_test(test_statuses_agree_on_whose_fault_it_is),
        cmocka_unit_test(test_body),
        cmocka_unit_test(test_four_are_declared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
