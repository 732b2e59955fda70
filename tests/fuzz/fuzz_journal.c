/* The journal's stream: whatever comes, in whole or in pieces, gives the same entries, and none is larger than it may be. */
// ROOMS: base model policy agents
#include "tests/fuzz/fuzz.h"

#include "agents/checks/journal_entry.h"

struct sum {
    uint64_t hash;
    size_t count;
};

static void add(const struct journal_entry *entry, void *arg)
{
    struct sum *sum = arg;
    REQUIRE(entry->cursor[0] != '\0' && strlen(entry->cursor) < JOURNAL_CURSOR_MAX_BYTES);
    REQUIRE(entry->len <= JOURNAL_TEXT_MAX_BYTES + 256);
    REQUIRE(entry->lost >= 0 && entry->at_us >= -1);
    for (size_t i = 0; i < entry->len; i++)
        sum->hash = (sum->hash ^ (unsigned char)entry->text[i]) * UINT64_C(1099511628211);
    sum->hash ^= (uint64_t)entry->lost + (uint64_t)entry->at_us;
    sum->count++;
}

static struct sum feed(const char *data, size_t size, size_t piece)
{
    struct journal_reader *reader = journal_reader_new();
    struct sum sum = {0};
    for (size_t at = 0; at < size; at += piece)
        journal_reader_feed(reader, data + at, size - at < piece ? size - at : piece, add, &sum);
    journal_reader_free(reader);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sum whole = feed((const char *)data, size, size + 1), pieces = feed((const char *)data, size, 3);
    REQUIRE(whole.count == pieces.count && whole.hash == pieces.hash);
    return 0;
}
