/*
 * Reading the store at the start, which is the ordinary way into work: active operations go on with the step they were at, open
 * verdicts that no decision has looked at are decided, held nodes are held. What changes afterwards is read by resync.c.
 */
#include "server/reconcile/world/load.h"
#include "base/text.h"
#include "db/cluster.h"
#include "db/node.h"
#include "db/node_report.h"
#include "db/operation.h"
#include "db/verdict.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/operation.h"
#include "server/reconcile/world/capacity.h"
#include "server/reconcile/world/group_settings.h"
#include "server/reconcile/world/recount.h"
#include "server/reconcile/world/table.h"
#include "server/reconcile/world/topology.h"

#include <string.h>

void reconcile_change_load(struct rcluster *cluster, const struct operation *row)
{
    cluster->changes[row->kind - OPERATION_KIND_FIRST_OF_CLUSTER] =
        (struct rchange){.id = row->id,
                         .begun = row->state == OPERATION_STATE_RUNNING,
                         .failed = row->error[0] != '\0',
                         .progress = row->progress,
                         .told_at = row->started_at};
    cluster->dirty = true;
}

/* --- clusters and groups ----------------------------------------------------------------------- */
static void cluster_paused(struct rcluster *cluster, const struct cluster *row)
{
    const char *colon = row->pause_reason[0] != '\0' ? ": " : "";
    cluster->paused = row->paused_at > 0;
    autofree char *why = own_printf("%s paused the cluster%s%s", row->paused_by, colon, row->pause_reason);
    text_copy_cut(cluster->paused_why, sizeof(cluster->paused_why), cluster->paused ? why : "");
}

/* Its cluster is deleted: it goes too, whatever is at work on it. */
static void leave(struct reconcile *r, struct rnode *node)
{
    if (node->state == NODE_STATE_DELETED)
        return;
    reconcile_node_later(r, node);
    reconcile_operation_poke(r, node);
}

static void cluster_changed(struct reconcile *r, struct rcluster *cluster, const struct cluster *row)
{
    bool changed = cluster->recovery != row->recovery || cluster->paused != (row->paused_at > 0);
    cluster->recovery = row->recovery;
    cluster_paused(cluster, row);
    cluster->provisioning = row->provisioning;
    cluster->orchestrator = row->orchestrator;
    bool goes = row->state == CLUSTER_STATE_DELETING && cluster->state != CLUSTER_STATE_DELETING;
    cluster->state = row->state;
    cluster->revision = row->revision;
    cluster->dirty = true;
    text_copy_cut(cluster->failure, sizeof(cluster->failure), row->failure);
    for (struct rgroup *group = r->groups; (changed || goes) && group != NULL; group = group->next) {
        if (group->cluster != cluster)
            continue;
        for (struct rnode *node = group->first; goes && node != NULL; node = node->group_next)
            leave(r, node);
        for (struct rnode *node = group->out; node != NULL; node = node->out_next)
            reconcile_node_recount(node); /* a held one counts by what the cluster says of recovery */
        reconcile_group_look_unwell(r, group);
    }
}

int reconcile_load_cluster(const void *row, void *arg)
{
    struct reconcile *r = arg;
    const struct cluster *from = row;
    struct rcluster *cluster = reconcile_cluster_find(r, from->id);
    if (cluster == NULL) {
        cluster = own_calloc(1, sizeof(*cluster));
        cluster->id = from->id;
        if (from->orchestrator != ORCHESTRATOR_NONE) {
            cluster->link = reconcile_link_named(r, from->scheduler);
            cluster->link->clusters++;
        }
        cluster->recovery = from->recovery;
        cluster_paused(cluster, from);
        text_copy_cut(cluster->name, sizeof(cluster->name), from->name);
        cluster->next = r->clusters;
        r->clusters = cluster;
    }
    cluster->listed = true;
    if (cluster->revision != from->revision)
        cluster_changed(r, cluster, from);
    return 0;
}

static struct rgroup *add_group(struct reconcile *r, struct rcluster *cluster, const struct instance_group *from)
{
    struct rgroup *group = own_calloc(1, sizeof(*group));
    group->id = from->id;
    group->cluster = cluster;
    text_copy_cut(group->name, sizeof(group->name), from->name);
    text_copy_cut(group->instance_type, sizeof(group->instance_type), from->instance_type);
    text_copy_cut(group->provider, sizeof(group->provider), from->provider);
    group->breaker_opened_at = from->breaker_opened_at;
    if (group->breaker_opened_at > 0)
        r->stats.open_breakers++;
    group->next = r->groups;
    r->groups = group;
    reconcile_group_settings(r, group);
    return group;
}

/* A person may have ended what holds its repairs. */
static void load_held(struct reconcile *r, struct rgroup *group, const struct instance_group *from)
{
    if (from->breaker_closed_at > group->row.breaker_closed_at && group->breaker_opened_at > 0)
        reconcile_group_breaker(r, group, 0);
    reconcile_group_machine_capacity(r, group, &from->machine_capacity);
}

static bool same_group(const struct instance_group *a, const struct instance_group *b)
{
    return a->state == b->state && a->desired == b->desired && a->min_count == b->min_count &&
           a->previous_desired == b->previous_desired && a->state_since == b->state_since;
}

int reconcile_load_group(const void *row, void *arg)
{
    struct reconcile *r = arg;
    const struct instance_group *from = row;
    struct rcluster *cluster = reconcile_cluster_find(r, from->cluster_id);
    struct rgroup *group = reconcile_group_find(r, from->id);
    if (cluster == NULL)
        return 0;
    bool other_type = group != NULL && !text_equal(group->instance_type, from->instance_type);
    if (group == NULL)
        group = add_group(r, cluster, from);
    group->listed = true;
    group->has_rollout = false; /* what is under way is listed next */
    uint64_t image = reconcile_image(from->image_id, from->release);
    cluster->dirty = cluster->dirty || !same_group(&group->row, from);
    load_held(r, group, from);
    group->row = *from;
    text_copy_cut(group->instance_type, sizeof(group->instance_type), from->instance_type);
    if (other_type)
        reconcile_group_settings(r, group);
    if (group->image != image) {
        group->image = image;
        reconcile_group_recount(group, true);
    }
    return 0;
}

int reconcile_load_rollout(const void *row, void *arg)
{
    struct reconcile *r = arg;
    const struct rollout *from = row;
    struct rgroup *group = reconcile_group_find(r, from->group_id);
    if (group == NULL)
        return 0;
    group->cluster->dirty = group->cluster->dirty || from->state != group->rollout.state;
    group->has_rollout = true;
    group->rollout = *from;
    return 0;
}

/* Once for each group, as that does not change. */
int reconcile_load_roles(struct reconcile *r, struct db_tx *tx)
{
    for (struct rgroup *group = r->groups; group != NULL; group = group->next) {
        AUTO(group_spec) struct group_spec spec = {0};
        if (group->role_known || group->cluster->link == NULL)
            continue;
        int status = db_group_spec_get(tx, group->id, &spec);
        if (status < 0 && status != STATUS_UNREADABLE) /* which was said at the start */
            return status;
        group->off_scheduler = group_spec_role(&spec) != SLURM_ROLE_COMPUTE;
        group->role_known = true;
    }
    return 0;
}

/* Whatever the list did not bring was taken away by somebody else: empty clusters and groups go without us. */
static void drop_unlisted(struct reconcile *r)
{
    for (struct rcluster *cluster = r->clusters, *next; cluster != NULL; cluster = next) {
        next = cluster->next;
        if (!cluster->listed)
            reconcile_cluster_remove(r, cluster);
    }
    for (struct rgroup *group = r->groups, *next; group != NULL; group = next) {
        next = group->next;
        if (!group->listed)
            reconcile_group_remove(r, group);
    }
}

int reconcile_list_clusters(struct reconcile *r, struct db_tx *tx)
{
    for (struct rcluster *cluster = r->clusters; cluster != NULL; cluster = cluster->next)
        cluster->listed = false;
    for (struct rgroup *group = r->groups; group != NULL; group = group->next)
        group->listed = false;
    int status = db_cluster_list(tx, "", 0, reconcile_load_cluster, r);
    if (status == 0)
        status = db_group_list(tx, 0, reconcile_load_group, r);
    if (status == 0)
        status = db_rollout_list_active(tx, reconcile_load_rollout, r);
    if (status == 0)
        drop_unlisted(r);
    return status == 0 ? reconcile_load_roles(r, tx) : status;
}

/* --- nodes ------------------------------------------------------------------------------------- */
static void slot_of(const struct db_node_row *row, struct fleet_slot *ret_slot)
{
    *ret_slot = (struct fleet_slot){
        .node_id = row->node.id, .cluster_id = row->node.cluster_id, .group_id = row->node.group_id};
    if (row->instance.id == 0)
        return;
    text_copy_cut(ret_slot->instance_id, sizeof(ret_slot->instance_id), row->instance.instance_id);
    text_copy_cut(ret_slot->boot_id, sizeof(ret_slot->boot_id), row->instance.boot_id);
    text_copy_cut(ret_slot->address, sizeof(ret_slot->address), row->instance.address);
}

/* What the state of a row asks for by itself, whatever led to it. */
static void look_at_row(struct reconcile *r, struct rnode *node, const struct node *row)
{
    bool wants_launch = row->state == NODE_STATE_PENDING && node->op == NULL;
    bool wants_more = !node->was_ready && row->state == NODE_STATE_FAILED; /* it is launched again */
    bool wants_delete = node->group->cluster->state == CLUSTER_STATE_DELETING && row->state != NODE_STATE_DELETED;
    bool leaves = row->state == NODE_STATE_DELETING || row->state == NODE_STATE_DELETED;
    if (wants_launch || wants_more || wants_delete || leaves)
        reconcile_node_later(r, node);
    if (wants_delete || row->state == NODE_STATE_DELETING)
        reconcile_operation_poke(r, node);
    if (row->state == NODE_STATE_HELD)
        reconcile_node_due(r, node, row->retry_at);
}

int reconcile_load_node(const void *row, void *arg)
{
    struct reconcile *r = arg;
    const struct db_node_row *from = row;
    struct rgroup *group = reconcile_group_find(r, from->node.group_id);
    struct rnode *node = reconcile_node_find(r, from->node.id);
    if (group == NULL)
        return 0; /* made after the clusters were listed: the next wake brings it */
    if (node == NULL) {
        struct fleet_slot slot;
        node = reconcile_node_add(r, group, &from->node);
        node->image = from->instance.id == 0 ? 0 : reconcile_image(from->instance.image_id, from->instance.release);
        slot_of(from, &slot);
        fleet_put(r->service->fleet, &slot);
    } else {
        if (node->state != from->node.state || node->opted_out != from->node.opted_out ||
            node->health != from->node.health)
            reconcile_node_later(r, node);
        node->opted_out = from->node.opted_out;
        node->has_instance = from->node.instance_row != 0;
        node->image = from->instance.id == 0 ? 0 : reconcile_image(from->instance.image_id, from->instance.release);
        reconcile_node_place(r, node, &from->node);
        reconcile_node_set(r, node, from->node.state, from->node.health);
        if (node->op != NULL && (!node->op->past_return || node->op->step == STEP_KIND_LAUNCH))
            reconcile_operation_poke(r, node); /* somebody may have asked to cancel it, or a spare came */
    }
    reconcile_node_recount(node);
    look_at_row(r, node, &from->node);
    return 0;
}

static int load_credential(const void *row, void *arg)
{
    struct reconcile *r = arg;
    const struct credential *from = row;
    struct fleet_view live;
    /* The credential of an earlier instance opens nothing. */
    if (fleet_get(r->service->fleet, from->node_id, &live) == 0 &&
        strcmp(live.slot.instance_id, from->instance_id) == 0 && !live.slot.has_credential)
        fleet_set_credential(r->service->fleet, from->node_id, from->instance_id, from->hash);
    return 0;
}

/* --- operations -------------------------------------------------------------------------------- */
int reconcile_load_operation(const void *row, void *arg)
{
    struct reconcile *r = arg;
    const struct operation *from = row;
    struct rcluster *cluster = operation_is_of_cluster(from->kind) ? reconcile_cluster_find(r, from->cluster_id) : NULL;
    if (cluster != NULL)
        reconcile_change_load(cluster, from);
    struct rnode *node = reconcile_node_find(r, from->node_id);
    if (node != NULL && node->op == NULL)
        reconcile_operation_add(r, node, from->id, from->kind, policy_repair_class(from->code), from->created_at);
    return 0;
}

static int load_first_operation(const void *row, void *arg)
{
    int status = reconcile_load_operation(row, arg);
    const struct operation *from = row;
    struct rnode *node = reconcile_node_find(arg, from->node_id);
    if (node != NULL && node->op != NULL && node->op->id == from->id)
        node->op->scratch.loaded = true;
    return status;
}

static int list_operations(struct reconcile *r, struct db_tx *tx)
{
    const struct db_operation_filter active = {.state = -1, .active_only = true};
    return db_operation_list(tx, &active, load_first_operation, r);
}

/* --- what only the store remembers ------------------------------------------------------------- */
static int load_failing(const void *row, void *arg)
{
    struct reconcile *r = arg;
    const struct db_verdict_failed *failed = row;
    struct rnode *node = reconcile_node_find(r, failed->node_id);
    if (node != NULL)
        reconcile_group_failing(r, node, failed->received_at);
    return 0;
}

/* Those that are over count for the time between two as well. */
static int load_newest_repair(const void *row, void *arg)
{
    const struct db_group_repair *newest = row;
    struct rgroup *group = reconcile_group_find(arg, newest->group_id);
    if (group != NULL && newest->created_at > group->last_repair_at)
        group->last_repair_at = newest->created_at;
    return 0;
}

static int list_failing(struct reconcile *r, struct db_tx *tx)
{
    return db_verdict_failed_nodes(tx, reconcile_now(r) - reconcile_breaker_window_max(r), load_failing, r);
}

static int load_last_operation(const void *row, void *arg)
{
    struct operation *last = arg;
    *last = *(const struct operation *)row;
    return 1;
}

/* Did an operation leave its mark there? Then that mark is not a person's request. */
static int load_out_node(struct db_tx *tx, struct rnode *node)
{
    struct operation last = {0};
    const struct db_operation_filter operations = {.node_id = node->id, .state = -1, .limit = 1};
    int status = db_operation_list(tx, &operations, load_last_operation, &last);
    if (status < 0)
        return status;
    if (last.id != 0 && last.state != OPERATION_STATE_SUCCEEDED && last.step_count > 0 &&
        last.steps[0].kind == STEP_KIND_MARK && last.steps[0].state != STEP_STATE_SKIPPED)
        node->leftover = (uint8_t)reconcile_owner(last.kind).request;
    return 0;
}

static int list_out_nodes(struct reconcile *r, struct db_tx *tx)
{
    for (struct rgroup *group = r->groups; group != NULL; group = group->next)
        reconcile_group_look(r, group, 0);
    for (struct rgroup *group = r->groups; group != NULL; group = group->next)
        for (struct rnode *node = group->out; node != NULL; node = node->out_next) {
            int status = load_out_node(tx, node);
            if (status != 0)
                return status;
        }
    return 0;
}

static int load_undecided(const void *row, void *arg)
{
    struct reconcile *r = arg;
    struct rnode *node = reconcile_node_find(r, *(const int64_t *)row);
    if (node != NULL)
        reconcile_node_dirty(r, node);
    return 0;
}

/* --- all of it --------------------------------------------------------------------------------- */
static int load_first(const void *row, void *arg)
{
    struct reconcile *r = arg;
    const struct db_node_row *from = row;
    if (from->node.id > r->newest_node)
        r->newest_node = from->node.id;
    return reconcile_load_node(row, r);
}

static int load(struct reconcile *r, struct db_tx *tx)
{
    const struct db_node_filter all = {.state = -1, .health = -1};
    int status = reconcile_list_clusters(r, tx);
    if (status == 0)
        status = db_node_list(tx, &all, load_first, r);
    if (status == 0)
        status = db_credential_list(tx, load_credential, r);
    if (status == 0)
        status = list_operations(r, tx);
    if (status == 0)
        status = list_failing(r, tx);
    if (status == 0)
        status = db_operation_newest_repairs(tx, load_newest_repair, r);
    if (status == 0)
        status = list_out_nodes(r, tx);
    if (status == 0)
        status = db_verdict_undecided_nodes(tx, load_undecided, r);
    if (status == 0)
        status = db_node_report_nodes(tx, load_undecided, r); /* who suspects whom is kept in memory */
    return status;
}

int reconcile_with_reader(struct reconcile *r, int (*fn)(struct reconcile *r, struct db_tx *tx))
{
    struct db_tx *tx = NULL;
    int status = db_read_begin(r->db, &tx);
    if (status == 0)
        status = fn(r, tx);
    db_read_end(r->db, tx);
    return status < 0 ? status : 0;
}

static int undecided(struct reconcile *r, struct db_tx *tx)
{
    return db_verdict_undecided_nodes(tx, load_undecided, r);
}

/* More verdicts came than the inbox keeps. */
static bool run(struct reconcile *r, int64_t now)
{
    (void)now;
    if (r->undecided_wanted)
        r->undecided_wanted = reconcile_with_reader(r, undecided) != 0;
    return false;
}

const struct part part_world = {.load = load, .run = run};
