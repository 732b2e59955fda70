/* A reboot by the methods that the node's group names, one after the other, until the machine reports another boot. */
#ifndef HOLDFAST_SERVER_RECONCILE_OPERATION_REBOOT_H
#define HOLDFAST_SERVER_RECONCILE_OPERATION_REBOOT_H

#include "server/reconcile/operation/step.h"

/* Whether the step goes by methods: its group names some, or some were tried. */
bool work_reboots_by_methods(struct work *w);
enum step_result work_methods_run(struct work *w);
void work_methods_came_up(struct work *w); /* once after hpd started */
enum step_result work_methods_answer(struct work *w, const struct rcall *call);

#endif
