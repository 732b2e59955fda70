/*
 * Small JSON reader and writer: a library would be too large for a process of two megabytes. Writers escape as JSON requires.
 * Readers fill a list of members and refuse unknown ones.
 */
#ifndef HOLDFAST_AGENTS_NODE_SHAPE_H
#define HOLDFAST_AGENTS_NODE_SHAPE_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* before is what stands in front: "{\"name\":" and the like. */
void shape_put_text(struct text *out, const char *before, const char *value);
void shape_put_i64(struct text *out, const char *before, int64_t value);

/* One member of an object: its name, and where its value goes. */
struct shape_slot {
    const char *name;
    char *text; /* and its size, or */
    size_t size;
    int64_t *number; /* and its least value, or */
    int64_t min;
    bool *flag;
    bool seen;
};

#define SHAPE_TEXT(member, target)                                 \
    {                                                              \
        .name = (member), .text = (target), .size = sizeof(target) \
    }
#define SHAPE_I64(member, target, least)                      \
    {                                                         \
        .name = (member), .number = &(target), .min = (least) \
    }

#define SHAPE_BOOL(member, target)          \
    {                                       \
        .name = (member), .flag = &(target) \
    }

/* Reads { … } into the slots; a name that none has, or the same twice, is refused. 0 or INVALID. */
int shape_read(const char *data, size_t len, struct shape_slot *slots, size_t count);
bool shape_all_seen(const struct shape_slot *slots, size_t count);

#endif
