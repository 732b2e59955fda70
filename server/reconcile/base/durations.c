/* Each duration is in one bucket; the reader adds them up. */
#include "server/reconcile/base/durations.h"

#include "base/own.h"

void durations_add(struct durations *durations, int64_t ms)
{
    static const int64_t bounds_s[] = DURATION_BOUNDS_S;
    _Static_assert(ARRAY_LEN(bounds_s) + 1 == DURATION_BUCKETS, "one bucket more than bounds");
    size_t bucket = 0;
    ms = ms < 0 ? 0 : ms;
    while (bucket < ARRAY_LEN(bounds_s) && ms > bounds_s[bucket] * 1000)
        bucket++;
    durations->count[bucket]++;
    durations->sum_ms += (uint64_t)ms;
}
