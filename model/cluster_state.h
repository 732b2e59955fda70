/*
 * The life of a cluster and of its instance groups, and of a rolling software update. The words are those of HyperPod's
 * ClusterStatus, InstanceGroupStatus and SoftwareUpdateStatus (botocore 2017-07-24), in our spelling.
 *
 * Cluster:
 *
 *      CREATING ──► IN_SERVICE ◄──► UPDATING ──► ROLLING_BACK ──► IN_SERVICE (as it was before)
 *         │             ▲ │
 *         │             │ └──────► SYSTEM_UPDATING (a software update rolls) ──► IN_SERVICE
 *         └──► ROLLING_BACK ──► FAILED (nothing of it is left running; failure says why)
 *
 *      any of them ──► DELETING
 *
 * Group:
 *
 *      CREATING ──► IN_SERVICE ◄──► UPDATING, SYSTEM_UPDATING
 *         │             ▲ │              │
 *         ▼             │ ▼              ▼
 *      FAILED        DEGRADED      IN_SERVICE or FAILED
 *
 *      any of them ──► DELETING ──► UPDATING (the update that deleted it is taken back, before any of it went)
 *
 * A group that is in service before its cluster is (an empty one is from the start) fails with the cluster's creation.
 *
 * DEGRADED   in service, but some of its nodes could not be provisioned or are being seen to
 *
 * Rollout: PENDING ──► IN_PROGRESS ──► SUCCEEDED, or ROLLING_BACK ──► ROLLED_BACK or FAILED
 */
#ifndef HOLDFAST_MODEL_CLUSTER_STATE_H
#define HOLDFAST_MODEL_CLUSTER_STATE_H

#include "base/enum.h"
#include "base/sm.h"

#define CLUSTER_STATE_LIST(X)             \
    X(CREATING, "creating")               \
    X(IN_SERVICE, "in-service")           \
    X(UPDATING, "updating")               \
    X(ROLLING_BACK, "rolling-back")       \
    X(SYSTEM_UPDATING, "system-updating") \
    X(FAILED, "failed")                   \
    X(DELETING, "deleting")
enum cluster_state {
#define X(SYMBOL, text) CLUSTER_STATE_##SYMBOL,
    CLUSTER_STATE_LIST(X)
#undef X
        CLUSTER_STATE_COUNT
};
ENUM_DECLARE(cluster_state);
extern const struct sm cluster_state_machine;

#define GROUP_STATE_LIST(X)               \
    X(CREATING, "creating")               \
    X(IN_SERVICE, "in-service")           \
    X(UPDATING, "updating")               \
    X(DEGRADED, "degraded")               \
    X(SYSTEM_UPDATING, "system-updating") \
    X(FAILED, "failed")                   \
    X(DELETING, "deleting")
enum group_state {
#define X(SYMBOL, text) GROUP_STATE_##SYMBOL,
    GROUP_STATE_LIST(X)
#undef X
        GROUP_STATE_COUNT
};
ENUM_DECLARE(group_state);
extern const struct sm group_state_machine;

#define ROLLOUT_STATE_LIST(X)       \
    X(PENDING, "pending")           \
    X(IN_PROGRESS, "in-progress")   \
    X(SUCCEEDED, "succeeded")       \
    X(FAILED, "failed")             \
    X(ROLLING_BACK, "rolling-back") \
    X(ROLLED_BACK, "rolled-back")
enum rollout_state {
#define X(SYMBOL, text) ROLLOUT_STATE_##SYMBOL,
    ROLLOUT_STATE_LIST(X)
#undef X
        ROLLOUT_STATE_COUNT
};
ENUM_DECLARE(rollout_state);
extern const struct sm rollout_state_machine;

/* Continuous: nodes come and go one by one, a cluster stays in service meanwhile, and what fails is tried again. All or
 * nothing: a creation or an update is one thing, which succeeds with all of its nodes or is taken back. */
#define PROVISIONING_LIST(X)    \
    X(CONTINUOUS, "continuous") \
    X(ALL_OR_NOTHING, "all-or-nothing")
enum provisioning {
#define X(SYMBOL, text) PROVISIONING_##SYMBOL,
    PROVISIONING_LIST(X)
#undef X
};
ENUM_DECLARE(provisioning);

#endif
