/* A list under a lock: there are as many entries as groups with settings, a hundred at most for a cluster. */
#include "server/live/agent_registry.h"

#include "base/own.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

struct entry {
    int64_t group_id, revision;
    uint64_t tag;
};

struct agent_registry {
    pthread_rwlock_t lock;
    struct entry *entries; /* by group */
    size_t count;
    atomic_int_fast64_t known;
};

struct agent_registry *agent_registry_new(void)
{
    struct agent_registry *registry = own_calloc(1, sizeof(*registry));
    pthread_rwlock_init(&registry->lock, NULL);
    return registry;
}

void agent_registry_free(struct agent_registry *registry)
{
    if (registry == NULL)
        return;
    pthread_rwlock_destroy(&registry->lock);
    free(registry->entries);
    free(registry);
}

/* The first entry that is not before this group. */
static size_t place_of(const struct agent_registry *registry, int64_t group_id)
{
    size_t from = 0, to = registry->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (registry->entries[middle].group_id < group_id)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

void agent_registry_put(struct agent_registry *registry, int64_t group_id, int64_t revision, uint64_t tag)
{
    pthread_rwlock_wrlock(&registry->lock);
    size_t at = place_of(registry, group_id);
    if (at == registry->count || registry->entries[at].group_id != group_id) {
        registry->entries = own_realloc(registry->entries, registry->count + 1, sizeof(*registry->entries));
        for (size_t i = registry->count++; i > at; i--)
            registry->entries[i] = registry->entries[i - 1];
        registry->entries[at] = (struct entry){.group_id = group_id};
    }
    if (revision > registry->entries[at].revision)
        registry->entries[at] = (struct entry){group_id, revision, tag};
    atomic_store(&registry->known, (int_fast64_t)registry->count);
    pthread_rwlock_unlock(&registry->lock);
}

uint64_t agent_registry_tag(struct agent_registry *registry, int64_t group_id)
{
    if (agent_registry_count(registry) == 0)
        return 0;
    pthread_rwlock_rdlock(&registry->lock);
    size_t at = place_of(registry, group_id);
    bool found = at < registry->count && registry->entries[at].group_id == group_id;
    uint64_t tag = found ? registry->entries[at].tag : 0;
    pthread_rwlock_unlock(&registry->lock);
    return tag;
}

int64_t agent_registry_count(const struct agent_registry *registry)
{
    return (int64_t)atomic_load(&registry->known);
}
