/*
 * Which method reboots a machine next, from what was tried: a pure table. Every method of the group's order gets its turn; then those are
 * tried again of which it is not known that they cannot work.
 */
#ifndef HOLDFAST_POLICY_REBOOT_H
#define HOLDFAST_POLICY_REBOOT_H

#include "model/reboot.h"

struct policy_reboot {
    bool found; /* false: nothing is left to try */
    enum reboot_method method;
    int64_t at; /* not before then */
};

/* None of the tries may be running. */
struct policy_reboot policy_reboot_next(const struct reboot_order *order, const struct reboot_try *tries, int count);
/* What is waited for no longer: the try's outcome if it ends now without another boot. last_heard_at: of the agent, with the old boot;
 * stuck_ms: a machine that is heard for so long after it accepted does not go down. RUNNING: it is waited for. */
enum reboot_outcome policy_reboot_judge(const struct reboot_try *one, int64_t now_ms, int64_t last_heard_at,
                                        int64_t stuck_ms);

#endif
