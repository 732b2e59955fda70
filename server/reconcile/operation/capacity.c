/*
 * What the answers of providers and the ends of launches say of a group's capacity of machines: policy/machine_capacity.c says what follows, and
 * here it is stored with what it came from, and told once.
 *
 * The row is read inside the transaction, because several operations of one group may have an answer in the same turn.
 */
#include "server/reconcile/operation/capacity.h"
#include "base/text.h"
#include "db/cluster.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/operation/step.h"
#include "server/reconcile/world/capacity.h"

#include <inttypes.h>
#include <string.h>

static void set(struct reconcile *r, struct rnode *node, const void *machine_capacity)
{
    reconcile_group_machine_capacity(r, node->group, machine_capacity);
}

static bool read(struct work *w, struct machine_capacity *ret_machine_capacity)
{
    struct instance_group row;
    int status = db_group_get_row(w->turn->tx, w->node->group->id, &row);
    if (!work_did(w, status))
        return false;
    *ret_machine_capacity = row.machine_capacity;
    return true;
}

static void write(struct work *w, const struct machine_capacity *machine_capacity)
{
    work_did(w, db_group_set_machine_capacity(w->turn->tx, w->node->group->id, machine_capacity));
    turn_after(w->turn, w->node, set, machine_capacity, sizeof(*machine_capacity));
}

void work_machine_capacity_short(struct work *w, const char *error)
{
    const struct rgroup *group = w->node->group;
    struct machine_capacity machine_capacity;
    char until[CLOCK_TEXT_MAX];
    if (!read(w, &machine_capacity))
        return;
    bool news = policy_machine_capacity_short(&group->settings.policy, &machine_capacity, w->now);
    write(w, &machine_capacity);
    if (news)
        work_did(w, turn_group_event(w->turn, EVENT_LEVEL_WARN, EVENT_KIND_CAPACITY_SHORT, group, "",
                                     "the provider has no machine (%s): repairs that need one wait, and it is asked "
                                     "again at %s and then at growing intervals",
                                     error, clock_format(machine_capacity.short_until, until)));
}

void work_machine_capacity_launched(struct work *w)
{
    struct machine_capacity machine_capacity;
    if (w->node->group->row.machine_capacity.short_times == 0 || !read(w, &machine_capacity))
        return;
    bool news = policy_machine_capacity_launched(&machine_capacity);
    write(w, &machine_capacity);
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
void work_machine_capacity_failed(struct work *w, enum step_kind failed)
{
    const struct rgroup *group = w->node->group;
    struct machine_capacity machine_capacity;
    bool came = failed == STEP_KIND_JOIN || failed == STEP_KIND_PREPARE || failed == STEP_KIND_VERIFY;
    if (!makes_machines(w) || !came || w->relapsed || !read(w, &machine_capacity))
        return;
    bool trips = policy_machine_capacity_provision_failed(&group->settings.policy, &machine_capacity, w->now);
    write(w, &machine_capacity);
    const char *image = w->instance.image_id[0] != '\0' ? w->instance.image_id : group->row.image_id;
    if (trips)
        work_did(w,
                 turn_group_event(w->turn, EVENT_LEVEL_ERROR, EVENT_KIND_GROUP_PROTECTED, group, "",
                                  "%" PRId64 " new machines in a row did not come up, %s the last (%.*s): nothing is "
                                  "replaced until one does or a person says so; look at the image%s%s and its scripts",
                                  machine_capacity.failures, w->node->name, TEXT_FIT(w->op.error, 160),
                                  image[0] != '\0' ? " " : "", image));
}

void work_machine_capacity_came_up(struct work *w)
{
    struct machine_capacity machine_capacity;
    if (!makes_machines(w) || w->node->group->row.machine_capacity.failures == 0 || !read(w, &machine_capacity))
        return;
    bool news = policy_machine_capacity_came_up(&machine_capacity);
    write(w, &machine_capacity);
    if (news)
        work_did(w, turn_group_event(w->turn, EVENT_LEVEL_INFO, EVENT_KIND_GROUP_UNPROTECTED, w->node->group, "",
                                     "the new machine of %s came up: replacements go on", w->node->name));
}

/* True: the provider is not asked now, w->detail says why. A creation or an update keeps its own deadline, as it may have to be
 * taken back; a repair waits for as long as it takes. */
bool work_machine_capacity_waits(struct work *w)
{
    const struct machine_capacity *machine_capacity = &w->node->group->row.machine_capacity;
    char since[CLOCK_TEXT_MAX], until[CLOCK_TEXT_MAX];
    if (w->op.kind != OPERATION_KIND_REPLACE || machine_capacity->short_times == 0 ||
        w->now >= machine_capacity->short_until)
        return false;
    work_say(w, "waits for capacity: the provider had no machine at %s, and is asked again at %s",
             clock_format(machine_capacity->short_at, since), clock_format(machine_capacity->short_until, until));
    work_due(w, machine_capacity->short_until);
    int64_t at_least = machine_capacity->short_until + w->node->group->settings.backend_deadline_ms;
    if (w->step->deadline_at > 0 && w->step->deadline_at < at_least)
        w->step->deadline_at = at_least;
    return true;
}
