/*
 * What a property is about has to happen in the worlds that it is tried on, or it says nothing: each place where that is so is
 * counted, and one that was never reached fails the last test.
 */
#ifndef HOLDFAST_TESTS_POLICY_PREMISES_H
#define HOLDFAST_TESTS_POLICY_PREMISES_H

#include <stdbool.h>
#include <stddef.h>

#define PREMISE_LIST(X)                                                             \
    X(BUDGET_USED_UP, "the budget is used up to the last repair")                   \
    X(BUDGET_EXCEEDED, "more is wrong than the budget has room for")                \
    X(BREAKER_OPEN, "something is to be repaired while the breaker is open")        \
    X(CLASS_USED_UP, "what one class of fault may have is used up")                 \
    X(MINIMUM_REACHED, "a repair, and not one healthy node less may be")            \
    X(MINIMUM_MISSED, "something is to be repaired while too few are healthy")      \
    X(HOURS_CLOSED, "something is to be repaired in hours without repairs")         \
    X(SPACED, "something is to be repaired too soon after another")                 \
    X(NO_SUCCESSOR, "something is to be replaced that would get no machine")        \
    X(ONE_TRIED, "one machine is tried after the pause")                            \
    X(OTHER_BOOT, "a repair of a node that has older evidence, too")                \
    X(ONLY_OLDER, "a node with nothing but evidence of another boot or machine")    \
    X(ITS_OWN_EVIDENCE, "a repair of a node that nobody hears")                     \
    X(KNOWN_PIECE, "a repair for hardware that came back, without another fault")   \
    X(OPTED_OUT, "a node fault on a node that was taken out")                       \
    X(PAUSED, "a node fault in a cluster that a person paused")                     \
    X(EXTERNAL_DRAIN, "a node fault on a node that somebody else holds")            \
    X(RECOVERY_NONE, "a node fault in a cluster that is only marked")               \
    X(DOWNED, "a node fault on a node that is given up or in repair")               \
    X(BUSY, "a node fault beside an operation")                                     \
    X(REQUEST_BUSY, "a person's request beside an operation")                       \
    X(RESET_TO_MORE, "a reset that one more attempt makes a reboot")                \
    X(REBOOT_TO_MORE, "a reboot that one more attempt makes a replacement")         \
    X(REPLACE_TO_MORE, "a replacement that one more attempt makes a person's turn") \
    X(LAST_RESET, "the last reset that a device may have")                          \
    X(RESETS_GONE, "a device that has had its resets, and fails")                   \
    X(LAST_REBOOT, "the last reboot that a device may have")                        \
    X(REBOOTS_GONE, "a device that has had its reboots, and fails")                 \
    X(REBOOTS_OF_ALIAS, "… some of them under another of its names")                \
    X(LAST_REPLACE, "the last replacement that a slot may have")                    \
    X(REPLACES_GONE, "a slot that has had its replacements, and fails")             \
    X(OBSERVED, "a repair that the mode observes")                                  \
    X(RECOMMENDED, "a repair that the mode recommends")                             \
    X(YES, "a repair that a person said yes to")                                    \
    X(NO_YES, "a repair that waits for an approval")                                \
    X(YES_FOR_OTHERS, "… while there is an approval for something else")            \
    X(YES_RAN_OUT, "… after the approval for it ran out")                           \
    X(SAID_NO, "… after a no to it")                                                \
    X(HELD, "something is held")                                                    \
    X(QUIET, "something is seen, and nothing is done about it")                     \
    X(SILENT, "nobody hears a node in service")                                     \
    X(MAINTENANCE, "a node fault on a node in a maintenance")                       \
    X(KEPT, "a silent node that the scheduler keeps for somebody")                  \
    X(MOST_SILENT, "a node is silent, and so is most of its group")                 \
    X(PERSON_HOLD, "a node without a fault that waits for a person")                \
    X(PERSON_BOOT, "what is for a person, and of an earlier boot")                  \
    X(LASTED, "a weak finding that has lasted as long as its row allows")           \
    X(PERSON_OLDER, "a node fault, older than a hold for a person")                 \
    X(REORDERED, "there is an order that could matter")                             \
    X(PROGRAM_REBOOTS, "a program's fault comes often enough for a reboot")
enum premise {
#define X(SYMBOL, text) PREMISE_##SYMBOL,
    PREMISE_LIST(X)
#undef X
        PREMISE_COUNT
};
static size_t met_times[PREMISE_COUNT];

static bool met(enum premise premise, bool holds)
{
    met_times[premise] += holds;
    return holds;
}

#endif
