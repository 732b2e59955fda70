/*
 * Housekeeping: once a minute what is old goes, in a turn's transaction, and each part tidies up its own. And a store that failed is
 * asked whether it is well again.
 */
#include "db/attempt.h"
#include "db/event.h"
#include "db/job_run.h"
#include "db/operation.h"
#include "db/token.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/record.h"

#define HOUSEKEEPING_MS 60000     /* old events and expired tokens go so often */
#define HOUSEKEEPING_ROWS_MAX 256 /* old changes of clusters go so many at a time */
#define PROBE_MS 1000

struct housekeeping_part {
    int64_t at;
};

static void start(struct reconcile *r)
{
    r->housekeeping = own_calloc(1, sizeof(*r->housekeeping));
    r->housekeeping->at = reconcile_now(r) + HOUSEKEEPING_MS;
}

static void end(struct reconcile *r)
{
    free(TAKE(r->housekeeping));
}

static int64_t due(const struct reconcile *r, int64_t now)
{
    (void)now;
    return r->housekeeping->at;
}

static int plan(struct turn *turn)
{
    turn->tidies = turn->r->housekeeping->at <= turn->now;
    return turn->tidies ? PART_PLAN_STORE : PART_PLAN_NOTHING;
}

static int write(struct turn *turn)
{
    return turn->tidies ? parts_tidy(turn) : 0;
}

static void done(struct turn *turn)
{
    if (turn->tidies)
        turn->r->housekeeping->at = turn->now + HOUSEKEEPING_MS;
}

/* What no part calls its own. */
static int tidy(struct turn *turn)
{
    const struct loop_settings *settings = &turn->r->deps.settings;
    int status = db_event_prune(turn->tx, settings->events_keep);
    if (status == 0)
        status = db_operation_prune(turn->tx, turn->now - settings->history_ms, HOUSEKEEPING_ROWS_MAX);
    if (status == 0)
        status = db_job_run_prune(turn->tx, turn->now - settings->history_ms);
    if (status == 0)
        status = db_attempt_forget_old(turn->tx, turn->now - settings->history_ms);
    return status != 0 ? status : db_token_prune(turn->tx, turn->now);
}

const struct part part_housekeeping = {
    .start = start,
    .end = end,
    .due = due,
    .plan = plan,
    .write = write,
    .tidy = tidy,
    .done = done,
};

/* A commit of anybody's failed, and perhaps nobody tries again: we do, so that the store is known to be well again. */
static bool probe(struct reconcile *r, int64_t now)
{
    struct db_stats stats;
    (void)now;
    db_stats(r->db, &stats);
    if (stats.failing_since != 0)
        (void)db_touch(r->db); /* its outcome stands in the store's figures */
    return false;
}

const struct part part_probe = {.run = probe, .every_ms = PROBE_MS};
