/*
 * A scheduler as the loop sees it: how it is reached, what it was last seen to be, and what is under way there. Each link
 * has its own pace and its own outage; a cluster names its scheduler, and a node's name is unique within it.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_LINK_H
#define HOLDFAST_SERVER_RECONCILE_BASE_LINK_H

#include "server/reconcile/base/queue.h"
#include "server/scheduler/scheduler.h"

struct map;
struct rcall;
struct reconcile;
struct rgroup;
struct rnode;
struct service_scheduler;

/* What a scheduler is kept at: one engine (keep/keeper.c) and its keepers, each in keep/NAME.c. */
#define KEEPER_LIST(X) \
    X(govern)          \
    X(quarantine)      \
    X(addresses)       \
    X(manage)          \
    X(faults)          \
    X(labels)

struct scheduler_link {
    struct scheduler_link *next;
    char name[NAME_MAX_BYTES];
    struct scheduler_driver driver; /* ops NULL: no scheduler of this name is configured */
    bool managed;                   /* its nodes and partitions are written by us … */
    bool topology_managed;          /* … and its switches */
    enum desired_strategy strategy; /* … by this, where a cluster does not say another */
    struct map *nodes;              /* name → rnode of the clusters under it */
    int clusters;                   /* that name it */

    /* Calls of this scheduler under way: one that hangs may not take the threads of the others. What is sent beyond its share waits
     * here, in order. */
    int calls_in_flight, holds_in_flight;
    struct rcall *calls, **calls_end;
    int slots_left;       /* of its share, in the turn that is being written */
    struct idqueue holds; /* nodes whose hold waits for others to come back */

    /* The snapshot of its nodes */
    int64_t observe_interval_ms, job_snapshot_interval_ms; /* the latter 0: never */
    uint64_t observed_seq;                                 /* of the newest one */
    bool observing, observe_now, down;
    int64_t observe_at, observed_at, asked_at, took_ms; /* observed_at 0: never */
    int failures;                                       /* looks that failed in a row */
    int64_t failing_since;                              /* the first of them; 0: the last look succeeded */
    int64_t up_since, places_at;                        /* places_at: its topology is asked for again */
    char error[SCHEDULER_ERROR_MAX];
    char transport[SCHEDULER_TRANSPORT_MAX]; /* as it was reported last */
    int event, event_written;                /* for the timelines of its clusters: -1 none, else enum event_kind */

    /* The snapshot of its jobs */
    bool job_snapshot_running;
    int64_t job_snapshot_at;
    struct job_snapshot *followed; /* the last one that was followed; NULL: none */

    struct service_scheduler *shown; /* what the API shows of it */

    /* What it is kept at: the state of each keeper */
#define X(name) struct name##_keeper *name;
    KEEPER_LIST(X)
#undef X
};

/* The links of what is configured; links_free ends them. */
void reconcile_links_make(struct reconcile *r);
void reconcile_links_free(struct reconcile *r);
/* The link of a scheduler by its name; "" is the first that is configured. One that is not configured gets a link without a driver,
 * so that what it is asked for waits and says why. */
struct scheduler_link *reconcile_link_named(struct reconcile *r, const char *name);
/* Of the node's cluster; NULL: it has no scheduler, which is not configured, either. */
struct scheduler_link *reconcile_link(const struct rnode *node);
bool reconcile_link_is_configured(const struct scheduler_link *link);
/* It is configured, and answers. */
bool reconcile_link_is_usable(const struct scheduler_link *link);
/* Why a step that needs the scheduler waits. */
const char *reconcile_link_lacks(const struct scheduler_link *link);
/* Calls that each scheduler may have under way. */
int reconcile_link_share(const struct reconcile *r);
/* Calls that may still be sent to it at once: while it hangs, threads are left to the others. */
int reconcile_link_room(const struct reconcile *r, const struct scheduler_link *link);
/* How old its snapshot may be to be believed. */
int64_t reconcile_link_age_max(const struct scheduler_link *link);
/* How long until there is another snapshot of the group's nodes; where it has no scheduler as the settings say. */
int64_t reconcile_group_observe_interval(const struct rgroup *group);
/* keep/keeper.c: its keepers begin and end with it. */
void reconcile_link_keepers_start(struct scheduler_link *link);
void reconcile_link_keepers_end(struct scheduler_link *link);

#endif
