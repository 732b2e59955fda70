/*
 * The life of a node: a stable slot, named as Slurm names it, that instances fill.
 *
 *      PENDING ──► STARTING ──► VERIFYING ──► READY ◄──────┐
 *                     ▲             │ ▲         │          │
 *                     │             │ │         ▼          │
 *                     │             │ │       HELD ────────┤ (a gate opened, or a person gave it back)
 *                     │             ▼ │         │          │
 *                     └──────── REPAIRING ◄─────┘     VERIFYING
 *                                   │
 *                                   ▼
 *                                FAILED ──► a person: REPAIRING or VERIFYING
 *
 *      any of them ──► DELETING ──► DELETED
 *
 * PENDING    a slot without an instance
 * STARTING   an instance was asked for and has not yet reported
 * VERIFYING  the return gate: alive, but not yet proven; not schedulable
 * READY      in service
 * HELD       taken out of scheduling; nothing is done to it until a gate opens or a person acts
 * REPAIRING  an operation is at work on it
 * FAILED     a repair gave up; a person is needed
 */
#ifndef HOLDFAST_MODEL_NODE_STATE_H
#define HOLDFAST_MODEL_NODE_STATE_H

#include "base/enum.h"
#include "base/sm.h"

#define NODE_STATE_LIST(X)    \
    X(PENDING, "pending")     \
    X(STARTING, "starting")   \
    X(VERIFYING, "verifying") \
    X(READY, "ready")         \
    X(HELD, "held")           \
    X(REPAIRING, "repairing") \
    X(FAILED, "failed")       \
    X(DELETING, "deleting")   \
    X(DELETED, "deleted")
enum node_state {
#define X(SYMBOL, text) NODE_STATE_##SYMBOL,
    NODE_STATE_LIST(X)
#undef X
        NODE_STATE_COUNT
};
ENUM_DECLARE(node_state);

extern const struct sm node_state_machine;

#endif
