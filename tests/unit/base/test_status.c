/* Statuses: every number has its own text and a sentence, and strangers are named as such. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"
#include "base/status.h"

#include <string.h>

static const int all[] = {
#define X(name, number, text, meaning) STATUS_##name,
    STATUS_LIST(X)
#undef X
};

static void test_texts_are_stable(void **state)
{
    (void)state;
    assert_string_equal(status_text(STATUS_OK), "ok");
    assert_string_equal(status_text(STATUS_NOT_FOUND), "not-found");
    assert_string_equal(status_text(STATUS_TOO_LARGE), "too-large");
    assert_string_equal(status_text(STATUS_UNSUPPORTED), "unsupported");
}

static void test_numbers_and_texts_are_unique(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        assert_true(all[i] < 0);
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(all[i], all[j]);
            assert_string_not_equal(status_text(all[i]), status_text(all[j]));
            assert_string_not_equal(status_meaning(all[i]), status_meaning(all[j]));
        }
    }
}

static void test_strangers(void **state)
{
    static const int strangers[] = {1, 42, -1000, INT32_MIN, INT32_MAX};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(strangers); i++) {
        assert_string_equal(status_text(strangers[i]), "unknown");
        assert_true(strlen(status_meaning(strangers[i])) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_are_stable),
        cmocka_unit_test(test_numbers_and_texts_are_unique),
        cmocka_unit_test(test_strangers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
