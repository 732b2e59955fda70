/*
 * The two clocks (the system's and a fake), and times as text.
 *
 * Calendar arithmetic is done here, on the proleptic Gregorian calendar, because the C
 * library's depends on the process's time zone and reads what RFC 3339 does not allow.
 */
#include "base/clock.h"

#include "base/status.h"
#include "base/steady.h"
#include "base/text.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FORMAT_MAX_MS INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z: RFC 3339 has four digits of year */
#define DAYS_PER_ERA 146097                    /* of 400 years, after which the calendar repeats */
#define EPOCH_DAYS 719468                      /* from 0000-03-01 to 1970-01-01 */

static int64_t read_clock(clockid_t id)
{
    struct timespec ts;

    /* Both ids exist on every Linux and the pointer is ours. */
    (void)clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * MS_PER_S + ts.tv_nsec / 1000000;
}

static struct {
    pthread_mutex_t mutex;
    bool on;
    struct steady steady;
} kept = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int64_t system_wall(const struct clock *clock)
{
    (void)clock;
    pthread_mutex_lock(&kept.mutex);
    int64_t boot_ms = read_clock(CLOCK_BOOTTIME), wall_ms = read_clock(CLOCK_REALTIME);
    int64_t now_ms = kept.on ? steady_read(&kept.steady, boot_ms, wall_ms) : wall_ms;
    pthread_mutex_unlock(&kept.mutex);
    return now_ms;
}

void clock_keep_steady(int64_t not_before_ms)
{
    pthread_mutex_lock(&kept.mutex);
    steady_begin(&kept.steady, read_clock(CLOCK_BOOTTIME), read_clock(CLOCK_REALTIME), not_before_ms);
    kept.on = true;
    pthread_mutex_unlock(&kept.mutex);
}

int64_t clock_take_step(const struct clock *clock)
{
    if (clock->wall_ms != system_wall)
        return clock->steady == NULL ? 0 : steady_take_step(clock->steady);
    pthread_mutex_lock(&kept.mutex);
    int64_t by_ms = kept.on ? steady_take_step(&kept.steady) : 0;
    pthread_mutex_unlock(&kept.mutex);
    return by_ms;
}

int64_t clock_true_ms(const struct clock *clock)
{
    if (clock->wall_ms == system_wall) /* also of a copy */
        return read_clock(CLOCK_REALTIME);
    return clock_mono_ms(clock) + __atomic_load_n(&clock->fake_skew_ms, __ATOMIC_RELAXED);
}

static int64_t system_mono(const struct clock *clock)
{
    (void)clock;
    return read_clock(CLOCK_MONOTONIC);
}

static int64_t fake_now(const struct clock *clock)
{
    return __atomic_load_n(&clock->fake_ms, __ATOMIC_RELAXED);
}

static int64_t fake_wall(const struct clock *clock)
{
    int64_t wall_ms = fake_now(clock) + __atomic_load_n(&clock->fake_skew_ms, __ATOMIC_RELAXED);
    return clock->steady == NULL ? wall_ms : steady_read(clock->steady, fake_now(clock), wall_ms);
}

const struct clock *clock_system(void)
{
    static const struct clock system_clock = {.wall_ms = system_wall, .mono_ms = system_mono};

    return &system_clock;
}

void clock_fake_init(struct clock *clock, int64_t start_ms)
{
    *clock = (struct clock){.wall_ms = fake_wall, .mono_ms = fake_now, .fake_ms = start_ms};
}

/* Atomic, so that a test can move time while the threads of a server look at it. */
void clock_fake_advance(struct clock *clock, int64_t by_ms)
{
    __atomic_add_fetch(&clock->fake_ms, by_ms, __ATOMIC_RELAXED);
}

void clock_fake_jump(struct clock *clock, int64_t by_ms)
{
    __atomic_add_fetch(&clock->fake_skew_ms, by_ms, __ATOMIC_RELAXED);
}

int64_t clock_wall_ms(const struct clock *clock)
{
    return clock->wall_ms(clock);
}

int64_t clock_ahead_ms(const struct clock *clock)
{
    int64_t ahead_ms = clock_wall_ms(clock) - clock_true_ms(clock);
    return ahead_ms > MS_PER_S || ahead_ms < -MS_PER_S ? ahead_ms : 0; /* the two are not read in one moment */
}

int64_t clock_mono_ms(const struct clock *clock)
{
    return clock->mono_ms(clock);
}

int64_t clock_stopwatch_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_boot_ms(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

struct timespec clock_deadline(int64_t in_ms)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t ns = at.tv_nsec + in_ms % MS_PER_S * 1000000;
    at.tv_sec += (time_t)(in_ms / MS_PER_S + ns / 1000000000);
    at.tv_nsec = (long)(ns % 1000000000);
    return at;
}

/* Days since 1970-01-01. Years begin in March here, so that the leap day is a year's last. */
static int64_t days_of_date(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * DAYS_PER_ERA + day_of_era - EPOCH_DAYS;
}

/* The inverse, for days >= 0. */
static void date_of_days(int64_t days, int *ret_year, int *ret_month, int *ret_day)
{
    int64_t shifted = days + EPOCH_DAYS;
    int64_t era = shifted / DAYS_PER_ERA;
    int64_t day_of_era = shifted - era * DAYS_PER_ERA;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;

    *ret_day = (int)(day_of_year - (153 * month + 2) / 5 + 1);
    *ret_month = (int)(month < 10 ? month + 3 : month - 9);
    *ret_year = (int)(year_of_era + era * 400 + (*ret_month <= 2 ? 1 : 0));
}

/* Exactly two digits; value is at most 99, which the compiler cannot know. */
static char *put_two(char *out, int value)
{
    *out++ = (char)('0' + value / 10 % 10);
    *out++ = (char)('0' + value % 10);
    return out;
}

const char *clock_format(int64_t at_ms, char *ret_text)
{
    int year, month, day;
    char *out = ret_text;

    if (at_ms <= 0) {
        ret_text[0] = '\0';
        return ret_text;
    }
    if (at_ms > FORMAT_MAX_MS)
        at_ms = FORMAT_MAX_MS;
    date_of_days(at_ms / MS_PER_DAY, &year, &month, &day);
    int ms = (int)(at_ms % MS_PER_DAY);
    out = put_two(put_two(out, year / 100), year % 100);
    *out++ = '-';
    out = put_two(out, month);
    *out++ = '-';
    out = put_two(out, day);
    *out++ = 'T';
    out = put_two(out, ms / 3600000);
    *out++ = ':';
    out = put_two(out, ms / 60000 % 60);
    *out++ = ':';
    out = put_two(out, ms / 1000 % 60);
    *out++ = '.';
    *out++ = (char)('0' + ms / 100 % 10);
    out = put_two(out, ms % 100);
    *out++ = 'Z';
    *out = '\0';
    return ret_text;
}

/* Exactly count digits within [min, max]; moves *at behind them. */
static int parse_digits(const char **at, int count, int min, int max, int *ret_value)
{
    int value = 0;

    for (int i = 0; i < count; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return STATUS_INVALID;
        value = value * 10 + (**at - '0');
    }
    if (value < min || value > max)
        return STATUS_INVALID;
    *ret_value = value;
    return 0;
}

static bool skip_char(const char **at, const char *allowed)
{
    if (**at == '\0' || strchr(allowed, **at) == NULL)
        return false;
    (*at)++;
    return true;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month == 2 && leap ? 29 : days[month - 1];
}

/* "2026-11-20" to days since 1970. */
static int parse_date(const char **at, int64_t *ret_days)
{
    int year, month, day;

    if (parse_digits(at, 4, 0, 9999, &year) < 0 || !skip_char(at, "-") || parse_digits(at, 2, 1, 12, &month) < 0 ||
        !skip_char(at, "-") || parse_digits(at, 2, 1, days_in_month(year, month), &day) < 0)
        return STATUS_INVALID;
    *ret_days = days_of_date(year, month, day);
    return 0;
}

/* "14:48:00" with an optional fraction of any length, cut to milliseconds. */
static int parse_time_of_day(const char **at, int64_t *ret_ms, bool *ret_leap_second)
{
    int hour, minute, second, scale = 100, ms = 0;

    if (parse_digits(at, 2, 0, 23, &hour) < 0 || !skip_char(at, ":") || parse_digits(at, 2, 0, 59, &minute) < 0 ||
        !skip_char(at, ":") || parse_digits(at, 2, 0, 60, &second) < 0)
        return STATUS_INVALID;
    if (skip_char(at, ".")) {
        if (**at < '0' || **at > '9')
            return STATUS_INVALID;
        for (; **at >= '0' && **at <= '9'; (*at)++, scale /= 10)
            ms += scale * (**at - '0');
    }
    *ret_leap_second = second == 60;
    *ret_ms = hour * MS_PER_HOUR + minute * MS_PER_MIN + second * MS_PER_S + ms;
    return 0;
}

static int parse_offset(const char **at, int64_t *ret_ms)
{
    int hour, minute;
    int64_t sign = **at == '-' ? -1 : 1;

    if (skip_char(at, "Zz")) {
        *ret_ms = 0;
        return 0;
    }
    if (!skip_char(at, "+-") || parse_digits(at, 2, 0, 23, &hour) < 0 || !skip_char(at, ":") ||
        parse_digits(at, 2, 0, 59, &minute) < 0)
        return STATUS_INVALID;
    *ret_ms = sign * (hour * MS_PER_HOUR + minute * MS_PER_MIN);
    return 0;
}

/* A leap second is the last one of a UTC month; counted as the first of the next, as Unix time does. */
static bool may_be_leap_second(int64_t at_ms)
{
    int year, month, day;

    if (at_ms < 0 || at_ms % MS_PER_DAY >= MS_PER_S)
        return false;
    date_of_days(at_ms / MS_PER_DAY, &year, &month, &day);
    return day == 1;
}

int clock_parse(const char *text, int64_t *ret_ms)
{
    int64_t days, time_ms, offset_ms;
    bool leap_second;
    const char *at = text;

    if (text == NULL || parse_date(&at, &days) < 0 || !skip_char(&at, "Tt") ||
        parse_time_of_day(&at, &time_ms, &leap_second) < 0 || parse_offset(&at, &offset_ms) < 0 || *at != '\0')
        return STATUS_INVALID;
    int64_t ms = days * MS_PER_DAY + time_ms - offset_ms;
    if (leap_second && !may_be_leap_second(ms))
        return STATUS_INVALID;
    *ret_ms = ms;
    return 0;
}
