/* The table of the node's legal moves; the diagram is in node_state.h. */
#include "model/node_state.h"

ENUM_DEFINE(node_state, NODE_STATE_LIST)

#define TO(SYMBOL) SM_BIT(NODE_STATE_##SYMBOL)

static const struct sm_row rows[NODE_STATE_COUNT] = {
    [NODE_STATE_PENDING] = {"pending", TO(STARTING) | TO(DELETING)},
    [NODE_STATE_STARTING] = {"starting", TO(VERIFYING) | TO(FAILED) | TO(PENDING) | TO(DELETING)},
    [NODE_STATE_VERIFYING] = {"verifying", TO(READY) | TO(HELD) | TO(REPAIRING) | TO(FAILED) | TO(DELETING)},
    [NODE_STATE_READY] = {"ready", TO(VERIFYING) | TO(HELD) | TO(REPAIRING) | TO(DELETING)},
    [NODE_STATE_HELD] = {"held", TO(READY) | TO(VERIFYING) | TO(REPAIRING) | TO(FAILED) | TO(DELETING)},
    [NODE_STATE_REPAIRING] = {"repairing", TO(STARTING) | TO(VERIFYING) | TO(HELD) | TO(FAILED) | TO(DELETING)},
    [NODE_STATE_FAILED] = {"failed", TO(VERIFYING) | TO(REPAIRING) | TO(PENDING) | TO(DELETING)},
    [NODE_STATE_DELETING] = {"deleting", TO(DELETED)},
    [NODE_STATE_DELETED] = {"deleted", 0},
};

const struct sm node_state_machine = {"node", rows, NODE_STATE_COUNT};
