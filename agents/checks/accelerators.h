/*
 * How many accelerators a type of instance has, for those of AWS; an operator's own types are not in it.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_ACCELERATORS_H
#define HOLDFAST_AGENTS_CHECKS_ACCELERATORS_H

struct accelerators {
    const char *instance_type;
    int gpus;           /* of NVIDIA */
    int neuron_devices; /* Inferentia, Trainium */
    int neuron_cores;   /* of each of these, as they were built; may be used two as one from Trainium 2 on */
};

/* "p5.48xlarge", and "ml.p5.48xlarge" as SageMaker writes it; NULL for a type that is not known. Static. */
const struct accelerators *accelerators_find(const char *instance_type);

#endif
