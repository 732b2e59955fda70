/* One vocabulary, two spellings: whole documents there and back, times to the millisecond, and nothing that is not meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/aws/render.h"
#include "api/aws/validate.h"
#include "base/status.h"
#include "tests/unit/api/aws_samples.h"

static void check_valid(const struct aws_shape *shape, const json_t *json, enum aws_spelling spelling)
{
    AUTO(aws_issues) struct aws_issues issues = {0};

    if (aws_validate(shape, json, (struct aws_rules){spelling, true}, &issues) < 0) {
        autofree char *message = aws_issues_message(&issues);
        fail_msg("%s: %s", shape->name, message);
    }
}

/* A full document goes into the other spelling, is valid there as it stands, and comes back the same. */
static void check_there_and_back(const struct aws_shape *shape, enum sample_kind kind)
{
    auto_json json_t *pascal = sample(shape, AWS_SPELLING_PASCAL, kind);
    auto_json json_t *camel = NULL, *back = NULL;

    assert_int_equal(aws_render(shape, pascal, AWS_SPELLING_PASCAL, &camel), 0);
    check_valid(shape, camel, AWS_SPELLING_CAMEL);
    assert_int_equal(aws_render(shape, camel, AWS_SPELLING_CAMEL, &back), 0);
    assert_true(json_equal(pascal, back));
}

static void test_every_operation_there_and_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < AWS_OPERATION_COUNT; i++) {
        const struct aws_operation *operation = aws_operation((enum aws_operation_id)i);
        const enum aws_shape_id ids[] = {operation->input, operation->output};
        for (size_t side = 0; side < ARRAY_LEN(ids); side++)
            for (int kind = SAMPLE_LEAST; ids[side] != AWS_SHAPE_NONE && kind <= SAMPLE_FULL; kind++)
                check_there_and_back(aws_shape(ids[side]), (enum sample_kind)kind);
    }
}

/* Renders text and compares with want; want NULL: it must be refused. */
static void check_text(enum aws_shape_id id, enum aws_spelling from, const char *text, const char *want)
{
    json_error_t error;
    auto_json json_t *json = json_loads(text, JSON_DECODE_ANY, &error);
    auto_json json_t *out = NULL;

    assert_non_null(json);
    int r = aws_render(aws_shape(id), json, from, &out);
    if (want == NULL) {
        assert_int_equal(r, STATUS_INVALID);
        assert_null(out);
        return;
    }
    assert_int_equal(r, 0);
    autofree char *got = aws_dump(out);
    assert_string_equal(got, want);
}

static void test_by_example(void **state)
{
    static const struct {
        enum aws_shape_id shape;
        enum aws_spelling from;
        const char *text, *want;
    } table[] = {
        {AWS_SHAPE_ListClustersRequest, AWS_SPELLING_PASCAL,
         "{\"MaxResults\":1e1,\"CreationTimeAfter\":1700000000.123}",
         "{\"creationTimeAfter\":\"2023-11-14T22:13:20.123Z\",\"maxResults\":10}"},
        {AWS_SHAPE_ListClustersRequest, AWS_SPELLING_CAMEL,
         "{\"maxResults\":10,\"creationTimeAfter\":\"2023-11-14T23:13:20.123+01:00\"}",
         "{\"CreationTimeAfter\":1700000000.123,\"MaxResults\":10}"},
        {AWS_SHAPE_ListClustersRequest, AWS_SPELLING_PASCAL, "{\"CreationTimeAfter\":0}",
         "{\"creationTimeAfter\":\"1970-01-01T00:00:00.000Z\"}"},
        {AWS_SHAPE_ListClustersRequest, AWS_SPELLING_CAMEL, "{\"creationTimeAfter\":\"1970-01-01T00:00:00Z\"}",
         "{\"CreationTimeAfter\":0}"},
        /* Half a millisecond from a float's remainder is the next one, not the last. */
        {AWS_SHAPE_ListClustersRequest, AWS_SPELLING_PASCAL, "{\"CreationTimeAfter\":1700000000.9999}",
         "{\"creationTimeAfter\":\"2023-11-14T22:13:21.000Z\"}"},
        {AWS_SHAPE_ListClustersRequest, AWS_SPELLING_PASCAL, "{\"CreationTimeAfter\":253402300799}",
         "{\"creationTimeAfter\":\"9999-12-31T23:59:59.000Z\"}"},
        /* Null, unknown, and the other API's spelling: left out. */
        {AWS_SHAPE_ListClustersRequest, AWS_SPELLING_PASCAL, "{\"NextToken\":null,\"nameContains\":\"x\",\"Y\":1}",
         "{}"},
        {AWS_SHAPE_ClusterKubernetesConfig, AWS_SPELLING_PASCAL,
         "{\"Labels\":{\"Example.com/Pool\":\"A\"},\"Taints\":[]}",
         "{\"labels\":{\"Example.com/Pool\":\"A\"},\"taints\":[]}"},
        {AWS_SHAPE_ClusterCapacityRequirements, AWS_SPELLING_PASCAL, "{\"Spot\":{}}", "{\"spot\":{}}"},
        {AWS_SHAPE_EnvironmentConfig, AWS_SPELLING_PASCAL,
         "{\"FSxLustreConfig\":{\"SizeInGiB\":1200,\"PerUnitStorageThroughput\":125}}",
         "{\"fsxLustreConfig\":{\"sizeInGiB\":1200,\"perUnitStorageThroughput\":125}}"},
        {AWS_SHAPE_ComputeQuotaResourceConfig, AWS_SPELLING_PASCAL, "{\"VCpu\":0.1,\"MemoryInGiB\":3}",
         "{\"vcpu\":0.1,\"memoryInGiB\":3}"},
        {AWS_SHAPE_ListClustersRequest, AWS_SPELLING_PASCAL, "{\"CreationTimeAfter\":\"2023-11-14T22:13:20Z\"}", NULL},
        {AWS_SHAPE_ListClustersRequest, AWS_SPELLING_PASCAL, "{\"CreationTimeAfter\":-1}", NULL},
        {AWS_SHAPE_ListClustersRequest, AWS_SPELLING_PASCAL, "{\"CreationTimeAfter\":1700000000000}", NULL},
        {AWS_SHAPE_ListClustersRequest, AWS_SPELLING_CAMEL, "{\"creationTimeAfter\":\"yesterday\"}", NULL},
        {AWS_SHAPE_ListClustersRequest, AWS_SPELLING_CAMEL, "{\"creationTimeAfter\":\"1969-12-31T00:00:00Z\"}", NULL},
        {AWS_SHAPE_ListClustersRequest, AWS_SPELLING_PASCAL, "{\"MaxResults\":\"10\"}", NULL},
        {AWS_SHAPE_ListClustersRequest, AWS_SPELLING_PASCAL, "[]", NULL},
        {AWS_SHAPE_ClusterKubernetesConfig, AWS_SPELLING_PASCAL, "{\"Labels\":[]}", NULL},
        {AWS_SHAPE_ClusterKubernetesConfig, AWS_SPELLING_PASCAL, "{\"Labels\":{\"a\":1}}", NULL},
        {AWS_SHAPE_ClusterKubernetesConfig, AWS_SPELLING_PASCAL, "{\"Taints\":[null]}", NULL},
        {AWS_SHAPE_ClusterEbsVolumeConfig, AWS_SPELLING_PASCAL, "{\"RootVolume\":1}", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        check_text(table[i].shape, table[i].from, table[i].text, table[i].want);
}

static void test_times_are_numbers_of_seconds(void **state)
{
    static const struct {
        int64_t at_ms;
        const char *want;
    } table[] = {
        {0, "0"},
        {1700000000000, "1700000000"},
        {1700000000123, "1700000000.123"},
        {1700000000100, "1700000000.1"},
        {253402300799999, "253402300799.999"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        auto_json json_t *list = json_array();
        json_array_append_new(list, aws_time_json(table[i].at_ms));
        autofree char *got = aws_dump(list);
        autofree char *want = own_printf("[%s]", table[i].want);
        assert_string_equal(got, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operation_there_and_back),
        cmocka_unit_test(test_by_example),
        cmocka_unit_test(test_times_are_numbers_of_seconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
