/*
 * Nodes by row number (open addressing, linear probing), and a queue of row numbers. Queues hold numbers, not pointers,
 * so that a node which is removed meanwhile is simply not found.
 */
#include "base/own.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/queue.h"

#define IDMAP_FIRST 64

static struct rnode idmap_removed; /* stands where a node was, so that probing goes on behind it */

static size_t slot_of(int64_t id, size_t capacity)
{
    uint64_t mixed = (uint64_t)id * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(mixed >> 32) & (capacity - 1);
}

struct rnode *idmap_get(const struct idmap *map, int64_t id)
{
    if (map->capacity == 0)
        return NULL;
    for (size_t i = slot_of(id, map->capacity); map->slots[i] != NULL; i = (i + 1) & (map->capacity - 1))
        if (map->slots[i]->id == id && map->slots[i] != &idmap_removed)
            return map->slots[i];
    return NULL;
}

static void place(struct idmap *map, struct rnode *node)
{
    size_t i = slot_of(node->id, map->capacity);
    while (map->slots[i] != NULL)
        i = (i + 1) & (map->capacity - 1);
    map->slots[i] = node;
    map->used++;
}

static void grow(struct idmap *map)
{
    struct rnode **old = map->slots;
    size_t old_capacity = map->capacity;
    while (map->capacity == 0 || map->count * 2 >= map->capacity)
        map->capacity = map->capacity == 0 ? IDMAP_FIRST : map->capacity * 2;
    map->slots = own_calloc(map->capacity, sizeof(struct rnode *));
    map->used = 0;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i] != NULL && old[i] != &idmap_removed)
            place(map, old[i]);
    free(old);
}

void idmap_put(struct idmap *map, struct rnode *node)
{
    if (map->used * 4 >= map->capacity * 3)
        grow(map);
    place(map, node);
    map->count++;
}

void idmap_remove(struct idmap *map, int64_t id)
{
    if (map->capacity == 0)
        return;
    for (size_t i = slot_of(id, map->capacity); map->slots[i] != NULL; i = (i + 1) & (map->capacity - 1))
        if (map->slots[i]->id == id && map->slots[i] != &idmap_removed) {
            map->slots[i] = &idmap_removed;
            map->count--;
            return;
        }
}

void idmap_free(struct idmap *map)
{
    free(map->slots);
    *map = (struct idmap){0};
}

static void idqueue_make_room(struct idqueue *queue)
{
    if (queue->count == queue->capacity) {
        size_t capacity = queue->capacity == 0 ? 64 : queue->capacity * 2;
        int64_t *ids = own_calloc(capacity, sizeof(*ids));
        for (size_t i = 0; i < queue->count; i++)
            ids[i] = queue->ids[(queue->head + i) % queue->capacity];
        free(queue->ids);
        *queue = (struct idqueue){.ids = ids, .count = queue->count, .capacity = capacity};
    }
}

void idqueue_push(struct idqueue *queue, int64_t id)
{
    idqueue_make_room(queue);
    queue->ids[(queue->head + queue->count++) % queue->capacity] = id;
}

void idqueue_push_front(struct idqueue *queue, int64_t id)
{
    idqueue_make_room(queue);
    queue->head = (queue->head + queue->capacity - 1) % queue->capacity;
    queue->ids[queue->head] = id;
    queue->count++;
}

bool idqueue_pop(struct idqueue *queue, int64_t *ret_id)
{
    if (queue->count == 0)
        return false;
    *ret_id = queue->ids[queue->head];
    queue->head = (queue->head + 1) % queue->capacity;
    queue->count--;
    return true;
}

void idqueue_free(struct idqueue *queue)
{
    free(queue->ids);
    *queue = (struct idqueue){0};
}
