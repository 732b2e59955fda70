/* The nearest known word: what people mistype is guessed, what has nothing to do with it is not, and what is shown is harmless. */
#include "base/nearest.h"
#include "base/own.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const known[] = {"name", "instanceCount", "minInstanceCount", "instanceType", "image", "a"};

static void assert_says(const char *word, const char *expected)
{
    struct nearest nearest = {.word = word};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        nearest_see(&nearest, known[i]);
    autofree char *said = nearest_say(&nearest);
    assert_string_equal(said, expected);
}

static void test_guesses(void **state)
{
    static const struct {
        const char *word, *guess;
    } cases[] = {
        {"instanceCont", "instanceCount"},       /* left out */
        {"instancecount", "instanceCount"},      /* case */
        {"instanceCuont", "instanceCount"},      /* swapped */
        {"instanceCountt", "instanceCount"},     /* added */
        {"minInstanceCont", "minInstanceCount"}, /* the nearer one of two */
        {"Name", "name"},
        {"nam", "name"},
        {"imgae", "image"},
        {"b", "a"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *expected =
            own_printf("\"%s\" is not known here (the nearest is \"%s\")", cases[i].word, cases[i].guess);
        assert_says(cases[i].word, expected);
    }
}

static void test_no_guess(void **state)
{
    (void)state;
    assert_says("colour", "\"colour\" is not known here");
    assert_says("gpus", "\"gpus\" is not known here");
    char lengthy[200];
    memset(lengthy, 'x', sizeof(lengthy) - 1);
    lengthy[sizeof(lengthy) - 1] = '\0';
    assert_says(lengthy, "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\" (cut) is not known here");
    assert_says("\x1b[31m", "\"\\u001B[31m\" is not known here");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_guesses), cmocka_unit_test(test_no_guess)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
