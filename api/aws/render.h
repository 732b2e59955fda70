/*
 * One vocabulary, two spellings: a whole document of a shape from one into the other.
 */
#ifndef HOLDFAST_API_AWS_RENDER_H
#define HOLDFAST_API_AWS_RENDER_H

#include "api/aws/model.h"
#include "base/json.h"

/* A new document in the other spelling: names, and times (epoch seconds, to the millisecond, and RFC 3339). Members that
 * are null or that the shape does not know are left out; keys of maps and values of enums stay as they are. INVALID when
 * a value has not the type of its shape, as aws_validate would have said. Caller owns *ret_json. */
int aws_render(const struct aws_shape *shape, const json_t *json, enum aws_spelling from, json_t **ret_json);

/* A new document of the model's spelling with only what the shape knows, and whole numbers as integers. The document has been
 * checked, or is our own. Caller owns it. */
json_t *aws_canonical(const struct aws_shape *shape, const json_t *json);

/* A number of seconds since 1970 as the AWS API writes times: whole when it is, else to the millisecond. */
json_t *aws_time_json(int64_t at_ms);
/* The text of a document for the AWS API: no blanks, and numbers without digits that are not meant. Caller frees. */
char *aws_dump(const json_t *json);

#endif
