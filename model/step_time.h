/* What the ranks of a job need for a step, and which of their nodes slow it down. */
#ifndef HOLDFAST_MODEL_STEP_TIME_H
#define HOLDFAST_MODEL_STEP_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one rank's own work, without what it waits for others. */
struct step_time {
    const char *node;
    int64_t ms;   /* more than 0 */
    bool is_slow; /* filled in, of the slowest rank of a node */
};
/* A node that is as slow as its slowest rank, and a fifth above the median of the nodes, slows the job down. Fewer than three nodes say nothing,
 * and of half of them and more it is the job's. Returns how many there are. Sorts the times by node. */
size_t step_times_find_slow(struct step_time *times, size_t count, int64_t *ret_median_ms);

#endif
