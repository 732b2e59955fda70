/* What the policy in force says of each group. */
#ifndef HOLDFAST_SERVER_RECONCILE_WORLD_GROUP_SETTINGS_H
#define HOLDFAST_SERVER_RECONCILE_WORLD_GROUP_SETTINGS_H

#include <stdint.h>

struct reconcile;
struct rgroup;

/* What the policy in force says of a group that is new, or is another now. */
void reconcile_group_settings(struct reconcile *r, struct rgroup *group);
int64_t reconcile_breaker_window_max(const struct reconcile *r);

#endif
