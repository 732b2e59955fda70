/* The table of the instance's legal moves; the diagram is in instance_state.h. */
#include "model/instance_state.h"

ENUM_DEFINE(instance_state, INSTANCE_STATE_LIST)

#define TO(SYMBOL) SM_BIT(INSTANCE_STATE_##SYMBOL)

static const struct sm_row rows[INSTANCE_STATE_COUNT] = {
    [INSTANCE_STATE_LAUNCHING] = {"launching", TO(RUNNING) | TO(LOST) | TO(TERMINATING)},
    [INSTANCE_STATE_RUNNING] = {"running", TO(REBOOTING) | TO(LOST) | TO(TERMINATING)},
    [INSTANCE_STATE_REBOOTING] = {"rebooting", TO(RUNNING) | TO(LOST) | TO(TERMINATING)},
    [INSTANCE_STATE_LOST] = {"lost", TO(RUNNING) | TO(TERMINATING) | TO(TERMINATED)},
    [INSTANCE_STATE_TERMINATING] = {"terminating", TO(TERMINATED)},
    [INSTANCE_STATE_TERMINATED] = {"terminated", 0},
};

const struct sm instance_state_machine = {"instance", rows, INSTANCE_STATE_COUNT};
