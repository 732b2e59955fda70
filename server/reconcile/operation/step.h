/*
 * One operation in hand, inside the turn's transaction, and what a step may say about itself.
 *
 * A step is a row of three functions. enter is called once, when the step begins; run whenever it is to be looked at and no
 * call is on its way; answer when a call came back. Each says what follows; reconcile/operation/operate.c does it.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_OPERATION_STEP_H
#define HOLDFAST_SERVER_RECONCILE_OPERATION_STEP_H

#include "model/model.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/operation.h"

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

/* What is asked of whoever has the machines, when no provider can do it for us. */
#define ASK_REBOOT "reboot this machine now; Holdfast goes on when it comes up with a new boot id"

_Static_assert(OPERATION_STEPS_MAX <= 32, "steps_changed has a bit for each");

struct step_ops {
    enum step_result (*enter)(struct work *w);
    enum step_result (*run)(struct work *w);
    enum step_result (*answer)(struct work *w, const struct rcall *call);
    int64_t (*deadline_ms)(const struct work *w); /* from its beginning, 0: none; NULL: it keeps its own */
    bool asks_scheduler;                          /* it waits while the scheduler is away */
};

const struct step_ops *step_ops_of(enum step_kind kind);
void work_say(struct work *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "timeout: slurm_update error: …" of a call that failed. */
void work_say_error(struct work *w, const struct rcall *call);
void work_event(struct work *w, enum event_level level, enum event_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Notes the store's status; true while all is well. */
bool work_did(struct work *w, int status);
void work_move(struct work *w, enum node_state to, const char *reason);
void work_due(struct work *w, int64_t at);
/* The scheduler's answer to whether it can be asked at all. */
bool work_has_scheduler(const struct work *w);
/* Skips the step where there is no scheduler. */
enum step_result work_needs_scheduler(struct work *w);
/* Whether a call would be sent in this turn. */
bool work_may_call(const struct work *w);
/* Of a reset that succeeded: what was seen of the device until then is dealt with. */
void work_resolve_cleared_by_reset(struct work *w);
/* Open critical verdicts of the node, of the present boot only or of any. */
int64_t work_open_critical(struct work *w, bool this_boot);
/* Seen of this machine, and in no table is there a repair for it. */
bool work_is_for_person(const struct work *w, const struct verdict *verdict);
struct rcall *work_scheduler_call(struct work *w, enum call_kind kind);
/* The group's machines are in a person's hands: what would be a call is asked for instead. */
bool work_by_person(const struct work *w);
/* NULL, with a sentence in w->detail, when the group's provider is not configured. */
struct rcall *work_provider_call(struct work *w, enum call_kind kind, const struct instance *about);
/* The slot is filled by another instance, or by none (instance NULL), after the commit. */
void work_fleet(struct work *w, const struct instance *instance);
/* Steps and the operation into the store. */
void work_step_move(struct operation_step *step, enum step_state to);
void work_step_store(struct work *w, const struct operation_step *step);
/* Ends the present step, with w->detail as its last word. */
void work_step_close(struct work *w, enum step_state to);
void work_operation_store(struct work *w);
bool work_is_past_return(const struct operation *op);
extern const struct step_ops step_mark, step_drain, step_resume;
extern const struct step_ops step_reset, step_reboot, step_terminate, step_launch, step_forget;
extern const struct step_ops step_join, step_verify, step_check, step_prepare;
/* Whether the agent can run the checks that are asked for: GO_ON, WAIT, or FAIL with the reason in w->detail. */
enum step_result work_may_check(struct work *w);

#endif
