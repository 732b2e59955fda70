/* What fi_info and fi_pingpong print: every number that is taken is one. */
// ROOMS: base model policy agents
#include "tests/fuzz/fuzz.h"

#include "agents/checks/fabric.h"
#include "base/own.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = fuzz_text(data, size);
    struct fabric_info infos[4];
    struct fabric_speed speed;
    size_t count = fabric_parse_info(text, infos, ARRAY_LEN(infos));
    REQUIRE(count <= ARRAY_LEN(infos));
    for (size_t i = 0; i < count; i++)
        REQUIRE(infos[i].provider[0] != '\0' || strstr(text, "provider: ") != NULL);
    if (fabric_parse_pingpong(text, &speed) != 0)
        return 0;
    REQUIRE(speed.count > 0 && speed.count <= FABRIC_SIZES_MAX);
    REQUIRE(isfinite(speed.max_mb_per_s) && isfinite(speed.min_latency_us));
    for (size_t i = 0; i < speed.count; i++)
        REQUIRE(speed.sizes[i].bytes > 0 && speed.sizes[i].sent > 0 && speed.sizes[i].mb_per_s >= 0);
    return 0;
}
