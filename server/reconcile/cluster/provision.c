/*
 * Clusters and groups that come up, grow, shrink, are updated and go: a snapshot from the counts, the policy's word, and that
 * word into the store.
 *
 * A cluster is looked at when something about it changed, or when a time has come; one of them in a turn. The snapshot is made
 * from memory, so inside the transaction the rows are compared with it first: when somebody was
 * faster nothing is done, and the next resync brings what is new.
 */
#include "server/reconcile/cluster/provision.h"
#include "base/text.h"
#include "db/cluster.h"
#include "db/node.h"
#include "db/operation.h"
#include "server/reconcile/base/claim.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/cluster/batch.h"
#include "server/reconcile/cluster/change.h"
#include "server/reconcile/world/recount.h"
#include "server/reconcile/world/resync.h"
#include "server/reconcile/world/table.h"

#include <inttypes.h>
#include <stdio.h>

struct provision_part {
    int64_t last; /* the cluster that moved last: the next one has its turn */
};

/* --- the snapshot ------------------------------------------------------------------------------ */
static int take_failed(const void *row, void *arg)
{
    const struct operation *op = row;
    if (op->state != OPERATION_STATE_FAILED && op->state != OPERATION_STATE_CANCELLED)
        return 0;
    *(struct operation *)arg = *op;
    return 1;
}

/* Why the last of its operations that ended badly did so. */
static int read_why(struct reconcile *r, const struct rnode *node, char ret_why[SENTENCE_MAX_BYTES])
{
    struct db_tx *tx = NULL;
    struct operation last = {0};
    const struct db_operation_filter newest = {.node_id = node->id, .state = -1};
    int status = db_read_begin(r->db, &tx);
    if (status == 0)
        status = db_operation_list(tx, &newest, take_failed, &last);
    db_read_end(r->db, tx);
    if (status < 0)
        return status;
    autofree char *why = own_printf("%s%s%s", last.id == 0 ? "its launch failed" : operation_kind_text(last.kind),
                                    last.id == 0 ? "" : " failed at ", last.id == 0 ? "" : last.error);
    text_copy_cut(ret_why, SENTENCE_MAX_BYTES, why);
    return 0;
}

static struct rnode *find_unprovisioned(const struct rgroup *group)
{
    for (struct rnode *node = group->first; node != NULL; node = node->group_next)
        if (node->tally.slot == SLOT_UNPROVISIONED)
            return node;
    return NULL;
}

static const struct rnode *find_broken(const struct rgroup *group)
{
    for (const struct rnode *node = group->out; node != NULL; node = node->out_next)
        if (node->tally.slot == SLOT_BROKEN)
            return node;
    return NULL;
}

static int find_trouble(struct reconcile *r, struct rgroup *group, struct provision_group *view)
{
    if (group->slots[SLOT_UNPROVISIONED] > 0 && group->unprovisioned == NULL) {
        struct rnode *node = find_unprovisioned(group);
        int status = node == NULL ? 0 : read_why(r, node, group->unprovisioned_why);
        if (status != 0)
            return status;
        group->unprovisioned = node;
    }
    if (group->slots[SLOT_UNPROVISIONED] > 0 && group->unprovisioned != NULL) {
        view->unprovisioned = group->unprovisioned->name;
        view->unprovisioned_why = group->unprovisioned_why;
    } else if (group->slots[SLOT_BROKEN] > 0) {
        const struct rnode *broken = find_broken(group);
        view->broken = broken == NULL ? NULL : broken->name;
    }
    return 0;
}

static int view_rollout(struct reconcile *r, struct group_part *part, struct provision_group *view)
{
    struct rgroup *group = part->group;
    view->rollout = &group->rollout;
    view->outdated = group->outdated;
    view->members = group->members;
    view->members_done = group->members_done;
    view->members_bad = group->members_bad;
    const struct rollout *rollout = &group->rollout;
    bool waits = rollout->next_batch_at > reconcile_now(r) || (rollout->batch > 0 && rollout->next_batch_at == 0);
    if (!waits && group->members_bad == 0 && group->members_done == group->members)
        view->updatable = reconcile_batch_room(r, group);
    const struct rnode *bad = group->members_bad == 0 ? NULL : reconcile_bad_member(group);
    if (bad == NULL)
        return 0;
    view->bad_member = bad->name;
    view->bad_member_why = part->why;
    if (bad->state == NODE_STATE_FAILED)
        return read_why(r, bad, part->why);
    text_copy_cut(part->why, sizeof(part->why), "was taken out of service after its update");
    return 0;
}

static int view_group(struct reconcile *r, struct group_part *part, struct provision_group *view)
{
    struct rgroup *group = part->group;
    const struct instance_group *row = &group->row;
    *view = (struct provision_group){
        .name = group->name,
        .state = row->state,
        .state_since = row->state_since,
        .desired = row->desired,
        .min_count = row->min_count,
        .previous_desired = row->previous_desired,
        .failure = row->failure,
        .was_scaling = group->scaling,
    };
    for (int kind = 0; kind < SLOT_KIND_COUNT; kind++)
        view->slots[kind] = group->slots[kind];
    int status = find_trouble(r, group, view);
    return status == 0 && group->has_rollout ? view_rollout(r, part, view) : status;
}

static int view_cluster(struct reconcile *r, struct provision *p, int64_t now)
{
    size_t count = 0;
    for (struct rgroup *group = r->groups; group != NULL; group = group->next)
        count += group->cluster == p->cluster;
    p->groups = own_calloc(count + 1, sizeof(*p->groups));
    p->parts = own_calloc(count + 1, sizeof(*p->parts));
    p->snapshot = (struct provision_snapshot){.now_ms = now,
                                              .settings = r->deps.settings.provision,
                                              .state = p->cluster->state,
                                              .provisioning = p->cluster->provisioning,
                                              .failure = p->cluster->failure,
                                              .groups = p->groups};
    for (struct rgroup *group = r->groups; group != NULL; group = group->next) {
        if (group->cluster != p->cluster)
            continue;
        struct group_part *part = &p->parts[p->snapshot.group_count];
        part->group = group;
        int status = view_group(r, part, &p->groups[p->snapshot.group_count++]);
        if (status != 0)
            return status;
    }
    return 0;
}

/* --- what becomes of it ------------------------------------------------------------------------ */
static void provision_free(struct provision *p)
{
    if (p == NULL)
        return;
    policy_provision_free(&p->plan);
    free(p->groups);
    free(p->parts);
    free(p->members);
    free(p);
}
AUTO_DEFINE(struct provision *, provision, provision_free)

static bool group_changes(const struct provision_group_plan *plan)
{
    return plan->rule != NULL || plan->rollout_moves || plan->forget;
}

static bool changes(const struct provision *p)
{
    bool any = p->plan.rule != NULL || p->plan.gone || p->victim_count > 0;
    for (size_t i = 0; i < p->plan.group_count; i++)
        any = any || group_changes(&p->plan.groups[i]);
    return any;
}

static bool is_due(const struct rcluster *cluster, int64_t now)
{
    return cluster->dirty || (cluster->look_at > 0 && cluster->look_at <= now);
}

/* Takes turns, so that a cluster in which much happens keeps no other waiting. */
static struct rcluster *next_cluster(const struct reconcile *r, int64_t now)
{
    struct rcluster *first = NULL;
    bool passed = false;
    for (struct rcluster *cluster = r->clusters; cluster != NULL; cluster = cluster->next) {
        if (is_due(cluster, now) && passed)
            return cluster;
        if (is_due(cluster, now) && first == NULL)
            first = cluster;
        passed = passed || cluster->id == r->provision->last;
    }
    return first;
}

static bool takes_down(const struct provision_plan *plan)
{
    bool all = plan->state == CLUSTER_STATE_ROLLING_BACK || plan->state == CLUSTER_STATE_FAILED;
    for (size_t i = 0; i < plan->group_count; i++)
        all = all && plan->groups[i].state == GROUP_STATE_FAILED;
    return all;
}

static struct provision *plan_cluster(struct reconcile *r, struct rcluster *cluster, int64_t now)
{
    AUTO(provision) struct provision *p = own_calloc(1, sizeof(*p));
    p->cluster = cluster;
    r->provision->last = cluster->id;
    if (view_cluster(r, p, now) != 0) {
        r->paused_until = now + STORE_PAUSE_MAX_MS; /* the store cannot be read: it stays dirty */
        return NULL;
    }
    policy_provision(&p->snapshot, &p->plan);
    p->takes_down = takes_down(&p->plan);
    for (size_t i = 0; i < p->plan.group_count; i++) {
        reconcile_choose_victims(r, p, i);
        reconcile_choose_members(r, p, i);
    }
    cluster->look_at = p->plan.look_at;
    for (size_t i = 0; i < p->plan.group_count; i++) {
        const struct group_part *part = &p->parts[i];
        int64_t at = part->blind                ? now + reconcile_group_observe_interval(part->group)
                     : part->group->has_rollout ? part->group->batch_look_at
                                                : 0;
        if (at > now && (cluster->look_at == 0 || at < cluster->look_at))
            cluster->look_at = at;
    }
    bool moves = reconcile_changes_plan(p, now);
    if (moves || changes(p))
        return TAKE(p);
    for (size_t i = 0; i < p->plan.group_count; i++)
        p->parts[i].group->scaling = p->plan.groups[i].is_scaling;
    cluster->dirty = false;
    return NULL;
}

static struct provision *plan_next(struct reconcile *r, int64_t now)
{
    if (reconcile_is_behind(r))
        return NULL; /* a part of what belongs together is not known yet */
    struct provision *p = NULL;
    for (struct rcluster *cluster; p == NULL && (cluster = next_cluster(r, now)) != NULL;) {
        p = plan_cluster(r, cluster, now);
        if (p == NULL && cluster->dirty)
            return NULL;
    }
    return p;
}

static int plan(struct turn *turn)
{
    if (turn->r->isolating == 0 || parts_size(turn) == 0)
        turn->provision = plan_next(turn->r, turn->now);
    return turn->provision != NULL ? PART_PLAN_STORE : PART_PLAN_NOTHING;
}

static int64_t due(const struct reconcile *r, int64_t now)
{
    int64_t next = INT64_MAX;
    for (const struct rcluster *cluster = r->clusters; cluster != NULL; cluster = cluster->next) {
        int64_t at = cluster->dirty ? now : cluster->look_at;
        if (at > 0 && at < next)
            next = at;
    }
    return next;
}

/* --- groups into the store --------------------------------------------------------------------- */
static enum event_level level_of(enum group_state state)
{
    return state == GROUP_STATE_FAILED     ? EVENT_LEVEL_ERROR
           : state == GROUP_STATE_DEGRADED ? EVENT_LEVEL_WARN
                                           : EVENT_LEVEL_INFO;
}

static int tell_group(struct turn *turn, const struct rgroup *group, const struct provision_group_plan *plan)
{
    int status = 0;
    bool back = plan->desired < group->row.desired;
    if (plan->scaling[0] != '\0')
        status = turn_group_event(turn, back ? EVENT_LEVEL_ERROR : EVENT_LEVEL_INFO, EVENT_KIND_GROUP_SCALING, group,
                                  back ? plan->failure : "", "%s", plan->scaling);
    if (status == 0 && plan->state != group->row.state)
        status = turn_group_event(turn, level_of(plan->state), EVENT_KIND_GROUP_STATE, group, plan->failure,
                                  "%s -> %s%s%s", group_state_text(group->row.state), group_state_text(plan->state),
                                  plan->failure[0] != '\0' ? ": " : "", plan->failure);
    return status;
}

static void fill_group(const struct turn *turn, const struct provision_group_plan *plan, struct instance_group *row)
{
    int state = (int)row->state;
    if (plan->state != row->state) {
        sm_move(&group_state_machine, &state, (int)plan->state);
        row->state_since = turn->now;
    }
    row->state = plan->state;
    row->desired = plan->desired;
    row->min_count = plan->min_count;
    row->previous_desired = plan->previous_desired;
    text_copy_cut(row->failure, sizeof(row->failure), plan->failure);
    if (!plan->takes_image)
        return;
    bool back = plan->rollout.state == ROLLOUT_STATE_ROLLING_BACK;
    text_copy_cut(row->image_id, sizeof(row->image_id),
                  back ? plan->rollout.previous_image_id : plan->rollout.image_id);
    text_copy_cut(row->release, sizeof(row->release), back ? plan->rollout.previous_release : plan->rollout.release);
}

static int write_rollout(struct turn *turn, const struct rgroup *group, const struct provision_group_plan *plan)
{
    struct rollout rollout = plan->rollout;
    bool ends_badly = rollout.state == ROLLOUT_STATE_FAILED;
    bool turns = rollout.state == ROLLOUT_STATE_ROLLING_BACK && group->rollout.state != rollout.state;
    rollout.updated_at = turn->now;
    int status = db_rollout_put(turn->tx, &rollout);
    return status != 0
               ? status
               : turn_group_event(turn, ends_badly || turns ? EVENT_LEVEL_ERROR : EVENT_LEVEL_INFO, EVENT_KIND_ROLLOUT,
                                  group, ends_badly || turns ? rollout.failure : "", "%s", plan->rollout_said);
}

static int write_group(struct turn *turn, const struct group_part *part, const struct provision_group_plan *plan)
{
    const struct rgroup *group = part->group;
    struct instance_group row; /* as it is now: what is not ours to say stays */
    int status = db_group_get_row(turn->tx, group->id, &row);
    if (status != 0)
        return status;
    if (plan->forget) {
        status = turn_group_event(turn, EVENT_LEVEL_INFO, EVENT_KIND_GROUP_STATE, group, "", "the group is deleted");
        return status != 0 ? status : db_group_delete(turn->tx, group->id);
    }
    if (plan->rollout_moves)
        status = write_rollout(turn, group, plan);
    if (status == 0 && (plan->rule != NULL || plan->takes_image)) {
        fill_group(turn, plan, &row);
        status = db_group_update(turn->tx, &row);
    }
    if (status == 0 && plan->rule != NULL)
        status = tell_group(turn, group, plan);
    if (status == 0 && part->shrinks)
        status = turn_group_event(turn, EVENT_LEVEL_INFO, EVENT_KIND_GROUP_SCALING, group, "",
                                  "%" PRId64 " node%s go%s: the group has more than it shall have", plan->remove,
                                  text_plural(plan->remove), plan->remove == 1 ? "es" : "");
    return status;
}

/* --- nodes that are taken ---------------------------------------------------------------------- */
static int start(struct turn *turn, struct rnode *node, const struct node *row, const struct new_operation *wanted)
{
    int64_t id;
    struct operation active;
    int status = node->op != NULL ? 0 : db_operation_active(turn->tx, node->id, &active);
    if (node->op != NULL || status == 0)
        return 0; /* a person was faster, or it is asked to stop */
    if (status != STATUS_NOT_FOUND)
        return status;
    status = turn_operation_new(turn, node, row, wanted, &id);
    return status == STATUS_EXISTS || status == STATUS_CONFLICT ? 0 : status;
}

static int remove_node(struct turn *turn, const struct provision *p, struct rnode *node, const char *why)
{
    struct node row;
    char key[KEY_MAX_BYTES];
    int status = db_node_get_row(turn->tx, node->id, &row);
    if (status == STATUS_NOT_FOUND || row.state == NODE_STATE_DELETING || row.state == NODE_STATE_DELETED)
        return 0;
    if (status == 0)
        status = turn_node_move(turn, node, &row, NODE_STATE_DELETING, why);
    snprintf(key, sizeof(key), "delete/%" PRId64 "/%" PRId64, node->id, turn->now);
    const struct new_operation deletion = {.kind = OPERATION_KIND_DELETE,
                                           .urgency = p->takes_down ? URGENCY_NOW : URGENCY_AFTER_JOBS,
                                           .key = key,
                                           .reason = why,
                                           .cause = OPERATION_CAUSE_UPKEEP,
                                           .actor = ACTOR_POLICY};
    return status != 0 ? status : start(turn, node, &row, &deletion);
}

static int update_node(struct turn *turn, struct rnode *node, const struct rollout *rollout)
{
    struct node row;
    char key[KEY_MAX_BYTES], reason[REASON_MAX_BYTES];
    int status = db_node_get_row(turn->tx, node->id, &row);
    if (status != 0)
        return status == STATUS_NOT_FOUND ? 0 : status;
    enum policy_claim claim = POLICY_CLAIM_NONE;
    status = turn_claim(turn, node, &row, POLICY_ACT_UPDATE, &claim);
    if (status != 0 || claim != POLICY_CLAIM_NONE)
        return status == STATUS_NOT_FOUND ? 0 : status; /* it is left for a later batch */
    reconcile_member_key(node, rollout, key);
    snprintf(reason, sizeof(reason), "software update, batch %" PRId64, rollout->batch);
    const struct new_operation update = {.kind = OPERATION_KIND_UPDATE,
                                         .urgency = URGENCY_AFTER_JOBS,
                                         .key = key,
                                         .reason = reason,
                                         .cause = OPERATION_CAUSE_UPKEEP,
                                         .actor = ACTOR_POLICY};
    return start(turn, node, &row, &update);
}

static int write_nodes(struct turn *turn, struct provision *p)
{
    int status = 0;
    size_t victim = 0, member = 0;
    for (size_t i = 0; i < p->plan.group_count; i++) {
        const struct provision_group_plan *plan = &p->plan.groups[i];
        const char *why = plan->state == GROUP_STATE_DELETING ? "its group is deleted" : "its group shrinks";
        for (size_t n = 0; n < p->parts[i].victims && status == 0; n++)
            status = remove_node(turn, p, p->victims[victim++], why);
        for (size_t n = 0; n < p->parts[i].members && status == 0; n++)
            status = update_node(turn, p->members[member++], &plan->rollout);
    }
    return status;
}

/* --- the cluster ------------------------------------------------------------------------------- */
static int write_cluster(struct turn *turn, const struct provision *p, struct cluster *row)
{
    const struct rcluster *cluster = p->cluster;
    const struct provision_plan *plan = &p->plan;
    bool bad = plan->state == CLUSTER_STATE_ROLLING_BACK || plan->state == CLUSTER_STATE_FAILED;
    if (plan->rule == NULL)
        return 0;
    int state = (int)row->state;
    if (row->state != plan->state)
        sm_move(&cluster_state_machine, &state, (int)plan->state);
    row->state = plan->state;
    row->updated_at = turn->now;
    text_copy_cut(row->failure, sizeof(row->failure), plan->failure);
    int status = db_cluster_update(turn->tx, row, 0);
    return status != 0 ? status
                       : turn_cluster_event(turn, bad ? EVENT_LEVEL_ERROR : EVENT_LEVEL_INFO,
                                            EVENT_KIND_CLUSTER_UPDATED, cluster, plan->failure, "%s", plan->said);
}

static bool same_group(const struct instance_group *a, const struct instance_group *b)
{
    return a->state == b->state && a->desired == b->desired && a->min_count == b->min_count &&
           a->previous_desired == b->previous_desired && text_equal(a->image_id, b->image_id) &&
           text_equal(a->release, b->release);
}

/* Somebody was faster: a negative status, or 1 when the store holds something newer. A change to the cluster may also be one
 * of names only, which no group's row shows. */
static int compare(struct turn *turn, const struct provision *p, struct cluster *ret_row)
{
    int status = db_cluster_get_row(turn->tx, p->cluster->id, ret_row);
    if (status == STATUS_NOT_FOUND)
        return 1;
    if (status != 0)
        return status;
    bool newer = ret_row->revision != p->cluster->revision;
    for (size_t i = 0; i < p->plan.group_count && !newer; i++) {
        struct instance_group row;
        status = db_group_get_row(turn->tx, p->parts[i].group->id, &row);
        if (status < 0 && status != STATUS_NOT_FOUND)
            return status;
        newer = status != 0 || !same_group(&row, &p->parts[i].group->row);
    }
    return newer ? 1 : 0;
}

static int write_plan(struct turn *turn, struct provision *p)
{
    struct cluster row;
    int status = compare(turn, p, &row);
    p->outdated = status == 1;
    if (status == 0)
        status = reconcile_changes_write(turn);
    if (status != 0)
        return status < 0 ? status : 0;
    if (p->plan.gone) {
        status = turn_cluster_event(turn, EVENT_LEVEL_INFO, EVENT_KIND_CLUSTER_DELETED, p->cluster, "",
                                    "the cluster is deleted");
        return status != 0 ? status : db_cluster_delete(turn->tx, p->cluster->id);
    }
    for (size_t i = 0; i < p->plan.group_count && status == 0; i++)
        if (group_changes(&p->plan.groups[i]) || p->parts[i].shrinks)
            status = write_group(turn, &p->parts[i], &p->plan.groups[i]);
    if (status == 0)
        status = write_cluster(turn, p, &row);
    p->revision = row.revision;
    return status != 0 ? status : write_nodes(turn, p);
}

/* Last of all: what is no more. */
static void reap(struct reconcile *r, struct rnode *node, const void *data)
{
    const struct provision *p = *(struct provision *const *)data;
    (void)node;
    for (size_t i = 0; i < p->plan.group_count; i++)
        if (p->plan.groups[i].forget)
            reconcile_group_remove(r, p->parts[i].group);
    if (p->plan.gone)
        reconcile_cluster_remove(r, p->cluster);
}

static int write(struct turn *turn)
{
    int status = turn->provision == NULL ? 0 : write_plan(turn, turn->provision);
    if (status == 0 && turn->provision != NULL && !turn->provision->outdated)
        turn_at_last(turn, reap, &turn->provision, sizeof(turn->provision));
    return status;
}

/* --- after it ---------------------------------------------------------------------------------- */
static void group_done(struct turn *turn, struct provision *p, size_t at)
{
    struct rgroup *group = p->parts[at].group;
    const struct provision_group_plan *plan = &p->plan.groups[at];
    int64_t batch = group->rollout.batch;
    group->scaling = plan->is_scaling;
    if (plan->rule != NULL || plan->takes_image)
        fill_group(turn, plan, &group->row);
    if (plan->rollout_moves) {
        group->rollout = plan->rollout;
        group->has_rollout = policy_rollout_runs(plan->rollout.state) || plan->rollout.state == ROLLOUT_STATE_PENDING;
    }
    group->image = reconcile_image(group->row.image_id, group->row.release);
    if (plan->takes_image || (plan->rollout_moves && plan->rollout.batch != batch) ||
        (plan->rollout_moves && !group->has_rollout))
        reconcile_group_recount(group, false);
}

static void take_members(struct provision *p)
{
    for (size_t i = 0; i < p->member_count; i++)
        p->members[i]->member = true; /* counted with the operation that was made for it */
}

static void done(struct turn *turn)
{
    struct provision *p = turn->provision;
    if (p == NULL)
        return;
    struct rcluster *cluster = p->cluster;
    if (p->outdated) {
        reconcile_victims_put_back(p);
        parts_wake(turn->r, SERVICE_WAKE_CLUSTER, cluster->id);
        return;
    }
    cluster->state = p->plan.state;
    cluster->revision = p->revision;
    text_copy_cut(cluster->failure, sizeof(cluster->failure), p->plan.failure);
    cluster->dirty = true; /* what was done may have made room for more */
    for (size_t i = 0; i < p->plan.group_count; i++)
        group_done(turn, p, i);
    take_members(p);
    reconcile_changes_done(turn);
}

static size_t size(const struct turn *turn)
{
    return turn->provision != NULL;
}

static void again(struct turn *turn)
{
    if (turn->provision != NULL)
        reconcile_victims_put_back(turn->provision);
}

/* It cannot be written, and not because of the disk: the others go on. */
static void park(struct turn *turn, int status)
{
    struct rcluster *cluster = turn->provision->cluster;
    log_error("nothing can be written about a cluster; it is left alone for a while cluster=%s status=%s",
              cluster->name, status_text(status));
    again(turn);
    cluster->dirty = false;
    cluster->look_at = turn->now + turn->r->deps.settings.retry_max_ms;
}

static void over(struct turn *turn)
{
    provision_free(TAKE(turn->provision));
}

static void part_start(struct reconcile *r)
{
    r->provision = own_calloc(1, sizeof(*r->provision));
}

static void part_end(struct reconcile *r)
{
    free(TAKE(r->provision));
}

const struct part part_provision = {
    .start = part_start,
    .load = reconcile_members_load,
    .end = part_end,
    .due = due,
    .plan = plan,
    .write = write,
    .done = done,
    .over = over,
    .size = size,
    .again = again,
    .park = park,
};
