/*
 * Health words: how bad a verdict is, what a node's health is, what a fault asks for,
 * and the recovery mode of a cluster.
 */
#ifndef HOLDFAST_MODEL_HEALTH_H
#define HOLDFAST_MODEL_HEALTH_H

#include "base/enum.h"

#include <stdbool.h>

/* NVIDIA Health Validation's split of "bad" and "could not tell" (docs.nvidia.com/health-validation). */
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
#define ACTION_CLASS_LIST(X)                                                   \
    X(IGNORE, "ignore") /* nothing, or only explains another code */           \
    X(APP, "app")       /* blame the job, never the node */                    \
    X(WATCH, "watch")   /* record and count the rate */                        \
    X(RESET, "reset")   /* of the GPU; where that is not possible, a reboot */ \
    X(REBOOT, "reboot")                                                        \
    X(REPLACE, "replace")                                                      \
    X(SUPPORT, "support") /* a person */
enum action_class {
#define X(SYMBOL, text) ACTION_CLASS_##SYMBOL,
    ACTION_CLASS_LIST(X)
#undef X
};
ENUM_DECLARE(action_class);

/*
 * What is broken, as far as limits and modes have to tell it apart: whose remedy differs, whose bursts have another cause, or
 * whose owner is somebody else. Published fleets count faulty GPUs, their memory and the network
 * apart (Llama 3: 148, 72 and 35 of 419), and each of the three asks for something else: a device that is lost for its jobs,
 * rows that a reset remaps, a cable or switch that no machine's repair fixes. The links between GPUs stand by themselves,
 * as a fault there has two ends. Software is what comes back on any machine until it is changed. A table's row has its
 * class from policy/faults/class.c.
 */
#define FAULT_CLASS_LIST(X)                                                                        \
    X(NONE, "none")               /* nothing is at fault: a person asked, or a fault is over */    \
    X(APPLICATION, "application") /* a program's: never the node's */                              \
    X(GPU, "gpu")                 /* the device: off the bus, its processors, heat, power */       \
    X(GPU_MEMORY, "gpu-memory")   /* ECC, rows to be remapped, retired pages */                    \
    X(FABRIC, "fabric")           /* NVLink, NVSwitch and what manages them */                     \
    X(ACCELERATOR, "accelerator") /* Trainium and Inferentia, with their memory */                 \
    X(NETWORK, "network")         /* EFA, InfiniBand, interfaces, names and routes */              \
    X(HOST, "host")               /* processors, memory, PCIe, power and cooling of the machine */ \
    X(STORAGE, "storage")         /* disks and file systems */                                     \
    X(SOFTWARE, "software")       /* drivers, kernel, services, set-up */                          \
    X(UNREACHABLE, "unreachable") /* nobody hears the node */                                      \
    X(CUSTOM, "custom")           /* what a site's own check found */                              \
    X(UNKNOWN, "unknown")         /* a code that no table has */
enum fault_class {
#define X(SYMBOL, text) FAULT_CLASS_##SYMBOL,
    FAULT_CLASS_LIST(X)
#undef X
        FAULT_CLASS_COUNT
};
ENUM_DECLARE(fault_class);

/* How far a decision may go, per fault class and group; NodeRecovery None stands above all of them. */
#define REPAIR_MODE_LIST(X)                                                                   \
    X(OBSERVE, "observe")     /* it is stored what would have been done, nothing is */        \
    X(RECOMMEND, "recommend") /* the same, and people are told; the node stays at work */     \
    X(APPROVE, "approve")     /* out of scheduling; a repair waits for a person's approval */ \
    X(ACT, "act")
enum repair_mode {
#define X(SYMBOL, text) REPAIR_MODE_##SYMBOL,
    REPAIR_MODE_LIST(X)
#undef X
};
ENUM_DECLARE(repair_mode);

/*
 * A repair that waits for a person's word (mode approve).
 *
 *      ASKED ──► APPROVED ──► DONE        the repair has begun
 *        │  │        └──────► EXPIRED
 *        │  ├──► REJECTED
 *        │  └──► EXPIRED
 *        └─────► WITHDRAWN (from APPROVED, too): the fault asks for it no more, or for something else
 */
#define APPROVAL_STATE_LIST(X) \
    X(ASKED, "asked")          \
    X(APPROVED, "approved")    \
    X(REJECTED, "rejected")    \
    X(EXPIRED, "expired")      \
    X(WITHDRAWN, "withdrawn")  \
    X(DONE, "done")
enum approval_state {
#define X(SYMBOL, text) APPROVAL_STATE_##SYMBOL,
    APPROVAL_STATE_LIST(X)
#undef X
};
ENUM_DECLARE(approval_state);

/* What a decision does. */
#define ACTION_LIST(X)                                                       \
    X(NONE, "none") /* evidence noted, nothing follows */                    \
    X(WATCH, "watch")                                                        \
    X(MARK, "mark")   /* out of scheduling, no repair (NodeRecovery None) */ \
    X(HOLD, "hold")   /* out of scheduling, the repair waits for a gate */   \
    X(RESET, "reset") /* of one device, without a reboot */                  \
    X(REBOOT, "reboot")                                                      \
    X(REPLACE, "replace")                                                    \
    X(SUPPORT, "support") /* out of scheduling, a person is needed */
enum action {
#define X(SYMBOL, text) ACTION_##SYMBOL,
    ACTION_LIST(X)
#undef X
};
ENUM_DECLARE(action);
/* Reset, reboot or replace. */
bool action_is_repair(enum action action);

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
