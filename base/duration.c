/* Durations as people write and read them. */
#include "base/duration.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *unit;
    int64_t ms;
} units[] = {{"ms", 1}, {"s", MS_PER_S}, {"m", MS_PER_MIN}, {"h", MS_PER_HOUR}, {"d", MS_PER_DAY}};

const char *clock_write_duration(int64_t duration_ms, char *ret_text)
{
    size_t i = ARRAY_LEN(units) - 1;
    while (i > 0 && (duration_ms == 0 ? i > 1 : duration_ms % units[i].ms != 0))
        i--;
    snprintf(ret_text, CLOCK_TEXT_MAX, "%" PRId64 "%s", duration_ms / units[i].ms, units[i].unit);
    return ret_text;
}

int clock_parse_duration(const char *text, int64_t *ret_ms)
{
    char digits[20]; /* of an int64_t, and the zero */
    int64_t value;

    if (text == NULL)
        return STATUS_INVALID;
    size_t len = strspn(text, "0123456789");
    if (text_copy_bytes(digits, sizeof(digits), text, len) < 0 || text_parse_i64(digits, 0, INT64_MAX, &value) < 0)
        return STATUS_INVALID;
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (strcmp(text + len, units[i].unit) == 0) {
            if (__builtin_mul_overflow(value, units[i].ms, &value))
                return STATUS_INVALID;
            *ret_ms = value;
            return 0;
        }
    return STATUS_INVALID;
}

const char *clock_format_duration(int64_t duration_ms, char *ret_text)
{
    const char *sign = duration_ms < 0 ? "-" : "";
    uint64_t ms = duration_ms < 0 ? -(uint64_t)duration_ms : (uint64_t)duration_ms;
    uint64_t s = ms / 1000, m = s / 60, h = m / 60, d = h / 24;

    /* The two largest units say enough. */
    if (d > 0)
        snprintf(ret_text, CLOCK_TEXT_MAX, "%s%" PRIu64 "d%" PRIu64 "h", sign, d, h % 24);
    else if (h > 0)
        snprintf(ret_text, CLOCK_TEXT_MAX, "%s%" PRIu64 "h%" PRIu64 "m", sign, h, m % 60);
    else if (m > 0)
        snprintf(ret_text, CLOCK_TEXT_MAX, "%s%" PRIu64 "m%" PRIu64 "s", sign, m, s % 60);
    else if (s > 0 || ms == 0)
        snprintf(ret_text, CLOCK_TEXT_MAX, "%s%" PRIu64 "s", sign, s);
    else
        snprintf(ret_text, CLOCK_TEXT_MAX, "%s%" PRIu64 "ms", sign, ms);
    return ret_text;
}
