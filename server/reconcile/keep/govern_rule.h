/* A stored scheduler configuration or quota as a rule for a scheduler backend, and what the backend answered as a status. Pure. */
#ifndef HOLDFAST_SERVER_RECONCILE_GOVERN_RULE_H
#define HOLDFAST_SERVER_RECONCILE_GOVERN_RULE_H

#include "server/scheduler/scheduler.h"

/* STATUS_INVALID when its document cannot be read, which was checked when it was stored. */
int govern_rule_make(const struct governance *governance, struct scheduler_rule *ret_rule);

/* What a version has come to: FAILED if a part of it is, which is said at once and not after what takes time; then LATER if one is, else
 * HOLDS. The reason names each part that failed, or of LATER the first; details all that were asked for. */
enum scheduler_outcome govern_rule_judge(const struct scheduler_rule *rule, char ret_reason[SENTENCE_MAX_BYTES],
                                         char ret_details[GOVERNANCE_DETAILS_MAX_BYTES]);
/* A part of it is LATER, whatever the others are: it is asked again soon. */
bool govern_rule_is_undecided(const struct scheduler_rule *rule);

#endif
