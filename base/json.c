/*
 * JSON by jansson: a parser with limits, and the reader of one object by its spec.
 *
 * json_read walks twice, first to check and then to write, so that a caller's struct is
 * as it was when a member is wrong. Messages show what came, cut and escaped: they go to
 * the client that sent it and into logs.
 */
#include "base/json.h"

#include "base/clock.h"
#include "base/nearest.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_BYTES_MAX 40 /* of a value or a name in a message */

/* ret_error is cut when it does not fit; texts of ours and SHOWN_BYTES_MAX leave room. */
static int refuse(char *ret_error, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int refuse(char *ret_error, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(ret_error, JSON_ERROR_MAX, fmt, ap);
    va_end(ap);
    return STATUS_INVALID;
}

/* Messages reach logs and terminals: no control characters, neither ASCII's nor Latin-1's (U+0080 to U+009F). */
static void blank_controls(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c != '\0'; c++) {
        if (*c < 0x20 || *c == 0x7f)
            *c = '?';
        else if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
            c[0] = c[1] = '?';
    }
}

/* A quotation of bytes that are no UTF-8. */
static void blank_broken(char *text)
{
    if (text_is_utf8(text, strlen(text)))
        return;
    for (unsigned char *c = (unsigned char *)text; *c != '\0'; c++)
        if (*c >= 0x80)
            *c = '?';
}

/* jansson recurses, and threads have small stacks: depth is looked at before it sees the text. */
static bool is_too_deep(const char *data, size_t len)
{
    int depth = 0;
    bool in_text = false;

    for (size_t i = 0; i < len; i++) {
        char c = data[i];
        if (in_text) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_text = false;
        } else if (c == '"') {
            in_text = true;
        } else if (c == '{' || c == '[') {
            if (++depth > JSON_DEPTH_MAX)
                return true;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return false;
}

int json_parse(const char *data, size_t len, size_t bytes_max, json_t **ret_json, char ret_error[JSON_ERROR_MAX])
{
    json_error_t error;

    if (len > bytes_max) {
        refuse(ret_error, "%zu bytes are more than the %zu that may be", len, bytes_max);
        return STATUS_TOO_LARGE;
    }
    if (is_too_deep(data, len)) {
        refuse(ret_error, "nested deeper than %d levels", JSON_DEPTH_MAX);
        return STATUS_TOO_LARGE;
    }
    json_t *json = json_loadb(len == 0 ? "" : data, len, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL) {
        blank_controls(error.text); /* it may quote the input */
        blank_broken(error.text);
        return refuse(ret_error, "line %d, column %d: %s", error.line, error.column, error.text);
    }
    *ret_json = json;
    return 0;
}

/* Text from outside as a JSON text, cut. */
char *json_show_text(const char *text)
{
    char cut[SHOWN_BYTES_MAX + 1];

    text_copy_cut(cut, sizeof(cut), text);
    auto_json json_t *copy = json_string(cut);
    autofree char *quoted = json_dumps(copy, JSON_ENCODE_ANY);
    if (quoted == NULL)
        return own_strdup("a text that is not UTF-8");
    blank_controls(quoted);
    text_mask(quoted);
    if (strlen(cut) < strlen(text))
        return own_printf("%s (cut)", quoted);
    return TAKE(quoted);
}

char *json_show(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return own_strdup("an object");
    case JSON_ARRAY:
        return own_printf("an array of %zu", json_array_size(value));
    case JSON_STRING:
        return json_show_text(json_string_value(value));
    case JSON_INTEGER:
        return own_printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    case JSON_REAL:
        return own_printf("%.17g", json_real_value(value));
    case JSON_TRUE:
        return own_strdup("true");
    case JSON_FALSE:
        return own_strdup("false");
    case JSON_NULL:
        break;
    }
    return own_strdup("null");
}

/* Message about a member whose value breaks rule. */
static int refuse_value(char *ret_error, const struct json_field *field, const json_t *value, const char *rule)
{
    autofree char *shown = json_show(value);

    return refuse(ret_error, "\"%s\" is %s: must be %s", field->name, shown, rule);
}

static int check_text(const struct json_field *field, const json_t *value, char *ret_error)
{
    char rule[64];

    if (!json_is_string(value))
        return refuse_value(ret_error, field, value, "a text");
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);
    if (memchr(text, '\0', len) != NULL)
        return refuse_value(ret_error, field, value, "a text without zeros");
    if (len >= field->size || (int64_t)len < field->min) {
        snprintf(rule, sizeof(rule), "%" PRId64 " to %zu bytes long", field->min, field->size - 1);
        return refuse_value(ret_error, field, value, rule);
    }
    if (field->check != NULL && field->check(text) < 0)
        return refuse_value(ret_error, field, value, field->rule != NULL ? field->rule : "valid");
    return 0;
}

static int check_i64(const struct json_field *field, const json_t *value, char *ret_error)
{
    char rule[64];

    if (!json_is_integer(value))
        return refuse_value(ret_error, field, value, "a whole number");
    if (json_integer_value(value) < field->min || json_integer_value(value) > field->max) {
        snprintf(rule, sizeof(rule), "%" PRId64 " to %" PRId64, field->min, field->max);
        return refuse_value(ret_error, field, value, rule);
    }
    return 0;
}

static int check_array(const struct json_field *field, const json_t *value, char *ret_error)
{
    char rule[64];

    if (!json_is_array(value))
        return refuse_value(ret_error, field, value, "an array");
    int64_t count = (int64_t)json_array_size(value);
    if (count < field->min || count > field->max) {
        snprintf(rule, sizeof(rule), "an array of %" PRId64 " to %" PRId64, field->min, field->max);
        return refuse_value(ret_error, field, value, rule);
    }
    return 0;
}

static int check_field(const struct json_field *field, const json_t *value, char *ret_error)
{
    if (value == NULL)
        return field->required ? refuse(ret_error, "\"%s\" is missing: it is required", field->name) : 0;
    switch (field->type) {
    case JSON_FIELD_TEXT:
        return check_text(field, value, ret_error);
    case JSON_FIELD_I64:
        return check_i64(field, value, ret_error);
    case JSON_FIELD_BOOL:
        return json_is_boolean(value) ? 0 : refuse_value(ret_error, field, value, "true or false");
    case JSON_FIELD_OBJECT:
        return json_is_object(value) ? 0 : refuse_value(ret_error, field, value, "an object");
    case JSON_FIELD_ARRAY:
        return check_array(field, value, ret_error);
    }
    abort(); /* a spec of ours with a type that is none */
}

static int check_names(json_t *object, const struct json_field *fields, size_t count, char *ret_error)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        struct nearest nearest = {.word = name};
        size_t i = 0;
        for (; i < count && strcmp(fields[i].name, name) != 0; i++)
            nearest_see(&nearest, fields[i].name);
        if (i < count)
            continue;
        autofree char *unknown = nearest_say(&nearest);
        return refuse(ret_error, "%s", unknown);
    }
    return 0;
}

/* value has passed check_field. */
static void write_field(const struct json_field *field, json_t *value)
{
    if (field->ret_present != NULL)
        *field->ret_present = value != NULL;
    if (value == NULL)
        return;
    switch (field->type) {
    case JSON_FIELD_TEXT:
        memcpy(field->target, json_string_value(value), json_string_length(value) + 1);
        break;
    case JSON_FIELD_I64:
        *(int64_t *)field->target = json_integer_value(value);
        break;
    case JSON_FIELD_BOOL:
        *(bool *)field->target = json_is_true(value);
        break;
    case JSON_FIELD_OBJECT:
    case JSON_FIELD_ARRAY:
        *(json_t **)field->target = value;
        break;
    }
}

int json_read(json_t *object, const struct json_field *fields, size_t count, char ret_error[JSON_ERROR_MAX])
{
    if (!json_is_object(object))
        return refuse(ret_error, "an object is wanted here");
    int r = check_names(object, fields, count, ret_error);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = check_field(&fields[i], json_object_get(object, fields[i].name), ret_error);
    for (size_t i = 0; r == 0 && i < count; i++)
        write_field(&fields[i], json_object_get(object, fields[i].name));
    return r;
}

/* jansson's _new functions hand NULL on when a text was not UTF-8; that member is left out rather than the process lost. */
void json_put(json_t *object, const char *name, json_t *value)
{
    if (value != NULL && json_object_set_new_nocheck(object, name, value) < 0)
        abort(); /* object is none: ours */
}

/* Evidence may hold any bytes: what is not UTF-8 is shown as U+FFFD, byte by byte. */
static json_t *text_with_replacements(const char *value)
{
    AUTO(text) struct text clean = {0};
    size_t left = strlen(value);

    while (left > 0) {
        size_t len = left < 4 ? left : 4;
        while (len > 1 && !text_is_utf8(value, len))
            len--;
        if (text_is_utf8(value, len))
            text_add_bytes(&clean, value, len);
        else
            text_add(&clean, "\xef\xbf\xbd");
        value += len;
        left -= len;
    }
    return json_string(text_get(&clean));
}

const char *json_member_text(const json_t *object, const char *name)
{
    return text_or_empty(json_string_value(json_object_get(object, name)));
}

void json_put_text(json_t *object, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0')
        return;
    json_t *text = json_string(value);
    json_put(object, name, text != NULL ? text : text_with_replacements(value));
}

void json_put_i64(json_t *object, const char *name, int64_t value)
{
    json_put(object, name, json_integer(value));
}

void json_put_time(json_t *object, const char *name, int64_t at_ms)
{
    char text[CLOCK_TEXT_MAX];

    json_put_text(object, name, clock_format(at_ms, text));
}
