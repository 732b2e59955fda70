/*
 * Hours of the week, as a site says them: "Mon-Fri 08:00-18:00 +01:00". Days are one, a range, or several behind commas, every day
 * where none is said; a time that ends before it begins goes over midnight; without times it is the whole day. An offset from UTC may
 * stand behind, and UTC counts without one. Names of time zones are refused: nothing here changes to summer time, and a
 * site that needs to says both hours, or says it anew twice a year.
 */
#ifndef HOLDFAST_POLICY_WINDOW_H
#define HOLDFAST_POLICY_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLICY_WINDOWS_MAX 8
#define POLICY_WINDOW_TEXT_MAX 64 /* of one */
#define POLICY_WINDOWS_TEXT_MAX (POLICY_WINDOWS_MAX * POLICY_WINDOW_TEXT_MAX)

struct policy_window {
    int16_t from, until; /* minutes of the day, 0 … 1440 */
    int16_t offset;      /* minutes east of UTC */
    uint8_t days;        /* bit 0: Monday; it is the day on which it begins */
};

struct policy_windows {
    struct policy_window windows[POLICY_WINDOWS_MAX];
    int32_t count;
};

/* One window. INVALID: it is none. */
int policy_window_parse(const char *text, struct policy_window *ret_window);
/* "Mon-Fri 08:00-18:00 UTC; Sat,Sun 00:00-24:00 +01:00"; "" for none. */
const char *policy_windows_text(const struct policy_windows *windows, char buffer[POLICY_WINDOWS_TEXT_MAX]);
/* Whether it is within one of them. */
bool policy_windows_hold(const struct policy_windows *windows, int64_t now_ms);

/* When repairs may begin: now, or the next time at which it is outside of all of "not" and, where there are any, within one of
 * "only"; 0: never. */
int64_t policy_windows_open_at(const struct policy_windows *not_during, const struct policy_windows *only_during,
                               int64_t now_ms);

#endif
