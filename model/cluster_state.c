/* The tables of the legal moves of clusters, groups and rollouts; the diagrams are in cluster_state.h. */
#include "model/cluster_state.h"

ENUM_DEFINE(cluster_state, CLUSTER_STATE_LIST)
ENUM_DEFINE(group_state, GROUP_STATE_LIST)
ENUM_DEFINE(rollout_state, ROLLOUT_STATE_LIST)
ENUM_DEFINE(provisioning, PROVISIONING_LIST)

#define TO(SYMBOL) SM_BIT(CLUSTER_STATE_##SYMBOL)
static const struct sm_row cluster_rows[CLUSTER_STATE_COUNT] = {
    [CLUSTER_STATE_CREATING] = {"creating", TO(IN_SERVICE) | TO(ROLLING_BACK) | TO(DELETING)},
    [CLUSTER_STATE_IN_SERVICE] = {"in-service", TO(UPDATING) | TO(SYSTEM_UPDATING) | TO(DELETING)},
    [CLUSTER_STATE_UPDATING] = {"updating", TO(IN_SERVICE) | TO(ROLLING_BACK) | TO(DELETING)},
    [CLUSTER_STATE_ROLLING_BACK] = {"rolling-back", TO(IN_SERVICE) | TO(FAILED) | TO(DELETING)},
    [CLUSTER_STATE_SYSTEM_UPDATING] = {"system-updating", TO(IN_SERVICE) | TO(DELETING)},
    [CLUSTER_STATE_FAILED] = {"failed", TO(DELETING)},
    [CLUSTER_STATE_DELETING] = {"deleting", 0},
};
#undef TO
const struct sm cluster_state_machine = {"cluster", cluster_rows, CLUSTER_STATE_COUNT};

#define TO(SYMBOL) SM_BIT(GROUP_STATE_##SYMBOL)
static const struct sm_row group_rows[GROUP_STATE_COUNT] = {
    [GROUP_STATE_CREATING] = {"creating", TO(IN_SERVICE) | TO(DEGRADED) | TO(FAILED) | TO(DELETING)},
    [GROUP_STATE_IN_SERVICE] = {"in-service",
                                TO(UPDATING) | TO(DEGRADED) | TO(SYSTEM_UPDATING) | TO(FAILED) | TO(DELETING)},
    [GROUP_STATE_UPDATING] = {"updating", TO(IN_SERVICE) | TO(DEGRADED) | TO(FAILED) | TO(DELETING)},
    [GROUP_STATE_DEGRADED] = {"degraded",
                              TO(IN_SERVICE) | TO(UPDATING) | TO(SYSTEM_UPDATING) | TO(FAILED) | TO(DELETING)},
    [GROUP_STATE_SYSTEM_UPDATING] = {"system-updating", TO(IN_SERVICE) | TO(DEGRADED) | TO(FAILED) | TO(DELETING)},
    [GROUP_STATE_FAILED] = {"failed", TO(UPDATING) | TO(DELETING)},
    [GROUP_STATE_DELETING] = {"deleting", TO(UPDATING)},
};
#undef TO
const struct sm group_state_machine = {"group", group_rows, GROUP_STATE_COUNT};

#define TO(SYMBOL) SM_BIT(ROLLOUT_STATE_##SYMBOL)
static const struct sm_row rollout_rows[ROLLOUT_STATE_COUNT] = {
    [ROLLOUT_STATE_PENDING] = {"pending", TO(IN_PROGRESS) | TO(SUCCEEDED) | TO(FAILED)},
    [ROLLOUT_STATE_IN_PROGRESS] = {"in-progress", TO(SUCCEEDED) | TO(FAILED) | TO(ROLLING_BACK)},
    [ROLLOUT_STATE_SUCCEEDED] = {"succeeded", 0},
    [ROLLOUT_STATE_FAILED] = {"failed", 0},
    [ROLLOUT_STATE_ROLLING_BACK] = {"rolling-back", TO(ROLLED_BACK) | TO(FAILED)},
    [ROLLOUT_STATE_ROLLED_BACK] = {"rolled-back", 0},
};
#undef TO
const struct sm rollout_state_machine = {"rollout", rollout_rows, ROLLOUT_STATE_COUNT};
