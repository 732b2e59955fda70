/* Somebody set the clock of hpd's machine: this is reported. Nothing is decided by it, since hpd's times are steady (base/steady.h). */
#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "db/event.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/record.h"

#include <inttypes.h>
#include <stdio.h>

#define LOOK_INTERVAL_MS 1000

struct clock_step_part {
    int64_t unreported_ms; /* the clock was set by so much, and no event says it yet */
};

static void start(struct reconcile *r)
{
    r->clock_step = own_calloc(1, sizeof(*r->clock_step));
}

static void end(struct reconcile *r)
{
    free(TAKE(r->clock_step));
}

static bool look(struct reconcile *r, int64_t now)
{
    const int64_t by_ms = clock_take_step(r->service->clock);
    (void)now;
    r->clock_step->unreported_ms += by_ms;
    if (by_ms != 0)
        log_warn("the clock of this machine was set, hpd follows it slowly ms=%" PRId64, by_ms);
    return false;
}

static int plan(struct turn *turn)
{
    return turn->r->clock_step->unreported_ms != 0 ? PART_PLAN_STORE : PART_PLAN_NOTHING;
}

static int write(struct turn *turn)
{
    const int64_t by_ms = turn->r->clock_step->unreported_ms;
    if (by_ms == 0)
        return 0;
    char by[CLOCK_TEXT_MAX];
    struct event event = {.at = turn->now, .level = EVENT_LEVEL_WARN, .kind = EVENT_KIND_CLOCK_STEP};
    clock_format_duration(by_ms < 0 ? -by_ms : by_ms, by);
    snprintf(event.message, sizeof(event.message),
             "The clock of hpd's machine was set %s by %s. hpd follows it slowly.", by_ms < 0 ? "back" : "forward", by);
    turn->event_count++;
    return db_event_insert(turn->tx, &event);
}

static void done(struct turn *turn)
{
    turn->r->clock_step->unreported_ms = 0;
}

const struct part part_clock_step = {
    .start = start,
    .end = end,
    .run = look,
    .plan = plan,
    .write = write,
    .done = done,
    .every_ms = LOOK_INTERVAL_MS,
};
