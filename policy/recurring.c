/*
 * The same card came back: a provider gave a machine again, or a part of it, that was replaced away for a fault.
 *
 * Known by identity alone (model/hardware.h), within the window in which attempts count. What people replaced says nothing
 * about the hardware. A fault of such a piece costs the machine at once, because a reboot had its chance; without a fault the
 * setting says what is done.
 */
#include "policy/evaluate.h"

#include "base/text.h"

const struct policy_repair *policy_same_hardware(const struct policy_settings *settings, const struct policy_node *node,
                                                 int64_t now_ms)
{
    const struct policy_repair *newest = NULL;
    for (size_t i = 0; i < node->repair_count; i++) {
        const struct policy_repair *repair = &node->repairs[i];
        if (repair->kind == OPERATION_KIND_REPLACE && repair->same_piece && !repair->by_person &&
            !policy_is_planned(repair) && repair->at >= now_ms - settings->repeat_window_ms &&
            (newest == NULL || repair->at > newest->at))
            newest = repair;
    }
    return newest;
}

const char *policy_text_repair(const struct policy_repair *repair, char *buffer, size_t size)
{
    char time[POLICY_TIME_MAX];
    const char *node = text_or_empty(repair->node);
    policy_say(buffer, size, "the %s of %s%s%s%s%s",
               repair->kind == OPERATION_KIND_REPLACE ? "replacement"
               : repair->kind == OPERATION_KIND_RESET ? "reset"
                                                      : "reboot",
               policy_time(repair->at, time), text_or_empty(repair->code)[0] != '\0' ? " for " : "",
               text_or_empty(repair->code), node[0] != '\0' ? " of " : "", node);
    return buffer;
}

struct policy_outcome policy_after_recurring(const struct policy_snapshot *snapshot, const struct ledger *ledger)
{
    char earlier[REASON_MAX_BYTES / 2], because[REASON_MAX_BYTES];
    policy_text_repair(ledger->recurring, earlier, sizeof(earlier));
    policy_say(because, sizeof(because), "The same hardware is back after %s, so the machine is replaced", earlier);
    struct policy_outcome outcome = policy_replace_or_person(snapshot, ledger, RULE_RECURRING_HARDWARE, because);
    if (outcome.action == ACTION_REPLACE)
        text_copy_cut(outcome.refused_why, sizeof(outcome.refused_why), "it was given up for a fault before");
    return outcome;
}
