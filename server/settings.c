/* The list of settings; where the numbers come from stands beside their defaults, in policy/settings.c and reconcile.c. */
#include "server/settings.h"

#include "base/clock.h"
#include "base/own.h"

#include <stddef.h>
#include <string.h>

#define AT(field) offsetof(struct config, field), sizeof(((struct config *)NULL)->field)
#define DURATION(section, name, field, min, max, help)             \
    {                                                              \
        section, name, help, SETTING_DURATION, AT(field), min, max \
    }
#define NUMBER(section, name, field, min, max, help)             \
    {                                                            \
        section, name, help, SETTING_NUMBER, AT(field), min, max \
    }
#define FIXED_DURATION(name, field, help) DURATION("", name, field, 0, 0, help)
#define FIXED_NUMBER(name, field, help) NUMBER("", name, field, 0, 0, help)

const struct setting settings[] = {
    DURATION("agents", "heartbeatInterval", heartbeat_interval_ms, 100, 10 * MS_PER_MIN,
             "how often an agent says that it lives"),
    DURATION("agents", "silentAfter", reconcile.policy.silent_after_ms, MS_PER_S, MS_PER_DAY,
             "an agent not heard for so long is no verdict, never healthy"),
    DURATION("agents", "unreachableAfter", reconcile.policy.unreachable_after_ms, MS_PER_S, MS_PER_DAY,
             "a node that neither its agent nor the scheduler has heard of for so long is rebooted"),

    DURATION("recovery", "observeInterval", reconcile.observe_interval_ms, 100, MS_PER_HOUR,
             "how often the scheduler is looked at"),
    DURATION("recovery", "verifyQuiet", reconcile.verify_quiet_ms, 0, MS_PER_HOUR,
             "how long a node stays without a critical verdict before it is given back"),
    DURATION("recovery", "drainDeadline", reconcile.drain_deadline_ms, 0, 14 * MS_PER_DAY,
             "how long running jobs may go on when the fault is contained"),
    DURATION("recovery", "evictDeadline", reconcile.evict_deadline_ms, MS_PER_S, MS_PER_DAY,
             "how long jobs may take to go once they are requeued or ended"),
    DURATION("recovery", "backendDeadline", reconcile.backend_deadline_ms, MS_PER_S, MS_PER_DAY,
             "how long a call to the scheduler or provider is tried"),
    DURATION("recovery", "joinDeadline", reconcile.join_deadline_ms, MS_PER_S, MS_PER_DAY,
             "how long an agent may take to report its new boot"),
    DURATION("recovery", "verifyDeadline", reconcile.verify_deadline_ms, MS_PER_S, MS_PER_DAY,
             "how long the return checks may take"),
    DURATION("recovery", "minCountDeadline", reconcile.provision.min_count_deadline_ms, MS_PER_S, 14 * MS_PER_DAY,
             "how long a group with a minimum of nodes may take to reach it before it is taken back"),
    DURATION("recovery", "launchPauseMin", reconcile.provision.launch_pause_min_ms, 10, MS_PER_DAY,
             "the first pause before a launch that failed is tried again"),
    DURATION("recovery", "launchPauseMax", reconcile.provision.launch_pause_max_ms, 10, MS_PER_DAY,
             "what that pause grows to"),
    DURATION("recovery", "prepareDeadline", reconcile.prepare_deadline_ms, MS_PER_S, MS_PER_DAY,
             "how long the lifecycle scripts of a new instance may take, all attempts together"),
    DURATION("recovery", "scriptTimeLimit", reconcile.script_limit_ms, MS_PER_S, MS_PER_DAY,
             "how long one attempt of one script may take"),
    NUMBER("recovery", "scriptAttempts", reconcile.script_attempts_max, 1, 20, "how many attempts each script has"),
    DURATION("recovery", "retryMin", reconcile.retry_min_ms, 10, MS_PER_HOUR,
             "the first pause between tries of a step"),
    DURATION("recovery", "retryMax", reconcile.retry_max_ms, 10, MS_PER_HOUR, "what that pause grows to"),
    DURATION("recovery", "repeatWindow", reconcile.policy.repeat_window_ms, MS_PER_MIN, 365 * MS_PER_DAY,
             "a fault of the same device within it escalates"),
    NUMBER("recovery", "rebootsMax", reconcile.policy.reboots_max, 0, 100,
           "reboots for a device within the window; then the node is replaced"),
    NUMBER("recovery", "replacesMax", reconcile.policy.replaces_max, 0, 100,
           "replacements of a slot within the window; then a person is asked"),
    NUMBER("recovery", "budgetPercent", reconcile.policy.budget_percent, 0, 100,
           "at most so many percent of a group are in repair, and at least one node may be"),
    NUMBER("recovery", "breakerPercent", reconcile.policy.breaker_percent, 1, 100,
           "when more than so many percent of a group fail, its repairs are held"),
    NUMBER("recovery", "breakerMin", reconcile.policy.breaker_min, 1, 10000,
           "but not before more than so many nodes do"),
    DURATION("recovery", "breakerWindow", reconcile.policy.breaker_window_ms, MS_PER_S, MS_PER_DAY,
             "failures within it are counted together"),
    DURATION("recovery", "breakerCloseAfter", reconcile.policy.breaker_close_after_ms, MS_PER_S, MS_PER_DAY,
             "repairs go on when the count has been back under the limit for so long"),

    DURATION("history", "keepFor", reconcile.history_ms, MS_PER_HOUR, 3650 * MS_PER_DAY,
             "how long decisions, past verdicts and ended operations of clusters are kept"),
    NUMBER("history", "verdictsPerNode", reconcile.verdicts_keep, 100, 100000,
           "never more verdicts of one node, in each state"),
    NUMBER("history", "decisionsPerNode", reconcile.decisions_keep, 10, 100000, "never more decisions of one node"),
    NUMBER("history", "events", reconcile.events_keep, 1000, 100000000,
           "lines of the timeline that are kept, of all clusters together"),

    FIXED_NUMBER("zoneLostMin", reconcile.policy.zone_lost_min,
                 "so many nodes of a zone that vanish together are the zone's fault, not theirs"),
    FIXED_DURATION("zoneWindow", reconcile.policy.zone_window_ms, "within this they vanish together"),
    FIXED_DURATION("foldWindow", reconcile.policy.fold_window_ms,
                   "codes of one device this close to each other are one incident"),
};
const size_t setting_count = ARRAY_LEN(settings);
_Static_assert(ARRAY_LEN(settings) <= SERVICE_SETTINGS_MAX, "the doors have no place for it");

int64_t setting_get(const struct config *config, const struct setting *setting)
{
    const char *at = (const char *)config + setting->offset;
    int64_t value;
    int small;
    if (setting->size == sizeof(value)) {
        memcpy(&value, at, sizeof(value));
        return value;
    }
    memcpy(&small, at, sizeof(small));
    return small;
}

void settings_show(const struct config *config, struct service_policy *ret_policy)
{
    static struct config standard; /* too large for a stack, and the same each time */
    config_default(&standard);
    *ret_policy = (struct service_policy){.count = setting_count};
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *setting = &settings[i];
        ret_policy->settings[i] = (struct service_setting){
            .section = setting->section,
            .name = setting->name,
            .help = setting->help,
            .is_duration = setting->type == SETTING_DURATION,
            .value = setting_get(config, setting),
            .standard = setting_get(&standard, setting),
            .min = setting->min,
            .max = setting->max,
            .source = setting->section[0] == '\0' ? SETTING_SOURCE_FIXED
                      : config->configured[i]     ? SETTING_SOURCE_FILE
                                                  : SETTING_SOURCE_DEFAULT,
        };
    }
}
