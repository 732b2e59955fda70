/*
 * One operation in hand, inside the turn's transaction, and what a step may say about itself.
 *
 * A step is a row of three functions. enter is called once, when the step begins; run whenever it is to be looked at and no
 * call is on its way; answer when a call came back. Each says what follows; reconcile/operation/operate.c does it.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_OPERATION_STEP_H
#define HOLDFAST_SERVER_RECONCILE_OPERATION_STEP_H

#include "server/reconcile/base/call.h"
#include "server/reconcile/base/work.h"

/* What is asked of whoever has the machines, when no provider can do it for us. */
#define ASK_REBOOT "reboot this machine now; Holdfast goes on when it comes up with a new boot id"

struct step_ops {
    enum step_result (*enter)(struct work *w);
    enum step_result (*run)(struct work *w);
    enum step_result (*answer)(struct work *w, const struct rcall *call);
    int64_t (*deadline_ms)(const struct work *w); /* from its beginning, 0: none; NULL: it keeps its own */
    bool asks_scheduler;                          /* it waits while the scheduler is away */
};

const struct step_ops *step_ops_of(enum step_kind kind);
/* "timeout: slurm_update error: …" of a call that failed. */
void work_say_error(struct work *w, const struct rcall *call);
void work_event(struct work *w, enum event_level level, enum event_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void work_move(struct work *w, enum node_state to, const char *reason);
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
