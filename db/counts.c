/*
 * How many nodes of a group are in which state, remembered between reads: counting looks at every node, and a description of a
 * large cluster, or a list of clusters, is asked for far more often than nodes change.
 *
 * A count is used only by a reader whose snapshot it is of. A write marks the groups whose nodes it changes before it
 * commits, and gives them a new stamp afterwards; a reader notes the newest stamp before it begins. A group that is not
 * marked, and whose stamp is not newer than that, has not changed since: what was counted under the same stamp holds.
 *
 * Groups share slots, and a change of one forgets the other's as well, which costs a count and no more. Nodes are
 * changed through db/ alone, by this process: who writes with a shell of his own while hpd runs is not seen here.
 */
#include "db/cluster.h"
#include "db/intern.h"
#include "db/node.h"

#include <stdatomic.h>

#define SLOTS 256

struct slot {
    atomic_bool marked;     /* a write that has not ended changes nodes of this group */
    _Atomic uint64_t stamp; /* of the last change */
    uint64_t counted_at;    /* the stamp under which the rest was counted; 0: never */
    int64_t group_id;
    struct cluster_counts counts;
};

struct db_counts {
    _Atomic uint64_t stamp; /* the newest */
    bool any_marked;        /* the writer's own */
    pthread_mutex_t mutex;  /* guards what was counted */
    struct slot slots[SLOTS];
};

struct db_counts *db_counts_new(void)
{
    struct db_counts *counts = own_calloc(1, sizeof(*counts));
    pthread_mutex_init(&counts->mutex, NULL);
    atomic_init(&counts->stamp, 1);
    for (size_t i = 0; i < SLOTS; i++)
        atomic_init(&counts->slots[i].stamp, 1);
    return counts;
}

void db_counts_free(struct db_counts *counts)
{
    if (counts == NULL)
        return;
    pthread_mutex_destroy(&counts->mutex);
    free(counts);
}

static struct slot *slot_of(struct db_counts *counts, int64_t group_id)
{
    return &counts->slots[(uint64_t)group_id % SLOTS];
}

/* --- the writer ---------------------------------------------------------------------------------- */

void db_counts_mark(struct db_tx *tx, int64_t group_id)
{
    struct db_counts *counts = tx->db->counts;
    if (!tx->writer)
        return; /* its write will be refused */
    counts->any_marked = true;
    atomic_store(&slot_of(counts, group_id)->marked, true);
}

void db_counts_mark_all(struct db_tx *tx)
{
    for (int64_t i = 0; i < SLOTS; i++)
        db_counts_mark(tx, i);
}

void db_counts_settle(struct db *db)
{
    struct db_counts *counts = db->counts;
    if (!counts->any_marked)
        return;
    counts->any_marked = false;
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &counts->slots[i];
        if (!atomic_load(&slot->marked))
            continue;
        atomic_store(&slot->stamp, atomic_fetch_add(&counts->stamp, 1) + 1);
        atomic_store(&slot->marked, false);
    }
}

/* --- readers ------------------------------------------------------------------------------------- */

void db_counts_begin(struct db_tx *tx)
{
    tx->counts_stamp = atomic_load(&tx->db->counts->stamp);
}

/* The stamp under which tx sees the group, or 0: it may have changed since, or is changed now. */
static uint64_t stamp_seen(const struct db_tx *tx, const struct slot *slot)
{
    if (tx->writer || atomic_load(&slot->marked))
        return 0;
    uint64_t stamp = atomic_load(&slot->stamp);
    return stamp <= tx->counts_stamp ? stamp : 0;
}

uint64_t db_nodes_stamp(const struct db_tx *tx)
{
    return tx->counts_stamp;
}

bool db_nodes_are_as_read(const struct db_tx *tx, uint64_t stamp)
{
    const struct db_counts *counts = tx->db->counts;
    return tx->writer && !counts->any_marked && atomic_load(&counts->stamp) == stamp;
}

bool db_counts_get(struct db_tx *tx, int64_t group_id, struct cluster_counts *ret_counts)
{
    struct db_counts *counts = tx->db->counts;
    struct slot *slot = slot_of(counts, group_id);
    uint64_t stamp = stamp_seen(tx, slot);
    if (stamp == 0)
        return false;
    pthread_mutex_lock(&counts->mutex);
    bool is_known = slot->counted_at == stamp && slot->group_id == group_id;
    if (is_known)
        *ret_counts = slot->counts;
    pthread_mutex_unlock(&counts->mutex);
    return is_known;
}

void db_counts_put(struct db_tx *tx, int64_t group_id, const struct cluster_counts *group)
{
    struct db_counts *counts = tx->db->counts;
    struct slot *slot = slot_of(counts, group_id);
    uint64_t stamp = stamp_seen(tx, slot);
    if (stamp == 0)
        return;
    pthread_mutex_lock(&counts->mutex);
    slot->counted_at = stamp;
    slot->group_id = group_id;
    slot->counts = *group;
    pthread_mutex_unlock(&counts->mutex);
}
