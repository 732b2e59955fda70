/*
 * When repairs begin: in the hours that a site leaves to them, and with some time between two of a group. What has begun goes on, and
 * what people ask for begins at any hour. A class of fault for which the site says so does not wait for the hours.
 */
#include "policy/evaluate.h"

#include "base/text.h"

#define NEVER_LOOK_MS \
    INT64_C(86400000) /* hours that leave none: looked at again when the day is over, or the settings change */

static bool is_the_hour(const struct policy_snapshot *snapshot, struct decision *decision)
{
    const struct policy_settings *settings = &snapshot->settings;
    char hours[POLICY_WINDOWS_TEXT_MAX], detail[REASON_MAX_BYTES], why[REASON_MAX_BYTES], time[POLICY_TIME_MAX];
    if (settings->not_during.count + settings->only_during.count == 0)
        return true;
    int64_t open_at = policy_windows_open_at(&settings->not_during, &settings->only_during, snapshot->now_ms);
    enum fault_class fault = policy_repair_class(decision->code);
    bool open = open_at == snapshot->now_ms;
    if (open || settings->any_time[fault] != 0) {
        policy_say(detail, sizeof(detail), "%s%s", open ? "" : fault_class_text(fault),
                   open ? "repairs may begin now" : " faults do not wait for it");
        policy_gate(decision, GATE_WINDOW, GATE_RESULT_PASSED, detail);
        return true;
    }
    bool forbidden = policy_windows_hold(&settings->not_during, snapshot->now_ms);
    policy_windows_text(forbidden ? &settings->not_during : &settings->only_during, hours);
    policy_say(detail, sizeof(detail), "repairs begin %s %s", forbidden ? "not during" : "only during", hours);
    policy_gate(decision, GATE_WINDOW, GATE_RESULT_FAILED, detail);
    policy_say(why, sizeof(why), "repairs of the group begin %s %.*s%s%s", forbidden ? "not during" : "only during",
               TEXT_FIT(hours, 120), open_at > 0 ? ", so not before " : "",
               open_at > 0 ? policy_time(open_at, time) : "");
    policy_hold(decision, RULE_WINDOW_HOLD, why, open_at > 0 ? open_at : snapshot->now_ms + NEVER_LOOK_MS);
    return false;
}

static bool is_long_enough_ago(const struct policy_snapshot *snapshot, const struct room *room,
                               struct decision *decision)
{
    char detail[REASON_MAX_BYTES], why[REASON_MAX_BYTES], span[POLICY_SPAN_MAX], last[POLICY_TIME_MAX];
    int64_t spacing = snapshot->settings.spacing_ms;
    if (spacing == 0)
        return true;
    int64_t next = room->last_repair_at == 0 ? snapshot->now_ms : room->last_repair_at + spacing;
    policy_span(spacing, span);
    policy_time(room->last_repair_at, last);
    policy_say(detail, sizeof(detail), "%s%s, %s have to lie between two",
               room->last_repair_at == 0 ? "no other has begun" : "the last one began at ",
               room->last_repair_at == 0 ? "" : last, span);
    policy_gate(decision, GATE_SPACING, next <= snapshot->now_ms ? GATE_RESULT_PASSED : GATE_RESULT_FAILED, detail);
    if (next <= snapshot->now_ms)
        return true;
    policy_say(why, sizeof(why), "another repair of the group began at %s, and %s have to lie between two", last, span);
    policy_hold(decision, RULE_SPACING_HOLD, why, next);
    return false;
}

bool policy_pace_lets(const struct policy_snapshot *snapshot, const struct room *room, struct decision *decision)
{
    return is_the_hour(snapshot, decision) && is_long_enough_ago(snapshot, room, decision);
}
