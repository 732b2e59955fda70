/*
 * Health words: how bad a verdict is, what a node's health is, what a fault asks for,
 * and the recovery mode of a cluster.
 */
#ifndef HOLDFAST_MODEL_HEALTH_H
#define HOLDFAST_MODEL_HEALTH_H

#include "base/enum.h"

/* NVIDIA Health Validation's split of "bad" and "could not tell" (facts: peers 1.3). */
#define SEVERITY_LIST(X)    \
    X(OK, "ok")             \
    X(WARN, "warn")         \
    X(CRITICAL, "critical") \
    X(UNKNOWN, "unknown")
enum severity {
#define X(SYMBOL, text) SEVERITY_##SYMBOL,
    SEVERITY_LIST(X)
#undef X
};
ENUM_DECLARE(severity);

/* UNKNOWN is "no verdict": nobody has looked lately. It is never shown as healthy. */
#define HEALTH_LIST(X)      \
    X(UNKNOWN, "unknown")   \
    X(HEALTHY, "healthy")   \
    X(DEGRADED, "degraded") \
    X(UNHEALTHY, "unhealthy")
enum health {
#define X(SYMBOL, text) HEALTH_##SYMBOL,
    HEALTH_LIST(X)
#undef X
};
ENUM_DECLARE(health);

/* What a fault code asks for by the table, before history and limits are looked at. */
#define ACTION_CLASS_LIST(X)                                                \
    X(IGNORE, "ignore") /* nothing, or only explains another code */        \
    X(APP, "app")       /* blame the job, never the node */                 \
    X(WATCH, "watch")   /* record and count the rate */                     \
    X(RESET, "reset")   /* GPU reset after drain; falls back to a reboot */ \
    X(REBOOT, "reboot")                                                     \
    X(REPLACE, "replace")                                                   \
    X(SUPPORT, "support") /* a person */
enum action_class {
#define X(SYMBOL, text) ACTION_CLASS_##SYMBOL,
    ACTION_CLASS_LIST(X)
#undef X
};
ENUM_DECLARE(action_class);

/* What a decision does. */
#define ACTION_LIST(X)                                                     \
    X(NONE, "none") /* evidence noted, nothing follows */                  \
    X(WATCH, "watch")                                                      \
    X(MARK, "mark") /* out of scheduling, no repair (NodeRecovery None) */ \
    X(HOLD, "hold") /* out of scheduling, the repair waits for a gate */   \
    X(REBOOT, "reboot")                                                    \
    X(REPLACE, "replace")                                                  \
    X(SUPPORT, "support") /* out of scheduling, a person is needed */
enum action {
#define X(SYMBOL, text) ACTION_##SYMBOL,
    ACTION_LIST(X)
#undef X
};
ENUM_DECLARE(action);

/* When the running jobs of the node have to give way. */
#define URGENCY_LIST(X)                                                                    \
    X(AFTER_JOBS, "after-jobs") /* contained: the job may finish, within a finite limit */ \
    X(NOW, "now")               /* the device is gone: the job is dead or will hang */
enum urgency {
#define X(SYMBOL, text) URGENCY_##SYMBOL,
    URGENCY_LIST(X)
#undef X
};
ENUM_DECLARE(urgency);

/* botocore ClusterNodeRecovery, exact. */
#define NODE_RECOVERY_LIST(X) \
    X(AUTOMATIC, "Automatic") \
    X(NONE, "None")
enum node_recovery {
#define X(SYMBOL, text) NODE_RECOVERY_##SYMBOL,
    NODE_RECOVERY_LIST(X)
#undef X
};
ENUM_DECLARE(node_recovery);

#endif
