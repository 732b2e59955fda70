/*
 * Whether a machine that is taken away would get a successor: a provider that has none, new machines that do not come up, and
 * too few idle nodes to take the work meanwhile.
 *
 * A provider that had no capacity is left alone for a while, by the whole group, doubled each time up to a bound; the first machine
 * that it launches ends that. Where new machines fail one after the other the image or its scripts are at fault, and
 * replacing only feeds them more machines: the group is protected. After a pause a single one is tried; if it comes up
 * the protection is over, as it is when a person says so (hpctl group resume). What is held meanwhile is decided anew each time, from what is seen then.
 */
#include "policy/evaluate.h"

#include <inttypes.h>

/* --- what becomes of it --------------------------------------------------------------------------------------- */

bool policy_machine_capacity_short(const struct policy_settings *settings, struct machine_capacity *machine_capacity,
                                   int64_t now_ms)
{
    bool news = machine_capacity->short_times == 0;
    if (!news && now_ms < machine_capacity->short_until)
        return false; /* asked together with the one that was told so first */
    int64_t pause = settings->capacity_pause_ms;
    for (int64_t i = 0; i < machine_capacity->short_times && pause < settings->capacity_pause_max_ms; i++)
        pause *= 2;
    machine_capacity->short_at = now_ms;
    machine_capacity->short_until =
        now_ms + (pause < settings->capacity_pause_max_ms ? pause : settings->capacity_pause_max_ms);
    machine_capacity->short_times++;
    return news;
}

bool policy_machine_capacity_launched(struct machine_capacity *machine_capacity)
{
    bool news = machine_capacity->short_times > 0;
    machine_capacity->short_at = machine_capacity->short_until = machine_capacity->short_times = 0;
    return news;
}

bool policy_machine_capacity_provision_failed(const struct policy_settings *settings,
                                              struct machine_capacity *machine_capacity, int64_t now_ms)
{
    if (machine_capacity->protected_at == 0 && now_ms - machine_capacity->failed_at > settings->protect_window_ms)
        machine_capacity->failures = 0;
    machine_capacity->failures++;
    machine_capacity->failed_at = now_ms;
    bool trips = settings->protect_after > 0 && machine_capacity->failures >= settings->protect_after &&
                 machine_capacity->protected_at == 0;
    if (trips)
        machine_capacity->protected_at = now_ms;
    return trips;
}

bool policy_machine_capacity_came_up(struct machine_capacity *machine_capacity)
{
    bool news = machine_capacity->protected_at > 0;
    machine_capacity->failures = machine_capacity->failed_at = machine_capacity->protected_at = 0;
    return news;
}

/* --- what follows for a node that is to be replaced ------------------------------------------------------------ */

static void lacks(struct lack *lack, enum decision_rule rule, int64_t retry_at)
{
    lack->rule = rule;
    lack->retry_at = retry_at;
}

/* What the site says of capacity and spares; what new machines do not survive is another matter. */
static bool goes_all_the_same(const struct policy_snapshot *snapshot)
{
    return snapshot->settings.without_replacement == POLICY_WITHOUT_REPLACE;
}

static void ask_image(const struct policy_snapshot *snapshot, const struct room *room, struct decision *decision,
                      struct lack *lack)
{
    if (room->bad_image == NULL)
        return;
    policy_say(lack->why, sizeof(lack->why), "a new machine would have the image %s, with which several do not work",
               room->bad_image);
    policy_gate(decision, GATE_PROTECTED, GATE_RESULT_FAILED, lack->why);
    lacks(lack, RULE_PROTECTED_HOLD, snapshot->now_ms + POLICY_HOLD_RETRY_MS);
}

static void ask_protection(const struct policy_snapshot *snapshot, const struct room *room, struct decision *decision,
                           struct lack *lack)
{
    const struct machine_capacity *machine_capacity = &snapshot->group.machine_capacity;
    char detail[REASON_MAX_BYTES], last[POLICY_TIME_MAX];
    if (machine_capacity->protected_at == 0 || snapshot->settings.protect_after == 0)
        return;
    int64_t try_at = machine_capacity->failed_at + snapshot->settings.protect_pause_ms;
    bool may_try = snapshot->now_ms >= try_at && room->replacing == 0;
    policy_say(detail, sizeof(detail), "%" PRId64 " new machines in a row did not come up, the last at %s: %s",
               machine_capacity->failures, policy_time(machine_capacity->failed_at, last),
               may_try                      ? "this one is tried"
               : snapshot->now_ms >= try_at ? "one is being tried"
                                            : "one is tried after a pause");
    policy_gate(decision, GATE_PROTECTED, may_try ? GATE_RESULT_PASSED : GATE_RESULT_FAILED, detail);
    if (may_try)
        return;
    policy_say(lack->why, sizeof(lack->why),
               "%" PRId64
               " new machines of the group in a row did not come up, so the image or its scripts are at fault, "
               "and nothing is replaced before one does, or a person says so",
               machine_capacity->failures);
    lacks(lack, RULE_PROTECTED_HOLD, snapshot->now_ms < try_at ? try_at : snapshot->now_ms + POLICY_HOLD_RETRY_MS);
}

static void ask_capacity(const struct policy_snapshot *snapshot, const struct room *room, struct decision *decision,
                         struct lack *lack)
{
    const struct machine_capacity *machine_capacity = &snapshot->group.machine_capacity;
    char detail[REASON_MAX_BYTES], last[POLICY_TIME_MAX], next[POLICY_TIME_MAX];
    if (machine_capacity->short_times == 0)
        return;
    bool waits = snapshot->now_ms < machine_capacity->short_until;
    bool may_ask = (!waits && room->replacing == 0) || goes_all_the_same(snapshot);
    policy_say(detail, sizeof(detail),
               "the provider had no machine at %s, %" PRId64 " time%s in a row; asked again at %s",
               policy_time(machine_capacity->short_at, last), machine_capacity->short_times,
               machine_capacity->short_times == 1 ? "" : "s", policy_time(machine_capacity->short_until, next));
    policy_gate(decision, GATE_CAPACITY, may_ask ? GATE_RESULT_PASSED : GATE_RESULT_FAILED, detail);
    if (may_ask || lack->rule != RULE_NONE)
        return;
    policy_say(lack->why, sizeof(lack->why), "the provider has no machine to put in its place%s",
               waits ? "" : ", and another repair is asking for one");
    lacks(lack, RULE_CAPACITY_HOLD, waits ? machine_capacity->short_until : snapshot->now_ms + POLICY_HOLD_RETRY_MS);
}

static void ask_spares(const struct policy_snapshot *snapshot, const struct room *room, struct decision *decision,
                       struct lack *lack)
{
    char detail[REASON_MAX_BYTES];
    int64_t least = snapshot->settings.spares_min;
    if (least == 0)
        return;
    policy_say(detail, sizeof(detail), "%" PRId64 " healthy and idle, at least %" PRId64 " have to be", room->idle,
               least);
    bool enough = room->idle >= least || goes_all_the_same(snapshot);
    policy_gate(decision, GATE_SPARES, enough ? GATE_RESULT_PASSED : GATE_RESULT_FAILED, detail);
    if (enough || lack->rule != RULE_NONE)
        return;
    policy_say(lack->why, sizeof(lack->why),
               "of its group %" PRId64 " healthy and idle, and at least %" PRId64
               " have to be there for its work before it is given up",
               room->idle, least);
    lacks(lack, RULE_SPARES_HOLD, snapshot->now_ms + POLICY_HOLD_RETRY_MS);
}

void policy_lack(const struct policy_snapshot *snapshot, const struct room *room, struct decision *decision,
                 struct lack *ret_lack)
{
    *ret_lack = (struct lack){0};
    if (decision->action != ACTION_REPLACE)
        return;
    ask_image(snapshot, room, decision, ret_lack);
    if (ret_lack->rule == RULE_NONE)
        ask_protection(snapshot, room, decision, ret_lack);
    ask_capacity(snapshot, room, decision, ret_lack);
    ask_spares(snapshot, room, decision, ret_lack);
}
