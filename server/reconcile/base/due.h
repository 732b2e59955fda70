/* What is due when: nodes to be looked at again, and operations to be advanced. */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_DUE_H
#define HOLDFAST_SERVER_RECONCILE_BASE_DUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum due_kind { DUE_NODE, DUE_OPERATION };

struct due_entry {
    int64_t at, node_id;
    enum due_kind kind;
};

struct due {
    struct due_entry *entries; /* a heap; an entry whose time is no longer the object's own is old and dropped */
    size_t count, capacity;
};

void due_push(struct due *due, int64_t at, enum due_kind kind, int64_t node_id);
/* The first entry; false when there is none. */
bool due_peek(const struct due *due, struct due_entry *ret_entry);
void due_pop(struct due *due);
void due_free(struct due *due);

#endif
