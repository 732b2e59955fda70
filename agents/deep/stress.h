/* Parses the output of stress-ng (0.15 and similar versions): metrics and errors. Pure. */
#ifndef HOLDFAST_AGENTS_DEEP_STRESS_H
#define HOLDFAST_AGENTS_DEEP_STRESS_H

#include "model/deep.h"

#include <stddef.h>

#define STRESS_METRICS_MAX 8
#define STRESS_NAME_MAX 24

struct stress_report {
    struct {
        char stressor[STRESS_NAME_MAX];
        char rate[24]; /* bogo operations a second of real time, as it is written */
    } metrics[STRESS_METRICS_MAX];
    size_t metric_count;
    char complaint[SENTENCE_MAX_BYTES]; /* its first line of failure; "": none */
};
/* Passes over whatever it does not know. */
void stress_read(const char *output, size_t len, struct stress_report *ret_report);

#endif
