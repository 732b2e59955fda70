/* A group's capacity of machines, as memory has it. */
#ifndef HOLDFAST_SERVER_RECONCILE_WORLD_CAPACITY_H
#define HOLDFAST_SERVER_RECONCILE_WORLD_CAPACITY_H

struct machine_capacity;
struct reconcile;
struct rgroup;

void reconcile_group_machine_capacity(struct reconcile *r, struct rgroup *group,
                                      const struct machine_capacity *machine_capacity);

#endif
