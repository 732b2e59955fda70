/*
 * Operations: durable workflows. On one node they are made of named steps; on a whole cluster they have none: there they
 * are a change that was asked for, seen from its beginning to where it is reached, given up or superseded.
 *
 *      PENDING ──► RUNNING ──► SUCCEEDED
 *         │           │  └───► FAILED
 *         │           ▼
 *         └──────► CANCELLED
 *
 * A step is written as RUNNING before it is done and as DONE after it was; a crash between the two
 * does it again, so every step is safe to repeat under the operation's idempotency key.
 *
 *      WAITING ──► RUNNING ──► DONE
 *         │           ├──────► FAILED
 *         └───────────┴──────► SKIPPED
 */
#ifndef HOLDFAST_MODEL_OPERATION_STATE_H
#define HOLDFAST_MODEL_OPERATION_STATE_H

#include "base/enum.h"
#include "base/sm.h"

#define OPERATION_STATE_LIST(X) \
    X(PENDING, "pending")       \
    X(RUNNING, "running")       \
    X(SUCCEEDED, "succeeded")   \
    X(FAILED, "failed")         \
    X(CANCELLED, "cancelled")
enum operation_state {
#define X(SYMBOL, text) OPERATION_STATE_##SYMBOL,
    OPERATION_STATE_LIST(X)
#undef X
        OPERATION_STATE_COUNT
};
ENUM_DECLARE(operation_state);
extern const struct sm operation_state_machine;

#define STEP_STATE_LIST(X) \
    X(WAITING, "waiting")  \
    X(RUNNING, "running")  \
    X(DONE, "done")        \
    X(FAILED, "failed")    \
    X(SKIPPED, "skipped")
enum step_state {
#define X(SYMBOL, text) STEP_STATE_##SYMBOL,
    STEP_STATE_LIST(X)
#undef X
        STEP_STATE_COUNT
};
ENUM_DECLARE(step_state);
extern const struct sm step_state_machine;

#define OPERATION_KIND_LIST(X)                                                               \
    X(LAUNCH, "launch") /* fill an empty slot */                                             \
    X(REBOOT, "reboot")                                                                      \
    X(REPLACE, "replace")                                                                    \
    X(RESET, "reset")     /* of one device, by its agent */                                  \
    X(RELEASE, "release") /* bring a held or failed node back through the return gate */     \
    X(DELETE, "delete")   /* empty the slot for good */                                      \
    X(UPDATE, "update")   /* another image: a new instance for the slot */                   \
    X(CHECK, "check")     /* deep health checks */                                           \
    X(CREATE_CLUSTER, "create-cluster")                                                      \
    X(UPDATE_CLUSTER, "update-cluster")   /* groups and nodes that come, grow, shrink, go */ \
    X(UPDATE_SOFTWARE, "update-software") /* a rolling update of its groups */               \
    X(DELETE_CLUSTER, "delete-cluster")
enum operation_kind {
#define X(SYMBOL, text) OPERATION_KIND_##SYMBOL,
    OPERATION_KIND_LIST(X)
#undef X
        OPERATION_KIND_COUNT
};
ENUM_DECLARE(operation_kind);
/* Those of a whole cluster stand last. */
#define OPERATION_KIND_FIRST_OF_CLUSTER OPERATION_KIND_CREATE_CLUSTER
#define OPERATION_KINDS_OF_CLUSTER (OPERATION_KIND_COUNT - OPERATION_KIND_FIRST_OF_CLUSTER)
bool operation_is_of_cluster(enum operation_kind kind);
/* Reset, reboot or replace: what a fault asks for. */
bool operation_is_repair(enum operation_kind kind);

/* Why it was asked for. */
#define OPERATION_CAUSE_LIST(X)                                                       \
    X(PERSON, "person")   /* somebody asked for it, at an API or in the scheduler */  \
    X(FAULT, "fault")     /* the policy, for what is wrong with the node */           \
    X(ABSENCE, "absence") /* only the scheduler kept the node out, and has it back */ \
    X(UPKEEP, "upkeep")   /* the loop: slots filled, emptied, updated, tested, held nodes that come back */
enum operation_cause {
#define X(SYMBOL, text) OPERATION_CAUSE_##SYMBOL,
    OPERATION_CAUSE_LIST(X)
#undef X
};
ENUM_DECLARE(operation_cause);

/*
 * The steps. Which kind has which, in order, is operation_steps() below.
 *   mark       scheduler: no new work, state=fail with the exact reason
 *   drain      wait for jobs to end, ask them to checkpoint first, or end/requeue them, as was decided
 *   reset      agent: reset one device, once
 *   reboot     provider: reboot under the key
 *   terminate  provider: end the old instance
 *   launch     provider: a new instance under the key
 *   join       wait for the agent: a new boot id (reboot) or the new instance id (launch, replace)
 *   prepare    the instance runs the group's lifecycle scripts; skipped when it has none, and by a release unless the
 *              machine has not got through them yet
 *   check      the agent runs deep health checks; on a new machine only those of its group (OnStartDeepHealthChecks)
 *   verify     the return gate: fresh heartbeat, checks covered, quiet since boot, scheduler sees it
 *   resume     scheduler: back in service
 *   forget     remove the slot from the scheduler and the store
 */
#define STEP_KIND_LIST(X)     \
    X(MARK, "mark")           \
    X(DRAIN, "drain")         \
    X(RESET, "reset")         \
    X(REBOOT, "reboot")       \
    X(TERMINATE, "terminate") \
    X(LAUNCH, "launch")       \
    X(JOIN, "join")           \
    X(PREPARE, "prepare")     \
    X(CHECK, "check")         \
    X(VERIFY, "verify")       \
    X(RESUME, "resume")       \
    X(FORGET, "forget")
enum step_kind {
#define X(SYMBOL, text) STEP_KIND_##SYMBOL,
    STEP_KIND_LIST(X)
#undef X
};
#define STEP_KIND_COUNT ((size_t)STEP_KIND_FORGET + 1)
ENUM_DECLARE(step_kind);

#define OPERATION_STEPS_MAX 9

/* The steps of a kind in order; *ret_count <= OPERATION_STEPS_MAX, 0 for those of a cluster. Static. */
const enum step_kind *operation_steps(enum operation_kind kind, int *ret_count);
/* True once the step has changed the world so that going back makes no sense: no cancel from here on. */
bool step_is_point_of_no_return(enum step_kind kind);

#endif
