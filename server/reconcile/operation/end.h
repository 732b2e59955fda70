/* The end of an operation: that it succeeded, failed, or was cancelled, and what becomes of its node. */
#ifndef HOLDFAST_SERVER_RECONCILE_OPERATION_END_H
#define HOLDFAST_SERVER_RECONCILE_OPERATION_END_H

#include "model/node_state.h"
#include "model/operation_state.h"
#include "server/reconcile/operation/step.h"

struct rcall;

/* A person's turn that the operation does not end: the node stays out of service, and w->held_because says so. */
bool work_person_holds(struct work *w);
void work_end(struct work *w, enum operation_state state, const char *error);
void work_end_succeeded(struct work *w);
/* The present step is what failed, w->detail why. */
void work_end_failed(struct work *w);
/* It cannot even begin, w->detail says why; nothing was done to the node. */
void work_end_unbegun(struct work *w);
void work_end_cancelled(struct work *w, enum node_state to, const char *why);
bool work_cancel_applies(const struct work *w);
enum step_result work_cancel_run(struct work *w);
enum step_result work_cancel_answer(struct work *w, const struct rcall *call);

#endif
