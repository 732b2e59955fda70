/* Limits of measurements for an instance type: from the order, or from the agent's table. Pure. */
#ifndef HOLDFAST_AGENTS_DEEP_LIMITS_H
#define HOLDFAST_AGENTS_DEEP_LIMITS_H

#include "model/deep.h"

#define MEASURE_GPUS "GPUs"
#define MEASURE_GPUS_ON_BUS "GPUs on PCI"
#define MEASURE_NVLINKS "NVLinks"
#define MEASURE_NEURON "Neuron devices"
#define MEASURE_EFA "EFA adapters"
#define MEASURE_INFINIBAND "InfiniBand devices"
#define MEASURE_EFA_SPEED "EFA MB/s"
#define MEASURE_EFA_LATENCY "EFA latency us"
#define MEASURE_NCCL "NCCL busbw GB/s"
#define MEASURE_NCCOM "NCCOM busbw GB/s"
#define MEASURE_NEURON_ERRORS "Neuron errors"
#define MEASURE_NCCOM_LOCAL "NCCOM local busbw GB/s"
#define MEASURE_PAIR_SPEED "pair MB/s"

/* False: no limit; the measurement is only reported. */
bool limits_find(const struct deep_job *job, const char *measure, struct deep_limit *ret_limit);
#endif
