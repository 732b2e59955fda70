/* The list of settings; where the numbers come from stands beside their defaults, in policy/settings.c and config/loop_settings.c. */
#include "server/config/settings.h"

#include "base/clock.h"
#include "base/text.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(struct config, field), sizeof(((struct config *)NULL)->field)
#define ROW(section, name, help, kind, at, min, max, server_only)                  \
    {                                                                              \
        section, name, help, SETTING_KIND_##kind, at, min, max, server_only, false \
    }
/* What the policy document can say, too, for groups of its choice. */
#define DURATION(section, name, field, min, max, help) ROW(section, name, help, DURATION, AT(field), min, max, false)
#define NUMBER(section, name, field, min, max, help) ROW(section, name, help, NUMBER, AT(field), min, max, false)
#define WORD(section, name, kind, field, last, help) ROW(section, name, help, kind, AT(field), 0, last, false)
#define WINDOWS(section, name, field, help) ROW(section, name, help, WINDOWS, AT(field), 0, 0, false)
/* The same by class of fault; a file says it for all of them, an entry of classes for one. */
#define CLASSED(section, name, kind, field, min, max, help)                       \
    {                                                                             \
        section, name, help, SETTING_KIND_##kind, offsetof(struct config, field), \
            sizeof(((struct config *)NULL)->field[0]), min, max, false, true      \
    }
/* What is one for all groups. */
#define SERVER_DURATION(section, name, field, min, max, help) \
    ROW(section, name, help, DURATION, AT(field), min, max, true)
#define SERVER_NUMBER(section, name, field, min, max, help) ROW(section, name, help, NUMBER, AT(field), min, max, true)
#define FIXED_DURATION(name, field, help) SERVER_DURATION("", name, field, 0, 0, help)
#define FIXED_NUMBER(name, field, help) SERVER_NUMBER("", name, field, 0, 0, help)

const struct setting settings[] = {
    SERVER_DURATION("agents", "heartbeatInterval", heartbeat_interval_ms, 100, 10 * MS_PER_MIN,
                    "how often an agent says that it lives"),
    SERVER_DURATION("agents", "silentAfter", reconcile.policy.silent_after_ms, MS_PER_S, MS_PER_DAY,
                    "an agent not heard for so long is no verdict, never healthy"),
    DURATION("agents", "unreachableAfter", reconcile.policy.unreachable_after_ms, MS_PER_S, MS_PER_DAY,
             "a node that neither its agent nor the scheduler has heard of for so long is rebooted"),

    SERVER_DURATION("recovery", "observeInterval", reconcile.observe_interval_ms, 100, MS_PER_HOUR,
                    "how often the scheduler is looked at"),
    DURATION("recovery", "verifyQuiet", reconcile.verify_quiet_ms, 0, MS_PER_HOUR,
             "how long a node stays without a critical verdict before it is given back"),
    DURATION("recovery", "evictDeadline", reconcile.evict_deadline_ms, MS_PER_S, MS_PER_DAY,
             "how long jobs may take to go once they are requeued or ended"),
    DURATION("recovery", "resumeDeadline", reconcile.resume_deadline_ms, 0, MS_PER_HOUR,
             "how long a job whose step lives on without the node (srun --auto-resume) may take to leave it"),
    SERVER_DURATION("recovery", "diagnosisSettle", diagnosis_settle_ms, 0, 10 * MS_PER_MIN,
                    "how long after a step (srun --auto-resume) has failed a fault of its nodes is waited for"),
    SERVER_DURATION("recovery", "backendDeadline", reconcile.backend_deadline_ms, MS_PER_S, MS_PER_DAY,
                    "how long a call to the scheduler or provider is tried"),
    DURATION("recovery", "joinDeadline", reconcile.join_deadline_ms, MS_PER_S, MS_PER_DAY,
             "how long an agent may take to report its new boot"),
    DURATION("recovery", "verifyDeadline", reconcile.verify_deadline_ms, MS_PER_S, MS_PER_DAY,
             "how long the return checks may take"),
    SERVER_DURATION("recovery", "minCountDeadline", reconcile.provision.min_count_deadline_ms, MS_PER_S,
                    14 * MS_PER_DAY,
                    "how long a group with a minimum of nodes may take to reach it before it is taken back"),
    SERVER_DURATION("recovery", "launchPauseMin", reconcile.provision.launch_pause_min_ms, 10, MS_PER_DAY,
                    "the first pause before a launch that failed is tried again"),
    SERVER_DURATION("recovery", "launchPauseMax", reconcile.provision.launch_pause_max_ms, 10, MS_PER_DAY,
                    "what that pause grows to"),
    DURATION("recovery", "prepareDeadline", reconcile.prepare_deadline_ms, MS_PER_S, MS_PER_DAY,
             "how long the lifecycle scripts of a new instance may take, all attempts together"),
    DURATION("recovery", "scriptTimeLimit", reconcile.script_limit_ms, MS_PER_S, MS_PER_DAY,
             "how long one attempt of one script may take"),
    NUMBER("recovery", "scriptAttempts", reconcile.script_attempts_max, 1, 20, "how many attempts each script has"),
    DURATION("recovery", "resetTimeLimit", reconcile.reset_limit_ms, MS_PER_S, MS_PER_HOUR,
             "how long the reset of a device may take; then the node is rebooted"),
    DURATION("recovery", "rebootAgentDeadline", reconcile.reboot_agent_ms, MS_PER_S, MS_PER_DAY,
             "how long a reboot by the node's agent may take until the new boot; then the next method is tried"),
    DURATION("recovery", "rebootSchedulerDeadline", reconcile.reboot_scheduler_ms, MS_PER_S, MS_PER_DAY,
             "how long a reboot by the scheduler may take until the new boot; then the next method is tried"),
    DURATION("recovery", "rebootSshDeadline", reconcile.reboot_ssh_ms, MS_PER_S, MS_PER_DAY,
             "how long a reboot by SSH may take until the new boot; then the next method is tried"),
    DURATION(
        "recovery", "rebootBmcDeadline", reconcile.reboot_bmc_ms, MS_PER_S, MS_PER_DAY,
        "how long a reboot by each kind of reset of a BMC may take until the new boot; then the next method is tried"),
    DURATION("recovery", "rebootProviderDeadline", reconcile.reboot_provider_ms, MS_PER_S, MS_PER_DAY,
             "how long a reboot by the provider, where rebootMethods names it, may take until the new boot; then the "
             "next method is tried"),
    DURATION("recovery", "rebootStuckAfter", reconcile.reboot_stuck_ms, MS_PER_S, MS_PER_DAY,
             "a machine that still reports its old boot this long after an accepted reboot counts as stuck: the next "
             "method is tried"),
    DURATION("recovery", "rebootDelay", reconcile.reboot_delay_ms, 0, 10 * MS_PER_MIN,
             "how long an agent waits before it reboots, after its message to logged-in users"),
    SERVER_DURATION("recovery", "retryMin", reconcile.retry_min_ms, 10, MS_PER_HOUR,
                    "the first pause between tries of a step"),
    SERVER_DURATION("recovery", "retryMax", reconcile.retry_max_ms, 10, MS_PER_HOUR, "what that pause grows to"),
    DURATION("recovery", "repeatWindow", reconcile.policy.repeat_window_ms, MS_PER_MIN, 365 * MS_PER_DAY,
             "a fault of the same device within it escalates"),
    NUMBER("recovery", "resetsMax", reconcile.policy.resets_max, 0, 100,
           "resets of a device within the window; then the node is rebooted; 0: a reset is always a reboot"),
    NUMBER("recovery", "rebootsMax", reconcile.policy.reboots_max, 0, 100,
           "reboots for a device within the window; then the node is replaced"),
    NUMBER("recovery", "replacesMax", reconcile.policy.replaces_max, 0, 100,
           "replacements of a slot within the window; then a person is asked"),
    DURATION("recovery", "probation", reconcile.policy.probation_ms, 0, 30 * MS_PER_DAY,
             "after its return a machine gets less tolerance for so long: a fault of the same kind escalates"),
    WORD("recovery", "sameHardware", SAME, reconcile.policy.recurring, POLICY_RECURRING_REPLACE,
         "what is done about a machine that was given up and comes back: tell, check (deeply) or replace"),
    NUMBER("recovery", "lemonScore", reconcile.policy.lemon_score, 0, 100000,
           "a machine whose past weighs so many points or more is not rebooted again; 0: none is taken for a lemon"),
    WORD("recovery", "lemonAction", LEMON, reconcile.policy.lemon_action, POLICY_LEMON_PERSON,
         "what becomes of such a machine: replace, or person (one is asked)"),
    DURATION("recovery", "lemonWindow", reconcile.policy.lemon_window_ms, MS_PER_DAY, 365 * MS_PER_DAY,
             "a repair weighs 100 points, 200 if the machine did not return from it, and less by the day to nothing "
             "after this"),
    NUMBER("recovery", "budgetPercent", reconcile.policy.budget_percent, 0, 100,
           "at most so many percent of a group are in repair, and at least one node may be"),
    NUMBER("recovery", "budgetMax", reconcile.policy.budget_max, 0, 100000,
           "and never more than so many nodes; 0: the share alone counts"),
    NUMBER("recovery", "minHealthyPercent", reconcile.policy.min_healthy_percent, 0, 100,
           "a repair begins only while so many percent of the nodes that a group shall have are healthy; 0: always"),
    NUMBER("recovery", "minHealthyCount", reconcile.policy.min_healthy_count, 0, 100000,
           "and only while so many nodes are; 0: always"),
    WORD("recovery", "withoutReplacement", WITHOUT, reconcile.policy.without_replacement, POLICY_WITHOUT_REPLACE,
         "what a node that is to be replaced does while no machine can be had or too few are idle: wait, reboot "
         "(instead) or replace (all the same)"),
    NUMBER("recovery", "sparesMin", reconcile.policy.spares_min, 0, 100000,
           "a node is replaced only while so many others of its group are healthy and idle; 0: always"),
    WINDOWS("recovery", "notDuring", reconcile.policy.not_during, "hours of the week in which no repair begins"),
    WINDOWS("recovery", "onlyDuring", reconcile.policy.only_during,
            "hours of the week in which repairs begin, and in no others; none: at any time"),
    DURATION("recovery", "spacing", reconcile.policy.spacing_ms, 0, 7 * MS_PER_DAY,
             "so much time lies between the beginnings of two repairs of a group; 0s: none"),
    DURATION("recovery", "capacityPause", reconcile.policy.capacity_pause_ms, MS_PER_S, MS_PER_DAY,
             "a provider that had no machine is not asked again for so long; doubled each time"),
    DURATION("recovery", "capacityPauseMax", reconcile.policy.capacity_pause_max_ms, MS_PER_S, MS_PER_DAY,
             "what that pause grows to"),
    NUMBER("recovery", "protectAfter", reconcile.policy.protect_after, 0, 1000,
           "so many new machines in a row that do not come up stop the replacements of their group; 0: never"),
    DURATION("recovery", "protectWindow", reconcile.policy.protect_window_ms, MS_PER_MIN, 30 * MS_PER_DAY,
             "one that failed longer ago than this before the next does not count"),
    DURATION("recovery", "protectPause", reconcile.policy.protect_pause_ms, MS_PER_S, 30 * MS_PER_DAY,
             "so long after the last of them one replacement is tried; if it comes up, the others go on"),
    NUMBER("recovery", "breakerPercent", reconcile.policy.breaker_percent, 1, 100,
           "when more than so many percent of a group fail, its repairs are held"),
    NUMBER("recovery", "breakerMin", reconcile.policy.breaker_min, 1, 10000,
           "but not before more than so many nodes do"),
    DURATION("recovery", "breakerWindow", reconcile.policy.breaker_window_ms, MS_PER_S, MS_PER_DAY,
             "failures within it are counted together"),
    DURATION("recovery", "breakerCloseAfter", reconcile.policy.breaker_close_after_ms, MS_PER_S, MS_PER_DAY,
             "repairs go on when the count has been back under the limit for so long"),
    SERVER_NUMBER(
        "recovery", "incidentNodes", reconcile.policy.incident_nodes, 2, 10000,
        "so many nodes of one chassis, switch, UltraServer, rack, power domain or zone that fail together are one "
        "incident"),
    SERVER_DURATION("recovery", "incidentWindow", reconcile.policy.incident_window_ms, MS_PER_S, MS_PER_DAY,
                    "within this they fail together"),
    SERVER_DURATION(
        "recovery", "incidentSettle", reconcile.policy.incident_settle_ms, 0, MS_PER_DAY,
        "an incident ends when the place has been back for so long; what still fails is then repaired by itself"),

    CLASSED("recovery", "mode", MODE, reconcile.policy.modes, REPAIR_MODE_OBSERVE, REPAIR_MODE_ACT,
            "how far a decision may go, by fault class: observe, recommend, approve or act"),
    CLASSED(
        "recovery", "jobs", JOBS, reconcile.policy.jobs, 0, JOBS_RULE_COUNT - 1,
        "what becomes of running jobs before a repair, by fault class: table (as the code's row says), wait, signal or "
        "now"),
    CLASSED("recovery", "jobSignal", SIGNAL, reconcile.policy.job_signal, JOB_SIGNAL_USR1, JOB_SIGNAL_COUNT - 1,
            "what asks jobs to checkpoint: USR1, USR2, TERM or INT to the job's steps, with B: before it to its batch "
            "script; a program that does not know it ends"),
    CLASSED("recovery", "drainDeadline", DURATION, reconcile.policy.drain_deadline_ms, 0, 14 * MS_PER_DAY,
            "how long running jobs may go on where they are waited for"),
    DURATION("recovery", "noticeLead", reconcile.policy.notice_lead_ms, 0, 14 * MS_PER_DAY,
             "running jobs give way so long before the date on which the provider takes or interrupts a machine"),
    CLASSED("recovery", "signalDeadline", DURATION, reconcile.policy.signal_deadline_ms, MS_PER_S, 14 * MS_PER_DAY,
            "how long running jobs may go on once they are asked to checkpoint"),
    CLASSED("class", "budgetPercent", NUMBER, reconcile.policy.class_budget_percent, 0, 100,
            "at most so many percent of a group are in repair for faults of one class, and at least one node may be"),
    CLASSED("class", "budgetMax", NUMBER, reconcile.policy.class_budget_max, 0, 100000,
            "and never more than so many nodes; 0: the share alone counts"),
    CLASSED("class", "anyTime", YES_NO, reconcile.policy.any_time, 0, 1,
            "yes: repairs for this class of fault do not wait for notDuring and onlyDuring"),
    DURATION("recovery", "approvalExpires", reconcile.approval_expires_ms, MS_PER_MIN, 14 * MS_PER_DAY,
             "a repair that nobody approved for so long is asked for again only when something new is seen"),

    SERVER_DURATION("history", "keepFor", reconcile.history_ms, MS_PER_HOUR, 3650 * MS_PER_DAY,
                    "how long decisions, past verdicts and ended operations of clusters are kept"),
    SERVER_NUMBER("history", "verdictsPerNode", reconcile.verdicts_keep, 100, 100000,
                  "never more verdicts of one node, in each state"),
    SERVER_NUMBER("history", "decisionsPerNode", reconcile.decisions_keep, 10, 100000,
                  "never more decisions of one node"),
    SERVER_NUMBER("history", "events", reconcile.events_keep, 1000, 100000000,
                  "lines of the timeline that are kept, of all clusters together"),

    FIXED_DURATION("foldWindow", reconcile.policy.fold_window_ms,
                   "codes of one device this close to each other are one incident"),
};
const size_t setting_count = ARRAY_LEN(settings);
_Static_assert(ARRAY_LEN(settings) <= SERVICE_SETTINGS_MAX, "the APIs have no place for it");

#define RECONCILE_AT offsetof(struct config, reconcile)

const struct setting *setting_find(const char *section, const char *name)
{
    for (size_t i = 0; i < setting_count; i++)
        if (text_equal(settings[i].section, section) && text_equal(settings[i].name, name))
            return &settings[i];
    return NULL;
}

void setting_near(const char *section, struct nearest *nearest)
{
    for (size_t i = 0; i < setting_count; i++)
        if (text_equal(settings[i].section, section))
            nearest_see(nearest, settings[i].name);
}

bool setting_is_grouped(const struct setting *setting)
{
    return !setting->server_only && setting->offset >= RECONCILE_AT &&
           setting->offset < RECONCILE_AT + sizeof(struct loop_settings);
}

/* --- what a file has ------------------------------------------------------------------------------------------ */

static int read_duration(const struct setting *setting, const json_t *value, int64_t *ret_value, char *ret_rule)
{
    int64_t ms;
    char low[CLOCK_TEXT_MAX], high[CLOCK_TEXT_MAX];
    if (!json_is_string(value) || clock_parse_duration(json_string_value(value), &ms) != 0)
        snprintf(ret_rule, SETTING_RULE_MAX, "a duration with a unit, such as 250ms, 30s, 5m, 2h or 7d");
    else if (ms < setting->min || ms > setting->max)
        snprintf(ret_rule, SETTING_RULE_MAX, "between %s and %s", clock_format_duration(setting->min, low),
                 clock_format_duration(setting->max, high));
    else
        return *ret_value = ms, 0;
    return STATUS_INVALID;
}

/* One of the words of an enum; what lies outside of the bounds cannot be said. */
static int read_word(const struct setting *setting, const json_t *value, int64_t *ret_value, char *ret_rule)
{
    const char *text = json_is_string(value) ? json_string_value(value) : NULL;
    struct text words AUTO(text) = {0};
    /* These were numbers once, and documents that say them so are kept. */
    bool was_number = setting->kind >= SETTING_KIND_SAME && json_is_integer(value);
    if (was_number && json_integer_value(value) >= setting->min && json_integer_value(value) <= setting->max)
        return *ret_value = json_integer_value(value), 0;
    for (int64_t i = setting->min; i <= setting->max; i++) {
        const char *word = setting_word(setting->kind, i);
        if (text != NULL && text_equal(text, word))
            return *ret_value = i, 0;
        text_printf(&words, "%s%s", i == setting->min ? "" : i < setting->max ? ", " : " or ", word);
    }
    snprintf(ret_rule, SETTING_RULE_MAX, "%s", text_get(&words));
    return STATUS_INVALID;
}

static int read_number(const struct setting *setting, const json_t *value, int64_t *ret_value, char *ret_rule)
{
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < setting->min || number > setting->max) {
        snprintf(ret_rule, SETTING_RULE_MAX, "a whole number from %" PRId64 " to %" PRId64, setting->min, setting->max);
        return STATUS_INVALID;
    }
    *ret_value = number;
    return 0;
}

/* One, or a list; an empty list is none, as is the word by which none are shown. */
static int read_windows(const json_t *value, struct policy_windows *ret_windows, char *ret_rule)
{
    const char *word = json_string_value(value);
    bool none = word != NULL && (word[0] == '\0' || text_equal(word, "none"));
    size_t count = json_is_array(value) ? json_array_size(value) : none ? 0 : 1;
    struct policy_windows windows = {0};
    for (size_t i = 0; i < count && i < POLICY_WINDOWS_MAX; i++) {
        const json_t *one = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_string(one) || policy_window_parse(json_string_value(one), &windows.windows[windows.count]) != 0)
            break;
        windows.count++;
    }
    if ((size_t)windows.count < count) {
        snprintf(ret_rule, SETTING_RULE_MAX,
                 "at most %d windows of the week, or none, each such as \"Mon-Fri 08:00-18:00\" or \"Sat,Sun "
                 "22:00-06:00 +01:00\" "
                 "(an offset from UTC, no time zone)",
                 POLICY_WINDOWS_MAX);
        return STATUS_INVALID;
    }
    *ret_windows = windows;
    return 0;
}

int setting_read(const struct setting *setting, const json_t *value, struct setting_value *ret_value,
                 char ret_rule[SETTING_RULE_MAX])
{
    if (setting->kind == SETTING_KIND_DURATION)
        return read_duration(setting, value, &ret_value->number, ret_rule);
    if (setting->kind == SETTING_KIND_WINDOWS)
        return read_windows(value, &ret_value->windows, ret_rule);
    return setting_word(setting->kind, setting->min) != NULL
               ? read_word(setting, value, &ret_value->number, ret_rule)
               : read_number(setting, value, &ret_value->number, ret_rule);
}

/* --- where it stands ------------------------------------------------------------------------------------------ */

static struct setting_value get_at(const char *at, const struct setting *setting)
{
    struct setting_value value = {0};
    int small;
    if (setting->kind == SETTING_KIND_WINDOWS) {
        memcpy(&value.windows, at, sizeof(value.windows));
    } else if (setting->size == sizeof(value.number)) {
        memcpy(&value.number, at, sizeof(value.number));
    } else {
        memcpy(&small, at, sizeof(small));
        value.number = small;
    }
    return value;
}

static void put_at(char *at, const struct setting *setting, const struct setting_value *value)
{
    int small = (int)value->number;
    if (setting->kind == SETTING_KIND_WINDOWS)
        memcpy(at, &value->windows, sizeof(value->windows));
    else if (setting->size == sizeof(value->number))
        memcpy(at, &value->number, sizeof(value->number));
    else
        memcpy(at, &small, sizeof(small));
}

struct setting_value setting_get(const struct config *config, const struct setting *setting)
{
    return get_at((const char *)config + setting->offset, setting);
}

void setting_put(struct config *config, const struct setting *setting, const struct setting_value *value)
{
    for (int i = 0; i < (setting->classed ? FAULT_CLASS_COUNT : 1); i++)
        put_at((char *)config + setting->offset + (size_t)i * setting->size, setting, value);
}

void setting_put_in(struct loop_settings *in, const struct setting *setting, enum fault_class fault,
                    const struct setting_value *value)
{
    char *at = (char *)in + (setting->offset - RECONCILE_AT);
    if (!setting->classed)
        put_at(at, setting, value);
    for (size_t i = 0; setting->classed && i < FAULT_CLASS_COUNT; i++)
        if (fault == FAULT_CLASS_COUNT || fault == (enum fault_class)i)
            put_at(at + i * setting->size, setting, value);
}

struct setting_value setting_get_in(const struct loop_settings *in, const struct setting *setting,
                                    enum fault_class fault)
{
    size_t i = setting->classed ? (size_t)fault : 0;
    return get_at((const char *)in + (setting->offset - RECONCILE_AT) + i * setting->size, setting);
}
