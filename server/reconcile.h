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

#include "policy/policy.h"
#include "policy/provision.h"
#include "server/executor.h"
#include "server/provider/provider.h"
#include "server/scheduler/scheduler.h"
#include "server/service/service.h"

#define RECONCILE_PROVIDERS_MAX 8

struct reconcile_settings {
    struct policy_settings policy;
    struct provision_settings provision;
    int64_t observe_interval_ms;        /* how often the scheduler is looked at (5 s) */
    int64_t survey_interval_ms;         /* how often it is asked for its jobs and figures (15 s); 0: never */
    int64_t verify_quiet_ms;            /* the return gate: no critical verdict for so long after boot (30 s) */
    int64_t resume_deadline_ms;         /* before that: for jobs that live on without the node to leave it (2 min) */
    int64_t evict_deadline_ms;          /* NOW: after requeue/kill, how long to wait for them to go (5 min) */
    int64_t backend_deadline_ms;        /* mark, reboot, terminate, launch, resume: retries until then (15 min) */
    int64_t join_deadline_ms;           /* until the agent reports the new boot (30 min) */
    int64_t verify_deadline_ms;         /* (15 min) */
    int64_t prepare_deadline_ms;        /* lifecycle scripts, all attempts together (30 min) */
    int64_t script_limit_ms;            /* of one attempt (15 min) */
    int64_t script_attempts_max;        /* of each script (3) */
    int64_t reset_limit_ms;             /* of one device, with waiting for who holds it (2 min) */
    int64_t check_wait_ms;              /* a node that stays busy for so long is not checked (10 min) */
    int64_t check_quick_ms;             /* a quick run of deep health checks (5 min) */
    int64_t check_deep_ms;              /* a deep one (4 h) */
    int64_t check_idle_ms;              /* idle nodes are checked in the background so often; 0: never (0) */
    int64_t check_stress_ms;            /* of the stress test in it (60 s) */
    struct deep_site check_limits;      /* what the site judges by; of the configuration that was read */
    int64_t approval_expires_ms;        /* a repair that waits for a person's yes waits for so long (24 h) */
    int64_t retry_min_ms, retry_max_ms; /* backoff between attempts of a step (2 s, 60 s) */
    int64_t slot_linger_ms;             /* a slot that was deleted is shown for so long, for who waits for it (15 s) */
    int64_t enrollment_ttl_ms;          /* of the token a launched instance gets (1 h) */
    int64_t events_keep;                /* timeline rows kept (200,000) */
    int64_t history_ms;                 /* decisions and verdicts are kept for so long (90 d) … */
    int64_t verdicts_keep;              /* … but of a node no more verdicts in each state (2000) … */
    int64_t decisions_keep;             /* … and no more decisions than this (500) */
    int steps_in_flight_max;            /* backend calls at once (16) */
};
void reconcile_settings_default(struct reconcile_settings *ret_settings);

struct reconcile_deps {
    struct service *service; /* db, fleet, clock, ids */
    struct executor *executor;
    struct scheduler_driver slurm; /* ops NULL: not configured */
    bool slurm_managed;            /* its nodes and partitions are written by us … */
    enum layout_strategy strategy; /* … by this, where a cluster does not say another */
    struct provider_driver providers[RECONCILE_PROVIDERS_MAX];
    size_t provider_count;
    struct reconcile_settings settings;
};

struct reconcile;

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
    int64_t active_operations, held_nodes, open_breakers, short_groups, protected_groups;
    int64_t last_observed_at; /* 0: never */
    int64_t unrecorded_since; /* monotonic ms: since then the loop has something to record and could not; 0: all is */
    /* verdict received → decision on disk, microseconds, a histogram of powers of two */
    uint64_t decision_us[32];
};
void reconcile_stats(struct reconcile *reconcile, struct reconcile_stats *ret_stats);

#endif
