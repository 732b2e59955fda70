/*
 * Cursors of the REST API's lists, as a client could make them up. What is taken gives a key that makes the same cursor
 * again, and is refused for any other list; what is not taken cannot be told from any other mistake.
 */
// ROOMS: base api
#include "tests/fuzz/fuzz.h"

#include "api/cursor.h"
#include "base/own.h"
#include "base/text.h"

static const char lists[] = "cnoqvdau";

static void require_taken(char list, const char *cursor, const char *key)
{
    char again[PAGE_CURSOR_MAX], other[PAGE_KEY_MAX];

    REQUIRE(key[0] != '\0' && strlen(key) < PAGE_KEY_MAX && text_is_utf8(key, strlen(key)));
    cursor_encode(list, key, again);
    REQUIRE(strcmp(again, cursor) == 0);
    for (const char *one = lists; *one != '\0'; one++)
        REQUIRE((cursor_decode(cursor, *one, other) == 0) == (*one == list));
}

/* Every key that fits comes back, and no beginning of its cursor is the same place. */
static void require_round_trip(char list, const char *key)
{
    char cursor[PAGE_CURSOR_MAX], back[PAGE_KEY_MAX];

    cursor_encode(list, key, cursor);
    REQUIRE(strlen(cursor) < sizeof(cursor));
    REQUIRE(cursor_decode(cursor, list, back) == 0 && strcmp(back, key) == 0);
    cursor[strlen(cursor) - 1] = '\0';
    REQUIRE(cursor_decode(cursor, list, back) != 0 || strcmp(back, key) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = fuzz_text(data, size);
    char key[PAGE_KEY_MAX];

    for (const char *list = lists; *list != '\0'; list++)
        if (cursor_decode(text, *list, key) == 0)
            require_taken(*list, text, key);
    if (text[0] != '\0' && strlen(text) < PAGE_KEY_MAX && text_is_utf8(text, strlen(text)))
        require_round_trip(lists[size % (sizeof(lists) - 1)], text);
    return 0;
}
