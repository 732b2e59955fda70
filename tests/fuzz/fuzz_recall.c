/* What a check remembers, from whatever it finds in its memory: what it leaves is read again as the same. */
// ROOMS: base model policy agents
#include "tests/fuzz/fuzz.h"

#include "agents/checks/recall.h"

#define NOW_MS 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(recall) struct recall *recall = recall_new((const char *)data, size, NOW_MS);
    int64_t value = recall_get(recall, "a/1/state", -1);
    REQUIRE(value >= -1);
    REQUIRE(recall_growth(recall, "a/1/sy", 500, 10, 1000) >= 0);
    REQUIRE(recall_growth(recall, "a/1/sy", 500, 10, 1000) == 0);
    REQUIRE(recall_most(recall, "most", 7) >= 7);
    recall_lasts(recall, "down", size % 2 == 0, 10);
    REQUIRE(recall_age_ms(recall, "a/1/state") >= 0);
    autofree char *text = recall_text(recall, 4096);
    REQUIRE(strlen(text) <= 4096);
    AUTO(recall) struct recall *again = recall_new(text, strlen(text), NOW_MS);
    REQUIRE(recall_get(again, "a/1/state", -1) == value);
    return 0;
}
