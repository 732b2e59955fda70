/*
 * The tables of the AWS API's model, and looking things up in them.
 */
#include "api/aws/model.h"

#include "api/aws/error.h"
#include "base/own.h"
#include "base/text.h"

#include <string.h>

#define FLAG_PLAIN 0
#define FLAG_REQUIRED 1
#define FLAG_TOKEN 2

/* The errors that operations declare, by the model's names. */
#define AWS_DECLARES_ResourceNotFound AWS_ERROR_RESOURCE_NOT_FOUND
#define AWS_DECLARES_ResourceInUse AWS_ERROR_RESOURCE_IN_USE
#define AWS_DECLARES_ResourceLimitExceeded AWS_ERROR_RESOURCE_LIMIT_EXCEEDED
#define AWS_DECLARES_ConflictException AWS_ERROR_CONFLICT
#define AWS_DECLARES(name) (UINT32_C(1) << AWS_DECLARES_##name)

static const struct aws_shape shapes[] = {
    [AWS_SHAPE_NONE] = {.name = ""},
#define AWS_SHAPE(name_, type_, min_, max_, pattern_, first_, count_, of_, key_) \
    [AWS_SHAPE_##                                                                \
        name_] = {#name_, AWS_TYPE_##type_, min_, max_, pattern_, first_, count_, AWS_SHAPE_##of_, AWS_SHAPE_##key_},
#include "api/aws/model.def"
};

static const struct aws_member members[] = {
#define AWS_MEMBER(pascal, camel, shape, flag) \
    {{pascal, camel}, AWS_SHAPE_##shape, FLAG_##flag == FLAG_REQUIRED, FLAG_##flag == FLAG_TOKEN},
#include "api/aws/model.def"
};

static const char *const values[] = {
#define AWS_VALUE(text) text,
#include "api/aws/model.def"
};

static const struct aws_operation operations[] = {
#define AWS_OPERATION(name_, in, out, errors_, items_) \
    {.id = AWS_OPERATION_##name_,                      \
     .name = #name_,                                   \
     .input = AWS_SHAPE_##in,                          \
     .output = AWS_SHAPE_##out,                        \
     .errors = (errors_),                              \
     .items = (items_)},
#define AWS_LATER(name_) {.id = AWS_OPERATION_##name_, .name = #name_, .later = true},
#include "api/aws/model.def"
};

const struct aws_shape *aws_shape(enum aws_shape_id id)
{
    return &shapes[id];
}

enum aws_shape_id aws_shape_find(const char *name)
{
    for (size_t i = AWS_SHAPE_NONE + 1; i < ARRAY_LEN(shapes); i++)
        if (strcmp(shapes[i].name, name) == 0)
            return (enum aws_shape_id)i;
    return AWS_SHAPE_NONE;
}

const struct aws_member *aws_shape_members(const struct aws_shape *shape)
{
    return members + shape->first;
}

const char *const *aws_shape_values(const struct aws_shape *shape)
{
    return values + shape->first;
}

bool aws_shape_has_value(const struct aws_shape *shape, const char *value)
{
    size_t low = shape->first, high = low + shape->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(value, values[middle]);
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

const struct aws_member *aws_member_find(const struct aws_shape *shape, enum aws_spelling spelling, const char *name)
{
    const struct aws_member *list = aws_shape_members(shape);

    for (size_t i = 0; i < shape->count; i++)
        if (strcmp(list[i].name[spelling], name) == 0)
            return &list[i];
    return NULL;
}

const struct aws_operation *aws_operation(enum aws_operation_id id)
{
    return &operations[id];
}

const struct aws_operation *aws_operation_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(operations); i++)
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
    return NULL;
}

const struct aws_operation *aws_operation_of_target(const char *target)
{
    if (target == NULL || !text_starts_with(target, AWS_TARGET_PREFIX))
        return NULL;
    return aws_operation_find(target + strlen(AWS_TARGET_PREFIX));
}
