/* The operation of a node as the loop remembers it. */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_OPERATION_H
#define HOLDFAST_SERVER_RECONCILE_BASE_OPERATION_H

#include "model/health.h"
#include "model/operation_state.h"

struct rcall;
struct reconcile;
struct rnode;

/* Repairs, releases and deletions go before launches, of which there may be very many. */
#define OPERATION_CLASSES 2

/* What an operation remembers between turns. All of it may be lost: then a step is done again. */
struct rop_scratch {
    int64_t evicted_at;   /* jobs were told to go then */
    int64_t ended_at;     /* those that budgets protected were ended then */
    int64_t undo_until;   /* cancelled: the mark is taken back until then */
    int64_t described_at; /* the provider was asked about the instance then */
    uint64_t jobs_hash;   /* the jobs that were written into the timeline last */
    uint64_t right_hash;  /* the missing right that was */
    int failures;         /* of the present step, one after the other */
    int reboot_sent;      /* the try of a reboot that this process has sent last */
    bool lives_on_nobody; /* no job of the node lives on without it, or none did in time */
    bool conflict;        /* a CONFLICT is to be judged by the next snapshot */
    bool addressed;       /* the scheduler knows the instance's address */
    bool undoing;         /* the mark is being taken back now */
    bool troubled;        /* the step says what the provider sees to be wrong with the machine */
    bool paused;          /* the scheduler was away: the step's time begins anew */
    bool loaded;          /* hpd came up since the step began */
    bool marked, cleared; /* a new machine that is to be tested was taken out of scheduling, and has no jobs */
};

struct rop {
    int64_t id;
    enum operation_kind kind;
    enum fault_class fault; /* what it is for, of a repair */
    enum step_kind step;
    bool past_return; /* no cancel any more */
    bool ready;
    bool in_flight;
    bool waits_for_slot, waits_for_link; /* the latter: for one of its scheduler's share */
    int64_t due_at;
    struct rcall *result;
    struct rop_scratch scratch;
};

/* The operation of a node is looked at in this or the next turn. */
void reconcile_operation_poke(struct reconcile *r, struct rnode *node);
int reconcile_operation_class(enum operation_kind kind);
/* For a call of its own, or for a mark of keep/hold.c: what comes back pokes it, and until then it sends nothing. */
bool reconcile_operation_waits(const struct rnode *node);

#endif
