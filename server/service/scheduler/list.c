/* All schedulers for people: how each is, how many nodes it has, and the clusters that it schedules. */
#include "db/cluster.h"
#include "server/service/private.h"
#include "server/service/scheduler/discovery.h"

#include "base/text.h"

struct listing {
    struct service_scheduler_view *views;
    size_t count;
    struct db_tx *tx;
};

static int add_cluster(const void *row, void *arg)
{
    const struct cluster *cluster = row;
    struct listing *listing = arg;
    for (size_t i = 0; i < listing->count; i++) {
        struct service_scheduler_view *view = &listing->views[i];
        if (!cluster_is_under(cluster, view->status.name))
            continue;
        view->clusters = own_realloc(view->clusters, view->cluster_count + 1, sizeof(*view->clusters));
        text_copy_cut(view->clusters[view->cluster_count++], NAME_MAX_BYTES, cluster->name);
    }
    return 0;
}

static int read_clusters(struct db_tx *tx, void *arg)
{
    return db_cluster_list(tx, "", 0, add_cluster, arg);
}

/* --- clusters without the scheduler that they name -------------------------------------------------- */

struct missing {
    const struct service *s;
    struct db_tx *tx;
    bool any, writes;
};

bool service_scheduler_is_missing(const struct service *s, const struct cluster *cluster,
                                  char ret_why[SERVICE_SCHEDULER_ERROR_MAX])
{
    if (cluster->orchestrator == ORCHESTRATOR_NONE || cluster->scheduler[0] == '\0' ||
        service_scheduler_of(s, cluster) != NULL)
        return false;
    say_cut(ret_why, SERVICE_SCHEDULER_ERROR_MAX, "hpd's configuration has no scheduler \"%s\"", cluster->scheduler);
    return true;
}

static int say_missing(const void *row, void *arg)
{
    const struct cluster *cluster = row;
    struct missing *missing = arg;
    char why[SERVICE_SCHEDULER_ERROR_MAX];
    if (!service_scheduler_is_missing(missing->s, cluster, why))
        return 0;
    missing->any = true;
    return !missing->writes ? 0
                            : cluster_event(missing->tx, cluster, EVENT_LEVEL_ERROR, EVENT_KIND_SCHEDULER_DOWN,
                                            "%s: steps that need it wait", why);
}

static int look(struct db_tx *tx, void *arg)
{
    struct missing *missing = arg;
    missing->tx = tx;
    return db_cluster_list(tx, "", 0, say_missing, missing);
}

int service_scheduler_check(struct service *s)
{
    struct problem unused;
    struct missing missing = {.s = s};
    int status = service_read(s, look, &missing, &unused);
    missing.writes = true;
    return status < 0 || !missing.any ? status : db_write(s->db, "scheduler-check", look, &missing);
}

/* --- all of them --------------------------------------------------------------------------------------- */

int service_scheduler_list(struct service *s, struct service_scheduler_view **ret_views, size_t *ret_count,
                           struct problem *ret_problem)
{
    struct listing listing = {.count = s->scheduler_count,
                              .views = own_calloc(s->scheduler_count + 1, sizeof(*listing.views))};
    for (size_t i = 0; i < listing.count; i++) {
        struct service_scheduler_view *view = &listing.views[i];
        struct problem unknown;
        service_scheduler_get(s->schedulers[i], &view->status);
        view->counted =
            service_discovery_count(s, view->status.name, &view->node_count, &view->unassigned_count, &unknown) == 0;
    }
    int status = service_read(s, read_clusters, &listing, ret_problem);
    if (status < 0) {
        service_scheduler_views_free(listing.views, listing.count);
        return status;
    }
    *ret_views = listing.views;
    *ret_count = listing.count;
    return 0;
}

void service_scheduler_views_free(struct service_scheduler_view *views, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(views[i].clusters);
    free(views);
}

struct scheduler_of {
    const char *cluster;
    char *ret_name;
    struct problem *problem;
};

static int read_scheduler(struct db_tx *tx, void *arg)
{
    const struct scheduler_of *of = arg;
    struct cluster cluster;
    int status = place_find_cluster(tx, of->cluster, &cluster, of->problem);
    if (status == 0)
        text_copy_cut(of->ret_name, NAME_MAX_BYTES, cluster.scheduler);
    return status;
}

int service_cluster_scheduler(struct service *s, const char *cluster, char ret_name[NAME_MAX_BYTES],
                              struct problem *ret_problem)
{
    struct scheduler_of of = {.cluster = cluster, .ret_name = ret_name, .problem = ret_problem};
    return service_read(s, read_scheduler, &of, ret_problem);
}
