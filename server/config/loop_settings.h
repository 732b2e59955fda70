/* The numbers that the loop goes by: a full set for each group, and one for what is the same for all. Times are in milliseconds. */
#ifndef HOLDFAST_SERVER_CONFIG_LOOP_SETTINGS_H
#define HOLDFAST_SERVER_CONFIG_LOOP_SETTINGS_H

#include "model/deep.h"
#include "policy/policy.h"
#include "policy/provision.h"

struct loop_settings {
    struct policy_settings policy;
    struct provision_settings provision;
    int64_t observe_interval_ms;      /* how often the scheduler is looked at (5 s) */
    int64_t job_snapshot_interval_ms; /* how often it is asked for its jobs and figures (15 s); 0: never */
    int64_t verify_quiet_ms;          /* the return gate: no critical verdict for so long after boot (30 s) */
    int64_t resume_deadline_ms;       /* before that: for jobs that live on without the node to leave it (2 min) */
    int64_t evict_deadline_ms;        /* NOW: after requeue/kill, how long to wait for them to go (5 min) */
    int64_t backend_deadline_ms;      /* mark, reboot, terminate, launch, resume: retries until then (15 min) */
    int64_t join_deadline_ms;         /* until the agent reports the new boot (30 min) */
    int64_t verify_deadline_ms;       /* (15 min) */
    int64_t prepare_deadline_ms;      /* lifecycle scripts, all attempts together (30 min) */
    int64_t script_limit_ms;          /* of one attempt (15 min) */
    int64_t script_attempts_max;      /* of each script (3) */
    int64_t reset_limit_ms;           /* of one device, with waiting for who holds it (2 min) */
    int64_t reboot_agent_ms, reboot_scheduler_ms, reboot_ssh_ms, reboot_bmc_ms,
        reboot_provider_ms; /* of a method of a group's rebootMethods, until the new boot (15 min, the provider's 30) */
    int64_t reboot_stuck_ms;       /* a machine that is heard for so long after it accepted does not go down (3 min) */
    int64_t reboot_delay_ms;       /* that the agent leaves to those who are logged in (10 s) */
    int64_t check_wait_ms;         /* a node that stays busy for so long is not checked (10 min) */
    int64_t check_quick_ms;        /* a quick run of deep health checks (5 min) */
    int64_t check_deep_ms;         /* a deep one (4 h) */
    int64_t check_idle_ms;         /* idle nodes are checked in the background so often; 0: never (0) */
    int64_t check_stress_ms;       /* of the stress test in it (60 s) */
    struct deep_site check_limits; /* what the site judges by; of the configuration that was read */
    int64_t approval_expires_ms;   /* a repair that waits for a person's approval waits for so long (24 h) */
    int64_t retry_min_ms, retry_max_ms; /* backoff between attempts of a step (2 s, 60 s) */
    int64_t slot_linger_ms;             /* a slot that was deleted is shown for so long, for who waits for it (15 s) */
    int64_t enrollment_ttl_ms;          /* of the token a launched instance gets (1 h) */
    int64_t events_keep;                /* timeline rows kept (200,000) */
    int64_t history_ms;                 /* decisions and verdicts are kept for so long (90 d) … */
    int64_t verdicts_keep;              /* … but of a node no more verdicts in each state (2000) … */
    int64_t decisions_keep;             /* … and no more decisions than this (500) */
    int steps_in_flight_max;            /* backend calls at once (16) */
};
void loop_settings_default(struct loop_settings *ret_settings);

#endif
