/*
 * What was tried before: attempts are counted per piece of hardware, replacements per slot.
 *
 * A new instance is other hardware, so reboots of an earlier one prove nothing about it, unless a piece of it is known to be
 * the same: then its past goes with it, from whichever slot. People's own repairs are shown
 * but not counted: an operator who reboots a node twice must not use up its chances.
 */
#include "policy/think.h"

#include "base/text.h"

#include <stdio.h>

bool policy_is_gsp_like(const struct fault_row *row)
{
    return row != NULL && row->rate_count > 0 && row->rate_action == ACTION_CLASS_SUPPORT &&
           row->action == ACTION_CLASS_REBOOT;
}

static const struct fault_row *row_of(const struct policy_snapshot *snapshot, const char *code)
{
    struct fault_judgement judgement;
    fault_judge_in(&snapshot->faults, "ledger", code, "", &judgement);
    return judgement.row;
}

/* A reboot that failed before it changed anything is an attempt, but the fault did not come back after it. */
static bool took_effect(const struct policy_node *node, const struct policy_repair *repair)
{
    bool here = text_equal(text_or_empty(repair->instance_id), text_or_empty(node->instance_id));
    return repair->succeeded || (here && node->boot_at > repair->at);
}

static void count_reboot(const struct policy_snapshot *snapshot, const struct policy_node *node,
                         const struct policy_repair *repair, struct ledger *ledger)
{
    ledger->reboots++;
    if (policy_is_gsp_like(row_of(snapshot, text_or_empty(repair->code))))
        ledger->gsp_reboots++;
    bool newer = ledger->reboot == NULL || repair->at > ledger->reboot->at;
    if (took_effect(node, repair) && newer)
        ledger->reboot = repair;
}

static void count_reset(const struct policy_repair *repair, struct ledger *ledger)
{
    ledger->resets++;
    if (ledger->reset == NULL || repair->at > ledger->reset->at)
        ledger->reset = repair;
}

const char *policy_error(const struct policy_repair *repair, char buffer[POLICY_ERROR_MAX])
{
    char error[POLICY_ERROR_MAX - 3];
    text_copy_cut(error, sizeof(error), text_or_empty(repair->error));
    snprintf(buffer, POLICY_ERROR_MAX, error[0] == '\0' ? "%s" : " (%s)", error);
    return buffer;
}

/* Whatever it was for: a machine that is gone is gone for all of its devices. One that came up late did come back. */
static void note_no_return(const struct policy_node *node, const struct policy_repair *repair, struct ledger *ledger)
{
    if (repair->no_return && node->state == NODE_STATE_HELD && !took_effect(node, repair) &&
        (ledger->no_return == NULL || repair->at > ledger->no_return->at))
        ledger->no_return = repair;
}

bool policy_same_device(const struct policy_node *node, const char *a, const char *b)
{
    if (text_equal(a, b))
        return true;
    const struct hardware *piece = hardware_find(node->hardware, node->hardware_count, a);
    return piece != NULL && piece == hardware_find(node->hardware, node->hardware_count, b);
}

static void count_replacement(const struct policy_node *node, const struct policy_repair *repair, const char *device,
                              struct ledger *ledger)
{
    ledger->replaces += repair->node == NULL ? 1 : 0;
    bool newer = ledger->came_back == NULL || repair->at > ledger->came_back->at;
    if (repair->same_piece && newer && policy_same_device(node, text_or_empty(repair->device), device))
        ledger->came_back = repair;
}

static const char *why_no_reset(const struct policy_node *node, const char *device)
{
    if (!node->can_reset)
        return "The node's agent offers no reset of a GPU alone";
    if (device[0] == '\0')
        return "It is not known which GPU would be reset";
    return NULL;
}

void policy_ledger(const struct policy_snapshot *snapshot, const struct policy_node *node, const char *device,
                   struct ledger *ret_ledger)
{
    struct ledger ledger = {.node = node, .device = device};
    int64_t since = snapshot->now_ms - snapshot->settings.repeat_window_ms;
    for (size_t i = 0; i < node->repair_count; i++) {
        const struct policy_repair *repair = &node->repairs[i];
        bool here = text_equal(text_or_empty(repair->instance_id), text_or_empty(node->instance_id));
        if (repair->at < since)
            continue;
        if (!repair->by_person && repair->kind == OPERATION_KIND_REBOOT && here)
            note_no_return(node, repair, &ledger);
        if (repair->by_person)
            ledger.by_people++;
        else if (repair->kind == OPERATION_KIND_REPLACE)
            count_replacement(node, repair, device, &ledger);
        else if (!policy_same_device(node, text_or_empty(repair->device), device))
            continue;
        else if (repair->kind == OPERATION_KIND_RESET && (here || repair->same_piece))
            count_reset(repair, &ledger);
        else if (repair->kind == OPERATION_KIND_REBOOT && (here || repair->same_piece))
            count_reboot(snapshot, node, repair, &ledger);
        else if (repair->kind == OPERATION_KIND_REBOOT)
            ledger.elsewhere++;
    }
    ledger.no_reset = why_no_reset(node, device);
    struct policy_lemon lemon = {.machine = 0};
    if (snapshot->settings.lemon_score > 0)
        policy_lemon(&snapshot->settings, node, snapshot->now_ms, &lemon);
    ledger.lemon = lemon.machine;
    *ret_ledger = ledger;
}
