/* Problems: every code has its own text, a title and an HTTP status; long words of people are cut cleanly. */
#include "server/service/private.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_every_code_is_complete_and_unique(void **state)
{
    (void)state;
    for (int code = 0; code <= PROBLEM_UNAVAILABLE; code++) {
        int http = problem_code_http((enum problem_code)code);
        assert_true(http >= 400 && http < 600);
        assert_true(strlen(problem_code_title((enum problem_code)code)) > 5);
        for (int other = 0; other < code; other++)
            assert_string_not_equal(problem_code_text((enum problem_code)code),
                                    problem_code_text((enum problem_code)other));
    }
    assert_int_equal(problem_code_http(PROBLEM_KEY_REUSED), 409);
    assert_int_equal(problem_code_http(PROBLEM_STORE_FULL), 507);
    assert_string_equal(problem_code_text((enum problem_code)999), "?");
    assert_int_equal(problem_code_http((enum problem_code)999), 500);
}

static void test_what_the_store_says(void **state)
{
    (void)state;
    static const struct {
        int status;
        enum problem_code code;
    } table[] = {{STATUS_FULL, PROBLEM_STORE_FULL},
                 {STATUS_IO, PROBLEM_INTERNAL},
                 {STATUS_UNAVAILABLE, PROBLEM_UNAVAILABLE},
                 {STATUS_TIMEOUT, PROBLEM_UNAVAILABLE},
                 {STATUS_CONFLICT, PROBLEM_INTERNAL}};
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct problem problem;
        assert_int_equal(problem_of_store(&problem, table[i].status), table[i].status);
        assert_int_equal(problem.code, table[i].code);
        assert_true(strlen(problem.detail) > 10);
    }
}

static void test_long_words_are_cut_between_characters(void **state)
{
    (void)state;
    struct problem problem;
    char wide[2000];
    size_t len = 0;
    wide[len++] = 'x'; /* so that the limit falls inside a character */
    while (len + 4 < sizeof(wide)) {
        memcpy(wide + len, "€", 3);
        len += 3;
    }
    wide[len] = '\0';
    assert_int_equal(problem_say(&problem, STATUS_INVALID, PROBLEM_BAD_REQUEST, "%s", wide), STATUS_INVALID);
    assert_true(text_is_utf8(problem.detail, strlen(problem.detail)));
    assert_true(strlen(problem.detail) > PROBLEM_DETAIL_MAX - 5);
    assert_int_equal(problem_say(NULL, STATUS_INVALID, PROBLEM_BAD_REQUEST, "nobody listens"), STATUS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_is_complete_and_unique),
        cmocka_unit_test(test_what_the_store_says),
        cmocka_unit_test(test_long_words_are_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
