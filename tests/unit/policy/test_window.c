/* Hours of the week: what is read, what is refused, and when they begin and end. */
#include "policy/window.h"

#include "base/own.h"
#include "base/status.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define HOUR INT64_C(3600000)
#define FRIDAY_NOON INT64_C(1795176000000) /* 2026-11-20 12:00:00 UTC */

static struct policy_windows read_good(const char *text)
{
    struct policy_windows windows = {.count = 1};
    if (policy_window_parse(text, &windows.windows[0]) != 0)
        fail_msg("%s", text);
    return windows;
}

static void it_writes_what_it_reads(void **state)
{
    static const struct {
        const char *text, *written;
    } told[] = {
        {"Mon-Fri 08:00-18:00", "Mon-Fri 08:00-18:00 UTC"},
        {"Mon-Fri 08:00-18:00 UTC", "Mon-Fri 08:00-18:00 UTC"},
        {"22:00-06:00", "Mon-Sun 22:00-06:00 UTC"},
        {"Sat,Sun", "Sat,Sun 00:00-24:00 UTC"},
        {"Fri-Mon 00:00-24:00 -05:30", "Mon,Fri-Sun 00:00-24:00 -05:30"},
        {"Tue,Thu-Sat 23:59-00:00 +14:00", "Tue,Thu-Sat 23:59-00:00 +14:00"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        char text[POLICY_WINDOWS_TEXT_MAX];
        struct policy_windows windows = read_good(told[i].text);
        assert_string_equal(policy_windows_text(&windows, text), told[i].written);
        windows = read_good(text);
        char again[POLICY_WINDOWS_TEXT_MAX];
        assert_string_equal(policy_windows_text(&windows, again), told[i].written);
    }
}

static void it_refuses(void **state)
{
    static const char *const wrong[] = {
        "",
        " ",
        "Mon-",
        "Mon,",
        "mon",
        "Monday",
        "8:00-18:00",
        "08:00",
        "08:00-",
        "08:00-8:00",
        "08:00-24:01",
        "24:00-08:00",
        "08:60-09:00",
        "08:00-08:00",
        "Mon 08:00-",
        "Mon  08:00-09:00",
        "Fri 08:00-09:00 Europe/Berlin",
        "Fri 08:00-09:00 +1",
        "Fri 08:00-09:00 +14:01",
        "Fri 08:00-09:00 UTC ",
        "Fri 08:00-09:00x",
        "UTC",
        "+01:00",
    };
    struct policy_window window;
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (policy_window_parse(wrong[i], &window) != STATUS_INVALID)
            fail_msg("\"%s\" was taken", wrong[i]);
}

/* Around its edges, and a week later all is the same; long ago and far ahead, too. */
static void it_holds_within_its_edges(void **state)
{
    (void)state;
    struct policy_windows day = read_good("Fri 08:00-12:00"), night = read_good("Thu 20:00-13:00 +01:00");
    for (int64_t week = -3000; week <= 3000; week += 500) {
        int64_t noon = FRIDAY_NOON + week * 7 * 24 * HOUR;
        assert_false(policy_windows_hold(&day, noon - 4 * HOUR - 1));
        assert_true(policy_windows_hold(&day, noon - 4 * HOUR));
        assert_true(policy_windows_hold(&day, noon - 1));
        assert_false(policy_windows_hold(&day, noon));
        assert_false(policy_windows_hold(&night, noon - 17 * HOUR - 1));
        assert_true(policy_windows_hold(&night, noon - 17 * HOUR)); /* Thursday 19:00 UTC */
        assert_true(policy_windows_hold(&night, noon - 1));
        assert_false(policy_windows_hold(&night, noon));
    }
}

static void it_says_when_it_opens(void **state)
{
    (void)state;
    const struct policy_windows none = {0};
    struct policy_windows work = read_good("Mon-Fri 08:00-18:00"), night = read_good("22:00-06:00");
    struct policy_windows always = read_good("Mon-Sun");
    assert_int_equal(policy_windows_open_at(&none, &none, FRIDAY_NOON), FRIDAY_NOON);
    assert_int_equal(policy_windows_open_at(&work, &none, FRIDAY_NOON), FRIDAY_NOON + 6 * HOUR);
    assert_int_equal(policy_windows_open_at(&work, &night, FRIDAY_NOON), FRIDAY_NOON + 10 * HOUR);
    assert_int_equal(policy_windows_open_at(&none, &night, FRIDAY_NOON + 10 * HOUR), FRIDAY_NOON + 10 * HOUR);
    assert_int_equal(policy_windows_open_at(&always, &none, FRIDAY_NOON), 0);
    assert_int_equal(policy_windows_open_at(&none, &always, FRIDAY_NOON), FRIDAY_NOON);
    assert_int_equal(policy_windows_open_at(&night, &night, FRIDAY_NOON), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_writes_what_it_reads),
        cmocka_unit_test(it_refuses),
        cmocka_unit_test(it_holds_within_its_edges),
        cmocka_unit_test(it_says_when_it_opens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
