/* The map against a plain model of itself: growth, churn, removal in every order, walking. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aborts.h"
#include "base/id.h"
#include "base/map.h"
#include "base/own.h"

#include <stdio.h>
#include <string.h>

#define MANY 5000

static int values[MANY];

static const char *key_of(size_t i, char *key, size_t size)
{
    snprintf(key, size, "node-%zu", i);
    return key;
}

static void test_empty(void **state)
{
    struct map *map = map_new();
    size_t cursor = 0;

    (void)state;
    assert_int_equal(map_count(map), 0);
    assert_null(map_get(map, ""));
    assert_null(map_remove(map, "a"));
    assert_false(map_next(map, &cursor, NULL, NULL));
    map_free(map);
    map_free(NULL);
}

static void test_set_replaces(void **state)
{
    struct map *map = map_new();

    (void)state;
    assert_null(map_set(map, "a", &values[1]));
    assert_ptr_equal(map_set(map, "a", &values[2]), &values[1]);
    assert_ptr_equal(map_get(map, "a"), &values[2]);
    assert_int_equal(map_count(map), 1);
    map_free(map);
}

static void test_keys_are_copied(void **state)
{
    struct map *map = map_new();
    char key[] = "gpu-1";

    (void)state;
    map_set(map, key, &values[0]);
    key[4] = '2';
    assert_ptr_equal(map_get(map, "gpu-1"), &values[0]);
    assert_null(map_get(map, "gpu-2"));
    map_free(map);
}

static void test_keys_that_look_alike(void **state)
{
    static const char *const keys[] = {"",         "a", "aa", "aaaaaaa", "aaaaaaaa", "aaaaaaaab", "aaaaaaaaa",
                                       "\xff\xff", "A", " a", "a ",      "gpu-1",    "gpu-10",    "gpu-01"};
    struct map *map = map_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        assert_null(map_set(map, keys[i], &values[i]));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        assert_ptr_equal(map_get(map, keys[i]), &values[i]);
    assert_int_equal(map_count(map), ARRAY_LEN(keys));
    map_free(map);
}

static void test_many_there_and_back(void **state)
{
    struct map *map = map_new();
    char key[32];

    (void)state;
    for (size_t i = 0; i < MANY; i++)
        assert_null(map_set(map, key_of(i, key, sizeof(key)), &values[i]));
    assert_int_equal(map_count(map), MANY);
    for (size_t i = 0; i < MANY; i += 2)
        assert_ptr_equal(map_remove(map, key_of(i, key, sizeof(key))), &values[i]);
    for (size_t i = 0; i < MANY; i++)
        assert_ptr_equal(map_get(map, key_of(i, key, sizeof(key))), i % 2 == 0 ? NULL : &values[i]);
    assert_int_equal(map_count(map), MANY / 2);
    map_free(map);
}

/* Random steps, compared with an array after each; the seed is fixed, the map's own key is not. */
static void test_against_a_model(void **state)
{
    enum { KEYS = 40, STEPS = 20000 };
    struct id_source random;
    void *model[KEYS] = {0};
    struct map *map = map_new();
    char key[32];

    (void)state;
    id_source_seed(&random, 7);
    for (size_t step = 0; step < STEPS; step++) {
        uint8_t dice[2];
        id_bytes(&random, dice, sizeof(dice));
        size_t i = dice[0] % KEYS;
        key_of(i, key, sizeof(key));
        if (dice[1] % 3 == 0) {
            assert_ptr_equal(map_remove(map, key), model[i]);
            model[i] = NULL;
        } else if (dice[1] % 3 == 1) {
            assert_ptr_equal(map_set(map, key, &values[step % MANY]), model[i]);
            model[i] = &values[step % MANY];
        }
        size_t live = 0;
        for (size_t k = 0; k < KEYS; k++)
            live += model[k] != NULL ? 1 : 0;
        assert_int_equal(map_count(map), live);
        size_t probe = dice[1] % KEYS;
        assert_ptr_equal(map_get(map, key_of(probe, key, sizeof(key))), model[probe]);
    }
    map_free(map);
}

/* Whoever comes and goes for ever must not grow the map. */
static void test_churn_is_walked_whole(void **state)
{
    struct map *map = map_new();
    char key[32];
    size_t cursor = 0, seen = 0;
    const char *name;
    void *value;

    (void)state;
    for (size_t i = 0; i < 10 * MANY; i++) {
        map_set(map, key_of(i, key, sizeof(key)), &values[i % MANY]);
        if (i >= 8)
            assert_non_null(map_remove(map, key_of(i - 8, key, sizeof(key))));
    }
    while (map_next(map, &cursor, &name, &value)) {
        assert_string_equal(name, key_of(10 * MANY - 8 + seen, key, sizeof(key)));
        seen++;
    }
    assert_int_equal(seen, 8);
    assert_true(cursor < 64);
    map_free(map);
}

/* Two maps with different hash keys, the same steps: the same walk. */
static void test_walk_is_repeatable(void **state)
{
    struct map *a = map_new(), *b = map_new();
    size_t at_a = 0, at_b = 0, seen = 0;
    const char *name_a, *name_b;
    char key[32];

    (void)state;
    for (size_t i = 0; i < 500; i++) {
        map_set(a, key_of(i * 7 % 500, key, sizeof(key)), &values[i]);
        map_set(b, key, &values[i]);
        if (i % 3 == 0) {
            map_remove(a, key_of(i, key, sizeof(key)));
            map_remove(b, key);
        }
    }
    while (map_next(a, &at_a, &name_a, NULL)) {
        assert_true(map_next(b, &at_b, &name_b, NULL));
        assert_string_equal(name_a, name_b);
        seen++;
    }
    assert_false(map_next(b, &at_b, &name_b, NULL));
    assert_int_equal(seen, map_count(a));
    map_free(a);
    map_free(b);
}

static void set_nothing(void *arg)
{
    map_set(arg, "a", NULL);
}

static void test_null_value_is_a_bug(void **state)
{
    struct map *map = map_new();

    (void)state;
    assert_true(aborts(set_nothing, map));
    map_free(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_set_replaces),
        cmocka_unit_test(test_keys_are_copied),
        cmocka_unit_test(test_keys_that_look_alike),
        cmocka_unit_test(test_many_there_and_back),
        cmocka_unit_test(test_against_a_model),
        cmocka_unit_test(test_churn_is_walked_whole),
        cmocka_unit_test(test_walk_is_repeatable),
        cmocka_unit_test(test_null_value_is_a_bug),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
