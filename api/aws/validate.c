/*
 * Walks a document and its shape together. What is wrong is said by issue.c; here is only what is right.
 *
 * The walk is over the shape's members, each looked up in the document's hash, so its cost is that of the document
 * plus the shapes it names. It recurses as deep as shapes contain each other, which scripts/aws-model bounds.
 */
#include "api/aws/validate.h"

#include "api/aws/issue.h"
#include "base/clock.h"
#include "base/pattern.h"
#include "base/status.h"

#include <stdatomic.h>
#include <string.h>

struct walk {
    struct aws_rules rules;
    struct aws_issues *issues;
};

static void check(struct walk *walk, const struct aws_place *place, const struct aws_shape *shape, const json_t *value);

static bool is_full(const struct walk *walk)
{
    return walk->issues->types + walk->issues->rules >= AWS_ISSUES_MAX;
}

/* Compiled when first needed and kept for good. Two threads may compile the same one; one result stays. */
static const struct pattern *compiled(const struct aws_shape *shape)
{
    static _Atomic(struct pattern *) cache[AWS_SHAPE_COUNT];
    _Atomic(struct pattern *) *slot = &cache[shape - aws_shape(AWS_SHAPE_NONE)];
    struct pattern *there = atomic_load_explicit(slot, memory_order_acquire);

    if (there != NULL)
        return there;
    struct pattern *fresh = pattern_new(shape->pattern);
    if (fresh == NULL)
        abort(); /* a pattern of the model that is none: the unit test tries them all */
    if (atomic_compare_exchange_strong(slot, &there, fresh))
        return fresh;
    pattern_free(fresh);
    return there;
}

/* Characters of UTF-8, which jansson has checked. */
static int64_t characters(const char *text, size_t len)
{
    int64_t count = 0;

    for (size_t i = 0; i < len; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

/* Of a text, list or map. False, and said, when it is not within the shape's limits. */
static bool check_size(struct walk *walk, const struct aws_place *place, const struct aws_shape *shape,
                       const json_t *value, int64_t size)
{
    if (size >= shape->min && size <= shape->max)
        return true;
    issue_limit(walk->issues, walk->rules.spelling, place, value, "length", size < shape->min,
                size < shape->min ? shape->min : shape->max);
    return false;
}

static void check_string(struct walk *walk, const struct aws_place *place, const struct aws_shape *shape,
                         const json_t *value)
{
    if (!json_is_string(value)) {
        issue_type(walk->issues, walk->rules.spelling, place, value, "a string");
        return;
    }
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);
    if (shape->type == AWS_TYPE_ENUM) {
        if (!aws_shape_has_value(shape, text))
            issue_values(walk->issues, walk->rules.spelling, place, value, shape);
        return;
    }
    /* A text that is too long is not matched: the limit on its length bounds the work. */
    if (check_size(walk, place, shape, value, characters(text, len)) && shape->pattern != NULL &&
        !pattern_matches(compiled(shape), text, len))
        issue_pattern(walk->issues, walk->rules.spelling, place, value, shape->pattern);
}

/* A range holds for whole numbers and for others, and 1e+21 is a number like any: all are compared as what they are. */
static void check_range(struct walk *walk, const struct aws_place *place, const json_t *value, int64_t min, int64_t max)
{
    bool is_whole = json_is_integer(value);
    json_int_t whole = json_integer_value(value);
    double real = json_real_value(value);

    if (is_whole ? whole < min : min != AWS_NO_MIN && real < (double)min)
        issue_limit(walk->issues, walk->rules.spelling, place, value, "value", true, min);
    else if (is_whole ? whole > max : max != AWS_NO_MAX && real > (double)max)
        issue_limit(walk->issues, walk->rules.spelling, place, value, "value", false, max);
}

static void check_number(struct walk *walk, const struct aws_place *place, const struct aws_shape *shape,
                         const json_t *value)
{
    int64_t min = shape->min, max = shape->max;

    if (!json_is_number(value)) {
        issue_type(walk->issues, walk->rules.spelling, place, value, "a number");
        return;
    }
    if (shape->type == AWS_TYPE_INTEGER) {
        min = min < INT32_MIN ? INT32_MIN : min;
        max = max > INT32_MAX ? INT32_MAX : max;
    }
    if (shape->type != AWS_TYPE_FLOAT && json_is_real(value) && !aws_is_whole(json_real_value(value)))
        issue_rule(walk->issues, walk->rules.spelling, place, value, "Member must be a whole number");
    else if (shape->type == AWS_TYPE_LONG && json_is_real(value) &&
             (json_real_value(value) >= 0x1p63 || json_real_value(value) < -0x1p63))
        issue_rule(walk->issues, walk->rules.spelling, place, value, "Member must be a number of 64 bits");
    else
        check_range(walk, place, value, min, max);
}

static void check_time(struct walk *walk, const struct aws_place *place, const json_t *value)
{
    int64_t at_ms;

    if (walk->rules.spelling == AWS_SPELLING_CAMEL) {
        if (!json_is_string(value))
            issue_type(walk->issues, walk->rules.spelling, place, value, "a time as RFC 3339");
        else if (clock_parse(json_string_value(value), &at_ms) < 0)
            issue_rule(walk->issues, walk->rules.spelling, place, value, "Member must be a time as RFC 3339 writes it");
        else if (at_ms < 0)
            issue_rule(walk->issues, walk->rules.spelling, place, value, "Member must not be before 1970");
    } else if (!json_is_number(value)) {
        issue_type(walk->issues, walk->rules.spelling, place, value, "a number of seconds since 1970");
    } else {
        check_range(walk, place, value, 0, AWS_TIME_MAX_S);
    }
}

static void check_list(struct walk *walk, const struct aws_place *place, const struct aws_shape *shape,
                       const json_t *value)
{
    const struct aws_shape *of = aws_shape(shape->of);
    size_t i;
    json_t *item;

    if (!json_is_array(value)) {
        issue_type(walk->issues, walk->rules.spelling, place, value, "a list");
        return;
    }
    if (!check_size(walk, place, shape, value, (int64_t)json_array_size(value)))
        return;
    json_array_foreach(value, i, item)
    {
        struct aws_place inner = {.up = place, .kind = AWS_PLACE_ITEM, .index = i};
        if (is_full(walk))
            return;
        if (json_is_null(item))
            issue_null(walk->issues, walk->rules.spelling, &inner);
        else
            check(walk, &inner, of, item);
    }
}

static void check_key(struct walk *walk, const struct aws_place *place, const struct aws_shape *shape, const char *key)
{
    auto_json json_t *text = json_string_nocheck(key); /* it was UTF-8 where it comes from */

    check_string(walk, place, aws_shape(shape->key), text);
}

static void check_map(struct walk *walk, const struct aws_place *place, const struct aws_shape *shape,
                      const json_t *value)
{
    void *iter;

    if (!json_is_object(value)) {
        issue_type(walk->issues, walk->rules.spelling, place, value, "a map");
        return;
    }
    if (!check_size(walk, place, shape, value, (int64_t)json_object_size(value)))
        return;
    for (iter = json_object_iter((json_t *)(uintptr_t)value); iter != NULL && !is_full(walk);
         iter = json_object_iter_next((json_t *)(uintptr_t)value, iter)) {
        const char *key = json_object_iter_key(iter);
        const json_t *entry = json_object_iter_value(iter);
        check_key(walk, &(struct aws_place){.up = place, .kind = AWS_PLACE_KEY, .name = key}, shape, key);
        struct aws_place inner = {.up = place, .kind = AWS_PLACE_VALUE, .name = key};
        if (is_full(walk))
            return;
        if (json_is_null(entry))
            issue_null(walk->issues, walk->rules.spelling, &inner);
        else
            check(walk, &inner, aws_shape(shape->of), entry);
    }
}

/* Names are looked up the other way around here, so it is done only for those that have too many members. */
static void check_unknown(struct walk *walk, const struct aws_place *place, const struct aws_shape *shape,
                          const json_t *value)
{
    void *iter;

    for (iter = json_object_iter((json_t *)(uintptr_t)value); iter != NULL && !is_full(walk);
         iter = json_object_iter_next((json_t *)(uintptr_t)value, iter)) {
        const char *name = json_object_iter_key(iter);
        struct aws_place inner = {.up = place, .kind = AWS_PLACE_MEMBER, .name = name};
        if (aws_member_find(shape, walk->rules.spelling, name) == NULL)
            issue_rule(walk->issues, walk->rules.spelling, &inner, json_object_iter_value(iter),
                       "There is no such member");
    }
}

static void check_structure(struct walk *walk, const struct aws_place *place, const struct aws_shape *shape,
                            const json_t *value)
{
    const struct aws_member *members = aws_shape_members(shape);
    size_t present = 0, found = 0;

    if (!json_is_object(value)) {
        issue_type(walk->issues, walk->rules.spelling, place, value, "a structure");
        return;
    }
    for (size_t i = 0; i < shape->count && !is_full(walk); i++) {
        const char *name = members[i].name[walk->rules.spelling];
        const json_t *member = json_object_get(value, name);
        struct aws_place inner = {.up = place, .kind = AWS_PLACE_MEMBER, .name = name};
        found += member != NULL;
        if (member != NULL && !json_is_null(member)) {
            present++;
            check(walk, &inner, aws_shape(members[i].shape), member);
        } else if (members[i].required) {
            issue_null(walk->issues, walk->rules.spelling, &inner);
        }
    }
    if (is_full(walk))
        return;
    if (shape->type == AWS_TYPE_UNION && present != 1)
        issue_union(walk->issues, walk->rules.spelling, place, value, shape);
    if (walk->rules.unknown_refused && found < json_object_size(value))
        check_unknown(walk, place, shape, value);
}

static void check(struct walk *walk, const struct aws_place *place, const struct aws_shape *shape, const json_t *value)
{
    switch (shape->type) {
    case AWS_TYPE_STRUCTURE:
    case AWS_TYPE_UNION:
        check_structure(walk, place, shape, value);
        break;
    case AWS_TYPE_LIST:
        check_list(walk, place, shape, value);
        break;
    case AWS_TYPE_MAP:
        check_map(walk, place, shape, value);
        break;
    case AWS_TYPE_STRING:
    case AWS_TYPE_ENUM:
        check_string(walk, place, shape, value);
        break;
    case AWS_TYPE_INTEGER:
    case AWS_TYPE_LONG:
    case AWS_TYPE_FLOAT:
        check_number(walk, place, shape, value);
        break;
    case AWS_TYPE_BOOLEAN:
        if (!json_is_boolean(value))
            issue_type(walk->issues, walk->rules.spelling, place, value, "true or false");
        break;
    case AWS_TYPE_TIMESTAMP:
        check_time(walk, place, value);
        break;
    case AWS_TYPE_NONE:
        break;
    }
}

int aws_validate(const struct aws_shape *shape, const json_t *json, struct aws_rules rules, struct aws_issues *issues)
{
    struct walk walk = {rules, issues};

    check(&walk, NULL, shape, json);
    return issues->types + issues->rules == 0 ? 0 : STATUS_INVALID;
}

int aws_body_read(const struct aws_operation *operation, const char *data, size_t len, json_t **ret_json,
                  struct aws_issues *issues)
{
    const struct aws_rules rules = {.spelling = AWS_SPELLING_PASCAL};
    char error[JSON_ERROR_MAX];
    auto_json json_t *json = NULL;

    int r = json_parse(data, len, AWS_BODY_BYTES_MAX, &json, error);
    if (r < 0) {
        issue_body(issues, error);
        return r;
    }
    r = aws_validate(aws_shape(operation->input), json, rules, issues);
    if (r < 0)
        return r;
    *ret_json = TAKE(json);
    return 0;
}
