/* What the AWS API calls our states: the table whose diagram stands in status.h, cell by cell. */
#include "api/aws/status.h"

#include "base/own.h"

#define RUNNING "Running"
#define FAILURE "Failure"
#define PENDING "Pending"
#define UPDATING "SystemUpdating"
#define CHECKING "DeepHealthCheckInProgress"
#define SHUTTING "ShuttingDown"
#define NOT_FOUND "NotFound"

/* Column 0 is "no instance", then as enum instance_state. */
#define COLUMNS (1 + INSTANCE_STATE_COUNT)

static const char *const instance_status[NODE_STATE_COUNT][COLUMNS] = {
    [NODE_STATE_PENDING] = {PENDING, PENDING, PENDING, PENDING, PENDING, PENDING, PENDING},
    [NODE_STATE_STARTING] = {PENDING, PENDING, PENDING, PENDING, PENDING, PENDING, PENDING},
    [NODE_STATE_VERIFYING] = {PENDING, PENDING, PENDING, PENDING, FAILURE, SHUTTING, PENDING},
    [NODE_STATE_READY] = {FAILURE, PENDING, RUNNING, UPDATING, FAILURE, SHUTTING, FAILURE},
    [NODE_STATE_HELD] = {FAILURE, PENDING, RUNNING, UPDATING, FAILURE, SHUTTING, FAILURE},
    [NODE_STATE_REPAIRING] = {PENDING, PENDING, UPDATING, UPDATING, PENDING, SHUTTING, PENDING},
    [NODE_STATE_FAILED] = {FAILURE, FAILURE, FAILURE, FAILURE, FAILURE, SHUTTING, FAILURE},
    [NODE_STATE_DELETING] = {SHUTTING, SHUTTING, SHUTTING, SHUTTING, SHUTTING, SHUTTING, SHUTTING},
    [NODE_STATE_DELETED] = {NOT_FOUND, NOT_FOUND, NOT_FOUND, NOT_FOUND, NOT_FOUND, NOT_FOUND, NOT_FOUND},
};
_Static_assert(INSTANCE_STATE_LAUNCHING == 0 && INSTANCE_STATE_RUNNING == 1 && INSTANCE_STATE_REBOOTING == 2 &&
                   INSTANCE_STATE_LOST == 3 && INSTANCE_STATE_TERMINATING == 4 && INSTANCE_STATE_TERMINATED == 5 &&
                   INSTANCE_STATE_COUNT == 6,
               "the columns of the table");

const char *aws_cluster_status(enum cluster_state state)
{
    static const char *const words[CLUSTER_STATE_COUNT] = {[CLUSTER_STATE_CREATING] = "Creating",
                                                           [CLUSTER_STATE_IN_SERVICE] = "InService",
                                                           [CLUSTER_STATE_UPDATING] = "Updating",
                                                           [CLUSTER_STATE_ROLLING_BACK] = "RollingBack",
                                                           [CLUSTER_STATE_SYSTEM_UPDATING] = "SystemUpdating",
                                                           [CLUSTER_STATE_FAILED] = "Failed",
                                                           [CLUSTER_STATE_DELETING] = "Deleting"};

    return words[state];
}

static bool is_impaired(const struct cluster_counts *counts)
{
    return counts->by_state[NODE_STATE_FAILED] > 0 || counts->by_health[HEALTH_UNHEALTHY] > 0;
}

const char *aws_group_status(const struct instance_group *group, const struct cluster_counts *counts)
{
    static const char *const words[GROUP_STATE_COUNT] = {[GROUP_STATE_CREATING] = "Creating",
                                                         [GROUP_STATE_IN_SERVICE] = "InService",
                                                         [GROUP_STATE_UPDATING] = "Updating",
                                                         [GROUP_STATE_DEGRADED] = "Degraded",
                                                         [GROUP_STATE_SYSTEM_UPDATING] = "SystemUpdating",
                                                         [GROUP_STATE_FAILED] = "Failed",
                                                         [GROUP_STATE_DELETING] = "Deleting"};

    return words[group->state == GROUP_STATE_IN_SERVICE && is_impaired(counts) ? GROUP_STATE_DEGRADED : group->state];
}

static bool is_over(enum node_state state)
{
    return state == NODE_STATE_FAILED || state == NODE_STATE_DELETING || state == NODE_STATE_DELETED;
}

const char *aws_instance_status(const struct db_node_row *row)
{
    const struct instance *instance = &row->instance;
    enum node_state state = row->node.state;

    if (!is_over(state) && (row->is_tested || (row->is_busy && row->busy_with == OPERATION_KIND_CHECK)))
        return CHECKING;
    if (row->is_busy && !is_over(state) && row->busy_with == OPERATION_KIND_UPDATE)
        return UPDATING;
    return instance_status[state][instance->id == 0 ? 0 : 1 + instance->state];
}

const char *aws_instance_message(const struct node *node)
{
    return node->state == NODE_STATE_READY ? "" : node->reason;
}
