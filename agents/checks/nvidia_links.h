/* What `nvidia-smi nvlink --status` says: how many NVLinks of each GPU are up. Pure. */
#ifndef HOLDFAST_AGENTS_CHECKS_NVIDIA_LINKS_H
#define HOLDFAST_AGENTS_CHECKS_NVIDIA_LINKS_H

#include "agents/checks/nvidia_facts.h"

/* Returns how many GPUs it has filled in, at most NVIDIA_GPUS_MAX. Lines that it does not know say nothing. */
size_t nvidia_links_parse(const char *data, size_t len, struct nvidia_links ret_links[NVIDIA_GPUS_MAX]);

#endif
