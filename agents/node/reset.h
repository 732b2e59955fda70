/*
 * The reset of one GPU on this instance, by nvidia-smi (agents/node/single.h).
 *
 * If a runner finds a reset that was started and not finished, it reports that the result is unknown and resets nothing: a device is
 * never reset twice for one order.
 *
 * The runner waits while a process has the GPU open. Before each further try it asks the server whether the order is still
 * wanted, because a job may use the node again.
 */
#ifndef HOLDFAST_AGENTS_NODE_RESET_H
#define HOLDFAST_AGENTS_NODE_RESET_H

#include "agents/node/work.h"
#include "model/reset.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether this machine has nvidia-smi. */
bool reset_is_offered(const char *path);
/* The device as nvidia-smi -i takes it: a UUID as it is, an address on the bus with its function. INVALID: neither. */
int reset_device(const char *device, char ret_name[DEVICE_MAX_BYTES + 2]);

#endif
