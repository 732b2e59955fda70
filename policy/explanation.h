/*
 * Why has nothing happened? What a node is waiting for, or why nothing is waited for: one paragraph, and what a person can do
 * about it. Made from what is stored and heard, for any node in any state; pure, like the rest of the policy.
 */
#ifndef HOLDFAST_POLICY_EXPLANATION_H
#define HOLDFAST_POLICY_EXPLANATION_H

#include "base/enum.h"
#include "model/model.h"

/* In the order in which they are asked; the first that is true is the answer. */
#define EXPLANATION_LIST(X)                                                          \
    X(WORKING, "operation-at-work")                                                  \
    X(DELETED, "deleted")                                                            \
    X(DELETING, "being-deleted")                                                     \
    X(LAUNCH_AGAIN, "launch-tried-again")                                            \
    X(FAILED, "failed")                                                              \
    X(EMPTY, "slot-is-empty")                                                        \
    X(STARTING, "starting")                                                          \
    X(CANCELLED, "repair-cancelled")                                                 \
    X(WAITS, "repair-waits")     /* for budget, breaker, an incident, an approval */ \
    X(CORDONED, "cordoned-only") /* NodeRecovery None */                             \
    X(PERSON, "person-needed")                                                       \
    X(RETURNING, "about-to-return") /* held, and nothing is against it any more */   \
    X(OPTED_OUT, "opted-out")                                                        \
    X(PAUSED, "paused")                                                              \
    X(EXTERNAL, "held-by-others")                                                    \
    X(DOWNED, "downed-by-scheduler") /* for an absence that is over */               \
    X(NEVER_SEEN, "agent-never-seen")                                                \
    X(NOT_SEEN, "agent-not-seen")                                                    \
    X(DECIDED, "decided") /* the last decision stands and says what follows */       \
    X(QUIET, "nothing-is-wrong")
enum explanation {
#define X(SYMBOL, text) EXPLANATION_##SYMBOL,
    EXPLANATION_LIST(X)
#undef X
        EXPLANATION_COUNT
};
ENUM_DECLARE(explanation);

/* All that is known. Rows that there are none of have the id 0. */
struct policy_explanation_input {
    int64_t now_ms;
    const struct cluster *cluster;
    const struct instance_group *group;
    const struct node *node;
    const struct instance *instance;
    const struct operation *active, *last; /* at work; the newest of all */
    const struct decision *decision;       /* the last one */
    bool decision_stands;                  /* what it stands on is still open */
    bool silent;
    int64_t last_heartbeat_at; /* 0: none since the server started */
    int64_t open_verdicts;
    const struct approval *approval; /* the newest question; id 0: none */
    const char *resume_command; /* gives a node back in its scheduler, with NODE for its name; NULL: there is none */
};

#define EXPLANATION_STEPS_MAX 4
struct policy_next_step {
    char command[NODE_NAME_MAX_BYTES + NAME_MAX_BYTES + 64]; /* "hpctl node release gpu-7 --cluster train" */
    const char *why;                                         /* static */
};

struct policy_explanation {
    enum explanation kind;
    char sentence[2 * SENTENCE_MAX_BYTES];
    struct policy_next_step steps[EXPLANATION_STEPS_MAX];
    int step_count;
};
void policy_explain_node(const struct policy_explanation_input *input, struct policy_explanation *ret_explanation);

#endif
