/*
 * Reading the store again after somebody else's write.
 *
 * A wake says what changed, so that a person's write costs the loop the rows of that change and not a look at the fleet. New
 * nodes are found by their row numbers, which only grow. A large change is read in slices of RESYNC_ROWS_MAX rows, so that it
 * never keeps a verdict waiting. Where more wakes come than are kept, all of the store is read again, in slices too.
 */
#include "server/reconcile/world/resync.h"
#include "base/log.h"
#include "base/text.h"
#include "db/cluster.h"
#include "db/incident.h"
#include "db/node.h"
#include "db/operation.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/inbox.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/part.h"
#include "server/reconcile/world/load.h"
#include "server/reconcile/world/table.h"

#include <string.h>

struct resync_part {
    struct wakes wakes; /* what is to be read again */
    int64_t at;         /* not before then: the store could not be read */
    bool new_nodes_wanted, wanted, running;
    struct rcluster *cluster;        /* of all of them: the one that is read … */
    char after[NODE_NAME_MAX_BYTES]; /* … and how far */
};

static void start(struct reconcile *r)
{
    r->resync = own_calloc(1, sizeof(*r->resync));
}

static void end(struct reconcile *r)
{
    wakes_free(&r->resync->wakes);
    free(TAKE(r->resync));
}

/* --- what is to be read ------------------------------------------------------------------------ */
static void push(struct reconcile *r, enum service_wake what, int64_t id)
{
    const struct wake wake = {what, id};
    if (r->resync->wanted)
        return; /* that reads it, too */
    if (!wakes_push(&r->resync->wakes, &wake))
        r->resync->wanted = true;
}

static void wake(struct reconcile *r, enum service_wake what, int64_t id)
{
    switch (what) {
    case SERVICE_WAKE_ALL:
        r->resync->wanted = true;
        break;
    case SERVICE_WAKE_CLUSTER:
        push(r, what, id);
        r->resync->new_nodes_wanted = true;
        break;
    case SERVICE_WAKE_GROUP:
    case SERVICE_WAKE_NODE:
    case SERVICE_WAKE_INCIDENT:
        push(r, what, id);
        break;
    case SERVICE_WAKE_APPROVAL:
    case SERVICE_WAKE_REJECTION:
    case SERVICE_WAKE_GOVERNANCE:
    case SERVICE_WAKE_JOB_COMMAND:
    case SERVICE_WAKE_POLICY:
        break;
    }
}

bool reconcile_is_behind(const struct reconcile *r)
{
    return reconcile_now(r) >= r->resync->at &&
           (r->resync->running || r->resync->wanted || r->resync->new_nodes_wanted || r->resync->wakes.count > 0);
}

/* --- one of each ------------------------------------------------------------------------------- */
struct slice {
    struct reconcile *r;
    struct db_tx *tx;
    int rows;
    int64_t unknown; /* the cluster of a node whose group is not known yet; 0: all are known */
};

static int read_changes(struct slice *slice, struct rcluster *cluster)
{
    for (int i = 0; i < OPERATION_KINDS_OF_CLUSTER; i++) {
        struct operation op;
        int status = db_operation_change(slice->tx, cluster->id,
                                         (enum operation_kind)(i + OPERATION_KIND_FIRST_OF_CLUSTER), &op);
        if (status < 0 && status != STATUS_NOT_FOUND)
            return status;
        if (status == 0 && op.id != cluster->changes[i].id)
            reconcile_change_load(cluster, &op);
    }
    return 0;
}

static void drop_unlisted_of(struct reconcile *r, const struct rcluster *cluster)
{
    for (struct rgroup *group = r->groups, *next; group != NULL; group = next) {
        next = group->next;
        if (group->cluster == cluster && !group->listed)
            reconcile_group_remove(r, group);
    }
}

static int read_groups(struct slice *slice, struct rcluster *cluster)
{
    struct reconcile *r = slice->r;
    for (struct rgroup *group = r->groups; group != NULL; group = group->next)
        group->listed = group->listed && group->cluster != cluster;
    int status = db_group_list(slice->tx, cluster->id, reconcile_load_group, r);
    if (status == 0)
        status = db_rollout_list_active(slice->tx, reconcile_load_rollout, r);
    if (status != 0)
        return status;
    drop_unlisted_of(r, cluster);
    for (const struct rgroup *group = r->groups; group != NULL; group = group->next)
        slice->rows += group->cluster == cluster;
    return reconcile_load_roles(r, slice->tx);
}

static int read_cluster(struct slice *slice, int64_t id)
{
    struct cluster row;
    int status = db_cluster_get_row(slice->tx, id, &row);
    if (status < 0 && status != STATUS_NOT_FOUND)
        return status;
    slice->rows++;
    if (status == 0)
        reconcile_load_cluster(&row, slice->r);
    struct rcluster *cluster = reconcile_cluster_find(slice->r, id);
    if (cluster == NULL)
        return 0;
    if (status == STATUS_NOT_FOUND) {
        reconcile_cluster_remove(slice->r, cluster);
        return 0;
    }
    status = read_groups(slice, cluster);
    return status == 0 ? read_changes(slice, cluster) : status;
}

static int read_group(struct slice *slice, int64_t id)
{
    struct instance_group row;
    int status = db_group_get_row(slice->tx, id, &row);
    slice->rows++;
    if (status != 0)
        return status == STATUS_NOT_FOUND ? 0 : status; /* its cluster's wake takes it away */
    (void)reconcile_load_group(&row, slice->r);
    return db_rollout_list_active(slice->tx, reconcile_load_rollout, slice->r);
}

/* With the operation on it that somebody else has stored. */
static int take_node(const void *row, void *arg)
{
    struct slice *slice = arg;
    const struct db_node_row *from = row;
    struct operation op;
    slice->rows++;
    (void)reconcile_load_node(row, slice->r);
    const struct rnode *node = reconcile_node_find(slice->r, from->node.id);
    if (node == NULL || node->op != NULL || !from->is_busy)
        return 0;
    int status = db_operation_active(slice->tx, node->id, &op);
    if (status == 0)
        (void)reconcile_load_operation(&op, slice->r);
    return status == STATUS_NOT_FOUND ? 0 : status;
}

/* 1 where its group has to be read first. */
static int take_known(const void *row, void *arg)
{
    struct slice *slice = arg;
    const struct db_node_row *from = row;
    if (reconcile_group_find(slice->r, from->node.group_id) == NULL && slice->unknown != from->node.cluster_id) {
        slice->unknown = from->node.cluster_id;
        return 1;
    }
    return take_node(row, arg);
}

static int take_new(const void *row, void *arg)
{
    struct slice *slice = arg;
    int status = take_known(row, arg);
    if (status == 0)
        slice->r->newest_node = ((const struct db_node_row *)row)->node.id;
    return status;
}

static int read_node(struct slice *slice, int64_t id)
{
    slice->unknown = 0;
    int status = db_node_list_one(slice->tx, id, take_known, slice);
    if (status == 1)
        status = read_cluster(slice, slice->unknown);
    else
        return status == STATUS_NOT_FOUND ? 0 : status;
    return status == 0 ? db_node_list_one(slice->tx, id, take_known, slice) : status;
}

/* --- after a wake ------------------------------------------------------------------------------ */
static int read_wake(struct slice *slice, const struct wake *wake)
{
    switch (wake->what) {
    case SERVICE_WAKE_CLUSTER:
        return read_cluster(slice, wake->id);
    case SERVICE_WAKE_GROUP:
        return read_group(slice, wake->id);
    case SERVICE_WAKE_NODE:
        return read_node(slice, wake->id);
    case SERVICE_WAKE_INCIDENT:
        return parts_resync(slice->r, slice->tx);
    default:
        return 0;
    }
}

static int read_new_nodes(struct slice *slice)
{
    struct reconcile *r = slice->r;
    int left = RESYNC_ROWS_MAX - slice->rows, from = slice->rows, status;
    slice->unknown = 0;
    while ((status = db_node_list_new(slice->tx, r->newest_node, left, take_new, slice)) == 1) {
        status = read_cluster(slice, slice->unknown);
        if (status != 0)
            return status;
    }
    if (status == 0 && slice->rows - from < left)
        r->resync->new_nodes_wanted = false;
    return status;
}

static int read_wakes(struct reconcile *r, struct db_tx *tx)
{
    struct slice slice = {.r = r, .tx = tx};
    struct wake wake;
    int status = 0;
    while (slice.rows < RESYNC_ROWS_MAX && status == 0 && wakes_peek(&r->resync->wakes, &wake)) {
        status = read_wake(&slice, &wake);
        if (status == 0)
            wakes_pop(&r->resync->wakes);
    }
    if (status == 0 && r->resync->wakes.count == 0 && r->resync->new_nodes_wanted && slice.rows < RESYNC_ROWS_MAX)
        status = read_new_nodes(&slice);
    return status;
}

/* --- all of it --------------------------------------------------------------------------------- */
static int resync_start(struct reconcile *r, struct db_tx *tx)
{
    struct slice slice = {.r = r, .tx = tx};
    int status = reconcile_list_clusters(r, tx);
    if (status == 0)
        status = parts_resync(r, tx);
    for (struct rcluster *cluster = r->clusters; cluster != NULL && status == 0; cluster = cluster->next)
        status = read_changes(&slice, cluster);
    if (status != 0)
        return status;
    for (struct rgroup *group = r->groups; group != NULL; group = group->next)
        reconcile_group_look(r, group, 0); /* for one of them the wake after an answer may be lost */
    r->resync->wanted = false;
    r->resync->wakes.count = 0;
    r->resync->running = r->clusters != NULL;
    r->resync->cluster = r->clusters;
    r->resync->after[0] = '\0';
    return 0;
}

static int take_in_order(const void *row, void *arg)
{
    struct slice *slice = arg;
    const struct db_node_row *from = row;
    text_copy_cut(slice->r->resync->after, sizeof(slice->r->resync->after), from->node.name);
    return take_node(row, arg);
}

static int resync_slice(struct reconcile *r, struct db_tx *tx)
{
    struct slice slice = {.r = r, .tx = tx};
    char after[NODE_NAME_MAX_BYTES];
    memcpy(after, r->resync->after, sizeof(after));
    const struct db_node_filter filter = {
        .cluster_id = r->resync->cluster->id, .after_name = after, .state = -1, .health = -1, .limit = RESYNC_ROWS_MAX};
    int status = db_node_list(tx, &filter, take_in_order, &slice);
    if (status != 0 || slice.rows == RESYNC_ROWS_MAX)
        return status;
    r->resync->cluster = r->resync->cluster->next;
    r->resync->after[0] = '\0';
    return 0;
}

static void gone(struct reconcile *r, const struct rcluster *cluster)
{
    if (r->resync->cluster != cluster)
        return;
    r->resync->cluster = cluster->next;
    r->resync->after[0] = '\0';
}

static int resync(struct reconcile *r, struct db_tx *tx)
{
    int status = 0;
    if (r->resync->wanted && !r->resync->running)
        status = resync_start(r, tx);
    if (status == 0 && r->resync->running && r->resync->cluster != NULL)
        status = resync_slice(r, tx);
    r->resync->running = r->resync->running && r->resync->cluster != NULL;
    return status == 0 ? read_wakes(r, tx) : status;
}

bool reconcile_resync(struct reconcile *r)
{
    if (!reconcile_is_behind(r))
        return false;
    int status = reconcile_with_reader(r, resync);
    if (status != 0) { /* all is read again after a pause: one row that cannot be read must not keep the others */
        log_warn("the store could not be read again, all of it is read after a pause status=%s", status_text(status));
        r->resync->wakes.count = 0;
        r->resync->wanted = true;
        r->resync->at = reconcile_now(r) + STORE_PAUSE_MAX_MS;
    }
    return status == 0 && reconcile_is_behind(r);
}

static bool run(struct reconcile *r, int64_t now)
{
    (void)now;
    return reconcile_resync(r);
}

static int64_t due(const struct reconcile *r, int64_t now)
{
    return reconcile_is_behind(r) ? now : INT64_MAX;
}

const struct part part_resync = {
    .start = start,
    .end = end,
    .wake = wake,
    .gone = gone,
    .due = due,
    .run = run,
};
