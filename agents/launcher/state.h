/*
 * The states of the agent, as HyperPod's operator reads them.
 *
 *     INIT ──► READY ──► RUNNING ──► COMPLETED
 *                ▲          │  └────► FAULTED
 *                │          ▼            │
 *                └────── STOPPING ◄──────┘   also from COMPLETED; and SHUTDOWN follows all but STOPPING
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_STATE_H
#define HOLDFAST_AGENTS_LAUNCHER_STATE_H

#include "base/sm.h"

#include <stdint.h>

#define AGENT_STATE_LIST(X)                                                                                       \
    X(INIT, SM_BIT(AGENT_READY) | SM_BIT(AGENT_SHUTDOWN))                                                         \
    X(READY, SM_BIT(AGENT_RUNNING) | SM_BIT(AGENT_SHUTDOWN))                                                      \
    X(RUNNING, SM_BIT(AGENT_COMPLETED) | SM_BIT(AGENT_FAULTED) | SM_BIT(AGENT_STOPPING) | SM_BIT(AGENT_SHUTDOWN)) \
    X(COMPLETED, SM_BIT(AGENT_STOPPING) | SM_BIT(AGENT_SHUTDOWN))                                                 \
    X(FAULTED, SM_BIT(AGENT_STOPPING) | SM_BIT(AGENT_SHUTDOWN))                                                   \
    X(STOPPING, SM_BIT(AGENT_READY) | SM_BIT(AGENT_SHUTDOWN))                                                     \
    X(SHUTDOWN, 0)

enum agent_state {
#define AGENT_STATE_ENUM(name, next) AGENT_##name,
    AGENT_STATE_LIST(AGENT_STATE_ENUM)
#undef AGENT_STATE_ENUM
};
#define AGENT_STATES 7

extern const struct sm agent_states;

#endif
