/* Ownership: nothing fails quietly, and hand-overs leave NULL behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aborts.h"
#include "base/own.h"

#include <string.h>

static void test_calloc_is_zeroed(void **state)
{
    autofree unsigned char *p = own_calloc(1000, 3);

    (void)state;
    for (size_t i = 0; i < 3000; i++)
        assert_int_equal(p[i], 0);
}

static void test_nothing_is_still_something(void **state)
{
    autofree void *a = own_calloc(0, 8);
    autofree void *b = own_calloc(8, 0);
    autofree void *c = own_realloc(NULL, 0, 8);

    (void)state;
    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
}

static void test_realloc_keeps_content(void **state)
{
    char *p = own_strdup("evidence");

    (void)state;
    p = own_realloc(p, 4096, 16);
    assert_string_equal(p, "evidence");
    free(p);
}

/* The count comes in by pointer, so that no compiler knows it beforehand. */
static void ask_realloc(void *count)
{
    free(own_realloc(NULL, *(size_t *)count, 16));
}

static void ask_calloc(void *count)
{
    free(own_calloc(*(size_t *)count, 16));
}

static void test_products_that_overflow_abort(void **state)
{
    size_t too_many = SIZE_MAX / 8, few = 8;

    (void)state;
    assert_true(aborts(ask_realloc, &too_many));
    assert_false(aborts(ask_realloc, &few));
    assert_false(aborts(ask_calloc, &few));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
    /* Sanitizers end the process in their own way before calloc can return NULL. */
    assert_true(aborts(ask_calloc, &too_many));
#endif
}

static void test_strdup(void **state)
{
    autofree char *copy = own_strdup("");

    (void)state;
    assert_string_equal(copy, "");
    assert_null(own_strdup(NULL));
}

static void test_printf(void **state)
{
    autofree char *text = own_printf("%s-%03d", "gpu", 7);

    (void)state;
    assert_string_equal(text, "gpu-007");
}

static int freed;

static void thing_free(int *thing)
{
    if (thing != NULL)
        freed++;
    free(thing);
}

AUTO_DEFINE(int *, thing, thing_free)

static int *make_thing(bool keep)
{
    AUTO(thing) int *thing = own_calloc(1, sizeof(*thing));

    return keep ? TAKE(thing) : NULL;
}

static void test_take_and_auto(void **state)
{
    (void)state;
    freed = 0;
    assert_null(make_thing(false));
    assert_int_equal(freed, 1);
    int *thing = make_thing(true);
    assert_non_null(thing);
    assert_int_equal(freed, 1);
    thing_free(thing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calloc_is_zeroed),
        cmocka_unit_test(test_nothing_is_still_something),
        cmocka_unit_test(test_realloc_keeps_content),
        cmocka_unit_test(test_products_that_overflow_abort),
        cmocka_unit_test(test_strdup),
        cmocka_unit_test(test_printf),
        cmocka_unit_test(test_take_and_auto),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
