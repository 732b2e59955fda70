/* What dcgmi policy says: one of the answers there are, and as many violations as lines may tell. */
// ROOMS: base model agents policy
#include "tests/fuzz/fuzz.h"

#include "agents/checks/dcgm_violations.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dcgm_violations violations;
    char *exact = fuzz_text(data, size);
    int64_t sum = 0;
    REQUIRE(dcgm_policy_text(dcgm_policy_parse(exact, size))[0] != '\0');
    dcgm_violations_parse(exact, size, &violations);
    free(exact);
    for (size_t i = 0; i < DCGM_VIOLATION_COUNT; i++) {
        REQUIRE(violations.counts[i] >= 0 && violations.last[i] >= -1);
        sum += violations.counts[i];
    }
    REQUIRE(sum == violations.sum && (size_t)sum <= size);
    return 0;
}
