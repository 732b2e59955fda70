/* Which claims on a node stop what is done by itself. */
#include "policy/claim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void nothing_stops_what_nobody_claims(void **state)
{
    static const struct policy_claims none;
    (void)state;
    for (int act = POLICY_ACT_REPAIR; act <= POLICY_ACT_UPDATE; act++)
        assert_int_equal(policy_claim((enum policy_act)act, &none), POLICY_CLAIM_NONE);
}

static void a_node_opted_out_is_left_alone_by_all(void **state)
{
    static const struct policy_claims claims = {
        .opted_out = true, .paused = true, .external_drain = true, .at_work = true, .maintenance = true};
    (void)state;
    for (int act = POLICY_ACT_REPAIR; act <= POLICY_ACT_UPDATE; act++)
        assert_int_equal(policy_claim((enum policy_act)act, &claims), POLICY_CLAIM_OPTED_OUT);
}

/* An update is a person's own request for the whole cluster, also for one that is paused. */
static void a_pause_stops_all_but_an_update(void **state)
{
    static const struct policy_claims claims = {.paused = true};
    (void)state;
    for (int act = POLICY_ACT_REPAIR; act < POLICY_ACT_UPDATE; act++)
        assert_int_equal(policy_claim((enum policy_act)act, &claims), POLICY_CLAIM_PAUSED);
    assert_int_equal(policy_claim(POLICY_ACT_UPDATE, &claims), POLICY_CLAIM_NONE);
}

static void who_holds_it_in_the_scheduler_stops_what_needs_it(void **state)
{
    static const struct policy_claims claims = {.external_drain = true};
    (void)state;
    assert_int_equal(policy_claim(POLICY_ACT_REPAIR, &claims), POLICY_CLAIM_EXTERNAL_DRAIN);
    assert_int_equal(policy_claim(POLICY_ACT_RETURN, &claims), POLICY_CLAIM_EXTERNAL_DRAIN);
    assert_int_equal(policy_claim(POLICY_ACT_TEST, &claims), POLICY_CLAIM_EXTERNAL_DRAIN);
    assert_int_equal(policy_claim(POLICY_ACT_UPDATE, &claims), POLICY_CLAIM_EXTERNAL_DRAIN);
    assert_int_equal(policy_claim(POLICY_ACT_HOLD, &claims), POLICY_CLAIM_NONE);
    assert_int_equal(policy_claim(POLICY_ACT_LAUNCH, &claims), POLICY_CLAIM_NONE);
}

static void one_operation_at_a_time(void **state)
{
    static const struct policy_claims claims = {.at_work = true};
    (void)state;
    for (int act = POLICY_ACT_REPAIR; act <= POLICY_ACT_UPDATE; act++)
        assert_int_equal(policy_claim((enum policy_act)act, &claims), POLICY_CLAIM_AT_WORK);
}

/* People may work on the machine: it is neither rebooted nor tested nor given back. What is held may be written down. */
static void a_maintenance_stops_repairs_and_tests(void **state)
{
    static const struct policy_claims claims = {.maintenance = true};
    (void)state;
    for (int act = POLICY_ACT_REPAIR; act <= POLICY_ACT_UPDATE; act++) {
        bool stopped = act == POLICY_ACT_REPAIR || act == POLICY_ACT_RETURN || act == POLICY_ACT_TEST;
        assert_int_equal(policy_claim((enum policy_act)act, &claims),
                         stopped ? POLICY_CLAIM_MAINTENANCE : POLICY_CLAIM_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_stops_what_nobody_claims),
        cmocka_unit_test(a_node_opted_out_is_left_alone_by_all),
        cmocka_unit_test(a_pause_stops_all_but_an_update),
        cmocka_unit_test(who_holds_it_in_the_scheduler_stops_what_needs_it),
        cmocka_unit_test(one_operation_at_a_time),
        cmocka_unit_test(a_maintenance_stops_repairs_and_tests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
