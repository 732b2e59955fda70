/* Deadlines: due in order, once, and only in the phase a connection is in. */
#include "api_world.h"

#include "api/deadline.h"

static void test_due_in_order_and_once(void **state)
{
    struct deadlines all = {.after_ms = {0, 10, 100, 20, 30}};
    struct deadline d[3] = {0};
    (void)state;
    deadline_enter(&all, &d[0], DEADLINE_FIRST, 0);
    deadline_enter(&all, &d[1], DEADLINE_FIRST, 5);
    deadline_enter(&all, &d[2], DEADLINE_IDLE, 0);
    assert_null(deadline_next_due(&all, 9));
    assert_ptr_equal(deadline_next_due(&all, 10), &d[0]);
    assert_null(deadline_next_due(&all, 14));
    assert_ptr_equal(deadline_next_due(&all, 1000), &d[1]);
    assert_ptr_equal(deadline_next_due(&all, 1000), &d[2]);
    assert_null(deadline_next_due(&all, 1000));
}

static void test_moving_on_forgets_the_phase_before(void **state)
{
    struct deadlines all = {.after_ms = {0, 10, 100, 20, 30}};
    struct deadline d[3] = {0};
    (void)state;
    for (int i = 0; i < 3; i++)
        deadline_enter(&all, &d[i], DEADLINE_FIRST, i);
    deadline_enter(&all, &d[1], DEADLINE_BODY, 5); /* out of the middle */
    deadline_enter(&all, &d[0], DEADLINE_NONE, 5); /* out of the front */
    assert_ptr_equal(deadline_next_due(&all, 12), &d[2]);
    assert_null(deadline_next_due(&all, 24));
    deadline_enter(&all, &d[1], DEADLINE_BODY, 24); /* the same phase anew */
    assert_null(deadline_next_due(&all, 43));
    assert_ptr_equal(deadline_next_due(&all, 44), &d[1]);
    assert_null(deadline_next_due(&all, INT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_due_in_order_and_once),
        cmocka_unit_test(test_moving_on_forgets_the_phase_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
