/*
 * The parts of the loop: one table. A part is a file with what it does in the loop's life, in a turn, and with what comes in; each of
 * its functions may be NULL. Another part is a file of its own and a line here, and no other file knows that it is there.
 *
 * A turn of the loop: what came in goes to take, hear and wake; then run; then plan, after which the parts that have something to
 * write do so in one transaction (write), and after its commit learn of it (done).
 */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_PART_H
#define HOLDFAST_SERVER_RECONCILE_BASE_PART_H

#include "server/service/service.h"

struct rcall;
struct rcluster;
struct reconcile;
struct turn;

/* In the order in which they are asked. A part NAME is defined as part_NAME. */
#define PART_LIST(X)                                                                       \
    X(group_settings) /* world/group_settings.c: what the policy document says */          \
    X(world)          /* world/load.c: clusters, groups, nodes and operations in memory */ \
    X(resync)         /* world/resync.c: what somebody else changed */                     \
    X(log)            /* base/log.c: lines for the log, bounded */                         \
    X(clock_step)     /* observe/clock_step.c: the clock of this machine was set */        \
    X(orphans)        /* world/orphans.c: machines that are nobody's */                    \
    X(notices)        /* world/notices.c: what providers say of their machines */          \
    X(agents)         /* observe/agents.c: agents that are not seen */                     \
    X(topology)       /* world/topology.c: where nodes are */                              \
    X(observe)        /* observe/observe.c: the nodes of each scheduler */                 \
    X(job_snapshot)   /* observe/job_snapshot.c: the jobs of each scheduler */             \
    X(training)       /* job/training.c: training jobs, on threads of their own */         \
    X(job_command)    /* job/command.c: what people ask of jobs, likewise */               \
    X(job_log)        /* job/log.c: logs of jobs that people ask for, likewise */          \
    X(hold)           /* keep/hold.c: what a scheduler shows of nodes out of service */    \
    X(keepers)        /* keep/keeper.c: what a scheduler is kept at */                     \
    X(incident)       /* decide/incident.c: incidents of many nodes */                     \
    X(decide)         /* decide/batch.c: the policy's word, and what follows */            \
    X(undecided)      /* decide/undecided.c: critical evidence that waits */               \
    X(operations)     /* operation/queue.c: operations one step further */                 \
    X(provision)      /* cluster/provision.c: clusters that move */                        \
    X(housekeeping)   /* world/housekeeping.c: what is old goes */                         \
    X(approval)       /* decide/approval.c: questions that run out */                      \
    X(idle)           /* decide/idle.c: checks of idle nodes */                            \
    X(first_steps)    /* operation/queue.c: operations that this turn stores */            \
    X(history)        /* world/history.c: old evidence goes */                             \
    X(probe)          /* world/housekeeping.c: whether a store that failed is well again */

/* What a part has for a turn. */
enum part_plan {
    PART_PLAN_NOTHING,
    PART_PLAN_MEMORY, /* write is called, and touches no store */
    PART_PLAN_STORE,
};

/* What became of the answer of a call. */
enum part_take {
    PART_TAKE_NOT_MINE,
    PART_TAKE_DONE, /* it is freed */
    PART_TAKE_KEPT,
};

struct part {
    /* The loop's life: load reads the store at its start. */
    void (*start)(struct reconcile *r);
    int (*load)(struct reconcile *r, struct db_tx *tx);
    void (*end)(struct reconcile *r);
    /* Somebody else may have changed in the store what only this part keeps of it: it is read again. */
    int (*resync)(struct reconcile *r, struct db_tx *tx);

    /* What comes in: the answer of a call to whom it belongs (take) and to all before (hear), and that somebody else changed this in the
     * store (wake); a cluster that memory forgets (gone). */
    enum part_take (*take)(struct reconcile *r, struct rcall *call);
    void (*hear)(struct reconcile *r, const struct rcall *call);
    void (*wake)(struct reconcile *r, enum service_wake what, int64_t id);
    void (*gone)(struct reconcile *r, const struct rcluster *cluster);

    /* Outside the transaction: when it has something to do (INT64_MAX: when something happens), and what it does, true when that
     * may lead to more. With every_ms it runs so often, else in every turn. */
    int64_t (*due)(const struct reconcile *r, int64_t now);
    bool (*run)(struct reconcile *r, int64_t now);
    int64_t every_ms;

    /* The turn's transaction. plan: before it; a negative status when the store cannot be read: then there is no turn. write: inside
     * it, where nothing in memory may change. tidy: the same, once a minute. done: after the commit, before the effects. over: in the
     * end, whatever came of it. */
    int (*plan)(struct turn *turn);
    int (*write)(struct turn *turn);
    int (*tidy)(struct turn *turn);
    void (*done)(struct turn *turn);
    void (*over)(struct turn *turn);

    /* Of what it took for this turn, when that could not be written: how many things, that they are tried again, and, where one
     * thing alone is at fault, that it is left alone for a while. */
    size_t (*size)(const struct turn *turn);
    void (*again)(struct turn *turn);
    void (*park)(struct turn *turn, int status);
};

enum part_id {
#define X(name) PART_##name,
    PART_LIST(X)
#undef X
        PART_COUNT
};

void parts_start(struct reconcile *r);
int parts_load(struct reconcile *r, struct db_tx *tx);
void parts_end(struct reconcile *r);
int parts_resync(struct reconcile *r, struct db_tx *tx);

/* Takes the call. */
void parts_take(struct reconcile *r, struct rcall *call);
void parts_wake(struct reconcile *r, enum service_wake what, int64_t id);
void parts_gone(struct reconcile *r, const struct rcluster *cluster);
bool parts_run(struct reconcile *r, int64_t now);
int64_t parts_due(const struct reconcile *r, int64_t now);

/* The most that a part has; negative: the store cannot be read. */
int parts_plan(struct turn *turn);
int parts_write(struct turn *turn);
int parts_tidy(struct turn *turn);
void parts_done(struct turn *turn);
void parts_over(struct turn *turn);
size_t parts_size(const struct turn *turn);
void parts_again(struct turn *turn);
/* There is one thing in the turn. */
void parts_park(struct turn *turn, int status);

#endif
