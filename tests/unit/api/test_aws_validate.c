/*
 * Checking documents against shapes: what is said of a wrong one, and where checking ends. That every limit of the model
 * is checked in every place is test_aws_properties.c's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/aws/validate.h"
#include "base/status.h"
#include "tests/unit/api/aws_samples.h"

#include <pthread.h>
#include <stdio.h>

#define THREADS 4

/* Counts what did not pass. Each thread has documents of its own; the compiled patterns are what they share. */
static void *validate_all(void *arg)
{
    uintptr_t failed = 0;

    for (size_t i = 0; i < AWS_OPERATION_COUNT; i++) {
        const struct aws_shape *shape = aws_shape(aws_operation((enum aws_operation_id)i)->input);
        if (shape->type == AWS_TYPE_NONE)
            continue;
        AUTO(aws_issues) struct aws_issues issues = {0};
        auto_json json_t *document = sample(shape, AWS_SPELLING_PASCAL, SAMPLE_FULL);
        failed += aws_validate(shape, document, (struct aws_rules){.spelling = AWS_SPELLING_PASCAL}, &issues) != 0;
    }
    *(uintptr_t *)arg = failed;
    return NULL;
}

/* First of all tests, so that the patterns have not been compiled yet. */
static void test_threads_share_patterns(void **state)
{
    pthread_t threads[THREADS];
    uintptr_t failed[THREADS];

    (void)state;
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, validate_all, &failed[i]), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(failed[i], 0);
}

static void test_least_documents_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < AWS_OPERATION_COUNT; i++) {
        const struct aws_shape *shape = aws_shape(aws_operation((enum aws_operation_id)i)->input);
        if (shape->type == AWS_TYPE_NONE)
            continue;
        AUTO(aws_issues) struct aws_issues issues = {0};
        auto_json json_t *document = sample(shape, AWS_SPELLING_PASCAL, SAMPLE_LEAST);
        assert_int_equal(aws_validate(shape, document, (struct aws_rules){.spelling = AWS_SPELLING_PASCAL}, &issues),
                         0);
    }
}

/* What is said about a body: the kind of error and the sentence. */
static void check_body(const char *operation, const char *body, const char *want)
{
    AUTO(aws_issues) struct aws_issues issues = {0};
    auto_json json_t *json = NULL;
    int r = aws_body_read(aws_operation_find(operation), body, strlen(body), &json, &issues);

    if (want == NULL) {
        assert_int_equal(r, 0);
        assert_non_null(json);
        return;
    }
    autofree char *message = aws_issues_message(&issues);
    autofree char *got = own_printf("%s: %s", aws_error_name(aws_issues_error(&issues)), message);
    assert_true(r < 0);
    assert_null(json);
    assert_string_equal(got, want);
}

static void test_sentences(void **state)
{
    static const struct {
        const char *operation, *body, *want;
    } table[] = {
        {"ListClusters", "{}", NULL},
        {"ListClusters", "{\"MaxResults\":null,\"Newer\":{\"a\":[1]}}", NULL},
        {"ListClusters", "{\"MaxResults\":1e2}", NULL},
        {"ListClusters", "{\"MaxResults\":101}",
         "ValidationException: 1 validation error detected: Value '101' at 'maxResults' failed to satisfy constraint: "
         "Member must have value less than or equal to 100"},
        {"ListClusters", "{\"MaxResults\":0.5}",
         "ValidationException: 1 validation error detected: Value '0.5' at 'maxResults' failed to satisfy constraint: "
         "Member must be a whole number"},
        {"ListClusters", "{\"MaxResults\":\"abc\",\"SortBy\":\"x\"}",
         "SerializationException: 'abc' at 'maxResults' should be a number"},
        {"ListClusters", "{\"SortBy\":\"x\",\"CreationTimeAfter\":\"2026-11-20T00:00:00Z\"}",
         "SerializationException: '2026-11-20T00:00:00Z' at 'creationTimeAfter' should be a number of seconds since "
         "1970"},
        {"ListClusters", "{\"SortOrder\":\"ascending\"}",
         "ValidationException: 1 validation error detected: Value 'ascending' at 'sortOrder' failed to satisfy "
         "constraint: Member must satisfy enum value set: [Ascending, Descending]"},
        {"DescribeCluster", "{}",
         "ValidationException: 1 validation error detected: Value null at 'clusterName' failed to satisfy constraint: "
         "Member must not be null"},
        {"DescribeCluster", "{\"clusterName\":\"c\"}",
         "ValidationException: 1 validation error detected: Value null at 'clusterName' failed to satisfy constraint: "
         "Member must not be null"},
        {"CreateCluster", "{\"ClusterName\":\"a_b\",\"InstanceGroups\":[]}",
         "ValidationException: 2 validation errors detected: Value 'a_b' at 'clusterName' failed to satisfy "
         "constraint: "
         "Member must satisfy regular expression pattern: [a-zA-Z0-9](-*[a-zA-Z0-9])*; Value a list of 0 items at "
         "'instanceGroups' failed to satisfy constraint: Member must have length greater than or equal to 1"},
        {"DeleteCluster", "{\"ClusterName\":\"\\u001b[2J\\n\\u202e\\u2028\"}",
         "ValidationException: 1 validation error detected: Value '\\u001b[2J\\u000a\\u202e\\u2028' at 'clusterName' "
         "failed to satisfy constraint: Member must satisfy regular expression pattern: "
         "(arn:aws[a-z\\-]*:sagemaker:[a-z0-9\\-]*:[0-9]{12}:cluster/[a-z0-9]{12})|([a-zA-Z0-9](-*[a-zA-Z0-9]){0,62})"},
        {"DeleteCluster", "[]", "SerializationException: a list of 0 items at the document should be a structure"},
        {"DeleteCluster", "",
         "SerializationException: the body is not JSON that can be read: line 1, column 0: '[' or '{' expected near "
         "end "
         "of file"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        check_body(table[i].operation, table[i].body, table[i].want);
}

/* Lengths are of characters: 128 of four bytes are a tag's key, 129 of one are none. */
static void test_lengths_count_characters(void **state)
{
    AUTO(text) struct text body = {0};

    (void)state;
    for (int characters = 128; characters <= 129; characters++) {
        text_clear(&body);
        text_add(&body, "{\"ResourceArn\":\"arn:aws:sagemaker:r:012345678901:x\",\"TagKeys\":[\"");
        for (int i = 0; i < characters; i++)
            text_add(&body, "\xf0\xa0\x80\x80"); /* U+20000, a letter */
        text_add(&body, "\"]}");
        AUTO(aws_issues) struct aws_issues issues = {0};
        auto_json json_t *json = NULL;
        int r = aws_body_read(aws_operation(AWS_OPERATION_DeleteTags), body.data, body.len, &json, &issues);
        assert_int_equal(r, characters == 128 ? 0 : STATUS_INVALID);
    }
}

static void test_unknown_members_are_refused_when_asked(void **state)
{
    auto_json json_t *json = json_pack("{s:s, s:{s:i}, s:i}", "clusterName", "c", "a/~\n", "x", 1, "MaxResults", 1);
    const struct aws_shape *shape = aws_shape(AWS_SHAPE_DescribeClusterRequest);

    (void)state;
    for (int refused = 0; refused <= 1; refused++) {
        AUTO(aws_issues) struct aws_issues issues = {0};
        struct aws_rules rules = {AWS_SPELLING_CAMEL, refused == 1};
        assert_int_equal(aws_validate(shape, json, rules, &issues), refused == 1 ? STATUS_INVALID : 0);
        assert_int_equal(issues.rules, refused == 1 ? 2 : 0);
        autofree char *message = aws_issues_message(&issues);
        if (refused == 1)
            assert_non_null(
                strstr(message, "at '/a~1~0\\u000a' failed to satisfy constraint: There is no such member"));
    }
}

/* A document with everything wrong costs no more than ten sentences. */
static void test_it_stops_after_enough(void **state)
{
    const struct aws_shape *shape = aws_shape(AWS_SHAPE_BatchDeleteClusterNodesRequest);
    auto_json json_t *json = json_pack("{s:s, s:o}", "ClusterName", "c", "NodeIds", json_array());
    AUTO(aws_issues) struct aws_issues issues = {0};

    (void)state;
    for (int i = 0; i < 3000; i++)
        json_array_append_new(json_object_get(json, "NodeIds"), json_string("I-0"));
    assert_int_equal(aws_validate(shape, json, (struct aws_rules){.spelling = AWS_SPELLING_PASCAL}, &issues),
                     STATUS_INVALID);
    assert_int_equal(issues.rules, AWS_ISSUES_MAX);
    autofree char *message = aws_issues_message(&issues);
    assert_non_null(strstr(message, "10 validation errors detected: "));
    assert_non_null(strstr(message, "'nodeIds.10.member'"));
    assert_null(strstr(message, "'nodeIds.11.member'"));
}

/* A key and its value may both be wrong; the eleventh complaint is not made all the same. */
static void test_it_stops_within_a_map(void **state)
{
    const struct aws_shape *shape = aws_shape(AWS_SHAPE_ClusterKubernetesLabels);
    auto_json json_t *json = json_object();
    AUTO(aws_issues) struct aws_issues issues = {0};

    (void)state;
    for (int i = 0; i < 49; i++) {
        autofree char *key = own_printf("-%d", i);
        json_put(json, key, i == 0 ? json_string("fine") : json_string("-"));
    }
    assert_int_equal(aws_validate(shape, json, (struct aws_rules){.spelling = AWS_SPELLING_PASCAL}, &issues),
                     STATUS_INVALID);
    assert_int_equal(issues.rules, AWS_ISSUES_MAX);
}

static void test_bodies_have_an_end(void **state)
{
    autofree char *deep = own_calloc(1, 4001);
    autofree char *large = own_calloc(1, AWS_BODY_BYTES_MAX + 2);
    const char *const bodies[] = {deep, large};

    (void)state;
    memset(deep, '[', 4000);
    memset(large, ' ', AWS_BODY_BYTES_MAX + 1);
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        AUTO(aws_issues) struct aws_issues issues = {0};
        auto_json json_t *json = NULL;
        const struct aws_operation *operation = aws_operation(AWS_OPERATION_ListClusters);
        assert_int_equal(aws_body_read(operation, bodies[i], strlen(bodies[i]), &json, &issues), STATUS_TOO_LARGE);
        assert_int_equal(aws_issues_error(&issues), AWS_ERROR_SERIALIZATION);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_share_patterns),
        cmocka_unit_test(test_least_documents_pass),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_lengths_count_characters),
        cmocka_unit_test(test_unknown_members_are_refused_when_asked),
        cmocka_unit_test(test_it_stops_after_enough),
        cmocka_unit_test(test_it_stops_within_a_map),
        cmocka_unit_test(test_bodies_have_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
