/* Tags in a body of the REST API. */
#ifndef HOLDFAST_API_V1_TAG_H
#define HOLDFAST_API_V1_TAG_H

#include "base/record.h"

struct tag_words {
    char *key, *value;
};
extern const struct record api_tag_record; /* of struct tag_words */

#endif
