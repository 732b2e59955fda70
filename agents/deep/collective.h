/* What all_reduce_perf of nccl-tests and nccom-test print: a table of sizes with their bandwidths, and a sum of it. Pure. */
#ifndef HOLDFAST_AGENTS_DEEP_COLLECTIVE_H
#define HOLDFAST_AGENTS_DEEP_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>

struct collective_report {
    int rows;                    /* 0: it never came to the first */
    double max_algbw, max_busbw; /* GB/s, over all sizes, in place or not */
    double avg_busbw;            /* as it is printed; 0: it is not */
    bool wrong;                  /* values came out wrong, or the tool says that it failed */
};
/* Lines may begin with who wrote them, "[1,0]<stdout>:" or "0:". Passes over whatever it does not know. */
void collective_read(const char *output, size_t len, struct collective_report *ret_report);

#endif
