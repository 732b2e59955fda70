/* Sentences about what was not done; alternatives.h says of what they are made. */
#include "model/alternatives.h"

#include "base/own.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

static void say(struct alternative *alternative, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct alternative *alternative, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *why = own_vprintf(fmt, ap);
    va_end(ap);
    text_copy_cut(alternative->why, sizeof(alternative->why), why);
}

static bool is_asked_for(const struct decision *decision)
{
    return decision->rule == RULE_OPERATOR_REQUEST || decision->rule == RULE_PERSON_REQUEST;
}

/* GATE_COUNT: none. */
static enum gate failed_gate(const struct decision *decision)
{
    int gate = 0;
    while (gate < GATE_COUNT && decision->gates[gate].result != GATE_RESULT_FAILED)
        gate++;
    return (enum gate)gate;
}

/* "2 of 2 reboots for it, 0 of 2 replacements of the slot in 7 d" where the ledger was asked, else the rule. */
static const char *attempts_of(const struct decision *decision)
{
    const char *detail = decision->gates[GATE_ATTEMPTS].detail;
    return detail[0] != '\0' ? detail : decision_rule_text(decision->rule);
}

static void why_not_watched(const struct decision *decision, struct alternative *alternative)
{
    const char *what = decision->code[0] != '\0' ? decision->code : "what was seen";
    if (is_asked_for(decision))
        say(alternative, "a person asked for more");
    else if (decision->action == ACTION_MARK)
        say(alternative, "%s asks for a repair, and the mark keeps jobs from it until a person has done one", what);
    else
        say(alternative, "%s asks for more than to be watched, and jobs that came to the node would meet it", what);
}

static void why_not_repaired(const struct decision *decision, struct alternative *alternative)
{
    bool reboot = alternative->action == ACTION_REBOOT;
    enum gate gate = failed_gate(decision);
    if (is_asked_for(decision))
        say(alternative, "a person asked for something else");
    else if (decision->action == ACTION_REPLACE)
        say(alternative, "a reboot is not enough, by the rule %s (%s)", decision_rule_text(decision->rule),
            attempts_of(decision));
    else if (decision->action == ACTION_RESET)
        say(alternative, "the reset comes first, and may be tried (%s)", attempts_of(decision));
    else if (decision->action == ACTION_REBOOT)
        say(alternative, "the reboot comes first, and may be tried (%s)", attempts_of(decision));
    else if (gate != GATE_COUNT && gate != GATE_ATTEMPTS)
        say(alternative, "nothing is repaired behind the gate %s (%s)", gate_text(gate), decision->gates[gate].detail);
    else if (decision->action == ACTION_SUPPORT)
        say(alternative, "%s is left to a person, by the rule %s", reboot ? "it" : "what is next",
            decision_rule_text(decision->rule));
    else
        say(alternative, "the evidence asks for no repair, by the rule %s", decision_rule_text(decision->rule));
}

static void why_no_person(const struct decision *decision, struct alternative *alternative)
{
    if (action_is_repair(decision->action))
        say(alternative, "what can be tried without a person is not used up (%s)", attempts_of(decision));
    else if (decision->action == ACTION_MARK)
        say(alternative, "the mark leaves it to the cluster's owner already");
    else if (decision->action == ACTION_HOLD)
        say(alternative, "what it waits for may come without a person's hands on the machine");
    else
        say(alternative, "nothing was seen that needs a person's hands");
}

size_t decision_alternatives(const struct decision *decision, struct alternative ret_alternatives[ALTERNATIVES_MAX])
{
    static const enum action ladder[] = {ACTION_WATCH, ACTION_REBOOT, ACTION_REPLACE, ACTION_SUPPORT};
    size_t count = 0;
    bool named = decision->refused_why[0] != '\0';
    if (named) {
        ret_alternatives[count].action = decision->refused;
        say(&ret_alternatives[count++], "%s", decision->refused_why);
    }
    for (size_t i = 0; i < ARRAY_LEN(ladder); i++) {
        struct alternative *alternative = &ret_alternatives[count];
        bool is_taken = ladder[i] == decision->action || (ladder[i] == ACTION_WATCH && decision->action == ACTION_NONE);
        if (is_taken || (named && ladder[i] == decision->refused))
            continue;
        alternative->action = ladder[i];
        if (ladder[i] == ACTION_WATCH)
            why_not_watched(decision, alternative);
        else if (ladder[i] == ACTION_SUPPORT)
            why_no_person(decision, alternative);
        else
            why_not_repaired(decision, alternative);
        count++;
    }
    return count;
}
