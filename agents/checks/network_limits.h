/*
 * Every number by which the checks of the network judge, with who says so: the counters are in network_limits.c.
 *
 * Marks: [V] verified in the source named, [P] our judgement. All of it is measured between two looks; how large a counter is
 * says nothing (a healthy node of eight H100 has 15 overruns and 14 receive errors behind it).
 */
#ifndef HOLDFAST_AGENTS_CHECKS_NETWORK_LIMITS_H
#define HOLDFAST_AGENTS_CHECKS_NETWORK_LIMITS_H

#include "base/clock.h"
#include "model/agent_settings.h"

#include <stddef.h>
#include <stdint.h>

/* [P] Drivers load, links train, bonds come together; HyperPod's own agent waits 2 min before it counts devices [V]. */
#define NETWORK_BOOT_GRACE_MS (5 * MS_PER_MIN)
/* [P] Longer than a link needs to train, shorter than a job waits for its peer. */
#define NETWORK_DOWN_FOR_MS (30 * MS_PER_S)
/* [P] A driver that is loaded anew takes its devices away for a while. */
#define NETWORK_GONE_FOR_MS (90 * MS_PER_S)
#define NETWORK_SLOW_FOR_MS (60 * MS_PER_S) /* [P] */

struct counter_limit {
    const char *file;  /* below the port's or the interface's directory */
    const char *brief; /* its name in what is remembered */
    const char *code;  /* told when it grows by more than the limit within window_ms */
    enum agent_limit limit;
    int64_t window_ms;
};

#define INFINIBAND_LIMITS 5
#define EFA_LIMITS 8
#define LINK_LIMITS 5
extern const struct counter_limit infiniband_limits[INFINIBAND_LIMITS];
extern const struct counter_limit efa_limits[EFA_LIMITS];
extern const struct counter_limit link_limits[LINK_LIMITS];

/* How many fabric adapters an instance of that type has, with or without "ml." before it; -1: not known. */
int efa_count_of_type(const char *instance_type);

#endif
