/*
 * The settings of each group, as the policy document has them over the configuration. They change between two turns and never
 * in one; what is looked at then is what is not well, because another policy may want something else done about it.
 */
#include "server/reconcile/world/group_settings.h"
#include "server/config/policy_registry.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"

void reconcile_group_settings(struct reconcile *r, struct rgroup *group)
{
    group->settings = r->deps.settings;
    if (r->service->registry != NULL)
        group->policy_version = policy_registry_resolve(r->service->registry, group->cluster->name, group->name,
                                                        group->instance_type, &group->settings);
}

int64_t reconcile_breaker_window_max(const struct reconcile *r)
{
    int64_t longest = r->deps.settings.policy.breaker_window_ms;
    for (const struct rgroup *group = r->groups; group != NULL; group = group->next)
        if (group->settings.policy.breaker_window_ms > longest)
            longest = group->settings.policy.breaker_window_ms;
    return longest;
}

static void take(struct reconcile *r, struct rgroup *group)
{
    reconcile_group_settings(r, group);
    group->cluster->dirty = true;
    reconcile_group_look_unwell(r, group);
}

/* So it is with what the site says of fault codes. Each group knows its own version: while some are read, a person may make another, and a new group may have it already. */
static bool refresh(struct reconcile *r, int64_t now)
{
    (void)now;
    const struct fault_overrides *overrides = atomic_load(&r->service->fault_overrides);
    for (struct rgroup *group = r->groups; overrides != r->overrides && group != NULL; group = group->next)
        reconcile_group_look_unwell(r, group);
    r->overrides = overrides;
    if (r->service->registry == NULL)
        return false;
    int64_t newest = policy_registry_version(r->service->registry);
    for (struct rgroup *group = r->groups; group != NULL; group = group->next)
        if (group->policy_version != newest)
            take(r, group);
    return false;
}

const struct part part_group_settings = {.run = refresh};
