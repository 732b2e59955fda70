/* How long faults, operations and their steps took, and how repairs turned out: counts since the start of hpd. Cheap to copy. */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_DURATIONS_H
#define HOLDFAST_SERVER_RECONCILE_BASE_DURATIONS_H

#include "model/operation_state.h"

#include <stdint.h>

/* Upper bounds in s: from a warm spare's seconds to the hours that a drain may wait. */
#define DURATION_BOUNDS_S                                                     \
    {                                                                         \
        1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400 \
    }
#define DURATION_BUCKETS 16 /* the last: longer than all */

struct durations {
    uint64_t count[DURATION_BUCKETS]; /* each in one bucket only */
    uint64_t sum_ms;
};

/* A negative duration counts as 0. */
void durations_add(struct durations *durations, int64_t ms);

struct operation_durations {
    struct durations operations[OPERATION_KIND_COUNT]; /* stored to succeeded */
    struct durations steps[STEP_KIND_COUNT];           /* begun to done */
    uint64_t ended[OPERATION_KIND_COUNT][OPERATION_STATE_COUNT];
    struct durations to_service[OPERATION_KIND_COUNT]; /* a fault first seen to its node back in service */
    /* Of the policy's repairs: begun; begun on a node that one had given back within repeatWindow. */
    uint64_t begun[OPERATION_KIND_COUNT], repeated[OPERATION_KIND_COUNT];
    uint64_t refused; /* that a person rejected or cancelled */
};

#endif
