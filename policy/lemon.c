/*
 * Lemons: what the past of a machine, of a device in it and of its slot weighs.
 *
 *   score = Σ over our own repairs within the window of (100, or 200 if it failed its return) · (1 − age / window)
 *
 * A repair stands for the fault that asked for it, so what is only counted and what programs cause weighs nothing. It weighs on
 * the machine that was repaired, on the device that it was for, wherever that is now, and on the slot. A replacement whose
 * new machine did not come up or failed its checks weighs on the new one. What people do weighs nothing: it may be a test. Neither does what a provider
 * planned: it says nothing of the machine.
 *
 * Lemon nodes are Meta's finding (arXiv 2410.21680): some 40 of their nodes cost their large jobs 14 % of failures instead of
 * 4 %. The window and the weights are our own. Recency by a straight line, so that a person can check the sum.
 */
#include "policy/evaluate.h"

#include "base/text.h"

static int64_t weight_of(const struct policy_settings *settings, const struct policy_repair *repair, int64_t now_ms,
                         int64_t weight)
{
    int64_t left = settings->lemon_window_ms - (now_ms - repair->at);
    return left <= 0 ? 0 : weight * left / settings->lemon_window_ms;
}

/* It was repaired, or a piece of it elsewhere. */
static bool is_of_machine(const struct policy_node *node, const struct policy_repair *repair)
{
    return repair->same_piece || text_equal(text_or_empty(repair->instance_id), text_or_empty(node->instance_id));
}

/* It is what a replacement brought, which then did not come up or failed its checks. */
static bool is_failed_to_provision(const struct policy_node *node, const struct policy_repair *repair)
{
    return repair->not_cleared && repair->kind == OPERATION_KIND_REPLACE &&
           text_equal(text_or_empty(repair->new_instance), text_or_empty(node->instance_id));
}

static int64_t weight_on_machine(const struct policy_node *node, const struct policy_repair *repair)
{
    if (is_of_machine(node, repair))
        return repair->not_cleared && repair->kind == OPERATION_KIND_REBOOT ? 200 : 100;
    return is_failed_to_provision(node, repair) ? 100 : 0;
}

static bool weighs(const struct policy_repair *repair)
{
    return !repair->by_person && (repair->not_cleared || !policy_is_planned(repair));
}

static int64_t score_of_device(const struct policy_settings *settings, const struct policy_node *node,
                               const char *device, int64_t now_ms)
{
    int64_t score = 0;
    for (size_t i = 0; i < node->repair_count; i++) {
        const struct policy_repair *repair = &node->repairs[i];
        if (weighs(repair) && is_of_machine(node, repair) &&
            policy_same_device(node, text_or_empty(repair->device), device))
            score += weight_of(settings, repair, now_ms, weight_on_machine(node, repair));
    }
    return score;
}

void policy_lemon(const struct policy_settings *settings, const struct policy_node *node, int64_t now_ms,
                  struct policy_lemon *ret_lemon)
{
    struct policy_lemon lemon = {.device = ""};
    for (size_t i = 0; i < node->repair_count; i++) {
        const struct policy_repair *repair = &node->repairs[i];
        int64_t weight = weight_on_machine(node, repair);
        if (!weighs(repair) || repair->at <= now_ms - settings->lemon_window_ms)
            continue;
        if (repair->node == NULL)
            lemon.slot += weight_of(settings, repair, now_ms, repair->not_cleared ? 200 : 100);
        if (weight == 0)
            continue;
        lemon.machine += weight_of(settings, repair, now_ms, weight);
        lemon.repairs++;
        lemon.not_cleared += repair->not_cleared ? 1 : 0;
        lemon.last_at = repair->at > lemon.last_at ? repair->at : lemon.last_at;
        const char *name = text_or_empty(repair->device);
        int64_t device = name[0] == '\0' ? 0 : score_of_device(settings, node, name, now_ms);
        if (device > lemon.device_score) {
            lemon.device_score = device;
            lemon.device = name;
        }
    }
    *ret_lemon = lemon;
}

int64_t policy_history_ms(const struct policy_settings *settings)
{
    int64_t lemon_ms = settings->lemon_score > 0 ? settings->lemon_window_ms : 0;
    return policy_at_least(policy_at_least(POLICY_MEMORY_MS, settings->repeat_window_ms), lemon_ms);
}

bool policy_is_lemon(const struct policy_settings *settings, const struct ledger *ledger)
{
    return settings->lemon_score > 0 && ledger->lemon >= settings->lemon_score;
}

bool policy_is_lemon_for_person(const struct policy_settings *settings, const struct ledger *ledger)
{
    return settings->lemon_action == POLICY_LEMON_PERSON && policy_is_lemon(settings, ledger);
}

static void say_lemon(const struct policy_snapshot *snapshot, const struct ledger *ledger, const char *so,
                      char because[REASON_MAX_BYTES])
{
    char span[POLICY_SPAN_MAX];
    policy_say(because, REASON_MAX_BYTES,
               "The machine is a lemon: its repairs within %s weigh %lld points, and %d are the limit, so %s",
               policy_span(snapshot->settings.lemon_window_ms, span), (long long)ledger->lemon,
               snapshot->settings.lemon_score, so);
}

struct policy_outcome policy_lemon_for_person(const struct policy_snapshot *snapshot, const struct ledger *ledger)
{
    char because[REASON_MAX_BYTES];
    say_lemon(snapshot, ledger, "a person has to look", because);
    return policy_person(RULE_LEMON, because, "the site wants a person to look at its lemons");
}

struct policy_outcome policy_after_lemon(const struct policy_snapshot *snapshot, const struct finding *lead,
                                         const struct ledger *ledger)
{
    char because[REASON_MAX_BYTES];
    bool helps = lead->again != ACTION_CLASS_SUPPORT && (!policy_is_gsp_like(lead->row) || lead->driver_word);
    say_lemon(snapshot, ledger, helps ? "it is replaced" : "a person has to look", because);
    if (!helps)
        return policy_person(RULE_LEMON, because, "no source says that another machine helps against this code");
    struct policy_outcome outcome = policy_replace_or_person(snapshot, ledger, RULE_LEMON, because);
    if (outcome.action == ACTION_REPLACE)
        text_copy_cut(outcome.refused_why, sizeof(outcome.refused_why),
                      "it was repaired too often to be trusted after another one");
    return outcome;
}
