/* The engine behind what schedulers are kept at: keeper.h says what it does. */
#include "server/reconcile/keep/keeper.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"

#define X(name) extern const struct keeper keeper_##name;
KEEPER_LIST(X)
#undef X

static const struct keeper *const keepers[] = {
#define X(name) &keeper_##name,
    KEEPER_LIST(X)
#undef X
};

void reconcile_link_keepers_start(struct scheduler_link *link)
{
    for (size_t i = 0; i < ARRAY_LEN(keepers); i++)
        keepers[i]->start(link);
}

void reconcile_link_keepers_end(struct scheduler_link *link)
{
    for (size_t i = 0; i < ARRAY_LEN(keepers); i++)
        keepers[i]->end(link);
}

static int load(struct reconcile *r, struct db_tx *tx)
{
    int status = 0;
    for (size_t i = 0; i < ARRAY_LEN(keepers) && status == 0; i++)
        if (keepers[i]->load != NULL)
            status = keepers[i]->load(r, tx);
    return status;
}

/* The cluster that the row is of; NULL: it is of none, or memory does not know the row yet. */
static const struct rcluster *cluster_of(const struct reconcile *r, enum service_wake what, int64_t id)
{
    const struct rnode *node = what == SERVICE_WAKE_NODE ? reconcile_node_find(r, id) : NULL;
    const struct rgroup *group = what == SERVICE_WAKE_GROUP ? reconcile_group_find(r, id)
                                 : node != NULL             ? node->group
                                                            : NULL;
    return what == SERVICE_WAKE_CLUSTER ? reconcile_cluster_find(r, id) : group != NULL ? group->cluster : NULL;
}

/* Only the scheduler of that cluster has to know; where the cluster is not known, each of them. */
static void wake(struct reconcile *r, enum service_wake what, int64_t id)
{
    const struct rcluster *cluster = cluster_of(r, what, id);
    for (struct scheduler_link *link = r->links; link != NULL; link = link->next)
        for (size_t i = 0; (cluster == NULL || cluster->link == link) && i < ARRAY_LEN(keepers); i++)
            if (keepers[i]->wake != NULL)
                keepers[i]->wake(r, link, what, id);
}

static void hear(struct reconcile *r, const struct rcall *call)
{
    (void)r;
    for (size_t i = 0; call->link != NULL && i < ARRAY_LEN(keepers); i++)
        if (keepers[i]->hear != NULL)
            keepers[i]->hear(call);
}

static bool run(struct reconcile *r, int64_t now)
{
    bool any = false;
    for (struct scheduler_link *link = r->links; link != NULL; link = link->next)
        for (size_t i = 0; i < ARRAY_LEN(keepers); i++)
            any = keepers[i]->run(r, link, now) || any;
    return any;
}

static int64_t due(const struct reconcile *r, int64_t now)
{
    int64_t next = INT64_MAX;
    for (const struct scheduler_link *link = r->links; link != NULL; link = link->next)
        for (size_t i = 0; i < ARRAY_LEN(keepers); i++) {
            int64_t at = keepers[i]->due(link, now);
            if (at > 0 && at < next)
                next = at;
        }
    return next;
}

static enum part_take take(struct reconcile *r, struct rcall *call)
{
    for (size_t i = 0; call->operation_id == 0 && i < ARRAY_LEN(keepers); i++) {
        if (keepers[i]->call != call->kind)
            continue;
        if (call->status != 0)
            r->stats.scheduler_errors++;
        return keepers[i]->take(r, call);
    }
    return PART_TAKE_NOT_MINE;
}

const struct part part_keepers = {
    .load = load,
    .take = take,
    .hear = hear,
    .wake = wake,
    .due = due,
    .run = run,
};

/* --- for keepers ------------------------------------------------------------------------------- */
void keeper_pause(struct reconcile *r, struct keeper_pace *pace, bool failed, int64_t look_ms)
{
    const struct loop_settings *settings = &r->deps.settings;
    pace->pause_ms = !failed ? 0 : pace->pause_ms == 0 ? settings->retry_min_ms : 2 * pace->pause_ms;
    if (pace->pause_ms > settings->retry_max_ms)
        pace->pause_ms = settings->retry_max_ms;
    pace->due_at = reconcile_now(r) + (failed ? pace->pause_ms : look_ms);
}

int64_t keeper_due(const struct keeper_pace *pace, int64_t now)
{
    return pace->in_flight ? 0 : pace->poked ? now : pace->due_at;
}

int keeper_record(struct turn *turn, const char *name, db_write_fn fn, void *arg, const char *lost)
{
    struct reconcile *r = turn->r;
    int status = db_write(r->db, name, fn, arg);
    if (status != 0) {
        turn_log_forget(turn);
        if (lost != NULL)
            log_error("%s status=%s", lost, status_text(status));
        return status;
    }
    turn_log_write(turn);
    if (turn->event_count > 0 && r->service->events_added != NULL)
        r->service->events_added(r->service->events_arg);
    return 0;
}
