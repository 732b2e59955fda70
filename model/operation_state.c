/* Tables of operations and their steps; the diagrams are in operation_state.h. */
#include "model/operation_state.h"

#include "base/own.h"

ENUM_DEFINE(operation_state, OPERATION_STATE_LIST)
ENUM_DEFINE(step_state, STEP_STATE_LIST)
ENUM_DEFINE(operation_kind, OPERATION_KIND_LIST)
ENUM_DEFINE(operation_cause, OPERATION_CAUSE_LIST)
ENUM_DEFINE(step_kind, STEP_KIND_LIST)

#define TO(SYMBOL) SM_BIT(OPERATION_STATE_##SYMBOL)
static const struct sm_row operation_rows[OPERATION_STATE_COUNT] = {
    [OPERATION_STATE_PENDING] = {"pending", TO(RUNNING) | TO(CANCELLED) | TO(FAILED)},
    [OPERATION_STATE_RUNNING] = {"running", TO(SUCCEEDED) | TO(FAILED) | TO(CANCELLED)},
    [OPERATION_STATE_SUCCEEDED] = {"succeeded", 0},
    [OPERATION_STATE_FAILED] = {"failed", 0},
    [OPERATION_STATE_CANCELLED] = {"cancelled", 0},
};
#undef TO
const struct sm operation_state_machine = {"operation", operation_rows, OPERATION_STATE_COUNT};

#define TO(SYMBOL) SM_BIT(STEP_STATE_##SYMBOL)
static const struct sm_row step_rows[STEP_STATE_COUNT] = {
    [STEP_STATE_WAITING] = {"waiting", TO(RUNNING) | TO(SKIPPED)},
    [STEP_STATE_RUNNING] = {"running", TO(DONE) | TO(FAILED) | TO(SKIPPED)},
    [STEP_STATE_DONE] = {"done", 0},
    [STEP_STATE_FAILED] = {"failed", 0},
    [STEP_STATE_SKIPPED] = {"skipped", 0},
};
#undef TO
const struct sm step_state_machine = {"step", step_rows, STEP_STATE_COUNT};

#define STEP(SYMBOL) STEP_KIND_##SYMBOL
static const enum step_kind launch_steps[] = {STEP(LAUNCH), STEP(JOIN),   STEP(PREPARE),
                                              STEP(CHECK),  STEP(VERIFY), STEP(RESUME)};
static const enum step_kind reboot_steps[] = {STEP(MARK), STEP(DRAIN),  STEP(REBOOT),
                                              STEP(JOIN), STEP(VERIFY), STEP(RESUME)};
static const enum step_kind reset_steps[] = {STEP(MARK), STEP(DRAIN), STEP(RESET), STEP(VERIFY), STEP(RESUME)};
static const enum step_kind replace_steps[] = {STEP(MARK),    STEP(DRAIN), STEP(TERMINATE), STEP(LAUNCH), STEP(JOIN),
                                               STEP(PREPARE), STEP(CHECK), STEP(VERIFY),    STEP(RESUME)};
static const enum step_kind release_steps[] = {STEP(PREPARE), STEP(VERIFY), STEP(RESUME)};
static const enum step_kind delete_steps[] = {STEP(MARK), STEP(DRAIN), STEP(TERMINATE), STEP(FORGET)};
static const enum step_kind check_steps[] = {STEP(MARK), STEP(DRAIN), STEP(CHECK), STEP(VERIFY), STEP(RESUME)};

const enum step_kind *operation_steps(enum operation_kind kind, int *ret_count)
{
    static const struct {
        const enum step_kind *steps;
        int count;
    } table[OPERATION_KIND_COUNT] = {
        [OPERATION_KIND_LAUNCH] = {launch_steps, (int)ARRAY_LEN(launch_steps)},
        [OPERATION_KIND_REBOOT] = {reboot_steps, (int)ARRAY_LEN(reboot_steps)},
        [OPERATION_KIND_RESET] = {reset_steps, (int)ARRAY_LEN(reset_steps)},
        [OPERATION_KIND_REPLACE] = {replace_steps, (int)ARRAY_LEN(replace_steps)},
        [OPERATION_KIND_RELEASE] = {release_steps, (int)ARRAY_LEN(release_steps)},
        [OPERATION_KIND_DELETE] = {delete_steps, (int)ARRAY_LEN(delete_steps)},
        [OPERATION_KIND_UPDATE] = {replace_steps, (int)ARRAY_LEN(replace_steps)},
        [OPERATION_KIND_CHECK] = {check_steps, (int)ARRAY_LEN(check_steps)},
    };
    *ret_count = table[kind].count;
    return table[kind].steps;
}

bool operation_is_of_cluster(enum operation_kind kind)
{
    return kind >= OPERATION_KIND_FIRST_OF_CLUSTER;
}

bool operation_is_repair(enum operation_kind kind)
{
    return kind == OPERATION_KIND_RESET || kind == OPERATION_KIND_REBOOT || kind == OPERATION_KIND_REPLACE;
}

bool step_is_point_of_no_return(enum step_kind kind)
{
    return kind == STEP_KIND_RESET || kind == STEP_KIND_REBOOT || kind == STEP_KIND_TERMINATE ||
           kind == STEP_KIND_LAUNCH || kind == STEP_KIND_FORGET;
}
