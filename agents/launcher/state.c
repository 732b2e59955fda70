/* The table of the agent's states. HyperPod's agent logs a move that is not in it; ours refuses the request. */
#include "agents/launcher/state.h"

static const struct sm_row rows[] = {
#define AGENT_STATE_ROW(name, next) {#name, (next)},
    AGENT_STATE_LIST(AGENT_STATE_ROW)
#undef AGENT_STATE_ROW
};
_Static_assert(sizeof(rows) / sizeof(rows[0]) == AGENT_STATES, "the count stands in the header");

const struct sm agent_states = {"agent", rows, AGENT_STATES};
