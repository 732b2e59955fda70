/*
 * A map with its entries in one array, in the order in which they came, and a table of
 * indices into it (open addressing, linear probing, SipHash-1-3 under a random key, since
 * keys come from outside). Walking follows the array: the same calls give the same walk in
 * every process, which a simulation that is run again relies on.
 */
#include "base/map.h"

#include "base/id.h"
#include "base/own.h"

#include <stdint.h>
#include <string.h>

#define SLOTS_MIN 16
#define SLOT_FREE UINT32_MAX

struct entry {
    char *key; /* NULL: removed */
    void *value;
    uint64_t hash;
};

struct map {
    struct entry *entries;
    uint32_t *slots;
    size_t used;       /* entries in the array, removed ones included; at most 3/4 of slot_count */
    size_t count;      /* those that live */
    size_t slot_count; /* a power of two */
    uint64_t key[2];
};

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32) + v[3];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

/* SipHash-1-3 (Aumasson, Bernstein). */
static uint64_t hash_text(const struct map *map, const char *text)
{
    uint64_t v[4] = {map->key[0] ^ UINT64_C(0x736f6d6570736575), map->key[1] ^ UINT64_C(0x646f72616e646f6d),
                     map->key[0] ^ UINT64_C(0x6c7967656e657261), map->key[1] ^ UINT64_C(0x7465646279746573)};
    size_t len = strlen(text), at = 0;
    uint64_t word, last = (uint64_t)len << 56;

    for (; len - at >= sizeof(word); at += sizeof(word)) {
        memcpy(&word, text + at, sizeof(word));
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    for (unsigned shift = 0; at < len; at++, shift += 8)
        last |= (uint64_t)(unsigned char)text[at] << shift;
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void place(struct map *map, size_t entry)
{
    size_t slot = map->entries[entry].hash & (map->slot_count - 1);

    while (map->slots[slot] != SLOT_FREE)
        slot = (slot + 1) & (map->slot_count - 1);
    map->slots[slot] = (uint32_t)entry;
}

/* Closes the gaps of removed entries and makes room: so many slots that at most half are taken. */
static void rebuild(struct map *map)
{
    size_t live = 0, slot_count = SLOTS_MIN;

    for (size_t i = 0; i < map->used; i++)
        if (map->entries[i].key != NULL)
            map->entries[live++] = map->entries[i];
    map->used = live;
    while (slot_count < 2 * (live + 1))
        slot_count *= 2;
    if (slot_count > UINT32_MAX / 2)
        abort();
    map->slot_count = slot_count;
    map->entries = own_realloc(map->entries, slot_count * 3 / 4, sizeof(map->entries[0]));
    map->slots = own_realloc(map->slots, slot_count, sizeof(map->slots[0]));
    memset(map->slots, 0xff, slot_count * sizeof(map->slots[0]));
    for (size_t i = 0; i < live; i++)
        place(map, i);
}

struct map *map_new(void)
{
    struct map *map = own_calloc(1, sizeof(*map));

    id_bytes(NULL, map->key, sizeof(map->key));
    rebuild(map);
    return map;
}

void map_free(struct map *map)
{
    if (map == NULL)
        return;
    for (size_t i = 0; i < map->used; i++)
        free(map->entries[i].key);
    free(map->entries);
    free(map->slots);
    free(map);
}

/* The slot of key, or the free slot where the search ended. */
static size_t find(const struct map *map, const char *key, uint64_t hash)
{
    size_t slot = hash & (map->slot_count - 1);

    for (; map->slots[slot] != SLOT_FREE; slot = (slot + 1) & (map->slot_count - 1)) {
        const struct entry *entry = &map->entries[map->slots[slot]];
        if (entry->hash == hash && strcmp(entry->key, key) == 0)
            break;
    }
    return slot;
}

void *map_set(struct map *map, const char *key, void *value)
{
    uint64_t hash = hash_text(map, key);
    size_t slot = find(map, key, hash);

    if (value == NULL) /* it could not be told from absence */
        abort();
    if (map->slots[slot] != SLOT_FREE) {
        struct entry *entry = &map->entries[map->slots[slot]];
        void *before = entry->value;
        entry->value = value;
        return before;
    }
    if (map->used == map->slot_count * 3 / 4)
        rebuild(map);
    map->entries[map->used] = (struct entry){own_strdup(key), value, hash};
    place(map, map->used++);
    map->count++;
    return NULL;
}

void *map_get(const struct map *map, const char *key)
{
    size_t slot = find(map, key, hash_text(map, key));

    return map->slots[slot] == SLOT_FREE ? NULL : map->entries[map->slots[slot]].value;
}

/* Frees a slot and moves back what had been pushed beyond it, so that no search ends too early. */
static void vacate(struct map *map, size_t hole)
{
    size_t mask = map->slot_count - 1;

    for (size_t slot = (hole + 1) & mask; map->slots[slot] != SLOT_FREE; slot = (slot + 1) & mask) {
        size_t home = map->entries[map->slots[slot]].hash & mask;
        if (((slot - home) & mask) < ((slot - hole) & mask))
            continue; /* its home lies behind the hole */
        map->slots[hole] = map->slots[slot];
        hole = slot;
    }
    map->slots[hole] = SLOT_FREE;
}

void *map_remove(struct map *map, const char *key)
{
    size_t slot = find(map, key, hash_text(map, key));

    if (map->slots[slot] == SLOT_FREE)
        return NULL;
    struct entry *entry = &map->entries[map->slots[slot]];
    void *value = entry->value;
    vacate(map, slot); /* before the entry goes: it looks at its neighbours' */
    free(entry->key);
    *entry = (struct entry){0};
    map->count--;
    return value;
}

size_t map_count(const struct map *map)
{
    return map->count;
}

bool map_next(const struct map *map, size_t *cursor, const char **ret_key, void **ret_value)
{
    while (*cursor < map->used) {
        const struct entry *entry = &map->entries[(*cursor)++];
        if (entry->key == NULL)
            continue;
        if (ret_key != NULL)
            *ret_key = entry->key;
        if (ret_value != NULL)
            *ret_value = entry->value;
        return true;
    }
    return false;
}
