/* A map by row number: only agents of spares report here, so it has as many entries as the inventories have machines. */
#include "server/live/machine_registry.h"

#include "base/map.h"
#include "base/own.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#define KEY_MAX 24

struct machine_registry {
    pthread_mutex_t mutex;
    struct map *seen_at; /* row → owned int64_t */
};

struct machine_registry *machine_registry_new(void)
{
    struct machine_registry *registry = own_calloc(1, sizeof(*registry));
    pthread_mutex_init(&registry->mutex, NULL);
    registry->seen_at = map_new();
    return registry;
}

void machine_registry_free(struct machine_registry *registry)
{
    size_t at = 0;
    const char *key;
    void *seen_at;
    if (registry == NULL)
        return;
    while (map_next(registry->seen_at, &at, &key, &seen_at))
        free(seen_at);
    map_free(registry->seen_at);
    pthread_mutex_destroy(&registry->mutex);
    free(registry);
}

static const char *key_of(int64_t machine_id, char key[KEY_MAX])
{
    snprintf(key, KEY_MAX, "%" PRId64, machine_id);
    return key;
}

void machine_registry_seen(struct machine_registry *registry, int64_t machine_id, int64_t at)
{
    char key[KEY_MAX];
    if (registry == NULL || machine_id <= 0)
        return;
    key_of(machine_id, key);
    pthread_mutex_lock(&registry->mutex);
    int64_t *seen_at = map_get(registry->seen_at, key);
    if (seen_at == NULL) {
        seen_at = own_calloc(1, sizeof(*seen_at));
        map_set(registry->seen_at, key, seen_at);
    }
    *seen_at = at;
    pthread_mutex_unlock(&registry->mutex);
}

int64_t machine_registry_seen_at(struct machine_registry *registry, int64_t machine_id)
{
    char key[KEY_MAX];
    if (registry == NULL)
        return 0;
    pthread_mutex_lock(&registry->mutex);
    const int64_t *seen_at = map_get(registry->seen_at, key_of(machine_id, key));
    int64_t at = seen_at == NULL ? 0 : *seen_at;
    pthread_mutex_unlock(&registry->mutex);
    return at;
}

size_t machine_registry_count(struct machine_registry *registry)
{
    if (registry == NULL)
        return 0;
    pthread_mutex_lock(&registry->mutex);
    size_t count = map_count(registry->seen_at);
    pthread_mutex_unlock(&registry->mutex);
    return count;
}
