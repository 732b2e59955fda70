/* Nodes that are looked at in one turn: what is known of each, and what the policy says. */
#ifndef HOLDFAST_SERVER_RECONCILE_DECIDE_DECIDE_H
#define HOLDFAST_SERVER_RECONCILE_DECIDE_DECIDE_H

#include "policy/policy.h"
#include "server/live/fleet.h"

struct db_hardware_repair;
struct db_tx;
struct reconcile;
struct rgroup;
struct rnode;

struct decide_item {
    struct rnode *node;
    struct node row;
    struct instance instance;
    struct verdict *verdicts;
    const struct verdict **verdict_refs;
    size_t verdict_count, plain_count, report_count; /* plain: not critical; reports count apart */
    bool left_out;                                   /* there is more evidence than the policy is shown */
    bool resumes_elsewhere;                          /* policy_node.resumes_elsewhere */
    struct operation *ledger;
    struct db_hardware_repair *elsewhere; /* of its hardware, in other machines */
    struct policy_repair *repairs;
    size_t repair_count, elsewhere_count; /* repairs: of the ledger, then of elsewhere that it has not */
    struct hardware *hardware;            /* read only where there is evidence */
    size_t hardware_count;
    struct decision last;
    struct decision hold; /* that left it to a person, and stands; id 0: none does */
    struct policy_person_hold person_hold;
    struct operation last_operation; /* the node's newest; id 0: none */
    struct approval approval;        /* the same */
    struct fleet_view live;
    char request_by[NAME_MAX_BYTES];
    char image[POLICY_IMAGE_MAX];
    struct policy_node view;
    struct decision decision; /* what the policy says; fresh says whether it is to be stored */
    struct decision *instead; /* owned: what the node needs sooner than its operation would let it; NULL: nothing */
    int64_t weigh_at;         /* its waiting operation is weighed again then; 0: when something happens */
    bool cancelled;           /* a person stopped the last repair, and nothing was seen since */
    bool has_decision;        /* the policy had something to say */
    bool fresh;               /* and it is not what it said last time */
    bool told_more;           /* as something else is open beside it */
    bool quiet;               /* nothing follows that the store would have to know */
    bool old_mark;            /* what the scheduler shows as a request is the last repair's own mark */
    bool
        downed; /* by the scheduler, for an absence that is over; then the policy of return to service says what becomes of it */
    enum policy_return_to_service return_to_service;
    enum health health;
};

struct decide_breaker {
    struct rgroup *group;
    bool opens; /* else it closes */
    char why[SENTENCE_MAX_BYTES];
};

struct decide_batch {
    struct decide_item *items;
    size_t count, capacity;
    struct decide_breaker *breakers;
    size_t breaker_count, breaker_capacity;
    uint64_t nodes_stamp; /* of what was read of nodes */
    bool nodes_as_read;   /* and nobody has changed one since: what was read need not be read again */
};

/* What is known of the item's node, from the store and the fleet. NOT_FOUND: it is gone. */
int reconcile_item_read(struct reconcile *r, struct db_tx *tx, struct decide_item *item, int64_t now);
/* Asks the policy about these nodes, all of one group; or, without any, about its breaker. */
void reconcile_group_decide(struct reconcile *r, struct decide_batch *batch, struct rgroup *group,
                            struct decide_item *items, size_t count, int64_t now);
/* What this decision stands on are faults of the node, whatever each verdict is by itself. */
bool reconcile_counts_evidence(const struct decision *decision);

#endif
