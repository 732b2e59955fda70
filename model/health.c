/* Texts of the health words. */
#include "model/health.h"

ENUM_DEFINE(severity, SEVERITY_LIST)
ENUM_DEFINE(health, HEALTH_LIST)
ENUM_DEFINE(action_class, ACTION_CLASS_LIST)
ENUM_DEFINE(fault_class, FAULT_CLASS_LIST)
ENUM_DEFINE(repair_mode, REPAIR_MODE_LIST)
ENUM_DEFINE(approval_state, APPROVAL_STATE_LIST)
ENUM_DEFINE(action, ACTION_LIST)
ENUM_DEFINE(urgency, URGENCY_LIST)
ENUM_DEFINE(node_recovery, NODE_RECOVERY_LIST)

bool action_is_repair(enum action action)
{
    return action == ACTION_RESET || action == ACTION_REBOOT || action == ACTION_REPLACE;
}
