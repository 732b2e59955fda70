/* The policy's numbers and where each comes from: all are our proposals, built from the public figures named beside them. */
#include "policy/policy.h"

ENUM_DEFINE(policy_recurring, POLICY_RECURRING_LIST)
ENUM_DEFINE(policy_lemon_action, POLICY_LEMON_ACTION_LIST)
ENUM_DEFINE(policy_without, POLICY_WITHOUT_LIST)

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define DAY_MS (24 * 60 * MINUTE_MS)

void policy_settings_default(struct policy_settings *ret_settings)
{
    *ret_settings = (struct policy_settings){
        .repeat_window_ms = 7 * DAY_MS, /* NVSentinel counts remediations over 7 days */
        .resets_max = 2,                /* as the reboots: what two resets did not clear a third will not */
        .reboots_max = 2,               /* gpud: after two reboots the hardware is at fault */
        .replaces_max = 2,              /* a slot that eats machines has another cause: NVSentinel #1543 loops */
        .budget_percent = 5,            /* maxInFlight of EKS and Cluster API; 1 node in a small group */
        .budget_max = 0,                /* the share alone: a site knows how many hands and machines it has */
        .min_healthy_percent =
            0, /* off, as in Cluster API and medik8s where nobody says otherwise: a rule of the site */
        .capacity_pause_ms = 2 * MINUTE_MS,         /* clustermgtd takes a resource out for 600 s, at once and always */
        .capacity_pause_max_ms = 60 * MINUTE_MS,    /* capacity comes back by the hour, seldom by the minute */
        .without_replacement = POLICY_WITHOUT_WAIT, /* the machine one has may still be what one needs tomorrow */
        .protect_after =
            3, /* clustermgtd: 10 of a partition at once; here they fail one after another, within the budget */
        .protect_window_ms = 6 * 60 * MINUTE_MS, /* a launch that fails takes half an hour, with pauses between */
        .protect_pause_ms = 30 * MINUTE_MS,
        .breaker_percent = 20, /* Karpenter's 20 % per pool, counted on the desired size */
        .breaker_min = 3,      /* percentages mean nothing under ten nodes: NVSentinel's own advice */
        .breaker_window_ms = 15 * MINUTE_MS,
        .breaker_close_after_ms = 15 * MINUTE_MS, /* closes itself, unlike NVSentinel's; medik8s cools down likewise */
        .silent_after_ms = 60 * SECOND_MS,        /* a dozen heartbeats of 5 s */
        .incident_nodes = 3,                      /* two may be chance: a node a day fails of some hundred */
        .incident_window_ms = 5 * MINUTE_MS, /* ByteRobust: two network alerts in 5 min; NVSentinel's breaker: 5 min */
        .incident_settle_ms = 5 * MINUTE_MS, /* machines boot in 1 to 3 min once there is power again */
        .unreachable_after_ms = 10 * MINUTE_MS, /* GKE repairs after ten silent minutes */
        .notice_lead_ms = 60 * MINUTE_MS,       /* a machine comes up within half an hour; the rest is for its checks */
        .probation_ms = 6 * 60 * MINUTE_MS,     /* ours: nobody in the field has one to compare with */
        /* Three repairs within days, or a failed return and another, on one machine, whatever each was for. Meta took 24 of
         * 1,900 and 16 of 900 machines for lemons (arXiv 2410.21680). No sound machine reaches it: `hpctl simulate` takes none
         * in 8 times 180 d of rsc-1, rsc-2 and llama3, nor with twice the faults of rsc-1; with five times, one in 900 days
         * of a fleet of 2,000. At 150 that were 30 in 180 d; at 200, 3. */
        .lemon_score = 250,
        .lemon_window_ms = 28 * DAY_MS,      /* a month of its past; not so long that what was fixed long ago counts */
        .recurring = POLICY_RECURRING_CHECK, /* a provider may have repaired it: proof instead of another replacement */
        .fold_window_ms = 60 * SECOND_MS,    /* companions of one fault come within seconds, floods within a minute */
    };
    for (int fault = 0; fault < FAULT_CLASS_COUNT; fault++) {
        ret_settings->modes[fault] = REPAIR_MODE_ACT;    /* HyperPod's Automatic; the others are a site's choice */
        ret_settings->class_budget_percent[fault] = 100; /* nothing beside the group's own */
        /* Each row of the fault tables says, with its source, whether the device is lost to its jobs; of a class as a whole no
         * source says anything, and a signal ends programs that do not know it. */
        ret_settings->jobs[fault] = JOBS_RULE_TABLE;
        ret_settings->job_signal[fault] = JOB_SIGNAL_USR1;        /* what Slurm's users have sbatch --signal send */
        ret_settings->drain_deadline_ms[fault] = 240 * MINUTE_MS; /* finite, unlike NVSentinel's; GKE waits for 1 h */
        ret_settings->signal_deadline_ms[fault] = 10 * MINUTE_MS; /* a checkpoint takes minutes */
    }
}
