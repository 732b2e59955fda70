/*
 * What the policy said to a golden case (case.h), as the text that stands behind its line "expect":
 *
 *   gpu-1: hold now by budget-hold/2, xid.79 on 0000:b9:00, evidence 1
 *     with 3 lines; 1, 2, 7 d          what was seen beside, and the values of the text budget-hold 2 of tests/policy/said
 *     failed group-budget (1 of 1 in repair)
 *     passed fresh-evidence owner
 *     not reboot
 */
#ifndef HOLDFAST_TESTS_POLICY_CASE_SAID_H
#define HOLDFAST_TESTS_POLICY_CASE_SAID_H

#include "tests/policy/case.h"
#include "tests/policy/said.h"

#define CASE_DRAIN_MS INT64_C(14400000) /* what is not said, as it is the default */

static inline const char *case_node_name(const struct policy_case *c, int64_t id)
{
    for (size_t i = 0; i < c->node_count; i++)
        if (c->nodes[i].node.id == id)
            return c->nodes[i].name;
    return "?";
}

static inline void case_render_gates(struct text *out, const struct decision *d, enum gate_result result,
                                     const char *word, bool details)
{
    bool first = true;
    for (int i = 0; i < GATE_COUNT; i++)
        if (d->gates[i].result == result) {
            if (first)
                text_printf(out, "    %s ", word);
            else
                text_add(out, details ? "; " : " ");
            text_add(out, gate_text((enum gate)i));
            if (details)
                text_printf(out, " (%s)", d->gates[i].detail);
            first = false;
        }
    text_add(out, first ? "" : "\n");
}

/* What leads the decision; NULL: nothing that an agent saw. */
static inline const struct verdict *case_lead(const struct policy_case *c, const struct decision *d)
{
    const struct case_node *n = &c->nodes[d->node_id - 1];
    for (size_t i = 0; i < n->verdict_count && d->evidence_count > 0; i++)
        if (n->verdicts[i].id == d->evidence[0])
            return &n->verdicts[i];
    return NULL;
}

/* Where the sentence goes on behind what was seen, of which the table's words are held to their own list. What stands
 * between ("3 lines") comes first of the values. */
static inline const char *case_seen(const struct policy_case *c, const struct decision *d, struct said *said,
                                    struct text *words, struct text *values, bool *ret_known)
{
    const struct verdict *lead = case_lead(c, d);
    struct fault_judgement judgement;
    *ret_known = true;
    if (lead == NULL)
        return d->sentence;
    fault_judge_in(&c->snapshot.faults, lead->source, lead->code, lead->raw_line, &judgement);
    autofree char *seen = own_printf("%s: %s", lead->device[0] != '\0' ? lead->device : "The node", judgement.why);
    if (!text_starts_with(d->sentence, seen))
        return d->sentence;
    autofree char *fault = own_printf("%s | %s", lead->code, judgement.why);
    *ret_known = said_has_fault(said, fault);
    const char *rest = d->sentence + strlen(seen), *stop = strstr(rest, ". ");
    size_t len = stop != NULL ? (size_t)(stop - rest) : strlen(rest) - text_ends_with(rest, ".");
    if (len > 2)
        text_printf(values, "%.*s; ", (int)len - 2, rest + 2);
    text_add(words, "{seen}");
    return rest + len;
}

/* By which rule, and with what: its words are held to tests/policy/said. */
static inline void case_render_words(struct text *out, const struct policy_case *c, const struct decision *d,
                                     struct said *said)
{
    bool known;
    struct text words = {0}, values = {0}, found = {0};
    const char *rest = case_seen(c, d, said, &words, &values, &known);
    said_split(rest, &words, &found);
    if (d->refused_why[0] != '\0' && strstr(d->sentence, d->refused_why) != NULL) {
        text_add(&words, " | not: the same");
    } else if (d->refused_why[0] != '\0') {
        text_add(&words, " | not: ");
        said_split(d->refused_why, &words, &found);
    }
    int number = said_number(said, d->rule, text_get(&words));
    if (number == 0)
        text_add(out, "/?");
    else if (number > 1)
        text_printf(out, "/%d", number);
    if (d->code[0] != '\0')
        text_printf(out, ", %s%s%s", d->code, d->device[0] != '\0' ? " on " : "", d->device);
    text_printf(out, ", evidence %d%s\n", d->evidence_count, known ? "" : ", whose table says otherwise now");
    text_add(&values, text_get(&found));
    if (text_ends_with(text_get(&values), "; "))
        values.data[values.len -= 2] = '\0';
    if (values.len > 0)
        text_printf(out, "    with %s\n", text_get(&values));
    text_free(&words);
    text_free(&values);
    text_free(&found);
}

static inline void case_render_decision(struct text *out, const struct policy_case *c, const struct decision *d,
                                        struct said *said)
{
    text_printf(out, "  %s: %s %s by %s", case_node_name(c, d->node_id), action_text(d->action),
                urgency_text(d->urgency), decision_rule_text(d->rule));
    case_render_words(out, c, d, said);
    case_render_gates(out, d, GATE_RESULT_FAILED, "failed", true);
    case_render_gates(out, d, GATE_RESULT_PASSED, "passed", false);
    if (d->refused_why[0] != '\0')
        text_printf(out, "    not %s\n", action_text(d->refused));
    if (d->job_signal != JOB_SIGNAL_NONE)
        text_printf(out, "    jobs are asked by %s, for %" PRId64 " s\n", job_signal_text(d->job_signal),
                    d->job_wait_ms / 1000);
    else if (d->job_wait_ms != 0 && d->job_wait_ms != CASE_DRAIN_MS)
        text_printf(out, "    jobs are waited for, for %" PRId64 " s\n", d->job_wait_ms / 1000);
    for (const char *at = d->beside; *at != '\0'; at += strcspn(at, "\n") + 1)
        text_printf(out, "    beside %.*s\n", (int)strcspn(at, "\n"), at);
    if (d->retry_at != 0)
        text_printf(out, "    retry in %" PRId64 " s\n", (d->retry_at - CASE_NOW_MS) / 1000);
}

/* Caller frees. */
static inline char *case_render(const struct policy_case *c, const struct policy_plan *plan, struct said *said)
{
    struct text out = {0};
    for (size_t i = 0; i < plan->count; i++)
        case_render_decision(&out, c, &plan->decisions[i], said);
    if (plan->count == 0)
        text_add(&out, "  no decision\n");
    int by_health[4] = {0};
    for (size_t i = 0; i < c->node_count; i++)
        by_health[policy_health(&c->snapshot, &c->snapshot.nodes[i])]++;
    text_add(&out, "  health:");
    for (int i = 0; i < 4; i++)
        if (by_health[i] > 0)
            text_printf(&out, " %d %s", by_health[i], health_text((enum health)i));
    text_add(&out, "\n");
    if (plan->breaker_opens || plan->breaker_closes)
        text_printf(&out, "  breaker %s: %s\n", plan->breaker_opens ? "opens" : "closes", plan->breaker_why);
    for (size_t i = 0; i < plan->count; i++) {
        const struct case_node *n = &c->nodes[plan->decisions[i].node_id - 1];
        if (strcmp(n->name, c->explain) != 0)
            continue;
        autofree char *text =
            policy_explain(&c->snapshot.faults, &plan->decisions[i], n->verdicts, n->verdict_count, n->name);
        /* A new row raises the version, which is no news to these stories. */
        const char *version = fault_version_in(&c->snapshot.faults);
        for (char *at = text; (at = strstr(at, version)) != NULL;)
            memset(at, '*', strlen(version));
        text_add(&out, "  explanation:\n");
        for (const char *at = text; *at != '\0';) {
            size_t len = strcspn(at, "\n");
            text_printf(&out, "%s%.*s\n", len > 0 ? "  | " : "  |", (int)len, at);
            at += len + (at[len] == '\n' ? 1 : 0);
        }
    }
    return text_take(&out);
}

#endif
