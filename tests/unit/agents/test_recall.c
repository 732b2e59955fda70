/* What checks remember: grown counters, how long something lasts, the most there was; and text that is none of ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/recall.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define MIN MS_PER_MIN

/* What one run leaves is what the next one takes in. */
static struct recall *next_run(struct recall *recall, int64_t now_ms)
{
    autofree char *text = recall_text(recall, CHECK_MEMORY_MAX_BYTES);
    recall_free(recall);
    return recall_new(text, strlen(text), now_ms);
}

static void test_growth_within_a_window(void **state)
{
    (void)state;
    struct recall *recall = recall_new("", 0, 0);
    static const struct {
        int64_t at_ms, value, told;
    } looks[] = {
        {1 * MIN, 500, 0},    /* first seen: how much there is says nothing */
        {20 * MIN, 600, 0},   /* 100 in 19 min */
        {40 * MIN, 620, 0},   /* 120 in 39 min: as many as are allowed */
        {50 * MIN, 621, 121}, /* one more, within the hour */
        {51 * MIN, 640, 0},   /* what was told is not told again */
        {111 * MIN, 741, 0},  /* an hour is over, with 120 */
        {112 * MIN, 861, 0},
        {113 * MIN, 862, 121},
        {114 * MIN, 3, 0}, /* it began anew */
        {115 * MIN, 124, 121},
        {116 * MIN + 5 * 60 * MIN, 124 + 6 * 120, 0}, /* nobody looked for five hours */
        {117 * MIN + 5 * 60 * MIN, 124 + 6 * 120 + 500, 500},
    };
    for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
        recall = next_run(recall, looks[i].at_ms);
        if (recall_growth(recall, "p/1/sy", looks[i].value, 120, MS_PER_HOUR) != looks[i].told)
            fail_msg("look %zu", i);
    }
    recall_free(recall);
}

static void test_growth_of_any_size(void **state)
{
    (void)state;
    AUTO(recall) struct recall *recall = recall_new("", 0, 10);
    assert_int_equal(recall_growth(recall, "k", 7, 0, 1), 0);
    assert_int_equal(recall_growth(recall, "k", 7, 0, 1), 0);
    assert_int_equal(recall_growth(recall, "k", 9, 0, 1), 2);
    assert_int_equal(recall_growth(recall, "k", 9, 0, 1), 0);
    assert_int_equal(recall_growth(recall, "big", 0, INT64_MAX, 1), 0);
    assert_int_equal(recall_growth(recall, "big", INT64_MAX, INT64_MAX, 1), 0);
}

static void test_lasting(void **state)
{
    (void)state;
    struct recall *recall = recall_new("", 0, 0);
    static const struct {
        int64_t at_ms;
        bool is, lasts;
    } looks[] = {{100, true, false},    {30099, true, false}, {30100, true, true}, {40000, true, true},
                 {50000, false, false}, {60000, true, false}, {90000, true, true}};
    for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
        recall = next_run(recall, looks[i].at_ms);
        assert_int_equal(recall_lasts(recall, "down", looks[i].is, 30000), looks[i].lasts);
    }
    recall_free(recall);
}

static void test_the_most_and_the_last(void **state)
{
    (void)state;
    struct recall *recall = recall_new("", 0, 5);
    assert_int_equal(recall_most(recall, "m", 4), 4);
    assert_int_equal(recall_get(recall, "g", -7), -7);
    assert_true(recall_age_ms(recall, "g") == INT64_MAX);
    recall_set(recall, "g", 3);
    recall = next_run(recall, 105);
    assert_int_equal(recall_most(recall, "m", 2), 4);
    assert_int_equal(recall_get(recall, "g", -7), 3);
    assert_int_equal(recall_age_ms(recall, "g"), 100);
    recall = next_run(recall, 200);
    recall = next_run(recall, 300); /* nobody asked in the run before */
    assert_int_equal(recall_most(recall, "m", 2), 2);
    recall_free(recall);
}

static void test_text_that_is_none(void **state)
{
    static const char text[] =
        "good 1 2\n"
        "\n \n  \nx\nx 1\nx 1 \nx  1 1\nx -1 1\nx 1 -1\nx 1 1 1\nx 1x 1\n"
        "x 99999999999999999999 1\nlater 1 9999\n 1 1\n"
        "long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long 1 1\n"
        "zero\0 1 1\nlast 3 4";
    (void)state;
    AUTO(recall) struct recall *recall = recall_new(text, sizeof(text) - 1, 10);
    assert_int_equal(recall_get(recall, "good", -1), 1);
    assert_int_equal(recall_get(recall, "last", -1), 3);
    assert_int_equal(recall_get(recall, "later", -1), 1);
    assert_int_equal(recall_age_ms(recall, "later"), 0);
    assert_int_equal(recall_get(recall, "x", -1), -1);
    autofree char *left = recall_text(recall, 1000);
    assert_string_equal(left, "good 1 2\nlater 1 10\nlast 3 4\n");
}

static void test_no_more_than_fits(void **state)
{
    (void)state;
    AUTO(recall) struct recall *recall = recall_new("", 0, 1);
    char key[16];
    for (int i = 0; i < RECALL_ITEMS_MAX + 5; i++) {
        snprintf(key, sizeof(key), "k%04d", i);
        recall_set(recall, key, 5);
    }
    assert_int_equal(recall_get(recall, "k1023", 0), 5);
    assert_int_equal(recall_get(recall, "k1024", 0), 0);
    assert_int_equal(recall_growth(recall, "k1025", 1, 0, 1), 0);
    assert_false(recall_lasts(recall, "k1026", true, 0));
    autofree char *text = recall_text(recall, 25);
    assert_string_equal(text, "k0000 5 1\nk0001 5 1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth_within_a_window),
        cmocka_unit_test(test_growth_of_any_size),
        cmocka_unit_test(test_lasting),
        cmocka_unit_test(test_the_most_and_the_last),
        cmocka_unit_test(test_text_that_is_none),
        cmocka_unit_test(test_no_more_than_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
