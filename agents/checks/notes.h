/*
 * What a check remembers as a JSON object: what it likes, and the boot in which that was written down.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_NOTES_H
#define HOLDFAST_AGENTS_CHECKS_NOTES_H

#include "agents/checks/check.h"
#include "base/json.h"

/* An object, empty where nothing is remembered or what is there is none. Caller frees. */
json_t *notes_read(const struct check_context *context);
/* Whether it was written in this boot; false where that cannot be known. */
bool notes_are_of_this_boot(const struct check_context *context, const json_t *memory);
/* Adds the boot to memory and leaves it for the next run. */
void notes_write(const struct check_context *context, json_t *memory, struct check_out *out);

#endif
