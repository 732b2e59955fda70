/*
 * Zones: which nodes of one fell silent at about the same time. Before a batch is decided on, the silent nodes are listed by
 * zone and time once, so that the question costs no walk for each of them.
 */
#include "server/reconcile_private.h"

#include <stdlib.h>

#define ZONES_MAX 256 /* of all clusters; what comes beyond counts as none */

uint16_t reconcile_zone_intern(struct reconcile *r, const char *name)
{
    if (name[0] == '\0')
        return 0;
    for (uint16_t i = 0; i < r->zone_count; i++)
        if (text_equal(r->zones[i], name))
            return (uint16_t)(i + 1);
    if (r->zone_count == ZONES_MAX)
        return 0;
    r->zones = own_realloc(r->zones, (size_t)r->zone_count + 1, sizeof(*r->zones));
    text_copy_cut(r->zones[r->zone_count], sizeof(r->zones[0]), name);
    return ++r->zone_count;
}

const char *reconcile_zone_name(const struct reconcile *r, const struct rnode *node)
{
    return node->zone == 0 ? "" : r->zones[node->zone - 1];
}

static int by_zone(const void *left, const void *right)
{
    const struct zone_silence *a = left, *b = right;
    if (a->zone != b->zone)
        return a->zone < b->zone ? -1 : 1;
    return a->since < b->since ? -1 : a->since > b->since;
}

/* Its agent is silent, and the scheduler does not say otherwise. */
static bool is_gone(const struct reconcile *r, const struct rnode *node)
{
    bool heard = reconcile_node_has_scheduler(node) && reconcile_sees(r, node) && node->responding;
    return node->zone != 0 && node->lost && node->silent_since > 0 && !heard &&
           (node->state == NODE_STATE_READY || node->state == NODE_STATE_HELD);
}

/* A node that was silent, came back and is silent again stands in the queue twice. */
static void list_group(struct reconcile *r, const struct rgroup *group, bool count)
{
    for (size_t i = 0; i < group->silent.count; i++) {
        struct rnode *node =
            reconcile_node_find(r, group->silent.ids[(group->silent.head + i) % group->silent.capacity]);
        if (node == NULL)
            continue;
        if (count && !node->zone_listed && is_gone(r, node)) {
            r->silences = own_realloc(r->silences, r->silence_count + 1, sizeof(*r->silences));
            r->silences[r->silence_count++] = (struct zone_silence){node->zone, node->silent_since};
        }
        node->zone_listed = count;
    }
}

void reconcile_zones_list(struct reconcile *r)
{
    r->silence_count = 0;
    if (r->zone_count == 0)
        return;
    for (int pass = 0; pass < 2; pass++)
        for (const struct rgroup *group = r->groups; group != NULL; group = group->next)
            list_group(r, group, pass == 0);
    if (r->silence_count > 1)
        qsort(r->silences, r->silence_count, sizeof(*r->silences), by_zone);
}

/* How many of the list come before this. */
static size_t count_before(const struct reconcile *r, uint16_t zone, int64_t since)
{
    const struct zone_silence wanted = {zone, since};
    size_t low = 0, high = r->silence_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_zone(&r->silences[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t reconcile_zone_lost(const struct reconcile *r, const struct rnode *node)
{
    int64_t window = node->group->settings.policy.zone_window_ms;
    if (node->zone == 0 || node->silent_since == 0 || r->silence_count == 0)
        return 0;
    size_t from = count_before(r, node->zone, node->silent_since - window);
    size_t to = count_before(r, node->zone, node->silent_since + window + 1);
    return (int64_t)(to - from);
}
