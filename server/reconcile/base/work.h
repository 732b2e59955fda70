/* One operation in hand, inside the turn's transaction: what a step, and what is kept in a scheduler for one, knows and says of it. */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_WORK_H
#define HOLDFAST_SERVER_RECONCILE_BASE_WORK_H

#include "model/model.h"
#include "server/reconcile/base/operation.h"

struct rcall;
struct reconcile;
struct rnode;
struct turn;

enum step_result {
    STEP_GO_ON,  /* enter: begin; run and answer: run again at once */
    STEP_WAIT,   /* nothing to do before w->due_at, or before something happens */
    STEP_CALL,   /* w->call is to be sent */
    STEP_RETRY,  /* w->detail says what went wrong: again later, until the deadline */
    STEP_DONE,   /* w->detail may say how it went */
    STEP_SKIP,   /* w->detail says why it is not needed */
    STEP_FAIL,   /* w->detail says why it cannot be done */
    STEP_CANCEL, /* w->detail says why the operation must not go on */
};

struct work {
    struct turn *turn;
    struct reconcile *r;
    struct rnode *node;
    int64_t now;
    struct operation op;
    struct node row;
    struct instance instance; /* that fills the slot; id 0: none */
    struct operation_step *step;
    struct rop_scratch scratch;
    char detail[SENTENCE_MAX_BYTES];
    char held_because[REASON_MAX_BYTES]; /* the operation succeeds, but the node stays out of service */
    bool relapsed;                       /* there is fresh evidence against the node: the policy has the next word */
    struct rcall *call;
    bool quiet; /* the call only looks: not an attempt */
    bool waits_for_slot, waits_for_link;
    int64_t due_at;
    bool
        operation_changed; /* op's own row, and which of its steps: written once, when all of the turn's looks are done */
    uint32_t steps_changed; /* a bit for each */
    int status;             /* of the store; once negative nothing more is done */
};

_Static_assert(OPERATION_STEPS_MAX <= 32, "steps_changed has a bit for each");

void work_say(struct work *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Notes the store's status; true while all is well. */
bool work_did(struct work *w, int status);
void work_due(struct work *w, int64_t at);
/* The scheduler's answer to whether it can be asked at all. */
bool work_has_scheduler(const struct work *w);

#endif
