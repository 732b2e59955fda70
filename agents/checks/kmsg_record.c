/*
 * Parses one record. Newer kernels may add fields after the flags; they are skipped, as the ABI document requires.
 */
#include "agents/checks/kmsg_record.h"

#include "base/status.h"

#include <string.h>

#define PRIORITY_MAX 1023 /* 127 facilities of 8 levels */

/* Reads digits up to one of the two ends; -1 when there are none or they do not fit. */
static int64_t take_number(const char **at, const char *end, char stop)
{
    int64_t value = 0;
    const char *p = *at;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *p - '0', &value))
            return -1;
    if (p == *at || p == end || *p != stop)
        return -1;
    *at = p + 1;
    return value;
}

int kmsg_record_parse(const char *data, size_t len, struct kmsg_record *ret_record)
{
    const char *at = data, *end = data + len;
    int64_t priority = take_number(&at, end, ',');
    if (priority < 0 || priority > PRIORITY_MAX)
        return STATUS_INVALID;
    int64_t seq = take_number(&at, end, ',');
    int64_t at_us = seq < 0 ? -1 : take_number(&at, end, ',');
    if (at_us < 0)
        return STATUS_INVALID;
    const char *text = memchr(at, ';', (size_t)(end - at));
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    if (text == NULL || (newline != NULL && newline < text))
        return STATUS_INVALID;
    text++;
    *ret_record = (struct kmsg_record){
        .priority = (int)priority,
        .seq = seq,
        .at_us = at_us,
        .text = text,
        .len = (size_t)((newline != NULL ? newline : end) - text),
    };
    return 0;
}
