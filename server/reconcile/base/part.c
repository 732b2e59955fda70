/* The table of the loop's parts, and what is asked of all of them in turn: part.h says what each may have. */
#include "server/reconcile/base/part.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/loop.h"

#define X(name) extern const struct part part_##name;
PART_LIST(X)
#undef X

static const struct part *const parts[] = {
#define X(name) [PART_##name] = &part_##name,
    PART_LIST(X)
#undef X
};

void parts_start(struct reconcile *r)
{
    for (int i = 0; i < PART_COUNT; i++)
        if (parts[i]->start != NULL)
            parts[i]->start(r);
}

int parts_load(struct reconcile *r, struct db_tx *tx)
{
    int status = 0;
    for (int i = 0; i < PART_COUNT && status == 0; i++)
        if (parts[i]->load != NULL)
            status = parts[i]->load(r, tx);
    return status;
}

int parts_resync(struct reconcile *r, struct db_tx *tx)
{
    int status = 0;
    for (int i = 0; i < PART_COUNT && status == 0; i++)
        if (parts[i]->resync != NULL)
            status = parts[i]->resync(r, tx);
    return status;
}

void parts_end(struct reconcile *r)
{
    for (int i = PART_COUNT; i-- > 0;)
        if (parts[i]->end != NULL)
            parts[i]->end(r);
}

/* --- what comes in ----------------------------------------------------------------------------- */
void parts_take(struct reconcile *r, struct rcall *call)
{
    for (int i = 0; i < PART_COUNT; i++)
        if (parts[i]->hear != NULL)
            parts[i]->hear(r, call);
    enum part_take took = PART_TAKE_NOT_MINE;
    for (int i = 0; i < PART_COUNT && took == PART_TAKE_NOT_MINE; i++)
        if (parts[i]->take != NULL)
            took = parts[i]->take(r, call);
    if (took != PART_TAKE_KEPT)
        reconcile_call_free(call);
}

void parts_wake(struct reconcile *r, enum service_wake what, int64_t id)
{
    for (int i = 0; i < PART_COUNT; i++)
        if (parts[i]->wake != NULL)
            parts[i]->wake(r, what, id);
}

void parts_gone(struct reconcile *r, const struct rcluster *cluster)
{
    for (int i = 0; i < PART_COUNT; i++)
        if (parts[i]->gone != NULL)
            parts[i]->gone(r, cluster);
}

/* --- what is due ------------------------------------------------------------------------------- */
bool parts_run(struct reconcile *r, int64_t now)
{
    bool any = false;
    for (int i = 0; i < PART_COUNT; i++) {
        if (parts[i]->run == NULL || (parts[i]->every_ms > 0 && r->part_runs_at[i] > now))
            continue;
        r->part_runs_at[i] = now + parts[i]->every_ms;
        any = parts[i]->run(r, now) || any;
    }
    return any;
}

int64_t parts_due(const struct reconcile *r, int64_t now)
{
    int64_t next = INT64_MAX;
    for (int i = 0; i < PART_COUNT && next > now; i++) {
        int64_t due = parts[i]->due != NULL ? parts[i]->due(r, now) : INT64_MAX;
        if (parts[i]->every_ms > 0 && r->part_runs_at[i] < due)
            due = r->part_runs_at[i];
        next = due < next ? due : next;
    }
    return next;
}

/* --- one turn's transaction -------------------------------------------------------------------- */
int parts_plan(struct turn *turn)
{
    int most = PART_PLAN_NOTHING;
    for (int i = 0; i < PART_COUNT; i++) {
        int plan = parts[i]->plan != NULL ? parts[i]->plan(turn) : PART_PLAN_NOTHING;
        if (plan < 0)
            return plan;
        most = plan > most ? plan : most;
    }
    return most;
}

int parts_write(struct turn *turn)
{
    int status = 0;
    for (int i = 0; i < PART_COUNT && status == 0; i++)
        if (parts[i]->write != NULL)
            status = parts[i]->write(turn);
    return status;
}

int parts_tidy(struct turn *turn)
{
    int status = 0;
    for (int i = 0; i < PART_COUNT && status == 0; i++)
        if (parts[i]->tidy != NULL)
            status = parts[i]->tidy(turn);
    return status;
}

void parts_done(struct turn *turn)
{
    for (int i = 0; i < PART_COUNT; i++)
        if (parts[i]->done != NULL)
            parts[i]->done(turn);
}

void parts_over(struct turn *turn)
{
    for (int i = 0; i < PART_COUNT; i++)
        if (parts[i]->over != NULL)
            parts[i]->over(turn);
}

size_t parts_size(const struct turn *turn)
{
    size_t size = 0;
    for (int i = 0; i < PART_COUNT; i++)
        if (parts[i]->size != NULL)
            size += parts[i]->size(turn);
    return size;
}

void parts_again(struct turn *turn)
{
    for (int i = 0; i < PART_COUNT; i++)
        if (parts[i]->again != NULL)
            parts[i]->again(turn);
}

void parts_park(struct turn *turn, int status)
{
    for (int i = 0; i < PART_COUNT; i++)
        if (parts[i]->park != NULL && parts[i]->size(turn) > 0)
            parts[i]->park(turn, status);
}
