/* Who is asked for the facts of nvidia_facts.h: NVML, and where that has no ordinary answer, nvidia-smi. */
#ifndef HOLDFAST_AGENTS_CHECKS_NVIDIA_ASK_H
#define HOLDFAST_AGENTS_CHECKS_NVIDIA_ASK_H

#include "agents/checks/check.h"
#include "agents/checks/nvml.h"

/* NULL when there is no answer; then that has been said. is_expected: there should be GPUs. Caller frees. */
struct nvidia_facts *nvidia_ask(const struct check_context *context, struct check_out *out, bool is_expected);

#endif
