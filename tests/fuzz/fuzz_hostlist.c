/*
 * Hostlists: names are few, short and harmless to hand to a program, and a list of them
 * written with commas is that same list again.
 */
// ROOMS: base
#include "tests/fuzz/fuzz.h"

#include "base/status.h"
#include "base/text.h"

#define COUNT_MAX 500

static const char name_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *list = fuzz_text(data, size);
    AUTO(text) struct text joined = {0};
    char **names = NULL, **again = NULL;
    size_t count = 0, again_count = 0;
    int r = text_hostlist_expand(list, COUNT_MAX, &names, &count);

    if (r < 0) {
        REQUIRE(r == STATUS_INVALID || r == STATUS_TOO_LARGE);
        REQUIRE(names == NULL && count == 0);
        return 0;
    }
    REQUIRE(count >= 1 && count <= COUNT_MAX);
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(names[i]);
        REQUIRE(len >= 1 && len <= 255 && strspn(names[i], name_characters) == len);
        REQUIRE(names[i][0] != '-' && names[i][0] != '.');
        text_printf(&joined, "%s%s", i == 0 ? "" : ",", names[i]);
    }
    REQUIRE(text_hostlist_expand(text_get(&joined), COUNT_MAX, &again, &again_count) == 0);
    REQUIRE(again_count == count);
    for (size_t i = 0; i < count; i++)
        REQUIRE(strcmp(names[i], again[i]) == 0);
    text_list_free(names, count);
    text_list_free(again, again_count);
    return 0;
}
