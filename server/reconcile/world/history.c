/*
 * Forgetting: node after node, a slice at a time, all of them once in HISTORY_ROUND_MS. In transactions of its own: what is
 * forgotten late harms nobody, so a failure here stops nothing.
 */
#include "db/history.h"
#include "base/log.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"

#define HISTORY_NODES 64         /* of one slice: some milliseconds of the writer */
#define HISTORY_PLACES 4096      /* of the table looked through for them */
#define HISTORY_FIRST_MS 60000   /* after the start */
#define HISTORY_PAUSE_MS 2000    /* between slices */
#define HISTORY_ROUND_MS 3600000 /* from the start of a round to that of the next */
#define LAUNCHES_KEPT 50         /* of a node's failed tries: a day of them at the slowest pace */
#define HISTORY_ROWS_MAX 256     /* of a node, in each table and state */

struct history_part {
    int64_t at, round_at; /* the next slice; the next round */
    size_t place;         /* in the table of nodes, where the next slice begins; 0: a new round */
};

struct slice {
    struct db_history history;
    int64_t nodes[HISTORY_NODES];
    size_t count;
    int64_t rows;
};

static int slice_write(struct db_tx *tx, void *arg)
{
    struct slice *slice = arg;
    slice->rows = 0;
    for (size_t i = 0; i < slice->count; i++) {
        int64_t rows = 0;
        int status = db_history_prune(tx, slice->nodes[i], &slice->history, &rows);
        if (status != 0)
            return status;
        slice->rows += rows;
    }
    return 0;
}

/* The nodes of the places from r->history->place on; returns the place behind them. */
static size_t take_nodes(const struct reconcile *r, struct slice *slice)
{
    size_t place = r->history->place, end = place + HISTORY_PLACES;
    for (; place < r->nodes.capacity && place < end && slice->count < HISTORY_NODES; place++) {
        const struct rnode *node = r->nodes.slots[place];
        if (node != NULL && node->group != NULL) /* without a group: where a node was that is gone */
            slice->nodes[slice->count++] = node->id;
    }
    return place;
}

/* A repair of a machine weighs on its pieces wherever they are now, for as long as the policy of any group looks back. */
static int64_t policy_looks_back_ms(const struct reconcile *r)
{
    int64_t longest = policy_history_ms(&r->deps.settings.policy);
    for (const struct rgroup *group = r->groups; group != NULL; group = group->next) {
        int64_t own = policy_history_ms(&group->settings.policy);
        longest = own > longest ? own : longest;
    }
    return longest;
}

static bool forget(struct reconcile *r, int64_t now)
{
    const struct loop_settings *settings = &r->deps.settings;
    struct slice slice = {.history = {.since_at = now - settings->history_ms,
                                      .verdicts_keep = settings->verdicts_keep,
                                      .decisions_keep = settings->decisions_keep,
                                      .launches_keep = LAUNCHES_KEPT,
                                      .rows_max = HISTORY_ROWS_MAX}};
    int64_t looked_at = now - policy_looks_back_ms(r);
    slice.history.hardware_since_at = looked_at < slice.history.since_at ? looked_at : slice.history.since_at;
    if (r->history->place == 0)
        r->history->round_at = now + HISTORY_ROUND_MS;
    size_t place = take_nodes(r, &slice);
    int status = slice.count == 0 ? 0 : db_write(r->db, "history", slice_write, &slice);
    r->history->at = now + HISTORY_PAUSE_MS;
    if (status != 0) {
        log_warn("old evidence could not be forgotten, it is tried again status=%s", status_text(status));
        return false;
    }
    if (slice.rows >= HISTORY_ROWS_MAX)
        return false; /* one of them may have more */
    r->history->place = place < r->nodes.capacity ? place : 0;
    if (r->history->place == 0)
        r->history->at = r->history->round_at;
    return false;
}

static bool run(struct reconcile *r, int64_t now)
{
    return r->history->at <= now && forget(r, now);
}

static int64_t due(const struct reconcile *r, int64_t now)
{
    (void)now;
    return r->history->at;
}

static void start(struct reconcile *r)
{
    r->history = own_calloc(1, sizeof(*r->history));
    r->history->at = reconcile_now(r) + HISTORY_FIRST_MS;
}

static void end(struct reconcile *r)
{
    free(TAKE(r->history));
}

const struct part part_history = {.start = start, .end = end, .due = due, .run = run};
