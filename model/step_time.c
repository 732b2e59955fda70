/* The odd ones of a job's nodes, by the median: one slow node moves it least. */
#include "model/step_time.h"

#include "base/own.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define NODES_MIN 3        /* of two nodes nobody knows which is the odd one */
#define SLOWER_PERCENT 120 /* ByteDance MegaScale isolated machines that were about 10 % slower; a fifth is no noise */

static int by_node(const void *left, const void *right)
{
    const struct step_time *a = left, *b = right;
    int order = strcmp(a->node, b->node);
    return order != 0 ? order : (a->ms > b->ms ? -1 : a->ms < b->ms);
}

static int by_time(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

size_t step_times_find_slow(struct step_time *times, size_t count, int64_t *ret_median_ms)
{
    autofree int64_t *slowest = own_calloc(count + 1, sizeof(*slowest));
    size_t nodes = 0, slow = 0;
    qsort(times, count, sizeof(*times), by_node);
    for (size_t i = 0; i < count; i++) {
        times[i].is_slow =
            i == 0 || !text_equal(times[i].node, times[i - 1].node); /* the slowest of its node comes first */
        if (times[i].is_slow)
            slowest[nodes++] = times[i].ms;
    }
    qsort(slowest, nodes, sizeof(*slowest), by_time);
    int64_t median = nodes == 0 ? 0 : slowest[(nodes - 1) / 2];
    for (size_t i = 0; i < count; i++) {
        times[i].is_slow = times[i].is_slow && nodes >= NODES_MIN && times[i].ms * 100 >= median * SLOWER_PERCENT;
        slow += times[i].is_slow;
    }
    *ret_median_ms = median;
    if (slow * 2 < nodes)
        return slow;
    for (size_t i = 0; i < count; i++)
        times[i].is_slow = false;
    return 0;
}
