/* The ECC counters in what neuron-monitor prints: one JSON object a line. Pure. */
#ifndef HOLDFAST_AGENTS_CHECKS_NEURON_MONITOR_H
#define HOLDFAST_AGENTS_CHECKS_NEURON_MONITOR_H

#include <stddef.h>
#include <stdint.h>

#define NEURON_DEVICES_MAX 64

/* -1: it does not say. */
struct neuron_ecc {
    int64_t device; /* its number */
    int64_t memory_uncorrected, memory_corrected, sram_uncorrected, sram_corrected;
};

/* Of the last whole line that has them. Returns for how many devices. */
size_t neuron_monitor_parse(const char *data, size_t len, struct neuron_ecc ret_devices[NEURON_DEVICES_MAX]);

#endif
