/*
 * The bytes of a connection, as anybody may send them: however they are cut, the same is read. The first byte says where.
 */
// ROOMS: base model policy db server api
#include "tests/fuzz/fuzz.h"

#include "api/strict.h"

static size_t read_all(struct strict *s, const char *bytes, size_t len, size_t step, size_t *ret_whole)
{
    size_t at = 0, whole = 0;
    *ret_whole = 0;
    while (at < len && s->state != STRICT_BAD) {
        size_t part = len - at < step ? len - at : step;
        size_t took = strict_take(s, bytes + at, part, &whole);
        REQUIRE(took <= part && whole <= took);
        REQUIRE(took == part || s->state == STRICT_BAD);
        if (whole > 0)
            *ret_whole = at + whole;
        at += took;
    }
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = fuzz_text(data, size);
    struct strict whole = {0}, cut = {0};
    size_t whole_end = 0, cut_end = 0;
    size_t whole_took = read_all(&whole, text, size, size, &whole_end);
    size_t cut_took = read_all(&cut, text, size, 1 + data[0] % 7, &cut_end);
    REQUIRE(whole_took == cut_took && whole_end == cut_end);
    REQUIRE(whole.state == cut.state && whole.heads == cut.heads);
    REQUIRE(whole.left >= 0);
    free(text);
    return 0;
}
