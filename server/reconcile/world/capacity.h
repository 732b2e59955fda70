/* A group's capacity of machines: what the answers of providers and the ends of launches say of it. */
#ifndef HOLDFAST_SERVER_RECONCILE_WORLD_CAPACITY_H
#define HOLDFAST_SERVER_RECONCILE_WORLD_CAPACITY_H

#include "model/operation_state.h"

struct machine_capacity;
struct reconcile;
struct rgroup;
struct work;

void reconcile_group_machine_capacity(struct reconcile *r, struct rgroup *group,
                                      const struct machine_capacity *machine_capacity);
void work_machine_capacity_short(struct work *w, const char *error);
void work_machine_capacity_launched(struct work *w);
void work_machine_capacity_failed(struct work *w, enum step_kind failed);
void work_machine_capacity_came_up(struct work *w);
bool work_machine_capacity_waits(struct work *w);

#endif
