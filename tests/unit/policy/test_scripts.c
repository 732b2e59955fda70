/* Whether a machine still has its lifecycle scripts before it: what each operation on its slot says. */
#include "base/own.h"
#include "base/text.h"
#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define DONE STEP_STATE_DONE
#define FAILED STEP_STATE_FAILED
#define SKIPPED STEP_STATE_SKIPPED
#define WAITING STEP_STATE_WAITING
#define RUNNING STEP_STATE_RUNNING

static const struct {
    const char *story;
    enum operation_kind kind;
    enum step_state launch, prepare; /* what comes before is done, what comes after is not */
    enum policy_scripts says;
} table[] = {
    {"scripts ran", OPERATION_KIND_LAUNCH, DONE, DONE, POLICY_SCRIPTS_BEHIND},
    {"the group has none", OPERATION_KIND_LAUNCH, DONE, SKIPPED, POLICY_SCRIPTS_BEHIND},
    {"a script failed", OPERATION_KIND_LAUNCH, DONE, FAILED, POLICY_SCRIPTS_AHEAD},
    {"stopped in the middle of a script", OPERATION_KIND_LAUNCH, DONE, RUNNING, POLICY_SCRIPTS_AHEAD},
    {"the machine did not join in time", OPERATION_KIND_LAUNCH, DONE, WAITING, POLICY_SCRIPTS_AHEAD},
    {"there is no machine", OPERATION_KIND_LAUNCH, FAILED, WAITING, POLICY_SCRIPTS_UNKNOWN},
    {"replaced", OPERATION_KIND_REPLACE, DONE, DONE, POLICY_SCRIPTS_BEHIND},
    {"replaced, and a script failed", OPERATION_KIND_REPLACE, DONE, FAILED, POLICY_SCRIPTS_AHEAD},
    {"updated, and a script failed", OPERATION_KIND_UPDATE, DONE, FAILED, POLICY_SCRIPTS_AHEAD},
    {"the old machine was kept", OPERATION_KIND_REPLACE, WAITING, WAITING, POLICY_SCRIPTS_UNKNOWN},
    {"released, and they ran", OPERATION_KIND_RELEASE, WAITING, DONE, POLICY_SCRIPTS_BEHIND},
    {"released, and there were none to run", OPERATION_KIND_RELEASE, WAITING, SKIPPED, POLICY_SCRIPTS_UNKNOWN},
    {"released, and one failed again", OPERATION_KIND_RELEASE, WAITING, FAILED, POLICY_SCRIPTS_UNKNOWN},
    {"rebooted", OPERATION_KIND_REBOOT, WAITING, WAITING, POLICY_SCRIPTS_UNKNOWN},
    {"checked", OPERATION_KIND_CHECK, WAITING, WAITING, POLICY_SCRIPTS_UNKNOWN},
};

static void each_operation_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct operation op = {.kind = table[i].kind};
        const enum step_kind *kinds = operation_steps(op.kind, &op.step_count);
        for (int s = 0; s < op.step_count; s++) {
            enum step_state step = kinds[s] == STEP_KIND_LAUNCH    ? table[i].launch
                                   : kinds[s] == STEP_KIND_PREPARE ? table[i].prepare
                                                                   : DONE;
            op.steps[s] = (struct operation_step){.kind = kinds[s], .state = step};
        }
        if (policy_scripts_after(&op) != table[i].says)
            fail_msg("%s", table[i].story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_operation_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
