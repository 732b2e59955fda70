/* What neuron-ls prints: each device once, with numbers that a device may have. */
// ROOMS: base model agents policy
#include "tests/fuzz/fuzz.h"

#include "agents/checks/neuron_ls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct neuron_listed devices[NEURON_DEVICES_MAX];
    char *exact = fuzz_text(data, size);
    size_t count = neuron_ls_parse(exact, size, devices);
    free(exact);
    REQUIRE(count <= NEURON_DEVICES_MAX);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(devices[i].number >= 0 && devices[i].logical >= -1 && devices[i].logical <= 64);
        REQUIRE(devices[i].cores >= devices[i].logical && devices[i].cores <= 64 * 64);
        for (size_t k = 0; k < i; k++)
            REQUIRE(devices[i].number != devices[k].number);
    }
    return 0;
}
