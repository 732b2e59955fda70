/*
 * The tree of the Neuron driver below /sys: its devices, their cores, and what they have counted.
 *
 * Counters are found by their names, wherever in a device's tree they stand: the driver has moved them between its
 * versions (2.8, 2.31: its release notes and its guide of sysfs), and only renamed few. A counter is a file, or a directory
 * with the file "total". Those of a device's cores are added up.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_NEURON_TREE_H
#define HOLDFAST_AGENTS_CHECKS_NEURON_TREE_H

#include "agents/checks/check.h"
#include "agents/checks/neuron_monitor.h"

#define NEURON_NUMBER_MAX 4095
#define NEURON_TREE "/sys/devices/virtual/neuron_device"

/* What is counted, under which code it is told, and its metric. */
/* clang-format off */
#define NEURON_COUNTERS(X)                                                                                          \
    X(MEMORY, "neuron.memory.uncorrected", "holdfast_neuron_memory_uncorrected_total", "memory errors not corrected")     \
    X(SRAM, "neuron.sram.uncorrected", "holdfast_neuron_sram_uncorrected_total", "SRAM errors not corrected")             \
    X(MEMORY_CORRECTED, "neuron.memory.corrected", "holdfast_neuron_memory_corrected_total", "memory errors corrected")   \
    X(SRAM_CORRECTED, "neuron.sram.corrected", "holdfast_neuron_sram_corrected_total", "SRAM errors corrected")           \
    X(HARDWARE, "neuron.hardware.error", "holdfast_neuron_hardware_errors_total", "executions ended in a hardware error") \
    X(TIMEOUT, "neuron.execution.timeout", "holdfast_neuron_timeouts_total", "executions timed out")
/* clang-format on */
enum neuron_counter {
#define X(SYMBOL, code, metric, words) NEURON_COUNTER_##SYMBOL,
    NEURON_COUNTERS(X)
#undef X
        NEURON_COUNTER_COUNT
};

struct neuron_device {
    char name[DEVICE_MAX_BYTES];          /* "neuron3" */
    int64_t number, cores;                /* cores: -1 where it does not say */
    int64_t counts[NEURON_COUNTER_COUNT]; /* -1: it has none of that name */
};

/* A device of which nothing is known but its number. */
struct neuron_device neuron_device_new(int64_t number);
/* Returns how many there are; -1: no driver has made any. */
int neuron_tree_read(const struct check_context *context, struct neuron_device ret_devices[NEURON_DEVICES_MAX]);
/* path (NULL: $PATH), and where Amazon's packages put their tools. Caller frees. */
char *neuron_path(const char *path);

#endif
