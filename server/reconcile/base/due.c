/*
 * What is due when: a binary heap by time. An object is due at one time only, which it holds itself; changing it just
 * pushes another entry, and the one left behind is recognised as old when it comes up.
 */
#include "server/reconcile/base/due.h"
#include "base/own.h"

static void swap(struct due_entry *a, struct due_entry *b)
{
    struct due_entry held = *a;
    *a = *b;
    *b = held;
}

void due_push(struct due *due, int64_t at, enum due_kind kind, int64_t node_id)
{
    if (due->count == due->capacity) {
        due->capacity = due->capacity == 0 ? 64 : due->capacity * 2;
        due->entries = own_realloc(due->entries, due->capacity, sizeof(*due->entries));
    }
    size_t i = due->count++;
    due->entries[i] = (struct due_entry){.at = at, .node_id = node_id, .kind = kind};
    for (; i > 0 && due->entries[(i - 1) / 2].at > due->entries[i].at; i = (i - 1) / 2)
        swap(&due->entries[i], &due->entries[(i - 1) / 2]);
}

bool due_peek(const struct due *due, struct due_entry *ret_entry)
{
    if (due->count == 0)
        return false;
    *ret_entry = due->entries[0];
    return true;
}

void due_pop(struct due *due)
{
    due->entries[0] = due->entries[--due->count];
    for (size_t i = 0;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < due->count; child++)
            if (due->entries[child].at < due->entries[least].at)
                least = child;
        if (least == i)
            return;
        swap(&due->entries[i], &due->entries[least]);
        i = least;
    }
}

void due_free(struct due *due)
{
    free(due->entries);
    *due = (struct due){0};
}
