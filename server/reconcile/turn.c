/*
 * One turn's transaction: events, decisions, operations and clusters that move on, all or nothing; and what comes after
 * it, when it succeeded and when it did not.
 *
 * A store that takes no writes stops everything for a while and is asked again. A single row that cannot be written is
 * another matter: it is found by taking one thing a turn, and parked, so that it does not stop all others.
 */
#include "server/reconcile/turn.h"
#include "base/log.h"
#include "db/db.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/part.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/effects.h"

#define STORE_PAUSE_MIN_MS 200

/* --- the transaction --------------------------------------------------------------------------- */
static int write_turn(struct db_tx *tx, void *arg)
{
    struct turn *turn = arg;
    turn_reset(turn);
    turn->tx = tx;
    return parts_write(turn);
}

/* --- after it ---------------------------------------------------------------------------------- */
static void turn_succeeded(struct turn *turn)
{
    struct reconcile *r = turn->r;
    r->store_backoff_ms = 0;
    if (r->isolating > 0)
        r->isolating--;
    bool told = turn->event_count > 0;
    turn_log_write(turn);
    parts_done(turn);
    turn_effects_do(turn);
    if (told && r->service->events_added != NULL)
        r->service->events_added(r->service->events_arg);
}

/* The disk's fault, or the queue's: it hits everything alike and passes. */
static bool is_the_worlds(int status)
{
    return status == STATUS_IO || status == STATUS_FULL || status == STATUS_UNAVAILABLE || status == STATUS_TIMEOUT;
}

/* The turn has not happened: what it was about is looked at again. One row that cannot be written must not stop all others: it is
 * found by taking one thing a turn, and parked. */
static void turn_failed(struct turn *turn, int status)
{
    struct reconcile *r = turn->r;
    size_t size = parts_size(turn);
    turn_reset(turn);
    if (!is_the_worlds(status) && size == 1) {
        parts_park(turn, status);
        return;
    }
    parts_again(turn);
    if (!is_the_worlds(status) && size > 1) {
        r->isolating = (int)size;
        return;
    }
    r->store_backoff_ms = r->store_backoff_ms == 0 ? STORE_PAUSE_MIN_MS : r->store_backoff_ms * 2;
    if (r->store_backoff_ms > STORE_PAUSE_MAX_MS)
        r->store_backoff_ms = STORE_PAUSE_MAX_MS;
    r->paused_until = reconcile_now(r) + r->store_backoff_ms;
    log_error("the store takes no writes, nothing is decided or done meanwhile status=%s", status_text(status));
}

static bool commit(struct turn *turn, bool needs_store)
{
    struct reconcile *r = turn->r;
    if (needs_store)
        reconcile_unrecorded(r, true);
    int status = needs_store ? db_write(r->db, "reconcile", write_turn, turn) : write_turn(NULL, turn);
    if (needs_store && !is_the_worlds(status))
        reconcile_unrecorded(r, false);
    if (status == 0)
        turn_succeeded(turn);
    else
        turn_failed(turn, status);
    return status == 0 || r->isolating > 0;
}

bool reconcile_turn(struct reconcile *r)
{
    struct turn turn = {.r = r, .now = reconcile_now(r)};
    int plan = parts_plan(&turn);
    bool did = plan > PART_PLAN_NOTHING && commit(&turn, plan == PART_PLAN_STORE);
    parts_over(&turn);
    free(turn.effects);
    return did;
}
