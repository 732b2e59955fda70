/* One operation one step further. */
#ifndef HOLDFAST_SERVER_RECONCILE_OPERATION_OPERATE_H
#define HOLDFAST_SERVER_RECONCILE_OPERATION_OPERATE_H

#include "server/scheduler/scheduler.h"

struct rcall;
struct rnode;
struct turn;

/* Inside the transaction. */
int reconcile_operate(struct turn *turn, struct rnode *node);
/* Whose the cordon is that an operation puts on its node. */
struct scheduler_owner reconcile_owner(enum operation_kind kind);
void reconcile_call_owner(struct rcall *call, struct scheduler_owner owner);

#endif
