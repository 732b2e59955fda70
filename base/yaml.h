/*
 * YAML in and out as JSON values (libyaml). Only the JSON-like part of YAML: no anchors, no
 * aliases, no tags; a duplicate key is an error. Plain scalars follow the YAML 1.2 core schema.
 */
#ifndef HOLDFAST_BASE_YAML_H
#define HOLDFAST_BASE_YAML_H

#include "base/json.h"

/* Message has line and column. INVALID or TOO_LARGE. */
int yaml_parse(const char *data, size_t len, size_t bytes_max, json_t **ret_json, char ret_error[JSON_ERROR_MAX]);
/* Block style, keys in the object's order. Caller frees. */
char *yaml_dump(const json_t *json);

#endif
