/* Deadlines as first-in-first-out lists, one a phase. */
#include "api/deadline.h"

static void unlink_from(struct deadlines *all, struct deadline *d)
{
    if (d->phase == DEADLINE_NONE)
        return;
    *(d->prev != NULL ? &d->prev->next : &all->head[d->phase]) = d->next;
    *(d->next != NULL ? &d->next->prev : &all->tail[d->phase]) = d->prev;
    d->prev = d->next = NULL;
    d->phase = DEADLINE_NONE;
}

void deadline_enter(struct deadlines *all, struct deadline *d, enum deadline_phase phase, int64_t now_ms)
{
    unlink_from(all, d);
    d->phase = phase;
    d->since_ms = now_ms;
    if (phase == DEADLINE_NONE)
        return;
    d->prev = all->tail[phase];
    *(d->prev != NULL ? &d->prev->next : &all->head[phase]) = d;
    all->tail[phase] = d;
}

struct deadline *deadline_next_due(struct deadlines *all, int64_t now_ms)
{
    for (int phase = DEADLINE_NONE + 1; phase < DEADLINE_PHASES; phase++) {
        struct deadline *d = all->head[phase];
        if (d != NULL && now_ms - d->since_ms >= all->after_ms[phase]) {
            unlink_from(all, d);
            return d;
        }
    }
    return NULL;
}
