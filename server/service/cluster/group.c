/*
 * What holds the repairs of an instance group, ended by a person: protected mode, once the image is fixed, and an open
 * breaker, once its cause is known. Both count anew from then on, so neither is back for what it was there for before.
 * A provider without capacity is asked again by itself and needs no word.
 */
#include "db/event.h"
#include "server/service/cluster/cluster.h"
#include "server/service/private.h"

#include <string.h>

struct resuming {
    const struct actor *actor;
    const char *cluster_name, *group_name, *reason;
    int64_t now_ms;
    struct cluster cluster;
    struct instance_group group;
    struct problem *problem;
};

static int tell(struct db_tx *tx, const struct resuming *resuming, enum event_kind kind, const char *what)
{
    struct event event = {
        .at = resuming->now_ms, .level = EVENT_LEVEL_INFO, .kind = kind, .cluster_id = resuming->cluster.id};
    snprintf(event.cluster, sizeof(event.cluster), "%s", resuming->cluster.name);
    snprintf(event.group, sizeof(event.group), "%s", resuming->group.name);
    say_cut(event.message, sizeof(event.message), "%s %s%s%s", resuming->actor->name, what,
            resuming->reason[0] != '\0' ? ": " : "", resuming->reason);
    return db_event_insert(tx, &event);
}

static int end_protection(struct db_tx *tx, struct resuming *resuming)
{
    struct machine_capacity *machine_capacity = &resuming->group.machine_capacity;
    machine_capacity->failures = machine_capacity->failed_at = machine_capacity->protected_at = 0;
    int status = db_group_set_machine_capacity(tx, resuming->group.id, machine_capacity);
    return status < 0 ? status
                      : tell(tx, resuming, EVENT_KIND_GROUP_UNPROTECTED,
                             "ended the protection: replacements go on, and new machines that do not come up are "
                             "counted anew");
}

static int close_breaker(struct db_tx *tx, struct resuming *resuming)
{
    resuming->group.breaker_opened_at = 0;
    resuming->group.breaker_closed_at = resuming->now_ms;
    int status = db_group_close_breaker(tx, resuming->group.id, resuming->now_ms);
    return status < 0 ? status
                      : tell(tx, resuming, EVENT_KIND_BREAKER_CLOSED,
                             "closed the breaker: what failed until now counts no more, and repairs go on as far as "
                             "they are still needed");
}

static int resume_write(struct db_tx *tx, void *arg)
{
    struct resuming *resuming = arg;
    int status = place_find_group(tx, resuming->cluster_name, resuming->group_name, &resuming->cluster,
                                  &resuming->group, resuming->problem);
    if (status < 0)
        return status;
    bool protected = resuming->group.machine_capacity.protected_at > 0, open = resuming->group.breaker_opened_at > 0;
    if (protected)
        status = end_protection(tx, resuming);
    if (status == 0 && open)
        status = close_breaker(tx, resuming);
    return status == 0 && !protected && !open ? NOTHING_DONE : status;
}

int service_group_resume(struct service *s, const struct actor *actor, const char *cluster, const char *group,
                         const char *reason, struct instance_group *ret_group, struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status < 0)
        return status;
    struct resuming resuming = {.actor = actor,
                                .cluster_name = cluster,
                                .group_name = group,
                                .reason = reason,
                                .now_ms = service_now(s),
                                .problem = ret_problem};
    status = service_write(s, "group-resume", resume_write, &resuming, ret_problem);
    if (status < 0)
        return status;
    *ret_group = resuming.group;
    service_wake(s, SERVICE_WAKE_GROUP, ret_group->id);
    service_events_added(s);
    return 0;
}
