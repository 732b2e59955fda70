/* neuron-monitor's lines: numbers that a device may have, for no more devices than there can be. */
// ROOMS: base model agents policy
#include "tests/fuzz/fuzz.h"

#include "agents/checks/neuron_monitor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct neuron_ecc ecc[NEURON_DEVICES_MAX];
    char *exact = fuzz_text(data, size);
    size_t count = neuron_monitor_parse(exact, size, ecc);
    free(exact);
    REQUIRE(count <= NEURON_DEVICES_MAX);
    for (size_t i = 0; i < count; i++)
        REQUIRE(ecc[i].device >= 0 && ecc[i].memory_uncorrected >= -1 && ecc[i].memory_corrected >= -1 &&
                ecc[i].sram_uncorrected >= -1 && ecc[i].sram_corrected >= -1);
    return 0;
}
