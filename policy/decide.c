/*
 * The rules: what follows for one node, before the group's limits are asked.
 *
 * Each rule has a name that is stored with the decision; the golden cases in tests/policy/cases show one after another.
 * Order: a person's request → fresh evidence, the worst device first → a person's turn that is not over → silence → a reboot without return
 * → evidence that a reset has answered → stale evidence. For a node fault escalate.c says what it asks for after what was tried, and
 * gates.c whether it may have that.
 */
#include "policy/evaluate.h"
#include "policy/incident.h"

#include "base/own.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

static struct candidate new_candidate(const struct policy_snapshot *snapshot, const struct policy_node *node)
{
    struct candidate candidate;
    memset(&candidate, 0, sizeof(candidate)); /* padding too: equal plans are equal bytes */
    candidate.node = node;
    candidate.severity = SEVERITY_WARN;
    candidate.decision.node_id = node->id;
    candidate.decision.at = snapshot->now_ms;
    candidate.decision.refused = ACTION_NONE;
    candidate.decision.group = DECISION_GROUP_NOT_ASKED;
    candidate.decision.policy_version = snapshot->policy_version;
    text_copy_cut(candidate.decision.table_version, sizeof(candidate.decision.table_version),
                  fault_version_in(&snapshot->faults));
    return candidate;
}

/* --- an incident of the node ---------------------------------------------------------------------------------- */

/* Of several devices the one that asks for most; a used-up slot comes before anything, as it ends all repairs. */
static int rank(const struct policy_outcome *outcome)
{
    static const int ranks[] = {[ACTION_NONE] = 0,  [ACTION_WATCH] = 1,  [ACTION_MARK] = 2,    [ACTION_HOLD] = 2,
                                [ACTION_RESET] = 5, [ACTION_REBOOT] = 6, [ACTION_REPLACE] = 7, [ACTION_SUPPORT] = 4};
    return outcome->slot_used ? 8 : ranks[outcome->action];
}

struct choice {
    const struct incident *incident;
    struct policy_outcome outcome;
    struct ledger ledger;
    struct policy_jobs jobs;      /* the shortest of all devices that need a repair; what is only said ends no jobs */
    const struct incident *hurry; /* of another device, whose jobs these are; NULL: its own are the shortest */
};

/* What a program does once is its own; what it does so often on one part of a GPU that a rate speaks is the GPU's. */
static enum fault_class fault_of(const struct finding *lead)
{
    enum fault_class fault = fault_class_of(lead->verdict->code);
    return fault == FAULT_CLASS_APPLICATION && lead->rate_exceeded ? FAULT_CLASS_GPU : fault;
}

static bool is_finding_only_said(const struct policy_snapshot *snapshot, const struct finding *finding)
{
    enum repair_mode mode = snapshot->settings.modes[fault_of(finding)];
    return mode == REPAIR_MODE_OBSERVE || mode == REPAIR_MODE_RECOMMEND;
}

static bool is_only_said(const struct policy_snapshot *snapshot, const struct choice *choice)
{
    return is_finding_only_said(snapshot, &choice->incident->lead);
}

static bool is_fault(const struct policy_outcome *outcome)
{
    return rank(outcome) > rank(&(struct policy_outcome){.action = ACTION_WATCH});
}

/* What its mode lets happen comes before what is only said of another device; of what is only watched a code that nobody knows comes
 * first, as it needs somebody's word. */
static int weight(const struct policy_snapshot *snapshot, const struct choice *choice)
{
    bool fault = is_fault(&choice->outcome);
    return 2 * rank(&choice->outcome) + (choice->outcome.rule == RULE_UNKNOWN_CODE) +
           (fault && !is_only_said(snapshot, choice) ? 20 : 0);
}

/* Only its rate or its age says it: what many nodes show, or what too few others are left for, may leave it watched. */
static bool is_weak(const struct choice *choice)
{
    return choice->outcome.rule == RULE_LASTS || choice->incident->lead.rate_exceeded;
}

static bool beats(const struct policy_snapshot *snapshot, const struct choice *a, const struct choice *b)
{
    if (weight(snapshot, a) != weight(snapshot, b))
        return weight(snapshot, a) > weight(snapshot, b);
    if (a->outcome.action == ACTION_SUPPORT && is_weak(a) != is_weak(b))
        return is_weak(b);
    if (a->incident->lead.urgency != b->incident->lead.urgency)
        return a->incident->lead.urgency == URGENCY_NOW;
    return a->incident->first_at < b->incident->first_at; /* ties: by device, as they come */
}

/* One reset fixes one device: where others ask for one too, a reboot fixes all of them at once. */
static void ask_others(const struct policy_snapshot *snapshot, const struct policy_node *node,
                       const struct folded *folded, struct choice *choice)
{
    for (size_t i = 0; i < folded->count; i++) {
        const struct incident *other = &folded->incidents[i];
        if (other->lead.action != ACTION_CLASS_RESET ||
            policy_same_device(node, other->device, choice->incident->device))
            continue;
        choice->ledger.no_reset = "More than one device asks for a reset";
        choice->outcome = policy_escalate(snapshot, &choice->incident->lead, &choice->ledger);
        return;
    }
}

static bool is_held_for_person(const struct policy_node *node)
{
    return node->person_hold != NULL && !node->has_active_operation;
}

/* Somebody may be at work on the machine: what was there when it was left to a person asks for no repair of ours any more. */
static bool is_before_hold(const struct policy_node *node, const struct choice *choice)
{
    return is_held_for_person(node) && action_is_repair(choice->outcome.action) &&
           choice->incident->repair_at <= node->person_hold->at;
}

/* Nothing but what the provider has a date for asks for a repair of the device, as far as its mode lets that happen. */
static bool is_sound_until_due(const struct policy_snapshot *snapshot, const struct folded *folded, const char *device)
{
    for (size_t i = 0; i < folded->finding_count; i++) {
        const struct finding *finding = &folded->findings[i];
        bool repairs = finding->action >= ACTION_CLASS_RESET && finding->action <= ACTION_CLASS_REPLACE;
        if (repairs && !finding->dropped && finding->verdict->due_at == 0 &&
            text_equal(finding->verdict->device, device) && !is_finding_only_said(snapshot, finding))
            return false;
    }
    return true;
}

static bool choose(const struct policy_snapshot *snapshot, const struct policy_node *node, const struct folded *folded,
                   struct choice *ret_choice, struct choice *ret_before_hold)
{
    struct policy_jobs jobs[2] = {0}; /* [is only said] */
    const struct incident *of[2] = {NULL, NULL};
    bool repaired[2] = {false, false};
    size_t count = 0;
    for (size_t i = 0; i < folded->count; i++) {
        struct choice choice = {.incident = &folded->incidents[i]};
        bool planned = fault_has_trait(choice.incident->lead.verdict->code, FAULT_TRAIT_PLANNED);
        (planned ? policy_ledger_planned : policy_ledger)(snapshot, node, choice.incident->device, &choice.ledger);
        choice.outcome = policy_escalate(snapshot, &choice.incident->lead, &choice.ledger);
        if (is_before_hold(node, &choice)) {
            if (ret_before_hold->incident == NULL || beats(snapshot, &choice, ret_before_hold))
                *ret_before_hold = choice;
            continue;
        }
        bool repairs = action_is_repair(choice.outcome.action);
        const struct finding *lead = &choice.incident->lead;
        int said = is_only_said(snapshot, &choice);
        choice.jobs = policy_jobs(&snapshot->settings, fault_of(lead), lead->urgency);
        bool sound = is_sound_until_due(snapshot, folded, choice.incident->device);
        choice.jobs =
            policy_jobs_until(&snapshot->settings, choice.jobs, choice.incident->due_at, sound, snapshot->now_ms);
        if (repairs && (!repaired[said] || policy_jobs_are_shorter(&choice.jobs, &jobs[said]))) {
            jobs[said] = choice.jobs;
            of[said] = choice.incident;
        }
        repaired[said] = repaired[said] || repairs;
        if (count++ == 0 || beats(snapshot, &choice, ret_choice))
            *ret_choice = choice;
    }
    if (count > 0 && ret_choice->outcome.action == ACTION_RESET)
        ask_others(snapshot, node, folded, ret_choice);
    if (count == 0)
        return false;
    int said = is_only_said(snapshot, ret_choice);
    if (policy_jobs_are_shorter(&jobs[said], &ret_choice->jobs))
        ret_choice->hurry = of[said];
    ret_choice->jobs = jobs[said];
    return true;
}

static void tell_date(const struct policy_snapshot *snapshot, const struct choice *choice, struct decision *decision)
{
    char due[POLICY_TIME_MAX], until[POLICY_TIME_MAX];
    int64_t due_at = choice->incident->due_at;
    if (due_at == 0 || !action_is_repair(choice->outcome.action))
        return;
    policy_time(due_at, due);
    if (decision->urgency == URGENCY_NOW)
        policy_add(decision, "The provider's date is %s: its jobs give way now.", due);
    else if (decision->job_signal != JOB_SIGNAL_NONE)
        policy_add(decision, "The provider's date is %s.", due);
    else
        policy_add(decision, "The provider's date is %s: its jobs have until %s.", due,
                   policy_time(snapshot->now_ms + decision->job_wait_ms, until));
}

static void tell_incident(const struct policy_snapshot *snapshot, const struct choice *choice,
                          struct decision *decision)
{
    const struct incident *incident = choice->incident;
    const struct verdict *verdict = incident->lead.verdict;
    struct fault_judgement judgement;
    fault_judge_in(&snapshot->faults, verdict->source, verdict->code, verdict->raw_line, &judgement);
    char lines[128] = "", span[POLICY_SPAN_MAX];
    if (incident->lead.lasted_ms > 0)
        snprintf(lines, sizeof(lines), ", for more than %s", policy_span(incident->lead.row->lasts_ms, span));
    else if (incident->lead.rate_exceeded && choice->outcome.action == ACTION_REBOOT)
        snprintf(lines, sizeof(lines), ", %d times within %s", incident->lead.bursts,
                 policy_span(incident->lead.row->rate_window_ms, span));
    else if (incident->company[0] != '\0')
        snprintf(lines, sizeof(lines), ", with %s (%" PRId64 " lines)", incident->company, incident->lines);
    else if (incident->lines > 1)
        snprintf(lines, sizeof(lines), ", %" PRId64 " lines", incident->lines);
    text_copy_cut(decision->code, sizeof(decision->code), verdict->code);
    decision->fault = fault_of(&incident->lead);
    text_copy_cut(decision->device, sizeof(decision->device), verdict->device);
    policy_say(decision->sentence, sizeof(decision->sentence), "%s: %s%s. %s.",
               verdict->device[0] != '\0' ? verdict->device : "The node", judgement.why, lines,
               choice->outcome.because);
    memcpy(decision->evidence, incident->evidence, sizeof(decision->evidence));
    decision->evidence_count = incident->evidence_count;
    if (incident->lead.of_earlier_boot)
        policy_add(decision, "The machine has booted since, which does not answer it.");
    policy_jobs_put(&choice->jobs, decision);
    tell_date(snapshot, choice, decision);
    if (choice->hurry != NULL && action_is_repair(choice->outcome.action))
        policy_add(decision, "Jobs have less time because of %s%s%s.", choice->hurry->lead.verdict->code,
                   choice->hurry->device[0] != '\0' ? " on " : "", choice->hurry->device);
}

/* A machine that neither its agent nor its scheduler sees does nothing for its jobs, however long the fault itself would let them go on. The
 * limits count it with the others that are not seen. */
static void weigh_silence(const struct policy_snapshot *snapshot, const struct policy_node *node, struct choice *choice,
                          struct candidate *candidate)
{
    struct policy_jobs jobs = policy_jobs(&snapshot->settings, FAULT_CLASS_UNREACHABLE, URGENCY_NOW);
    if (!action_is_repair(choice->outcome.action) || node->has_active_operation || node->incident != NULL ||
        snapshot->settings.modes[FAULT_CLASS_UNREACHABLE] != REPAIR_MODE_ACT ||
        policy_silence(snapshot, node) != SILENCE_UNREACHABLE || !policy_jobs_are_shorter(&jobs, &choice->jobs))
        return;
    choice->jobs = jobs;
    choice->hurry = NULL;
    candidate->silent = true;
}

/* Nothing is done about it; who reads it shall know that it is not this node's alone. */
static void tell_shared(struct candidate *candidate)
{
    const struct policy_incident *incident = candidate->node->incident;
    if (!candidate->shared || incident == NULL)
        return;
    policy_add(&candidate->decision, "It is one of %" PRId64 " nodes of the %s %s with incident %" PRId64 ".",
               incident->nodes, topology_level_title(incident->level), incident->domain, incident->id);
}

static void evaluate_incident(const struct policy_snapshot *snapshot, const struct folded *folded,
                              const struct choice *choice, struct candidate *candidate)
{
    struct decision *decision = &candidate->decision;
    char time[POLICY_TIME_MAX];
    candidate->present = true;
    candidate->severity = choice->incident->lead.severity;
    candidate->since = choice->incident->first_at;
    struct policy_outage_signal signal;
    candidate->shared = policy_outage_signal_of(&snapshot->settings, choice->incident->lead.verdict, &signal);
    tell_incident(snapshot, choice, decision);
    if (candidate->silent)
        policy_add(decision, "Its agent was last seen at %s, and the scheduler gets no answer either.",
                   policy_time(candidate->node->last_heartbeat_at, time));
    policy_tell_fresh(candidate->node, folded, decision);
    const struct finding *lead = &choice->incident->lead;
    bool together = choice->outcome.rule == RULE_WEAK_FINDINGS_TOGETHER;
    candidate->lasting = choice->outcome.rule == RULE_LASTS || together;
    candidate->weak = candidate->lasting || lead->rate_exceeded;
    candidate->unproven = candidate->lasting && lead->from_boot && fault_bars_launch(lead->verdict->code);
    candidate->lacking = fault_has_trait(lead->verdict->code, FAULT_TRAIT_OF_AN_IMAGE) &&
                         policy_is_from_boot(candidate->node, lead->verdict->received_at);
    candidate->watched = choice->outcome.rule == RULE_WATCH && !lead->ended && lead->row != NULL &&
                         lead->row->lasts_ms > 0 && candidate->node->state == NODE_STATE_READY;
    candidate->shown_at =
        candidate->lasting || candidate->watched ? choice->incident->first_at : choice->incident->last_at;
    if (is_fault(&choice->outcome)) {
        policy_pass_gates(snapshot, &choice->outcome, &choice->ledger, candidate);
        return;
    }
    policy_rule(decision, choice->outcome.action, choice->outcome.rule);
    policy_refuse(decision, choice->outcome.refused, choice->outcome.refused_why);
    tell_shared(candidate);
    decision->retry_at = folded->weak_at;
}

/* --- silence, staleness, people ------------------------------------------------------------------------------- */

static void evaluate_loss(const struct policy_snapshot *snapshot, struct candidate *candidate)
{
    const struct policy_node *node = candidate->node;
    struct decision *decision = &candidate->decision;
    struct finding lead = {.action = ACTION_CLASS_REBOOT, .again = ACTION_CLASS_REPLACE, .severity = SEVERITY_CRITICAL};
    struct ledger ledger;
    char time[POLICY_TIME_MAX];
    policy_ledger(snapshot, node, "", &ledger);
    struct policy_outcome outcome = policy_escalate(snapshot, &lead, &ledger);
    if (outcome.action == ACTION_REBOOT)
        outcome.rule = RULE_UNREACHABLE;
    candidate->present = true;
    candidate->severity = SEVERITY_CRITICAL;
    candidate->since = node->last_heartbeat_at;
    text_copy_cut(decision->code, sizeof(decision->code), POLICY_CODE_UNREACHABLE);
    decision->fault = FAULT_CLASS_UNREACHABLE;
    const struct policy_jobs jobs = policy_jobs(&snapshot->settings, decision->fault, URGENCY_NOW);
    policy_jobs_put(&jobs, decision);
    policy_say(
        decision->sentence, sizeof(decision->sentence),
        "The node cannot be reached: its agent was last seen at %s, and the scheduler gets no answer either.%s%s%s",
        policy_time(node->last_heartbeat_at, time), node->incident != NULL ? "" : " ",
        node->incident != NULL ? "" : outcome.because, node->incident != NULL ? "" : ".");
    policy_gate(decision, GATE_FRESH, GATE_RESULT_NOT_ASKED, "silence is its own evidence");
    candidate->shared = candidate->silent = true;
    policy_pass_gates(snapshot, &outcome, &ledger, candidate);
}

/* Nothing of this boot is against the node; but it was held for what only a person can help, and nobody released it. */
static void evaluate_person_hold(const struct policy_snapshot *snapshot, const struct choice *before_hold,
                                 struct candidate *candidate)
{
    const struct policy_person_hold *hold = candidate->node->person_hold;
    struct decision *decision = &candidate->decision;
    struct policy_outcome outcome = {.action = ACTION_SUPPORT, .rule = RULE_HOLD_STANDS, .refused = ACTION_REBOOT};
    struct ledger ledger;
    char time[POLICY_TIME_MAX];
    const char *code = text_or_empty(hold->code), *device = text_or_empty(hold->device);
    policy_ledger(snapshot, candidate->node, device, &ledger);
    candidate->present = true;
    candidate->severity = SEVERITY_CRITICAL;
    candidate->since = candidate->shown_at = hold->at;
    candidate->held = true;
    text_copy_cut(decision->code, sizeof(decision->code), code);
    text_copy_cut(decision->device, sizeof(decision->device), device);
    decision->fault = fault_class_of(code);
    policy_say(decision->sentence, sizeof(decision->sentence),
               "The node has been held for a person since %s%s%s%s%s. Release it when that is done, or replace it.",
               policy_time(hold->at, time), code[0] != '\0' ? ", for " : "", code, device[0] != '\0' ? " on " : "",
               device);
    text_copy_cut(outcome.refused_why, sizeof(outcome.refused_why),
                  "what a person has to see to is not over by a boot");
    if (before_hold->incident != NULL) {
        const struct verdict *lead = before_hold->incident->lead.verdict;
        policy_add(decision, "%s%s%s was seen before that. Only what is newer than the hold asks for a repair.",
                   lead->code, lead->device[0] != '\0' ? " on " : "", lead->device);
        outcome.refused = before_hold->outcome.action;
        text_copy_cut(outcome.refused_why, sizeof(outcome.refused_why),
                      "somebody may be at work on the machine, for what was seen when it was left to a person");
    }
    policy_gate(decision, GATE_FRESH, GATE_RESULT_NOT_ASKED, "the hold stands until a person ends it");
    policy_pass_gates(snapshot, &outcome, &ledger, candidate);
}

/* What the reboot was for speaks no more, so nothing asks for another machine; but this one is not there. */
static void evaluate_no_return(const struct policy_snapshot *snapshot, const struct policy_repair *reboot,
                               struct candidate *candidate)
{
    struct decision *decision = &candidate->decision;
    struct policy_outcome outcome = {.action = ACTION_SUPPORT, .rule = RULE_REBOOT_FAILED, .refused = ACTION_REPLACE};
    struct ledger ledger;
    char time[POLICY_TIME_MAX], told[POLICY_ERROR_MAX];
    policy_ledger(snapshot, candidate->node, text_or_empty(reboot->device), &ledger);
    candidate->present = true;
    candidate->severity = SEVERITY_CRITICAL;
    candidate->since = reboot->at;
    decision->fault = FAULT_CLASS_UNREACHABLE;
    decision->urgency = URGENCY_NOW;
    policy_say(decision->sentence, sizeof(decision->sentence),
               "The reboot of %s did not bring the machine back%s: a person has to look, and to replace or release it.",
               policy_time(reboot->at, time), policy_error(reboot, told));
    text_copy_cut(outcome.refused_why, sizeof(outcome.refused_why),
                  "no open evidence asks for a repair any more, so no machine is given up for it");
    policy_gate(decision, GATE_FRESH, GATE_RESULT_NOT_ASKED, "the failed reboot is its own evidence");
    policy_pass_gates(snapshot, &outcome, &ledger, candidate);
}

/* While the scheduler may still say that it does not hear the node either, which is a reason to replace it, that is
 * waited for. */
static const struct policy_repair *no_return_of(const struct policy_snapshot *snapshot, const struct policy_node *node)
{
    struct ledger ledger;
    policy_ledger(snapshot, node, "", &ledger);
    bool waits = node->has_scheduler && !node->scheduler_known;
    return node->has_active_operation || waits ? NULL : ledger.no_return;
}

static void evaluate_silence(const struct policy_snapshot *snapshot, struct candidate *candidate)
{
    const struct policy_node *node = candidate->node;
    struct decision *decision = &candidate->decision;
    char time[POLICY_TIME_MAX], span[POLICY_SPAN_MAX], why[REASON_MAX_BYTES];
    int64_t repair_at = node->last_heartbeat_at + snapshot->settings.unreachable_after_ms;
    candidate->present = true;
    decision->fault = FAULT_CLASS_UNREACHABLE;
    policy_rule(decision, ACTION_WATCH, RULE_NO_VERDICT);
    policy_say(decision->sentence, sizeof(decision->sentence),
               "The agent was last seen at %s. The node's health is unknown until it reports again.",
               policy_time(node->last_heartbeat_at, time));
    if (!node->has_scheduler)
        policy_say(why, sizeof(why),
                   "no scheduler holds the node, and a missing agent alone is no reason for a repair");
    else if (!node->scheduler_known)
        policy_say(why, sizeof(why),
                   "the scheduler cannot be asked, and a missing agent alone is no reason for a repair");
    else if (node->maintenance)
        policy_say(why, sizeof(why), "the scheduler has it in a maintenance, in which people may work on it");
    else if (node->reserved)
        policy_say(why, sizeof(why), "the scheduler keeps it for somebody, who may have switched it off");
    else if (node->switched_off)
        policy_say(why, sizeof(why),
                   "the scheduler switched it off, to save power or for a reboot, and switches it on again itself");
    else if (node->scheduler_responding)
        policy_say(why, sizeof(why),
                   "the scheduler still gets answers from the node: the agent is at fault, not the node");
    else
        policy_say(why, sizeof(why), "the scheduler gets no answer either, but only %s without one are a fault",
                   policy_span(snapshot->settings.unreachable_after_ms, span));
    policy_refuse(decision, ACTION_REBOOT, why);
    if (node->scheduler_known && !node->scheduler_responding && !node->switched_off && !node->maintenance &&
        !node->reserved && repair_at > snapshot->now_ms)
        decision->retry_at = repair_at;
}

/* No fault is seen, but the machine has a piece of which one was. */
static void evaluate_recurring(const struct policy_snapshot *snapshot, const struct policy_repair *repair,
                               struct candidate *candidate)
{
    struct decision *decision = &candidate->decision;
    struct ledger ledger;
    char earlier[REASON_MAX_BYTES];
    const char *device = text_or_empty(repair->device);
    candidate->present = true;
    candidate->since = repair->at;
    policy_ledger(snapshot, candidate->node, device, &ledger);
    text_copy_cut(decision->code, sizeof(decision->code), text_or_empty(repair->code));
    decision->fault = fault_class_of(decision->code);
    text_copy_cut(decision->device, sizeof(decision->device), device);
    policy_say(decision->sentence, sizeof(decision->sentence), "%s%s came back: it was given up by %s.",
               device[0] != '\0' ? "The device " : "The same machine", device,
               policy_text_repair(repair, earlier, sizeof(earlier)));
    if (snapshot->settings.recurring == POLICY_RECURRING_REPLACE) {
        struct policy_outcome outcome = policy_after_recurring(snapshot, &ledger);
        const struct policy_jobs jobs = policy_jobs(&snapshot->settings, decision->fault, URGENCY_AFTER_JOBS);
        policy_jobs_put(&jobs, decision);
        policy_gate(decision, GATE_FRESH, GATE_RESULT_NOT_ASKED, "its identity is the evidence");
        policy_pass_gates(snapshot, &outcome, &ledger, candidate);
        return;
    }
    policy_rule(decision, ACTION_WATCH, RULE_RECURRING_HARDWARE);
    policy_refuse(decision, ACTION_REPLACE, "it may have been repaired; another fault of it costs the machine at once");
}

static void evaluate_stale(const struct folded *folded, struct candidate *candidate)
{
    struct decision *decision = &candidate->decision;
    const struct verdict *verdict = folded->stale;
    char detail[REASON_MAX_BYTES];
    candidate->present = true;
    policy_rule(decision, ACTION_NONE, RULE_STALE_EVIDENCE);
    text_copy_cut(decision->code, sizeof(decision->code), verdict->code);
    decision->fault = fault_class_of(verdict->code);
    text_copy_cut(decision->device, sizeof(decision->device), verdict->device);
    policy_say(decision->sentence, sizeof(decision->sentence),
               "%s on %s belongs to an earlier boot or instance of this node: noted, never acted on.", verdict->code,
               verdict->device[0] != '\0' ? verdict->device : "the node");
    policy_say(detail, sizeof(detail), "seen by instance %s, the slot now holds %s", verdict->instance_id,
               text_or_empty(candidate->node->instance_id)[0] != '\0' ? candidate->node->instance_id : "none");
    if (text_equal(verdict->instance_id, text_or_empty(candidate->node->instance_id)))
        policy_say(detail, sizeof(detail), "seen in boot %s, the node now runs %s", verdict->boot_id,
                   text_or_empty(candidate->node->boot_id));
    policy_gate(decision, GATE_FRESH, GATE_RESULT_FAILED, detail);
    policy_refuse(decision, ACTION_REBOOT, "a repair for what is no longer there would be the wrong one");
    decision->evidence[0] = verdict->id;
    decision->evidence_count = (int)folded->stale_count;
}

static void evaluate_cleared_by_reset(const struct policy_node *node, const struct folded *folded,
                                      struct candidate *candidate)
{
    struct decision *decision = &candidate->decision;
    const struct verdict *verdict = folded->cleared_by_reset;
    char detail[REASON_MAX_BYTES], seen[POLICY_TIME_MAX], reset[POLICY_TIME_MAX];
    policy_time(verdict->last_at, seen);
    policy_time(policy_cleared_by_reset_by(node, verdict)->cleared_by_reset_at, reset);
    candidate->present = true;
    policy_rule(decision, ACTION_NONE, RULE_CLEARED_BY_RESET);
    text_copy_cut(decision->code, sizeof(decision->code), verdict->code);
    decision->fault = fault_class_of(verdict->code);
    text_copy_cut(decision->device, sizeof(decision->device), verdict->device);
    policy_say(decision->sentence, sizeof(decision->sentence),
               "%s on %s came late: it was last seen at %s, before the reset of that device ended at %s, which has "
               "answered it.",
               verdict->code, verdict->device, seen, reset);
    policy_say(detail, sizeof(detail), "last seen at %s, and the device was reset until %s", seen, reset);
    policy_gate(decision, GATE_FRESH, GATE_RESULT_FAILED, detail);
    policy_refuse(decision, ACTION_REBOOT, "a repair for what is no longer there would be the wrong one");
    decision->evidence[0] = verdict->id;
    decision->evidence_count = (int)folded->cleared_by_reset_count;
}

static void evaluate_request(const struct policy_snapshot *snapshot, struct candidate *candidate)
{
    const struct policy_node *node = candidate->node;
    struct decision *decision = &candidate->decision;
    bool reboot = node->request == POLICY_REQUEST_REBOOT;
    const char *who = text_or_empty(node->request_by)[0] != '\0' ? node->request_by : "somebody";
    char detail[REASON_MAX_BYTES];
    candidate->present = true;
    candidate->requested = true;
    candidate->since = snapshot->now_ms;
    policy_rule(decision, reboot ? ACTION_REBOOT : ACTION_REPLACE, RULE_OPERATOR_REQUEST);
    decision->urgency = URGENCY_AFTER_JOBS;
    text_copy_cut(decision->code, sizeof(decision->code), POLICY_CODE_OPERATOR);
    policy_say(decision->sentence, sizeof(decision->sentence), "%s asked for a %s in the scheduler.", who,
               reboot ? "reboot" : "replacement");
    policy_say(detail, sizeof(detail), "%s asked for it", who);
    policy_gate(decision, GATE_FRESH, GATE_RESULT_NOT_ASKED, "a request needs no evidence");
    policy_gate(decision, GATE_OWNER, GATE_RESULT_PASSED, detail);
    policy_gate(decision, GATE_ONE_OPERATION, GATE_RESULT_PASSED, "no other operation");
    policy_gate(decision, GATE_RECOVERY, GATE_RESULT_NOT_ASKED, "a person may repair at any time");
    policy_gate(decision, GATE_ATTEMPTS, GATE_RESULT_NOT_ASKED, "people's repairs are not counted");
    policy_gate(decision, GATE_BUDGET, GATE_RESULT_NOT_ASKED, "a person's request needs no budget");
    policy_gate(decision, GATE_BREAKER, GATE_RESULT_NOT_ASKED, "a person's request passes the breaker");
}

static bool may_be_judged(const struct policy_node *node)
{
    if (node->state == NODE_STATE_VERIFYING)
        return true; /* beside its own operation only to say that it is watched */
    return (node->state == NODE_STATE_READY || node->state == NODE_STATE_HELD) && !node->has_active_operation;
}

static bool may_be_asked(const struct policy_node *node)
{
    return !node->has_active_operation && (node->state == NODE_STATE_READY || node->state == NODE_STATE_HELD ||
                                           node->state == NODE_STATE_VERIFYING || node->state == NODE_STATE_FAILED);
}

static void evaluate_evidence(const struct policy_snapshot *snapshot, struct candidate *candidate)
{
    const struct policy_node *node = candidate->node;
    struct folded folded;
    struct choice choice = {0}, before_hold = {0};
    policy_fold(snapshot, node, &folded);
    bool found = choose(snapshot, node, &folded, &choice, &before_hold);
    if (found && choice.outcome.action <= ACTION_WATCH && folded.weak_codes > 1 && folded.weak_permille >= 1000)
        choice.outcome = policy_after_weak_findings(&folded);
    bool fault = found && is_fault(&choice.outcome);
    enum silence silence = node->has_active_operation ? SILENCE_NONE : policy_silence(snapshot, node);
    const struct policy_repair *no_return = no_return_of(snapshot, node);
    const struct policy_repair *recurring = policy_same_hardware(&snapshot->settings, node, snapshot->now_ms);
    if (fault)
        weigh_silence(snapshot, node, &choice, candidate);
    if (fault)
        evaluate_incident(snapshot, &folded, &choice, candidate);
    else if (is_held_for_person(node))
        evaluate_person_hold(snapshot, &before_hold, candidate);
    else if (silence == SILENCE_UNREACHABLE)
        evaluate_loss(snapshot, candidate);
    else if (no_return != NULL)
        evaluate_no_return(snapshot, no_return, candidate);
    else if (silence == SILENCE_NO_VERDICT)
        evaluate_silence(snapshot, candidate);
    else if (recurring != NULL && !node->has_active_operation)
        evaluate_recurring(snapshot, recurring, candidate);
    else if (found && !node->has_active_operation)
        evaluate_incident(snapshot, &folded, &choice, candidate);
    else if (folded.cleared_by_reset != NULL && !node->has_active_operation)
        evaluate_cleared_by_reset(node, &folded, candidate);
    else if (folded.stale != NULL && !node->has_active_operation)
        evaluate_stale(&folded, candidate);
    if (fault && is_held_for_person(node) && candidate->decision.action <= ACTION_WATCH) {
        *candidate = new_candidate(snapshot, node); /* what is only said of another fault ends no hold */
        evaluate_person_hold(snapshot, &before_hold, candidate);
    }
    if (candidate->present && !node->has_active_operation)
        policy_tell_beside(&folded, candidate->decision.evidence_count > 0 ? choice.incident : NULL,
                           &candidate->decision);
    policy_folded_free(&folded);
}

void policy_evaluate(const struct policy_snapshot *snapshot, const struct policy_node *node,
                     struct candidate *ret_candidate)
{
    struct candidate candidate = new_candidate(snapshot, node);
    if (node->request != POLICY_REQUEST_NONE && may_be_asked(node))
        evaluate_request(snapshot, &candidate);
    else if (may_be_judged(node))
        evaluate_evidence(snapshot, &candidate);
    *ret_candidate = candidate;
}
