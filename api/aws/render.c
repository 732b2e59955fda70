/*
 * Turns documents from one spelling into the other, by the tables of the model.
 */
#include "api/aws/render.h"

#include "api/aws/validate.h"
#include "base/clock.h"
#include "base/status.h"

#include <string.h>

/* Fifteen digits hold what a person wrote (0.1, 1700000000.123), where seventeen would show the double's remainder. */
#define DIGITS 15

static int render(const struct aws_shape *shape, const json_t *json, enum aws_spelling from, json_t **ret_json);

json_t *aws_time_json(int64_t at_ms)
{
    return at_ms % MS_PER_S == 0 ? json_integer(at_ms / MS_PER_S) : json_real((double)at_ms / (double)MS_PER_S);
}

/* clock_format has no text for 1970 itself: where a time is a column of ours, 0 says that there is none. */
static json_t *rfc3339(int64_t at_ms)
{
    char text[CLOCK_TEXT_MAX];

    return json_string(at_ms == 0 ? "1970-01-01T00:00:00.000Z" : clock_format(at_ms, text));
}

static int render_time(const json_t *json, enum aws_spelling from, json_t **ret_json)
{
    int64_t at_ms;

    if (from == AWS_SPELLING_PASCAL) {
        double seconds = json_number_value(json);
        if (!json_is_number(json) || !(seconds >= 0 && seconds <= (double)AWS_TIME_MAX_S))
            return STATUS_INVALID;
        *ret_json = rfc3339((int64_t)(seconds * (double)MS_PER_S + 0.5));
        return 0;
    }
    if (!json_is_string(json) || clock_parse(json_string_value(json), &at_ms) < 0 || at_ms < 0)
        return STATUS_INVALID;
    *ret_json = aws_time_json(at_ms);
    return 0;
}

static int render_structure(const struct aws_shape *shape, const json_t *json, enum aws_spelling from,
                            json_t **ret_json)
{
    const struct aws_member *members = aws_shape_members(shape);
    enum aws_spelling to = from == AWS_SPELLING_PASCAL ? AWS_SPELLING_CAMEL : AWS_SPELLING_PASCAL;
    auto_json json_t *out = json_object();

    if (!json_is_object(json))
        return STATUS_INVALID;
    for (size_t i = 0; i < shape->count; i++) {
        const json_t *member = json_object_get(json, members[i].name[from]);
        json_t *value;
        if (member == NULL || json_is_null(member))
            continue;
        int r = render(aws_shape(members[i].shape), member, from, &value);
        if (r < 0)
            return r;
        json_put(out, members[i].name[to], value);
    }
    *ret_json = TAKE(out);
    return 0;
}

static int render_list(const struct aws_shape *shape, const json_t *json, enum aws_spelling from, json_t **ret_json)
{
    auto_json json_t *out = json_array();
    size_t i;
    json_t *item;

    if (!json_is_array(json))
        return STATUS_INVALID;
    json_array_foreach(json, i, item)
    {
        json_t *value;
        int r = render(aws_shape(shape->of), item, from, &value);
        if (r < 0)
            return r;
        if (json_array_append_new(out, value) < 0)
            abort(); /* no memory: see own.h */
    }
    *ret_json = TAKE(out);
    return 0;
}

static int render_map(const struct aws_shape *shape, const json_t *json, enum aws_spelling from, json_t **ret_json)
{
    auto_json json_t *out = json_object();
    const char *key;
    json_t *entry;

    if (!json_is_object(json))
        return STATUS_INVALID;
    json_object_foreach((json_t *)(uintptr_t)json, key, entry)
    {
        json_t *value;
        int r = render(aws_shape(shape->of), entry, from, &value);
        if (r < 0)
            return r;
        json_put(out, key, value);
    }
    *ret_json = TAKE(out);
    return 0;
}

static bool is_of_type(enum aws_type type, const json_t *json)
{
    switch (type) {
    case AWS_TYPE_STRING:
    case AWS_TYPE_ENUM:
        return json_is_string(json);
    case AWS_TYPE_INTEGER:
    case AWS_TYPE_LONG:
    case AWS_TYPE_FLOAT:
        return json_is_number(json);
    case AWS_TYPE_BOOLEAN:
        return json_is_boolean(json);
    default:
        return false;
    }
}

/* A whole number that came as 3.0 or 3e0 goes on as 3: readers of the document ask for an integer. */
static json_t *copy_scalar(enum aws_type type, const json_t *json)
{
    double real = json_real_value(json);

    if ((type == AWS_TYPE_INTEGER || type == AWS_TYPE_LONG) && json_is_real(json) && aws_is_whole(real) &&
        real < 0x1p63 && real >= -0x1p63)
        return json_integer((json_int_t)real);
    return json_copy((json_t *)(uintptr_t)json);
}

static int render(const struct aws_shape *shape, const json_t *json, enum aws_spelling from, json_t **ret_json)
{
    switch (shape->type) {
    case AWS_TYPE_STRUCTURE:
    case AWS_TYPE_UNION:
        return render_structure(shape, json, from, ret_json);
    case AWS_TYPE_LIST:
        return render_list(shape, json, from, ret_json);
    case AWS_TYPE_MAP:
        return render_map(shape, json, from, ret_json);
    case AWS_TYPE_TIMESTAMP:
        return render_time(json, from, ret_json);
    default:
        if (!is_of_type(shape->type, json))
            return STATUS_INVALID;
        *ret_json = copy_scalar(shape->type, json);
        return 0;
    }
}

int aws_render(const struct aws_shape *shape, const json_t *json, enum aws_spelling from, json_t **ret_json)
{
    return render(shape, json, from, ret_json);
}

/* There and back again: what does not belong falls out on the way. */
json_t *aws_canonical(const struct aws_shape *shape, const json_t *json)
{
    auto_json json_t *camel = NULL;
    json_t *pascal = NULL;

    if (render(shape, json, AWS_SPELLING_PASCAL, &camel) < 0 || render(shape, camel, AWS_SPELLING_CAMEL, &pascal) < 0)
        return json_object();
    return pascal;
}

char *aws_dump(const json_t *json)
{
    return json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
}
