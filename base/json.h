/*
 * JSON by jansson, and the declarative reader of request bodies and files.
 *
 * This header is the only place that includes jansson.h. A spec is an array of
 * fields; json_read checks everything (types, lengths, ranges, patterns of names, unknown
 * members) before it writes anything, and its message names the member, the value and the rule.
 */
#ifndef HOLDFAST_BASE_JSON_H
#define HOLDFAST_BASE_JSON_H

#include "base/own.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

AUTO_DEFINE(json_t *, json, json_decref)
#define auto_json AUTO(json)

#define JSON_DEPTH_MAX 32
#define JSON_ERROR_MAX 256

enum json_field_type {
    JSON_FIELD_TEXT,   /* char[size] */
    JSON_FIELD_I64,    /* int64_t in [min, max] */
    JSON_FIELD_BOOL,   /* bool */
    JSON_FIELD_OBJECT, /* json_t *, borrowed from the body */
    JSON_FIELD_ARRAY,  /* json_t *, borrowed; min..max elements */
};

struct json_field {
    const char *name;
    enum json_field_type type;
    bool required;
    void *target;
    size_t size;                    /* of a TEXT target, zero included */
    int64_t min, max;               /* I64: range; ARRAY: counts; TEXT: shortest length (min), max unused */
    bool *ret_present;              /* may be NULL */
    int (*check)(const char *text); /* TEXT only, may be NULL: 0 or STATUS_INVALID */
    const char *rule;               /* what check wants, in words, for the message */
};

/* Parses strictly: duplicates rejected, UTF-8, depth and size limits. INVALID or TOO_LARGE with a message. */
int json_parse(const char *data, size_t len, size_t bytes_max, json_t **ret_json, char ret_error[JSON_ERROR_MAX]);
/* Reads one object by its spec. Unknown members are errors. Nothing is written on failure. */
int json_read(json_t *object, const struct json_field *fields, size_t count, char ret_error[JSON_ERROR_MAX]);

/* What came, for a message: a text cut and escaped, an array or object by its size. Caller frees. */
char *json_show(const json_t *value);
char *json_show_text(const char *text);

/* The text of a member; "" where there is none, or it is no text. */
const char *json_member_text(const json_t *object, const char *name);

/* Pure conveniences; all take ownership of value as jansson's _new functions do. name is ours, or was parsed: UTF-8. */
void json_put(json_t *object, const char *name, json_t *value);
void json_put_text(json_t *object, const char *name, const char *value); /* "" and NULL: left out */
void json_put_i64(json_t *object, const char *name, int64_t value);
void json_put_time(json_t *object, const char *name, int64_t at_ms); /* RFC 3339; left out for 0 */

#endif
