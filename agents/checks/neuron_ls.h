/*
 * What `neuron-ls --json-output` prints: an array of devices (Neuron 2.x; a Trainium 1, a Trainium 2 and an Inferentia 2 were seen):
 *
 *     [{"neuron_device": 0, "bdf": "0000:00:1e.0", "nc_count": 2, "memory_size": 34359738368, "neuroncore_ids": [0, 1], …}]
 *
 * From Trainium 2 on "logical_neuroncore_config" says how many cores are used as one, and "nc_count" counts those. Pure.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_NEURON_LS_H
#define HOLDFAST_AGENTS_CHECKS_NEURON_LS_H

#include "agents/checks/neuron_monitor.h"

#define NEURON_LS_BYTES_MAX (1 << 20)

struct neuron_listed {
    int64_t number;
    int64_t cores;   /* as they were built; -1: it does not say */
    int64_t logical; /* as programs see them; -1 */
};

/* Of what is no such array nothing. Returns how many; a device that is listed twice counts once. */
size_t neuron_ls_parse(const char *data, size_t len, struct neuron_listed ret_devices[NEURON_DEVICES_MAX]);

#endif
