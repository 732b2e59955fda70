/*
 * What is open on a node beside what its decision speaks of. One decision is made for a node, for what asks for most; a second finding
 * changes nothing about it, and people have to know of it all the same.
 *
 * Each code of each device stands once, with the rule that it would be decided by: lines of "RULE CODE DEVICE", as many as there is room for.
 * Whether there is something new is asked of these lines, so a program that crashes all day is said once.
 */
#include "policy/evaluate.h"

#include "base/text.h"
#include "model/beside.h"

#include <stdio.h>

static enum decision_rule rule_of(const struct finding *finding)
{
    if (finding->lasted_ms > 0)
        return RULE_LASTS;
    if (finding->driver_word)
        return RULE_DRIVER_WORD;
    if (finding->rate_exceeded)
        return RULE_RATE_EXCEEDED;
    switch (finding->action) {
    case ACTION_CLASS_IGNORE:
        return RULE_NO_ACTION;
    case ACTION_CLASS_APP:
        return RULE_APPLICATION_FAULT;
    case ACTION_CLASS_WATCH:
        return finding->row == NULL ? RULE_UNKNOWN_CODE : RULE_WATCH;
    case ACTION_CLASS_SUPPORT:
        return RULE_SUPPORT_NEEDED;
    case ACTION_CLASS_RESET:
        return RULE_TABLE_RESET;
    case ACTION_CLASS_REBOOT:
        return RULE_TABLE_REBOOT;
    case ACTION_CLASS_REPLACE:
        break;
    }
    return RULE_TABLE_REPLACE;
}

/* A second one of the same code and device says no more than the first, but for its rule. */
static bool is_fit(const struct finding *finding)
{
    const struct verdict *verdict = finding->verdict;
    return !finding->dropped && strpbrk(verdict->code, " \n") == NULL && strchr(verdict->device, '\n') == NULL;
}

/* The same code and device as what the decision is about. */
static bool is_of_decision(const struct finding *finding, const struct decision *decision)
{
    return text_equal(finding->verdict->code, decision->code) && text_equal(finding->verdict->device, decision->device);
}

void policy_tell_beside(const struct folded *folded, const struct incident *chosen, struct decision *decision)
{
    size_t used = 0;
    for (size_t i = 0; i < folded->finding_count; i++) {
        const struct finding *finding = &folded->findings[i];
        const char *device = finding->verdict->device;
        /* What came within a minute of the lead goes with a repair; where nothing follows, each code is for itself. */
        bool told = chosen != NULL && finding->told && text_equal(device, chosen->device) &&
                    finding->of_earlier_boot == chosen->lead.of_earlier_boot && decision->action > ACTION_WATCH;
        char line[64 + CODE_MAX_BYTES + DEVICE_MAX_BYTES];
        if (told || !is_fit(finding) || is_of_decision(finding, decision))
            continue;
        snprintf(line, sizeof(line), "%s %s %s\n", decision_rule_text(rule_of(finding)), finding->verdict->code,
                 device);
        if (!decision_beside_is_new(line, decision->beside))
            continue;
        if (used + strlen(line) >= sizeof(decision->beside))
            return;
        memcpy(decision->beside + used, line, strlen(line) + 1);
        used += strlen(line);
    }
}
