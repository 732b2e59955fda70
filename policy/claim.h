/*
 * May this node be acted on now? Asked here by everything that begins on a node: the gates of a repair, returns to
 * service, holds, tests in the background, launches that are tried again, software updates.
 */
#ifndef HOLDFAST_POLICY_CLAIM_H
#define HOLDFAST_POLICY_CLAIM_H

#include <stdbool.h>

/* What is done, and which claims on the node stand in its way. What a person asked for of the whole cluster, an update, is no
 * act by itself, so a pause does not stop it, nor does a maintenance, which is when updates are made. A hold in the scheduler does not stop ours from being written beside it, nor a
 * launch into an empty slot. */
#define POLICY_ACT_LIST(X)                                              \
    /* name, opted out, paused, external drain, at work, maintenance */ \
    X(REPAIR, true, true, true, true, true)                             \
    X(RETURN, true, true, true, true, true)                             \
    X(TEST, true, true, true, true, true)                               \
    X(HOLD, true, true, false, true, false)                             \
    X(LAUNCH, true, true, false, true, false)                           \
    X(UPDATE, true, false, true, true, false)
enum policy_act {
#define X(name, opted_out, paused, external_drain, at_work, maintenance) POLICY_ACT_##name,
    POLICY_ACT_LIST(X)
#undef X
};

/* Why not, the first that holds. */
enum policy_claim {
    POLICY_CLAIM_NONE,           /* it may */
    POLICY_CLAIM_OPTED_OUT,      /* a person took the node out of automatic repair */
    POLICY_CLAIM_PAUSED,         /* a person paused its cluster */
    POLICY_CLAIM_EXTERNAL_DRAIN, /* somebody else holds it in the scheduler */
    POLICY_CLAIM_AT_WORK,        /* an operation is under way */
    POLICY_CLAIM_MAINTENANCE,    /* the scheduler has it in a maintenance: people work on it */
};

struct policy_claims {
    bool opted_out, paused, external_drain, at_work, maintenance;
};

enum policy_claim policy_claim(enum policy_act act, const struct policy_claims *claims);

#endif
