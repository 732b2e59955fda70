/* Several Prometheus texts as one: each says the same metrics of another scheduler. */
#ifndef HOLDFAST_SERVER_METRICS_MERGE_H
#define HOLDFAST_SERVER_METRICS_MERGE_H

#include "base/text.h"

struct metrics_part {
    const char *scheduler; /* the value of the label that its samples get */
    const char *text;      /* families, each with # HELP, # TYPE and samples */
};

/* Adds all samples with the label scheduler, each family once: a scraper throws away a text that has one twice. */
void metrics_merge(struct text *t, const struct metrics_part *parts, size_t count);

#endif
