/*
 * NVIDIA's management library, loaded where it is: the facts of nvidia_facts.h without a program that prints them.
 *
 * It is asked in the process at hand, which it may hold for ever or bring down: call it in one that can be spared.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_NVML_H
#define HOLDFAST_AGENTS_CHECKS_NVML_H

#include "agents/checks/nvidia_facts.h"

#define NVML_LIBRARY "libnvidia-ml.so.1"

struct nvidia_facts {
    struct nvidia_report report;
    struct nvidia_links links[NVIDIA_GPUS_MAX]; /* of report.gpus, in their order */
};

/* library: a path, or NVML_LIBRARY to have it looked for as the system does. NOT_FOUND when it is not there, or lacks what no
 * version lacks; then *ret_answer is as it was. Otherwise it is filled, whatever NVML said. */
int nvml_ask(const char *library, struct nvidia_facts *ret_answer);

#endif
