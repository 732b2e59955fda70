/*
 * The life of an instance: the machine that fills a node's slot for a while.
 *
 *      LAUNCHING ──► RUNNING ◄──► REBOOTING
 *          │            │             │
 *          ├────────────┴─────────────┤
 *          ▼                          ▼
 *        LOST ───────────────► TERMINATING ──► TERMINATED
 *
 * LOST: the provider no longer knows it. What is lost is never counted as terminated by us.
 */
#ifndef HOLDFAST_MODEL_INSTANCE_STATE_H
#define HOLDFAST_MODEL_INSTANCE_STATE_H

#include "base/enum.h"
#include "base/sm.h"

#define INSTANCE_STATE_LIST(X)    \
    X(LAUNCHING, "launching")     \
    X(RUNNING, "running")         \
    X(REBOOTING, "rebooting")     \
    X(LOST, "lost")               \
    X(TERMINATING, "terminating") \
    X(TERMINATED, "terminated")
enum instance_state {
#define X(SYMBOL, text) INSTANCE_STATE_##SYMBOL,
    INSTANCE_STATE_LIST(X)
#undef X
        INSTANCE_STATE_COUNT
};
ENUM_DECLARE(instance_state);

extern const struct sm instance_state_machine;

#endif
