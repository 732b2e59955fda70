/*
 * The rules of the policy. A decision names the one that made it: its text is stored and shown, its sentence says in general what the
 * decision's own sentence says of one node. tests/policy/sentences has what each may say, word by word.
 */
#ifndef HOLDFAST_MODEL_DECISION_RULE_H
#define HOLDFAST_MODEL_DECISION_RULE_H

#include "base/enum.h"

#define RULE_LIST(X)                                                                                                   \
    X(NONE, "", "No rule: nothing was decided")                                                                        \
    /* what the fault tables ask for */                                                                                \
    X(TABLE_RESET, "table-reset", "The fault table asks for a reset of the device")                                    \
    X(TABLE_REBOOT, "table-reboot", "The fault table asks for a reboot")                                               \
    X(TABLE_REPLACE, "table-replace", "The fault table asks for a new machine")                                        \
    X(SUPPORT_NEEDED, "support-needed", "The fault table names no repair: a person has to look")                       \
    X(NO_ACTION, "no-action", "The fault table asks for nothing")                                                      \
    X(WATCH, "watch", "The fault is recorded and counted")                                                             \
    X(APPLICATION_FAULT, "application-fault", "The fault is the program's, not the node's")                            \
    X(UNKNOWN_CODE, "unknown-code", "No fault table has the code: a person has to say what it means")                  \
    X(DRIVER_WORD, "driver-word", "The driver itself says what to do; its word stands above the table")                \
    X(REPEAT_WITHIN_WEEKS, "repeat-within-weeks", "Reboots of the last weeks weigh as much as one of the last days")   \
    X(FABRIC_OF_SEVERAL, "fabric-of-several", "Several GPUs of one node lost what is between them at once")            \
    X(LASTS, "lasts", "The finding has lasted as long as its row allows")                                              \
    X(WEAK_FINDINGS_TOGETHER, "weak-findings-together",                                                                \
      "Several weak findings on one node have lasted long enough together")                                            \
    X(SHARED_BY_MANY, "shared-by-many", "Many nodes show the same: a shared cause is likely")                          \
    X(SHARED_SINCE, "shared-since", "Many nodes show what this one was left to a person for: it is one case")          \
    X(ENOUGH_ARE_OUT, "enough-are-out", "Time alone takes no more nodes out of service")                               \
    X(RATE_EXCEEDED, "rate-exceeded", "The fault came too often on one part")                                          \
    /* what the history of the device, the machine and the slot adds */                                                \
    X(RESET_FALLS_BACK_TO_REBOOT, "reset-falls-back-to-reboot",                                                        \
      "A reset is due and not possible, so the node is rebooted")                                                      \
    X(RESETS_NOT_ALLOWED, "resets-not-allowed", "A reset is due and the site allows none, so the node is rebooted")    \
    X(RESETS_EXHAUSTED, "resets-exhausted", "The allowed resets of the device are used, so the node is rebooted")      \
    X(RESET_FAILED, "reset-failed", "The last reset failed, so the node is rebooted")                                  \
    X(REPEAT_AFTER_RESET, "repeat-after-reset", "The fault is back after a reset, so the node is rebooted")            \
    X(CLEARED_BY_RESET, "cleared-by-reset", "A reset of the device ended after the fault was seen last")               \
    X(REBOOTS_EXHAUSTED, "reboots-exhausted", "The allowed reboots are used")                                          \
    X(REBOOT_FAILED, "reboot-failed", "The machine did not come back from its reboot")                                 \
    X(REPEAT_AFTER_REBOOT, "repeat-after-reboot",                                                                      \
      "The device is at fault again after a reboot, so the machine is replaced")                                       \
    X(REPEAT_NEEDS_PERSON, "repeat-needs-person",                                                                      \
      "The fault is back after a reboot, and the table sends a repeat to a person")                                    \
    X(REPLACES_EXHAUSTED, "replaces-exhausted", "The allowed replacements of the slot are used: a person has to look") \
    X(PROBATION_FAILED, "probation-failed", "The fault came soon after a repair, so less is tolerated")                \
    X(RECURRING_HARDWARE, "recurring-hardware", "Hardware that was replaced is in service again")                      \
    X(LEMON, "lemon", "The machine needed too many repairs")                                                           \
    X(AUTO_RESUME_REPLACES, "auto-resume-replaces",                                                                    \
      "A job that resumes by itself had the node, and its group has such nodes replaced")                              \
    /* what is no fault that an agent reported */                                                                      \
    X(UNREACHABLE, "unreachable", "The agent is not seen, and the scheduler gets no answer")                           \
    X(NO_VERDICT, "no-verdict", "The agent is not seen, so the node's health is unknown")                              \
    X(HOLD_STANDS, "hold-stands", "A person has to release the node: a new boot does not")                             \
    X(STALE_EVIDENCE, "stale-evidence", "The evidence is of an earlier boot or instance")                              \
    X(OPERATOR_REQUEST, "operator-request", "A person asked for the repair in the scheduler")                          \
    X(PERSON_REQUEST, "person-request", "A person asked for the repair")                                               \
    /* who has the node in hand */                                                                                     \
    X(OPTED_OUT, "opted-out", "A person took the node out of automatic repair")                                        \
    X(PAUSED, "paused", "A person paused the cluster")                                                                 \
    X(EXTERNAL_DRAIN, "external-drain", "Somebody else holds the node in the scheduler")                               \
    X(MAINTENANCE, "maintenance", "The scheduler has the node in a maintenance")                                       \
    X(ONE_OPERATION, "one-operation", "An operation is at work on the node")                                           \
    X(RECOVERY_NONE, "recovery-none", "The cluster's NodeRecovery is None: the node is held, not repaired")            \
    X(MODE_OBSERVE, "mode-observe", "The site only observes faults of this class")                                     \
    X(MODE_RECOMMEND, "mode-recommend", "The site only gets recommendations for faults of this class")                 \
    X(APPROVAL_NEEDED, "approval-needed", "The repair waits for a person's approval")                                  \
    X(APPROVAL_REJECTED, "approval-rejected", "A person rejected the repair")                                          \
    X(APPROVAL_EXPIRED, "approval-expired", "The approval, or the time to give it, ran out")                           \
    /* the limits of the group */                                                                                      \
    X(INCIDENT_HOLD, "incident-hold", "Many nodes of one place failed together: it is one incident")                   \
    X(IMAGE_HOLD, "image-hold", "Machines of one image lack the same since their boot: the image is in doubt")         \
    X(MANY_SILENT, "many-silent", "Many nodes of the group are not seen: the network or hpd may be the cause")         \
    X(BREAKER_HOLD, "breaker-hold", "Too many nodes of the group failed: its breaker is open")                         \
    X(BUDGET_HOLD, "budget-hold", "The group has as many nodes in repair as it may")                                   \
    X(CLASS_BUDGET_HOLD, "class-budget-hold", "The group has as many nodes in repair for such faults as it may")       \
    X(MIN_HEALTHY_HOLD, "min-healthy-hold", "Too few nodes of the group are healthy to take one more out")             \
    X(WINDOW_HOLD, "window-hold", "Repairs of the group do not begin at this hour")                                    \
    X(SPACING_HOLD, "spacing-hold", "Another repair of the group began too short ago")                                 \
    X(PROTECTED_HOLD, "protected-hold", "New machines of the group do not come up, so nothing is replaced")            \
    X(CAPACITY_HOLD, "capacity-hold", "The provider has no machine to put in its place")                               \
    X(SPARES_HOLD, "spares-hold", "Too few idle nodes would take over the work")                                       \
    X(REBOOT_FOR_NOW, "reboot-for-now", "No machine can be had, so the node is rebooted instead")                      \
    X(FORMER, "former", "A rule of another version of Holdfast")
enum decision_rule {
#define X(SYMBOL, text, sentence) RULE_##SYMBOL,
    RULE_LIST(X)
#undef X
        RULE_COUNT
};
ENUM_DECLARE(decision_rule);
/* What the rule says, without a full stop. */
const char *decision_rule_sentence(enum decision_rule rule);

#endif
