/* What `nvidia-smi nvlink --status` says: how many NVLinks of each GPU are up. Pure. */
#ifndef HOLDFAST_AGENTS_CHECKS_NVIDIA_LINKS_H
#define HOLDFAST_AGENTS_CHECKS_NVIDIA_LINKS_H

#include "agents/checks/nvidia_smi.h"

struct nvidia_links {
    char uuid[NVIDIA_TEXT_BYTES_MAX];
    int up;        /* -1: it does not say: no NVLink, MIG, an error */
    char down[64]; /* their numbers as far as there is room, "3, 5"; "" */
};

/* Returns how many GPUs it has filled in, at most NVIDIA_GPUS_MAX. Lines that it does not know say nothing. */
size_t nvidia_links_parse(const char *data, size_t len, struct nvidia_links ret_links[NVIDIA_GPUS_MAX]);

#endif
