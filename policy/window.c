/* Hours of the week: reading, writing, and when the next one begins or ends. Pure: the time is an argument. */
#include "policy/window.h"

#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define MINUTE_MS INT64_C(60000)
#define DAY_MINUTES 1440
#define WEEK_DAYS 7
#define ALL_DAYS 0x7F
#define EPOCH_DAY 3 /* 1970-01-01 was a Thursday */
#define OFFSET_MAX (14 * 60)

static const char *const day_names[WEEK_DAYS] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

/* --- reading -------------------------------------------------------------------------------------------------- */

static bool take_day(const char **at, int *ret_day)
{
    for (int day = 0; day < WEEK_DAYS; day++)
        if (strncmp(*at, day_names[day], 3) == 0) {
            *at += 3;
            *ret_day = day;
            return true;
        }
    return false;
}

static bool take_days(const char **at, uint8_t *ret_days)
{
    unsigned days = 0;
    int from, until;
    do {
        if (!take_day(at, &from))
            return false;
        until = from;
        if (**at == '-' && (++*at, !take_day(at, &until)))
            return false;
        for (int day = from;; day = (day + 1) % WEEK_DAYS) {
            days |= 1U << day;
            if (day == until)
                break;
        }
    } while (**at == ',' && ++*at);
    *ret_days = (uint8_t)days;
    return **at == '\0' || **at == ' ';
}

/* "08:00", up to "24:00". */
static bool take_time(const char **at, int16_t *ret_minutes)
{
    const char *s = *at;
    for (int i = 0; i < 5; i++)
        if (i == 2 ? s[i] != ':' : s[i] < '0' || s[i] > '9')
            return false;
    int hours = (s[0] - '0') * 10 + (s[1] - '0'), minutes = (s[3] - '0') * 10 + (s[4] - '0');
    if (minutes > 59 || hours * 60 + minutes > DAY_MINUTES)
        return false;
    *at += 5;
    *ret_minutes = (int16_t)(hours * 60 + minutes);
    return true;
}

static bool take_offset(const char **at, int16_t *ret_offset)
{
    int16_t minutes = 0;
    if (strncmp(*at, "UTC", 3) == 0) {
        *at += 3;
        return true;
    }
    bool west = **at == '-';
    if ((!west && **at != '+') || (++*at, !take_time(at, &minutes)) || minutes > OFFSET_MAX)
        return false;
    *ret_offset = (int16_t)(west ? -minutes : minutes);
    return true;
}

static void skip_blank(const char **at)
{
    if (**at == ' ')
        ++*at;
}

int policy_window_parse(const char *text, struct policy_window *ret_window)
{
    struct policy_window window = {.until = DAY_MINUTES, .days = ALL_DAYS};
    const char *at = text;
    bool days = *at >= 'A' && *at <= 'Z';
    if (days && !take_days(&at, &window.days))
        return STATUS_INVALID;
    skip_blank(&at);
    bool times = *at >= '0' && *at <= '9';
    if (times && (!take_time(&at, &window.from) || *at++ != '-' || !take_time(&at, &window.until) ||
                  window.from == window.until || window.from == DAY_MINUTES))
        return STATUS_INVALID;
    if (!days && !times)
        return STATUS_INVALID;
    skip_blank(&at);
    if (*at != '\0' && !take_offset(&at, &window.offset))
        return STATUS_INVALID;
    if (*at != '\0')
        return STATUS_INVALID;
    *ret_window = window;
    return 0;
}

/* --- writing -------------------------------------------------------------------------------------------------- */

/* "Mon-Fri", "Sat,Sun". */
static void add_days(struct text *out, uint8_t days)
{
    bool first = true;
    for (int day = 0; day < WEEK_DAYS; day++) {
        int last = day;
        if ((days >> day & 1) == 0)
            continue;
        while (last + 1 < WEEK_DAYS && (days >> (last + 1) & 1) != 0)
            last++;
        bool range = last > day + 1;
        text_printf(out, "%s%s%s%s", first ? "" : ",", day_names[day], range ? "-" : "", range ? day_names[last] : "");
        day = range ? last : day;
        first = false;
    }
}

static void add_window(struct text *out, const struct policy_window *w)
{
    int offset = w->offset < 0 ? -w->offset : w->offset;
    add_days(out, w->days);
    text_printf(out, " %02d:%02d-%02d:%02d ", w->from / 60, w->from % 60, w->until / 60, w->until % 60);
    if (offset == 0)
        text_add(out, "UTC");
    else
        text_printf(out, "%c%02d:%02d", w->offset < 0 ? '-' : '+', offset / 60, offset % 60);
}

const char *policy_windows_text(const struct policy_windows *windows, char buffer[POLICY_WINDOWS_TEXT_MAX])
{
    struct text out = {0};
    for (int i = 0; i < windows->count; i++) {
        text_add(&out, i > 0 ? "; " : "");
        add_window(&out, &windows->windows[i]);
    }
    text_copy_cut(buffer, POLICY_WINDOWS_TEXT_MAX, out.data == NULL ? "" : out.data);
    text_free(&out);
    return buffer;
}

/* --- the time ------------------------------------------------------------------------------------------------- */

/* Rounded down, before 1970 too. */
static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

static bool is_day(const struct policy_window *w, int64_t day)
{
    int64_t weekday = (day + EPOCH_DAY) % WEEK_DAYS;
    return (w->days >> (weekday < 0 ? weekday + WEEK_DAYS : weekday) & 1) != 0;
}

static int64_t length(const struct policy_window *w)
{
    return w->until > w->from ? w->until - w->from : w->until - w->from + DAY_MINUTES;
}

/* When the window of this day begins. */
static int64_t begin_of(const struct policy_window *w, int64_t day)
{
    return (day * DAY_MINUTES + w->from - w->offset) * MINUTE_MS;
}

static int64_t day_of(const struct policy_window *w, int64_t now_ms)
{
    return floor_div(floor_div(now_ms, MINUTE_MS) + w->offset, DAY_MINUTES);
}

static bool holds(const struct policy_window *w, int64_t now_ms)
{
    int64_t today = day_of(w, now_ms);
    for (int64_t day = today - 1; day <= today; day++)
        if (is_day(w, day) && now_ms >= begin_of(w, day) && now_ms < begin_of(w, day) + length(w) * MINUTE_MS)
            return true;
    return false;
}

bool policy_windows_hold(const struct policy_windows *windows, int64_t now_ms)
{
    for (int i = 0; i < windows->count; i++)
        if (holds(&windows->windows[i], now_ms))
            return true;
    return false;
}

/* The next time at which any of them begins or ends. */
static void next_edge(const struct policy_windows *windows, int64_t now_ms, int64_t *next)
{
    for (int i = 0; i < windows->count; i++) {
        const struct policy_window *w = &windows->windows[i];
        int64_t today = day_of(w, now_ms);
        for (int64_t day = today - 1; day <= today + WEEK_DAYS; day++) {
            int64_t begin = begin_of(w, day), edges[] = {begin, begin + length(w) * MINUTE_MS};
            for (int k = 0; is_day(w, day) && k < 2; k++)
                if (edges[k] > now_ms && (*next == 0 || edges[k] < *next))
                    *next = edges[k];
        }
    }
}

int64_t policy_windows_open_at(const struct policy_windows *not_during, const struct policy_windows *only_during,
                               int64_t now_ms)
{
    int64_t until = now_ms + 8 * DAY_MINUTES * MINUTE_MS; /* a week from now all is as it is now */
    for (int64_t at = now_ms; at != 0 && at <= until;) {
        bool within = only_during->count == 0 || policy_windows_hold(only_during, at);
        if (within && !policy_windows_hold(not_during, at))
            return at;
        int64_t next = 0;
        next_edge(not_during, at, &next);
        next_edge(only_during, at, &next);
        at = next;
    }
    return 0;
}
