/* Whose a cordon is, by the reason that Slurm shows for it: so stories on Slurm say what people see there. */
#ifndef HOLDFAST_TESTS_SUPPORT_SCHEDULER_OWNER_H
#define HOLDFAST_TESTS_SUPPORT_SCHEDULER_OWNER_H

#include "base/text.h"
#include "server/scheduler/scheduler.h"

static inline struct scheduler_owner owner_of_reason(const char *reason)
{
    static const char ours[] = "holdfast: ";
    if (text_equal(reason, "Action:Reboot"))
        return (struct scheduler_owner){.request = SCHEDULER_REQUEST_REBOOT, .note = ""};
    if (text_equal(reason, "Action:Replace"))
        return (struct scheduler_owner){.request = SCHEDULER_REQUEST_REPLACE, .note = ""};
    return (struct scheduler_owner){.note = text_starts_with(reason, ours) ? reason + sizeof(ours) - 1 : reason};
}

static inline int cordon_as(const struct scheduler_driver *driver, const char *node, const char *reason,
                            const char *seen, char *error)
{
    char shown[REASON_MAX_BYTES];
    const struct scheduler_owner owner = owner_of_reason(reason);
    return driver->ops->cordon(driver->self, node, &owner, seen, shown, error);
}

/* reason NULL: any of ours. */
static inline int uncordon_as(const struct scheduler_driver *driver, const char *node, const char *reason, char *error)
{
    const struct scheduler_owner owner = owner_of_reason(reason == NULL ? "" : reason);
    return driver->ops->uncordon(driver->self, node, reason == NULL ? NULL : &owner, error);
}

static inline int evict_as(const struct scheduler_driver *driver, const char *node, const char *reason, char *error)
{
    const struct scheduler_owner owner = owner_of_reason(reason);
    return driver->ops->evict(driver->self, node, &owner, error);
}

#endif
