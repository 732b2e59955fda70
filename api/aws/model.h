/*
 * The model of the AWS API: operations, and the shapes of what they take and give, as constant tables.
 *
 * model.def holds them, made by scripts/aws-model from model.json. validate.h checks a document against a shape,
 * render.h turns one spelling into the other: AWS_SPELLING_PASCAL is the AWS API's (PascalCase, times as epoch
 * seconds), AWS_SPELLING_CAMEL is the REST API's (lowerCamelCase, times as RFC 3339).
 */
#ifndef HOLDFAST_API_AWS_MODEL_H
#define HOLDFAST_API_AWS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AWS_NO_MIN INT64_MIN
#define AWS_NO_MAX INT64_MAX
#define AWS_TARGET_PREFIX "SageMaker." /* of the header X-Amz-Target */

enum aws_spelling { AWS_SPELLING_PASCAL, AWS_SPELLING_CAMEL };

enum aws_type {
    AWS_TYPE_NONE,
    AWS_TYPE_STRUCTURE,
    AWS_TYPE_UNION, /* a structure with exactly one member present */
    AWS_TYPE_LIST,
    AWS_TYPE_MAP,
    AWS_TYPE_STRING,
    AWS_TYPE_ENUM,
    AWS_TYPE_INTEGER, /* 32 bits */
    AWS_TYPE_LONG,    /* 64 bits */
    AWS_TYPE_FLOAT,
    AWS_TYPE_BOOLEAN,
    AWS_TYPE_TIMESTAMP,
};

enum aws_shape_id {
    AWS_SHAPE_NONE,
#define AWS_SHAPE(name, ...) AWS_SHAPE_##name,
#include "api/aws/model.def"
    AWS_SHAPE_COUNT
};

/* Implemented ones first, then those that are answered by a refusal. */
enum aws_operation_id {
#define AWS_OPERATION(name, ...) AWS_OPERATION_##name,
#define AWS_LATER(name) AWS_OPERATION_##name,
#include "api/aws/model.def"
    AWS_OPERATION_COUNT
};

struct aws_shape {
    const char *name;
    enum aws_type type;
    int64_t min, max;      /* characters, items, entries, or the value; AWS_NO_MIN, AWS_NO_MAX */
    const char *pattern;   /* of the whole string; may be NULL */
    uint16_t first, count; /* of its members or values; use the functions below */
    enum aws_shape_id of;  /* of a list's items or a map's values */
    enum aws_shape_id key; /* of a map */
};

struct aws_member {
    const char *name[2]; /* by enum aws_spelling */
    enum aws_shape_id shape;
    bool required;
    bool idempotency_token; /* made up by clients when their caller gave none */
};

struct aws_operation {
    enum aws_operation_id id;
    const char *name;
    enum aws_shape_id input;  /* AWS_SHAPE_NONE when it comes later */
    enum aws_shape_id output; /* AWS_SHAPE_NONE when there is nothing to say: {} */
    uint32_t errors;          /* bit by enum aws_error: what it declares */
    const char *items;        /* the member that is paged through; NULL when it is no list */
    bool later;               /* known by name only: to be refused with a sentence */
};

const struct aws_shape *aws_shape(enum aws_shape_id id);
enum aws_shape_id aws_shape_find(const char *name); /* AWS_SHAPE_NONE when there is none; for tests and tools */
/* The members of a structure or union, shape->count of them, in the model's order. */
const struct aws_member *aws_shape_members(const struct aws_shape *shape);
/* The values of an enum, shape->count of them, sorted. */
const char *const *aws_shape_values(const struct aws_shape *shape);
bool aws_shape_has_value(const struct aws_shape *shape, const char *value);
/* NULL when the shape has no such member. */
const struct aws_member *aws_member_find(const struct aws_shape *shape, enum aws_spelling spelling, const char *name);

const struct aws_operation *aws_operation(enum aws_operation_id id);
const struct aws_operation *aws_operation_find(const char *name); /* NULL when unknown */
/* By the value of X-Amz-Target; NULL when it is none of ours. */
const struct aws_operation *aws_operation_of_target(const char *target);

#endif
