/*
 * Critical evidence that no decision has looked at yet.
 *
 * A verdict reaches the loop through the inbox. Were one lost on that way, its node would stay in service with a fault that is on
 * disk. So the store is asked from time to time: each critical verdict that was there WATCH_MS ago must have been part of a look at its node.
 * A node of which that is not true is told, counted and looked at. The order is that of the row numbers, not that of any clock.
 *
 * A node that waits for its look is late and not forgotten: a burst can take longer than WATCH_MS. How late the oldest is, is a metric, and its
 * verdicts are watched again; one that waits for LATE_US counts as forgotten.
 */
#include "server/reconcile/decide/undecided.h"
#include "base/log.h"
#include "base/status.h"
#include "db/verdict.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/part.h"
#include "server/reconcile/decide/decide.h"
#include "server/reconcile/world/load.h"

#include <inttypes.h>

#define WATCH_MS 30000
#define WATCH_ROWS_MAX 4096 /* in one look */
#define LATE_US (INT64_C(600) * 1000000)

void reconcile_undecided_came(struct reconcile *r, struct rnode *node, int64_t received_us)
{
    if (node->verdict_us != 0)
        return;
    node->verdict_us = received_us;
    due_push(&r->evidence_waits, received_us, DUE_NODE, node->id);
}

bool reconcile_undecided_looked(const struct decide_item *item, int64_t *ret_received_us)
{
    struct rnode *node = item->node;
    const int64_t received_us = node->verdict_us;
    for (size_t i = 0; i < item->verdict_count; i++)
        if (item->verdicts[i].id > node->looked_verdict)
            node->looked_verdict = item->verdicts[i].id;
    node->verdict_us = 0;
    *ret_received_us = received_us;
    return received_us != 0;
}

static int64_t oldest(struct reconcile *r)
{
    struct due_entry entry;
    while (due_peek(&r->evidence_waits, &entry)) {
        const struct rnode *node = reconcile_node_find(r, entry.node_id);
        if (node != NULL && node->verdict_us == entry.at)
            return entry.at;
        due_pop(&r->evidence_waits);
    }
    return 0;
}

void reconcile_undecided_publish(struct reconcile *r)
{
    const int64_t since_us = oldest(r);
    if (r->stats.undecided_since_us == since_us)
        return;
    pthread_mutex_lock(&r->stats_mutex);
    r->stats.undecided_since_us = r->published.undecided_since_us = since_us;
    pthread_mutex_unlock(&r->stats_mutex);
}

static int load(struct reconcile *r, struct db_tx *tx)
{
    int status = db_verdict_newest(tx, &r->watched_verdict);
    r->watch_until = r->watched_verdict;
    return status;
}

struct watched {
    struct reconcile *r;
    int rows;
    bool late; /* from here on verdicts are watched again */
};

static int watch_one(const void *row, void *arg)
{
    struct watched *watched = arg;
    struct reconcile *r = watched->r;
    const struct db_verdict_place *verdict = row;
    struct rnode *node = reconcile_node_find(r, verdict->node_id);
    const int64_t now_us = reconcile_now_us(r);
    bool looked = node == NULL || node->looked_verdict >= verdict->id;
    watched->rows++;
    watched->late = watched->late || !looked;
    if (!watched->late)
        r->watched_verdict = verdict->id;
    if (looked || (node->verdict_us != 0 && now_us - node->verdict_us < LATE_US))
        return 0;
    log_error(
        "a critical verdict was stored and no decision has looked at it; it is looked at now node=%s verdict=%" PRId64,
        node->name, verdict->id);
    r->stats.verdicts_forgotten++;
    node->notes |= NOTE_UNDECIDED;
    node->verdict_us = 0;
    reconcile_undecided_came(r, node, now_us);
    reconcile_node_look(r, node, LOOK_FIRST);
    return 0;
}

static int watch(struct reconcile *r, struct db_tx *tx)
{
    struct watched watched = {.r = r};
    int64_t newest;
    int status = db_verdict_newest(tx, &newest);
    if (status == 0)
        status = db_verdict_critical(tx, r->watched_verdict, r->watch_until, WATCH_ROWS_MAX, watch_one, &watched);
    if (status == 0 && watched.rows < WATCH_ROWS_MAX && !watched.late) { /* there is none left until then */
        r->watched_verdict = r->watch_until;
        r->watch_until = newest;
    }
    return status;
}

static bool run(struct reconcile *r, int64_t now)
{
    (void)now;
    (void)reconcile_with_reader(r, watch); /* a store that cannot be read is asked again, and said by who needs it */
    return false;
}

static void end(struct reconcile *r)
{
    due_free(&r->evidence_waits);
}

const struct part part_undecided = {.load = load, .end = end, .run = run, .every_ms = WATCH_MS};
