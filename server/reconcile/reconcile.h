/*
 * The reconcile loop: observes, asks the policy, records the plan, then acts, at its own pace.
 *
 * One thread owns it. Everything from outside comes through its inbox (woken by service callbacks and executor results).
 * A plan is stored before it is executed; a step is stored as running before it is done. After a crash reconcile_new
 * reads the store and goes on: that is the ordinary start.
 *
 * For tests: with an inline executor and a fake clock, calling reconcile_run_once until it returns false drives whole repairs in
 * milliseconds, deterministically.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_H
#define HOLDFAST_SERVER_RECONCILE_H

#include "server/config/loop_settings.h"
#include "server/provider/provider.h"
#include "server/reboot/reboot.h"
#include "server/reconcile/base/durations.h"
#include "server/reconcile/base/executor.h"
#include "server/scheduler/scheduler.h"
#include "server/service/service.h"

#define RECONCILE_PROVIDERS_MAX 8
#define RECONCILE_SCHEDULERS_MAX SERVICE_SCHEDULERS_MAX

/* A scheduler as it is configured. */
struct reconcile_scheduler {
    const char *name; /* by which clusters name it; the first takes over clusters that name none */
    const char *arn;  /* by which clusters of the AWS API name it; NULL or "": by its kind only */
    struct scheduler_driver driver;
    bool managed;                     /* its nodes and partitions are written by us … */
    bool topology_managed;            /* … and its switches: what is stored of them counts, and not what it says */
    enum desired_strategy strategy;   /* … by this, where a cluster does not say another */
    int64_t observe_interval_ms;      /* 0: as the settings say */
    int64_t job_snapshot_interval_ms; /* likewise; RECONCILE_NEVER: it is never asked for its jobs */
};
#define RECONCILE_NEVER (-1)

struct reconcile_deps {
    struct service *service; /* db, fleet, clock, ids */
    struct executor *executor;
    struct reconcile_scheduler schedulers[RECONCILE_SCHEDULERS_MAX];
    size_t scheduler_count;
    struct provider_driver providers[RECONCILE_PROVIDERS_MAX];
    size_t provider_count;
    struct reboot_drivers reboots;
    struct loop_settings settings;
};

struct reconcile;

/* Threads that the executor needs, so that each scheduler has its share of them, and the providers have theirs. */
int reconcile_threads(const struct loop_settings *settings, size_t scheduler_count);
/* Reads the store and sets the service's ears (service->wake and friends). */
int reconcile_new(const struct reconcile_deps *deps, struct reconcile **ret_reconcile);
/* Comes after executor_free, which ends the backend calls that are under way. */
void reconcile_free(struct reconcile *reconcile);
/* One turn: takes the inbox, decides, records, dispatches. *ret_next_ms: wall time of the next thing due. True when it did
 * something (so another turn at once makes sense). */
bool reconcile_run_once(struct reconcile *reconcile, int64_t *ret_next_ms);
/* Runs turns on a thread of its own until reconcile_stop. */
int reconcile_start(struct reconcile *reconcile);
void reconcile_stop(struct reconcile *reconcile);

struct reconcile_stats {
    uint64_t turns, decisions, operations_started, operations_succeeded, operations_failed;
    uint64_t scheduler_errors, provider_errors;
    uint64_t evidence_left_out;  /* looks at nodes that had more evidence than the policy is shown */
    uint64_t verdicts_forgotten; /* critical ones that no decision had looked at within the time that is for that */
    int64_t
        undecided_since_us; /* reconcile_now_us: the oldest critical verdict that no decision has looked at; 0: none */
    int64_t active_operations, held_nodes, open_breakers, short_groups, protected_groups;
    int64_t last_observed_at; /* 0: never */
    int64_t unrecorded_since; /* monotonic ms: since then the loop has something to record and could not; 0: all is */
    /* verdict received → decision on disk, microseconds, a histogram of powers of two */
    uint64_t decision_us[32];
    struct durations detected; /* critical faults, from when an agent first saw them until they were stored */
    struct operation_durations durations;
};
void reconcile_stats(struct reconcile *reconcile, struct reconcile_stats *ret_stats);

#endif
