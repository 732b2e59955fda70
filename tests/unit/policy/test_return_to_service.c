/* Nodes that the scheduler took out by itself and hears again: who is given back. */
#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void each_case(void **state)
{
    (void)state;
    static const struct {
        struct policy_absence absence;
        enum policy_return_to_service says;
    } table[] = {
        {{NODE_RECOVERY_AUTOMATIC, REPAIR_MODE_ACT, POLICY_CLAIM_NONE, true, 0}, POLICY_RETURN_TO_SERVICE_NOW},
        {{NODE_RECOVERY_AUTOMATIC, REPAIR_MODE_ACT, POLICY_CLAIM_NONE, true, 1}, POLICY_RETURN_TO_SERVICE_NOW},
        {{NODE_RECOVERY_AUTOMATIC, REPAIR_MODE_ACT, POLICY_CLAIM_NONE, true, 2},
         POLICY_RETURN_TO_SERVICE_SERIES}, /* the third in a day */
        {{NODE_RECOVERY_AUTOMATIC, REPAIR_MODE_ACT, POLICY_CLAIM_NONE, false, 2}, POLICY_RETURN_TO_SERVICE_SERIES},
        {{NODE_RECOVERY_AUTOMATIC, REPAIR_MODE_ACT, POLICY_CLAIM_NONE, false, 0}, POLICY_RETURN_TO_SERVICE_UNHEARD},
        {{NODE_RECOVERY_AUTOMATIC, REPAIR_MODE_ACT, POLICY_CLAIM_PAUSED, true, 0}, POLICY_RETURN_TO_SERVICE_MANUAL},
        {{NODE_RECOVERY_NONE, REPAIR_MODE_ACT, POLICY_CLAIM_NONE, true, 0}, POLICY_RETURN_TO_SERVICE_MANUAL},
        {{NODE_RECOVERY_AUTOMATIC, REPAIR_MODE_APPROVE, POLICY_CLAIM_NONE, true, 0}, POLICY_RETURN_TO_SERVICE_MANUAL},
        {{NODE_RECOVERY_AUTOMATIC, REPAIR_MODE_RECOMMEND, POLICY_CLAIM_NONE, true, 0}, POLICY_RETURN_TO_SERVICE_MANUAL},
        {{NODE_RECOVERY_AUTOMATIC, REPAIR_MODE_OBSERVE, POLICY_CLAIM_NONE, true, 0}, POLICY_RETURN_TO_SERVICE_MANUAL},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (policy_return_to_service(&table[i].absence) != table[i].says)
            fail_msg("case %zu", i);
    assert_int_equal(policy_absence_limit(), 3);
    assert_int_equal(policy_absence_window_ms(), 24 * 3600 * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_case)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
