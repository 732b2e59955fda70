/*
 * What the policy said to a golden case (case.h), as the text that stands behind its line "expect".
 */
#ifndef HOLDFAST_TESTS_POLICY_CASE_SAID_H
#define HOLDFAST_TESTS_POLICY_CASE_SAID_H

#include "tests/policy/case.h"

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

static inline void case_render_decision(struct text *out, const struct policy_case *c, const struct decision *d)
{
    text_printf(out, "  %s: %s %s by %s", case_node_name(c, d->node_id), action_text(d->action),
                urgency_text(d->urgency), decision_rule_text(d->rule));
    if (d->code[0] != '\0')
        text_printf(out, ", %s%s%s", d->code, d->device[0] != '\0' ? " on " : "", d->device);
    text_printf(out, ", evidence %d\n    %s\n", d->evidence_count, d->sentence);
    case_render_gates(out, d, GATE_RESULT_FAILED, "failed", true);
    case_render_gates(out, d, GATE_RESULT_PASSED, "passed", false);
    if (d->refused_why[0] != '\0')
        text_printf(out, "    not %s: %s\n", action_text(d->refused), d->refused_why);
    if (d->job_signal != JOB_SIGNAL_NONE)
        text_printf(out, "    jobs are asked by %s, for %" PRId64 " s\n", job_signal_text(d->job_signal),
                    d->job_wait_ms / 1000);
    else if (d->job_wait_ms != 0 && d->job_wait_ms != CASE_DRAIN_MS)
        text_printf(out, "    jobs are waited for, for %" PRId64 " s\n", d->job_wait_ms / 1000);
    if (d->retry_at != 0)
        text_printf(out, "    retry in %" PRId64 " s\n", (d->retry_at - CASE_NOW_MS) / 1000);
}

/* Caller frees. */
static inline char *case_render(const struct policy_case *c, const struct policy_plan *plan)
{
    struct text out = {0};
    for (size_t i = 0; i < plan->count; i++)
        case_render_decision(&out, c, &plan->decisions[i]);
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
