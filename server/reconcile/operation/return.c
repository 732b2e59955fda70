/*
 * What a return waits for beyond signs of life: the agent's checks that are named for the fault (policy/faults/return.def), each
 * of which has to have looked in the boot of now; and after a failed deep test, or when hardware came back that was given up,
 * deep health checks.
 *
 * A new machine takes no work before its accelerators and its network were looked at (policy/faults/launch.def), whatever it was launched for.
 *
 * What a check cannot tell is waited for until the gate's deadline, and fails it then with the check's own reason. What does not
 * apply here passes, and so does a check that this agent does not run: a site that switched it off has said so.
 */
#include "server/reconcile/operation/return.h"
#include "base/sm.h"
#include "base/text.h"
#include "db/hardware.h"
#include "db/verdict.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/operation/step.h"

#include <stdio.h>
#include <string.h>

#define ACCELERATORS "nvidia neuron"
#define CHECK_KMSG "kmsg"                 /* each agent that tells of checks tells of this one */
#define HARDWARE_WAIT_MS (2 * MS_PER_MIN) /* the checks that tell of hardware begin within 30 s, and may take 40 */

static bool tells_machine(const struct work *w)
{
    struct fleet_view live;
    return fleet_get(w->r->service->fleet, w->node->id, &live) == 0 && (live.checks & FLEET_TELLS_MACHINE) != 0;
}

/* NOT_FOUND: this agent has no such check, or has told of none in this boot (then of CHECK_KMSG neither). */
static int read_check(struct work *w, const char *name, struct check_state *ret_state)
{
    int status = db_check_get(w->turn->tx, w->instance.id, name, ret_state);
    if (status == 0 && !text_equal(ret_state->boot_id, w->instance.boot_id))
        status = STATUS_NOT_FOUND;
    if (status < 0 && status != STATUS_NOT_FOUND)
        work_did(w, status);
    return status;
}

/* --- the checks named for the fault ------------------------------------------------------------ */

static bool is_new_machine(const struct work *w)
{
    return w->op.kind == OPERATION_KIND_REPLACE || w->op.kind == OPERATION_KIND_LAUNCH ||
           w->op.kind == OPERATION_KIND_UPDATE;
}

struct opposing {
    const struct work *w;
    const char *source;
    char code[CODE_MAX_BYTES]; /* "": nothing is found that is against the return */
};

static int take_opposing(const void *row, void *arg)
{
    struct opposing *opposing = arg;
    const struct verdict *verdict = row;
    const struct work *w = opposing->w;
    const struct fault_scope faults = {atomic_load(&w->r->service->fault_overrides), w->node->group->instance_type};
    bool now = text_equal(verdict->boot_id, w->instance.boot_id) && text_equal(verdict->source, opposing->source);
    bool bars = is_new_machine(w) && fault_bars_launch(verdict->code);
    if (now && (bars || text_equal(verdict->code, w->op.code) || policy_is_node_fault(&faults, verdict)))
        text_copy_cut(opposing->code, sizeof(opposing->code), verdict->code);
    return 0;
}

/* A check may find what costs no node, as a GPU without persistence mode. */
static bool finds_fault(struct work *w, const char *name, char ret_code[CODE_MAX_BYTES])
{
    const struct db_verdict_filter open = {.node_id = w->node->id, .state = VERDICT_STATE_OPEN};
    struct opposing opposing = {.w = w, .source = name};
    work_did(w, db_verdict_list(w->turn->tx, &open, take_opposing, &opposing));
    text_copy_cut(ret_code, CODE_MAX_BYTES, opposing.code);
    return opposing.code[0] != '\0';
}

static bool one_lacks(struct work *w, const char *name)
{
    struct check_state state;
    char code[CODE_MAX_BYTES];
    bool of_fault = text_has_word(fault_return_checks(w->op.code), name);
    if (read_check(w, name, &state) != 0)
        return false;
    if (!state.has_run && of_fault)
        work_say(w, "waits for the check %s to look, which the return after %s needs", name, w->op.code);
    else if (!state.has_run)
        work_say(w, "waits for the check %s to look, which a new machine needs", name);
    else if (state.result == CHECK_RESULT_UNKNOWN && (of_fault || text_has_word(ACCELERATORS, name)))
        work_say(w, "waits for the check %s, which cannot tell: %s", name, state.why);
    else if (state.result == CHECK_RESULT_FOUND && finds_fault(w, name, code))
        work_say(w, "waits for the check %s, which finds %s", name, code);
    else
        return false;
    return true;
}

bool work_checks_lack(struct work *w)
{
    struct check_state told;
    char names[128];
    char *save = NULL;
    snprintf(names, sizeof(names), "%s %s", fault_return_checks(w->op.code),
             is_new_machine(w) ? fault_launch_checks() : "");
    if (names[strspn(names, " ")] == '\0' || !tells_machine(w))
        return false;
    if (read_check(w, CHECK_KMSG, &told) != 0) {
        work_say(w, "waits for the agent to tell how its checks stand");
        return true;
    }
    for (const char *name = strtok_r(names, " ", &save); name != NULL; name = strtok_r(NULL, " ", &save))
        if (one_lacks(w, name))
            return true;
    return false;
}

/* --- deep checks that the past asks for -------------------------------------------------------- */

bool work_asks_hardware(const struct work *w)
{
    return is_new_machine(w) && w->node->group->settings.policy.recurring >= POLICY_RECURRING_CHECK && tells_machine(w);
}

bool work_hardware_is_told(struct work *w)
{
    static const char *const tellers[] = {"machine", "nvidia"};
    struct check_state state;
    if (w->now >= w->step->started_at + HARDWARE_WAIT_MS)
        return true; /* what is known by now has to do */
    if (read_check(w, CHECK_KMSG, &state) != 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(tellers); i++)
        if (read_check(w, tellers[i], &state) == 0 && !state.has_run)
            return false;
    return true;
}

static int take_recurring(const void *row, void *arg)
{
    const struct operation *op = &((const struct db_hardware_repair *)row)->operation;
    bool downed = op->kind == OPERATION_KIND_REPLACE && op->cause == OPERATION_CAUSE_FAULT;
    if (!downed)
        return 0;
    *(struct operation *)arg = *op;
    return 1;
}

int64_t work_recurring(struct work *w)
{
    struct operation op = {.id = 0};
    int64_t since = w->now - w->node->group->settings.policy.repeat_window_ms;
    int status = db_hardware_repairs(w->turn->tx, w->instance.id, since, 0, take_recurring, &op);
    if (status < 0)
        work_did(w, status);
    if (op.id == 0)
        return 0;
    work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_DEEP_CHECK,
               "%s%s is in this machine, which was given up for %s as %s: it is tested before it takes work",
               op.device[0] != '\0' ? "what is now " : "the same machine", op.device, op.code, op.old_instance);
    return SM_BIT(DEEP_CHECK_STRESS) | SM_BIT(DEEP_CHECK_CONNECTIVITY);
}
