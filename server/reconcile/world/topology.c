/*
 * Where nodes sit: the zone that was chosen with the slot, what people say, and the switches and blocks of Slurm's topology,
 * which is asked for now and then and written down where it changed. Domains are numbers here, of one cluster each, so that
 * two nodes share something when two numbers are equal.
 */
#include "server/reconcile/world/topology.h"
#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "db/node.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/queue.h"

#include <inttypes.h>

#define DOMAINS_MAX 65536       /* of all clusters; what comes beyond counts as none */
#define PLACES_WRITTEN_MAX 4096 /* in one transaction */
#define PLACES_STORE_MS 1000    /* what the scheduler says anew is stored so often */

struct domain {
    char name[TOPOLOGY_NAME_MAX_BYTES];
    uint32_t number;
};

struct topology_part {
    struct map *names;       /* cluster, level and name → domain */
    struct domain **domains; /* by their numbers */
    size_t count;
    bool full;               /* that was told */
    struct idqueue unstored; /* nodes of which the scheduler says where they are, and the store does not yet */
};

static void start(struct reconcile *r)
{
    r->topology = own_calloc(1, sizeof(*r->topology));
    r->topology->names = map_new();
}

static uint32_t intern(struct reconcile *r, const struct rcluster *cluster, enum topology_level level, const char *name)
{
    if (name[0] == '\0')
        return 0;
    autofree char *key = own_printf("%" PRId64 "/%d/%s", cluster->id, (int)level, name);
    struct domain *domain = map_get(r->topology->names, key);
    if (domain != NULL)
        return domain->number;
    if (r->topology->count == DOMAINS_MAX) {
        if (!r->topology->full)
            log_warn("%d racks, switches and other places are known; what comes beyond is not part of any incident",
                     DOMAINS_MAX);
        r->topology->full = true;
        return 0;
    }
    domain = own_calloc(1, sizeof(*domain));
    text_copy_cut(domain->name, sizeof(domain->name), name);
    r->topology->domains = own_realloc(r->topology->domains, r->topology->count + 1, sizeof(struct domain *));
    r->topology->domains[r->topology->count++] = domain;
    domain->number = (uint32_t)r->topology->count;
    map_set(r->topology->names, key, domain);
    return domain->number;
}

uint32_t reconcile_domain(struct reconcile *r, const struct rcluster *cluster, enum topology_level level,
                          const char *name)
{
    return intern(r, cluster, level, name);
}

const char *reconcile_domain_name(const struct reconcile *r, uint32_t domain)
{
    return domain == 0 ? "" : r->topology->domains[domain - 1]->name;
}

static void end(struct reconcile *r)
{
    for (size_t i = 0; i < r->topology->count; i++)
        free(r->topology->domains[i]);
    free(r->topology->domains);
    map_free(r->topology->names);
    idqueue_free(&r->topology->unstored);
    free(TAKE(r->topology));
}

static void put(struct reconcile *r, struct rnode *node, enum topology_level level, const char *name)
{
    uint32_t domain = intern(r, node->group->cluster, level, name);
    if (node->domain[level] == domain)
        return;
    node->domain[level] = domain;
    r->signals_changed = true;
}

void reconcile_node_place(struct reconcile *r, struct rnode *node, const struct node *row)
{
    for (int level = 0; level < TOPOLOGY_LEVEL_COUNT; level++)
        put(r, node, (enum topology_level)level, node_domain(row, (enum topology_level)level));
}

/* --- what the scheduler knows ------------------------------------------------------------------ */
/* What we write of it is ours: the scheduler may not have read yet what a person said since, as after a restart of ours. */
static bool is_ours(const struct rcall *call, const char *known)
{
    return call->link->topology_managed && known[0] != '\0';
}

void reconcile_places_take(struct reconcile *r, const struct rcall *call)
{
    for (size_t i = 0; i < call->place_count; i++) {
        const struct scheduler_place *place = &call->places[i];
        struct rnode *node = map_get(call->link->nodes, place->node);
        const char *known = node == NULL ? "" : reconcile_domain_name(r, node->domain[place->level]);
        if (node == NULL || is_ours(call, known) || text_equal(known, place->domain))
            continue;
        put(r, node, place->level, place->domain);
        idqueue_push(&r->topology->unstored, node->id);
    }
}

struct storing {
    struct reconcile *r;
    int64_t ids[PLACES_WRITTEN_MAX];
    size_t count;
};

static int places_write(struct db_tx *tx, void *arg)
{
    static const enum topology_level told[] = {TOPOLOGY_LEVEL_ULTRASERVER, TOPOLOGY_LEVEL_SWITCH};
    struct storing *storing = arg;
    for (size_t i = 0; i < storing->count; i++)
        for (size_t k = 0; k < ARRAY_LEN(told); k++) {
            const struct rnode *node = reconcile_node_find(storing->r, storing->ids[i]);
            int status = node == NULL ? 0
                                      : db_node_set_topology(tx, node->id, told[k],
                                                             reconcile_domain_name(storing->r, node->domain[told[k]]));
            if (status != 0 && status != STATUS_NOT_FOUND)
                return status;
        }
    return 0;
}

static bool store(struct reconcile *r, int64_t now)
{
    (void)now;
    struct storing storing = {.r = r};
    while (storing.count < PLACES_WRITTEN_MAX && idqueue_pop(&r->topology->unstored, &storing.ids[storing.count]))
        storing.count++;
    if (storing.count == 0)
        return false;
    int status = db_write(r->db, "topology", places_write, &storing);
    if (status == 0)
        return false;
    for (size_t i = 0; i < storing.count; i++)
        idqueue_push(&r->topology->unstored, storing.ids[i]);
    log_warn("where nodes sit could not be stored, it is tried again status=%s", status_text(status));
    return false;
}

const struct part part_topology = {
    .start = start,
    .end = end,
    .run = store,
    .every_ms = PLACES_STORE_MS,
};
