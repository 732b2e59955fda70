/*
 * Durations in milliseconds, and as text. Apart from the clock (base/clock.h), so that what never asks for the time can have them.
 */
#ifndef HOLDFAST_BASE_DURATION_H
#define HOLDFAST_BASE_DURATION_H

#include <stdint.h>

#define MS_PER_S INT64_C(1000)
#define MS_PER_MIN (60 * MS_PER_S)
#define MS_PER_HOUR (60 * MS_PER_MIN)
#define MS_PER_DAY (24 * MS_PER_HOUR)

#define CLOCK_TEXT_MAX 32 /* "2026-11-20T14:48:00.123Z" and its zero, with room to spare */

/* "90s", "5m", "2h", "7d", "250ms" to milliseconds; STATUS_INVALID otherwise. */
int clock_parse_duration(const char *text, int64_t *ret_ms);
/* "3m12s" style text of a duration for people; ret_text has at least CLOCK_TEXT_MAX bytes. */
const char *clock_format_duration(int64_t duration_ms, char *ret_text);
/* The same for clock_parse_duration, which reads exactly this again: "90s", "7d". */
const char *clock_write_duration(int64_t duration_ms, char *ret_text);

#endif
