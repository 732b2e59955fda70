/* What the loop keeps its nodes in: a map and queues of row numbers. */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_QUEUE_H
#define HOLDFAST_SERVER_RECONCILE_BASE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rnode;

/* How soon a node is looked at. What can wait does so only while there is more pressing work. */
enum look {
    LOOK_NOT,
    LOOK_LATER, /* evidence that by itself costs no node */
    LOOK_SOON,
    LOOK_FIRST, /* critical evidence */
    LOOK_COUNT
};

struct idmap {
    struct rnode **slots;
    size_t capacity, count, used; /* used counts removed ones too */
};

struct rnode *idmap_get(const struct idmap *map, int64_t id);
void idmap_put(struct idmap *map, struct rnode *node);
void idmap_remove(struct idmap *map, int64_t id);
void idmap_free(struct idmap *map); /* the map, not the nodes */

struct idqueue {
    int64_t *ids;
    size_t head, count, capacity;
};

void idqueue_push(struct idqueue *queue, int64_t id);
void idqueue_push_front(struct idqueue *queue, int64_t id);
bool idqueue_pop(struct idqueue *queue, int64_t *ret_id);
void idqueue_free(struct idqueue *queue);

#endif
