/*
 * Task governance as a scheduler backend is asked for it: all that shall hold there at once, part by part, and for each part an
 * answer. A backend brings about what it can, looks at what came of it, and says of the rest why not; it never answers for what
 * it has not seen.
 *
 * It touches a thing there (a partition, a QOS, an account) only when it finds it among what is held, that is written down
 * where it survives us. What it would have to touch besides is its answer: the caller writes that down and asks again.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_GOVERNANCE_H
#define HOLDFAST_SERVER_SCHEDULER_GOVERNANCE_H

#include "model/governance.h"

#include <stddef.h>

#define SCHEDULER_WHY_MAX 256
#define SCHEDULER_CLASSES_MAX 10 /* PriorityClassList */
#define SCHEDULER_AMOUNTS_MAX 15 /* ComputeQuotaResourceConfigList */

/* The parts of both kinds, in HyperPod's words: each is asked for by itself and fares by itself. */
#define SCHEDULER_PART_LIST(X)             \
    X(PRIORITY_CLASSES, "PriorityClasses") \
    X(FAIR_SHARE, "FairShare")             \
    X(IDLE_SHARING, "IdleResourceSharing") \
    X(RESOURCES, "ComputeQuotaResources")  \
    X(LENDING, "ResourceSharingConfig")    \
    X(PREEMPTION, "PreemptTeamTasks")      \
    X(WEIGHT, "FairShareWeight")
enum scheduler_part {
#define X(SYMBOL, text) SCHEDULER_PART_##SYMBOL,
    SCHEDULER_PART_LIST(X)
#undef X
        SCHEDULER_PART_COUNT
};
ENUM_DECLARE(scheduler_part);

enum scheduler_outcome {
    SCHEDULER_OUTCOME_UNASKED, /* there is nothing to bring about */
    SCHEDULER_OUTCOME_HOLDS,   /* seen in the scheduler */
    SCHEDULER_OUTCOME_LATER,   /* under way, or the backend is away: asked again */
    SCHEDULER_OUTCOME_FAILED,  /* it does not hold, and asking again will not change that */
};
struct scheduler_answer {
    enum scheduler_outcome outcome;
    char why[SCHEDULER_WHY_MAX]; /* LATER and FAILED: a sentence without its full stop */
};

struct scheduler_class {
    char name[TEAM_MAX_BYTES];
    int64_t weight;
};

/* What a quota gives of one instance type; negative: not said. */
struct scheduler_amount {
    char instance_type[NAME_MAX_BYTES];
    int64_t nodes, accelerators, cpu_milli, memory_mib;
    char slice[NAME_MAX_BYTES]; /* "1g.5gb": part of an accelerator; "": none */
    int64_t slices;
};

/* One scheduler configuration or quota. */
struct scheduler_rule {
    enum governance_kind kind;
    char uid[ID_CLUSTER_MAX], cluster_uid[ID_CLUSTER_MAX];
    bool off; /* a quota that is switched off: what was made for it goes */
    bool asked[SCHEDULER_PART_COUNT];

    struct scheduler_class classes[SCHEDULER_CLASSES_MAX];
    size_t class_count;
    bool fair_share, idle_sharing;

    char team[TEAM_MAX_BYTES];
    int64_t weight;
    struct scheduler_amount amounts[SCHEDULER_AMOUNTS_MAX];
    size_t amount_count;
    bool lends, borrows, preempts;
    int64_t borrow_percent; /* of its own amounts; negative: not said */
    struct scheduler_amount borrow_at_most[SCHEDULER_AMOUNTS_MAX];
    size_t borrow_count;

    struct scheduler_answer answers[SCHEDULER_PART_COUNT];
};

struct scheduler_governance {
    struct scheduler_rule *rules; /* whose claims on a thing go before those behind them */
    size_t count;
    struct governance_held *held;
    size_t held_count;

    /* answered, besides the rules' answers */
    struct governance_held *wanted; /* to be written down, new or changed */
    size_t wanted_count;
    bool *gone; /* of held: it is as it was before us, or no more ours to change */
    bool more;  /* there was no time for all of it */
    char stuck
        [SCHEDULER_WHY_MAX]; /* why a thing that no rule wants any more could not be taken back; "": all could, or it needs time */
};
struct scheduler_governance *scheduler_governance_new(void);
void scheduler_governance_free(struct scheduler_governance *governance);
struct scheduler_rule *scheduler_governance_add(struct scheduler_governance *governance);

#endif
