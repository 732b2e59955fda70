/* The engine behind what schedulers are kept at: keeper.h says what it does. */
#include "server/reconcile/keep/keeper.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/record.h"

void keepers_new(struct scheduler_link *link)
{
#define X(name, call) link->name = reconcile_##name##_new();
    KEEPER_LIST(X)
#undef X
}

void keepers_free(struct scheduler_link *link)
{
#define X(name, call) reconcile_##name##_free(TAKE(link->name));
    KEEPER_LIST(X)
#undef X
}

static const struct {
    enum call_kind call;
    int64_t (*due)(const struct scheduler_link *link, int64_t now);
    bool (*run)(struct reconcile *r, struct scheduler_link *link, int64_t now);
    bool (*take)(struct reconcile *r, struct rcall *call);
} keepers[] = {
#define X(name, call) {call, reconcile_##name##_due, reconcile_##name##_run, reconcile_##name##_take},
    KEEPER_LIST(X)
#undef X
};

bool keepers_run(struct reconcile *r, int64_t now)
{
    bool any = false;
    for (struct scheduler_link *link = r->links; link != NULL; link = link->next)
        for (size_t i = 0; i < ARRAY_LEN(keepers); i++)
            any = keepers[i].run(r, link, now) || any;
    return any;
}

int64_t keepers_due(const struct scheduler_link *link, int64_t now)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < ARRAY_LEN(keepers); i++) {
        int64_t due = keepers[i].due(link, now);
        if (due > 0 && due < next)
            next = due;
    }
    return next;
}

bool keepers_take(struct reconcile *r, struct rcall *call)
{
    for (size_t i = 0; call->operation_id == 0 && i < ARRAY_LEN(keepers); i++) {
        if (keepers[i].call != call->kind)
            continue;
        if (call->status != 0)
            r->stats.scheduler_errors++;
        if (!keepers[i].take(r, call))
            reconcile_call_free(call);
        return true;
    }
    return false;
}

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
