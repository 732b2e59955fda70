/*
 * The live state of the nodes: shards, each a lock, a small hash from row number to slot, and slots in chunks
 * that never move.
 *
 * A heartbeat takes one lock that almost nobody else wants, finds its slot and touches two cache lines of it: no
 * allocation, no system call. Nothing is called back and nothing is waited for while a shard is locked.
 * What a slot means to the store is the service's; who fills it is the reconcile loop's.
 */
#include "server/live/fleet.h"

#include "server/live/agent_registry.h"
#include "server/live/job_log.h"
#include "server/live/pair_matching.h"

#include "base/hash.h"
#include "base/own.h"
#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define SHARD_COUNT 64     /* with a few threads two rarely want the same one */
#define CHUNK_SLOTS 64     /* 12 KiB: an almost empty fleet stays small */
#define INDEX_SIZE_MIN 64  /* a power of two */
#define SWEEP_BATCH 64     /* silent nodes reported per lock */
#define BOOTS_REMEMBERED 2 /* earlier boots whose late reports are told from a new boot */
#define SLOT_NONE UINT32_MAX
#define CACHE_LINE_BYTES 64

/* Three cache lines: a heartbeat touches the first two, a credential the first and the last. */
struct slot {
    int64_t node_id; /* 0: free */
    int64_t last_heartbeat_at, last_seq, skew_ms;
    int64_t alive_since; /* the last sign of life, or when a sweep first saw this owner; 0: no sweep yet */
    char *directive;     /* NULL: none waits */
    unsigned checks;
    uint32_t next_free;
    uint32_t address_mark; /* a hash; 0: no address */
    bool has_credential, silent, skewed;

    char instance_id[ID_INSTANCE_MAX];
    char boot_id[BOOT_ID_MAX_BYTES];

    uint8_t hash[ID_SHA256_BYTES];
    int64_t cluster_id, group_id;
    uint64_t old_boots[BOOTS_REMEMBERED]; /* hashes */
};
_Static_assert(sizeof(struct slot) == 3 * CACHE_LINE_BYTES, "a slot fills its cache lines");

struct shard {
    _Alignas(CACHE_LINE_BYTES) pthread_mutex_t lock;
    struct slot **chunks;
    uint32_t chunk_count;
    uint32_t used;      /* slots ever handed out */
    uint32_t free_slot; /* first of the free list, or SLOT_NONE */
    uint32_t *index;    /* slot number + 1; 0: empty. Linear probing */
    uint32_t index_size, live;
    uint64_t heartbeats, replayed, stale;
};

struct fleet {
    struct shard shards[SHARD_COUNT];
    atomic_int directives_waiting; /* so that "none waits" costs no lock */
    atomic_int skewed_nodes;       /* so that "no clock is wrong" costs none either */
    struct agent_tasks *agent_tasks;
    struct pair_matching *pair_matching;
    struct job_logs *job_logs;
    struct agent_registry *agent_registry;
};

/* --- shards and their index ------------------------------------------------------------------------ */

static struct shard *shard_lock(struct fleet *fleet, int64_t node_id)
{
    struct shard *shard = &fleet->shards[(uint64_t)node_id % SHARD_COUNT];
    pthread_mutex_lock(&shard->lock);
    return shard;
}

static void shard_unlock(struct shard *shard)
{
    pthread_mutex_unlock(&shard->lock);
}

static struct slot *slot_at(const struct shard *shard, uint32_t number)
{
    return &shard->chunks[number / CHUNK_SLOTS][number % CHUNK_SLOTS];
}

/* Row numbers are mostly dense: the next ones after each other spread without a multiplication's help, but a table of
 * deleted and re-made clusters has holes in patterns, so mix. */
static uint32_t index_home(const struct shard *shard, int64_t node_id)
{
    uint64_t mixed = ((uint64_t)node_id / SHARD_COUNT) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(mixed >> 32) & (shard->index_size - 1);
}

/* The position in the index that holds node_id, or the empty one where it would go. */
static uint32_t index_find(const struct shard *shard, int64_t node_id)
{
    uint32_t at = index_home(shard, node_id);
    while (shard->index[at] != 0 && slot_at(shard, shard->index[at] - 1)->node_id != node_id)
        at = (at + 1) & (shard->index_size - 1);
    return at;
}

static struct slot *slot_find(const struct shard *shard, int64_t node_id)
{
    if (shard->index_size == 0)
        return NULL;
    uint32_t entry = shard->index[index_find(shard, node_id)];
    return entry == 0 ? NULL : slot_at(shard, entry - 1);
}

static void index_grow(struct shard *shard)
{
    autofree uint32_t *old = shard->index;
    uint32_t old_size = shard->index_size;
    shard->index_size = old_size == 0 ? INDEX_SIZE_MIN : old_size * 2;
    shard->index = own_calloc(shard->index_size, sizeof(*shard->index));
    for (uint32_t i = 0; i < old_size; i++)
        if (old[i] != 0)
            shard->index[index_find(shard, slot_at(shard, old[i] - 1)->node_id)] = old[i];
}

/* Takes an entry out and closes the gap, so that probing never needs tombstones. */
static void index_remove(struct shard *shard, uint32_t hole)
{
    uint32_t mask = shard->index_size - 1;
    shard->index[hole] = 0;
    for (uint32_t at = (hole + 1) & mask; shard->index[at] != 0; at = (at + 1) & mask) {
        uint32_t home = index_home(shard, slot_at(shard, shard->index[at] - 1)->node_id);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue; /* it sits between its home and here without crossing the hole */
        shard->index[hole] = shard->index[at];
        shard->index[at] = 0;
        hole = at;
    }
}

static void *aligned_zeroes(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, CACHE_LINE_BYTES, bytes) != 0)
        abort(); /* as own_calloc does */
    return memset(memory, 0, bytes);
}

static uint32_t slot_take_free(struct shard *shard)
{
    if (shard->free_slot != SLOT_NONE) {
        uint32_t number = shard->free_slot;
        shard->free_slot = slot_at(shard, number)->next_free;
        return number;
    }
    if (shard->used == shard->chunk_count * CHUNK_SLOTS) {
        shard->chunks = own_realloc(shard->chunks, shard->chunk_count + 1, sizeof(*shard->chunks));
        shard->chunks[shard->chunk_count++] = aligned_zeroes(CHUNK_SLOTS * sizeof(struct slot));
    }
    return shard->used++;
}

static struct slot *slot_add(struct shard *shard, int64_t node_id)
{
    if ((shard->live + 1) * 4 > shard->index_size * 3)
        index_grow(shard);
    uint32_t number = slot_take_free(shard);
    struct slot *slot = slot_at(shard, number);
    *slot = (struct slot){.node_id = node_id};
    /* The slot carries its number already, so look for the empty place, not for the number. */
    uint32_t at = index_home(shard, node_id);
    while (shard->index[at] != 0)
        at = (at + 1) & (shard->index_size - 1);
    shard->index[at] = number + 1;
    shard->live++;
    return slot;
}

/* --- making and ending ----------------------------------------------------------------------------- */

struct fleet *fleet_new(void)
{
    struct fleet *fleet = aligned_zeroes(sizeof(*fleet));
    for (int i = 0; i < SHARD_COUNT; i++) {
        pthread_mutex_init(&fleet->shards[i].lock, NULL);
        fleet->shards[i].free_slot = SLOT_NONE;
    }
    fleet->agent_tasks = agent_tasks_new();
    fleet->pair_matching = pair_matching_new();
    fleet->job_logs = job_logs_new();
    fleet->agent_registry = agent_registry_new();
    return fleet;
}

void fleet_free(struct fleet *fleet)
{
    if (fleet == NULL)
        return;
    for (int i = 0; i < SHARD_COUNT; i++) {
        struct shard *shard = &fleet->shards[i];
        for (uint32_t n = 0; n < shard->used; n++)
            free(slot_at(shard, n)->directive);
        for (uint32_t c = 0; c < shard->chunk_count; c++)
            free(shard->chunks[c]);
        free(shard->chunks);
        free(shard->index);
        pthread_mutex_destroy(&shard->lock);
    }
    agent_tasks_free(fleet->agent_tasks);
    pair_matching_free(fleet->pair_matching);
    job_logs_free(fleet->job_logs);
    agent_registry_free(fleet->agent_registry);
    free(fleet);
}

struct agent_tasks *fleet_agent_tasks(struct fleet *fleet)
{
    return fleet->agent_tasks;
}

struct pair_matching *fleet_pair_matching(struct fleet *fleet)
{
    return fleet->pair_matching;
}

struct job_logs *fleet_job_logs(struct fleet *fleet)
{
    return fleet->job_logs;
}

struct agent_registry *fleet_agent_registry(struct fleet *fleet)
{
    return fleet->agent_registry;
}

uint64_t fleet_settings_tag(struct fleet *fleet, int64_t node_id)
{
    if (agent_registry_count(fleet->agent_registry) == 0)
        return 0;
    struct shard *shard = shard_lock(fleet, node_id);
    const struct slot *slot = slot_find(shard, node_id);
    int64_t group_id = slot != NULL ? slot->group_id : 0;
    shard_unlock(shard);
    return agent_registry_tag(fleet->agent_registry, group_id);
}

/* --- who fills a slot ------------------------------------------------------------------------------ */

static void slot_set_skewed(struct fleet *fleet, struct slot *slot, bool skewed)
{
    if (slot->skewed != skewed)
        atomic_fetch_add(&fleet->skewed_nodes, skewed ? 1 : -1);
    slot->skewed = skewed;
}

static void slot_drop_directive(struct fleet *fleet, struct slot *slot)
{
    if (slot->directive == NULL)
        return;
    free(TAKE(slot->directive));
    atomic_fetch_sub(&fleet->directives_waiting, 1);
}

/* Another owner: nothing that was known of the earlier one's liveness may count for it. */
static void slot_forget_liveness(struct fleet *fleet, struct slot *slot)
{
    slot->last_heartbeat_at = 0;
    slot->last_seq = 0;
    slot->skew_ms = 0;
    slot->alive_since = 0;
    slot->checks = 0;
    slot->silent = false;
    slot_set_skewed(fleet, slot, false);
}

static void slot_set_instance(struct fleet *fleet, struct slot *slot, const char *instance_id)
{
    if (strcmp(slot->instance_id, instance_id) == 0)
        return;
    snprintf(slot->instance_id, sizeof(slot->instance_id), "%s", instance_id);
    slot->boot_id[0] = '\0';
    slot->address_mark = 0;
    slot->has_credential = false;
    memset(slot->hash, 0, sizeof(slot->hash));
    memset(slot->old_boots, 0, sizeof(slot->old_boots));
    slot_drop_directive(fleet, slot); /* it was meant for the machine that is gone */
    slot_forget_liveness(fleet, slot);
}

static void slot_set_hash(struct fleet *fleet, struct slot *slot, const uint8_t hash[ID_SHA256_BYTES])
{
    if (slot->has_credential && memcmp(slot->hash, hash, ID_SHA256_BYTES) == 0)
        return;
    memcpy(slot->hash, hash, ID_SHA256_BYTES);
    slot->has_credential = true;
    slot_forget_liveness(fleet, slot);
}

/* Boot ids are random, and a collision only makes one late report look like a repeat. Never 0. */
static uint64_t boot_hash(const char *boot_id)
{
    return hash_text(HASH_BASIS, boot_id) | 1;
}

/* Half of the same hash. A collision leaves the store with the earlier address until the server starts anew. */
static uint32_t address_mark(const char *address)
{
    return address[0] == '\0' ? 0 : (uint32_t)(boot_hash(address) >> 32) | 1;
}

static bool slot_is_old_boot(const struct slot *slot, const char *boot_id)
{
    uint64_t hash = boot_hash(boot_id);
    for (int i = 0; i < BOOTS_REMEMBERED; i++)
        if (slot->old_boots[i] == hash)
            return true;
    return false;
}

/* A boot that was already followed by another never comes back: whoever says so read the store too early. */
static void slot_set_boot(struct slot *slot, const char *boot_id)
{
    if (boot_id[0] == '\0' || strcmp(slot->boot_id, boot_id) == 0 || slot_is_old_boot(slot, boot_id))
        return;
    if (slot->boot_id[0] != '\0') {
        memmove(&slot->old_boots[1], &slot->old_boots[0], sizeof(slot->old_boots) - sizeof(slot->old_boots[0]));
        slot->old_boots[0] = boot_hash(slot->boot_id);
    }
    snprintf(slot->boot_id, sizeof(slot->boot_id), "%s", boot_id);
    slot->last_seq = 0; /* sequence numbers start anew with each boot */
    slot->last_heartbeat_at = 0;
}

void fleet_put(struct fleet *fleet, const struct fleet_slot *put)
{
    struct shard *shard = shard_lock(fleet, put->node_id);
    struct slot *slot = slot_find(shard, put->node_id);
    if (slot == NULL)
        slot = slot_add(shard, put->node_id);
    slot->cluster_id = put->cluster_id;
    slot->group_id = put->group_id;
    slot_set_instance(fleet, slot, put->instance_id);
    if (put->has_credential)
        slot_set_hash(fleet, slot, put->hash);
    slot_set_boot(slot, put->boot_id);
    if (put->address[0] != '\0')
        slot->address_mark = address_mark(put->address);
    shard_unlock(shard);
}

void fleet_set_credential(struct fleet *fleet, int64_t node_id, const char *instance_id,
                          const uint8_t hash[ID_SHA256_BYTES])
{
    struct shard *shard = shard_lock(fleet, node_id);
    struct slot *slot = slot_find(shard, node_id);
    if (slot != NULL) {
        slot_set_instance(fleet, slot, instance_id);
        slot_set_hash(fleet, slot, hash);
    }
    shard_unlock(shard);
}

void fleet_set_boot(struct fleet *fleet, int64_t node_id, const char *instance_id, const char *boot_id)
{
    struct shard *shard = shard_lock(fleet, node_id);
    struct slot *slot = slot_find(shard, node_id);
    if (slot != NULL && strcmp(slot->instance_id, instance_id) == 0)
        slot_set_boot(slot, boot_id);
    shard_unlock(shard);
}

void fleet_set_address(struct fleet *fleet, int64_t node_id, const char *instance_id, const char *address)
{
    struct shard *shard = shard_lock(fleet, node_id);
    struct slot *slot = slot_find(shard, node_id);
    if (slot != NULL && strcmp(slot->instance_id, instance_id) == 0)
        slot->address_mark = address_mark(address);
    shard_unlock(shard);
}

void fleet_remove(struct fleet *fleet, int64_t node_id)
{
    struct shard *shard = shard_lock(fleet, node_id);
    struct slot *slot = slot_find(shard, node_id);
    if (slot != NULL) {
        uint32_t at = index_find(shard, node_id);
        uint32_t number = shard->index[at] - 1;
        slot_drop_directive(fleet, slot);
        slot_set_skewed(fleet, slot, false);
        index_remove(shard, at);
        *slot = (struct slot){.next_free = shard->free_slot};
        shard->free_slot = number;
        shard->live--;
    }
    shard_unlock(shard);
    agent_tasks_drop(fleet->agent_tasks, node_id);
}

/* --- the agents' API ------------------------------------------------------------------------------ */

static enum fleet_beat slot_beat(struct slot *slot, const struct fleet_heartbeat *beat, int64_t now_ms)
{
    if (slot->instance_id[0] == '\0' || strcmp(slot->instance_id, beat->instance_id) != 0)
        return FLEET_BEAT_STALE;
    if (strcmp(slot->boot_id, beat->boot_id) != 0)
        return slot_is_old_boot(slot, beat->boot_id) ? FLEET_BEAT_STALE : FLEET_BEAT_NEW_BOOT;
    if (slot->last_heartbeat_at != 0 && beat->seq <= slot->last_seq)
        return FLEET_BEAT_REPLAYED;
    if (beat->address[0] != '\0' && address_mark(beat->address) != slot->address_mark)
        return FLEET_BEAT_NEW_ADDRESS;
    bool was_silent = slot->silent;
    slot->last_heartbeat_at = now_ms;
    slot->alive_since = now_ms;
    slot->last_seq = beat->seq;
    slot->skew_ms = beat->sent_at - now_ms;
    slot->checks = beat->checks;
    slot->silent = false;
    return was_silent ? FLEET_BEAT_BACK : FLEET_BEAT_OK;
}

enum fleet_beat fleet_heartbeat(struct fleet *fleet, int64_t node_id, const struct fleet_heartbeat *beat,
                                int64_t now_ms)
{
    struct shard *shard = shard_lock(fleet, node_id);
    struct slot *slot = slot_find(shard, node_id);
    enum fleet_beat result = slot == NULL ? FLEET_BEAT_UNKNOWN : slot_beat(slot, beat, now_ms);
    if (result == FLEET_BEAT_OK || result == FLEET_BEAT_BACK)
        shard->heartbeats++;
    else if (result == FLEET_BEAT_REPLAYED)
        shard->replayed++;
    else if (result == FLEET_BEAT_STALE)
        shard->stale++;
    shard_unlock(shard);
    return result;
}

bool fleet_set_skewed(struct fleet *fleet, int64_t node_id, bool skewed)
{
    if (!skewed && atomic_load_explicit(&fleet->skewed_nodes, memory_order_relaxed) == 0)
        return false;
    struct shard *shard = shard_lock(fleet, node_id);
    struct slot *slot = slot_find(shard, node_id);
    bool changed = slot != NULL && slot->skewed != skewed;
    if (changed)
        slot_set_skewed(fleet, slot, skewed);
    shard_unlock(shard);
    return changed;
}

int fleet_authenticate(struct fleet *fleet, int64_t node_id, const uint8_t hash[ID_SHA256_BYTES])
{
    static const uint8_t nobody[ID_SHA256_BYTES];
    struct shard *shard = shard_lock(fleet, node_id);
    const struct slot *slot = slot_find(shard, node_id);
    bool known = slot != NULL && slot->has_credential;
    bool same = id_equal(known ? slot->hash : nobody, hash, ID_SHA256_BYTES);
    shard_unlock(shard);
    return known && same ? 0 : STATUS_UNAUTHENTICATED;
}

enum fleet_boot fleet_boot_of(struct fleet *fleet, int64_t node_id, const char *instance_id, const char *boot_id,
                              int64_t *ret_last_heartbeat_at)
{
    enum fleet_boot result = FLEET_BOOT_OTHER_INSTANCE;
    struct shard *shard = shard_lock(fleet, node_id);
    const struct slot *slot = slot_find(shard, node_id);
    *ret_last_heartbeat_at = slot == NULL ? 0 : slot->last_heartbeat_at;
    if (slot != NULL && slot->instance_id[0] != '\0' && strcmp(slot->instance_id, instance_id) == 0) {
        if (strcmp(slot->boot_id, boot_id) == 0)
            result = FLEET_BOOT_CURRENT;
        else
            result = slot_is_old_boot(slot, boot_id) ? FLEET_BOOT_EARLIER : FLEET_BOOT_UNHEARD;
    }
    shard_unlock(shard);
    return result;
}

/* --- looking --------------------------------------------------------------------------------------- */

int fleet_get(struct fleet *fleet, int64_t node_id, struct fleet_view *ret_view)
{
    struct shard *shard = shard_lock(fleet, node_id);
    const struct slot *slot = slot_find(shard, node_id);
    if (slot != NULL) {
        *ret_view = (struct fleet_view){
            .slot = {.node_id = node_id,
                     .cluster_id = slot->cluster_id,
                     .group_id = slot->group_id,
                     .has_credential = slot->has_credential},
            .last_heartbeat_at = slot->last_heartbeat_at,
            .last_seq = slot->last_seq,
            .skew_ms = slot->skew_ms,
            .checks = slot->checks,
            .silent = slot->silent,
            .directed = slot->directive != NULL,
        };
        memcpy(ret_view->slot.instance_id, slot->instance_id, sizeof(slot->instance_id));
        memcpy(ret_view->slot.boot_id, slot->boot_id, sizeof(slot->boot_id));
        memcpy(ret_view->slot.hash, slot->hash, sizeof(slot->hash));
    }
    shard_unlock(shard);
    return slot == NULL ? STATUS_NOT_FOUND : 0;
}

struct silent_node {
    int64_t node_id, last_heartbeat_at;
};

/* Marks silent slots from *at on; stops early when the batch is full. Returns how many it marked. */
static int sweep_some(struct shard *shard, uint32_t *at, int64_t now_ms, int64_t silent_after_ms,
                      struct silent_node batch[SWEEP_BATCH])
{
    int count = 0;
    pthread_mutex_lock(&shard->lock);
    for (; *at < shard->used && count < SWEEP_BATCH; (*at)++) {
        struct slot *slot = slot_at(shard, *at);
        if (slot->node_id == 0 || slot->instance_id[0] == '\0' || slot->silent)
            continue;
        if (slot->alive_since == 0) /* put since the last sweep: its time begins now */
            slot->alive_since = now_ms;
        if (now_ms - slot->alive_since <= silent_after_ms)
            continue;
        slot->silent = true;
        batch[count++] = (struct silent_node){slot->node_id, slot->last_heartbeat_at};
    }
    pthread_mutex_unlock(&shard->lock);
    return count;
}

void fleet_sweep(struct fleet *fleet, int64_t now_ms, int64_t silent_after_ms, fleet_silent_fn fn, void *arg)
{
    struct silent_node batch[SWEEP_BATCH];
    for (int i = 0; i < SHARD_COUNT; i++) {
        uint32_t at = 0;
        int count;
        do {
            count = sweep_some(&fleet->shards[i], &at, now_ms, silent_after_ms, batch);
            for (int n = 0; n < count; n++) /* unlocked: fn may look into the fleet */
                fn(batch[n].node_id, batch[n].last_heartbeat_at, arg);
        } while (count == SWEEP_BATCH);
    }
}

void fleet_counts(struct fleet *fleet, struct fleet_counts *ret_counts)
{
    *ret_counts = (struct fleet_counts){0};
    for (int i = 0; i < SHARD_COUNT; i++) {
        struct shard *shard = &fleet->shards[i];
        pthread_mutex_lock(&shard->lock);
        for (uint32_t n = 0; n < shard->used; n++) {
            const struct slot *slot = slot_at(shard, n);
            ret_counts->slots += slot->node_id != 0;
            ret_counts->silent += slot->silent;
            ret_counts->alive += slot->last_heartbeat_at != 0 && !slot->silent;
        }
        ret_counts->heartbeats += shard->heartbeats;
        ret_counts->replayed += shard->replayed;
        ret_counts->stale += shard->stale;
        pthread_mutex_unlock(&shard->lock);
    }
}

size_t fleet_memory_bytes(struct fleet *fleet)
{
    size_t bytes = sizeof(*fleet);
    for (int i = 0; i < SHARD_COUNT; i++) {
        struct shard *shard = &fleet->shards[i];
        pthread_mutex_lock(&shard->lock);
        bytes += shard->chunk_count * (sizeof(*shard->chunks) + CHUNK_SLOTS * sizeof(struct slot));
        bytes += shard->index_size * sizeof(*shard->index);
        pthread_mutex_unlock(&shard->lock);
    }
    return bytes;
}

/* --- directives ------------------------------------------------------------------------------------ */

int fleet_direct(struct fleet *fleet, int64_t node_id, const char *line)
{
    autofree char *copy = own_strdup(line);
    if (strlen(copy) >= RAW_LINE_MAX_BYTES)
        return STATUS_TOO_LARGE;
    struct shard *shard = shard_lock(fleet, node_id);
    struct slot *slot = slot_find(shard, node_id);
    bool waits = slot != NULL && slot->directive != NULL;
    if (slot != NULL && !waits) {
        slot->directive = TAKE(copy);
        atomic_fetch_add(&fleet->directives_waiting, 1);
    }
    shard_unlock(shard);
    return slot == NULL ? STATUS_NOT_FOUND : waits ? STATUS_CONFLICT : 0;
}

bool fleet_take_directive(struct fleet *fleet, int64_t node_id, char ret_line[RAW_LINE_MAX_BYTES])
{
    if (atomic_load_explicit(&fleet->directives_waiting, memory_order_relaxed) == 0)
        return false;
    struct shard *shard = shard_lock(fleet, node_id);
    struct slot *slot = slot_find(shard, node_id);
    bool found = slot != NULL && slot->directive != NULL;
    if (found) {
        memcpy(ret_line, slot->directive, strlen(slot->directive) + 1);
        slot_drop_directive(fleet, slot);
    }
    shard_unlock(shard);
    return found;
}
