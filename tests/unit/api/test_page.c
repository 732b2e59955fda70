/* Cursors: what is made comes back, what was not made by us does not. */
#include "api_world.h"

#include "api/page.h"

static void test_cursors_come_back(void **state)
{
    static const char *const keys[] = {"a",
                                       "ab",
                                       "abc",
                                       "gpu-17",
                                       "9223372036854775807",
                                       "a-name-of-sixty-three-characters-that-is-as-long-as-names-may-be"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        char cursor[PAGE_CURSOR_MAX], key[PAGE_KEY_MAX];
        cursor_encode('n', keys[i], cursor);
        assert_null(strstr(cursor, keys[i]));
        assert_int_equal(cursor_decode(cursor, 'n', key), 0);
        assert_string_equal(key, keys[i]);
        assert_int_equal(cursor_decode(cursor, 'c', key), STATUS_INVALID);
    }
}

static void test_made_up_cursors_are_refused(void **state)
{
    char too_long[PAGE_CURSOR_MAX];
    memset(too_long, 'Y', sizeof too_long - 1);
    memcpy(too_long, "bm", 2);
    too_long[sizeof too_long - 1] = '\0';
    const char *const bad[] = {
        "",     "n",    "bg",  "bmE=", "bm E",   "bmF", /* bits left over that are not zero */
        "bgBh",                                         /* a zero inside */
        "bv8",                                          /* not UTF-8 */
        "bmE.", "bmE/", "YWE", "????", too_long,
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char key[PAGE_KEY_MAX];
        if (cursor_decode(bad[i], 'n', key) == 0)
            fail_msg("\"%s\" was taken as \"%s\"", bad[i], key);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cursors_come_back),
        cmocka_unit_test(test_made_up_cursors_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
