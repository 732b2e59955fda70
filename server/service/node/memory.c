/*
 * What the use cases remember between calls. All of it is bounded and may be lost at any time: the store knows
 * everything that matters.
 *
 * Both tables give a newcomer the place of an older one: for tokens that costs a look into the store, for verdicts at
 * worst a line more in the timeline.
 */
#include "server/service/private.h"

#include "base/hash.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define ACTORS_MAX 256       /* API tokens in use at the same time; more only ask the store more often */
#define ANNOUNCED_SETS 32768 /* of ANNOUNCED_WAYS: node and code pairs within a minute, of a fleet of 100,000 (2 MB) */
#define ANNOUNCED_WAYS 4
#define RESOURCES_MS 2000 /* scripts that look for others look again */
#define RESOURCES_REST 10 /* times as long as it took to make: at most a tenth of a core goes into it */
#define RESOURCES_UNDER_WAY_MAX \
    (128L << 20)                     /* of replies; agents whose turn it is not come with their next heartbeat */
#define VERDICTS_UNDER_WAY_MAX 16384 /* about 24 MB of copies while the disk is slow; agents keep the rest */

struct known_actor {
    uint8_t hash[ID_SHA256_BYTES];
    struct actor actor;
    int64_t until_mono_ms; /* 0: free */
};

struct announced {
    uint64_t what; /* a hash; 0: free */
    int64_t at_ms;
};

struct service_memory {
    pthread_mutex_t lock;
    uint64_t generation; /* grows when a token is deleted */
    struct known_actor actors[ACTORS_MAX];
    struct announced announced[ANNOUNCED_SETS][ANNOUNCED_WAYS];
    atomic_size_t verdicts_under_way;
    struct audit_flood *flood;
    atomic_size_t resources_under_way;
    pthread_mutex_t resources_lock; /* of its own: making megabytes holds nobody up who answers agents */
    struct {
        int64_t cluster_id, until_mono_ms;
        char *text;
    } resources; /* of the cluster that was asked for last: clusters seldom grow at once */
};

struct service_memory *service_memory_new(void)
{
    struct service_memory *memory = own_calloc(1, sizeof(*memory));
    pthread_mutex_init(&memory->lock, NULL);
    pthread_mutex_init(&memory->resources_lock, NULL);
    memory->flood = audit_flood_new();
    return memory;
}

void service_memory_free(struct service_memory *memory)
{
    if (memory == NULL)
        return;
    pthread_mutex_destroy(&memory->lock);
    pthread_mutex_destroy(&memory->resources_lock);
    audit_flood_free(memory->flood);
    free(memory->resources.text);
    free(memory);
}

struct audit_flood *memory_audit_flood(struct service_memory *memory)
{
    return memory != NULL ? memory->flood : NULL;
}

/* --- tokens ---------------------------------------------------------------------------------------- */

static struct known_actor *actor_place(struct service_memory *memory, const uint8_t hash[ID_SHA256_BYTES])
{
    return &memory->actors[hash[0] % ACTORS_MAX];
}

uint64_t memory_actors_generation(struct service_memory *memory)
{
    if (memory == NULL)
        return 0;
    pthread_mutex_lock(&memory->lock);
    uint64_t generation = memory->generation;
    pthread_mutex_unlock(&memory->lock);
    return generation;
}

bool memory_actor_get(struct service_memory *memory, const uint8_t hash[ID_SHA256_BYTES], int64_t mono_ms,
                      struct actor *ret_actor)
{
    if (memory == NULL)
        return false;
    pthread_mutex_lock(&memory->lock);
    const struct known_actor *known = actor_place(memory, hash);
    bool found = known->until_mono_ms > mono_ms && id_equal(known->hash, hash, ID_SHA256_BYTES);
    if (found)
        *ret_actor = known->actor;
    pthread_mutex_unlock(&memory->lock);
    return found;
}

void memory_actor_put(struct service_memory *memory, const uint8_t hash[ID_SHA256_BYTES], const struct actor *actor,
                      int64_t until_mono_ms, uint64_t generation)
{
    if (memory == NULL)
        return;
    pthread_mutex_lock(&memory->lock);
    if (memory->generation == generation) {
        struct known_actor *known = actor_place(memory, hash);
        *known = (struct known_actor){.actor = *actor, .until_mono_ms = until_mono_ms};
        memcpy(known->hash, hash, ID_SHA256_BYTES);
    }
    pthread_mutex_unlock(&memory->lock);
}

void memory_actors_forget(struct service_memory *memory)
{
    if (memory == NULL)
        return;
    pthread_mutex_lock(&memory->lock);
    memory->generation++;
    memset(memory->actors, 0, sizeof(memory->actors));
    pthread_mutex_unlock(&memory->lock);
}

/* --- verdicts -------------------------------------------------------------------------------------- */

static uint64_t what_hash(int64_t node_id, const char *what)
{
    return hash_text(hash_number(HASH_BASIS, (uint64_t)node_id), what) | 1;
}

/* The place that holds it, or the one that was written longest ago. */
static struct announced *announced_place(struct announced *set, uint64_t what)
{
    struct announced *oldest = set;
    for (int i = 0; i < ANNOUNCED_WAYS; i++) {
        if (set[i].what == what)
            return &set[i];
        if (set[i].at_ms < oldest->at_ms)
            oldest = &set[i];
    }
    return oldest;
}

bool memory_announce(struct service_memory *memory, int64_t node_id, const char *what, int64_t now_ms)
{
    if (memory == NULL)
        return true;
    uint64_t hash = what_hash(node_id, what);
    pthread_mutex_lock(&memory->lock);
    struct announced *announced = announced_place(memory->announced[(hash >> 20) % ANNOUNCED_SETS], hash);
    bool lately = announced->what == hash && now_ms - announced->at_ms < VERDICT_EVENT_EVERY_MS;
    if (!lately)
        *announced = (struct announced){hash, now_ms};
    pthread_mutex_unlock(&memory->lock);
    return !lately;
}

void memory_announce_not(struct service_memory *memory, int64_t node_id, const char *what)
{
    if (memory == NULL)
        return;
    uint64_t hash = what_hash(node_id, what);
    pthread_mutex_lock(&memory->lock);
    struct announced *announced = announced_place(memory->announced[(hash >> 20) % ANNOUNCED_SETS], hash);
    if (announced->what == hash)
        *announced = (struct announced){0};
    pthread_mutex_unlock(&memory->lock);
}

bool memory_verdicts_enter(struct service_memory *memory, size_t count)
{
    if (memory == NULL)
        return true;
    if (atomic_fetch_add(&memory->verdicts_under_way, count) + count <= VERDICTS_UNDER_WAY_MAX)
        return true;
    atomic_fetch_sub(&memory->verdicts_under_way, count);
    return false;
}

void memory_verdicts_leave(struct service_memory *memory, size_t count)
{
    if (memory != NULL)
        atomic_fetch_sub(&memory->verdicts_under_way, count);
}

/* --- resource_config.json -------------------------------------------------------------------------- */

void memory_resources_lock(struct service_memory *memory)
{
    if (memory != NULL)
        pthread_mutex_lock(&memory->resources_lock);
}

void memory_resources_unlock(struct service_memory *memory)
{
    if (memory != NULL)
        pthread_mutex_unlock(&memory->resources_lock);
}

const char *memory_resources_get(const struct service_memory *memory, int64_t cluster_id, int64_t mono_ms)
{
    bool fresh =
        memory != NULL && memory->resources.cluster_id == cluster_id && mono_ms < memory->resources.until_mono_ms;
    return fresh ? memory->resources.text : NULL;
}

void memory_resources_put(struct service_memory *memory, int64_t cluster_id, int64_t begun_mono_ms, int64_t mono_ms,
                          char *text)
{
    if (memory == NULL) {
        free(text);
        return;
    }
    int64_t good_for = (mono_ms - begun_mono_ms) * RESOURCES_REST;
    free(memory->resources.text);
    memory->resources.text = text;
    memory->resources.cluster_id = cluster_id;
    memory->resources.until_mono_ms = mono_ms + (good_for > RESOURCES_MS ? good_for : RESOURCES_MS);
}

bool memory_resources_enter(struct service_memory *memory, size_t bytes)
{
    if (memory == NULL)
        return true;
    size_t before = atomic_fetch_add(&memory->resources_under_way, bytes);
    if (before == 0 || before + bytes <= RESOURCES_UNDER_WAY_MAX)
        return true;
    atomic_fetch_sub(&memory->resources_under_way, bytes);
    return false;
}

void memory_resources_leave(struct service_memory *memory, size_t bytes)
{
    if (memory != NULL)
        atomic_fetch_sub(&memory->resources_under_way, bytes);
}
