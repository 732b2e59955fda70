/* Clocks and times: RFC 3339 to the letter, against the C library's calendar where that can judge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"
#include "base/steady.h"

#include <string.h>
#include <time.h>

#define NOVEMBER INT64_C(1795186080123) /* 2026-11-20T14:48:00.123Z */

static void test_system(void **state)
{
    const struct clock *clock = clock_system();
    int64_t before = (int64_t)time(NULL) * 1000;
    int64_t wall = clock_wall_ms(clock);
    int64_t mono = clock_mono_ms(clock);

    (void)state;
    assert_in_range(wall, (uintmax_t)before, (uintmax_t)before + 60000);
    assert_true(mono > 0);
    assert_true(clock_mono_ms(clock) >= mono);
}

static void test_fake(void **state)
{
    struct clock clock;

    (void)state;
    clock_fake_init(&clock, NOVEMBER);
    assert_int_equal(clock_wall_ms(&clock), NOVEMBER);
    assert_int_equal(clock_wall_ms(&clock), NOVEMBER);
    clock_fake_advance(&clock, 5 * MS_PER_MIN);
    assert_int_equal(clock_wall_ms(&clock), NOVEMBER + 300000);
    assert_int_equal(clock_mono_ms(&clock), NOVEMBER + 300000);
}

static void test_machine_time(void **state)
{
    static const int64_t waits_ms[] = {0, 1, 999, 1000, 1001, 86400000, INT64_C(4000000000000)};
    int64_t before = clock_stopwatch_us();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(waits_ms); i++) {
        struct timespec at = clock_deadline(waits_ms[i]);
        assert_in_range(at.tv_nsec, 0, 999999999);
        int64_t at_us = (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
        assert_true(at_us >= before + waits_ms[i] * 1000);
        assert_true(at_us <= clock_stopwatch_us() + waits_ms[i] * 1000);
    }
}

static void test_format(void **state)
{
    static const struct {
        int64_t at_ms;
        const char *expected;
    } rows[] = {
        {0, ""},
        {-1, ""},
        {INT64_MIN, ""},
        {1, "1970-01-01T00:00:00.001Z"},
        {NOVEMBER, "2026-11-20T14:48:00.123Z"},
        {INT64_C(951782400000), "2000-02-29T00:00:00.000Z"},
        {INT64_C(4107542400000), "2100-03-01T00:00:00.000Z"}, /* 2100 is no leap year */
        {INT64_C(253402300799999), "9999-12-31T23:59:59.999Z"},
        {INT64_C(253402300800000), "9999-12-31T23:59:59.999Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999Z"},
    };
    char text[CLOCK_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(clock_format(rows[i].at_ms, text), rows[i].expected);
}

/* Each day of four hundred years, there and back, and as the C library sees it. */
static void test_every_day(void **state)
{
    (void)state;
    for (int64_t day = 1; day < 146097; day++) {
        char text[CLOCK_TEXT_MAX], expected[CLOCK_TEXT_MAX];
        int64_t at_ms = day * MS_PER_DAY + (day * 7919) % MS_PER_DAY / 1000 * 1000, back = 0;
        time_t seconds = (time_t)(at_ms / 1000);
        struct tm tm;
        clock_format(at_ms, text);
        assert_non_null(gmtime_r(&seconds, &tm));
        assert_int_not_equal(strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S.000Z", &tm), 0);
        assert_string_equal(text, expected);
        assert_int_equal(clock_parse(text, &back), 0);
        assert_int_equal(back, at_ms);
    }
}

static void test_parse_good(void **state)
{
    static const struct {
        const char *text;
        int64_t expected;
    } rows[] = {
        {"2026-11-20T14:48:00.123Z", NOVEMBER},
        {"2026-11-20t14:48:00.123z", NOVEMBER}, /* the RFC allows both cases */
        {"2026-11-20T14:48:00Z", NOVEMBER - 123},
        {"2026-11-20T14:48:00.1Z", NOVEMBER - 23},
        {"2026-11-20T14:48:00.12Z", NOVEMBER - 3},
        {"2026-11-20T14:48:00.1239999999999Z", NOVEMBER},
        {"2026-11-20T15:48:00.123+01:00", NOVEMBER},
        {"2026-11-20T09:18:00.123-05:30", NOVEMBER},
        {"2026-11-21T14:47:00.123+23:59", NOVEMBER},
        {"2026-11-20T14:48:00.123+00:00", NOVEMBER},
        {"2026-11-20T14:48:00.123-00:00", NOVEMBER}, /* "offset unknown" */
        {"1970-01-01T00:00:00Z", 0},
        {"1969-12-31T23:59:59.999Z", -1},
        {"0000-01-01T00:00:00Z", INT64_C(-62167219200000)},
        {"9999-12-31T23:59:59.999Z", INT64_C(253402300799999)},
        {"2000-02-29T00:00:00Z", INT64_C(951782400000)},
        {"2016-12-31T23:59:60Z", INT64_C(1483228800000)}, /* the last leap second so far */
        {"2017-01-01T00:59:60+01:00", INT64_C(1483228800000)},
        {"2016-12-31T18:59:60.5-05:00", INT64_C(1483228800500)},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t at_ms = 77;
        if (clock_parse(rows[i].text, &at_ms) != 0)
            fail_msg("%s was refused", rows[i].text);
        assert_int_equal(at_ms, rows[i].expected);
    }
}

static void test_parse_bad(void **state)
{
    static const char *const rows[] = {
        "",
        "2026-11-20",
        "2026-11-20T14:48:00",  /* no offset */
        "2026-11-20 14:48:00Z", /* ISO 8601 in other clothes */
        "2026-11-20T14:48Z",
        "2026-11-20T14:48:00,123Z",
        "2026-11-20T14:48:00.Z",
        "2026-11-20T14:48:00.12a3Z",
        "2026-11-20T14:48:00ZZ",
        "2026-11-20T14:48:00Z ",
        " 2026-11-20T14:48:00Z",
        "2026-11-20T14:48:00Z\n",
        "2026-11-20T14:48:00+0100",
        "2026-11-20T14:48:00+01",
        "2026-11-20T14:48:00+1:00",
        "2026-11-20T14:48:00+24:00",
        "2026-11-20T14:48:00+01:60",
        "2026-11-20T14:48:00 +01:00",
        "2026-11-20T24:00:00Z",
        "2026-11-20T14:60:00Z",
        "2026-11-20T14:48:61Z",
        "2026-11-20T14:48:60Z",      /* no leap second at that time of day */
        "2016-12-30T23:59:60Z",      /* nor on that day */
        "2016-12-31T23:59:60+01:00", /* nor there */
        "1969-11-30T23:59:60Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "26-11-20T14:48:00Z",
        "02026-11-20T14:48:00Z",
        "-026-11-20T14:48:00Z",
        "+2026-11-20T14:48:00Z",
        "2026-1-20T14:48:00Z",
        "2026-11-2T14:48:00Z",
        "20261120T144800Z",
        "1795186080123",
        "now",
    };
    int64_t at_ms = 77;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (clock_parse(rows[i], &at_ms) != STATUS_INVALID)
            fail_msg("\"%s\" was taken", rows[i]);
    assert_int_equal(clock_parse(NULL, &at_ms), STATUS_INVALID);
    assert_int_equal(at_ms, 77);
}

static void test_parse_every_beginning(void **state)
{
    static const char whole[] = "2026-11-20T14:48:00.123+01:00";
    int64_t at_ms;

    (void)state;
    for (size_t len = 0; len < sizeof(whole) - 1; len++) {
        autofree char *cut = own_calloc(len + 1, 1);
        memcpy(cut, whole, len);
        assert_int_equal(clock_parse(cut, &at_ms), STATUS_INVALID);
    }
    assert_int_equal(clock_parse(whole, &at_ms), 0);
}

static void test_parse_duration(void **state)
{
    static const struct {
        const char *text;
        int64_t expected;
    } good[] = {
        {"250ms", 250},
        {"0s", 0},
        {"90s", 90000},
        {"5m", 300000},
        {"2h", 7200000},
        {"7d", 604800000},
        {"007s", 7000},
        {"9223372036854775807ms", INT64_MAX},
        {"106751991167d", INT64_C(106751991167) * MS_PER_DAY},
    };
    static const char *const bad[] = {"",
                                      "s",
                                      "5",
                                      "0",
                                      "5 m",
                                      " 5m",
                                      "5m ",
                                      "-5m",
                                      "+5m",
                                      "5M",
                                      "5min",
                                      "1h30m",
                                      "1.5h",
                                      "5w",
                                      "5sm",
                                      "ms",
                                      "5\n",
                                      "0x5s",
                                      "9223372036854775808ms",
                                      "106751991168d",
                                      "99999999999999999999s"};
    int64_t value = 77;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_int_equal(clock_parse_duration(good[i].text, &value), 0);
        assert_int_equal(value, good[i].expected);
    }
    value = 77;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (clock_parse_duration(bad[i], &value) != STATUS_INVALID)
            fail_msg("\"%s\" was taken", bad[i]);
    assert_int_equal(clock_parse_duration(NULL, &value), STATUS_INVALID);
    assert_int_equal(value, 77);
}

static void test_format_duration(void **state)
{
    static const struct {
        int64_t ms;
        const char *expected;
    } rows[] = {
        {0, "0s"},
        {1, "1ms"},
        {999, "999ms"},
        {1000, "1s"},
        {59999, "59s"},
        {192000, "3m12s"},
        {3600000, "1h0m"},
        {86399999, "23h59m"},
        {86400000, "1d0h"},
        {-192000, "-3m12s"},
        {INT64_MAX, "106751991167d7h"},
        {INT64_MIN, "-106751991167d7h"},
    };
    char text[CLOCK_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(clock_format_duration(rows[i].ms, text), rows[i].expected);
}

/* What is written is what is read again. */
static void test_write_duration(void **state)
{
    static const struct {
        int64_t ms;
        const char *expected;
    } rows[] = {{0, "0s"},        {1, "1ms"},       {250, "250ms"},    {1000, "1s"},
                {1001, "1001ms"}, {90000, "90s"},   {120000, "2m"},    {INT64_C(5400000), "90m"},
                {7200000, "2h"},  {86400000, "1d"}, {604800000, "7d"}, {INT64_C(90000000), "25h"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[CLOCK_TEXT_MAX];
        int64_t value = -1;
        assert_string_equal(clock_write_duration(rows[i].ms, text), rows[i].expected);
        assert_int_equal(clock_parse_duration(text, &value), 0);
        assert_int_equal(value, rows[i].ms);
    }
}

/* Asked every 10 ms for so long, while the machine goes on by itself. */
static int64_t steady_for(struct steady *steady, int64_t *boot_ms, int64_t set_by_ms, int64_t for_ms)
{
    int64_t before = steady->now_ms, now = before;
    for (int64_t end = *boot_ms + for_ms; *boot_ms < end;) {
        *boot_ms += 10;
        now = steady_read(steady, *boot_ms, *boot_ms + set_by_ms);
        assert_true(now >= before);
        before = now;
    }
    return now;
}

static void test_steady_follows_a_clock_that_was_set(void **state)
{
    static const int64_t steps[] = {MS_PER_HOUR, -MS_PER_HOUR, 2 * MS_PER_HOUR, 90, -90};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct steady steady;
        int64_t boot = 1000, most = 61 * MS_PER_S / 8;
        steady_begin(&steady, boot, boot, 0);
        int64_t now = steady_for(&steady, &boot, 0, MS_PER_MIN);
        assert_int_equal(now, boot);
        assert_int_equal(steady_take_step(&steady), 0);
        now = steady_for(&steady, &boot, steps[i], MS_PER_MIN);
        int64_t off = now - boot;
        assert_true(off >= -most && off <= most); /* a minute has passed, and some seconds of the step */
        bool is_step = steps[i] > 2 * MS_PER_S || steps[i] < -2 * MS_PER_S;
        assert_int_equal(steady_take_step(&steady), is_step ? steps[i] : 0);
        assert_int_equal(steady_take_step(&steady), 0);
        now = steady_for(&steady, &boot, steps[i], 17 * MS_PER_HOUR);
        assert_int_equal(now, boot + steps[i]);
    }
}

/* A machine without a clock of its own comes up in 1970, and learns the time later. */
static void test_steady_begins_after_what_is_stored(void **state)
{
    struct steady steady;
    int64_t boot = 0;
    const int64_t stored = INT64_C(1795186800000), real = stored + 40 * MS_PER_DAY;
    (void)state;
    steady_begin(&steady, boot, boot, stored);
    assert_true(steady_for(&steady, &boot, 0, MS_PER_MIN) >= stored);
    assert_true(steady_take_step(&steady) < 0);
    int64_t now = steady_for(&steady, &boot, real, MS_PER_MIN);
    assert_int_equal(now, boot + real);
    assert_true(steady_take_step(&steady) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady_follows_a_clock_that_was_set),
        cmocka_unit_test(test_steady_begins_after_what_is_stored),
        cmocka_unit_test(test_system),
        cmocka_unit_test(test_fake),
        cmocka_unit_test(test_machine_time),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_every_day),
        cmocka_unit_test(test_parse_good),
        cmocka_unit_test(test_parse_bad),
        cmocka_unit_test(test_parse_every_beginning),
        cmocka_unit_test(test_parse_duration),
        cmocka_unit_test(test_format_duration),
        cmocka_unit_test(test_write_duration),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
