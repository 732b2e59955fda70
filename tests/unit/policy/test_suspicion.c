/* When what others say of a node is a suspicion. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/text.h"
#include "policy/policy.h"

#include <stdio.h>

#define NOW INT64_C(1763650800000)
#define HOUR INT64_C(3600000)
#define SAID_MAX 8

static struct verdict said[SAID_MAX];
static const struct verdict *list[SAID_MAX];
static struct policy_node node;

static void begin(void)
{
    node = (struct policy_node){.name = "gpu-1", .instance_id = "i-1", .verdicts = list};
}

static struct verdict *say(const char *kind, const char *about, int64_t ago_ms)
{
    struct verdict *verdict = &said[node.verdict_count];
    *verdict = (struct verdict){
        .id = (int64_t)node.verdict_count + 1, .state = VERDICT_STATE_OPEN, .received_at = NOW - ago_ms, .count = 1};
    snprintf(verdict->code, sizeof(verdict->code), "report.%s", kind);
    text_copy_cut(verdict->source, sizeof(verdict->source), VERDICT_SOURCE_REPORT);
    text_copy_cut(verdict->device, sizeof(verdict->device), about);
    text_copy_cut(verdict->instance_id, sizeof(verdict->instance_id), "i-1");
    list[node.verdict_count++] = verdict;
    return verdict;
}

static int64_t suspected_at(void)
{
    return policy_suspected_at(&node, NOW);
}

static void one_report_is_a_suspicion_until_it_expires(void **state)
{
    (void)state;
    begin();
    struct verdict *verdict = say("suspected", "", 100 * HOUR);
    assert_int_equal(suspected_at(), NOW - 100 * HOUR);
    verdict->expires_at = NOW + 1;
    assert_int_equal(suspected_at(), NOW - 100 * HOUR);
    verdict->expires_at = NOW;
    assert_int_equal(suspected_at(), 0);
    verdict->expires_at = 0;
    verdict->state = VERDICT_STATE_RESOLVED;
    assert_int_equal(suspected_at(), 0);
    verdict->state = VERDICT_STATE_OPEN;
    node.instance_id = "i-2"; /* it was another machine */
    assert_int_equal(suspected_at(), 0);
}

static void failed_jobs_of_three_users_within_a_day_are_one(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 3; i++)
        say("job-failed", "anna", HOUR * i); /* hers fail everywhere */
    say("job-failed", "ben", HOUR);
    assert_int_equal(suspected_at(), 0);
    struct verdict *third = say("job-failed", "carla", 25 * HOUR);
    assert_int_equal(suspected_at(), 0);
    third->received_at = NOW - 23 * HOUR;
    assert_int_equal(suspected_at(), NOW);
}

static void two_jobs_that_were_slowed_down_are_one(void **state)
{
    (void)state;
    begin();
    say("straggler", "job-1", 2 * HOUR);
    say("straggler", "job-1", HOUR);
    assert_int_equal(suspected_at(), 0);
    say("straggler", "job-2", HOUR);
    assert_int_equal(suspected_at(), NOW - HOUR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_report_is_a_suspicion_until_it_expires),
        cmocka_unit_test(failed_jobs_of_three_users_within_a_day_are_one),
        cmocka_unit_test(two_jobs_that_were_slowed_down_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
