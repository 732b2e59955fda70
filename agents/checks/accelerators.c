/*
 * The table. A wrong row would cost nodes, so a type is left out rather than guessed, and so are those with a part of a GPU
 * (g6f): for a type that is not here the most that was ever seen counts.
 *
 * [V] p4d, p4de, p5, p5e, p5en, p6-b200: the health checks of awsome-distributed-training. [V] trn1, trn1n: AWS's Neuron
 * guide, "Trn1 architecture". [O] p5.4xlarge, p6-b300, p6e-gb200, trn2.3xlarge: tables of people who run them.
 * [R] the others: the pages of EC2's accelerated instance types.
 */
#include "agents/checks/accelerators.h"

#include "base/own.h"
#include "base/text.h"

#include <string.h>

#define GPU(type, count)  \
    {                     \
        type, count, 0, 0 \
    }
#define NEURON(type, devices, cores) \
    {                                \
        type, 0, devices, cores      \
    }

static const struct accelerators table[] = {
    GPU("p3.2xlarge", 1),
    GPU("p3.8xlarge", 4),
    GPU("p3.16xlarge", 8),
    GPU("p3dn.24xlarge", 8),
    GPU("p4d.24xlarge", 8),
    GPU("p4de.24xlarge", 8),
    GPU("p5.4xlarge", 1),
    GPU("p5.48xlarge", 8),
    GPU("p5e.48xlarge", 8),
    GPU("p5en.48xlarge", 8),
    GPU("p6-b200.48xlarge", 8),
    GPU("p6-b300.48xlarge", 8),
    GPU("p6e-gb200.36xlarge", 4),
    GPU("g4dn.xlarge", 1),
    GPU("g4dn.2xlarge", 1),
    GPU("g4dn.4xlarge", 1),
    GPU("g4dn.8xlarge", 1),
    GPU("g4dn.16xlarge", 1),
    GPU("g4dn.12xlarge", 4),
    GPU("g4dn.metal", 8),
    GPU("g5.xlarge", 1),
    GPU("g5.2xlarge", 1),
    GPU("g5.4xlarge", 1),
    GPU("g5.8xlarge", 1),
    GPU("g5.16xlarge", 1),
    GPU("g5.12xlarge", 4),
    GPU("g5.24xlarge", 4),
    GPU("g5.48xlarge", 8),
    GPU("g6.xlarge", 1),
    GPU("g6.2xlarge", 1),
    GPU("g6.4xlarge", 1),
    GPU("g6.8xlarge", 1),
    GPU("g6.16xlarge", 1),
    GPU("g6.12xlarge", 4),
    GPU("g6.24xlarge", 4),
    GPU("g6.48xlarge", 8),
    GPU("gr6.4xlarge", 1),
    GPU("gr6.8xlarge", 1),
    GPU("g6e.xlarge", 1),
    GPU("g6e.2xlarge", 1),
    GPU("g6e.4xlarge", 1),
    GPU("g6e.8xlarge", 1),
    GPU("g6e.16xlarge", 1),
    GPU("g6e.12xlarge", 4),
    GPU("g6e.24xlarge", 4),
    GPU("g6e.48xlarge", 8),
    NEURON("inf1.xlarge", 1, 4),
    NEURON("inf1.2xlarge", 1, 4),
    NEURON("inf1.6xlarge", 4, 4),
    NEURON("inf1.24xlarge", 16, 4),
    NEURON("inf2.xlarge", 1, 2),
    NEURON("inf2.8xlarge", 1, 2),
    NEURON("inf2.24xlarge", 6, 2),
    NEURON("inf2.48xlarge", 12, 2),
    NEURON("trn1.2xlarge", 1, 2),
    NEURON("trn1.32xlarge", 16, 2),
    NEURON("trn1n.32xlarge", 16, 2),
    NEURON("trn2.3xlarge", 1, 8),
    NEURON("trn2.48xlarge", 16, 8),
    NEURON("trn2u.48xlarge", 16, 8),
};

const struct accelerators *accelerators_find(const char *instance_type)
{
    static const char sagemaker[] = "ml.";
    if (text_starts_with(instance_type, sagemaker))
        instance_type += sizeof(sagemaker) - 1;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strcmp(table[i].instance_type, instance_type) == 0)
            return &table[i];
    return NULL;
}
