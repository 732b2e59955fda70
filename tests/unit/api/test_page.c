/* Pages: items of any length become one text. Cursors: what is made comes back, what was not made by us does not. */
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

/* Lengths around the room that page.c keeps for one item, and far beyond it. */
static void test_items_of_any_length(void **state)
{
    static const size_t lengths[] = {0, 4085, 4086, 4087, 4088, 4089, 100000, 1};
    struct page page;
    (void)state;
    page_init(&page, 'n');
    assert_int_equal(page_begin(NULL, &page, false), 0); /* a first page asks nothing of the call */
    auto_json json_t *items = json_array();
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        autofree char *text = own_calloc(lengths[i] + 1, 1);
        memset(text, 'x', lengths[i]);
        json_t *item = json_object();
        json_put(item, "text", json_string(text));
        json_array_append(items, item);
        page_add(&page, item, "key");
    }
    autofree char *want = json_dumps(items, JSON_COMPACT);
    autofree char *got = own_printf("%s]", text_get(&page.body));
    assert_string_equal(strchr(got, '['), want);
    page_free(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_items_of_any_length),
        cmocka_unit_test(test_cursors_come_back),
        cmocka_unit_test(test_made_up_cursors_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
