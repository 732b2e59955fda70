/*
 * What `nvidia-smi -q -x` says, of every driver from the ECC counters of Volta to those of Blackwell.
 *
 * Pure: bytes in, a report out. A value is a number, or NAN where there is none: no such element in this version, "N/A",
 * "Requested functionality has been deprecated", "Insufficient Permissions". Where the driver could not answer it prints
 * NVML's words in the value's place (nvmlErrorString): "GPU is lost", "GPU requires reset", "Unknown Error"; the table
 * view says ERR!. These are told apart, because a value that is not there is no fault and one that cannot be read may be.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_NVIDIA_SMI_H
#define HOLDFAST_AGENTS_CHECKS_NVIDIA_SMI_H

#include "agents/checks/nvidia_facts.h"

#define NVIDIA_SMI_BYTES_MAX (32 << 20) /* 180 kB of a large GPU, most of it clocks; 64 of them and room */
/* data: all that came, the messages around the document too; no zero needed. Always fills *ret_report, which is large. */
void nvidia_smi_parse(const char *data, size_t len, struct nvidia_report *ret_report);

#endif
