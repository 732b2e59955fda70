/* What a return to service waits for beside signs of life. */
#ifndef HOLDFAST_SERVER_RECONCILE_OPERATION_RETURN_H
#define HOLDFAST_SERVER_RECONCILE_OPERATION_RETURN_H

#include <stdbool.h>
#include <stdint.h>

struct work;

/* What a return waits for beside signs of life */
/* A check that is named for the fault has not passed yet: w->detail says which and why. */
bool work_checks_lack(struct work *w);
/* It gives a node back that the scheduler alone kept out: nobody has dealt with anything. */
bool work_is_absence(const struct work *w);
/* Whether it is asked what the new machine is made of; whether that is told by now, or waited for no longer; and the deep checks
 * that what came back has to pass, which is said. */
bool work_asks_hardware(const struct work *w);
bool work_hardware_is_told(struct work *w);
int64_t work_recurring(struct work *w);

#endif
