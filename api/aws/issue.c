/*
 * Sentences about what is wrong with a document.
 *
 * Values and keys come from outside and the sentences go to clients, terminals and logs: they are cut, and what would
 * steer a terminal or forge a line is written as an escape.
 */
#include "api/aws/issue.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_BYTES_MAX 64  /* of a value or a key */
#define VALUES_SHOWN_MAX 12 /* of an enum; there is one with 207 */
#define SEPARATOR "; "

/* What would steer a terminal, end a line or turn the direction of writing: ASCII's and Latin-1's controls (C2 80..9F),
 * and of General Punctuation (E2 80, E2 81) the invisible, the separators of lines and the bidirectional ones. */
static size_t control_length(const unsigned char *c)
{
    if (c[0] < 0x20 || c[0] == 0x7f)
        return 1;
    if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
        return 2;
    if (c[0] == 0xe2 && c[1] == 0x80 && ((c[2] >= 0x8b && c[2] <= 0x8f) || (c[2] >= 0xa8 && c[2] <= 0xae)))
        return 3;
    if (c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xa0 && c[2] <= 0xaf)
        return 3;
    return 0;
}

static unsigned control_code(const unsigned char *c, size_t len)
{
    if (len == 3)
        return 0x2000U + ((c[1] & 0x3fU) << 6) + (c[2] & 0x3fU);
    return len == 2 ? c[1] : c[0];
}

enum escapes { ESCAPE_CONTROLS, ESCAPE_POINTER /* and what RFC 6901 wants of a name */ };

static void add_shown(struct text *t, const char *from, enum escapes escapes)
{
    char cut[SHOWN_BYTES_MAX + 1];

    text_copy_cut(cut, sizeof(cut), from);
    for (const unsigned char *c = (const unsigned char *)cut; *c != '\0';) {
        size_t len = control_length(c);
        if (len > 0)
            text_printf(t, "\\u%04x", control_code(c, len));
        else if (escapes == ESCAPE_POINTER && (*c == '~' || *c == '/'))
            text_add(t, *c == '~' ? "~0" : "~1");
        else
            text_add_char(t, (char)*c);
        c += len > 0 ? len : 1;
    }
    if (strlen(cut) < strlen(from))
        text_add(t, "…");
}

static void add_value(struct text *t, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        text_printf(t, "a structure of %zu members", json_object_size(value));
        break;
    case JSON_ARRAY:
        text_printf(t, "a list of %zu items", json_array_size(value));
        break;
    case JSON_STRING:
        text_add_char(t, '\'');
        add_shown(t, json_string_value(value), ESCAPE_CONTROLS);
        text_add_char(t, '\'');
        break;
    case JSON_INTEGER:
        text_printf(t, "'%" JSON_INTEGER_FORMAT "'", json_integer_value(value));
        break;
    case JSON_REAL:
        text_printf(t, "'%.15g'", json_real_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        text_add(t, json_is_true(value) ? "'true'" : "'false'");
        break;
    case JSON_NULL:
        text_add(t, "null");
        break;
    }
}

/* As AWS: members begin with a small letter, whatever their spelling on the wire. */
static void add_dotted(struct text *t, const struct aws_place *place)
{
    if (place->up != NULL) {
        add_dotted(t, place->up);
        text_add_char(t, '.');
    }
    switch (place->kind) {
    case AWS_PLACE_MEMBER: {
        size_t at = t->len;
        add_shown(t, place->name, ESCAPE_CONTROLS);
        if (t->data[at] >= 'A' && t->data[at] <= 'Z')
            t->data[at] = (char)(t->data[at] - 'A' + 'a');
        break;
    }
    case AWS_PLACE_ITEM:
        text_printf(t, "%zu.member", place->index + 1);
        break;
    case AWS_PLACE_KEY:
    case AWS_PLACE_VALUE:
        add_shown(t, place->name, ESCAPE_CONTROLS);
        text_add(t, place->kind == AWS_PLACE_KEY ? ".key" : ".value");
        break;
    }
}

/* RFC 6901, but that a long name is cut. */
static void add_pointer(struct text *t, const struct aws_place *place)
{
    if (place->up != NULL)
        add_pointer(t, place->up);
    text_add_char(t, '/');
    if (place->kind == AWS_PLACE_ITEM)
        text_printf(t, "%zu", place->index);
    else
        add_shown(t, place->name, ESCAPE_POINTER);
}

static void add_place(struct text *t, enum aws_spelling spelling, const struct aws_place *place)
{
    if (place == NULL) {
        text_add(t, "the document");
        return;
    }
    text_add_char(t, '\'');
    if (spelling == AWS_SPELLING_CAMEL)
        add_pointer(t, place);
    else
        add_dotted(t, place);
    text_add_char(t, '\'');
}

/* Begins the next sentence about a broken rule; NULL when wrong types, which come first, have been found. */
static struct text *begin(struct aws_issues *issues, enum aws_spelling spelling, const struct aws_place *place,
                          const json_t *value)
{
    struct text *t = &issues->texts;

    issues->rules++;
    if (issues->types > 0)
        return NULL;
    if (t->len > 0)
        text_add(t, SEPARATOR);
    text_add(t, "Value ");
    if (value == NULL)
        text_add(t, "null");
    else
        add_value(t, value);
    text_add(t, " at ");
    add_place(t, spelling, place);
    text_add(t, " failed to satisfy constraint: ");
    return t;
}

void issue_type(struct aws_issues *issues, enum aws_spelling spelling, const struct aws_place *place,
                const json_t *value, const char *wanted)
{
    struct text *t = &issues->texts;

    if (issues->types++ == 0)
        text_clear(t);
    if (t->len > 0)
        text_add(t, SEPARATOR);
    add_value(t, value);
    text_add(t, " at ");
    add_place(t, spelling, place);
    text_printf(t, " should be %s", wanted);
}

void issue_rule(struct aws_issues *issues, enum aws_spelling spelling, const struct aws_place *place,
                const json_t *value, const char *rule)
{
    struct text *t = begin(issues, spelling, place, value);

    if (t != NULL)
        text_add(t, rule);
}

void issue_null(struct aws_issues *issues, enum aws_spelling spelling, const struct aws_place *place)
{
    issue_rule(issues, spelling, place, NULL, "Member must not be null");
}

void issue_limit(struct aws_issues *issues, enum aws_spelling spelling, const struct aws_place *place,
                 const json_t *value, const char *what, bool is_below, int64_t limit)
{
    struct text *t = begin(issues, spelling, place, value);

    if (t != NULL)
        text_printf(t, "Member must have %s %s than or equal to %" PRId64, what, is_below ? "greater" : "less", limit);
}

void issue_pattern(struct aws_issues *issues, enum aws_spelling spelling, const struct aws_place *place,
                   const json_t *value, const char *pattern)
{
    struct text *t = begin(issues, spelling, place, value);

    if (t != NULL)
        text_printf(t, "Member must satisfy regular expression pattern: %s", pattern);
}

void issue_values(struct aws_issues *issues, enum aws_spelling spelling, const struct aws_place *place,
                  const json_t *value, const struct aws_shape *shape)
{
    struct text *t = begin(issues, spelling, place, value);
    const char *const *values = aws_shape_values(shape);

    if (t == NULL)
        return;
    text_add(t, "Member must satisfy enum value set: [");
    for (size_t i = 0; i < shape->count && i < VALUES_SHOWN_MAX; i++)
        text_printf(t, "%s%s", i > 0 ? ", " : "", values[i]);
    if (shape->count > VALUES_SHOWN_MAX)
        text_printf(t, " and %d more", shape->count - VALUES_SHOWN_MAX);
    text_add_char(t, ']');
}

void issue_union(struct aws_issues *issues, enum aws_spelling spelling, const struct aws_place *place,
                 const json_t *value, const struct aws_shape *shape)
{
    struct text *t = begin(issues, spelling, place, value);
    const struct aws_member *members = aws_shape_members(shape);

    if (t == NULL)
        return;
    text_add(t, "Member must have exactly one of: ");
    for (size_t i = 0; i < shape->count; i++)
        text_printf(t, "%s%s", i > 0 ? ", " : "", members[i].name[spelling]);
}

/* jansson quotes the input at the end, cut anywhere and whatever its bytes are: the place it gives says as much. */
void issue_body(struct aws_issues *issues, const char *why)
{
    const char *quoted = strstr(why, " near '");
    size_t len = quoted != NULL ? (size_t)(quoted - why) : strlen(why);

    issues->types++;
    text_clear(&issues->texts);
    text_add(&issues->texts, "the body is not JSON that can be read: ");
    for (size_t i = 0; i < len; i++)
        text_add_char(&issues->texts, (unsigned char)why[i] < 0x80 ? why[i] : '?');
}

void aws_issues_free(struct aws_issues *issues)
{
    if (issues == NULL)
        return;
    text_free(&issues->texts);
}

enum aws_error aws_issues_error(const struct aws_issues *issues)
{
    return issues->types > 0 ? AWS_ERROR_SERIALIZATION : AWS_ERROR_VALIDATION;
}

char *aws_issues_message(const struct aws_issues *issues)
{
    if (issues->types > 0)
        return own_strdup(text_get(&issues->texts));
    return own_printf("%zu validation error%s detected: %s", issues->rules, issues->rules == 1 ? "" : "s",
                      text_get(&issues->texts));
}
