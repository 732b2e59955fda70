/*
 * What all scheduler backends share: what they are handed and hand out is made and freed in one place.
 */
#include "server/scheduler/scheduler.h"
#include "server/scheduler/desired.h"

#include "base/own.h"

#include <stdlib.h>

struct scheduler_driver scheduler_driver_make(const struct scheduler_ops *ops, struct scheduler *self)
{
    bool required = ops->name != NULL && ops->observe != NULL && ops->cordon != NULL && ops->uncordon != NULL &&
                    ops->workloads != NULL && ops->evict != NULL;
    bool requests = ops->requests == NULL || (ops->requests->explain != NULL && ops->requests->annotate != NULL);
    bool jobs = ops->jobs == NULL || (ops->jobs->snapshot != NULL && ops->jobs->cancel != NULL);
    bool others = (ops->signals == NULL || ops->signals->signal != NULL) &&
                  (ops->addresses == NULL || ops->addresses->update != NULL) &&
                  (ops->topology == NULL || ops->topology->places != NULL) &&
                  (ops->governance == NULL || ops->governance->govern != NULL) &&
                  (ops->quarantine == NULL || ops->quarantine->set != NULL) &&
                  (ops->configuration == NULL || ops->configuration->apply != NULL) &&
                  (ops->budgets == NULL || ops->budgets->end != NULL) &&
                  (ops->machines == NULL || ops->machines->gone != NULL);
    if (!required || !requests || !jobs || !others)
        abort(); /* ours: a backend with a part missing */
    return (struct scheduler_driver){.ops = ops, .self = self};
}

void scheduler_observation_free(struct scheduler_observation *observation)
{
    if (observation == NULL)
        return;
    free(TAKE(observation->nodes));
    free(TAKE(observation->words));
    observation->count = 0;
}

void scheduler_quarantine_free(struct scheduler_quarantine *quarantine)
{
    if (quarantine == NULL)
        return;
    free(quarantine->nodes);
    free(quarantine);
}

ENUM_DEFINE(scheduler_part, SCHEDULER_PART_LIST)

struct scheduler_governance *scheduler_governance_new(void)
{
    return own_calloc(1, sizeof(struct scheduler_governance));
}

void scheduler_governance_free(struct scheduler_governance *governance)
{
    if (governance == NULL)
        return;
    free(governance->rules);
    free(governance->held);
    free(governance->wanted);
    free(governance->gone);
    free(governance);
}

struct scheduler_rule *scheduler_governance_add(struct scheduler_governance *governance)
{
    governance->rules = own_realloc(governance->rules, governance->count + 1, sizeof(*governance->rules));
    struct scheduler_rule *rule = &governance->rules[governance->count++];
    *rule = (struct scheduler_rule){0};
    return rule;
}

void scheduler_desired_free(struct scheduler_desired *desired)
{
    if (desired == NULL)
        return;
    free(desired->nodes);
    free(desired);
}
