/*
 * The reset of one GPU on this instance, by nvidia-smi, and by a runner (agents/node/runner.h).
 *
 *     <state-dir>/reset/  state     agents/node/work.h
 *                         output    of the last nvidia-smi
 *
 * That it begins is on disk before it begins, and what came of it before it is said. A runner that finds that another one began
 * and did not end says so and resets nothing: whether it was done is then not known, and it is never done twice.
 *
 * Who has the GPU open is waited for, and before each further try the server is asked whether it is still wanted: the node may be a
 * job's again by then.
 */
#ifndef HOLDFAST_AGENTS_NODE_RESET_H
#define HOLDFAST_AGENTS_NODE_RESET_H

#include "agents/node/work.h"
#include "model/reset.h"

#include <stdbool.h>
#include <stdint.h>

#define RESET_OUTPUT_BYTES_MAX (64 * 1024)

/* Whether this machine has what resets a GPU. */
bool reset_is_offered(const char *path);
/* The device as nvidia-smi -i takes it: a UUID as it is, an address on the bus with its function. INVALID: neither. */
int reset_device(const char *device, char ret_name[DEVICE_MAX_BYTES + 2]);
/* The one line of what nvidia-smi wrote that says most: the last one that has text. */
void reset_last_line(const char *output, size_t len, char *ret_line, size_t size);

#endif
