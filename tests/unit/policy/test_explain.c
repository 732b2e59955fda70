/* The explanation: what it must say, and what it must never pass on to a terminal. */
#include "base/own.h"
#include "base/text.h"
#include "policy/faults/faults.h"
#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>

static struct verdict a_verdict(int64_t id, const char *code, const char *line)
{
    struct verdict v = {
        .id = id, .severity = SEVERITY_CRITICAL, .first_at = 1795176000000, .last_at = 1795176003000, .count = 1};
    text_copy_cut(v.code, sizeof(v.code), code);
    text_copy_cut(v.source, sizeof(v.source), "kmsg");
    text_copy_cut(v.device, sizeof(v.device), "0000:b9:00");
    text_copy_cut(v.raw_line, sizeof(v.raw_line), line);
    return v;
}

static struct decision a_decision(enum action action, int evidence_count)
{
    struct decision d = {
        .at = 1795176005000, .action = action, .refused = ACTION_REPLACE, .evidence_count = evidence_count};
    for (int i = 0; i < evidence_count && i < DECISION_EVIDENCE_MAX; i++)
        d.evidence[i] = i + 1;
    d.rule = RULE_TABLE_REBOOT;
    text_copy_cut(d.sentence, sizeof(d.sentence), "The sentence as it was stored.");
    text_copy_cut(d.refused_why, sizeof(d.refused_why), "the reason as it was stored");
    text_copy_cut(d.table_version, sizeof(d.table_version), fault_table_version());
    return d;
}

static void assert_says(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("does not say \"%s\":\n%s", part, text);
}

static void it_says_what_was_stored(void **state)
{
    (void)state;
    struct verdict v = a_verdict(1, "xid.79", "NVRM: Xid (PCI:0000:b9:00): 79, GPU has fallen off the bus.");
    struct decision d = a_decision(ACTION_REBOOT, 1);
    d.gates[GATE_BUDGET].result = GATE_RESULT_PASSED;
    text_copy_cut(d.gates[GATE_BUDGET].detail, sizeof(d.gates[GATE_BUDGET].detail), "0 in repair");
    autofree char *text = policy_explain(NULL, &d, &v, 1, "gpu-7");
    assert_says(text, "gpu-7: to be rebooted. Rule table-reboot, decided at 2026-11-20 12:00:05 UTC.");
    assert_says(text, "The sentence as it was stored.");
    assert_says(text, "NVRM: Xid (PCI:0000:b9:00): 79, GPU has fallen off the bus.");
    assert_says(text, "Who says so: [V]");
    assert_says(text, "group-budget    passed     0 in repair");
    assert_null(strstr(text, "group-breaker")); /* it was not asked, and nothing is said of it */
    assert_says(text, "replace: the reason as it was stored.");
    assert_says(text, "return gate");
}

static void every_action_has_an_end(void **state)
{
    (void)state;
    struct verdict v = a_verdict(1, "xid.79", "");
    for (int action = ACTION_NONE; action <= ACTION_SUPPORT; action++)
        for (int urgency = URGENCY_AFTER_JOBS; urgency <= URGENCY_NOW; urgency++) {
            struct decision d = a_decision((enum action)action, 1);
            d.urgency = (enum urgency)urgency;
            d.retry_at = 1795176065000;
            autofree char *text = policy_explain(NULL, &d, &v, 1, "gpu-7");
            assert_says(text, "What the decision means\n  ");
            assert_says(text, "It is looked at again at 2026-11-20 12:01:05 UTC.");
            assert_true(text[strlen(text) - 1] == '\n');
        }
}

static void kernel_lines_cannot_steer_the_terminal(void **state)
{
    (void)state;
    struct verdict v = a_verdict(1, "xid.79",
                                 "NVRM: \x1b[2J\x1b]0;owned\a \xc2\x9b"
                                 "31m caf\xc3\xa9 \x7f\r\n done");
    struct decision d = a_decision(ACTION_REBOOT, 1);
    text_copy_cut(d.refused_why, sizeof(d.refused_why), "held by \x1b[31mme");
    autofree char *text = policy_explain(NULL, &d, &v, 1, "gpu-7");
    for (const char *c = text; *c != '\0'; c++)
        assert_true(*c == '\n' || (unsigned char)*c >= 0x20);
    assert_null(strstr(text, "\xc2\x9b"));
    assert_null(strchr(text, 0x7f));
    assert_says(text, "caf\xc3\xa9");
}

static void evidence_that_is_gone_is_counted(void **state)
{
    (void)state;
    struct verdict v[2] = {a_verdict(9, "xid.31", "not ours"), a_verdict(2, "xid.45", "the second")};
    struct decision d = a_decision(ACTION_WATCH, 40);
    autofree char *text = policy_explain(NULL, &d, v, 2, "gpu-7");
    assert_says(text, "the second");
    assert_says(text, "and 39 more that go with it");
    assert_null(strstr(text, "not ours"));
    autofree char *none = policy_explain(NULL, &d, NULL, 0, "gpu-7");
    assert_says(none, "and 40 more");
    d.evidence_count = 0;
    autofree char *silent = policy_explain(NULL, &d, NULL, 0, "gpu-7");
    assert_null(strstr(silent, "What was seen"));
}

static void other_tables_are_named(void **state)
{
    (void)state;
    struct verdict v = a_verdict(1, "xid.79", "");
    struct decision d = a_decision(ACTION_REBOOT, 1);
    text_copy_cut(v.table_version, sizeof(v.table_version), "2026-01-01.1");
    text_copy_cut(d.table_version, sizeof(d.table_version), "2026-06-01.1");
    autofree char *text = policy_explain(NULL, &d, &v, 1, "gpu-7");
    assert_says(text, "Decided by fault table 2026-06-01.1");
    assert_says(text, "the agent has 2026-01-01.1");
    for (size_t i = 0; i < 2; i++) { /* neither a person nor a provider has a table */
        text_copy_cut(v.source, sizeof(v.source), i == 0 ? VERDICT_SOURCE_REPORT : VERDICT_SOURCE_PROVIDER);
        autofree char *reported = policy_explain(NULL, &d, &v, 1, "gpu-7");
        assert_null(strstr(reported, "the agent has"));
    }
    assert_says(text, fault_table_version());
    struct verdict unknown = a_verdict(1, "xid.999", "");
    autofree char *other = policy_explain(NULL, &d, &unknown, 1, "gpu-7");
    assert_says(other, "in no table");
}

static void assert_short(const char *code, const char *device, const char *sentence, size_t size, const char *expected)
{
    struct decision d = a_decision(ACTION_HOLD, 0);
    char text[REASON_MAX_BYTES];
    text_copy_cut(d.code, sizeof(d.code), code);
    text_copy_cut(d.device, sizeof(d.device), device);
    text_copy_cut(d.sentence, sizeof(d.sentence), sentence);
    policy_explain_short(&d, text, size);
    assert_string_equal(text, expected);
}

/* Where there is little room the words are the same, only fewer. */
static void the_short_form_is_the_end_of_the_sentence(void **state)
{
    (void)state;
    const char *whole =
        "0000:b9:00: Xid 79 (GPU has fallen off the bus): NVIDIA asks to restart the machine. A reboot is due. It "
        "waits: the group has no room.";
    assert_short("xid.79", "0000:b9:00", whole, REASON_MAX_BYTES,
                 "xid.79 on 0000:b9:00: A reboot is due. It waits: the group has no room.");
    assert_short("xid.79", "0000:b9:00", whole, 60, "xid.79 on 0000:b9:00: It waits: the group has no room.");
    assert_short("xid.79", "0000:b9:00", whole, 30, "xid.79 on 0000:b9:00: It wait");
    assert_short("", "", "The reboot did not bring the machine back.", REASON_MAX_BYTES,
                 "table-reboot: The reboot did not bring the machine back.");
    assert_short("", "", "Held by ana: back at 4. p.m. or so.", REASON_MAX_BYTES,
                 "table-reboot: Held by ana: back at 4. p.m. or so.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_what_was_stored),
        cmocka_unit_test(every_action_has_an_end),
        cmocka_unit_test(kernel_lines_cannot_steer_the_terminal),
        cmocka_unit_test(evidence_that_is_gone_is_counted),
        cmocka_unit_test(other_tables_are_named),
        cmocka_unit_test(the_short_form_is_the_end_of_the_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
