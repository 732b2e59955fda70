/*
 * What was tried before: attempts are counted per piece of hardware, replacements per slot.
 *
 * An attempt counts in full within the repeat window (7 d), and from then on less and less until it is forgotten after
 * POLICY_MEMORY_MS (30 d): three lost GPUs in three weeks are no three first ones, and last month's does not condemn a machine.
 *
 * A new instance is other hardware, so reboots of an earlier one prove nothing about it, unless a piece of it is known to be
 * the same: then its past goes with it, from whichever slot. People's own repairs are shown
 * but not counted: an operator who reboots a node twice must not use up its chances.
 */
#include "policy/evaluate.h"

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

/* What the weights come to, in permille, before they are rounded. */
struct weights {
    int64_t resets, reboots, gsp_reboots, replaces;
};

static int64_t weight_of(const struct policy_settings *settings, int64_t age_ms)
{
    if (age_ms <= settings->repeat_window_ms)
        return 1000;
    return age_ms >= POLICY_MEMORY_MS
               ? 0
               : 1000 * (POLICY_MEMORY_MS - age_ms) / (POLICY_MEMORY_MS - settings->repeat_window_ms);
}

static int rounded(int64_t permille)
{
    return (int)((permille + 500) / 1000);
}

static void count_reboot(const struct policy_node *node, const struct policy_repair *repair, struct ledger *ledger)
{
    ledger->reboots++;
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
    bool newer = ledger->recurring == NULL || repair->at > ledger->recurring->at;
    if (repair->same_piece && newer && policy_same_device(node, text_or_empty(repair->device), device))
        ledger->recurring = repair;
}

static const char *why_no_reset(const struct policy_node *node, const char *device)
{
    if (!node->can_reset)
        return "The node's agent offers no reset of a GPU alone";
    if (device[0] == '\0')
        return "It is not known which GPU would be reset";
    return NULL;
}

static void weigh(const struct policy_snapshot *snapshot, const struct policy_node *node,
                  const struct policy_repair *repair, const char *device, struct weights *weights,
                  struct ledger *ledger)
{
    int64_t weight = weight_of(&snapshot->settings, snapshot->now_ms - repair->at);
    bool here = text_equal(text_or_empty(repair->instance_id), text_or_empty(node->instance_id)) || repair->same_piece;
    if (repair->by_person)
        return;
    if (repair->kind == OPERATION_KIND_REPLACE)
        weights->replaces += repair->node == NULL ? weight : 0;
    if (repair->kind == OPERATION_KIND_REPLACE)
        ledger->known_replaces += repair->node == NULL && weight > 0;
    if (!here || !policy_same_device(node, text_or_empty(repair->device), device))
        return;
    if (repair->kind == OPERATION_KIND_RESET)
        weights->resets += weight;
    if (repair->kind == OPERATION_KIND_RESET)
        ledger->known_resets += weight > 0;
    if (repair->kind != OPERATION_KIND_REBOOT)
        return;
    weights->reboots += weight;
    weights->gsp_reboots += policy_is_gsp_like(row_of(snapshot, text_or_empty(repair->code))) ? weight : 0;
    ledger->recurred += took_effect(node, repair) ? weight : 0;
    ledger->known_reboots += weight > 0;
}

static void count(const struct policy_node *node, const struct policy_repair *repair, const char *device,
                  struct ledger *ledger)
{
    bool here = text_equal(text_or_empty(repair->instance_id), text_or_empty(node->instance_id));
    if (!repair->by_person && repair->kind == OPERATION_KIND_REBOOT && here)
        note_no_return(node, repair, ledger);
    if (repair->by_person)
        ledger->by_people++;
    else if (repair->kind == OPERATION_KIND_REPLACE)
        count_replacement(node, repair, device, ledger);
    else if (!policy_same_device(node, text_or_empty(repair->device), device))
        return;
    else if (repair->kind == OPERATION_KIND_RESET && (here || repair->same_piece))
        count_reset(repair, ledger);
    else if (repair->kind == OPERATION_KIND_REBOOT && (here || repair->same_piece))
        count_reboot(node, repair, ledger);
    else if (repair->kind == OPERATION_KIND_REBOOT)
        ledger->elsewhere++;
}

bool policy_is_planned(const struct policy_repair *repair)
{
    return fault_has_trait(text_or_empty(repair->code), FAULT_TRAIT_PLANNED);
}

static void fill(const struct policy_snapshot *snapshot, const struct policy_node *node, const char *device,
                 bool planned, struct ledger *ret_ledger)
{
    struct ledger ledger = {.node = node, .device = device};
    struct weights weights = {0};
    int64_t since = snapshot->now_ms - snapshot->settings.repeat_window_ms;
    for (size_t i = 0; i < node->repair_count; i++) {
        bool is_replacement = node->repairs[i].kind == OPERATION_KIND_REPLACE;
        if (!planned && is_replacement && policy_is_planned(&node->repairs[i]))
            continue;
        weigh(snapshot, node, &node->repairs[i], device, &weights, &ledger);
        if (node->repairs[i].at >= since)
            count(node, &node->repairs[i], device, &ledger);
    }
    ledger.resets_weighed = rounded(weights.resets);
    ledger.reboots_weighed = rounded(weights.reboots);
    ledger.replaces_weighed = rounded(weights.replaces);
    ledger.gsp_reboots = rounded(weights.gsp_reboots);
    ledger.no_reset = why_no_reset(node, device);
    struct policy_lemon lemon = {.machine = 0};
    if (snapshot->settings.lemon_score > 0)
        policy_lemon(&snapshot->settings, node, snapshot->now_ms, &lemon);
    ledger.lemon = lemon.machine;
    *ret_ledger = ledger;
}

void policy_ledger(const struct policy_snapshot *snapshot, const struct policy_node *node, const char *device,
                   struct ledger *ret_ledger)
{
    fill(snapshot, node, device, false, ret_ledger);
}

void policy_ledger_planned(const struct policy_snapshot *snapshot, const struct policy_node *node, const char *device,
                           struct ledger *ret_ledger)
{
    fill(snapshot, node, device, true, ret_ledger);
}
