/* Times and durations: what is read and written again is the same instant. */
// ROOMS: base
#include "tests/fuzz/fuzz.h"

#include "base/clock.h"
#include "base/own.h"

#define YEAR_0_MS INT64_C(-62167219200000)
#define YEAR_10000_MS INT64_C(253402300800000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = fuzz_text(data, size);
    char written[CLOCK_TEXT_MAX];
    int64_t at_ms = 0, again_ms = 0, duration_ms = -1;

    if (clock_parse(text, &at_ms) == 0) {
        REQUIRE(at_ms >= YEAR_0_MS - MS_PER_DAY && at_ms < YEAR_10000_MS + MS_PER_DAY);
        if (at_ms > 0 && at_ms < YEAR_10000_MS) {
            REQUIRE(clock_parse(clock_format(at_ms, written), &again_ms) == 0);
            REQUIRE(again_ms == at_ms);
        }
    }
    if (clock_parse_duration(text, &duration_ms) == 0)
        REQUIRE(duration_ms >= 0);
    if (size >= sizeof(duration_ms))
        memcpy(&duration_ms, data, sizeof(duration_ms));
    REQUIRE(strlen(clock_format_duration(duration_ms, written)) < CLOCK_TEXT_MAX);
    REQUIRE(strlen(clock_format(duration_ms, written)) < CLOCK_TEXT_MAX);
    return 0;
}
