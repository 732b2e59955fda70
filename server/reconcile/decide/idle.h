/* Checks of idle nodes, where the site wants them. */
#ifndef HOLDFAST_SERVER_RECONCILE_DECIDE_IDLE_H
#define HOLDFAST_SERVER_RECONCILE_DECIDE_IDLE_H

struct turn;

/* With housekeeping, in its transaction. */
int reconcile_idle_checks(struct turn *turn);

#endif
