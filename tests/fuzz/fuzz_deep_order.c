/* Fuzzing of the order for a deep health check and of what the agent remembers of it; what is remembered reads back the same. */
// ROOMS: agents policy model base
#include "agents/deep/message.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct deep_job job;
    struct deep_memory memory, again;
    struct text out = {0};
    char *text = fuzz_text(data, size);
    if (deep_read_order(text, size, &job) == 0) {
        REQUIRE(job.checks > 0 && job.checks < 1 << DEEP_CHECK_COUNT);
        REQUIRE(job.limit_count <= DEEP_LIMITS_MAX);
        for (size_t i = 0; i < job.limit_count; i++) {
            char shown[DEEP_LIMIT_TEXT_MAX_BYTES], whole[DEEP_LIMIT_TEXT_MAX_BYTES + DEEP_LIMIT_MEASURE_MAX_BYTES];
            struct deep_limit same;
            deep_limit_text(&job.limits[i], shown);
            snprintf(whole, sizeof(whole), "%s %s", job.limits[i].measure, shown);
            REQUIRE(deep_limit_parse(whole, &same) == 0 && same.at_most == job.limits[i].at_most);
        }
        REQUIRE(job.dcgm_level >= 1 && job.dcgm_level <= 4 && job.stress_s >= 1 && job.time_limit_ms >= 1);
    }
    if (deep_read_memory(text, size, &memory) == 0) {
        deep_write_memory(&out, &memory);
        REQUIRE(deep_read_memory(out.data, out.len, &again) == 0);
        REQUIRE(strcmp(memory.key, again.key) == 0 && memory.at == again.at && memory.over == again.over);
    }
    text_free(&out);
    free(text);
    return 0;
}
