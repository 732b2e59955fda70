/* The small files of /sys/class/infiniband: numbers within what they can be, or none. */
// ROOMS: base model policy agents
#include "tests/fuzz/fuzz.h"

#include "agents/checks/rdma.h"
#include "agents/checks/sysfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = fuzz_text(data, size);
    int state = rdma_parse_state(text);
    int64_t rate = rdma_parse_rate_mbps(text);
    REQUIRE(state >= -1 && state <= 15);
    REQUIRE(rate >= -1 && rate < INT64_C(1000000000) + 1000);
    REQUIRE(sysfs_parse_count(text) >= -1);
    rdma_parse_layer(text);
    REQUIRE(efa_count_of_type(text) >= -1);
    return 0;
}
