/*
 * A stored decision in sentences: what was seen, what it means and who says so, which gates it passed, what was not done
 * and why, and what it leads to. Nothing is decided again here: the text is made from what was stored.
 *
 * Kernel lines are evidence from machines that may be broken or hostile, so control characters never reach the terminal.
 */
#include "policy/evaluate.h"

#include "base/text.h"
#include "model/alternatives.h"
#include "model/beside.h"

#include <inttypes.h>
#include <stdio.h>

#define SHOWN_MAX 5

static void tell_head(struct text *out, const struct decision *decision, const char *node_name)
{
    static const char *const words[] = {
        [ACTION_NONE] = "nothing is done",
        [ACTION_WATCH] = "watched, nothing is done",
        [ACTION_MARK] = "not repaired (NodeRecovery None)",
        [ACTION_HOLD] = "held, its repair waits",
        [ACTION_RESET] = "one device to be reset",
        [ACTION_REBOOT] = "to be rebooted",
        [ACTION_REPLACE] = "to be replaced",
        [ACTION_SUPPORT] = "held for a person",
    };
    char time[POLICY_TIME_MAX];
    text_printf(out, "%s: %s. Rule %s, decided at %s.\n\n", node_name, words[decision->action],
                decision_rule_text(decision->rule), policy_time(decision->at, time));
    text_add_line(out, decision->sentence);
    text_add(out, "\n");
}

static void tell_verdict(struct text *out, const struct verdict *verdict)
{
    char first[POLICY_TIME_MAX], last[POLICY_TIME_MAX];
    text_printf(out, "  %s on %s (%s, reported as %s), ", verdict->code,
                verdict->device[0] != '\0' ? verdict->device : "the node", verdict->source,
                severity_text(verdict->severity));
    if (verdict->count > 1)
        text_printf(out, "%" PRId64 " lines from %s to %s", verdict->count, policy_time(verdict->first_at, first),
                    policy_time(verdict->last_at, last));
    else
        text_printf(out, "once at %s", policy_time(verdict->first_at, first));
    if (verdict->raw_line[0] != '\0') {
        text_add(out, "\n    ");
        text_add_line(out, verdict->raw_line);
    }
    text_add(out, "\n");
}

static bool is_listed(const struct decision *decision, int64_t id)
{
    for (int i = 0; i < decision->evidence_count && i < DECISION_EVIDENCE_MAX; i++)
        if (decision->evidence[i] == id)
            return true;
    return false;
}

/* In the decision's order, so that the leading evidence comes first. */
static void tell_evidence(struct text *out, const struct decision *decision, const struct verdict *verdicts,
                          size_t count)
{
    if (decision->evidence_count == 0)
        return;
    text_add(out, "\nWhat was seen\n");
    int shown = 0;
    for (int i = 0; i < decision->evidence_count && i < DECISION_EVIDENCE_MAX && shown < SHOWN_MAX; i++)
        for (size_t k = 0; k < count; k++)
            if (verdicts[k].id == decision->evidence[i] && is_listed(decision, verdicts[k].id)) {
                tell_verdict(out, &verdicts[k]);
                shown++;
                break;
            }
    if (decision->evidence_count > shown)
        text_printf(out, "  and %d more that %s with it.\n", decision->evidence_count - shown,
                    decision->evidence_count - shown == 1 ? "goes" : "go");
}

/* What else is open, and what would follow were it alone. */
static void tell_beside(struct text *out, const struct fault_scope *faults, const struct decision *decision)
{
    struct decision_beside beside;
    if (decision->beside[0] == '\0')
        return;
    text_add(out, "\nBeside it\n");
    for (const char *at = decision->beside; decision_beside_next(&at, &beside);) {
        struct fault_judgement judgement;
        fault_judge_in(faults, "", beside.code, "", &judgement);
        text_add(out, "  ");
        text_add_line(out, beside.device[0] != '\0' ? beside.device : "The node");
        text_printf(out, ": %s. %s.\n", judgement.row != NULL ? judgement.why : beside.code,
                    decision_rule_sentence(beside.rule));
    }
}

static void tell_meaning(struct text *out, const struct fault_scope *faults, const struct decision *decision,
                         const struct verdict *verdicts, size_t count)
{
    const struct verdict *lead = NULL;
    for (size_t i = 0; i < count && lead == NULL && decision->evidence_count > 0; i++)
        if (verdicts[i].id == decision->evidence[0])
            lead = &verdicts[i];
    if (lead == NULL)
        return;
    struct fault_judgement judgement;
    fault_judge_in(faults, lead->source, lead->code, lead->raw_line, &judgement);
    text_add(out, "\nWhat the table says\n");
    if (judgement.row == NULL) {
        text_printf(out, "  %s\n", judgement.why);
    } else {
        text_printf(out, "  %s. At first it asks for %s, again for %s.\n", judgement.why,
                    action_class_text(judgement.action), action_class_text(judgement.again));
        if (judgement.row->nvidia[0] != '\0')
            text_printf(out, "  In NVIDIA's catalog: %s.\n", judgement.row->nvidia);
        text_printf(out, "  Who says so: %s.\n", judgement.row->sources);
    }
    text_printf(out, "  Decided by fault table %s", decision->table_version);
    if (!text_equal(decision->table_version, fault_version_in(faults)))
        text_printf(out, " (the words above are of %s)", fault_version_in(faults));
    bool by_agent =
        !text_equal(lead->source, VERDICT_SOURCE_REPORT) && !text_equal(lead->source, VERDICT_SOURCE_PROVIDER);
    if (by_agent && lead->table_version[0] != '\0' && !text_equal(lead->table_version, decision->table_version))
        text_printf(out, "; the agent has %s", lead->table_version);
    text_add(out, ".\n");
}

static void tell_gates(struct text *out, const struct decision *decision)
{
    text_add(out, "\nGates\n");
    for (int gate = 0; gate < GATE_COUNT; gate++) {
        const char *detail = decision->gates[gate].detail;
        if (decision->gates[gate].result == GATE_RESULT_NOT_ASKED && detail[0] == '\0')
            continue;
        text_printf(out, "  %-15s %-9s  ", gate_text((enum gate)gate), gate_result_text(decision->gates[gate].result));
        text_add_line(out, detail);
        while (out->len > 0 && out->data[out->len - 1] == ' ')
            out->data[--out->len] = '\0';
        text_add(out, "\n");
    }
}

static void tell_refused(struct text *out, const struct decision *decision)
{
    struct alternative alternatives[ALTERNATIVES_MAX];
    size_t count = decision_alternatives(decision, alternatives);
    text_add(out, "\nNot done\n");
    for (size_t i = 0; i < count; i++) {
        text_printf(out, "  %s: ", action_text(alternatives[i].action));
        text_add_line(out, alternatives[i].why);
        text_add(out, ".\n");
    }
}

static const char *next_of(const struct decision *decision)
{
    switch (decision->action) {
    case ACTION_NONE:
        return "Nothing. The evidence stays on record.";
    case ACTION_WATCH:
        return "Nothing is done to the node. The next evidence is weighed together with this.";
    case ACTION_MARK:
        return "Nothing is repaired, as NodeRecovery is None. A person repairs the node and releases it.";
    case ACTION_HOLD:
        return "The node takes no new work. Its repair is weighed again with what is true then.";
    case ACTION_SUPPORT:
        return "The node takes no new work until a person has looked and gives it back.";
    case ACTION_RESET:
    case ACTION_REBOOT:
    case ACTION_REPLACE:
        break;
    }
    return "The node takes no new work";
}

static void tell_jobs(struct text *out, const struct decision *decision)
{
    char span[POLICY_SPAN_MAX];
    if (!action_is_repair(decision->action))
        return;
    policy_span(decision->job_wait_ms, span);
    if (decision->urgency == URGENCY_NOW)
        text_add(out, " and its jobs give way now.");
    else if (decision->job_wait_ms == 0)
        text_add(out, "; jobs that run may end, within the drain's limit.");
    else if (decision->job_signal == JOB_SIGNAL_NONE)
        text_printf(out, "; jobs that run may end, within %s.", span);
    else
        text_printf(out, "; jobs that run are asked to checkpoint (%s) and may go on for %s at most.",
                    job_signal_text(decision->job_signal), span);
}

static void tell_next(struct text *out, const struct decision *decision)
{
    char time[POLICY_TIME_MAX];
    text_printf(out, "\nWhat the decision means\n  %s", next_of(decision));
    tell_jobs(out, decision);
    if (decision->action == ACTION_RESET)
        text_add(out, " Then its agent resets the device, and the node returns only through the return gate.");
    if (decision->action == ACTION_REBOOT)
        text_add(out, " Then it is rebooted, and returns only through the return gate.");
    if (decision->action == ACTION_REPLACE)
        text_add(out, " Then its instance is replaced; the new one keeps the node's name and returns only through the "
                      "return gate.");
    if (decision->retry_at > 0)
        text_printf(out, " It is looked at again at %s.", policy_time(decision->retry_at, time));
    text_add(out, "\n");
}

char *policy_explain(const struct fault_scope *faults, const struct decision *decision, const struct verdict *verdicts,
                     size_t verdict_count, const char *node_name)
{
    struct text out = {0};
    tell_head(&out, decision, node_name);
    tell_evidence(&out, decision, verdicts, verdict_count);
    tell_meaning(&out, faults, decision, verdicts, verdict_count);
    tell_beside(&out, faults, decision);
    tell_gates(&out, decision);
    tell_refused(&out, decision);
    tell_next(&out, decision);
    return text_take(&out);
}

/* Where the sentence after the next full stop begins; NULL: there is none. */
static const char *next_sentence(const char *text)
{
    for (const char *stop = strstr(text, ". "); stop != NULL; stop = strstr(stop + 1, ". "))
        if (stop[2] >= 'A' && stop[2] <= 'Z')
            return stop + 2;
    return NULL;
}

void policy_explain_short(const struct decision *decision, char *dst, size_t size)
{
    char lead[CODE_MAX_BYTES + DEVICE_MAX_BYTES + 8];
    policy_say(lead, sizeof(lead), "%s%s%s",
               decision->code[0] != '\0' ? decision->code : decision_rule_text(decision->rule),
               decision->device[0] != '\0' ? " on " : "", decision->device);
    /* The first says what was seen, for which the code stands; then as much of the end as there is room for. */
    const char *rest = next_sentence(decision->sentence), *next;
    rest = rest != NULL ? rest : decision->sentence;
    while (strlen(lead) + sizeof(": ") + strlen(rest) > size && (next = next_sentence(rest)) != NULL)
        rest = next;
    policy_say(dst, size, "%s: %s", lead, rest);
}
