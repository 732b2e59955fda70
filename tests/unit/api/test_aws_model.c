/* The compiled tables are what model.json says, and model.def is what the generator makes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/aws/error.h"
#include "api/aws/model.h"
#include "base/child.h"
#include "base/file.h"
#include "base/json.h"
#include "base/pattern.h"

#include <stdio.h>
#include <string.h>

#define MODEL "api/aws/model.json"
#define FILE_BYTES_MAX (4 * 1024 * 1024)

static json_t *load_model(void)
{
    json_error_t error;
    json_t *model = json_load_file(MODEL, JSON_REJECT_DUPLICATES, &error);

    if (model == NULL)
        fail_msg("%s: line %d: %s (run from the root of the repository)", MODEL, error.line, error.text);
    return model;
}

static enum aws_type type_of(const char *is)
{
    static const struct {
        const char *is;
        enum aws_type type;
    } table[] = {
        {"structure", AWS_TYPE_STRUCTURE}, {"union", AWS_TYPE_UNION},
        {"list", AWS_TYPE_LIST},           {"map", AWS_TYPE_MAP},
        {"string", AWS_TYPE_STRING},       {"enum", AWS_TYPE_ENUM},
        {"integer", AWS_TYPE_INTEGER},     {"long", AWS_TYPE_LONG},
        {"float", AWS_TYPE_FLOAT},         {"boolean", AWS_TYPE_BOOLEAN},
        {"timestamp", AWS_TYPE_TIMESTAMP},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strcmp(table[i].is, is) == 0)
            return table[i].type;
    fail_msg("a shape is \"%s\"", is);
    return AWS_TYPE_NONE;
}

static void check_limit(json_t *json, const char *name, int64_t limit, int64_t none)
{
    json_t *value = json_object_get(json, name);

    assert_int_equal(limit, value != NULL ? json_integer_value(value) : none);
}

static void check_name(json_t *json, const char *name, enum aws_shape_id id)
{
    const char *text = json_string_value(json_object_get(json, name));

    assert_string_equal(aws_shape(id)->name, text != NULL ? text : "");
}

static void check_members(json_t *json, const struct aws_shape *shape)
{
    const struct aws_member *members = aws_shape_members(shape);
    const char *name;
    json_t *text;
    size_t i = 0;

    assert_int_equal(shape->count, json_object_size(json));
    json_object_foreach(json, name, text)
    {
        const char *of = json_string_value(text);
        size_t len = strcspn(of, "!~");
        assert_string_equal(members[i].name[AWS_SPELLING_PASCAL], name);
        assert_int_equal(strlen(aws_shape(members[i].shape)->name), len);
        assert_memory_equal(aws_shape(members[i].shape)->name, of, len);
        assert_int_equal(members[i].required, of[len] == '!');
        assert_int_equal(members[i].idempotency_token, of[len] == '~');
        assert_ptr_equal(aws_member_find(shape, AWS_SPELLING_PASCAL, name), &members[i]);
        /* No two members may share a spelling at the REST API either. */
        assert_ptr_equal(aws_member_find(shape, AWS_SPELLING_CAMEL, members[i].name[AWS_SPELLING_CAMEL]), &members[i]);
        i++;
    }
}

static void check_values(json_t *json, const struct aws_shape *shape)
{
    assert_int_equal(shape->count, json_array_size(json));
    for (size_t i = 0; i < shape->count; i++) {
        const char *value = json_string_value(json_array_get(json, i));
        assert_string_equal(aws_shape_values(shape)[i], value);
        assert_true(aws_shape_has_value(shape, value));
    }
    assert_false(aws_shape_has_value(shape, ""));
    assert_false(aws_shape_has_value(shape, "\x7f"));
}

static void test_tables_say_what_the_model_says(void **state)
{
    auto_json json_t *model = load_model();
    json_t *shapes = json_object_get(model, "shapes"), *json;
    const char *name;

    (void)state;
    assert_int_equal(json_object_size(shapes), AWS_SHAPE_COUNT - 1);
    json_object_foreach(shapes, name, json)
    {
        enum aws_shape_id id = aws_shape_find(name);
        const struct aws_shape *shape = aws_shape(id);
        const char *pattern = json_string_value(json_object_get(json, "pattern"));
        assert_int_not_equal(id, AWS_SHAPE_NONE);
        assert_int_equal(shape->type, type_of(json_string_value(json_object_get(json, "is"))));
        check_limit(json, "min", shape->min, AWS_NO_MIN);
        check_limit(json, "max", shape->max, AWS_NO_MAX);
        check_name(json, "of", shape->of);
        check_name(json, "key", shape->key);
        assert_int_equal(pattern == NULL, shape->pattern == NULL);
        if (pattern != NULL)
            assert_string_equal(pattern, shape->pattern);
        if (shape->type == AWS_TYPE_STRUCTURE || shape->type == AWS_TYPE_UNION)
            check_members(json_object_get(json, "members"), shape);
        if (shape->type == AWS_TYPE_ENUM)
            check_values(json_object_get(json, "values"), shape);
    }
}

static uint32_t errors_of(json_t *names)
{
    uint32_t mask = 0;
    size_t i;
    json_t *name;

    json_array_foreach(names, i, name)
    {
        int error = 0;
        while (error < AWS_ERROR_COUNT && strcmp(aws_error_name((enum aws_error)error), json_string_value(name)) != 0)
            error++;
        assert_true(error < AWS_ERROR_COUNT && aws_error_is_declared((enum aws_error)error));
        mask |= UINT32_C(1) << error;
    }
    return mask;
}

static void test_operations_say_what_the_model_says(void **state)
{
    auto_json json_t *model = load_model();
    json_t *operations = json_object_get(model, "operations"), *later = json_object_get(model, "later"), *json;
    const char *name;
    size_t i;

    (void)state;
    assert_int_equal(json_object_size(operations), 31);
    assert_int_equal(json_array_size(later), 8);
    assert_int_equal(AWS_OPERATION_COUNT, 31 + 8);
    json_object_foreach(operations, name, json)
    {
        const struct aws_operation *operation = aws_operation_find(name);
        assert_non_null(operation);
        assert_ptr_equal(aws_operation(operation->id), operation);
        assert_false(operation->later);
        check_name(json, "in", operation->input);
        check_name(json, "out", operation->output);
        assert_int_equal(operation->errors, errors_of(json_object_get(json, "errors")));
        const char *items = json_string_value(json_object_get(json, "items"));
        assert_int_equal(items == NULL, operation->items == NULL);
        if (items != NULL)
            assert_non_null(aws_member_find(aws_shape(operation->output), AWS_SPELLING_PASCAL, operation->items));
    }
    json_array_foreach(later, i, json)
    {
        const struct aws_operation *operation = aws_operation_find(json_string_value(json));
        assert_non_null(operation);
        assert_true(operation->later);
        assert_int_equal(operation->input, AWS_SHAPE_NONE);
    }
}

static void test_every_pattern_compiles(void **state)
{
    size_t seen = 0;

    (void)state;
    for (size_t i = 0; i < AWS_SHAPE_COUNT; i++) {
        const char *text = aws_shape((enum aws_shape_id)i)->pattern;
        AUTO(pattern) struct pattern *pattern = text != NULL ? pattern_new(text) : NULL;
        assert_int_equal(text == NULL, pattern == NULL);
        seen += pattern != NULL;
    }
    assert_true(seen > 40);
}

static void test_targets(void **state)
{
    static const char *const strangers[] = {
        "",
        "SageMaker",
        "SageMaker.",
        "SageMaker.createCluster",
        "sagemaker.CreateCluster",
        "CreateCluster",
        "SageMaker.CreateCluster ",
        "SageMaker.CreateClusterX",
        "SageMaker..CreateCluster",
        ".",
    };

    (void)state;
    assert_int_equal(aws_operation_of_target("SageMaker.CreateCluster")->id, AWS_OPERATION_CreateCluster);
    assert_true(aws_operation_of_target("SageMaker.CreateTrainingPlan")->later);
    assert_null(aws_operation_of_target(NULL));
    for (size_t i = 0; i < ARRAY_LEN(strangers); i++)
        assert_null(aws_operation_of_target(strangers[i]));
}

/* Node.js comes with what the tests need; without it the other tests here still hold the tables to the model. */
static void test_generator_makes_the_committed_table(void **state)
{
    static const char *const argv[] = {"node", "scripts/aws-model", "table", MODEL, NULL};
    const struct child_options options = {.timeout_ms = 60000, .out_bytes_max = FILE_BYTES_MAX};
    struct child_result result;
    autofree char *committed = NULL;
    size_t len;

    (void)state;
    if (child_run(argv, &options, &result) < 0)
        skip();
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(file_read("api/aws/model.def", FILE_BYTES_MAX, &committed, &len), 0);
    bool same = len == result.out_len && memcmp(committed, result.out, len) == 0;
    child_result_free(&result);
    if (!same)
        fail_msg("run scripts/aws-model table >api/aws/model.def, and commit it with model.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_say_what_the_model_says),
        cmocka_unit_test(test_operations_say_what_the_model_says),
        cmocka_unit_test(test_every_pattern_compiles),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_generator_makes_the_committed_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
