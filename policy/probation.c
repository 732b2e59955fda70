/*
 * Probation: for some hours after its return a machine gets less tolerance for what it was repaired for.
 *
 * It begins with the end of a repair of our own that came through the return gate, and is read from the ledger, so nothing
 * has to be kept and nothing is lost by a restart. What fails it is a fault of the same class, or of the same device:
 *
 *   watched, on the same device, by a rate → what the rate asks for, at its first finding
 *   reset, reboot → replace; for codes whose repeat is for a person: a person; after a reset: a reboot
 *
 * A device is the same by its identity: what sits at the same PCI address of another machine is another one. Codes of the driver and its firmware, of which
 * the table says that no new machine helps, go by their own count.
 *
 * Each repair has its own, so a later one ends none. A program's fault never fails it, and a replacement goes on to be bounded by the slot's limit.
 */
#include "policy/evaluate.h"

#include "base/text.h"

static bool is_on_probation(const struct policy_snapshot *snapshot, const struct policy_node *node,
                            const struct policy_repair *repair)
{
    bool replaced = repair->kind == OPERATION_KIND_REPLACE;
    bool here = repair->node == NULL && text_equal(text_or_empty(replaced ? repair->new_instance : repair->instance_id),
                                                   text_or_empty(node->instance_id));
    bool lasts = repair->finished_at <= snapshot->now_ms &&
                 snapshot->now_ms - repair->finished_at < snapshot->settings.probation_ms;
    return here && lasts && repair->succeeded && !repair->by_person && repair->finished_at > 0;
}

static bool has_rate_that_acts(const struct finding *lead)
{
    return lead->row != NULL && lead->row->rate_count > 0 && lead->row->rate_action >= ACTION_CLASS_RESET;
}

static bool fails(const struct finding *lead, const struct ledger *ledger, const struct policy_repair *repair,
                  bool same_device)
{
    const char *code = lead->verdict != NULL ? lead->verdict->code : POLICY_CODE_UNREACHABLE;
    enum fault_class now = fault_class_of(code), then = fault_class_of(text_or_empty(repair->code));
    bool of_class = text_equal(code, text_or_empty(repair->code)) || (now == then && now != FAULT_CLASS_UNKNOWN);
    /* A place in another machine holds another device, unless it is known to be the same piece. */
    bool other_hardware = repair->kind == OPERATION_KIND_REPLACE && !repair->same_piece;
    bool of_device = ledger->device[0] != '\0' && !other_hardware &&
                     policy_same_device(ledger->node, text_or_empty(repair->device), ledger->device);
    return same_device ? of_device && of_class : of_device || of_class;
}

/* A reset later on takes nothing from what a machine was rebooted or replaced for. */
static bool comes_before(const struct policy_repair *a, const struct policy_repair *b)
{
    bool a_reset = a->kind == OPERATION_KIND_RESET, b_reset = b->kind == OPERATION_KIND_RESET;
    return a_reset != b_reset ? b_reset : a->finished_at > b->finished_at;
}

const struct policy_repair *policy_failed_probation(const struct policy_snapshot *snapshot, const struct finding *lead,
                                                    const struct ledger *ledger, bool same_device)
{
    const struct policy_repair *failed = NULL;
    if (same_device && !has_rate_that_acts(lead))
        return NULL;
    for (size_t i = 0; i < ledger->node->repair_count; i++) {
        const struct policy_repair *repair = &ledger->node->repairs[i];
        if (is_on_probation(snapshot, ledger->node, repair) && fails(lead, ledger, repair, same_device) &&
            (failed == NULL || comes_before(repair, failed)))
            failed = repair;
    }
    return failed;
}

struct policy_outcome policy_after_probation(const struct policy_snapshot *snapshot, const struct finding *lead,
                                             const struct ledger *ledger, const struct policy_repair *failed)
{
    char earlier[REASON_MAX_BYTES / 2], span[POLICY_SPAN_MAX], because[REASON_MAX_BYTES];
    policy_text_repair(failed, earlier, sizeof(earlier));
    policy_span(snapshot->settings.probation_ms, span);
    bool watched = lead->action == ACTION_CLASS_WATCH;
    if (watched ? lead->row->rate_action == ACTION_CLASS_SUPPORT : lead->again == ACTION_CLASS_SUPPORT) {
        policy_say(because, sizeof(because), "It fails its probation of %s after %s, so a person has to look", span,
                   earlier);
        return policy_person(RULE_PROBATION_FAILED, because,
                             "no source says that another machine helps against this code");
    }
    bool after_reset = failed->kind == OPERATION_KIND_RESET; /* a reboot is what was not tried yet */
    if (watched && (after_reset || lead->row->rate_action != ACTION_CLASS_REPLACE) &&
        ledger->reboots < snapshot->settings.reboots_max) {
        struct policy_outcome outcome = {
            .action = ACTION_REBOOT, .rule = RULE_PROBATION_FAILED, .refused = ACTION_WATCH};
        policy_say(outcome.because, sizeof(outcome.because),
                   "It fails its probation of %s after %s, so it is not only counted: a reboot is due", span, earlier);
        text_copy_cut(outcome.refused_why, sizeof(outcome.refused_why),
                      "on probation the first finding is one too many");
        return outcome;
    }
    policy_say(because, sizeof(because), "It fails its probation of %s after %s, so the machine is replaced", span,
               earlier);
    struct policy_outcome outcome = policy_replace_or_person(snapshot, ledger, RULE_PROBATION_FAILED, because);
    if (outcome.action == ACTION_REPLACE)
        text_copy_cut(outcome.refused_why, sizeof(outcome.refused_why),
                      "on probation a fault of the same kind costs the machine");
    return outcome;
}
