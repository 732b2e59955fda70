/*
 * The nodes of one turn: those that are looked at, the most pressing ones first, and with them the groups whose breaker is looked at; each
 * group is decided on by itself. What could not be written is looked at again.
 */
#include "base/log.h"
#include "db/node.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/queue.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/decide/apply.h"
#include "server/reconcile/decide/decide.h"
#include "server/reconcile/decide/incident.h"
#include "server/reconcile/decide/undecided.h"
#include "server/reconcile/world/table.h"

#define DECIDE_NODES_MAX 1024 /* nodes looked at in a turn, of a burst: one commit for so many, within 0.1 s */
#define DECIDE_LATER_MAX 64   /* the same for nodes that can wait, so that those that cannot never wait long */

static void batch_free(struct decide_batch *batch)
{
    if (batch == NULL)
        return;
    for (size_t i = 0; i < batch->count; i++) {
        free(batch->items[i].verdicts);
        free(batch->items[i].verdict_refs);
        free(batch->items[i].ledger);
        free(batch->items[i].repairs);
        free(batch->items[i].elsewhere);
        free(batch->items[i].hardware);
        free(batch->items[i].instead);
    }
    free(batch->items);
    free(batch->breakers);
    free(batch);
}

static int by_group(const void *a, const void *b)
{
    const struct decide_item *x = a, *y = b;
    if (x->node->group->id != y->node->group->id)
        return x->node->group->id < y->node->group->id ? -1 : 1;
    return x->node->id < y->node->id ? -1 : x->node->id > y->node->id;
}

/* The most pressing ones first; NULL when there are enough for this turn. */
static struct rnode *next_node(struct reconcile *r, size_t taken, size_t most)
{
    int64_t id;
    for (int look = LOOK_FIRST; look > LOOK_NOT; look--)
        while (taken < (look == LOOK_LATER && most > DECIDE_LATER_MAX ? DECIDE_LATER_MAX : most) &&
               idqueue_pop(&r->looks[look], &id)) {
            struct rnode *node = reconcile_node_find(r, id);
            if (node != NULL && node->look == look)
                return node;
        }
    return NULL;
}

static int gather(struct reconcile *r, struct db_tx *tx, struct decide_batch *batch, int64_t now)
{
    struct rnode *node;
    while ((node = next_node(r, batch->count, batch->capacity)) != NULL) {
        node->look = LOOK_NOT;
        struct decide_item *item = &batch->items[batch->count++];
        item->node = node;
        node->in_batch = true;
        int status = reconcile_item_read(r, tx, item, now);
        if (status != 0 && status != STATUS_NOT_FOUND)
            return status;
        if (status == 0)
            continue;
        batch->count--; /* somebody took it out of the store */
        fleet_remove(r->service->fleet, node->id);
        reconcile_node_remove(r, node);
    }
    return 0;
}

/* An open breaker may close although nothing happens to any node; what it holds back is looked at with it. */
static bool breaker_is_due(const struct rgroup *group, int64_t now)
{
    return group->look_at > 0 && group->look_at <= now;
}

static void decide_all(struct reconcile *r, struct decide_batch *batch, int64_t now)
{
    qsort(batch->items, batch->count, sizeof(*batch->items), by_group);
    for (size_t from = 0, to; from < batch->count; from = to) {
        struct rgroup *group = batch->items[from].node->group;
        for (to = from; to < batch->count && batch->items[to].node->group == group;)
            to++;
        reconcile_group_decide(r, batch, group, &batch->items[from], to - from, now);
    }
    for (struct rgroup *group = r->groups; group != NULL; group = group->next)
        if (breaker_is_due(group, now))
            reconcile_group_decide(r, batch, group, NULL, 0, now);
}

/* Takes dirty nodes from the queue, reads what is known of them and asks the policy. */
static int decide(struct reconcile *r, int64_t now, struct decide_batch **ret_batch)
{
    struct decide_batch *batch = own_calloc(1, sizeof(*batch));
    struct db_tx *tx = NULL;
    for (struct rgroup *group = r->groups; group != NULL; group = group->next)
        if (breaker_is_due(group, now))
            reconcile_group_look(r, group, ROOM_LOOK_MAX);
    size_t waiting = reconcile_looks_waiting(r), most = r->isolating > 0 ? 1 : DECIDE_NODES_MAX;
    batch->capacity = waiting < most ? waiting : most;
    batch->items = own_calloc(batch->capacity + 1, sizeof(*batch->items));
    int status = db_read_begin(r->db, &tx);
    if (status == 0) {
        batch->nodes_stamp = db_nodes_stamp(tx);
        status = gather(r, tx, batch, now);
    }
    db_read_end(r->db, tx);
    if (status == 0)
        status = reconcile_incidents(r, now);
    if (status != 0) {
        for (size_t i = 0; i < batch->count; i++) {
            batch->items[i].node->in_batch = false;
            reconcile_node_dirty(r, batch->items[i].node);
        }
        batch_free(batch);
        return status;
    }
    decide_all(r, batch, now);
    for (size_t i = 0; i < batch->count; i++)
        batch->items[i].node->in_batch = false;
    *ret_batch = batch;
    return 0;
}

/* --- its turn ---------------------------------------------------------------------------------- */
static bool is_due(const struct reconcile *r, int64_t now)
{
    bool due = reconcile_looks_waiting(r) > 0 || reconcile_incidents_due(r, now);
    for (const struct rgroup *group = r->groups; group != NULL && !due; group = group->next)
        due = breaker_is_due(group, now);
    return due;
}

static int64_t due(const struct reconcile *r, int64_t now)
{
    int64_t next = reconcile_looks_waiting(r) > 0 ? now : INT64_MAX;
    for (const struct rgroup *group = r->groups; group != NULL; group = group->next)
        if (group->look_at > 0 && group->look_at < next)
            next = group->look_at;
    return next;
}

static int plan(struct turn *turn)
{
    struct reconcile *r = turn->r;
    if (!is_due(r, turn->now))
        return PART_PLAN_NOTHING;
    int status = decide(r, turn->now, &turn->batch);
    if (status != 0) {
        log_error("the store cannot be used, nothing is decided meanwhile status=%s", status_text(status));
        r->paused_until = turn->now + STORE_PAUSE_MAX_MS;
        r->store_unreadable = true;
        reconcile_unrecorded(r, true);
        return status;
    }
    if (r->store_unreadable)
        reconcile_unrecorded(r, false);
    r->store_unreadable = false;
    const struct decide_batch *batch = turn->batch;
    int plan = batch->count > 0 ? PART_PLAN_MEMORY : PART_PLAN_NOTHING;
    for (size_t i = 0; i < batch->count; i++)
        if (!batch->items[i].quiet)
            plan = PART_PLAN_STORE;
    return batch->breaker_count > 0 ? PART_PLAN_STORE : plan;
}

static int write(struct turn *turn)
{
    if (turn->batch == NULL)
        return 0;
    turn->batch->nodes_as_read = turn->tx != NULL && db_nodes_are_as_read(turn->tx, turn->batch->nodes_stamp);
    return reconcile_apply(turn);
}

static void count_latency(struct reconcile *r, int64_t us)
{
    size_t bucket = 0;
    while (bucket + 1 < ARRAY_LEN(r->stats.decision_us) && (INT64_C(1) << bucket) <= us)
        bucket++;
    r->stats.decision_us[bucket]++;
}

static void done(struct turn *turn)
{
    struct reconcile *r = turn->r;
    const struct decide_batch *batch = turn->batch;
    int64_t now_us = reconcile_now_us(r);
    for (size_t i = 0; batch != NULL && i < batch->count; i++) {
        int64_t received_us;
        if (reconcile_undecided_looked(&batch->items[i], &received_us))
            count_latency(r, now_us - received_us);
        r->stats.evidence_left_out += batch->items[i].left_out;
    }
}

static size_t size(const struct turn *turn)
{
    return turn->batch != NULL ? turn->batch->count : 0;
}

static void again(struct turn *turn)
{
    for (size_t i = 0; i < size(turn); i++)
        reconcile_node_dirty(turn->r, turn->batch->items[i].node);
}

static void park(struct turn *turn, int status)
{
    struct rnode *node = turn->batch->items[0].node;
    log_error("nothing can be written about a node; it is left alone for a while node=%s status=%s", node->name,
              status_text(status));
    reconcile_node_due(turn->r, node, turn->now + turn->r->deps.settings.retry_max_ms);
}

static void over(struct turn *turn)
{
    batch_free(TAKE(turn->batch));
}

const struct part part_decide = {
    .due = due,
    .plan = plan,
    .write = write,
    .done = done,
    .over = over,
    .size = size,
    .again = again,
    .park = park,
};
