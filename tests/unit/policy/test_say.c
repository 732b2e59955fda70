/* Text for decisions: spans, times, and cuts that leave whole characters. */
#include "base/own.h"
#include "base/text.h"
#include "policy/evaluate.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void spans(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } table[] = {{0, "0 ms"},        {999, "999 ms"},     {1000, "1 s"},     {1500, "1 s"},
                 {90000, "90 s"},    {900000, "15 min"},  {86400000, "1 d"}, {604800000, "7 d"},
                 {90000000, "25 h"}, {5400000, "90 min"}, {3600000, "1 h"},  {61000, "61 s"}};
    char buffer[POLICY_SPAN_MAX];
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        assert_string_equal(policy_span(table[i].ms, buffer), table[i].text);
}

static void times(void **state)
{
    (void)state;
    char buffer[POLICY_TIME_MAX];
    assert_string_equal(policy_time(0, buffer), "1970-01-01 00:00:00 UTC");
    assert_string_equal(policy_time(1795176000999, buffer), "2026-11-20 12:00:00 UTC");
    assert_true(policy_time(INT64_MAX, buffer)[0] != '\0'); /* a clock that lies must not break a sentence */
}

static void cuts(void **state)
{
    (void)state;
    char small[6];
    policy_say(small, sizeof(small), "%s", "caf\xc3\xa9s");
    assert_true(text_is_utf8(small, strlen(small)));
    assert_true(text_starts_with(small, "caf"));
    struct decision d = {0};
    for (int i = 0; i < 200; i++)
        policy_add(&d, "word %d", i);
    assert_true(strlen(d.sentence) < sizeof(d.sentence));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(spans), cmocka_unit_test(times), cmocka_unit_test(cuts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
