/*
 * An image that is at fault: machines that were launched from one image lack, since their boot, the software that a new machine needs to take
 * work (the trait OF_AN_IMAGE), and so many of them show the same that it is none of theirs. What a dead device shows too is no image's.
 *
 * They are held, those that were in service before like the new ones, with the image's name, or without one where none is known: else each
 * of them would be a person's for the same cause. None is rebooted or replaced for it: a reboot
 * brings up the same image, and a new machine would have it, too. For the same reason nothing else of a group that wants that image is
 * replaced meanwhile. A node that works again is given back as any other.
 */
#include "policy/evaluate.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

#define LOOK_AGAIN_MS INT64_C(600000)

void policy_image(const char *image_id, const char *release, char ret_image[POLICY_IMAGE_MAX])
{
    bool both = image_id[0] != '\0' && release[0] != '\0';
    snprintf(ret_image, POLICY_IMAGE_MAX, "%s%s%s", image_id, both ? " " : "", release);
}

static bool is_of_image(const struct candidate *candidate, const char *code, const char *image)
{
    return candidate->present && candidate->lacking && text_equal(candidate->decision.code, code) &&
           text_equal(text_or_empty(candidate->node->image), image);
}

/* How many machines of the image show this, in the snapshot and beside it. */
static int64_t count_of_image(const struct policy_snapshot *snapshot, const struct candidate *candidates, size_t count,
                              const char *code, const char *image)
{
    int64_t of_image = 0;
    for (size_t i = 0; i < count; i++)
        of_image += is_of_image(&candidates[i], code, image);
    for (size_t i = 0; i < snapshot->group.alike_count; i++) {
        const struct policy_alike *other = &snapshot->group.alike[i];
        of_image += other->lacking && text_equal(other->code, code) && text_equal(other->image, image);
    }
    return of_image;
}

/* What people have said of the node or the group, and what is decided of it by something else, stays. */
static bool may_be_held(const struct policy_snapshot *snapshot, const struct candidate *candidate)
{
    const struct policy_node *node = candidate->node;
    enum decision_rule rule = candidate->decision.rule;
    enum repair_mode mode = snapshot->settings.modes[candidate->decision.fault];
    bool state = node->state == NODE_STATE_READY || node->state == NODE_STATE_HELD;
    bool theirs = node->opted_out || text_or_empty(node->paused_why)[0] != '\0' || node->external_drain ||
                  node->maintenance || node->person_hold != NULL || node->has_active_operation;
    bool acts = mode == REPAIR_MODE_ACT || mode == REPAIR_MODE_APPROVE;
    return state && !theirs && acts && snapshot->group.recovery == NODE_RECOVERY_AUTOMATIC &&
           (rule == RULE_WATCH || rule == RULE_LASTS || candidate->limited);
}

/* What it shows, in place of what would follow for it alone. */
static void say_what_it_shows(const struct policy_snapshot *snapshot, struct candidate *candidate)
{
    const struct policy_node *node = candidate->node;
    struct decision *decision = &candidate->decision;
    for (size_t i = 0; i < node->verdict_count; i++) {
        const struct verdict *verdict = node->verdicts[i];
        struct fault_judgement judgement;
        if (verdict->id != decision->evidence[0])
            continue;
        fault_judge_in(&snapshot->faults, verdict->source, verdict->code, verdict->raw_line, &judgement);
        policy_say(decision->sentence, sizeof(decision->sentence), "%s: %s.",
                   decision->device[0] != '\0' ? decision->device : "The node", judgement.why);
    }
}

static void hold(const struct policy_snapshot *snapshot, struct candidate *candidate, int64_t of_image)
{
    struct decision *decision = &candidate->decision;
    struct policy_outcome outcome = {.action = ACTION_HOLD, .rule = RULE_IMAGE_HOLD, .refused = ACTION_REBOOT};
    struct ledger ledger;
    policy_ledger(snapshot, candidate->node, decision->device, &ledger);
    const char *image = text_or_empty(candidate->node->image);
    bool known = image[0] != '\0';
    policy_say(outcome.refused_why, sizeof(outcome.refused_why), "%s",
               known ? "a reboot brings up the same image, and a new machine would have it, too"
                     : "a reboot brings up the same software");
    say_what_it_shows(snapshot, candidate);
    policy_add(decision,
               "%" PRId64 " machines %s%s have shown it since their boot. %s is the likely cause: none of them is "
               "rebooted or replaced for it. %s.",
               of_image, known ? "with the image " : "without a known image", image,
               known ? "The image" : "Their common software",
               known ? "Give the group another image" : "Repair their software, or give the group an image");
    candidate->limited = candidate->lasting = candidate->weak = candidate->unproven = false;
    policy_pass_gates(snapshot, &outcome, &ledger, candidate);
    if (decision->action == ACTION_HOLD)
        decision->retry_at = snapshot->now_ms + LOOK_AGAIN_MS;
}

/* Those that are held for it stay so until no second one is left: else each that is fixed would bring the rest back into service. */
static int64_t least_of(const struct policy_snapshot *snapshot, const struct policy_node *node)
{
    int64_t least = snapshot->settings.incident_nodes;
    if (least <= 0)
        return INT64_MAX;
    bool held = node->state == NODE_STATE_HELD && node->person_hold == NULL;
    return held && least > 2 ? 2 : least;
}

void policy_hold_image(const struct policy_snapshot *snapshot, struct candidate *candidates, size_t count,
                       const char **ret_image)
{
    *ret_image = NULL;
    for (size_t i = 0; i < count; i++) {
        struct candidate *candidate = &candidates[i];
        const char *image = text_or_empty(candidate->node->image);
        if (!candidate->present || !candidate->lacking)
            continue;
        int64_t of_image = count_of_image(snapshot, candidates, count, candidate->decision.code, image);
        if (of_image < least_of(snapshot, candidate->node))
            continue;
        bool wanted = image[0] != '\0' && text_equal(image, text_or_empty(snapshot->group.image));
        if (candidate->node->person_hold == NULL && wanted)
            *ret_image = image;
        if (may_be_held(snapshot, candidate))
            hold(snapshot, candidate, of_image);
    }
}
