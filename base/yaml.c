/*
 * YAML to JSON values and back, event by event (libyaml; this file is its only user).
 *
 * What makes YAML surprising is refused, not resolved: anchors and aliases (a small file that grows without end),
 * tags, a second document, keys that are not text, the same key twice. Plain scalars follow the 1.2 core
 * schema, so `no` is a word and not a lie; what is written out is quoted where a 1.1 reader would think otherwise.
 */
#include "base/yaml.h"

#include "base/status.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

struct reader {
    yaml_parser_t parser;
    yaml_event_t event;
    bool has_event;
    int depth;
    char *error; /* JSON_ERROR_MAX */
};

/* --- in ------------------------------------------------------------------------------------------------------ */

static int refuse_at(struct reader *r, const yaml_mark_t *mark, const char *why)
{
    snprintf(r->error, JSON_ERROR_MAX, "line %zu, column %zu: %s", mark->line + 1, mark->column + 1, why);
    return STATUS_INVALID;
}

static int refuse(struct reader *r, const char *why)
{
    return refuse_at(r, &r->event.start_mark, why);
}

static int next(struct reader *r)
{
    if (r->has_event)
        yaml_event_delete(&r->event);
    r->has_event = yaml_parser_parse(&r->parser, &r->event) != 0;
    if (r->has_event)
        return 0;
    const char *why = r->parser.problem != NULL ? r->parser.problem : "not YAML";
    if (r->parser.error == YAML_READER_ERROR) {
        snprintf(r->error, JSON_ERROR_MAX, "byte %zu: %s", r->parser.problem_offset, why);
        return STATUS_INVALID;
    }
    return refuse_at(r, &r->parser.problem_mark, why);
}

static bool is_one_of(const char *s, const char *const words[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(s, words[i]) == 0)
            return true;
    return false;
}

static bool is_null(const char *s)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    return is_one_of(s, words, ARRAY_LEN(words));
}

static bool is_true(const char *s)
{
    static const char *const words[] = {"true", "True", "TRUE"};
    return is_one_of(s, words, ARRAY_LEN(words));
}

static bool is_false(const char *s)
{
    static const char *const words[] = {"false", "False", "FALSE"};
    return is_one_of(s, words, ARRAY_LEN(words));
}

static bool is_not_finite(const char *s)
{
    static const char *const words[] = {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"};
    return is_one_of(s + (*s == '-' || *s == '+'), words, ARRAY_LEN(words));
}

static bool is_int(const char *s, int *ret_base)
{
    const char *digits = "0123456789";
    *ret_base = 10;
    if (s[0] == '0' && (s[1] == 'o' || s[1] == 'x')) {
        *ret_base = s[1] == 'o' ? 8 : 16;
        digits = s[1] == 'o' ? "01234567" : "0123456789abcdefABCDEF";
        s += 2;
    } else if (*s == '-' || *s == '+') {
        s++;
    }
    return *s != '\0' && s[strspn(s, digits)] == '\0';
}

static bool is_float(const char *s)
{
    if (*s == '-' || *s == '+')
        s++;
    size_t whole = strspn(s, "0123456789"), fraction = 0;
    s += whole;
    if (*s == '.') {
        fraction = strspn(++s, "0123456789");
        s += fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (*s == 'e' || *s == 'E') {
        s += 1 + (s[1] == '-' || s[1] == '+');
        if (*s == '\0')
            return false;
        s += strspn(s, "0123456789");
    }
    return *s == '\0';
}

static int read_plain(struct reader *r, const char *s, json_t **ret_json)
{
    int base;
    if (is_null(s)) {
        *ret_json = json_null();
    } else if (is_true(s) || is_false(s)) {
        *ret_json = json_boolean(is_true(s));
    } else if (is_int(s, &base)) {
        errno = 0;
        long long value = strtoll(base == 10 ? s : s + 2, NULL, base);
        if (errno != 0)
            return refuse(r, "the number is too large");
        *ret_json = json_integer(value);
    } else if (is_float(s)) {
        double value = strtod(s, NULL);
        if (!isfinite(value))
            return refuse(r, "the number is too large");
        *ret_json = json_real(value);
    } else if (is_not_finite(s)) {
        return refuse(r, "infinity and not-a-number have no place here");
    } else {
        *ret_json = json_string(s);
    }
    return *ret_json != NULL ? 0 : refuse(r, "not valid UTF-8");
}

/* Anchors and tags are refused wherever they stand. */
static int check_plainness(struct reader *r, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor != NULL)
        return refuse(r, "anchors are not supported; write the value out");
    if (tag != NULL)
        return refuse(r, "tags are not supported; write the plain value");
    return 0;
}

static int read_scalar(struct reader *r, json_t **ret_json)
{
    const char *value = (const char *)r->event.data.scalar.value;
    int status = check_plainness(r, r->event.data.scalar.anchor, r->event.data.scalar.tag);
    if (status != 0)
        return status;
    if (strlen(value) != r->event.data.scalar.length)
        return refuse(r, "a zero character inside text");
    if (r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        return read_plain(r, value, ret_json);
    *ret_json = json_string(value);
    return *ret_json != NULL ? 0 : refuse(r, "not valid UTF-8");
}

static int read_value(struct reader *r, json_t **ret_json);

static int read_member(struct reader *r, json_t *object)
{
    if (r->event.type == YAML_ALIAS_EVENT)
        return refuse(r, "aliases are not supported; write the value out");
    if (r->event.type != YAML_SCALAR_EVENT)
        return refuse(r, "a key must be text");
    int status = check_plainness(r, r->event.data.scalar.anchor, r->event.data.scalar.tag);
    if (status != 0)
        return status;
    autofree char *key = own_strdup((const char *)r->event.data.scalar.value);
    if (strlen(key) != r->event.data.scalar.length)
        return refuse(r, "a zero character inside a key");
    if (strcmp(key, "<<") == 0)
        return refuse(r, "merge keys are not supported");
    if (json_object_get(object, key) != NULL) {
        autofree char *why = own_printf("the key \"%.60s\" is there twice", key);
        return refuse(r, why);
    }
    json_t *value = NULL;
    if ((status = next(r)) != 0 || (status = read_value(r, &value)) != 0)
        return status;
    return json_object_set_new(object, key, value) == 0 ? 0 : refuse(r, "not valid UTF-8");
}

static int read_mapping(struct reader *r, json_t **ret_json)
{
    auto_json json_t *object = json_object();
    int status = check_plainness(r, r->event.data.mapping_start.anchor, r->event.data.mapping_start.tag);
    while (status == 0 && (status = next(r)) == 0 && r->event.type != YAML_MAPPING_END_EVENT)
        status = read_member(r, object);
    if (status == 0)
        *ret_json = TAKE(object);
    return status;
}

static int read_sequence(struct reader *r, json_t **ret_json)
{
    auto_json json_t *array = json_array();
    int status = check_plainness(r, r->event.data.sequence_start.anchor, r->event.data.sequence_start.tag);
    while (status == 0 && (status = next(r)) == 0 && r->event.type != YAML_SEQUENCE_END_EVENT) {
        json_t *element = NULL;
        status = read_value(r, &element);
        if (status == 0)
            json_array_append_new(array, element);
    }
    if (status == 0)
        *ret_json = TAKE(array);
    return status;
}

static int read_value(struct reader *r, json_t **ret_json)
{
    if (r->depth >= JSON_DEPTH_MAX) {
        refuse(r, "nested too deeply");
        return STATUS_TOO_LARGE;
    }
    r->depth++;
    int status;
    switch (r->event.type) {
    case YAML_SCALAR_EVENT:
        status = read_scalar(r, ret_json);
        break;
    case YAML_MAPPING_START_EVENT:
        status = read_mapping(r, ret_json);
        break;
    case YAML_SEQUENCE_START_EVENT:
        status = read_sequence(r, ret_json);
        break;
    case YAML_ALIAS_EVENT:
        status = refuse(r, "aliases are not supported; write the value out");
        break;
    default:
        status = refuse(r, "a value was expected");
    }
    r->depth--;
    return status;
}

/* An empty stream is null, as the core schema has it. */
static int read_stream(struct reader *r, json_t **ret_json)
{
    int status = next(r);
    if (status == 0)
        status = next(r);
    if (status != 0)
        return status;
    if (r->event.type == YAML_STREAM_END_EVENT) {
        *ret_json = json_null();
        return 0;
    }
    auto_json json_t *value = NULL;
    if ((status = next(r)) != 0 || (status = read_value(r, &value)) != 0 || (status = next(r)) != 0 ||
        (status = next(r)) != 0)
        return status;
    if (r->event.type != YAML_STREAM_END_EVENT)
        return refuse(r, "one document per file");
    *ret_json = TAKE(value);
    return 0;
}

int yaml_parse(const char *data, size_t len, size_t bytes_max, json_t **ret_json, char ret_error[JSON_ERROR_MAX])
{
    if (len > bytes_max) {
        snprintf(ret_error, JSON_ERROR_MAX, "%zu bytes are more than the limit of %zu", len, bytes_max);
        return STATUS_TOO_LARGE;
    }
    struct reader r = {.error = ret_error};
    if (!yaml_parser_initialize(&r.parser))
        abort();
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)data, len);
    int status = read_stream(&r, ret_json);
    if (r.has_event)
        yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    return status;
}

/* --- where it stands ------------------------------------------------------------------------------------------ */

/* Behind the value at whose beginning the reader stands. */
static int skip(struct reader *r)
{
    for (size_t depth = 0;;) {
        yaml_event_type_t type = r->event.type;
        if (type == YAML_MAPPING_START_EVENT || type == YAML_SEQUENCE_START_EVENT)
            depth++;
        if (type == YAML_MAPPING_END_EVENT || type == YAML_SEQUENCE_END_EVENT)
            depth--;
        int status = next(r);
        if (status != 0 || depth == 0)
            return status;
    }
}

/* True when the reader stands before the value of that member; *line is its key's. */
static bool find_member(struct reader *r, const char *key, size_t *line)
{
    if (r->event.type != YAML_MAPPING_START_EVENT || next(r) != 0)
        return false;
    while (r->event.type == YAML_SCALAR_EVENT) {
        size_t at = r->event.start_mark.line + 1;
        bool found = strcmp((const char *)r->event.data.scalar.value, key) == 0;
        if (next(r) != 0)
            return false;
        if (found) {
            *line = at;
            return true;
        }
        if (skip(r) != 0)
            return false;
    }
    return false;
}

static bool find_element(struct reader *r, int64_t number, size_t *line)
{
    if (r->event.type != YAML_SEQUENCE_START_EVENT || next(r) != 0)
        return false;
    for (; number > 0 && r->event.type != YAML_SEQUENCE_END_EVENT; number--)
        if (skip(r) != 0)
            return false;
    *line = r->event.start_mark.line + 1;
    return r->event.type != YAML_SEQUENCE_END_EVENT;
}

size_t yaml_line(const char *data, size_t len, const char *const *path, size_t depth)
{
    char error[JSON_ERROR_MAX];
    struct reader r = {.error = error};
    if (!yaml_parser_initialize(&r.parser))
        abort();
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)data, len);
    size_t line = 0;
    bool found = next(&r) == 0 && next(&r) == 0 && next(&r) == 0; /* behind the stream's and the document's beginning */
    for (size_t i = 0; found && i < depth; i++) {
        int64_t number;
        bool element = r.event.type == YAML_SEQUENCE_START_EVENT && text_parse_i64(path[i], 0, INT32_MAX, &number) == 0;
        found = element ? find_element(&r, number, &line) : find_member(&r, path[i], &line);
    }
    if (r.has_event)
        yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    return found ? line : 0;
}

/* --- out ----------------------------------------------------------------------------------------------------- */

static int append(void *arg, unsigned char *bytes, size_t len)
{
    text_add_bytes(arg, (const char *)bytes, len);
    return 1;
}

/* Words that YAML 1.1 readers (Slurm's, Python's) take for true and false, and what only looks like a number. */
static bool needs_quotes(const char *s)
{
    static const char *const words[] = {"y", "yes", "n", "no", "on", "off", "true", "false", "null"};
    int base;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcasecmp(s, words[i]) == 0)
            return true;
    if (is_null(s) || is_int(s, &base) || is_float(s) || is_not_finite(s))
        return true;
    return s[strspn(s, "0123456789.:_+-eExXob")] == '\0';
}

static void emit(yaml_emitter_t *emitter, yaml_event_t *event)
{
    /* It fails only without memory or on calls in a wrong order. */
    if (!yaml_emitter_emit(emitter, event))
        abort();
}

static void emit_scalar(yaml_emitter_t *emitter, const char *s, size_t len, yaml_scalar_style_t style)
{
    yaml_event_t event;
    if (!yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)s, (int)len, 1, 1, style))
        abort();
    emit(emitter, &event);
}

static void emit_text(yaml_emitter_t *emitter, const char *s, size_t len)
{
    yaml_scalar_style_t style = YAML_PLAIN_SCALAR_STYLE;
    if (needs_quotes(s))
        style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    else if (memchr(s, '\n', len) != NULL)
        style = YAML_LITERAL_SCALAR_STYLE;
    emit_scalar(emitter, s, len, style);
}

static void emit_number(yaml_emitter_t *emitter, const json_t *json)
{
    char number[40];
    if (json_is_integer(json))
        snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(json));
    else
        snprintf(number, sizeof(number) - 2, "%.17g", json_real_value(json));
    size_t len = strlen(number);
    if (json_is_real(json) && number[strspn(number, "-0123456789")] == '\0')
        snprintf(number + len, sizeof(number) - len, ".0"); /* or it would be read as an integer */
    emit_scalar(emitter, number, strlen(number), YAML_PLAIN_SCALAR_STYLE);
}

static void emit_value(yaml_emitter_t *emitter, const json_t *json);

static void emit_object(yaml_emitter_t *emitter, const json_t *json)
{
    yaml_event_t event;
    const char *key;
    json_t *value;
    json_t *object = (json_t *)(uintptr_t)json; /* jansson's iterator is not const */
    if (!yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE))
        abort();
    emit(emitter, &event);
    json_object_foreach(object, key, value)
    {
        emit_text(emitter, key, strlen(key));
        emit_value(emitter, value);
    }
    yaml_mapping_end_event_initialize(&event);
    emit(emitter, &event);
}

static void emit_array(yaml_emitter_t *emitter, const json_t *json)
{
    yaml_event_t event;
    if (!yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE))
        abort();
    emit(emitter, &event);
    for (size_t i = 0; i < json_array_size(json); i++)
        emit_value(emitter, json_array_get(json, i));
    yaml_sequence_end_event_initialize(&event);
    emit(emitter, &event);
}

static void emit_value(yaml_emitter_t *emitter, const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        emit_object(emitter, json);
        break;
    case JSON_ARRAY:
        emit_array(emitter, json);
        break;
    case JSON_STRING:
        emit_text(emitter, json_string_value(json), json_string_length(json));
        break;
    case JSON_INTEGER:
    case JSON_REAL:
        emit_number(emitter, json);
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        emit_scalar(emitter, json_is_true(json) ? "true" : "false", json_is_true(json) ? 4 : 5,
                    YAML_PLAIN_SCALAR_STYLE);
        break;
    case JSON_NULL:
        emit_scalar(emitter, "null", 4, YAML_PLAIN_SCALAR_STYLE);
    }
}

char *yaml_dump(const json_t *json)
{
    struct text out AUTO(text) = {0};
    yaml_emitter_t emitter;
    yaml_event_t event;
    if (!yaml_emitter_initialize(&emitter))
        abort();
    yaml_emitter_set_output(&emitter, append, &out);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_indent(&emitter, 2);
    yaml_emitter_set_width(&emitter, -1);
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    emit(&emitter, &event);
    yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1);
    emit(&emitter, &event);
    emit_value(&emitter, json);
    yaml_document_end_event_initialize(&event, 1);
    emit(&emitter, &event);
    yaml_stream_end_event_initialize(&event);
    emit(&emitter, &event);
    yaml_emitter_delete(&emitter);
    return text_take(&out);
}
