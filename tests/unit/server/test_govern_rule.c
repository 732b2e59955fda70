/* Stored documents as rules for a scheduler, and answers as a status: what is asked for, to the last thousandth, and what is said of it. */
#include "server/reconcile/keep/govern_rule.h"

#include "base/own.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct scheduler_rule read_rule(enum governance_kind kind, const char *config)
{
    static struct governance governance;
    struct scheduler_rule rule;
    governance =
        (struct governance){.kind = kind, .uid = "abcdefabcdef", .team = "vision", .weight = 7, .active = true};
    text_copy_cut(governance.config, sizeof(governance.config), config);
    assert_int_equal(govern_rule_make(&governance, &rule), 0);
    return rule;
}

static void test_a_scheduler_configuration(void **state)
{
    (void)state;
    struct scheduler_rule rule =
        read_rule(GOVERNANCE_KIND_SCHEDULER_CONFIG,
                  "{\"classes\":[{\"name\":\"prod\",\"weight\":100},{\"name\":\"dev\",\"weight\":0}],"
                  "\"fairShare\":true}");
    assert_int_equal(rule.class_count, 2);
    assert_string_equal(rule.classes[0].name, "prod");
    assert_int_equal(rule.classes[0].weight, 100);
    assert_string_equal(rule.classes[1].name, "dev");
    assert_true(rule.fair_share && !rule.off);
    static const enum scheduler_part asked[] = {SCHEDULER_PART_PRIORITY_CLASSES, SCHEDULER_PART_FAIR_SHARE};
    int count = 0;
    for (int part = 0; part < SCHEDULER_PART_COUNT; part++)
        count += rule.asked[part];
    assert_int_equal(count, ARRAY_LEN(asked));
    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        assert_true(rule.asked[asked[i]]);
}

static void test_a_quota(void **state)
{
    (void)state;
    struct scheduler_rule rule =
        read_rule(GOVERNANCE_KIND_COMPUTE_QUOTA,
                  "{\"amounts\":[{\"instanceType\":\"ml.p5.48xlarge\",\"nodes\":4,\"accelerators\":32,\"cpus\":2.3,"
                  "\"memoryGib\":2048.25},{\"instanceType\":\"ml.p4d.24xlarge\",\"slice\":{\"kind\":\"mig-1g."
                  "5gb\","
                  "\"count\":7}}],\"sharing\":{\"strategy\":\"dont-lend\"},\"preempts\":true}");
    const struct scheduler_amount *whole = &rule.amounts[0], *part = &rule.amounts[1];
    assert_int_equal(rule.amount_count, 2);
    assert_true(whole->nodes == 4 && whole->accelerators == 32 && whole->cpu_milli == 2300 && whole->slices == -1);
    assert_int_equal(whole->memory_mib, 2097408);
    assert_string_equal(whole->slice, "");
    assert_true(part->nodes == -1 && part->accelerators == -1 && part->cpu_milli == -1 && part->memory_mib == -1);
    assert_string_equal(part->slice, "1g.5gb");
    assert_int_equal(part->slices, 7);
    assert_true(!rule.lends && !rule.borrows && rule.preempts);
    assert_true(rule.asked[SCHEDULER_PART_RESOURCES] && rule.asked[SCHEDULER_PART_WEIGHT] &&
                rule.asked[SCHEDULER_PART_LENDING] && rule.asked[SCHEDULER_PART_PREEMPTION]);
    rule = read_rule(GOVERNANCE_KIND_COMPUTE_QUOTA, "{}");
    assert_true(rule.asked[SCHEDULER_PART_RESOURCES] && !rule.asked[SCHEDULER_PART_LENDING]); /* a place for the team */
    assert_int_equal(rule.borrow_percent, -1);
    rule = read_rule(GOVERNANCE_KIND_COMPUTE_QUOTA,
                     "{\"sharing\":{\"strategy\":\"lend-and-borrow\",\"borrowPercent\":20,\"borrowAtMost\":"
                     "[{\"instanceType\":\"ml.p5.48xlarge\",\"accelerators\":3}]}}");
    assert_true(rule.lends && rule.borrows && rule.borrow_percent == 20 && rule.borrow_count == 1);
    assert_int_equal(rule.borrow_at_most[0].accelerators, 3);
    /* Limits without a strategy are limits of HyperPod's default, LendAndBorrow. */
    rule = read_rule(GOVERNANCE_KIND_COMPUTE_QUOTA, "{\"sharing\":{\"borrowPercent\":20}}");
    assert_true(rule.asked[SCHEDULER_PART_LENDING] && rule.lends && rule.borrows && rule.borrow_percent == 20);
    rule = read_rule(GOVERNANCE_KIND_COMPUTE_QUOTA, "{\"sharing\":{\"strategy\":\"lend\"}}");
    assert_true(rule.lends && !rule.borrows);
}

static void test_what_is_said_of_it(void **state)
{
    (void)state;
    static const struct {
        enum scheduler_outcome classes, share;
        enum scheduler_outcome outcome;
        const char *reason, *details;
    } cases[] = {
        {SCHEDULER_OUTCOME_HOLDS, SCHEDULER_OUTCOME_HOLDS, SCHEDULER_OUTCOME_HOLDS,
         "Applied: the scheduler goes by all of it.", "{\"PriorityClasses\":\"\",\"FairShare\":\"\"}"},
        {SCHEDULER_OUTCOME_HOLDS, SCHEDULER_OUTCOME_FAILED, SCHEDULER_OUTCOME_FAILED,
         "Stored, but not applied in full. FairShare: b.", "{\"PriorityClasses\":\"\",\"FairShare\":\"b\"}"},
        {SCHEDULER_OUTCOME_FAILED, SCHEDULER_OUTCOME_FAILED, SCHEDULER_OUTCOME_FAILED,
         "Stored, but not applied in full. PriorityClasses: a. FairShare: b.",
         "{\"PriorityClasses\":\"a\",\"FairShare\":\"b\"}"},
        {SCHEDULER_OUTCOME_LATER, SCHEDULER_OUTCOME_FAILED, SCHEDULER_OUTCOME_FAILED,
         "Stored, but not applied in full. FairShare: b.", "{\"PriorityClasses\":\"a\",\"FairShare\":\"b\"}"},
        {SCHEDULER_OUTCOME_LATER, SCHEDULER_OUTCOME_LATER, SCHEDULER_OUTCOME_LATER,
         "Stored, but not applied yet. PriorityClasses: a.", "{\"PriorityClasses\":\"a\",\"FairShare\":\"b\"}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char reason[SENTENCE_MAX_BYTES], details[GOVERNANCE_DETAILS_MAX_BYTES];
        struct scheduler_rule rule = {.kind = GOVERNANCE_KIND_SCHEDULER_CONFIG};
        rule.asked[SCHEDULER_PART_PRIORITY_CLASSES] = rule.asked[SCHEDULER_PART_FAIR_SHARE] = true;
        rule.answers[SCHEDULER_PART_PRIORITY_CLASSES] = (struct scheduler_answer){cases[i].classes, "a"};
        rule.answers[SCHEDULER_PART_FAIR_SHARE] = (struct scheduler_answer){cases[i].share, "b"};
        assert_int_equal(govern_rule_judge(&rule, reason, details), cases[i].outcome);
        assert_int_equal(govern_rule_is_undecided(&rule), cases[i].classes == SCHEDULER_OUTCOME_LATER);
        assert_string_equal(reason, cases[i].reason);
        assert_string_equal(details, cases[i].details);
    }
}

/* However long the sentences are, what is stored is text of its length and JSON that can be read. */
static void test_the_longest_answers_fit(void **state)
{
    (void)state;
    struct scheduler_rule rule = {.kind = GOVERNANCE_KIND_COMPUTE_QUOTA};
    char reason[SENTENCE_MAX_BYTES], details[GOVERNANCE_DETAILS_MAX_BYTES];
    for (int part = SCHEDULER_PART_RESOURCES; part < SCHEDULER_PART_COUNT; part++) {
        rule.asked[part] = true;
        rule.answers[part].outcome = SCHEDULER_OUTCOME_FAILED;
        memset(rule.answers[part].why, '"', SCHEDULER_WHY_MAX - 1);
    }
    assert_int_equal(govern_rule_judge(&rule, reason, details), SCHEDULER_OUTCOME_FAILED);
    assert_int_equal(strlen(reason), SENTENCE_MAX_BYTES - 1);
    assert_true(text_ends_with(details, "}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_scheduler_configuration),
        cmocka_unit_test(test_a_quota),
        cmocka_unit_test(test_what_is_said_of_it),
        cmocka_unit_test(test_the_longest_answers_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
