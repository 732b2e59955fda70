/* Counts the groups that have no capacity, and has what waited for it look again. */
#include "server/reconcile/world/capacity.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"

void reconcile_group_machine_capacity(struct reconcile *r, struct rgroup *group,
                                      const struct machine_capacity *machine_capacity)
{
    struct machine_capacity *had = &group->row.machine_capacity;
    bool better = (had->short_times > 0 && machine_capacity->short_times == 0) ||
                  (had->protected_at > 0 && machine_capacity->protected_at == 0);
    r->stats.short_groups += (machine_capacity->short_times > 0) - (had->short_times > 0);
    r->stats.protected_groups += (machine_capacity->protected_at > 0) - (had->protected_at > 0);
    *had = *machine_capacity;
    if (better)
        reconcile_group_look(r, group, 0);
}
