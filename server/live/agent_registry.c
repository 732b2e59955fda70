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
    struct agent_registry *book = own_calloc(1, sizeof(*book));
    pthread_rwlock_init(&book->lock, NULL);
    return book;
}

void agent_registry_free(struct agent_registry *book)
{
    if (book == NULL)
        return;
    pthread_rwlock_destroy(&book->lock);
    free(book->entries);
    free(book);
}

/* The first entry that is not before this group. */
static size_t place_of(const struct agent_registry *book, int64_t group_id)
{
    size_t from = 0, to = book->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (book->entries[middle].group_id < group_id)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

void agent_registry_put(struct agent_registry *book, int64_t group_id, int64_t revision, uint64_t tag)
{
    pthread_rwlock_wrlock(&book->lock);
    size_t at = place_of(book, group_id);
    if (at == book->count || book->entries[at].group_id != group_id) {
        book->entries = own_realloc(book->entries, book->count + 1, sizeof(*book->entries));
        for (size_t i = book->count++; i > at; i--)
            book->entries[i] = book->entries[i - 1];
        book->entries[at] = (struct entry){.group_id = group_id};
    }
    if (revision > book->entries[at].revision)
        book->entries[at] = (struct entry){group_id, revision, tag};
    atomic_store(&book->known, (int_fast64_t)book->count);
    pthread_rwlock_unlock(&book->lock);
}

uint64_t agent_registry_tag(struct agent_registry *book, int64_t group_id)
{
    if (agent_registry_count(book) == 0)
        return 0;
    pthread_rwlock_rdlock(&book->lock);
    size_t at = place_of(book, group_id);
    bool found = at < book->count && book->entries[at].group_id == group_id;
    uint64_t tag = found ? book->entries[at].tag : 0;
    pthread_rwlock_unlock(&book->lock);
    return tag;
}

int64_t agent_registry_count(const struct agent_registry *book)
{
    return (int64_t)atomic_load(&book->known);
}
