/*
 * YAML in and out as JSON values (libyaml). Only the JSON-like part of YAML: no anchors, no
 * aliases, no tags; a duplicate key is an error. Plain scalars follow the YAML 1.2 core schema.
 */
#ifndef HOLDFAST_BASE_YAML_H
#define HOLDFAST_BASE_YAML_H

#include "base/json.h"

/* Message has line and column. INVALID or TOO_LARGE. */
int yaml_parse(const char *data, size_t len, size_t bytes_max, json_t **ret_json, char ret_error[JSON_ERROR_MAX]);
/* The line, from 1, on which something stands in a text that yaml_parse has read: of a member its key. Each part of the path is
 * a key, or the number of an element from 0. 0: it is not there. */
size_t yaml_line(const char *data, size_t len, const char *const *path, size_t depth);
/* Block style, keys in the object's order. Caller frees. */
char *yaml_dump(const json_t *json);

#endif
