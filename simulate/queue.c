/* What comes next (a binary heap by time, then by order of arrival), and chance (splitmix64: the same everywhere). */
#include "simulate/world.h"

#include "base/own.h"

#include <math.h>

uint64_t chance_draw(uint64_t *chance, uint64_t below)
{
    uint64_t z = (*chance += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return below == 0 ? z : z % below;
}

/* Faults have streams of their own, so that two policies, or two numbers of spares, meet the same faults at the same times. */
void world_chances(struct world *w, int64_t seed)
{
    uint64_t chance = (uint64_t)seed;
    for (size_t i = 0; i < ARRAY_LEN(w->chances); i++)
        w->chances[i] = chance_draw(&chance, 0);
    w->random = chance_draw(&chance, 0);
}

bool world_happens(struct world *w, int64_t percent)
{
    return percent > 0 && (int64_t)chance_draw(&w->random, 100) < percent;
}

int64_t chance_wait(uint64_t *chance, double mean_ms)
{
    double part =
        ((double)(chance_draw(chance, 0) >> 11) + 0.5) / 9007199254740992.0; /* 2^53: 0 to 1, neither of them */
    double wait = -log(part) * mean_ms;
    return wait > 1e15 ? INT64_C(1000000000000000) : 1 + (int64_t)wait;
}

int64_t world_about(struct world *w, int64_t ms)
{
    int64_t quarter = ms / 4;
    return ms - quarter + (int64_t)chance_draw(&w->random, (uint64_t)(2 * quarter + 1));
}

static bool before(const struct event_at *a, const struct event_at *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void world_at(struct world *w, int64_t at, enum happening what, int32_t who, uint32_t ticket)
{
    struct queue *queue = &w->queue;
    if (queue->count == queue->capacity) {
        queue->capacity = queue->capacity == 0 ? 256 : queue->capacity * 2;
        queue->events = own_realloc(queue->events, queue->capacity, sizeof(*queue->events));
    }
    const struct event_at event = {.at = at, .order = queue->order++, .what = what, .who = who, .ticket = ticket};
    size_t i = queue->count++;
    for (; i > 0 && before(&event, &queue->events[(i - 1) / 2]); i = (i - 1) / 2)
        queue->events[i] = queue->events[(i - 1) / 2];
    queue->events[i] = event;
}

bool world_next(struct world *w, struct event_at *ret_event)
{
    struct queue *queue = &w->queue;
    if (queue->count == 0)
        return false;
    *ret_event = queue->events[0];
    const struct event_at last = queue->events[--queue->count];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < queue->count) {
        if (child + 1 < queue->count && before(&queue->events[child + 1], &queue->events[child]))
            child++;
        if (!before(&queue->events[child], &last))
            break;
        queue->events[i] = queue->events[child];
        i = child;
    }
    queue->events[i] = last;
    return true;
}
