/* State machines: only what the table holds may happen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aborts.h"
#include "base/sm.h"
#include "base/status.h"

enum door { OPEN, SHUT, LOCKED, DOORS };

static const struct sm_row rows[] = {
    [OPEN] = {"open", SM_BIT(SHUT)},
    [SHUT] = {"shut", SM_BIT(OPEN) | SM_BIT(LOCKED)},
    [LOCKED] = {"locked", SM_BIT(SHUT)},
};
static const struct sm door = {"door", rows, DOORS};

static void test_may(void **state)
{
    static const bool expected[DOORS][DOORS] = {
        [OPEN] = {[SHUT] = true},
        [SHUT] = {[OPEN] = true, [LOCKED] = true},
        [LOCKED] = {[SHUT] = true},
    };

    (void)state;
    for (int from = 0; from < DOORS; from++)
        for (int to = 0; to < DOORS; to++)
            assert_int_equal(sm_may(&door, from, to), expected[from][to]);
}

static void test_states_that_are_none(void **state)
{
    static const int strange[] = {-1, DOORS, 31, 32, 33, INT32_MAX, INT32_MIN};

    (void)state;
    for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
        assert_false(sm_may(&door, strange[i], SHUT));
        assert_false(sm_may(&door, SHUT, strange[i]));
        assert_string_equal(sm_text(&door, strange[i]), "?");
    }
}

static void test_move(void **state)
{
    int at = OPEN;

    (void)state;
    sm_move(&door, &at, SHUT);
    sm_move(&door, &at, LOCKED);
    assert_int_equal(at, LOCKED);
}

static void force_the_lock(void *arg)
{
    int at = *(int *)arg;

    sm_move(&door, &at, OPEN);
}

static void test_illegal_move_aborts(void **state)
{
    int shut = SHUT, locked = LOCKED, nowhere = 99;

    (void)state;
    assert_false(aborts(force_the_lock, &shut));
    assert_true(aborts(force_the_lock, &locked));
    assert_true(aborts(force_the_lock, &nowhere));
}

static void test_parse(void **state)
{
    static const char *const bad[] = {"", "Open", "ope", "open ", "?"};
    int found = 77;

    (void)state;
    for (int i = 0; i < DOORS; i++) {
        assert_int_equal(sm_parse(&door, sm_text(&door, i), &found), 0);
        assert_int_equal(found, i);
    }
    found = 77;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(sm_parse(&door, bad[i], &found), STATUS_INVALID);
    assert_int_equal(sm_parse(&door, NULL, &found), STATUS_INVALID);
    assert_int_equal(found, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_may),   cmocka_unit_test(test_states_that_are_none),
        cmocka_unit_test(test_move),  cmocka_unit_test(test_illegal_move_aborts),
        cmocka_unit_test(test_parse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
