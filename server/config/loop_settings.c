/* The loop's numbers as they are when nobody says otherwise; loop_settings.h says what each is. */
#include "server/config/loop_settings.h"

#include "base/clock.h"

void loop_settings_default(struct loop_settings *ret_settings)
{
    *ret_settings = (struct loop_settings){
        .observe_interval_ms = 5 * MS_PER_S,
        .job_snapshot_interval_ms = 15 * MS_PER_S, /* as often as Prometheus is used to scrape an exporter */
        .verify_quiet_ms = 30 * MS_PER_S,
        .evict_deadline_ms = 5 * MS_PER_MIN,
        .resume_deadline_ms = 2 * MS_PER_MIN, /* srun ends a step within Slurm's KillWait and a minute */
        .backend_deadline_ms = 15 * MS_PER_MIN,
        .join_deadline_ms = 30 * MS_PER_MIN,
        .verify_deadline_ms = 15 * MS_PER_MIN,
        .prepare_deadline_ms = 30 * MS_PER_MIN,
        .script_limit_ms = 15 * MS_PER_MIN,
        .script_attempts_max = 3,
        .reset_limit_ms = 2 * MS_PER_MIN,   /* nvidia-smi takes seconds; a driver that hangs does not come back */
        .reboot_agent_ms = 15 * MS_PER_MIN, /* a server with eight GPUs tests its memory for minutes before it boots */
        .reboot_scheduler_ms = 15 * MS_PER_MIN,
        .reboot_ssh_ms = 15 * MS_PER_MIN,
        .reboot_bmc_ms = 15 * MS_PER_MIN,
        .reboot_provider_ms = 30 * MS_PER_MIN,
        .reboot_stuck_ms = 3 * MS_PER_MIN, /* systemd waits 90 s for a service that does not stop */
        .reboot_delay_ms = 10 * MS_PER_S,
        .check_wait_ms = 10 * MS_PER_MIN,
        .check_quick_ms = 5 * MS_PER_MIN,
        .check_deep_ms = 4 * MS_PER_HOUR,
        .check_stress_ms = 60 * MS_PER_S,
        .approval_expires_ms = MS_PER_DAY,
        .retry_min_ms = 2 * MS_PER_S,
        .retry_max_ms = 60 * MS_PER_S,
        .slot_linger_ms = 15 * MS_PER_S,
        .enrollment_ttl_ms = MS_PER_HOUR,
        .events_keep = 200000,
        .history_ms = 90 * MS_PER_DAY,
        .verdicts_keep = 2000,
        .decisions_keep = 500,
        .steps_in_flight_max = 16,
    };
    policy_settings_default(&ret_settings->policy);
    provision_settings_default(&ret_settings->provision);
}
