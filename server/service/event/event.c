/* The timeline as it is read: pages of it, and from a place on for those who follow. */
#include "server/service/event/event.h"
#include "server/service/private.h"

struct listing {
    const struct db_event_filter *filter;
    db_row_fn fn;
    void *arg;
};

static int list_read(struct db_tx *tx, void *arg)
{
    struct listing *listing = arg;
    return db_event_list(tx, listing->filter, listing->fn, listing->arg);
}

/* A cluster or node that is gone still has its events, so names are not looked up here. */
int service_event_list(struct service *s, const struct db_event_filter *filter, db_row_fn fn, void *arg,
                       struct problem *ret_problem)
{
    struct listing listing = {filter, fn, arg};
    return service_read(s, list_read, &listing, ret_problem);
}

struct search {
    const char *name;
    struct db_event_search *search;
    struct cluster *cluster;
    db_row_fn fn;
    void *arg;
    int64_t id;
    struct event *event;
    struct problem *problem;
};

static int search_read(struct db_tx *tx, void *arg)
{
    struct search *search = arg;
    int status = place_find_cluster(tx, search->name, search->cluster, search->problem);
    search->search->cluster = search->cluster;
    return status < 0 ? status : db_event_search(tx, search->search, search->fn, search->arg);
}

int service_event_search(struct service *s, const char *cluster, struct db_event_search *search,
                         struct cluster *ret_cluster, db_row_fn fn, void *arg, struct problem *ret_problem)
{
    struct search work = {
        .name = cluster, .search = search, .cluster = ret_cluster, .fn = fn, .arg = arg, .problem = ret_problem};
    return service_read(s, search_read, &work, ret_problem);
}

static int get_read(struct db_tx *tx, void *arg)
{
    struct search *search = arg;
    int status = place_find_cluster(tx, search->name, search->cluster, search->problem);
    if (status < 0)
        return status;
    status = db_event_get(tx, search->id, search->event);
    if (status == STATUS_NOT_FOUND || (status == 0 && search->event->cluster_id != search->cluster->id))
        return problem_say(search->problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND,
                           "The cluster \"%s\" has no such event, or it was too old to be kept.",
                           search->cluster->name);
    return status;
}

int service_event_get(struct service *s, const char *cluster, int64_t id, struct cluster *ret_cluster,
                      struct event *ret_event, struct problem *ret_problem)
{
    struct search work = {
        .name = cluster, .cluster = ret_cluster, .id = id, .event = ret_event, .problem = ret_problem};
    return service_read(s, get_read, &work, ret_problem);
}

int service_event_newest_at(struct service *s, int64_t *ret_at)
{
    struct db_tx *tx = NULL;
    int status = db_read_begin(s->db, &tx);
    if (status == 0)
        status = db_event_newest_at(tx, ret_at);
    db_read_end(s->db, tx);
    return status;
}
