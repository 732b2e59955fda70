/*
 * A recorded decision under another policy: what was known then is put together again from what was stored with it, decided by
 * the policy of then and by another one, and compared.
 *
 * What the store does not keep is not made up: where the policy of then does not come to the recorded decision again, the answer
 * is "unknown". What would have happened after another decision nobody can know; each one is looked at for itself.
 */
#ifndef HOLDFAST_POLICY_REPLAY_H
#define HOLDFAST_POLICY_REPLAY_H

#include "base/enum.h"
#include "policy/policy.h"

#define REPLAY_RESULT_LIST(X) \
    X(SAME, "same")           \
    X(DIFFERS, "differs")     \
    X(UNKNOWN, "unknown") /* what was stored does not lead to the decision again */
enum replay_result {
#define X(SYMBOL, text) REPLAY_RESULT_##SYMBOL,
    REPLAY_RESULT_LIST(X)
#undef X
        REPLAY_RESULT_COUNT
};
ENUM_DECLARE(replay_result);

/* A repair as the store has it and as the policy sees it; its texts are the operation's. Whether the machine came back from it, and which
 * piece it was of, stands elsewhere. */
struct policy_repair policy_replay_repair(const struct operation *op);

/* What goes in; rows are of the store. */
struct policy_replay {
    const struct decision *decision; /* as it was recorded */
    const char *cluster, *group, *node;
    struct fault_scope faults;
    const struct policy_settings *then, *other;
    const struct verdict *verdicts; /* those it stands on, the leading one first */
    size_t verdict_count;
    const struct policy_repair *repairs; /* of the slot, newest first; what came after the decision is left aside */
    size_t repair_count;
    int64_t desired; /* nodes of the group, where the decision does not say */
};
/* *ret_other: what the other policy says; of a node about which it has nothing to say the action is NONE and the rule "". */
enum replay_result policy_replay(const struct policy_replay *replay, struct decision *ret_other);

#endif
