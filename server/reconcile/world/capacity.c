/*
 * What the answers of providers and the ends of launches say of a group's supply of machines: policy/supply.c says what follows, and
 * here it is stored with what it came from, and told once.
 *
 * The row is read inside the transaction, because several operations of one group may have an answer in the same turn.
 */
#include "server/reconcile/operation/step.h"

#include <inttypes.h>
#include <string.h>

void reconcile_group_supply(struct reconcile *r, struct rgroup *group, const struct supply *supply)
{
    struct supply *had = &group->row.supply;
    bool better =
        (had->short_times > 0 && supply->short_times == 0) || (had->protected_at > 0 && supply->protected_at == 0);
    r->stats.short_groups += (supply->short_times > 0) - (had->short_times > 0);
    r->stats.protected_groups += (supply->protected_at > 0) - (had->protected_at > 0);
    *had = *supply;
    if (better)
        reconcile_group_look(r, group, 0);
}

static bool read(struct work *w, struct supply *ret_supply)
{
    struct instance_group row;
    int status = db_group_get_row(w->turn->tx, w->node->group->id, &row);
    if (!work_did(w, status))
        return false;
    *ret_supply = row.supply;
    return true;
}

static void write(struct work *w, const struct supply *supply)
{
    work_did(w, db_group_set_supply(w->turn->tx, w->node->group->id, supply));
    struct effect *effect = turn_effect(w->turn, EFFECT_SUPPLY, w->node);
    effect->u.supply.group = w->node->group;
    effect->u.supply.supply = *supply;
}

void work_supply_short(struct work *w, const char *error)
{
    const struct rgroup *group = w->node->group;
    struct supply supply;
    char until[CLOCK_TEXT_MAX];
    if (!read(w, &supply))
        return;
    bool news = policy_supply_short(&group->settings.policy, &supply, w->now);
    write(w, &supply);
    if (news)
        work_did(w, turn_group_event(w->turn, EVENT_LEVEL_WARN, EVENT_KIND_CAPACITY_SHORT, group, "",
                                     "the provider has no machine (%s): repairs that need one wait, and it is asked "
                                     "again at %s and then at growing intervals",
                                     error, clock_format(supply.short_until, until)));
}

void work_supply_launched(struct work *w)
{
    struct supply supply;
    if (w->node->group->row.supply.short_times == 0 || !read(w, &supply))
        return;
    bool news = policy_supply_launched(&supply);
    write(w, &supply);
    if (news)
        work_did(w, turn_group_event(w->turn, EVENT_LEVEL_INFO, EVENT_KIND_CAPACITY_BACK, w->node->group, "",
                                     "the provider has machines again: repairs that need one go on"));
}

static bool makes_machines(const struct work *w)
{
    return !work_by_person(w) && (w->op.kind == OPERATION_KIND_LAUNCH || w->op.kind == OPERATION_KIND_REPLACE ||
                                  w->op.kind == OPERATION_KIND_UPDATE);
}

/* It was launched and did not come up. A fault that was seen on it, and a test that it did not pass, are the machine's own. */
void work_supply_failed(struct work *w, enum step_kind failed)
{
    const struct rgroup *group = w->node->group;
    struct supply supply;
    bool came = failed == STEP_KIND_JOIN || failed == STEP_KIND_PREPARE || failed == STEP_KIND_VERIFY;
    if (!makes_machines(w) || !came || w->relapsed || !read(w, &supply))
        return;
    bool trips = policy_supply_unborn(&group->settings.policy, &supply, w->now);
    write(w, &supply);
    if (trips)
        work_did(w,
                 turn_group_event(w->turn, EVENT_LEVEL_ERROR, EVENT_KIND_GROUP_PROTECTED, group, "",
                                  "%" PRId64 " new machines in a row did not come up, %s the last: nothing is replaced "
                                  "until one does or a person says so; look at the image and its scripts",
                                  supply.unborn, w->node->name));
}

void work_supply_came_up(struct work *w)
{
    struct supply supply;
    if (!makes_machines(w) || w->node->group->row.supply.unborn == 0 || !read(w, &supply))
        return;
    bool news = policy_supply_came_up(&supply);
    write(w, &supply);
    if (news)
        work_did(w, turn_group_event(w->turn, EVENT_LEVEL_INFO, EVENT_KIND_GROUP_UNPROTECTED, w->node->group, "",
                                     "the new machine of %s came up: replacements go on", w->node->name));
}

/* True: the provider is not asked now, w->detail says why. A creation or an update keeps its own deadline, as it may have to be
 * taken back; a repair waits for as long as it takes. */
bool work_supply_waits(struct work *w)
{
    const struct supply *supply = &w->node->group->row.supply;
    char since[CLOCK_TEXT_MAX], until[CLOCK_TEXT_MAX];
    if (w->op.kind != OPERATION_KIND_REPLACE || supply->short_times == 0 || w->now >= supply->short_until)
        return false;
    work_say(w, "waits for capacity: the provider had no machine at %s, and is asked again at %s",
             clock_format(supply->short_at, since), clock_format(supply->short_until, until));
    work_due(w, supply->short_until);
    int64_t at_least = supply->short_until + w->node->group->settings.backend_deadline_ms;
    if (w->step->deadline_at > 0 && w->step->deadline_at < at_least)
        w->step->deadline_at = at_least;
    return true;
}
