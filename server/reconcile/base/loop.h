/*
 * The loop itself: all that it knows of the world in memory.
 *
 *   reconcile.c, turn.c  the loop; one turn's transaction, and what comes after it
 *   base/                inbox, calls, due times, links to schedulers, clusters, groups, nodes and operations in memory, record and effects
 *   world/               the store into memory: tables, what changed, counts, topology, settings of groups, capacity, history
 *   observe/             snapshots of nodes and jobs of each scheduler, and agents that are not seen
 *   decide/              snapshot of a group, the policy's plan, what of it is new, approvals, incidents, idle checks
 *   operation/           one operation one step further: steps, drain, gates, machine calls, reset, checks, its end
 *   cluster/             groups that come up, grow, shrink, roll and go
 *   keep/                what each scheduler is kept at
 *   job/                 training jobs, on threads of their own
 *
 * Only the loop's thread touches struct reconcile, but for the inbox.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_LOOP_H
#define HOLDFAST_SERVER_RECONCILE_BASE_LOOP_H

#include "server/reconcile/base/due.h"
#include "server/reconcile/base/inbox.h"
#include "server/reconcile/base/operation.h"
#include "server/reconcile/base/part.h"
#include "server/reconcile/base/queue.h"
#include "server/reconcile/reconcile.h"

#include <pthread.h>

struct db;
struct fault_overrides;
struct inbox;
struct rcluster;
struct rgroup;
struct scheduler_link;

#define STORE_PAUSE_MAX_MS 10000 /* a store that fails is tried again at least so often */

struct reconcile {
    struct reconcile_deps deps;
    struct service *service;
    struct db *db;
    struct inbox *inbox;
    pthread_t thread;
    bool running;

    struct idmap nodes;
    struct scheduler_link *links;
    struct rcluster *clusters;
    const struct fault_overrides *overrides; /* by which what is not well was looked at last */
    struct rgroup *groups;
    struct idqueue
        looks[LOOK_COUNT]; /* a node that was moved up still stands in the lower queue, and is skipped there */
    struct idqueue ready[OPERATION_CLASSES], slotless[OPERATION_CLASSES];
    struct due due;
    struct due
        evidence_waits; /* nodes with critical evidence that waits, by when it came, and some whose evidence does not */
    int64_t watched_verdict, watch_until; /* reconcile/decide/undecided.c */

    uint64_t tick; /* counts calls sent and come back: which of two things was first */
    int calls_in_flight;
    int isolating; /* turns that take one thing each, because of a row that cannot be written */

    int64_t paused_until; /* the store takes no writes: nothing is done before */
    int64_t store_backoff_ms;
    bool store_unreadable;
    bool signals_changed;  /* a node is seen otherwise, or elsewhere: decide/incident.c looks at outage signals again */
    bool undecided_wanted; /* which nodes are undecided is to be read again */
    int64_t newest_node;   /* those with a larger row number are new */

    /* What each part keeps, which nobody else sees */
#define X(name) struct name##_part *name;
    PART_LIST(X)
#undef X
    int64_t part_runs_at[PART_COUNT]; /* of those that run so often */

    pthread_mutex_t stats_mutex;
    struct reconcile_stats stats, published;
};

int64_t reconcile_now(const struct reconcile *r);
int64_t reconcile_now_us(const struct reconcile *r);
/* There is something to record from now on, or there is nothing left: tells it at once, since a write may hang. */
void reconcile_unrecorded(struct reconcile *r, bool something);

#endif
