/* What the answers of providers and the ends of launches say of a group's capacity of machines. */
#ifndef HOLDFAST_SERVER_RECONCILE_OPERATION_CAPACITY_H
#define HOLDFAST_SERVER_RECONCILE_OPERATION_CAPACITY_H

#include "model/operation_state.h"

#include <stdbool.h>

struct work;

void work_machine_capacity_short(struct work *w, const char *error);
void work_machine_capacity_launched(struct work *w);
void work_machine_capacity_failed(struct work *w, enum step_kind failed);
void work_machine_capacity_came_up(struct work *w);
bool work_machine_capacity_waits(struct work *w);

#endif
