/* An array by row number: inventories have some thousands of machines, and their rows count from 1. */
#include "server/live/machine_registry.h"

#include "base/own.h"

#include <pthread.h>

#define FIRST 64
#define ROWS_MAX (1 << 20) /* rows above are not remembered: nobody has had so many machines */

struct machine_registry {
    pthread_mutex_t mutex;
    int64_t *seen_at; /* by row */
    size_t size, count;
};

struct machine_registry *machine_registry_new(void)
{
    struct machine_registry *registry = own_calloc(1, sizeof(*registry));
    pthread_mutex_init(&registry->mutex, NULL);
    return registry;
}

void machine_registry_free(struct machine_registry *registry)
{
    if (registry == NULL)
        return;
    pthread_mutex_destroy(&registry->mutex);
    free(registry->seen_at);
    free(registry);
}

static void make_room(struct machine_registry *registry, size_t row)
{
    size_t size = registry->size > 0 ? registry->size : FIRST;
    if (row < registry->size)
        return;
    while (size <= row)
        size *= 2;
    registry->seen_at = own_realloc(registry->seen_at, size, sizeof(*registry->seen_at));
    for (size_t i = registry->size; i < size; i++)
        registry->seen_at[i] = 0;
    registry->size = size;
}

void machine_registry_seen(struct machine_registry *registry, int64_t machine_id, int64_t at)
{
    if (registry == NULL || machine_id <= 0 || machine_id >= ROWS_MAX)
        return;
    pthread_mutex_lock(&registry->mutex);
    make_room(registry, (size_t)machine_id);
    registry->count += registry->seen_at[machine_id] == 0;
    registry->seen_at[machine_id] = at;
    pthread_mutex_unlock(&registry->mutex);
}

int64_t machine_registry_seen_at(struct machine_registry *registry, int64_t machine_id)
{
    int64_t at = 0;
    if (registry == NULL || machine_id <= 0)
        return 0;
    pthread_mutex_lock(&registry->mutex);
    if ((size_t)machine_id < registry->size)
        at = registry->seen_at[machine_id];
    pthread_mutex_unlock(&registry->mutex);
    return at;
}

size_t machine_registry_count(struct machine_registry *registry)
{
    if (registry == NULL)
        return 0;
    pthread_mutex_lock(&registry->mutex);
    size_t count = registry->count;
    pthread_mutex_unlock(&registry->mutex);
    return count;
}
