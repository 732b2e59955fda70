/* One operation one step further. */
#ifndef HOLDFAST_SERVER_RECONCILE_OPERATION_OPERATE_H
#define HOLDFAST_SERVER_RECONCILE_OPERATION_OPERATE_H

struct rnode;
struct turn;

/* Inside the transaction. */
int reconcile_operate(struct turn *turn, struct rnode *node);

#endif
