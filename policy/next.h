/*
 * What follows from a node's state alone, beside what is decided about its evidence: an empty slot is filled, a deleted one is forgotten,
 * a launch that failed is tried again, a node that nothing is against comes back. The loop and the simulator ask the same function.
 */
#ifndef HOLDFAST_POLICY_NEXT_H
#define HOLDFAST_POLICY_NEXT_H

#include "policy/policy.h"
#include "policy/provision.h"

enum policy_next {
    POLICY_NEXT_NOTHING,
    POLICY_NEXT_FORGET,     /* the slot's row goes */
    POLICY_NEXT_EMPTY,      /* its deletion begins */
    POLICY_NEXT_FILL,       /* its launch begins */
    POLICY_NEXT_RETRY,      /* a launch that failed begins anew */
    POLICY_NEXT_GIVE_BACK,  /* a person gave it back in the scheduler: their word counts */
    POLICY_NEXT_BRING_BACK, /* what held it is over: through the return gate */
    POLICY_NEXT_RETURN,     /* the scheduler took it out for an absence that is over: the same */
};

struct policy_standing {
    int64_t now_ms;
    enum node_state state;
    int64_t state_since;
    enum cluster_state cluster;
    enum group_state group;
    enum provisioning provisioning;
    struct policy_claims claims;
    struct { /* the node's newest operation */
        bool known;
        enum operation_kind kind;
        enum operation_state state;
        int64_t finished_at;
    } last;
    bool was_ready;                             /* it was in service at least once */
    bool lifted;                                /* a person gave it back in the scheduler */
    bool clear;                                 /* the policy says nothing against it */
    bool seen;                                  /* the scheduler's state of it is known, or does not matter */
    bool heard;                                 /* its agent speaks */
    bool downed;                                /* by the scheduler, for an absence that is over … */
    enum policy_return_to_service returns;      /* … and what that asks for */
    int launch_tries;                           /* that failed in a row */
    int64_t linger_ms;                          /* a deleted slot is shown for so long */
    int64_t deletion_pause_ms;                  /* between a deletion that failed and the next */
    const struct provision_settings *provision; /* NULL: nothing is launched by it */
};

/* *ret_look_at: when it is to be asked again where time alone holds it up, and NOTHING follows until then; 0: it is not. */
enum policy_next policy_next(const struct policy_standing *standing, int64_t *ret_look_at);

#endif
