/* Which nodes slow a job down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/text.h"
#include "model/step_time.h"

#include <stdio.h>

/* "a 300, a 310, b 900" */
static void assert_slow(const char *times, const char *expected, int64_t expected_median)
{
    static char names[16][8];
    struct step_time steps[16];
    struct text slow AUTO(text) = {0};
    int64_t median = -1;
    size_t count = 0;
    int read = 0, ms = 0;
    for (const char *at = times; sscanf(at, "%7s %d%n", names[count], &ms, &read) == 2; count++) {
        steps[count] = (struct step_time){.node = names[count], .ms = ms};
        at += read + (at[read] == ',' ? 1 : 0);
    }
    size_t found = step_times_find_slow(steps, count, &median);
    for (size_t i = 0; i < count; i++)
        if (steps[i].is_slow)
            text_printf(&slow, "%s%s %d", slow.len > 0 ? ", " : "", steps[i].node, (int)steps[i].ms);
    assert_string_equal(text_get(&slow), expected);
    assert_int_equal(median, expected_median);
    assert_int_equal(found == 0, expected[0] == '\0');
}

static void a_node_a_fifth_above_the_median_is_slow(void **state)
{
    (void)state;
    assert_slow("a 300, b 900, c 310", "b 900", 310);
    assert_slow("a 300, b 360, c 300", "b 360", 300);
    assert_slow("a 300, b 359, c 300", "", 300);
    assert_slow("a 300, a 900, b 300, b 305, c 301, c 302", "a 900", 305); /* by the slowest rank of a node, once */
    assert_slow("a 300, b 900", "", 300);                                  /* of two nobody knows */
    assert_slow("a 300, b 900, c 900, d 300", "", 300);                    /* half of them: it is the job */
    assert_slow("a 300, b 900, c 900, d 300, e 301", "b 900, c 900", 301);
    assert_slow("a 1, b 1, c 1", "", 1);
    assert_slow("", "", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_node_a_fifth_above_the_median_is_slow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
