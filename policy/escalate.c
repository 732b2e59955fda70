/*
 * Escalation: what the table (or the driver's own word, or a rate) asks for, raised by what was tried before.
 *
 *   reset → reboot, where the agent offers none, where it failed or did not hold, where the resets are used up, after a reboot
 *            of this device, and when more than one device asks for one
 *   reboot → replace, when the fault came back after a reboot of this device, or when the reboots are used up; for
 *            codes whose repeat is for a person (the table's, and those that programs cause): a person
 *   reboot → replace, whatever the code, when the machine did not come back from the last one
 *   reboot → replace, for a device that was replaced away before and is back, and on probation (probation.c)
 *   reboot → replace, on a machine whose past weighs too much (lemon.c), where a site says how much
 *   any of these, and what the table wants replaced at once → a person on such a machine, where the site wants one
 *   reset, reboot → replace, where a job that resumes by itself had the node and the group has such nodes always replaced
 *   replace → a person, when the slot has eaten its replacements
 *
 * Codes whose repeat says nothing about the machine (the driver's firmware, settings) go to a person instead of a new one.
 */
#include "policy/evaluate.h"

#include "base/text.h"

#define TIMES_MAX 24

static const char *times(int count, char buffer[TIMES_MAX])
{
    policy_say(buffer, TIMES_MAX, count == 1 ? "once" : "%d times", count);
    return buffer;
}

static void say_slot_used(struct policy_outcome *outcome, int replaces, int allowed, const char *span)
{
    if (allowed == 0) {
        text_copy_cut(outcome->because, sizeof(outcome->because),
                      "Another machine would be due, and none is given here: a person has to look");
        text_copy_cut(outcome->refused_why, sizeof(outcome->refused_why), "no replacements are allowed here");
        return;
    }
    policy_say(outcome->because, sizeof(outcome->because),
               "The slot was replaced %s in %s and still fails, so the cause is not the machine: a person has to look",
               times(replaces, (char[TIMES_MAX]){0}), span);
    policy_say(outcome->refused_why, sizeof(outcome->refused_why), "%d of %d replacements in %s are used", replaces,
               allowed, span);
}

struct policy_outcome policy_replace_or_person(const struct policy_snapshot *snapshot, const struct ledger *ledger,
                                               enum decision_rule rule, const char *because)
{
    struct policy_outcome outcome = {.action = ACTION_REPLACE, .rule = rule, .refused = ACTION_REBOOT};
    char span[POLICY_SPAN_MAX];
    if (policy_is_lemon_for_person(&snapshot->settings, ledger))
        return policy_lemon_for_person(snapshot, ledger);
    policy_span(snapshot->settings.repeat_window_ms, span);
    text_copy_cut(outcome.because, sizeof(outcome.because), because);
    if (ledger->replaces_weighed < snapshot->settings.replaces_max)
        return outcome;
    outcome.action = ACTION_SUPPORT;
    outcome.rule = RULE_REPLACES_EXHAUSTED;
    outcome.attempts_used = outcome.slot_used = true;
    outcome.refused = ACTION_REPLACE;
    bool of_weeks = ledger->replaces < snapshot->settings.replaces_max;
    say_slot_used(&outcome, of_weeks ? ledger->known_replaces : ledger->replaces, snapshot->settings.replaces_max,
                  of_weeks ? policy_span(POLICY_MEMORY_MS, span) : span);
    return outcome;
}

struct policy_outcome policy_person(enum decision_rule rule, const char *because, const char *refused_why)
{
    struct policy_outcome outcome = {.action = ACTION_SUPPORT, .rule = rule, .refused = ACTION_REPLACE};
    text_copy_cut(outcome.because, sizeof(outcome.because), because);
    text_copy_cut(outcome.refused_why, sizeof(outcome.refused_why), refused_why);
    return outcome;
}

static struct policy_outcome used_up(struct policy_outcome outcome)
{
    outcome.attempts_used = true;
    return outcome;
}

/* Of one device any code is the same trouble, and yet not the same fault. */
static bool is_the_same(const struct policy_repair *reboot, const struct finding *lead)
{
    const char *code = text_or_empty(reboot->code);
    return code[0] == '\0' || lead->verdict == NULL || text_equal(code, lead->verdict->code);
}

/* A fault came back after a reboot of this device. */
static struct policy_outcome after_reboot(const struct policy_snapshot *snapshot, const struct ledger *ledger,
                                          const struct finding *lead)
{
    char time[POLICY_TIME_MAX], recurrence[REASON_MAX_BYTES], because[REASON_MAX_BYTES];
    bool same = is_the_same(ledger->reboot, lead);
    policy_time(ledger->reboot->at, time);
    policy_say(recurrence, sizeof(recurrence),
               same ? "It came back after the reboot of %s" : "It comes after the reboot of %s, which was for %s there",
               time, ledger->reboot->code);
    if (lead->again == ACTION_CLASS_SUPPORT) {
        policy_say(because, sizeof(because), "%s, and the table sends a repeat to a person", recurrence);
        return used_up(policy_person(RULE_REPEAT_NEEDS_PERSON, because,
                                     "no source says that another machine helps against this code"));
    }
    policy_say(because, sizeof(because), "%s, so %s and the machine is replaced", recurrence,
               same ? "another reboot will not help" : "the reboot did not fix the device");
    struct policy_outcome outcome = policy_replace_or_person(snapshot, ledger, RULE_REPEAT_AFTER_REBOOT, because);
    if (outcome.action == ACTION_REPLACE)
        policy_say(outcome.refused_why, sizeof(outcome.refused_why), "it was rebooted for this device at %s and %s",
                   time, same ? "the fault came back" : "it is at fault again");
    return outcome;
}

/* Each of its reboots is too long ago to count in full, and together they weigh as much as one that does. */
static struct policy_outcome after_weeks(const struct policy_snapshot *snapshot, const struct ledger *ledger,
                                         const struct finding *lead)
{
    char span[POLICY_SPAN_MAX], count[TIMES_MAX], because[REASON_MAX_BYTES];
    bool for_person = lead->again == ACTION_CLASS_SUPPORT;
    policy_say(because, sizeof(because), "It was rebooted %s for this device in %s, so %s",
               times(ledger->known_reboots, count), policy_span(POLICY_MEMORY_MS, span),
               for_person ? "a person has to look" : "the machine is replaced");
    if (for_person)
        return used_up(policy_person(RULE_REPEAT_WITHIN_WEEKS, because,
                                     "no source says that another machine helps against this code"));
    struct policy_outcome outcome = policy_replace_or_person(snapshot, ledger, RULE_REPEAT_WITHIN_WEEKS, because);
    if (outcome.action == ACTION_REPLACE)
        policy_say(outcome.refused_why, sizeof(outcome.refused_why),
                   "its reboots of %s weigh as much as one of the last days", span);
    return outcome;
}

static struct policy_outcome first_reboot(const struct policy_snapshot *snapshot, const struct ledger *ledger,
                                          const struct finding *lead, enum decision_rule rule, const char *no_reset)
{
    struct policy_outcome outcome = {.action = ACTION_REBOOT, .rule = rule, .refused = ACTION_REPLACE};
    char span[POLICY_SPAN_MAX];
    policy_span(snapshot->settings.repeat_window_ms, span);
    bool of_device = lead->verdict != NULL && lead->verdict->device[0] != '\0';
    policy_say(outcome.because, sizeof(outcome.because), "%s%s (%d of %d allowed%s in %s)",
               no_reset != NULL ? no_reset : "",
               no_reset != NULL ? ", so a reboot of the node is due" : "A reboot is due", ledger->reboots + 1,
               snapshot->settings.reboots_max, of_device ? " for this device" : "", span);
    bool no_machine_helps = policy_is_gsp_like(lead->row) && !lead->driver_word;
    policy_say(outcome.refused_why, sizeof(outcome.refused_why),
               no_machine_helps ? "a reboot may clear it; one that comes again and again within %s is for a person"
               : lead->again == ACTION_CLASS_SUPPORT
                   ? "a reboot may clear it; a fault that comes back within %s is for a person"
                   : "a reboot may clear it; only a fault that comes back within %s costs the machine",
               span);
    return outcome;
}

/* The reboots are used up: the table asks for no more than another one, or none of them had an effect. */
static struct policy_outcome after_all_reboots(const struct policy_snapshot *snapshot, const struct finding *lead,
                                               const struct ledger *ledger)
{
    const struct policy_settings *settings = &snapshot->settings;
    char span[POLICY_SPAN_MAX], because[REASON_MAX_BYTES];
    bool for_person = lead->again == ACTION_CLASS_SUPPORT || (policy_is_gsp_like(lead->row) && !lead->driver_word);
    bool of_weeks = ledger->reboots < settings->reboots_max;
    int reboots = of_weeks ? ledger->known_reboots : ledger->reboots;
    policy_span(of_weeks ? POLICY_MEMORY_MS : settings->repeat_window_ms, span);
    const char *so = for_person ? "a person has to look" : "the machine is replaced";
    if (settings->reboots_max == 0)
        policy_say(because, sizeof(because), "A reboot would be due, and none is allowed here, so %s", so);
    else
        policy_say(because, sizeof(because), "Rebooted %s in %s without clearing it, so %s",
                   times(reboots, (char[TIMES_MAX]){0}), span, so);
    if (for_person)
        return used_up(policy_person(RULE_REBOOTS_EXHAUSTED, because,
                                     "no source says that another machine helps against this code"));
    struct policy_outcome outcome = policy_replace_or_person(snapshot, ledger, RULE_REBOOTS_EXHAUSTED, because);
    if (outcome.action == ACTION_REPLACE && settings->reboots_max == 0)
        text_copy_cut(outcome.refused_why, sizeof(outcome.refused_why), "no reboots are allowed here");
    else if (outcome.action == ACTION_REPLACE)
        policy_say(outcome.refused_why, sizeof(outcome.refused_why), "%d of %d reboots for it in %s are used", reboots,
                   settings->reboots_max, span);
    return outcome;
}

/* Another reboot of a machine that is not there leads nowhere, and no code says anything about such a machine. */
static struct policy_outcome after_no_return(const struct policy_snapshot *snapshot, const struct ledger *ledger)
{
    char time[POLICY_TIME_MAX], told[POLICY_ERROR_MAX], because[REASON_MAX_BYTES];
    policy_say(because, sizeof(because), "The reboot of %s did not bring the machine back%s, so it is replaced",
               policy_time(ledger->no_return->at, time), policy_error(ledger->no_return, told));
    struct policy_outcome outcome = policy_replace_or_person(snapshot, ledger, RULE_REBOOT_FAILED, because);
    if (outcome.action == ACTION_REPLACE)
        text_copy_cut(outcome.refused_why, sizeof(outcome.refused_why),
                      "the last reboot did not bring the machine back");
    return outcome;
}

static struct policy_outcome reboot_or_more(const struct policy_snapshot *snapshot, const struct finding *lead,
                                            const struct ledger *ledger, enum decision_rule rule, const char *no_reset)
{
    const struct policy_settings *settings = &snapshot->settings;
    char span[POLICY_SPAN_MAX], because[REASON_MAX_BYTES];
    policy_span(settings->repeat_window_ms, span);
    if (policy_is_gsp_like(lead->row) && !lead->driver_word && ledger->gsp_reboots + 1 >= lead->row->rate_count) {
        policy_say(because, sizeof(because),
                   "Time %d within %s despite reboots: the driver or its firmware needs a person",
                   ledger->gsp_reboots + 1,
                   ledger->reboots < ledger->gsp_reboots ? policy_span(POLICY_MEMORY_MS, span) : span);
        return used_up(policy_person(RULE_RATE_EXCEEDED, because,
                                     "the driver and its firmware would be the same on another machine"));
    }
    if (policy_is_lemon_for_person(settings, ledger))
        return policy_lemon_for_person(snapshot, ledger); /* and stays so, whatever was done to it meanwhile */
    if (ledger->reboot != NULL && (lead->again == ACTION_CLASS_REPLACE || lead->again == ACTION_CLASS_SUPPORT))
        return after_reboot(snapshot, ledger, lead);
    if (ledger->recurred >= 1000 && (lead->again == ACTION_CLASS_REPLACE || lead->again == ACTION_CLASS_SUPPORT))
        return after_weeks(snapshot, ledger, lead);
    if (ledger->reboots >= settings->reboots_max || ledger->reboots_weighed >= settings->reboots_max)
        return after_all_reboots(snapshot, lead, ledger);
    if (ledger->no_return != NULL)
        return after_no_return(snapshot, ledger);
    if (ledger->recurring != NULL)
        return policy_after_recurring(snapshot, ledger);
    const struct policy_repair *failed = policy_failed_probation(snapshot, lead, ledger, false);
    /* The driver and its firmware come with the next machine, too: their own count ends in a person. */
    bool no_machine_helps = policy_is_gsp_like(lead->row) && !lead->driver_word;
    if (failed != NULL && failed->kind != OPERATION_KIND_RESET && !no_machine_helps)
        return policy_after_probation(snapshot, lead, ledger, failed);
    if (policy_is_lemon(settings, ledger))
        return policy_after_lemon(snapshot, lead, ledger);
    return first_reboot(snapshot, ledger, lead, rule, no_reset);
}

/* A reset is tried before a reboot, and not after one: what has gone up the ladder does not come down. */
static struct policy_outcome reset_or_more(const struct policy_snapshot *snapshot, const struct finding *lead,
                                           const struct ledger *ledger, enum decision_rule word)
{
    const struct policy_settings *settings = &snapshot->settings;
    const struct policy_repair *last = ledger->reset, *failed = policy_failed_probation(snapshot, lead, ledger, false);
    char span[POLICY_SPAN_MAX], time[POLICY_TIME_MAX], told[POLICY_ERROR_MAX], why[REASON_MAX_BYTES];
    if (ledger->no_reset != NULL)
        return reboot_or_more(snapshot, lead, ledger, word != RULE_NONE ? word : RULE_RESET_FALLS_BACK_TO_REBOOT,
                              ledger->no_reset);
    if (settings->resets_max == 0)
        return reboot_or_more(snapshot, lead, ledger, RULE_RESETS_NOT_ALLOWED,
                              "A reset would be due, and none is allowed here");
    if (ledger->reboots > 0)
        return reboot_or_more(snapshot, lead, ledger, word != RULE_NONE ? word : RULE_RESET_FALLS_BACK_TO_REBOOT,
                              "It was rebooted for this before");
    if (last != NULL && !last->succeeded) {
        policy_say(why, sizeof(why), "The reset of %s failed%s", policy_time(last->at, time), policy_error(last, told));
        return reboot_or_more(snapshot, lead, ledger, RULE_RESET_FAILED, why);
    }
    if (ledger->resets_weighed >= settings->resets_max) {
        bool of_weeks = ledger->resets < settings->resets_max;
        policy_say(why, sizeof(why), "Reset %s in %s without clearing it",
                   times(of_weeks ? ledger->known_resets : ledger->resets, (char[TIMES_MAX]){0}),
                   policy_span(of_weeks ? POLICY_MEMORY_MS : settings->repeat_window_ms, span));
        return reboot_or_more(snapshot, lead, ledger, RULE_RESETS_EXHAUSTED, why);
    }
    if (failed != NULL && failed->kind == OPERATION_KIND_RESET) {
        policy_say(why, sizeof(why), "It fails the probation of %s after the reset of %s",
                   policy_span(settings->probation_ms, span), policy_time(failed->at, time));
        return reboot_or_more(snapshot, lead, ledger, RULE_REPEAT_AFTER_RESET, why);
    }
    struct policy_outcome outcome =
        reboot_or_more(snapshot, lead, ledger, word != RULE_NONE ? word : RULE_TABLE_RESET, NULL);
    if (outcome.action != ACTION_REBOOT)
        return outcome;
    outcome.action = ACTION_RESET;
    outcome.refused = ACTION_REBOOT;
    policy_say(outcome.because, sizeof(outcome.because),
               "A reset of the GPU is due (%d of %d allowed for this device in %s)", ledger->resets + 1,
               settings->resets_max, policy_span(settings->repeat_window_ms, span));
    text_copy_cut(outcome.refused_why, sizeof(outcome.refused_why),
                  "a reset may clear it; one that fails, or a fault that comes back, is for a reboot");
    return outcome;
}

static struct policy_outcome quiet(enum action action, enum decision_rule rule, const char *because,
                                   const char *refused_why)
{
    struct policy_outcome outcome = {.action = action, .rule = rule, .refused = ACTION_REBOOT};
    text_copy_cut(outcome.because, sizeof(outcome.because), because);
    text_copy_cut(outcome.refused_why, sizeof(outcome.refused_why), refused_why);
    return outcome;
}

static struct policy_outcome watch(const struct finding *lead)
{
    char because[REASON_MAX_BYTES] = "Recorded and counted, nothing is done";
    char span[POLICY_SPAN_MAX];
    if (lead->rate_exceeded) {
        policy_say(because, sizeof(because),
                   "%d times within %s on the same part: diagnostics are due, once it is idle", lead->bursts,
                   policy_span(lead->row->rate_window_ms, span));
        return quiet(ACTION_WATCH, RULE_RATE_EXCEEDED, because,
                     "a fault that programs cause never costs the node, however often");
    }
    if (lead->row == NULL && !lead->driver_word) {
        policy_say(
            because, sizeof(because),
            "It is recorded and counted, and nothing else follows until a row of faultTables says what it asks for "
            "(code: %s, action, and why)",
            lead->verdict->code);
        return quiet(ACTION_WATCH, RULE_UNKNOWN_CODE, because,
                     "nobody has said what the code means, and a node is not taken for a word");
    }
    if (lead->bursts > 0 && lead->action == ACTION_CLASS_WATCH)
        policy_say(because, sizeof(because), "Recorded and counted, %d of %d within %s", lead->bursts,
                   lead->row->rate_count, policy_span(lead->row->rate_window_ms, span));
    else if (lead->ended)
        text_copy_cut(because, sizeof(because), "Recorded; a later line says that it is over");
    else if (lead->row != NULL && lead->row->lasts_ms > 0)
        policy_say(because, sizeof(because), "Recorded; after %s of it %s", policy_span(lead->row->lasts_ms, span),
                   lead->row->lasts_action == ACTION_CLASS_REBOOT ? "a reboot is due" : "a person has to look");
    return quiet(ACTION_WATCH, lead->driver_word ? RULE_DRIVER_WORD : RULE_WATCH, because,
                 "the code alone is no reason to touch the node");
}

static struct policy_outcome ignore(const struct finding *lead)
{
    if (lead->driver_word)
        return quiet(ACTION_NONE, RULE_DRIVER_WORD, "The driver's own word stands above the table, so nothing is done",
                     "the driver says that the GPU needs nothing, and it is nearest to it");
    return quiet(ACTION_NONE, RULE_NO_ACTION, "The table asks for nothing", "the code only informs");
}

/* The row gave it so long, and it is still there. */
static struct policy_outcome after_lasting(const struct policy_snapshot *snapshot, const struct finding *lead,
                                           const struct ledger *ledger)
{
    char span[POLICY_SPAN_MAX], because[REASON_MAX_BYTES];
    policy_span(lead->row->lasts_ms, span);
    if (lead->action == ACTION_CLASS_REBOOT)
        return reboot_or_more(snapshot, lead, ledger, RULE_LASTS, NULL);
    if (lead->row->lasts_action == ACTION_CLASS_REBOOT)
        policy_say(because, sizeof(because), "It has lasted more than %s, from the boot on: a person has to look",
                   span);
    else
        policy_say(because, sizeof(because), "It has lasted more than %s: a person has to look", span);
    return policy_person(RULE_LASTS, because,
                         lead->row->lasts_action == ACTION_CLASS_REBOOT
                             ? "it was there from the boot on, so another boot does not help"
                             : "what was only watched names no part that another machine would fix");
}

static struct policy_outcome escalate(const struct policy_snapshot *snapshot, const struct finding *lead,
                                      const struct ledger *ledger)
{
    enum decision_rule word = lead->driver_word     ? RULE_DRIVER_WORD
                              : lead->rate_exceeded ? RULE_RATE_EXCEEDED
                                                    : RULE_NONE;
    char because[REASON_MAX_BYTES] = "The table asks for a new machine", span[POLICY_SPAN_MAX];
    if (lead->lasted_ms > 0)
        return after_lasting(snapshot, lead, ledger);
    if (lead->rate_exceeded)
        policy_say(because, sizeof(because), "%d times within %s on the same part: %s", lead->bursts,
                   policy_span(lead->row->rate_window_ms, span),
                   lead->action == ACTION_CLASS_REPLACE ? "the machine is replaced" : "a person has to look");
    struct policy_outcome outcome = {0};
    const struct policy_repair *failed;
    switch (lead->action) {
    case ACTION_CLASS_IGNORE:
        return ignore(lead);
    case ACTION_CLASS_APP:
        return quiet(ACTION_NONE, RULE_APPLICATION_FAULT, "A fault of the program, not of the node",
                     "an application fault never costs a node");
    case ACTION_CLASS_WATCH:
        failed = policy_failed_probation(snapshot, lead, ledger, true);
        return failed != NULL ? policy_after_probation(snapshot, lead, ledger, failed) : watch(lead);
    case ACTION_CLASS_RESET:
        return reset_or_more(snapshot, lead, ledger, word);
    case ACTION_CLASS_REBOOT:
        if (lead->of_fabric)
            return reboot_or_more(snapshot, lead, ledger, RULE_FABRIC_OF_SEVERAL,
                                  "Several GPUs of the node say it at once");
        return reboot_or_more(snapshot, lead, ledger, word != RULE_NONE ? word : RULE_TABLE_REBOOT, NULL);
    case ACTION_CLASS_REPLACE:
        outcome = policy_replace_or_person(snapshot, ledger, word != RULE_NONE ? word : RULE_TABLE_REPLACE, because);
        if (outcome.action == ACTION_REPLACE)
            text_copy_cut(outcome.refused_why, sizeof(outcome.refused_why),
                          "the table names no case in which a reboot clears it");
        return outcome;
    case ACTION_CLASS_SUPPORT:
        return policy_person(lead->rate_exceeded ? RULE_RATE_EXCEEDED : RULE_SUPPORT_NEEDED,
                             lead->rate_exceeded ? because : "No machine knows the remedy: a person has to look",
                             "nothing says that another machine would not do the same");
    }
    return outcome;
}

/* What a program does is no fault of the hardware, however often it does it. */
static bool is_of_program(const struct finding *lead)
{
    return lead->verdict != NULL && fault_class_of(lead->verdict->code) == FAULT_CLASS_APPLICATION;
}

/* The job goes on without the node, so nothing waits for the quicker repair: HyperPod's auto-resume always replaces. */
static struct policy_outcome after_auto_resume(const struct policy_snapshot *snapshot, const struct ledger *ledger,
                                               enum action due)
{
    char because[REASON_MAX_BYTES];
    policy_say(
        because, sizeof(because),
        "A %s would be due, but a job that resumes by itself had the node, and its group has such nodes replaced",
        due == ACTION_RESET ? "reset" : "reboot");
    struct policy_outcome outcome = policy_replace_or_person(snapshot, ledger, RULE_AUTO_RESUME_REPLACES, because);
    if (outcome.action == ACTION_REPLACE)
        policy_say(outcome.refused_why, sizeof(outcome.refused_why), "autoResumeReplaces of the group says so");
    return outcome;
}

struct policy_outcome policy_escalate(const struct policy_snapshot *snapshot, const struct finding *lead,
                                      const struct ledger *ledger)
{
    struct policy_outcome outcome = escalate(snapshot, lead, ledger);
    bool less = outcome.action == ACTION_RESET || outcome.action == ACTION_REBOOT;
    return less && ledger->node->resumes_elsewhere && !is_of_program(lead)
               ? after_auto_resume(snapshot, ledger, outcome.action)
               : outcome;
}
