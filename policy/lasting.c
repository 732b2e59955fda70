/*
 * Weak findings that last: one is nothing, and nothing may be watched for ever.
 *
 *   a row says how long (lasts_ms) and what follows (lasts_action): a repair, or a person
 *   what was so from the boot on is no driver that hangs: another boot does not help, a person looks
 *   several weak findings on one node: each weighs its age as a share of its row's time, and together they ask for a person as soon as
 *   that is a whole
 *
 * Age is the server's: since the oldest open verdict of the same code and device came. A state that was over in between has no open
 * verdict from before, so it begins anew.
 *
 * What at least half of a group's nodes, and at least recovery.incidentNodes, began to show within one window is reported as one case after a
 * quarter of an hour: a shared cause is likely, and nobody has to wait for what would be a single node's time.
 *
 * A person takes a node out of service, so this is bounded over the group (policy_limit_lasting): a hall that is hot and a file server that
 * hangs are no node's, nor are disks of many nodes that are slow in one hour, and no more nodes are taken out by time alone than open
 * the breaker. One that lacks since its boot what a new machine needs to take work (faults/launch.def) serves nobody, so taking it out is not
 * bounded.
 */
#include "policy/evaluate.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

#define FROM_BOOT_MS INT64_C(900000) /* drivers and services are up a quarter of an hour after a boot, or never */
#define LOOK_AGAIN_MS INT64_C(3600000)
#define TOLD_AFTER_MS INT64_C(900000) /* a server that restarts is back by then, and people need not hear of it */

bool policy_is_from_boot(const struct policy_node *node, int64_t since)
{
    return since - node->boot_at < FROM_BOOT_MS;
}

static bool may_last(const struct finding *finding)
{
    return !finding->dropped && !finding->ended && finding->action == ACTION_CLASS_WATCH && finding->row != NULL &&
           finding->row->lasts_ms > 0;
}

static bool is_same_finding(const struct finding *a, const struct finding *b)
{
    return text_equal(a->verdict->code, b->verdict->code) && text_equal(a->verdict->device, b->verdict->device);
}

/* Since when the finding of `at` is open. */
static int64_t open_since(const struct finding *findings, size_t count, size_t at)
{
    int64_t since = findings[at].verdict->received_at;
    for (size_t i = 0; i < count; i++)
        if (!findings[i].dropped && !findings[i].ended && is_same_finding(&findings[i], &findings[at]) &&
            findings[i].verdict->received_at < since)
            since = findings[i].verdict->received_at;
    return since;
}

void policy_apply_lasting(const struct policy_snapshot *snapshot, const struct policy_node *node,
                          struct finding *findings, size_t count)
{
    if (policy_silence(snapshot, node) != SILENCE_NONE)
        return; /* nobody looks any more, so nobody knows whether it lasts */
    for (size_t i = 0; i < count; i++) {
        struct finding *finding = &findings[i];
        int64_t since = may_last(finding) ? open_since(findings, count, i) : snapshot->now_ms;
        if (!may_last(finding) || snapshot->now_ms - since < finding->row->lasts_ms)
            continue;
        bool from_boot = policy_is_from_boot(node, since);
        bool repairs = finding->row->lasts_action != ACTION_CLASS_SUPPORT;
        finding->lasted_ms = snapshot->now_ms - since;
        finding->from_boot = from_boot;
        finding->action = repairs && from_boot ? ACTION_CLASS_SUPPORT : finding->row->lasts_action;
        finding->again =
            ACTION_CLASS_SUPPORT; /* no source says that another machine helps against what was only watched */
    }
}

/* Each code once, by its oldest finding. */
static bool is_first_of_code(const struct policy_snapshot *snapshot, const struct finding *findings, size_t count,
                             size_t at, int64_t *ret_age_ms)
{
    int64_t since = open_since(findings, count, at);
    for (size_t i = 0; i < count; i++) {
        if (i == at || !may_last(&findings[i]) || !text_equal(findings[i].verdict->code, findings[at].verdict->code))
            continue;
        int64_t other = open_since(findings, count, i);
        if (other < since || (other == since && i < at))
            return false;
    }
    *ret_age_ms = snapshot->now_ms > since ? snapshot->now_ms - since : 0;
    return true;
}

void policy_weigh_lasting(const struct policy_snapshot *snapshot, const struct finding *findings, size_t count,
                          struct folded *folded)
{
    int64_t per_hour = 0; /* by how much it grows, in permille */
    for (size_t i = 0; i < count; i++) {
        int64_t age = 0;
        if (!may_last(&findings[i]) || !is_first_of_code(snapshot, findings, count, i, &age))
            continue;
        int64_t lasts = findings[i].row->lasts_ms, due = snapshot->now_ms + lasts - age;
        size_t len = strlen(folded->weak);
        folded->weak_permille += age * 1000 / lasts;
        folded->weak_codes++;
        per_hour += LOOK_AGAIN_MS * 1000 / lasts;
        folded->weak_at = folded->weak_at == 0 || due < folded->weak_at ? due : folded->weak_at;
        snprintf(folded->weak + len, sizeof(folded->weak) - len, "%s%s", len > 0 ? ", " : "",
                 findings[i].verdict->code);
    }
    for (size_t i = 0; i < count; i++) {
        int64_t expires_at = findings[i].verdict->expires_at; /* of a report: it counts until then */
        if (expires_at > snapshot->now_ms && (folded->weak_at == 0 || expires_at < folded->weak_at))
            folded->weak_at = expires_at;
    }
    int64_t left = 1000 - folded->weak_permille;
    if (folded->weak_codes > 1 && left > 0 && per_hour > 0) {
        int64_t due = snapshot->now_ms + left * LOOK_AGAIN_MS / per_hour + 1;
        folded->weak_at = due < folded->weak_at ? due : folded->weak_at;
    }
}

struct policy_outcome policy_after_weak_findings(const struct folded *folded)
{
    char because[REASON_MAX_BYTES];
    policy_say(because, sizeof(because),
               "Each of %d findings (%s) is weak, and together they have lasted long enough: a person has to look",
               folded->weak_codes, folded->weak);
    return policy_person(RULE_WEAK_FINDINGS_TOGETHER, because, "nothing says which part a repair would be for");
}

static bool is_together(const struct policy_snapshot *snapshot, int64_t a, int64_t b)
{
    return (a > b ? a - b : b - a) <= snapshot->settings.incident_window_ms;
}

/* How many nodes show the same, and of these how many about when this one began to. */
static int64_t count_alike(const struct policy_snapshot *snapshot, const struct candidate *candidates, size_t count,
                           const struct candidate *candidate, int64_t *ret_together)
{
    int64_t alike = 0, together = 0;
    for (size_t i = 0; i < count; i++) {
        if (!candidates[i].present || !text_equal(candidates[i].decision.code, candidate->decision.code) ||
            candidates[i].node->incident != NULL ||       /* its place explains it */
            (!candidate->lasting && !candidates[i].weak)) /* what flapped once is not like what flaps all the time */
            continue;
        alike++;
        together += is_together(snapshot, candidates[i].shown_at, candidate->shown_at);
    }
    for (size_t i = 0; i < snapshot->group.alike_count; i++) {
        const struct policy_alike *other = &snapshot->group.alike[i];
        if (!other->weak || !text_equal(other->code, candidate->decision.code))
            continue;
        alike++;
        together += is_together(snapshot, other->shown_at, candidate->shown_at);
    }
    *ret_together = together;
    return alike;
}

static void leave_watched(const struct policy_snapshot *snapshot, struct candidate *candidate, enum decision_rule rule,
                          const char *why)
{
    struct decision *decision = &candidate->decision;
    policy_rule(decision, ACTION_WATCH, rule);
    policy_add(decision, "The node stays in service: %s.", why);
    policy_refuse(decision, ACTION_SUPPORT, why);
    decision->retry_at = snapshot->now_ms + LOOK_AGAIN_MS;
}

/* How many nodes began to show the same about when this one did, though it has not lasted yet. */
static int64_t count_watched(const struct policy_snapshot *snapshot, const struct candidate *candidates, size_t count,
                             const struct candidate *candidate)
{
    int64_t alike = 0;
    for (size_t i = 0; i < count; i++)
        alike += candidates[i].watched && candidates[i].node->incident == NULL &&
                 text_equal(candidates[i].decision.code, candidate->decision.code) &&
                 is_together(snapshot, candidates[i].shown_at, candidate->shown_at);
    for (size_t i = 0; i < snapshot->group.alike_count; i++) {
        const struct policy_alike *other = &snapshot->group.alike[i];
        alike += other->watched && text_equal(other->code, candidate->decision.code) &&
                 is_together(snapshot, other->shown_at, candidate->shown_at);
    }
    return alike;
}

void policy_tell_shared(const struct policy_snapshot *snapshot, struct candidate *candidates, size_t count)
{
    char why[REASON_MAX_BYTES];
    for (size_t i = 0; i < count; i++) {
        struct candidate *candidate = &candidates[i];
        struct decision *decision = &candidate->decision;
        int64_t again = decision->retry_at, due = candidate->shown_at + TOLD_AFTER_MS;
        if (!candidate->watched || candidate->node->incident != NULL || candidate->node->has_active_operation)
            continue;
        int64_t alike = count_watched(snapshot, candidates, count, candidate);
        if (alike < snapshot->settings.incident_nodes || alike * 2 < snapshot->group.desired)
            continue;
        if (due > snapshot->now_ms) {
            decision->retry_at = again == 0 || due < again ? due : again;
            continue;
        }
        policy_say(why, sizeof(why), "%" PRId64 " of %" PRId64 " nodes show it, so a shared cause is likely", alike,
                   snapshot->group.desired);
        leave_watched(snapshot, candidate, RULE_SHARED_BY_MANY, why);
        if (again > snapshot->now_ms && again < decision->retry_at)
            decision->retry_at = again;
    }
}

/* A driver that hangs on at least half of the nodes, or on more than open the breaker, was made so on all of them: rebooting them in turn,
 * or holding them until they may be, takes the group out of service for what one image or one change did. */
void policy_share_lasting(const struct policy_snapshot *snapshot, struct candidate *candidates, size_t count)
{
    const struct policy_settings *settings = &snapshot->settings;
    int64_t limit = policy_breaker_limit(settings, snapshot->group.desired);
    char why[REASON_MAX_BYTES];
    for (size_t i = 0; i < count; i++) {
        struct candidate *candidate = &candidates[i];
        int64_t together = 0;
        if (!candidate->lasting || !candidate->limited || candidate->node->state != NODE_STATE_READY)
            continue;
        int64_t alike = count_alike(snapshot, candidates, count, candidate, &together);
        if (alike < settings->incident_nodes || (alike * 2 < snapshot->group.desired && alike <= limit))
            continue;
        policy_say(why, sizeof(why), "%" PRId64 " of %" PRId64 " nodes show it, so a shared cause is likely", alike,
                   snapshot->group.desired);
        enum action refused = candidate->decision.action;
        candidate->limited = false;
        leave_watched(snapshot, candidate, RULE_SHARED_BY_MANY, why);
        candidate->decision.refused = refused;
    }
}

static int64_t count_out(const struct policy_snapshot *snapshot)
{
    int64_t in_service = snapshot->group.healthy_elsewhere;
    for (size_t i = 0; i < snapshot->node_count; i++)
        in_service += snapshot->nodes[i].state == NODE_STATE_READY;
    return snapshot->group.desired - in_service;
}

/* It stays that person's, who shall know that the case is larger than this node. */
static void tell_shared_since(const struct policy_snapshot *snapshot, struct candidate *candidate, int64_t alike)
{
    policy_rule(&candidate->decision, ACTION_SUPPORT, RULE_SHARED_SINCE);
    policy_add(&candidate->decision,
               "%" PRId64 " of %" PRId64
               " nodes show it, so a shared cause is likely. This one was left to a person before that was known.",
               alike, snapshot->group.desired);
}

void policy_limit_lasting(const struct policy_snapshot *snapshot, struct candidate *candidates, size_t count)
{
    const struct policy_settings *settings = &snapshot->settings;
    int64_t out = count_out(snapshot), limit = policy_breaker_limit(settings, snapshot->group.desired);
    char why[REASON_MAX_BYTES];
    for (size_t i = 0; i < count; i++) {
        struct candidate *candidate = &candidates[i];
        int64_t together = 0;
        if ((!candidate->weak && !candidate->held) || candidate->decision.action != ACTION_SUPPORT)
            continue;
        int64_t alike = count_alike(snapshot, candidates, count, candidate, &together);
        bool at_once = together >= settings->incident_nodes;
        bool most = alike * 2 >= snapshot->group.desired || (!candidate->lasting && alike > limit);
        bool shared = fault_has_trait(candidate->decision.code, FAULT_TRAIT_OF_A_PLACE) || !candidate->lasting;
        if (candidate->node->person_hold != NULL) {
            if (alike >= settings->incident_nodes && (at_once || most))
                tell_shared_since(snapshot, candidate, alike);
        } else if (shared && alike >= settings->incident_nodes && (at_once || most)) {
            policy_say(why, sizeof(why), "%" PRId64 " of %" PRId64 " nodes show it, so a shared cause is likely", alike,
                       snapshot->group.desired);
            leave_watched(snapshot, candidate, RULE_SHARED_BY_MANY, why);
        } else if (candidate->lasting && !candidate->unproven && candidate->node->state == NODE_STATE_READY &&
                   out >= limit) {
            policy_say(why, sizeof(why),
                       "%" PRId64 " of %" PRId64
                       " nodes are out of service, and time alone takes out no more than %" PRId64,
                       out, snapshot->group.desired, limit);
            leave_watched(snapshot, candidate, RULE_ENOUGH_ARE_OUT, why);
        } else if (candidate->lasting) {
            out += candidate->node->state == NODE_STATE_READY;
        }
    }
}
