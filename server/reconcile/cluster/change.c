/*
 * The operations of changes of whole clusters: how far each is, and its end.
 *
 * Whether one is over is the policy's word (policy/change.c) on the very plan that moves the cluster, and is written in the
 * same transaction. How far it is comes from the counts of reconcile/world/recount.c, so that it costs a look at the groups, never
 * at the nodes; it is told at most once in PROGRESS_MS, as a large cluster changes with every turn.
 */
#include "server/reconcile/cluster/change.h"
#include "base/text.h"
#include "db/operation.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/cluster/provision.h"

#include <inttypes.h>

#define PROGRESS_MS 1000

static enum operation_kind kind_at(size_t at)
{
    return (enum operation_kind)((int)at + OPERATION_KIND_FIRST_OF_CLUSTER);
}

/* --- how far --------------------------------------------------------------------------------------- */

static struct operation_progress progress_of(const struct provision *p, enum operation_kind kind)
{
    struct operation_progress sum = {0};
    bool goes = p->plan.state == CLUSTER_STATE_DELETING;
    for (size_t i = 0; i < p->plan.group_count; i++) {
        const struct rgroup *group = p->parts[i].group;
        const int64_t *slots = group->slots;
        const struct provision_group_plan *plan = &p->plan.groups[i];
        int64_t wanted = goes || plan->state == GROUP_STATE_DELETING ? 0 : plan->desired;
        int64_t coming = slots[SLOT_STARTING] + slots[SLOT_UNPROVISIONED];
        int64_t surplus = slots[SLOT_SERVING] + slots[SLOT_BROKEN] + coming - wanted;
        sum.wanted += wanted;
        sum.in_service += group->ready;
        sum.failed += slots[SLOT_UNPROVISIONED] + slots[SLOT_BROKEN];
        if (kind == OPERATION_KIND_UPDATE_SOFTWARE)
            sum.left += group->outdated;
        else
            sum.left += slots[SLOT_LEAVING] + (surplus > 0 ? surplus : 0) + (wanted > 0 ? coming : 0);
    }
    return sum;
}

static bool same_progress(const struct operation_progress *a, const struct operation_progress *b)
{
    return a->wanted == b->wanted && a->in_service == b->in_service && a->failed == b->failed && a->left == b->left;
}

static void plan_change(struct provision *p, size_t at, int64_t now)
{
    const struct rchange *known = &p->cluster->changes[at];
    struct provision_change *change = &p->changes[at];
    change->ends = policy_change_is_over(&p->snapshot, &p->plan, kind_at(at), change->failure);
    change->progress = progress_of(p, kind_at(at));
    bool fails = change->failure[0] != '\0' && !known->failed;
    change->failed = known->failed || change->failure[0] != '\0';
    bool news = !same_progress(&change->progress, &known->progress);
    change->writes = change->ends || !known->begun || fails || (news && now >= known->told_at + PROGRESS_MS);
    if (news && !change->writes && (p->cluster->look_at == 0 || known->told_at + PROGRESS_MS < p->cluster->look_at))
        p->cluster->look_at = known->told_at + PROGRESS_MS;
}

bool reconcile_changes_plan(struct provision *p, int64_t now)
{
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(p->changes); i++) {
        if (p->cluster->changes[i].id != 0)
            plan_change(p, i, now);
        any = any || p->changes[i].writes;
    }
    return any;
}

/* --- into the store -------------------------------------------------------------------------------- */

static void move(struct operation *row, enum operation_state to)
{
    int state = (int)row->state;
    sm_move(&operation_state_machine, &state, (int)to);
    row->state = to;
}

static int tell_end(struct turn *turn, const struct operation *row)
{
    bool failed = row->state == OPERATION_STATE_FAILED;
    autofree char *so_many = row->progress.wanted == 0
                                 ? own_strdup("no node is left")
                                 : own_printf("%" PRId64 " of %" PRId64 " node%s in service", row->progress.in_service,
                                              row->progress.wanted, text_plural(row->progress.wanted));
    return turn_change_event(turn, failed ? EVENT_LEVEL_ERROR : EVENT_LEVEL_INFO,
                             failed ? EVENT_KIND_OPERATION_FAILED : EVENT_KIND_OPERATION_SUCCEEDED, row, "%s %s: %s",
                             operation_kind_text(row->kind), operation_state_text(row->state), so_many);
}

static int write_change(struct turn *turn, const struct provision_change *change, int64_t id)
{
    struct operation row;
    int status = db_operation_get_row(turn->tx, id, &row);
    if (status != 0)
        return status == STATUS_NOT_FOUND ? 0 : status;
    if (row.state != OPERATION_STATE_PENDING && row.state != OPERATION_STATE_RUNNING)
        return 0; /* superseded, and the next resync brings what did it */
    if (row.state == OPERATION_STATE_PENDING) {
        move(&row, OPERATION_STATE_RUNNING);
        row.started_at = turn->now;
    }
    row.progress = change->progress;
    if (change->failure[0] != '\0')
        text_copy_cut(row.error, sizeof(row.error), change->failure);
    if (change->ends) {
        move(&row, change->failed ? OPERATION_STATE_FAILED : OPERATION_STATE_SUCCEEDED);
        row.finished_at = turn->now;
    }
    status = db_operation_update(turn->tx, &row);
    return status != 0 || !change->ends ? status : tell_end(turn, &row);
}

int reconcile_changes_write(struct turn *turn)
{
    const struct provision *p = turn->provision;
    int status = 0;
    for (size_t i = 0; i < ARRAY_LEN(p->changes) && status == 0; i++)
        if (p->changes[i].writes)
            status = write_change(turn, &p->changes[i], p->cluster->changes[i].id);
    return status;
}

void reconcile_changes_done(const struct turn *turn)
{
    const struct provision *p = turn->provision;
    for (size_t i = 0; i < ARRAY_LEN(p->changes); i++) {
        const struct provision_change *change = &p->changes[i];
        struct rchange *known = &p->cluster->changes[i];
        if (!change->writes)
            continue;
        if (change->ends)
            *known = (struct rchange){0};
        else
            *known = (struct rchange){.id = known->id,
                                      .begun = true,
                                      .failed = change->failed,
                                      .progress = change->progress,
                                      .told_at = turn->now};
    }
}
